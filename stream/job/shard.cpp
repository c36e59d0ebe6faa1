#include "stream/job/shard.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <set>
#include <tuple>

#include "stream/job/pack_runtime.h"
#include "stream/job/subject.h"

namespace tocsin::stream {
namespace {

constexpr Duration widest_beat = std::chrono::seconds{5};
constexpr Duration between_marks = std::chrono::minutes{1};
constexpr Duration between_snapshots = std::chrono::seconds{30};
constexpr Duration counter_memory = std::chrono::seconds{120};
constexpr Duration most_lateness = std::chrono::minutes{1};  // of rows, for how far a take-over reads back
constexpr std::size_t most_subjects = 100'000;

// Kafka's murmur2, as its Java client partitions by it.
std::uint32_t murmur2(std::string_view key) {
  constexpr std::uint32_t m = 0x5bd1e995;
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(key[i])); };
  auto h = 0x9747b28cu ^ static_cast<std::uint32_t>(key.size());
  std::size_t i = 0;
  for (; i + 4 <= key.size(); i += 4) {
    std::uint32_t k = byte(i) | byte(i + 1) << 8 | byte(i + 2) << 16 | byte(i + 3) << 24;
    k *= m, k ^= k >> 24, k *= m;
    h = h * m ^ k;
  }
  switch (key.size() - i) {
    case 3: h ^= byte(i + 2) << 16; [[fallthrough]];
    case 2: h ^= byte(i + 1) << 8; [[fallthrough]];
    case 1: h = (h ^ byte(i)) * m; break;
    default: break;
  }
  h ^= h >> 13, h *= m, h ^= h >> 15;
  return h & 0x7fffffffu;
}

// The last sequence numbers of one producer, so that what is delivered twice is known.
class Seen {
 public:
  static constexpr std::uint64_t window = 1024;

  // True: seen before, or too far behind to tell.
  bool repeated(std::uint32_t epoch, std::uint64_t sequence) {
    if (epoch < epoch_) return true;
    if (epoch > epoch_ || !any_) {
      epoch_ = epoch, any_ = true, highest_ = sequence, bits_.fill(0);
      set(sequence);
      return false;
    }
    if (sequence + window <= highest_) return true;
    if (sequence > highest_) {
      const std::uint64_t from = sequence - highest_ >= window ? 0 : highest_ + 1;
      if (from == 0) bits_.fill(0);
      else
        for (std::uint64_t s = from; s <= sequence; ++s) bits_[s % window / 64] &= ~(std::uint64_t{1} << s % 64);
      highest_ = sequence;
    } else if (bits_[sequence % window / 64] >> sequence % 64 & 1) {
      return true;
    }
    set(sequence);
    return false;
  }
  static void fields(auto& self, auto& archive) {
    archive(1, self.epoch_), archive(2, self.any_), archive(3, self.highest_), archive(4, self.bits_);
  }

 private:
  void set(std::uint64_t sequence) { bits_[sequence % window / 64] |= std::uint64_t{1} << sequence % 64; }
  std::uint32_t epoch_ = 0;
  bool any_ = false;
  std::uint64_t highest_ = 0;
  std::array<std::uint64_t, window / 64> bits_{};
};

void read_watermark(Watermarks& watermarks, const ControlRecord& record) {
  Time& read = watermarks.try_emplace(std::string{record.source}, long_ago).first->second;
  read = std::max(read, record.read_up_to);
}

}  // namespace

struct Shard::State {
  struct Waiting {
    std::string hash, text;
    Time from;
  };
  struct ByTimeThenName {
    bool operator()(const auto& a, const auto& b) const { return std::tie(a.first, a.second->first) < std::tie(b.first, b.second->first); }
  };

  LoadedPack pack;
  PackSource* packs;
  ShardOptions options;
  Counters counters;
  RuleObserver observer;
  PackRuntimes runtimes;
  Context around;

