#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "schemas/codec.h"
#include "stream/values/time.h"

namespace tocsin::adapters::ingest {

// Why a part of a message makes no record.
enum class Reason : std::uint8_t { malformed, too_large, unsupported, no_job, no_node, bad_rank, part_of_gpu };
[[nodiscard]] std::string_view name(Reason reason) noexcept;

struct LeftOut {
  Reason reason = Reason::malformed;
  std::uint32_t place = 0;  // the line of the message, from 1
  std::string what;         // the problem and the remedy
};

// A record of a job. Views are valid during the call that it is given to.
struct Record {
  enum class What : std::uint8_t { samples, line, event };
  What what = What::samples;
  std::uint32_t place = 0;  // the line of the message, from 1
  stream::Time time{};
  std::string_view job, attempt;
  schemas::EntryBuilder::Member member;
  std::span<const schemas::EntryBuilder::Value> values;
  std::string_view text;  // of a line
  bool error_stream = false;
  std::string_view source;  // that it covers; empty: the signal's own, of a line "log"
  std::string_view event;
  std::span<const schemas::EntryBuilder::Field> fields;
  // Of a start: the scheduler's list of the job's nodes (host_list.h), empty where it names none; and its limit, where
  // it has set one.
  std::string_view nodes;
  std::optional<stream::Duration> time_limit;

  [[nodiscard]] bool is_event(std::string_view name) const { return what == What::event && event == name; }
};

// Where a translation goes.
class Output {
 public:
  virtual ~Output() = default;
  virtual void record(const Record& record) = 0;
  // A record of a node, or of a GPU there, that names no job: it is of the jobs on the node. `why` is what is left out
  // where nobody wants it.
  virtual void without_job(const Record& record, const std::function<LeftOut()>& why) {
    static_cast<void>(record);
    left_out(why());
  }
  virtual void left_out(const LeftOut& part) = 0;
  // Values that the mapping does not keep, and those without a meaning as one number: buckets of histograms, sets.
  virtual void unwanted(std::uint64_t values) = 0;
};

}  // namespace tocsin::adapters::ingest
