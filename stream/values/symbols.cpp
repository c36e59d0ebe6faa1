#include "stream/values/symbols.h"

namespace tocsin::stream {

double Symbols::intern(std::string_view text) {
  text = text.substr(0, longest);
  if (const auto known = numbers_.find(text); known != numbers_.end()) return known->second;
  if (texts_.size() >= limit) {
    ++refused_;
    return absent;
  }
  const auto number = static_cast<double>(texts_.size());
  texts_.emplace_back(text);
  numbers_.emplace(text, number);
  return number;
}

double Symbols::find(std::string_view text) const {
  const auto known = numbers_.find(text.substr(0, longest));
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