  Time clock = long_ago, last_beat = long_ago, last_snapshot = long_ago;
  Position next{};
  bool sealed = false, pack_changed = false;
  std::vector<Waiting> waiting;  // packs whose `from` has not come
  Watermarks watermarks;
  std::map<std::string, Seen, std::less<>> producers;  // and re-keyed sources
  struct Mark {
    Position at{};
    Time clock{};
    Watermarks watermarks;
    static void fields(auto& self, auto& archive) { archive(1, self.at), archive(2, self.clock), archive(3, self.watermarks); }
  };
  struct Filling {
    Time clock = long_ago;
    Watermarks watermarks;
  } filling;                // as of the entry that is filled
  std::vector<Mark> marks;  // a minute apart: where a take-over may begin to read
  struct Judged {
    std::unique_ptr<Subject> subject;
    Time due = never;  // as it stands in the set below
  };
  using Subjects = std::map<std::string, Judged, std::less<>>;
  Subjects subjects;
  std::set<std::pair<Time, Subjects::value_type*>, ByTimeThenName> due;  // the next of each subject that goes by the log's clock
  Subjects::value_type* recent = nullptr;                                // whose record was read last: most often the next one's, too

  Subjects::value_type* subject(std::string_view name) {
    if (recent != nullptr && recent->first == name) return recent;
    if (const auto found = subjects.find(name); found != subjects.end()) return recent = &*found;
    if (options.shards > 1 && murmur2(name) % options.shards != options.shard) return nullptr;
    if (subjects.size() >= most_subjects) {
      ++counters.subject_limit;
      return nullptr;
    }
    return recent = &*subjects.emplace(std::string{name}, Judged{std::make_unique<Subject>(std::string{name}, around)}).first;
  }

  void schedule(Subjects::value_type& entry) {
    Judged& judged = entry.second;
    const Time next_at = judged.subject->rekeyed() ? never : judged.subject->next_due();
    if (judged.due == next_at) return;
    if (judged.due != never) due.erase({judged.due, &entry});
    judged.due = next_at;
    if (next_at != never) due.emplace(next_at, &entry);
  }

  void advance_one(Subjects::value_type& entry) {
    Subject& subject = *entry.second.subject;
    if (entry.second.due != never && clock < entry.second.due) return subject.pass(clock);
    subject.advance(subject.clock(clock));
    schedule(entry);
  }

  void advance_due() {
    while (!due.empty() && due.begin()->first <= clock) advance_one(*due.begin()->second);
  }

  // After each control record; between them, how other subjects' records interleave must not matter.
  void follow_watermarks() {
    for (auto& entry : subjects) {
      if (!entry.second.subject->rekeyed()) continue;
      entry.second.subject->follow(clock, watermarks);
      advance_one(entry);
    }
  }

  // What a take-over has to read again: rows of the longest window, what counters were before, and what waited for lateness.
  [[nodiscard]] Time rows_reach_back_to() const {
    Duration longest{};
    Time least = clock;
    for (const auto& [name, judged] : subjects) {
      longest = std::max(longest, judged.subject->longest_raw_window());
      least = std::min(least, judged.subject->clock(clock));
    }
    return least - (longest + most_lateness + counter_memory);
  }

  void change_pack(const LoadedPack& next_pack, Time from) {
    pack = next_pack;
    pack_changed = true;
    for (auto& entry : subjects) {
      entry.second.subject->use(pack, from);
      schedule(entry);
    }
  }

  // Packs whose time has come by `clock`: everything due before runs under the old one.
  void change_packs_up_to(Time target) {
    while (!waiting.empty() && waiting.front().from <= target) {
      const Waiting next_pack = waiting.front();
      waiting.erase(waiting.begin());
      clock = std::max(clock, std::min(target, next_pack.from));
      advance_due();
      if (auto loaded = packs->pack(next_pack.hash)) change_pack(*loaded, next_pack.from);
      else ++counters.packs_refused;
    }
  }

  void set_clock(Time arrival) {
    const Time target = std::max(clock, arrival);
    change_packs_up_to(target);
    clock = target;
    advance_due();
  }

