#include "stream/values/symbols.h"

namespace tocsin::stream {

double Symbols::intern(std::string_view text) {
  std::string key{text.size() <= 1024 ? text : text.substr(0, 1024)};
  if (const auto known = numbers_.find(key); known != numbers_.end()) return known->second;
  if (texts_.size() >= limit) {
    if (texts_.size() > limit) return static_cast<double>(limit);
    key = "(other)";
  }
  const auto number = static_cast<double>(texts_.size());
  texts_.push_back(key);
  numbers_.emplace(std::move(key), number);
  return number;
}

double Symbols::find(std::string_view text) const {
  const auto known = numbers_.find(std::string{text});
  return known == numbers_.end() ? absent : known->second;
}

std::optional<std::string> Symbols::text(double symbol) const {
  if (!(symbol >= 0) || symbol >= static_cast<double>(texts_.size())) return std::nullopt;
  return texts_[static_cast<std::size_t>(symbol)];
}

void Symbols::save(Writer& out) const { out(1, texts_); }

Result<void> Symbols::load(Reader& in) {
  in(1, texts_);
  numbers_.clear();
  for (std::size_t i = 0; i < texts_.size(); ++i) numbers_.emplace(texts_[i], static_cast<double>(i));
  return in.status();
}

}  // namespace tocsin::stream
