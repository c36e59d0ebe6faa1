#include "adapters/trace/elf_functions.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace tocsin::adapters::trace {
namespace {

using stream::Errc;
using stream::Error;
using stream::Result;

constexpr std::uint64_t most_bytes = 1ULL << 28;  // of one table; PyTorch's largest has 20 MiB

// Pieces of a file that may be cut short while we read: never mapped.
class Pieces {
 public:
  explicit Pieces(int file) : file_(file) {
    struct stat status {};
    if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode)) size_ = static_cast<std::uint64_t>(status.st_size);
  }

  template <class T>
  [[nodiscard]] bool read(std::uint64_t offset, std::uint64_t count, std::vector<T>& to) const {
    if (count > most_bytes / sizeof(T) || offset > size_ || count * sizeof(T) > size_ - offset) return false;
    to.resize(count);
    char* out = reinterpret_cast<char*>(to.data());
    for (std::uint64_t got = 0, all = count * sizeof(T); got < all;) {
      const ssize_t n = ::pread(file_, out + got, all - got, static_cast<off_t>(offset + got));
      if (n <= 0) return false;
      got += static_cast<std::uint64_t>(n);
    }
    return true;
  }

 private:
  int file_;
  std::uint64_t size_ = 0;
};

Error not_elf(const char* what) { return Error{Errc::malformed, what}; }

// Where an address lies in the file.
std::optional<std::uint64_t> offset_of(std::uint64_t address, const std::vector<Elf64_Phdr>& segments) {
  for (const Elf64_Phdr& segment : segments)
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz)
      return address - segment.p_vaddr + segment.p_offset;
  return std::nullopt;
}

void add_functions(const std::vector<Elf64_Sym>& symbols, const std::vector<char>& names,
                   std::span<const std::string_view> prefixes, const std::vector<Elf64_Phdr>& segments,
                   std::vector<ElfFunction>& found) {
  std::set<std::pair<std::size_t, std::uint64_t>> known;
  for (const Elf64_Sym& symbol : symbols) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names.size())
      continue;
    const std::string_view name{names.data() + symbol.st_name};
    if (name.find('.') != name.npos) continue;  // a piece of a function, ".cold"
    for (std::size_t i = 0; i < prefixes.size(); ++i) {
      if (!name.starts_with(prefixes[i])) continue;
      const auto offset = offset_of(symbol.st_value, segments);
      if (offset && known.emplace(i, *offset).second) found.push_back({std::string{name}, *offset, i});
    }
  }
}

}  // namespace

Result<std::vector<ElfFunction>> elf_functions(int file, std::span<const std::string_view> prefixes) {
  const Pieces pieces{file};
  std::vector<Elf64_Ehdr> header;
  if (!pieces.read(0, 1, header) || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0)
    return not_elf("it is not an ELF file");
  const Elf64_Ehdr& elf = header[0];
  if (elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_ident[EI_DATA] != ELFDATA2LSB)
    return not_elf("it is not a 64-bit little-endian ELF file");
  std::vector<Elf64_Phdr> segments;
  std::vector<Elf64_Shdr> sections;
  if (elf.e_phentsize != sizeof(Elf64_Phdr) || elf.e_shentsize != sizeof(Elf64_Shdr) ||
      !pieces.read(elf.e_phoff, elf.e_phnum, segments) || !pieces.read(elf.e_shoff, elf.e_shnum, sections))
    return not_elf("its headers are cut short");

  // What is exported is enough; the table of all symbols is many times as large.
  bool readable = false;
  for (const Elf64_Word type : {SHT_DYNSYM, SHT_SYMTAB}) {
    std::vector<ElfFunction> found;
    for (const Elf64_Shdr& section : sections) {
      if (section.sh_type != type || section.sh_link >= sections.size()) continue;
      std::vector<Elf64_Sym> symbols;
      std::vector<char> names;
      const Elf64_Shdr& texts = sections[section.sh_link];
      if (!pieces.read(section.sh_offset, section.sh_size / sizeof(Elf64_Sym), symbols) ||
          !pieces.read(texts.sh_offset, texts.sh_size, names) || names.empty())
        continue;
      names.back() = '\0';
      readable = true;
      add_functions(symbols, names, prefixes, segments, found);
    }
    if (!found.empty()) return found;
  }
  if (!readable) return not_elf("its symbols are missing or cut short");
  return std::vector<ElfFunction>{};
}

}  // namespace tocsin::adapters::trace
