#include "dsl/text/scanner.h"

#include <hs.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>

#include "dsl/text/number.h"
#include "stream/values/digest.h"

namespace tocsin::dsl::text {
namespace {

struct FreeDatabase {
  void operator()(hs_database_t* database) const { hs_free_database(database); }
};
using DatabaseHandle = std::unique_ptr<hs_database_t, FreeDatabase>;
struct FreeScratch {
  void operator()(hs_scratch_t* scratch) const { hs_free_scratch(scratch); }
};
struct FreeError {
  void operator()(hs_compile_error_t* error) const { hs_free_compile_error(error); }
};

bool word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

// Replaces the words NUM and INT outside of character classes.
std::string expand(std::string_view expression, std::string_view num, std::string_view integer) {
  if (expression.find("NUM") == expression.npos && expression.find("INT") == expression.npos)
    return std::string{expression};
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < expression.size();) {
    const char c = expression[i];
    if (c == '\\' && i + 1 < expression.size()) {
      out.append(expression.substr(i, 2));
      i += 2;
      continue;
    }
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    const bool starts =
        !in_class && (out.empty() || !word(out.back()) || (out.size() > 1 && out[out.size() - 2] == '\\'));
    const std::string_view three = expression.substr(i, 3);
    const bool ends = i + 3 >= expression.size() || !word(expression[i + 3]);
    if (starts && ends && three == "NUM") {
      out.append(num);
      i += 3;
    } else if (starts && ends && three == "INT") {
      out.append(integer);
      i += 3;
    } else {
      out.push_back(c);
      ++i;
    }
  }
  return out;
}

}  // namespace

std::string for_capturing(std::string_view expression) {
  return expand(expression, "(?:" + std::string(number_expression) + ")", integer_expression);
}

// Vectorscan 5.4.9 skips over `[^x]*` in steps of a vector, and at some alignments of the text over the x at its end,
// too. It does so only for classes of all bytes but one, so that a second is taken from each, 0xFF: no UTF-8 has it.
std::string for_scanning(std::string_view expression) {
  const std::string wide = expand(expression, R"([-+.,\w]+)", R"([\d,]+)");
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < wide.size();) {
    if (wide[i] == '\\' && i + 1 < wide.size()) {
      out.append(wide, i, 2);
      i += 2;
    } else if (!in_class && wide.compare(i, 4, "(?P<") == 0) {
      const std::size_t close = wide.find('>', i);
      out += "(?:";
      i = close == std::string::npos ? wide.size() : close + 1;
    } else if (!in_class && wide[i] == '[') {
      in_class = true;
      const bool negated = wide.compare(i, 2, "[^") == 0;
      std::size_t size = negated ? 2 : 1;
      if (wide.compare(i + size, 1, "]") == 0) ++size;  // a bracket that stands first is of the class
      out.append(wide, i, size);
      if (negated) out += "\\xff";
      i += size;
    } else {
      if (wide[i] == ']') in_class = false;
      out.push_back(wide[i++]);
    }
  }
  return out;
}

struct Scanner::Database {
  DatabaseHandle handle;
};

struct Scanner::Scratch::Handle {
  std::unique_ptr<hs_scratch_t, FreeScratch> handle;
};

Scanner::Scratch::Scratch(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}
Scanner::Scratch::Scratch(Scratch&&) noexcept = default;
Scanner::Scratch& Scanner::Scratch::operator=(Scratch&&) noexcept = default;
Scanner::Scratch::~Scratch() = default;

