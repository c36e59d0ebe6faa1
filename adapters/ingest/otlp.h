#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/ingest/item.h"

namespace tocsin::adapters::ingest {

// What both forms of OpenTelemetry's messages have in common: groups of records of one resource, whose attributes are
// labels of each record behind its own. A record is begun, gets labels, and is given as a sample or as a line.
class OtlpRecords {
 public:
  OtlpRecords(std::span<const std::string> text, Items& out) : text_(text), out_(out) {}

  void begin_resource() { resource_.clear(), texts.clear(); }
  void add_to_resource(Label label) { add(resource_, label); }
  void begin_record() {
    item.clear();
    item.place = ++place_;
  }
  void add_to_record(Label label) { add(item.labels, label); }
  // 0 is no time.
  void time(std::uint64_t nanoseconds) {
    if (nanoseconds != 0 && nanoseconds < std::uint64_t{1} << 62)
      item.time = stream::at_nanoseconds(static_cast<std::int64_t>(nanoseconds));
  }
  // The name of a metric; false: it is none, and was reported.
  bool good_name(std::string_view name) {
    if (!name.empty() && name.size() <= longest_name) return true;
    out_.left_out(Reason::malformed, place_ + 1, "a metric needs a name of 1 to 255 bytes");
    return false;
  }
  // `differences`: the values of the metric are no sums.
  void give_sample(std::string_view name, std::optional<double> number, bool differences) {
    if (differences)
      return out_.left_out(Reason::unsupported, place_,
                           "the value is a difference (temporality delta): let the collector's processor "
                           "deltatocumulative make sums of them");
    if (!number) return out_.unwanted(1);
    finish();
    item.values.push_back({name, *number, {}, false});
    out_.item(item);
  }
  void give_line() {
    finish();
    for (std::size_t i = 0; i < text_.size() && !item.text; ++i)
      for (const Label& label : item.labels)
        if (label.name == text_[i] && !item.text) item.text = label.value;
    if (item.text) out_.item(item);
    else
      out_.left_out(Reason::malformed, place_,
                    "a record of a log whose body is neither a text nor a map with one (option text)");
  }
  void unwanted() { out_.unwanted(1); }
  [[nodiscard]] std::uint32_t place() const noexcept { return place_; }

  Item item;
  MadeTexts texts;

 private:
  static void add(std::vector<Label>& labels, Label label) {
    if (labels.size() < most_labels) labels.push_back(label);
  }
  void finish() { item.labels.insert(item.labels.end(), resource_.begin(), resource_.end()); }

  std::span<const std::string> text_;
  Items& out_;
  std::vector<Label> resource_;
  std::uint32_t place_ = 0;  // the number of the record in the message
};

}  // namespace tocsin::adapters::ingest
