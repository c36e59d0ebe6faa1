#pragma once

#include <xxhash.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stream/job/cluster_members.h"
#include "stream/job/reported_steps.h"
#include "stream/job/shard.h"
#include "stream/rules/pack.h"
#include "stream/topology/topology.h"
#include "stream/values/record.h"
#include "stream/values/symbols.h"
#include "stream/windows/history.h"
#include "stream/windows/source_coverage.h"

namespace tocsin::stream {

// Where a record came from, and its place among others.
struct Provenance {
  Time arrival{};                     // as it counts
  std::optional<std::size_t> origin;  // which of the job's it came from; nullopt: it was written directly
  RecordOrder order;                  // of its next value

  // The order of that many values.
  RecordOrder take_order(std::size_t values = 1) noexcept {
    const RecordOrder first = order;
    order = order.after(values);
    return first;
  }
};

// Brings samples to where they belong: from the names of a block's signals and members to ids and slots, corrected in
// time, into the history. What the same names mean is looked up once, until the topology or the pack changes. Owned by
// its Attempt; writes the attempt's topology, coverage, symbols and history.
class Intake {
 public:
  Intake(Topology& topology, SourceCoverage& coverage, Symbols& symbols, Counters& counters)
      : topology_(topology), coverage_(coverage), symbols_(symbols), counters_(&counters) {}

  void open(const Pack& pack, History& history);
  // The signal of this name, and the factor of its values.
  [[nodiscard]] std::optional<SignalId> find(std::string_view name) const { return pack_->signals.find(name); }
  [[nodiscard]] double factor(std::string_view name) const { return pack_->signals.factor(name); }
  // In the cluster, they learn who is seen.
  void into(ClusterMembers& members) noexcept { cluster_ = &members; }
  // Values stand in the order that the entry's producer gave it: by its sequence, or where it was re-keyed without one
  // by its offset at the source. Else they stand in the order of the log.
  [[nodiscard]] Provenance of(const Entry& entry, std::optional<std::size_t> origin) noexcept;
  // What the engine itself makes at this time, between two entries.
  [[nodiscard]] Provenance between(Time at) noexcept { return {at, std::nullopt, {0, ++sequence_, 0}}; }

  // The record's origin tells of these members.
  void carried(Level level, std::span<const Slot> slots, const Provenance& from) {
    if (from.origin) coverage_.carried(*from.origin, level, slots);
  }
  // What it writes may follow later: write_following(), at the latest before the block goes, the clock reaches
  // follows_until(), or the history is read or settled.
  void block(const SampleBlock& block, Provenance& from);
  void write_following();
  [[nodiscard]] Time follows_until() const noexcept { return follows_until_; }
  // One value, of a line of this source; empty: the signal's own.
  void sample(SignalId id, const MemberKey& member, Time time, double number, Provenance& from,
              std::string_view source);
  // The member's slot among those that own a signal; nullopt: over a limit, or it has none.
  [[nodiscard]] std::optional<Slot> owner_slot(Level owner, const MemberKey& key);
  // A source covers the member, which is alive where a record is about it. Where rows are all that is kept, either only
  // learns the member.
  void cover(std::string_view source, const MemberKey& key, Time arrival);
  void alive(std::string_view source, const MemberKey& key, const Provenance& from);
  // min(event time, arrival); what takes its place among points or events, and is older than 10 min, is placed at its
  // arrival.
  [[nodiscard]] Time placed(Time time, Time arrival, bool point, std::size_t values = 1);

  void save(Writer& out) const;
  void load(Reader& in);

