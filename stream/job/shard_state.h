#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "stream/job/changed_subjects.h"
#include "stream/job/log_state.h"
#include "stream/job/shard.h"
#include "stream/job/subject.h"
#include "stream/job/waiting_entries.h"

namespace tocsin::stream {

// Hands on what is reported; nothing while a restore judges again what was handed over before.
class ReportGate final : public AlertSink {
 public:
  explicit ReportGate(AlertSink& sink) : sink_(&sink) {}
  void transition(const AlertTransition& transition) override {
    if (open) sink_->transition(transition);
  }
  void verdict(const Verdict& verdict) override {
    if (open) sink_->verdict(verdict);
  }
  bool open = true;

 private:
  AlertSink* sink_;
};

// The inside of a Shard: the log's state, its subjects, and which of them have something to do.
struct Shard::State final : private PacksInUse {
  struct Judged;
  using Item = std::pair<const std::string, Judged>;
  struct ByName {
    bool operator()(const Item* a, const Item* b) const { return a->first < b->first; }
  };
  using Items = std::set<Item*, ByName>;
  using Followers = std::map<std::string, Items, std::less<>>;  // by source
  struct Judged {
    std::unique_ptr<Subject> subject;
    Time due = never;             // as it stands in `due` below
    Time saved = long_ago;        // the log's clock when its section was taken last
    Time save_at = never;         // as it stands in `to_save_` below; never: it has not changed since
    Time saved_clock = never;     // its own clock in that section; never: there is none
    Duration saved_reach{};       // how far back its rows reach in it
    Position saved_at{};          // the position of that section
    std::string saved_pack;       // the pack that judged then
    std::size_t saved_bytes = 0;  // of it that the shard wrote; the next will have about as many
    std::size_t values = 0;       // that it has taken since
    std::pair<const PackChange, std::size_t>* judged_by = nullptr;  // as it stands in `judging_` below
    std::vector<Followers::value_type*> follows;                    // the sources of its records
    Time look = never;                                              // as it stands in `looks_` below
    std::size_t bytes = 0;                                          // of its state, in `state_bytes`
    WaitingEntries waiting;                                         // that the subject has not taken yet
    PackChange::Key waits_under{};                                  // the pack that judges them
    std::size_t waits_at = 0;                                       // its place in `waiting_items_`, if there are any
  };
  using Subjects = std::map<std::string, Judged, std::less<>>;
  struct ByKeyThenName {
    bool operator()(const auto& a, const auto& b) const {
      return std::tie(a.first, a.second->first) < std::tie(b.first, b.second->first);
    }
  };
  template <class Key>
  using ItemsBy = std::set<std::pair<Key, Item*>, ByKeyThenName>;
  struct ByKeyThenHash {
    bool operator()(const PackChange& a, const PackChange& b) const {
      return std::tie(a.key, a.hash) < std::tie(b.key, b.hash);
    }
  };
  using ForgottenAt = std::map<std::string, Position, std::less<>>;
  struct Mark {
    Position at{};
    LogState log;              // before the entry there
    PackChange::Key oldest{};  // of the packs that judged a subject there, the oldest
    static void fields(auto& self, auto& archive) {
      archive(1, self.at), archive(2, self.log), archive(3, self.oldest.from), archive(4, self.oldest.at);
    }
  };

  // A pack that cannot be had leaves the one before it in force, for ever: also where it can be had later, or where a
  // restart knows no more which one that was.
  struct Refused {
    std::string hash, instead;
  };

  State(LoadedPack pack, PackSource* packs, AlertSink& sink, const ShardOptions& options);

  bool consume(const Entry& raw, TickBudget& budget);
  void forget_marks();
  void forget_packs();
  void follow_sources(Item& item);
  // The subject takes its entries that wait. When it does makes no difference to it.
  void take_waiting(Item& item);
  // Does what has been put off of what was due.
  void catch_up(Item& item);
  void take_all_waiting() {
    while (!waiting_items_.empty()) take_waiting(*waiting_items_.back());
  }

  PackSource* packs;
  ShardOptions options;
  Counters counters;
  RuleObserver observer, settled_observer;
  ReportGate gate;
  LogState log;
  JobContext job;
  std::map<std::string, LoadedPack, std::less<>> loaded_packs;  // by hash: those that judge or may come into force
  std::set<std::string, std::less<>> had_packs;  // of those that a restore needs: which were loaded at some time
  std::string missing_pack;                      // one of them that cannot be had any more, and why
  std::map<PackChange::Key, Refused> refused;    // changes to packs that could not be had
  Subjects subjects;
  std::vector<std::shared_ptr<const Mark>> marks;     // 30 s apart: where a restore may begin to read
  Position next{};                                    // after the last entry
  Position handed_over{};                             // before it, nothing is reported
  Time last_take = long_ago, last_own = long_ago;     // of sections, of the shard's own
  bool more_due = false;                              // than the last take held
  Time pack_changed = long_ago;                       // when a subject changed its pack last
  std::vector<std::string> forgotten;                 // subjects whose sections are to be emptied
  CopyOnWrite<ForgottenAt> forgotten_at;              // entries before are about the subject that is gone
  ItemsBy<Position> backfilling;                      // subjects that are, by where that ends
  std::size_t state_bytes = 0;                        // of the jobs, by estimate
  std::map<std::string, std::uint64_t> refused_jobs;  // as take_refused_jobs() returns them
  RefusedEntries no_room;                             // entries of jobs that were refused

