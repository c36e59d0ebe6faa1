#include "dsl/text/matcher.h"

#include <array>

#include "dsl/text/scanner.h"

namespace tocsin::dsl::text {

Matcher::Matcher(const std::string& expression) {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);  // lines are bytes
  options.set_log_errors(false);
  options.set_max_mem(8 << 20);
  re2_ = std::make_unique<RE2>(for_capturing(expression), options);
  if (!re2_->ok()) return;
  group_count_ = static_cast<std::size_t>(re2_->NumberOfCapturingGroups());
  straight_ = Straight::compile(expression);
}

bool Matcher::search(std::string_view text, std::size_t from, Groups& groups) const {
  if (straight_) {
    const Straight::Answer answer = straight_->search(text, from, groups);
    if (answer != Straight::Answer::unsure) return answer == Straight::Answer::yes;
  }
  std::array<re2::StringPiece, most_groups + 1> found;
  if (!re2_->Match(re2::StringPiece(text.data(), text.size()), from, text.size(), RE2::UNANCHORED, found.data(),
                   static_cast<int>(group_count_) + 1))
    return false;
  for (std::size_t i = 0; i <= group_count_; ++i) groups[i] = {found[i].data(), found[i].size()};
  return true;
}

bool Matcher::occurs(std::string_view text) const {
  if (straight_) {
    Groups groups;
    const Straight::Answer answer = straight_->search(text, 0, groups);
    if (answer != Straight::Answer::unsure) return answer == Straight::Answer::yes;
  }
  return re2_->Match(re2::StringPiece(text.data(), text.size()), 0, text.size(), RE2::UNANCHORED, nullptr, 0);
}

}  // namespace tocsin::dsl::text
