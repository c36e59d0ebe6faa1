#include <algorithm>
#include <cstring>
#include <memory_resource>
#include <utility>

#include "schemas/codec.h"
#include "schemas/layout.h"
#include "stream/values/value.h"

namespace tocsin::schemas {
namespace {

using stream::MemberKey;
using stream::RecordKind;
using stream::SampleBlock;
using stream::Time;

// A block that samples are added to: cells (time, member) in the block's order; the last row can be incomplete.
struct Pending {
  std::vector<SampleBlock::Signal> signals;
  std::string_view source;
  std::vector<Time> times;
  std::vector<MemberKey> members;
  std::vector<double> values;  // absent if there is none
  std::vector<std::string_view> texts;
  // Built when the entry is read.
  std::string layout, membership;
  std::vector<float> narrow;
  std::vector<std::uint8_t> present;

  [[nodiscard]] std::size_t cells() const { return values.size() / signals.size(); }

  // Whether a sample of this time and member continues the grid.
  [[nodiscard]] bool continues(Time time, const MemberKey& member) const {
    const std::size_t place = cells() % members.size();
    if (times.size() > 1 && place != 0) return time == times.back() && member == members[place];
    if (time != times.back()) return member == members.front();
    if (times.size() > 1) return false;
    return fresh(member);
  }
  [[nodiscard]] bool fresh(const MemberKey& member) const {
    const MemberKey& last = members.back();
    const bool rank = member.level == stream::Level::rank;
    if (last.level == stream::Level::rank && rank && ascending && member.rank > last.rank) return true;
    return std::none_of(members.begin(), members.end(), [&](const MemberKey& other) {  // a rank is one on any node
      return rank ? other.level == member.level && other.rank == member.rank : other == member;
    });
  }
  void add_cell(Time time, const MemberKey& member) {
    if (times.empty() || time != times.back()) times.push_back(time);
    if (times.size() > 1) return;
    ascending =
        ascending && member.level == stream::Level::rank && (members.empty() || members.back().rank < member.rank);
    members.push_back(member);
  }
  // The value of a text that lasts as long as the block.
  double index_of(std::string_view text) {
    auto found = std::find(texts.begin(), texts.end(), text);
    if (found == texts.end()) found = texts.insert(texts.end(), text);
    return static_cast<double>(found - texts.begin());
  }
  bool ascending = true;  // so far all ranks, each greater than the one before
};

std::string_view unit_of(const EntryBuilder::Value& value) { return value.is_text ? "text" : value.unit; }

bool survives_as_float(double value) {
  return value != value || static_cast<double>(static_cast<float>(value)) == value;
}

}  // namespace

struct EntryBuilder::State {
  std::unique_ptr<std::byte[]> first_chunk = std::make_unique_for_overwrite<std::byte[]>(first_chunk_bytes);
  std::pmr::monotonic_buffer_resource arena{first_chunk.get(),
                                            first_chunk_bytes};  // texts, fields and members of spans
  static constexpr std::size_t first_chunk_bytes = 64u << 10;

  stream::Entry entry;
  std::vector<Pending> pending;
  std::vector<SampleBlock> samples;
  std::vector<stream::LineRecord> lines;
  std::vector<stream::EventRecord> events;
  std::vector<stream::CoverageRecord> coverage;
  std::vector<stream::ControlRecord> controls;
  std::vector<RecordKind> order;
  std::vector<MemberKey> scratch;

  std::string_view keep(std::string_view text) {
    if (text.empty()) return {};
    auto* const copy = static_cast<char*>(arena.allocate(text.size(), 1));
    std::memcpy(copy, text.data(), text.size());
    return {copy, text.size()};
  }
  template <class T>
  std::span<const T> keep(std::span<const T> values) {
    if (values.empty()) return {};
    auto* const copy = static_cast<T*>(arena.allocate(values.size_bytes(), alignof(T)));
    std::uninitialized_copy(values.begin(), values.end(), copy);  // of types that need no destructor
    return {copy, values.size()};
  }
  MemberKey keep(const Member& member) { return {member.level, member.rank, keep(member.node), keep(member.gpu)}; }

