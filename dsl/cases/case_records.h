#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "dsl/load/cases.h"
#include "stream/rules/pack.h"
#include "stream/values/record.h"

namespace tocsin::dsl {

// Turns a case into log entries: each signal once a second from each owner (those of collectors as often as `sampled`
// says; points and steps at each step if the case has `steps`), a beat a second, coverage records for the sources of
// every signal in the case, and the events start, member and end. Owned by the runner, for one case.
class CaseRecords {
 public:
  using Consume = std::function<void(const stream::Entry&)>;

  CaseRecords(const Case& one, const stream::SignalTable& signals);

  void play(const Consume& consume);
  [[nodiscard]] static stream::Time begin();  // of every case
  [[nodiscard]] stream::Time last_segment() const noexcept { return last_segment_; }
  [[nodiscard]] static std::string node_name(std::uint32_t node) { return "n" + std::to_string(node); }
  [[nodiscard]] static std::string rack_name(std::uint32_t rack) { return "r" + std::to_string(rack); }
  [[nodiscard]] static std::string gpu_name(std::uint32_t gpu_of_node) { return std::to_string(gpu_of_node); }

 private:
  struct Running {  // the current value of a signal: for all owners, and for some
    CaseValue base;
    std::map<std::uint32_t, CaseValue> of;
    bool given_for_all = false;
  };
  struct Piece;  // an entry with the storage of its spans
  void begin_segment(const CaseSegment& segment);
  void apply(const std::string& signal, const CaseValue& value, const std::uint32_t* owner);
  void second(const CaseSegment& segment, stream::Time from, stream::Time segment_begin, const Consume& consume);
  void steps(stream::Time from, stream::Time segment_begin, const CaseSegment& segment, const Consume& consume);
  void sample(stream::Time time, const stream::SignalDefinition& definition, std::uint32_t owner, double number,
              const std::string& text, const Consume& consume);
  [[nodiscard]] stream::Entry entry_at(stream::Time time) const;  // of the case's subject, still without records
  void cover(stream::Time time, const Consume& consume);
  void control(stream::Time time, stream::ControlRecord::Kind kind, const Consume& consume);
  void start(stream::Time time, const Consume& consume);
  void announce(stream::Time time, const Consume& consume);
  void lines(const CaseLines& lines, stream::Time time, const Consume& consume);
  void introduce(stream::Time time, const Consume& consume);
  [[nodiscard]] std::string_view subject() const;
  void event(stream::Time time, const stream::MemberKey& member, std::string_view name,
             const std::map<std::string, stream::Scalar>& fields, std::string_view source, const Consume& consume);
  [[nodiscard]] std::uint32_t owners(stream::Level level) const;
  [[nodiscard]] bool sampled_now(const stream::SignalDefinition& definition, std::uint32_t owner,
                                 stream::Time time) const;
  [[nodiscard]] stream::MemberKey key(stream::Level level, std::uint32_t owner) const;
  [[nodiscard]] double number(const CaseValue& value, const std::string& signal, std::uint32_t owner, stream::Time time,
                              stream::Time segment_begin, stream::Duration segment) const;

  const Case* case_;
  const stream::SignalTable* signals_;
  std::map<std::string, Running> running_;
  std::set<std::string> sources_;
  std::map<std::string, stream::Scalar> start_fields_;  // of the event that begins an attempt
  stream::Duration sampled_;
  std::vector<std::string> nodes_, gpus_;                             // names, for the keys' views
  std::map<std::uint32_t, std::pair<double, stream::Time>> step_at_;  // by rank: last step, and when
  bool has_gpus_ = false;
  std::uint32_t attempt_ = 0;
  std::string attempt_name_;
  stream::Time last_segment_{};
};

}  // namespace tocsin::dsl
