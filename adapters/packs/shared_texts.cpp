#include "adapters/packs/shared_texts.h"

#include "dsl/load/loader.h"

namespace tocsin::adapters::packs {

std::string SharedText::whole() const {
  std::size_t size = 0;
  for (const auto& part : parts_) size += part->size();
  std::string text;
  text.reserve(size);
  for (const auto& part : parts_) text += *part;
  return text;
}

SharedText SharedTexts::store(std::string_view text) {
  SharedText shared;
  for (const std::string_view part : dsl::pack_parts(text)) {
    auto known = parts_.find(part);
    if (known == parts_.end()) known = parts_.insert(std::make_shared<const std::string>(part)).first;
    shared.parts_.push_back(*known);
  }
  return shared;
}

void SharedTexts::forget_unused() {
  std::erase_if(parts_, [](const Part& part) { return part.use_count() == 1; });
}

std::size_t SharedTexts::bytes() const {
  std::size_t bytes = 0;
  for (const Part& part : parts_) bytes += part->size();
  return bytes;
}

}  // namespace tocsin::adapters::packs
