#include "stream/job/intake.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <system_error>
#include <type_traits>
#include <utility>

#include "stream/graph/kernels.h"
#include "stream/values/digest.h"

namespace tocsin::stream {
namespace {

constexpr Duration furthest_back =
    std::chrono::minutes{10};  // of an event or point; further, it is placed at its arrival

template <class T>
T measured(T value) noexcept {
  return value == value ? value : static_cast<T>(measured_nan);
}

// Of NAME#N: NAME and N. What has one number of NAME#1, NAME#2, … are parts of one message, and stand in this order.
std::pair<std::string_view, std::uint32_t> name_and_part(std::string_view producer) {
  const std::size_t mark = producer.rfind('#');
  std::uint32_t part = 0;
  if (mark == producer.npos) return {producer, part};
  const char* const end = producer.data() + producer.size();
  const auto [rest, wrong] = std::from_chars(producer.data() + mark + 1, end, part);
  if (wrong != std::errc{} || rest != end) return {producer, 0};
  return {producer.substr(0, mark), part};
}
constexpr std::uint32_t most_parts = 4'095, values_a_part = 1u << 20;

}  // namespace

void Intake::open(const Pack& pack, History& history) {
  pack_ = &pack;
  history_ = &history;
  step_ = pack.signals.find("step");
  forget_layouts();
  following_signals_.assign(pack.signals.size(), 0);
  steps_.forget_signals();
}

Provenance Intake::of(const Entry& entry, std::optional<std::size_t> origin) noexcept {
  const auto in_order_of = [&](std::string_view name, std::uint32_t epoch, std::uint64_t sequence,
                               std::uint32_t first = 0) {
    return Provenance{entry.arrival, origin, {name.empty() ? 0 : hash_text(name) << 32 | epoch, sequence, first}};
  };
  ++sequence_;
  if (!entry.producer.empty() && entry.sequence != 0) {
    const auto [name, part] = name_and_part(entry.producer);
    return in_order_of(name, entry.epoch, entry.sequence, std::min(part, most_parts) * values_a_part);
  }
  if (!entry.origin_source.empty()) return in_order_of(entry.origin_source, 0, entry.origin_offset);
  return in_order_of(entry.producer, entry.epoch, sequence_);
}

Time Intake::placed(Time time, Time arrival, bool point, std::size_t values) {
  if (time > arrival || (point && time < arrival - furthest_back)) {
    counters_->corrected_times += values;
    return arrival;
  }
  return time;
}

std::optional<Slot> Intake::owner_slot(Level owner, const MemberKey& key) {
  if (owner == Level::job) return Slot{0};
  if (owner == key.level) return topology_.slot(key);
  if (owner == Level::rank) {
    // No rank is known: the value is the job's reserved member's.
    topology_.use_reserved();
    return reserved_slot;
  }
  if (key.level > owner) {
    if (const auto slot = topology_.slot(key))
      if (const Slot container = topology_.container(key.level, *slot, owner); container != no_slot) return container;
    Slot slot = no_slot;
    if (owner == Level::node && !key.node.empty()) slot = topology_.node(key.node);
    if (owner == Level::gpu && !key.gpu.empty()) slot = topology_.gpu(key.node, key.gpu);
    if (slot != no_slot) return slot;
  }
  return std::nullopt;
}

void Intake::cover(std::string_view source, const MemberKey& key, Time arrival) {
  if (source.empty()) return;
  const auto slot = topology_.slot(key);
  if (slot && !history_->rows_alone()) coverage_.extend(source, key.level, *slot, arrival);
}

void Intake::alive(std::string_view source, const MemberKey& key, const Provenance& from) {
  const auto slot = topology_.slot(key);
  if (!slot || history_->rows_alone()) return;
  if (!source.empty()) coverage_.extend(source, key.level, *slot, from.arrival);
  history_->alive(key.level, *slot, from.arrival);
  if (cluster_ != nullptr) cluster_->see(key.level, {&*slot, 1}, from.arrival);
  carried(key.level, {&*slot, 1}, from);
}

void Intake::mark_alive(std::span<const std::string> sources, const Membership& membership, const Provenance& from) {
  if (history_->rows_alone()) return;
  std::size_t first = 0;
  for (const auto& [level, end] : membership.levels) {
    std::span<const Slot> slots = std::span{membership.own}.subspan(first, end - first);
    first = end;
    if (membership.without != 0) {
      slots_.clear();
      std::copy_if(slots.begin(), slots.end(), std::back_inserter(slots_), [](Slot slot) { return slot != no_slot; });
      slots = slots_;
    }
    history_->alive(level, slots, from.arrival);
    if (cluster_ != nullptr) cluster_->see(level, slots, from.arrival);
    carried(level, slots, from);
    for (const std::string& source : sources) coverage_.extend(source, level, slots, from.arrival);
  }
}

// GPUs under the names that samples give them. The newest say what holds.
void Intake::learn_gpus(const SampleBlock& block, const Layout& layout) {
  const std::size_t width = block.signals.size(), members = block.members.size();
  std::string index;
  std::vector<std::string_view> names;
  for (std::size_t cell = 0; cell < block.times.size() * members; ++cell) {
    const MemberKey& member = block.members[cell % members];
    if (member.node.empty() || member.gpu.empty()) continue;
    names.assign(1, member.gpu);
    for (const std::uint32_t s : layout.gpu_names) {
      const double value = block.has(cell * width + s) ? block.value(cell * width + s) : -1;
      if (!(value >= 0 && value < 65'536)) continue;
      const auto number = static_cast<std::size_t>(value);
      if (block.signals[s].unit != "text") names.push_back(index = std::to_string(number));
      else if (number < block.texts.size()) names.push_back(block.texts[number]);
    }
    topology_.same_gpu(member.node, names);
  }
}

void Intake::block(const SampleBlock& block, Provenance& from) {
  Layout& layout = layout_of(block);
  if (!layout.gpu_names.empty()) learn_gpus(block, layout);
  Membership& membership = membership_of(block);
  counters_->samples += block.size();
  counters_->member_limit += membership.without;
  if (layout.refused) {
    // Its members are alive, but nobody knows what its source measured: that stays unknown.
    ++counters_->unit_mismatch;
    mark_alive({}, membership, from);
    return;
  }
  mark_alive(layout.sources, membership, from);
  counters_->unknown_signal += layout.unknown;
  counters_->unwanted += layout.unwanted;
  if (can_follow(block, layout, membership, from)) {
    follow(block, layout, membership, from);
  } else {
    write_following();
    if (layout.step != npos && layout.one_by_one.empty()) report_steps(block, layout, membership, from);
    arrive(block, layout, membership, from);
    if (block.members.size() < 8 && !block.narrow.empty()) members(block, layout, membership, from);
    else
      for (const std::uint32_t s : layout.plain) signal(block, layout, membership, s, from);
    for (const std::uint32_t s : layout.others) signal(block, layout, membership, s, from);
  }
  if (!layout.one_by_one.empty()) one_by_one(block, layout, membership, from);
}

void Intake::signal(const SampleBlock& block, const Layout& layout, Membership& membership, std::size_t s,
                    Provenance& from) {
  const auto& signal = layout.signals[s];
  const auto& owners = owners_of(membership, signal.owner, block, from);
  // Without a unit, floats stay floats. With one, the product is a double's: the same value whether or not another in
  // the block makes it wide.
  for (std::size_t t = 0; t < block.times.size(); ++t) {
    if (block.narrow.empty()) column<double>(block.wide, block, signal, owners, s, t, from);
    else if (signal.factor != 1) column<double>(block.narrow, block, signal, owners, s, t, from);
    else column<float>(block.narrow, block, signal, owners, s, t, from);
  }
}

Intake::Slots Intake::slots_of(const SampleBlock& block, const Layout& layout, Membership& membership,
                               std::span<const std::uint32_t> signals, const Provenance& from) {
  Slots slots{};
  for (const std::uint32_t s : signals) {
    const Level owner = layout.signals[s].owner;
    if (auto& of = slots[static_cast<std::size_t>(owner)]; of == nullptr)
      of = owners_of(membership, owner, block, from).slots.data();
  }
  return slots;
}

void Intake::members(const SampleBlock& block, const Layout& layout, Membership& membership, Provenance& from) {
  const std::size_t width = block.signals.size(), count = block.members.size();
  const Slots slots = slots_of(block, layout, membership, layout.plain, from);
  const bool complete = block.present.empty();
  values_.resize(layout.plain.size());
  for (std::size_t t = 0; t < block.times.size(); ++t)
    for (std::size_t m = 0; m < count; ++m) {
      const std::size_t row = (t * count + m) * width;
      std::size_t taken = 0;
      for (const std::uint32_t s : layout.plain) {
        const auto& signal = layout.signals[s];
        if (!complete && !block.has(row + s)) continue;
        const Slot slot = slots[static_cast<std::size_t>(signal.owner)][m];
        if (slot != no_slot)
          values_[taken++] = {signal.id, slot,
                              measured(static_cast<float>(static_cast<double>(block.narrow[row + s]) * signal.factor)),
                              arrived_[s] != 0};
      }
      if (taken == 0) continue;
      counters_->late +=
          history_->samples(std::span{values_}.first(taken), placed(block.times[t], from.arrival, false, taken),
                            from.arrival, from.take_order(taken));
    }
}

template <class T, class From>
void Intake::column(std::span<const From> cells, const SampleBlock& block, const Layout::Signal& signal,
                    const Membership::Owners& owners, std::size_t s, std::size_t t, Provenance& from) {
  const std::size_t width = block.signals.size(), members = owners.slots.size(), first = t * members * width + s;
  std::vector<T>* values;
  if constexpr (std::is_same_v<T, float>) values = &narrow_;
  else values = &wide_;
  const auto value = [&](std::size_t i) {
    if constexpr (std::is_same_v<T, float>) return measured(cells[i]);
    else return measured(static_cast<double>(cells[i]) * signal.factor);
  };
  std::span<const Slot> slots = owners.slots;
  if (block.present.empty() && owners.all) {
    values->resize(members);
    T* to = values->data();
    if constexpr (std::is_same_v<T, float>) {
      if (width == 1) kernels().copy_measured(cells.data() + first, to, members);
      else
        for (std::size_t m = 0; m < members; ++m) to[m] = value(first + m * width);
    } else {
      for (std::size_t m = 0; m < members; ++m) to[m] = value(first + m * width);
    }
  } else {
    slots_.clear(), values->clear();
    for (std::size_t m = 0; m < members; ++m) {
      const std::size_t i = first + m * width;
      if (slots[m] == no_slot || !block.has(i)) continue;
      slots_.push_back(slots[m]);
      values->push_back(value(i));
    }
    slots = slots_;
  }
  if (slots.empty()) return;
  counters_->late +=
      history_->samples(signal.id, slots, placed(block.times[t], from.arrival, signal.points, slots.size()),
                        std::span<const T>{*values}, from.arrival, from.take_order(slots.size()), arrived_[s] != 0);
}

void Intake::report_steps(const SampleBlock& block, const Layout& layout, Membership& membership,
                          const Provenance& from) {
  const auto& step = layout.signals[layout.step];
  const auto& slots = owners_of(membership, step.owner, block, from).slots;
  const std::size_t width = block.signals.size();
  for (std::size_t cell = 0; cell < block.times.size() * slots.size(); ++cell) {
    const std::size_t place = cell * width + layout.step;
    const Slot slot = slots[cell % slots.size()];
    if (slot != no_slot && block.has(place)) steps_.report(slot, measured(block.value(place) * step.factor));
  }
}

void Intake::arrive(const SampleBlock& block, const Layout& layout, Membership& membership, const Provenance& from) {
  const std::size_t width = block.signals.size(), cells = block.times.size() * block.members.size();
  arrived_.assign(width, 0);
  const auto whole = [&](std::uint32_t place) {
    for (std::size_t cell = 0; cell < cells; ++cell)
      if (!block.has(cell * width + place)) return false;
    return true;
  };
  for (const Layout::Together& these : layout.together) {
    if (these.ids.size() < 2 || cells == 0) continue;
    const auto& owners = owners_of(membership, these.owner, block, from);
    if (!owners.all) continue;
    ids_.clear();
    for (std::size_t i = 0; i < these.ids.size(); ++i) {
      if (!block.present.empty() && !whole(these.places[i])) continue;
      ids_.push_back(these.ids[i]);
      arrived_[these.places[i]] = 1;
    }
    if (!history_->arrive(ids_, std::array{History::Arrival{owners.slots, from.arrival}}))
      return arrived_.assign(width, 0);
  }
}

void Intake::one_by_one(const SampleBlock& block, const Layout& layout, Membership& membership, Provenance& from) {
  const Slots slots = slots_of(block, layout, membership, layout.one_by_one, from);
  const auto* steps = layout.step == npos ? nullptr : &layout.signals[layout.step];
  const Slot* reporters = steps ? owners_of(membership, steps->owner, block, from).slots.data() : nullptr;
  const std::size_t width = block.signals.size(), members = block.members.size();
  for (std::size_t cell = 0; cell < block.times.size() * members; ++cell) {
    const std::size_t row = cell * width, m = cell % members;
    const bool has_step = steps && block.has(row + layout.step);
    if (has_step && reporters[m] != no_slot)
      steps_.report(reporters[m], measured(block.value(row + layout.step) * steps->factor));
    const Slot own = membership.own[m];
    const Slot reporter = block.members[m].level == Level::rank && own != no_slot ? own : reserved_slot;
    for (const std::uint32_t s : layout.one_by_one) {
      if (!block.has(row + s)) continue;
      const auto& signal = layout.signals[s];
      double number = measured(block.value(row + s));
      if (signal.textual) {
        if (!(number >= 0) || number >= static_cast<double>(block.texts.size())) {
          ++counters_->rejected_blocks;
          continue;
        }
        number = symbols_.intern(block.texts[static_cast<std::size_t>(number)]);
        if (is_absent(number)) number = measured_nan;  // there is a value, and nobody knows which
      } else if (signal.factor != 1) {
        number *= signal.factor;
      }
      value(signal.id, slots[static_cast<std::size_t>(signal.owner)][m], reporter, block.times[cell / members], number,
            from, has_step && layout.step != s ? block.value(row + layout.step) : absent);
    }
  }
}

void Intake::sample(SignalId id, const MemberKey& member, Time time, double number, Provenance& from,
                    std::string_view source) {
  write_following();
  ++counters_->samples;
  const SignalDefinition& definition = pack_->signals[id];
  alive(source.empty() ? std::string_view{definition.source} : source, member, from);
  if (!history_->wants(id) && id != step_) return;
  const Slot reporter = member.level == Level::rank ? topology_.slot(member).value_or(reserved_slot) : reserved_slot;
  value(id, owner_slot(definition.owner, member).value_or(no_slot), reporter, time, number, from, absent);
}

void Intake::value(SignalId id, Slot slot, Slot reporter, Time time, double number, Provenance& from, double step) {
  if (is_absent(number)) return;
  if (slot == no_slot) {
    ++counters_->member_limit;
    return;
  }
  const SignalDefinition& definition = pack_->signals[id];
  carried(definition.owner, {&slot, 1}, from);
  if (id == step_) steps_.report(slot, number);
  else if (definition.owner == Level::job && definition.points && is_absent(step)) step = steps_.of_value(reporter, id);
  switch (history_->sample(id, slot, placed(time, from.arrival, definition.points), number, from.arrival,
                           from.take_order(), step, reporter)) {
    case History::Write::late: ++counters_->late; break;
    case History::Write::unwanted: ++counters_->unwanted; break;
    case History::Write::taken: break;
  }
}

void Intake::save(Writer& out) const {
  steps_.save(out);
  out(2, sequence_);
}

void Intake::load(Reader& in) {
  steps_.load(in);
  in(2, sequence_);
}

}  // namespace tocsin::stream
