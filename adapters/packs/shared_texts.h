#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tocsin::adapters::packs {

// The text of a pack as its files.
class SharedText {
 public:
  [[nodiscard]] std::string whole() const;

 private:
  friend class SharedTexts;
  std::vector<std::shared_ptr<const std::string>> parts_;
};

// Stores texts of packs such that a file is stored once however many texts have it: a reload changes few files, and a
// restore may need each pack of the last minutes. Owned by a PackStore, which locks it.
class SharedTexts {
 public:
  [[nodiscard]] SharedText store(std::string_view text);
  void forget_unused();  // parts of texts that have gone
  [[nodiscard]] std::size_t bytes() const;

 private:
  using Part = std::shared_ptr<const std::string>;
  struct ByContent {
    using is_transparent = void;
    bool operator()(const Part& a, const Part& b) const { return *a < *b; }
    bool operator()(const Part& a, std::string_view b) const { return *a < b; }
    bool operator()(std::string_view a, const Part& b) const { return a < *b; }
  };
  std::set<Part, ByContent> parts_;
};

}  // namespace tocsin::adapters::packs
