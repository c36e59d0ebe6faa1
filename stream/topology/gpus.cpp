// The GPUs of a topology, each under all of its names.
#include <algorithm>

#include "stream/topology/gpu_names.h"
#include "stream/topology/topology.h"

namespace tocsin::stream {
namespace {

constexpr std::size_t most_names = 16;  // of one GPU

}  // namespace

Slot Topology::find_gpu(Slot node, std::string_view name) const {
  const auto found = gpu_slots_.find(GpuKey{node, name}.view());
  return found == gpu_slots_.end() ? no_slot : found->second;
}

Slot Topology::gpu(std::string_view node_name, std::string_view name) {
  const Slot on = node_name.empty() ? no_slot : node(node_name);
  if (name.empty() || (on == no_slot && !node_name.empty())) return no_slot;
  const GpuName flattened{name};
  if (const Slot found = find_gpu(on, flattened.view()); found != no_slot) return found;
  if (gpus_.size() >= most_gpus) return no_slot;
  const auto slot = static_cast<Slot>(gpus_.size());
  gpus_.push_back({on, {std::string{flattened.view()}}});
  gpu_slots_.emplace(GpuKey{on, flattened.view()}.view(), slot);
  changed();
  return slot;
}

// A GPU has one PCI address and one UUID.
bool Topology::contradicts(Slot gpu, const GpuName& name) const {
  if (!name.is_pci() && !name.is_uuid()) return false;
  return std::any_of(gpus_[gpu].names.begin(), gpus_[gpu].names.end(), [&](const std::string& known) {
    const GpuName other{known};
    return other.is_pci() == name.is_pci() && other.is_uuid() == name.is_uuid() && other.view() != name.view();
  });
}

void Topology::name_gpu(Slot gpu, const GpuName& name) {
  auto& names = gpus_[gpu].names;
  if (names.size() >= most_names) return;
  names.emplace_back(name.view());
  gpu_slots_.emplace(GpuKey{gpus_[gpu].node, name.view()}.view(), gpu);
  changed();
}

void Topology::alias_gpu(std::string_view node_name, std::string_view name, std::string_view alias) {
  const GpuName canonical{name}, other{alias};
  if (name.empty() || alias.empty() || canonical.view() == other.view()) return;
  if (canonical.names_nothing() || other.names_nothing()) return;
  const Slot on = node_name.empty() ? no_slot : node(node_name);
  if (on == no_slot && !node_name.empty()) return;
  const Slot by_alias = find_gpu(on, other.view());
  Slot gpu = find_gpu(on, canonical.view());
  if (gpu == no_slot && by_alias != no_slot && !contradicts(by_alias, canonical)) name_gpu(gpu = by_alias, canonical);
  if (gpu == no_slot) gpu = this->gpu(node_name, name);
  if (gpu == no_slot) return;
  if (by_alias == no_slot) {
    name_gpu(gpu, other);
  } else if (by_alias != gpu) {
    auto& names = gpus_[by_alias].names;
    const bool two = names.size() > 1 && std::any_of(names.begin(), names.end(), [&](const std::string& of) {
                       return contradicts(gpu, GpuName{of});
                     });
    if (two) {  // an index that now belongs to another GPU
      std::erase(names, other.view());
      gpu_slots_.erase(gpu_slots_.find(GpuKey{on, other.view()}.view()));
      name_gpu(gpu, other);
    } else {
      merge_gpus(std::min(gpu, by_alias), std::max(gpu, by_alias));
      gpu = std::min(gpu, by_alias);
    }
  }
  auto& names = gpus_[gpu].names;
  const auto shown = std::find(names.begin(), names.end(), canonical.view());
  if (shown == names.begin() || shown == names.end() || GpuName{names.front()}.is_pci()) return;
  std::iter_swap(names.begin(), shown);
  changed();
}

void Topology::same_gpu(std::string_view node, std::span<const std::string_view> names) {
  std::string_view first;
  const auto sort = [](std::string_view text) {
    const GpuName name{text};
    return text.empty() || name.names_nothing() ? 0 : name.is_pci() ? 3 : name.is_uuid() ? 2 : 1;
  };
  for (const std::string_view name : names)
    if (sort(name) > sort(first)) first = name;
  for (const std::string_view name : names) alias_gpu(node, first, name);
}

std::string_view Topology::gpu_uuid(Slot gpu) const {
  if (gpu >= gpus_.size()) return {};
  for (const std::string& name : gpus_[gpu].names)
    if (const GpuName known{name}; known.is_uuid() && !known.names_nothing()) return name;
  return {};
}

void Topology::merge_gpus(Slot older, Slot newer) {
  for (auto& name : gpus_[newer].names) {
    gpu_slots_.find(GpuKey{gpus_[newer].node, name}.view())->second = older;
    gpus_[older].names.push_back(std::move(name));
  }
  gpus_[newer].names.clear();
  changed();
  std::replace(rank_gpu_.begin(), rank_gpu_.end(), newer, older);
  for (auto& [name, coordinate] : coordinates_) {
    if (coordinate.owner != Level::gpu || newer >= coordinate.values.size()) continue;
    if (coordinate.values[older].empty()) coordinate.values[older] = std::move(coordinate.values[newer]);
    coordinate.values[newer].clear();
  }
}

}  // namespace tocsin::stream