  void control(const ControlRecord& record) {
    switch (record.kind) {
      case ControlRecord::Kind::beat: ++counters.beats; break;
      case ControlRecord::Kind::watermark: read_watermark(watermarks, record); break;
      case ControlRecord::Kind::pack:
        if (options.ignore_packs || !packs || record.pack_hash == pack.pack->hash) break;
        packs->prepare(record.pack_hash, record.pack_text);
        waiting.push_back({std::string{record.pack_hash}, std::string{record.pack_text}, record.pack_from});
        break;
      case ControlRecord::Kind::seal:
        sealed = true;
        for (auto& entry : subjects) {
          entry.second.subject->seal();
          schedule(entry);
        }
        break;
    }
    follow_watermarks();
  }

  // The shard's own section, but for packs.
  static void fields(auto& self, auto& archive) {
    archive(2, self.clock), archive(3, self.last_beat), archive(4, self.next), archive(5, self.sealed), archive(6, self.marks);
    archive(7, self.watermarks), archive(8, self.producers);
  }

  bool repeated(const Entry& entry) {
    const auto seen = [&](std::string_view key, std::uint32_t epoch, std::uint64_t sequence) {
      auto found = producers.find(key);
      if (found == producers.end()) found = producers.emplace(std::string{key}, Seen{}).first;
      return found->second.repeated(epoch, sequence);
    };
    if (!entry.origin_source.empty()) return seen(entry.origin_source, 0, entry.origin_offset + 1);
    return !entry.producer.empty() && entry.sequence != 0 && seen(entry.producer, entry.epoch, entry.sequence);
  }
};

constexpr Tag pack_tag = 1, waiting_tag = 9;

Shard::Shard(LoadedPack pack, PackSource* packs, AlertSink& sink, ShardOptions options) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.pack = std::move(pack);
  s.packs = packs;
  s.options = options;
  s.around = {&sink, &s.counters, nullptr, options.digest_columns, &s.observer, &s.runtimes};
}

Shard::~Shard() = default;

void Shard::consume(const Entry& entry) {
  State& s = *state_;
  ++s.counters.entries;
  s.counters.rejected_blocks += entry.rejected_blocks;
  if (s.marks.empty() || entry.arrival >= s.marks.back().clock + between_marks) {
    s.marks.push_back({entry.position, std::max(s.clock, entry.arrival), s.watermarks});
    for (auto& [name, judged] : s.subjects) judged.subject->mark(entry.position);
  }
  if (s.last_snapshot == long_ago) s.last_snapshot = entry.arrival;
  s.next = entry.next;

  const bool beats =
      std::any_of(entry.controls.begin(), entry.controls.end(), [](const ControlRecord& c) { return c.kind == ControlRecord::Kind::beat; });
  if (beats) {
    if (s.last_beat != long_ago && entry.arrival > s.last_beat + widest_beat) {
      ++s.counters.gaps;
      for (auto& [name, judged] : s.subjects) judged.subject->gap(s.last_beat, entry.arrival);
    }
    s.last_beat = std::max(s.last_beat, entry.arrival);
  }
  s.set_clock(entry.arrival);
  if (s.repeated(entry)) {
    ++s.counters.duplicates;
    return;
  }
  if (!entry.subject.empty())
    if (auto* of = s.subject(entry.subject)) {
      s.advance_one(*of);
      of->second.subject->apply(entry, s.pack);
      s.schedule(*of);
    }
  for (const ControlRecord& record : entry.controls) s.control(record);
}

std::map<std::string, std::uint64_t> Shard::digests() const {
  std::map<std::string, std::uint64_t> result;
  for (const auto& [name, judged] : state_->subjects) result[name] = judged.subject->digest();
  return result;
}

std::map<std::string, std::uint64_t> Shard::row_digests() const {
  std::map<std::string, std::uint64_t> result;
  for (const auto& [name, judged] : state_->subjects) result[name] = judged.subject->rows_digest();
  return result;
}

const Counters& Shard::counters() const noexcept { return state_->counters; }
Time Shard::clock() const noexcept { return state_->clock; }
bool Shard::sealed() const noexcept { return state_->sealed; }
void Shard::observe(RuleObserver observer) { state_->observer = std::move(observer); }