  // ---- marks and restore, in shard_sections.cpp
  void changes(Item& item);       // it is no longer as its section has it
  void count_values(Item& item);  // of the entry: where many came, its section is due sooner
  void unchanged(Item& item);
  void gone(Item& item);
  void save_by(Item& item, Time at) { move_to(to_save_, item, &Judged::save_at, at); }
  Sections take_due(bool all, std::size_t most_bytes);
  void take_section(Item& item, Sections& sections);
  void add_saved(const Judged& judged);  // to what the sections of all subjects need
  void remove_saved(const Judged& judged);
  void count_pack(Item& item);  // that judges it now
  [[nodiscard]] std::set<std::string, std::less<>> packs_in_use() const;
  [[nodiscard]] std::set<std::string, std::less<>> packs_to_come() const;
  void add_instead(
      std::set<std::string, std::less<>>& hashes) const;  // of those that were refused: what judges instead
  [[nodiscard]] PackChange::Key oldest_pack() const;      // that judges a subject, or would judge a new one
  void save_own(Writer& out) const;
  // `first`: at the latest where the first subject without a section begins.
  Result<void> load_own(Reader& in, std::set<std::string>& changed, Position& first);
  [[nodiscard]] const Mark* place_to_read_from(Position at) const;

  [[nodiscard]] std::map<std::string, std::uint64_t> by_name(std::uint64_t (Subject::*of)() const) {
    for (Item& item : subjects) catch_up(item);
    std::map<std::string, std::uint64_t> all;
    for (const auto& [name, judged] : subjects) all[name] = (*judged.subject.*of)();
    return all;
  }
  [[nodiscard]] bool begun() const noexcept { return begun_; }  // an entry that is not done

 private:
  void begin(const Entry& raw);
  void read(const Entry& raw);  // with the arrival that counts
  void mark();
  void judge_on_from(Position position);
  Item* subject(std::string_view name);
  [[nodiscard]] bool room_for(std::string_view name);
  void measure(Item& item);
  void schedule(Item& item);
  bool advance(Item& item, TickBudget& budget);
  [[nodiscard]] bool something_due() const { return !due_.empty() && due_.begin()->first <= log.clock; }
  bool advance_due(TickBudget& budget);
  bool is_next(Item& item);
  bool advance_waiting(TickBudget& budget);
  bool apply(TickBudget& budget);
  bool wait(Item& item);
  // Where an item stands in one of the sets by time, as its Judged has it; never: not in it.
  static void move_to(ItemsBy<Time>& items, Item& item, Time Judged::*where, Time at);
  void be_due(Item& item, Time at) { move_to(due_, item, &Judged::due, at); }
  void control(const ControlRecord& record);
  void gap(Item& item, Time from, Time to);
  void forget(Item& item);

  // ---- watermarks, in shard_watermarks.cpp
  // A source's arrival or watermark further ahead of the append time here is corrected.
  static constexpr Duration furthest_ahead = std::chrono::minutes{10};
  // A source without a watermark for so long is forgotten; where it goes on, it is as new.
  static constexpr Duration watermarks_kept = std::chrono::hours{24};
  void read_watermark(const ControlRecord& record);
  // The first control record behind `look` concerns the subject, whatever it is about.
  void look_after(Item& item, Time look) { move_to(looks_, item, &Judged::look, look); }
  void follow_watermarks(std::string_view moved);

  std::shared_ptr<PackRuntime> runtime(const PackChange& change) override { return runtimes_.of(loaded(change)); }
  std::shared_ptr<Extraction> extraction(const PackChange& change) override {
    return runtimes_.extraction(loaded(change));
  }
  const LoadedPack& loaded(const PackChange& change);
  const LoadedPack* find_loaded(std::string_view hash);  // null: it cannot be had

  PackRuntimes runtimes_;
  const Entry* entry_ = nullptr;  // that is read, with its times as they count: the one consumed, or `corrected_`
  Entry corrected_;
  Time arrival_{};  // the entry's, as it counts
  bool begun_ = false, applied_ = false;
  // What a save asks of all subjects, so that it does not go through them: of those that changed since their sections,
  // when the next is due, the positions of these and the names; how far back rows of sections reach; the packs of
  // sections; those that judge.
  ItemsBy<Time> to_save_;
  std::multiset<Position> changed_from_;
  ChangedSubjects changed_;
  std::multiset<Time> rows_from_;
  std::map<std::string, std::size_t> saved_packs_;
  std::map<PackChange, std::size_t, ByKeyThenHash> judging_;
  std::size_t controls_done_ = 0;
  void prefetch_next() const noexcept;
  ItemsBy<Time> due_;    // the next of each subject that goes by the log's clock
  Followers followers_;  // those that do not
  ItemsBy<Time> looks_;
  std::vector<Item*> waiting_items_;  // of which entries wait
  WaitingEntries::Room room_;
  FirstDue first_due_;
  Item* unfinished_ = nullptr;  // whose ticks took the budget
  Items waiting_;               // to be advanced to their own clock after a control record
  Item* recent_ = nullptr;      // whose record was read last: most often the next one's, too
};

}  // namespace tocsin::stream