 private:
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
  struct Membership;
  struct Following {  // a block that is written together with others
    const SampleBlock* block;
    Membership* membership;
    Provenance from;  // at the first of its signals that are not plain
  };
  struct Layout {  // a block's signals
    struct Signal {
      SignalId id{};
      double factor = 1;
      bool wanted = false, textual = false, points = false, plain = false;
      Level owner{};
    };
    std::string names, source;  // what it was made of
    std::vector<Signal> signals;
    // Which of the signals are wanted: those of which rows are all that is kept; others; and those whose values depend
    // on the records before, a text on the symbols that were given, a job's value on the step of its reporter.
    std::vector<std::uint32_t> plain, others, one_by_one;
    struct Together {  // of those at one level, the ones whose arrivals can be noted together
      Level owner{};
      std::vector<std::uint32_t> places;
      std::vector<SignalId> ids;
    };
    std::vector<Together> together;
    void note_together(SignalId id, Level owner, std::uint32_t place);
    std::vector<Following> following;
    Duration lateness{};                      // the shortest of what is not written one by one
    std::vector<Level> levels;                // of the owners of that
    bool follows = false;                     // nothing else depends on when that is written
    std::vector<std::string> sources;         // that its records are covered for
    std::size_t step = npos;                  // which of the signals is `step`
    std::vector<std::uint32_t> gpu_names;     // which of the signals are other names of their GPUs
    std::uint64_t unknown = 0, unwanted = 0;  // how many of them
    bool refused = false;                     // a unit is not of the kind of the signal's
  };
  struct Membership {           // a block's members
    std::uint64_t version = 0;  // of the topology, as of which:
    std::vector<Slot> own;
    std::vector<std::pair<Level, std::size_t>> levels;  // of members side by side, and the end of these; most often one
    struct Owners {
      Level level{};
      std::vector<Slot> slots;
      bool all = true;                    // every member has one
      bool in_a_row = false;              // each is the one before and 1
      std::optional<std::size_t> origin;  // that is known to tell of them
    };
    std::vector<Owners> owners;
    std::uint64_t without = 0;  // members over a limit
    // The one that came after it, among those that are known: producers repeat their messages in one order.
    std::pair<const std::string, Membership>* after = nullptr;
  };
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return XXH3_64bits(text.data(), text.size()); }
  };
  template <class Value>
  using Known = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

  void forget_layouts();
  Layout& layout_of(const SampleBlock& block);
  void look_at_following(Layout& layout) const;
  Membership& membership_of(const SampleBlock& block);
  Known<Membership>::value_type& remembered(const SampleBlock& block);
  const Membership::Owners& owners_of(Membership& membership, Level owner, const SampleBlock& block,
                                      const Provenance& from);
  [[nodiscard]] std::optional<double> factor_of(const SampleBlock::Signal& named,
                                                const SignalDefinition& definition) const;
  void learn_gpus(const SampleBlock& block, const Layout& layout);
  void mark_alive(std::span<const std::string> sources, const Membership& membership, const Provenance& from);
  [[nodiscard]] bool can_follow(const SampleBlock& block, const Layout& layout, Membership& membership,
                                const Provenance& from);
  [[nodiscard]] static Time end_of_lateness(const SampleBlock& block, const Layout& layout, const Provenance& from);
  void follow(const SampleBlock& block, Layout& layout, Membership& membership, Provenance& from);
  void write_following(Layout& layout);
  void report_steps(const SampleBlock& block, const Layout& layout, Membership& membership, const Provenance& from);
  // Notes the arrivals of those signals that every member of the block has a value of: arrived_ says which.
  void arrive(const SampleBlock& block, const Layout& layout, Membership& membership, const Provenance& from);
  template <class T, class From>
  void column(std::span<const From> cells, const SampleBlock& block, const Layout::Signal& signal,
              const Membership::Owners& owners, std::size_t s, std::size_t t, Provenance& from);
  // One of the block's signals, all members.
  void signal(const SampleBlock& block, const Layout& layout, Membership& membership, std::size_t s, Provenance& from);
  // The plain signals of a block of few members, a member at a time.
  void members(const SampleBlock& block, const Layout& layout, Membership& membership, Provenance& from);
  void one_by_one(const SampleBlock& block, const Layout& layout, Membership& membership, Provenance& from);
  using Slots = std::array<const Slot*, level_count>;  // by level, of those that own something here
  Slots slots_of(const SampleBlock& block, const Layout& layout, Membership& membership,
                 std::span<const std::uint32_t> signals, const Provenance& from);
  void value(SignalId id, Slot slot, Slot reporter, Time time, double number, Provenance& from, double step);

  Topology& topology_;
  SourceCoverage& coverage_;
  Symbols& symbols_;
  Counters* counters_;
  const Pack* pack_ = nullptr;
  History* history_ = nullptr;
  ClusterMembers* cluster_ = nullptr;  // null: this is a job
  std::optional<SignalId> step_;

  Known<Layout> layouts_;
  std::vector<Layout*> recent_layouts_ =
      std::vector<Layout*>(2);  // by where the decoder keeps the names; as many as a power of two
  Known<Membership> memberships_, earlier_memberships_;
  std::size_t membership_bytes_ = 0;  // of those in memberships_, about
  Known<Membership>::value_type* recent_membership_ =
      nullptr;                                   // the last block's: collectors send the metrics of one member in a row
  Membership passing_;                           // of a block whose members come without a string
  std::vector<Layout*> following_layouts_;       // of which blocks follow, each signal in one
  std::vector<std::uint8_t> following_signals_;  // by id: it is in one of them
  Time follows_until_ = never;
  ReportedSteps steps_;
  std::uint64_t sequence_ = 0;  // counts messages, in the order of the log

  std::string key_;  // scratch, as these
  std::vector<Slot> slots_;
  std::vector<SignalId> ids_;
  std::vector<std::uint8_t> arrived_;  // by place in the block
  std::vector<float> narrow_;
  std::vector<double> wide_;
  std::vector<History::Value> values_;
  std::vector<History::Arrival> arrivals_;
  std::vector<History::Place> places_;
  std::vector<Cells> cells_;
};

}  // namespace tocsin::stream
