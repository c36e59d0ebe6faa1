#include <doctest/doctest.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "adapters/journal/directory.h"
#include "adapters/trace/elf_functions.h"
#include "tests/seed.h"

using namespace tocsin::adapters::trace;
using tocsin::adapters::journal::File;

namespace {

constexpr std::string_view names[] = {"ncclAllReduce", "ncclBcast", "pncclBcast", "ncclComm", "nothing"};

std::string stub() {
  std::ifstream file{STUB, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

auto functions_in(const std::string& bytes) {
  const File file{::memfd_create("elf", MFD_CLOEXEC)};
  REQUIRE(::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  return elf_functions(file.get(), names);
}

}  // namespace

TEST_CASE("functions are found by how their names begin, with their places in the file") {
  const auto found = functions_in(stub());
  REQUIRE(found);
  const auto of = [&](std::size_t wanted) {
    std::vector<ElfFunction> some;
    std::copy_if(found->begin(), found->end(), std::back_inserter(some),
                 [&](auto& one) { return one.wanted == wanted; });
    return some;
  };
  REQUIRE(of(0).size() == 1);
  CHECK(of(0)[0].name == "ncclAllReduce");
  REQUIRE(of(1).size() == 1);
  REQUIRE(of(2).size() == 1);
  CHECK(of(1)[0].offset == of(2)[0].offset);  // two names of one function
  CHECK(of(3).size() == 5);
  CHECK(of(4).empty());
  CHECK(static_cast<unsigned char>(stub()[of(0)[0].offset]) == 0x55);  // push %rbp
}

TEST_CASE("all symbols are read only where none of the exported ones is wanted") {
  std::string bytes = stub();
  Elf64_Ehdr header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  for (int i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section{};
    char* at = bytes.data() + header.e_shoff + static_cast<std::size_t>(i) * sizeof section;
    std::memcpy(&section, at, sizeof section);
    if (section.sh_type == SHT_DYNSYM) section.sh_type = SHT_NULL;
    std::memcpy(at, &section, sizeof section);
  }
  const auto found = functions_in(bytes);
  REQUIRE(found);
  CHECK(found->size() == functions_in(stub())->size());
  for (const ElfFunction& function : *found) CHECK(function.name.find('.') == std::string::npos);
}

TEST_CASE("what is not an ELF file of 64 bits is an error") {
  CHECK(!functions_in(""));
  CHECK(!functions_in("not a library"));
  std::string other = stub();
  other[4] = 1;  // of 32 bits
  CHECK(functions_in(other).error().message == "it is not a 64-bit little-endian ELF file");
  const File directory{::open("/", O_RDONLY | O_CLOEXEC)};
  CHECK(!elf_functions(directory.get(), names));
}

TEST_CASE("a file that is cut short or damaged is read without harm") {
  const std::string whole = stub();
  std::mt19937_64 random{tocsin::test::seed()};
  for (int i = 0; i < 400; ++i) {
    std::string bytes = whole.substr(0, random() % whole.size());
    (void)functions_in(bytes);
    bytes = whole;
    for (int j = 0; j < 8; ++j) bytes[random() % (j % 2 == 0 ? 64 : bytes.size())] = static_cast<char>(random());
    std::memcpy(bytes.data(), whole.data(), 16);
    if (const auto found = functions_in(bytes))
      for (const ElfFunction& function : *found) CHECK(function.name.size() < bytes.size());
  }
}