bool Shard::snapshot_due() const noexcept {
  const State& s = *state_;
  return s.last_snapshot != long_ago && (s.pack_changed || s.clock >= s.last_snapshot + between_snapshots);
}

Shard::Sections Shard::snapshot() const {
  State& s = *state_;
  s.last_snapshot = s.clock;
  s.pack_changed = false;
  // Marks from before every take-over's reach are needed no more, but for one.
  const Time back_to = s.rows_reach_back_to();
  while (s.marks.size() > 1 && s.marks[1].clock < back_to) s.marks.erase(s.marks.begin());
  if (!s.marks.empty())
    for (const auto& [name, judged] : s.subjects) judged.subject->forget_marks(s.marks.front().at);

  Writer out;
  out(pack_tag, s.pack.pack->hash);
  State::fields(s, out);
  out.list(waiting_tag, s.waiting,
           [](Writer& of, const State::Waiting& waiting) { of(1, waiting.hash), of(2, waiting.text), of(3, waiting.from); });

  Sections sections;
  sections[""] = std::move(out).take();
  for (const auto& [name, judged] : s.subjects) {
    Writer section;
    judged.subject->save(section);
    sections[name] = std::move(section).take();
  }
  return sections;
}

Result<Shard::Resume> Shard::load(const Sections& sections) {
  State& s = *state_;
  const auto own = sections.find("");
  if (own == sections.end()) return Error{Errc::malformed, "the snapshot has no section of the shard"};
  Reader in{own->second};
  const auto hash = in.get<std::string>(pack_tag);
  if (hash != s.pack.pack->hash) {
    std::optional<LoadedPack> loaded;
    if (s.packs && !s.options.ignore_packs)
      if (auto found = s.packs->pack(hash)) loaded = std::move(*found);
    if (!loaded)
      return Error{Errc::refused,
                   "the snapshot was made under other rules (" + hash + "), which are not to be had: start from the log's beginning"};
    s.pack = *loaded;
  }
  State::fields(s, in);
  s.last_snapshot = s.clock;
  in.list(waiting_tag, [&](Reader& of) {
    if (!s.packs) return;
    s.waiting.push_back({of.get<std::string>(1), of.get<std::string>(2), of.get<Time>(3)});
    s.packs->prepare(s.waiting.back().hash, s.waiting.back().text);
  });
  if (auto ok = in.status(); !ok) return ok.error();
  for (const auto& [name, bytes] : sections) {
    if (name.empty()) continue;
    auto subject = std::make_unique<Subject>(name, s.around);
    Reader section{bytes};
    if (auto loaded = subject->load(section, s.pack); !loaded)
      return Error{loaded.error().code, "subject " + name + ": " + loaded.error().message};
    s.subjects.emplace(name, State::Judged{std::move(subject)});
  }
  const Time back_to = s.rows_reach_back_to();
  State::Mark from = s.marks.empty() ? State::Mark{} : s.marks.front();
  for (const State::Mark& mark : s.marks)
    if (mark.clock < back_to) from = mark;
  s.filling = {from.clock, from.watermarks};
  for (const auto& [name, judged] : s.subjects) judged.subject->begin_backfill(from.at);
  return Resume{from.at, s.next};
}

void Shard::fill(const Entry& entry) {
  State& s = *state_;
  s.filling.clock = std::max(s.filling.clock, entry.arrival);
  for (const ControlRecord& record : entry.controls) {
    if (record.kind == ControlRecord::Kind::watermark) read_watermark(s.filling.watermarks, record);
    for (const auto& [name, judged] : s.subjects) judged.subject->follow_backfill(s.filling.clock, s.filling.watermarks);
  }
  if (entry.subject.empty()) return;
  if (const auto found = s.subjects.find(entry.subject); found != s.subjects.end()) found->second.subject->fill(entry, s.filling.clock);
}

void Shard::filled() {
  State& s = *state_;
  for (auto& entry : s.subjects) {
    entry.second.subject->filled();
    s.schedule(entry);
  }
}

}  // namespace tocsin::stream