namespace {

int on_match(unsigned id, unsigned long long, unsigned long long, unsigned, void* context) {
  static_cast<std::vector<std::uint32_t>*>(context)->push_back(id);
  return 0;
}

// Null if one is refused.
DatabaseHandle compiled(const std::vector<std::string>& texts, std::vector<Scanner::Refusal>& refused) {
  std::vector<const char*> pointers;
  std::vector<unsigned> flags, ids;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    flags.push_back(HS_FLAG_SINGLEMATCH);
    ids.push_back(static_cast<unsigned>(i));
    // First one by one: an error of the whole set names one place and hides the others.
    hs_expr_info_t* info = nullptr;
    hs_compile_error_t* error = nullptr;
    if (hs_expression_info(texts[i].c_str(), flags.back(), &info, &error) != HS_SUCCESS) {
      const std::unique_ptr<hs_compile_error_t, FreeError> owned(error);
      refused.push_back({i, error ? error->message : "unknown error"});
    } else {
      if (info->min_width == 0) refused.push_back({i, matches_empty_text});
      free(info);
    }
  }
  if (!refused.empty()) return nullptr;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  // Of no CPU's own instructions: such a database is as fast here (bench/RESULTS.md), and may come with the program.
  const hs_platform_info_t any_cpu{HS_TUNE_FAMILY_GENERIC, 0, 0, 0};
  hs_database_t* handle = nullptr;
  hs_compile_error_t* error = nullptr;
  if (hs_compile_multi(pointers.data(), flags.data(), ids.data(), static_cast<unsigned>(pointers.size()), HS_MODE_BLOCK,
                       &any_cpu, &handle, &error) != HS_SUCCESS) {
    const std::unique_ptr<hs_compile_error_t, FreeError> owned(error);
    refused.push_back({error && error->expression >= 0 ? static_cast<std::size_t>(error->expression) : 0,
                       error ? error->message : "unknown error"});
    return nullptr;
  }
  return DatabaseHandle{handle};
}

// What a database is compiled from, in full: a stored one is used only where this is the same.
std::string source_of(const std::vector<std::string>& texts) {
  std::string source = std::string{"tocsin patterns 1, Vectorscan "} + hs_version() + '\n';
  for (const std::string& text : texts) source += std::to_string(text.size()) + ' ' + text + '\n';
  source.resize((source.size() + 7) / 8 * 8, '\n');  // the database that follows is aligned
  return source;
}

std::string name_of(const std::string& source) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string name = "patterns-";
  for (std::uint64_t hash = stream::hash_text(source), i = 0; i < 16; ++i, hash <<= 4) name += digits[hash >> 60];
  return name;
}

// Vectorscan looks itself whether the bytes are whole, and made by this version for a processor like this one.
DatabaseHandle stored(DatabaseStore& store, const std::string& source) {
  const auto bytes = store.find(name_of(source));
  if (!bytes || !bytes->starts_with(source)) return nullptr;
  hs_database_t* handle = nullptr;
  if (hs_deserialize_database(bytes->data() + source.size(), bytes->size() - source.size(), &handle) != HS_SUCCESS)
    return nullptr;
  return DatabaseHandle{handle};
}

void keep(DatabaseStore& store, const std::string& source, const hs_database_t& database) {
  char* bytes = nullptr;
  std::size_t size = 0;
  if (hs_serialize_database(&database, &bytes, &size) != HS_SUCCESS) return;
  std::string all = source;
  all.append(bytes, size);
  std::free(bytes);
  store.keep(name_of(source), all);
}

}  // namespace

Scanner::Scanner(std::shared_ptr<const Database> database) : database_(std::move(database)) {}
Scanner::~Scanner() = default;

std::unique_ptr<Scanner> Scanner::compile(std::span<const std::string> expressions, std::vector<Refusal>& refused,
                                          DatabaseStore* store) {
  auto database = std::make_shared<Database>();
  if (expressions.empty()) return std::unique_ptr<Scanner>(new Scanner(std::move(database)));
  std::vector<std::string> texts;
  for (const std::string& expression : expressions) texts.push_back(for_scanning(expression));
  const std::string source = store == nullptr ? "" : source_of(texts);
  if (store != nullptr) database->handle = stored(*store, source);
  const bool is_new = !database->handle;
  if (is_new) database->handle = compiled(texts, refused);
  if (!database->handle) return nullptr;
  if (is_new && store != nullptr) keep(*store, source, *database->handle);
  return std::unique_ptr<Scanner>(new Scanner(std::move(database)));
}

Scanner::Scratch Scanner::make_scratch() const {
  auto made = std::make_unique<Scratch::Handle>();
  if (database_->handle) {
    hs_scratch_t* handle = nullptr;
    [[maybe_unused]] const hs_error_t error = hs_alloc_scratch(database_->handle.get(), &handle);
    assert(error == HS_SUCCESS);
    made->handle.reset(handle);
  }
  return Scratch{std::move(made)};
}

void Scanner::scan(std::string_view text, Scratch& scratch, std::vector<std::uint32_t>& found) const {
  found.clear();
  if (!database_->handle || text.empty()) return;
  hs_scan(database_->handle.get(), text.data(), static_cast<unsigned>(text.size()), 0, scratch.handle_->handle.get(),
          on_match, &found);
  if (found.size() > 1) std::sort(found.begin(), found.end());
}

}  // namespace tocsin::dsl::text
