// What the names of a block's signals mean, as the pack has them under which it is read.
#include <algorithm>

#include "stream/job/intake.h"
#include "stream/values/units.h"

namespace tocsin::stream {
namespace {

constexpr std::size_t most_layouts = 4'096;

}  // namespace

void Intake::forget_layouts() {
  layouts_.clear();
  recent_layouts_.fill(nullptr);
}

// A stated unit says what the values are; without one an alias has its factor, and the values of the signal's own name
// their unit. A number is no text: it would be read as the place of one in the block.
std::optional<double> Intake::factor_of(const SampleBlock::Signal& named, const SignalDefinition& definition) const {
  if (named.unit.empty() && definition.textual() && named.kind != SignalKind::state) return std::nullopt;
  if (named.unit.empty()) return factor(named.name);
  return unit_factor(named.unit, definition.unit);
}

const Intake::Layout& Intake::layout_of(const SampleBlock& block) {
  const Layout*& recent =
      recent_layouts_[(reinterpret_cast<std::uintptr_t>(block.layout.data()) * 0x9e3779b97f4a7c15u) >> 56];
  if (recent != nullptr && recent->names == block.layout && recent->source == block.source) return *recent;
  key_.assign(block.layout).push_back('\0');
  key_ += block.source;
  if (const auto known = layouts_.find(key_); known != layouts_.end()) return *(recent = &known->second);
  if (layouts_.size() > most_layouts) forget_layouts();
  Layout layout;
  layout.names = block.layout, layout.source = block.source;
  for (const auto& named : block.signals) {
    auto& signal = layout.signals.emplace_back();
    if (named.name == "gpu_pci" || named.name == "gpu_uuid" || named.name == "gpu_index")
      layout.gpu_names.push_back(static_cast<std::uint32_t>(layout.signals.size() - 1));
    const auto id = pack_->signals.find(named.name);
    if (!id) {
      ++layout.unknown;
      continue;
    }
    const SignalDefinition& definition = pack_->signals[*id];
    const bool step = id == step_;
    if (step) layout.step = layout.signals.size() - 1;
    const auto factor = factor_of(named, definition);
    if (!factor) {
      layout.refused = true;
      continue;
    }
    signal = {*id,   *factor,         history_->wants(*id) || step, definition.textual(), definition.points,
              false, definition.owner};
    signal.plain = signal.wanted && !step && !signal.textual && !signal.points && !definition.wide();
    const auto place = static_cast<std::uint32_t>(layout.signals.size() - 1);
    const bool alone = signal.textual || (signal.points && signal.owner == Level::job);
    if (!signal.wanted) ++layout.unwanted;
    else (signal.plain ? layout.plain : alone ? layout.one_by_one : layout.others).push_back(place);
    const std::string_view source = block.source.empty() ? std::string_view{definition.source} : block.source;
    if (!source.empty() && std::find(layout.sources.begin(), layout.sources.end(), source) == layout.sources.end())
      layout.sources.emplace_back(source);
  }
  return *(recent = &layouts_.emplace(key_, std::move(layout)).first->second);
}

}  // namespace tocsin::stream