  // Another block or record begins: the last block has all its rows before.
  void begin(RecordKind kind) {
    if (!order.empty() && order.back() == RecordKind::samples) split_partial_row(pending.back());
    order.push_back(kind);
  }
  [[nodiscard]] bool in_usual_order() const;
  Pending& block_for(Time time, const MemberKey& member, std::span<const Value> values, std::string_view source);
  void split_partial_row(Pending& block);
  void finish(Pending& block);
};

// The last row of a block lacks members: it becomes a block of its own.
void EntryBuilder::State::split_partial_row(Pending& block) {
  const std::size_t rest = block.cells() % block.members.size();
  if (rest == 0) return;
  Pending row;
  row.signals = block.signals;
  row.source = block.source;
  row.times = {block.times.back()};
  row.members.assign(block.members.begin(), block.members.begin() + static_cast<std::ptrdiff_t>(rest));
  row.ascending = block.ascending;
  const auto from = block.values.end() - static_cast<std::ptrdiff_t>(rest * block.signals.size());
  row.values.assign(from, block.values.end());
  for (std::size_t i = 0; i < row.values.size(); ++i)
    if (row.signals[i % row.signals.size()].kind == stream::SignalKind::state)
      row.values[i] = row.index_of(block.texts[static_cast<std::size_t>(row.values[i])]);
  block.values.erase(from, block.values.end());
  block.times.pop_back();
  pending.push_back(std::move(row));  // `block` may be invalid now
  order.push_back(RecordKind::samples);
}

bool EntryBuilder::State::in_usual_order() const {
  std::size_t event = 0;
  int last = 0;
  return std::all_of(order.begin(), order.end(), [&](RecordKind kind) {
    const std::string_view name = kind == RecordKind::event ? events[event++].name : std::string_view{};
    if (name == "end") return true;  // which comes last, wherever it stands
    const bool shapes = stream::shapes_the_job(name);
    const int before = std::exchange(last, shapes ? 0 : 1 + static_cast<int>(kind));
    return before <= last;
  });
}

Pending& EntryBuilder::State::block_for(Time time, const MemberKey& member, std::span<const Value> values,
                                        std::string_view source) {
  const auto same_signals = [&](const Pending& block) {
    return block.source == source &&
           std::equal(block.signals.begin(), block.signals.end(), values.begin(), values.end(),
                      [](const SampleBlock::Signal& signal, const Value& value) {
                        return signal.name == value.signal && signal.unit == unit_of(value);
                      });
  };
  if (!order.empty() && order.back() == RecordKind::samples && same_signals(pending.back())) {
    if (pending.back().continues(time, member)) return pending.back();
    split_partial_row(pending.back());
    if (pending.back().continues(time, member)) return pending.back();
  }
  begin(RecordKind::samples);
  Pending& block = pending.emplace_back();
  block.source = keep(source);
  for (const Value& value : values)
    block.signals.push_back({keep(value.signal), value.is_text ? "text" : keep(value.unit),
                             value.is_text ? stream::SignalKind::state : stream::SignalKind::gauge});
  return block;
}

void EntryBuilder::State::finish(Pending& block) {
  block.layout = layout_bytes(block.signals);
  block.membership = member_bytes(block.members);
  block.narrow.clear();
  block.present.clear();
  if (std::any_of(block.values.begin(), block.values.end(), [](double v) { return stream::is_absent(v); })) {
    block.present.assign((block.values.size() + 7) / 8, 0);
    for (std::size_t i = 0; i < block.values.size(); ++i)
      if (!stream::is_absent(block.values[i]))
        block.present[i / 8] = static_cast<std::uint8_t>(block.present[i / 8] | 1u << i % 8);
  }
  if (std::all_of(block.values.begin(), block.values.end(), survives_as_float))
    for (const double value : block.values) block.narrow.push_back(static_cast<float>(value));
  SampleBlock view;
  view.layout = block.layout;
  view.signals = block.signals;
  view.members = block.members;
  view.times = block.times;
  if (block.narrow.empty()) view.wide = block.values;
  else view.narrow = block.narrow;
  view.present = block.present;
  view.texts = block.texts;
  view.source = block.source;
  view.membership = block.membership;
  samples.push_back(view);
}

EntryBuilder::EntryBuilder() : state_(std::make_unique<State>()) {}
EntryBuilder::~EntryBuilder() = default;
EntryBuilder::EntryBuilder(EntryBuilder&&) noexcept = default;

void EntryBuilder::clear() {
  State& s = *state_;
  s.entry = {};
  s.pending.clear(), s.samples.clear(), s.lines.clear(), s.events.clear(), s.coverage.clear(), s.controls.clear();
  s.order.clear();
  s.arena.release();
}

void EntryBuilder::about(std::string_view subject, std::string_view attempt, std::string_view node) {
  state_->entry.subject = state_->keep(subject);
  state_->entry.attempt = state_->keep(attempt);
  state_->entry.node = state_->keep(node);
}

void EntryBuilder::produced_by(std::string_view producer, std::uint32_t epoch, std::uint64_t sequence) {
  state_->entry.producer = state_->keep(producer);
  state_->entry.epoch = epoch;
  state_->entry.sequence = sequence;
}

void EntryBuilder::sample(Time time, const Member& member, std::span<const Value> values, std::string_view source) {
  if (values.empty()) return;
  State& s = *state_;
  const MemberKey key{member.level, member.rank, member.node, member.gpu};
  Pending& block = s.block_for(time, key, values, source);
  block.add_cell(time, key);
  if (block.times.size() == 1) block.members.back() = s.keep(member);
  for (const Value& value : values) {
    if (!value.is_text) {
      block.values.push_back(stream::canonical(value.number));
      continue;
    }
    auto found = std::find(block.texts.begin(), block.texts.end(), value.text);
    if (found == block.texts.end()) found = block.texts.insert(block.texts.end(), s.keep(value.text));
    block.values.push_back(static_cast<double>(found - block.texts.begin()));
  }
}

void EntryBuilder::line(Time time, const Member& member, std::string_view text, bool error_stream,
                        std::string_view source) {
  State& s = *state_;
  const bool same =
      !s.lines.empty() && s.lines.back().member == MemberKey{member.level, member.rank, member.node, member.gpu};
  const MemberKey key = same ? s.lines.back().member : s.keep(member);
  const std::string_view kept =
      !s.lines.empty() && s.lines.back().source == source ? s.lines.back().source : s.keep(source);
  s.begin(RecordKind::line);
  s.lines.push_back({time, key, error_stream, s.keep(text), kept});
}

void EntryBuilder::event(Time time, const Member& member, std::string_view name, std::span<const Field> fields,
                         std::string_view source) {
  State& s = *state_;
  std::vector<stream::EventRecord::Field> kept;
  for (const Field& field : fields) {
    if (field.is_text) kept.push_back({s.keep(field.name), s.keep(field.text)});
    else kept.push_back({s.keep(field.name), field.number});
  }
  s.begin(RecordKind::event);
  s.events.push_back(
      {time, s.keep(member), s.keep(name), s.keep(source), s.keep(std::span<const stream::EventRecord::Field>{kept})});
}

void EntryBuilder::coverage(std::string_view source, std::span<const Member> members) {
  State& s = *state_;
  s.scratch.clear();
  for (const Member& member : members) s.scratch.push_back(s.keep(member));
  s.begin(RecordKind::coverage);
  s.coverage.push_back({s.keep(source), s.keep(std::span<const MemberKey>{s.scratch})});
}

void EntryBuilder::beat() { state_->controls.push_back({}); }

void EntryBuilder::watermark(std::string_view source, Time read_up_to, Time gap_from) {
  state_->controls.push_back(
      {stream::ControlRecord::Kind::watermark, state_->keep(source), read_up_to, gap_from, {}, {}, {}});
}

void EntryBuilder::pack(std::string_view hash, Time from, std::string_view text) {
  state_->controls.push_back(
      {stream::ControlRecord::Kind::pack, {}, {}, {}, state_->keep(hash), from, state_->keep(text)});
}

void EntryBuilder::seal() { state_->controls.push_back({stream::ControlRecord::Kind::seal, {}, {}, {}, {}, {}, {}}); }

bool EntryBuilder::empty() const {
  const State& s = *state_;
  return s.pending.empty() && s.lines.empty() && s.events.empty() && s.coverage.empty() && s.controls.empty();
}

const stream::Entry& EntryBuilder::entry() {
  State& s = *state_;
  if (!s.order.empty() && s.order.back() == RecordKind::samples) s.split_partial_row(s.pending.back());
  s.samples.clear();
  for (Pending& block : s.pending) s.finish(block);
  s.entry.samples = s.samples;
  s.entry.lines = s.lines;
  s.entry.events = s.events;
  s.entry.coverage = s.coverage;
  s.entry.controls = s.controls;
  s.entry.order = s.in_usual_order() ? std::span<const RecordKind>{} : std::span{s.order};
  return s.entry;
}

}  // namespace tocsin::schemas
