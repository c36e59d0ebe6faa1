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
  if (gpus_->size() >= most_gpus) return no_slot;
  const auto slot = static_cast<Slot>(gpus_->size());
  gpus_.own().push_back({on, {std::string{flattened.view()}}});
  gpu_slots_.emplace(GpuKey{on, flattened.view()}.view(), slot);
  changed();
  return slot;
}

// A GPU has one PCI address and one UUID.
bool Topology::contradicts(Slot gpu, const GpuName& name) const {
  if (!name.is_pci() && !name.is_uuid()) return false;
  return std::any_of((*gpus_)[gpu].names.begin(), (*gpus_)[gpu].names.end(), [&](const std::string& known) {
    const GpuName other{known};
    return other.is_pci() == name.is_pci() && other.is_uuid() == name.is_uuid() && other.view() != name.view();
  });
}

// A restore goes back to what the names were.
void Topology::name_gpu(Slot gpu, std::string name, Slot from) {
  move_name(name, from, gpu);
  renamed_.push_back({reading_, std::move(name), from, gpu});
  changed();
}

void Topology::move_name(const std::string& name, Slot from, Slot to) {
  const GpuKey key{(*gpus_)[to == no_slot ? from : to].node, name};
  if (from != no_slot) std::erase(gpus_.own()[from].names, name);
  if (to != no_slot) gpus_.own()[to].names.push_back(name), gpu_slots_.insert_or_assign(std::string{key.view()}, to);
  else gpu_slots_.erase(gpu_slots_.find(key.view()));
}

void Topology::alias_gpu(std::string_view node_name, std::string_view name, std::string_view alias) {
  const GpuName canonical{name}, other{alias};
  if (name.empty() || alias.empty() || canonical.view() == other.view()) return;
  if (canonical.names_nothing() || other.names_nothing()) return;
  const Slot on = node_name.empty() ? no_slot : node(node_name);
  if (on == no_slot && !node_name.empty()) return;
  const Slot by_alias = find_gpu(on, other.view());
  Slot gpu = find_gpu(on, canonical.view());
  const auto full = [this](Slot one) { return (*gpus_)[one].names.size() >= most_names; };
  const auto name_one = [&](Slot one, const GpuName& as, Slot from) {
    if (!full(one)) name_gpu(one, std::string{as.view()}, from);
  };
  if (gpu == no_slot && by_alias != no_slot && !contradicts(by_alias, canonical))
    name_one(gpu = by_alias, canonical, no_slot);
  if (gpu == no_slot) gpu = this->gpu(node_name, name);
  if (gpu == no_slot) return;
  if (by_alias == no_slot) {
    name_one(gpu, other, no_slot);
  } else if (by_alias != gpu) {
    const auto& names = (*gpus_)[by_alias].names;
    const bool two = names.size() > 1 && std::any_of(names.begin(), names.end(), [&](const std::string& of) {
                       return contradicts(gpu, GpuName{of});
                     });
    if (two) {  // an index that now belongs to another GPU
      name_one(gpu, other, by_alias);
    } else {
      // Where the name was refused before, a GPU can have come under it since, which a backfill has from the beginning.
      if (full(gpu) || full(by_alias)) return;
      merge_gpus(std::min(gpu, by_alias), std::max(gpu, by_alias));
      gpu = std::min(gpu, by_alias);
    }
  }
  const auto& names = (*gpus_)[gpu].names;
  const auto shown = std::find(names.begin(), names.end(), canonical.view()) - names.begin();
  if (shown == 0 || shown == std::ssize(names) || GpuName{names.front()}.is_pci()) return;
  auto& shows = gpus_.own()[gpu].names;
  std::iter_swap(shows.begin(), shows.begin() + shown);
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
  if (gpu >= gpus_->size()) return {};
  for (const std::string& name : (*gpus_)[gpu].names)
    if (const GpuName known{name}; known.is_uuid() && !known.names_nothing()) return name;
  return {};
}

void Topology::merge_gpus(Slot older, Slot newer) {
  while (!(*gpus_)[newer].names.empty()) name_gpu(older, (*gpus_)[newer].names.front(), newer);
  for (Slot rank = 0; rank < rank_gpu_.size(); ++rank)
    if (rank_gpu_[rank] == newer) put_rank(rank, no_slot, older);
  for (auto& [name, coordinate] : coordinates_.own()) {
    if (coordinate.owner != Level::gpu || newer >= coordinate.values.size()) continue;
    if (coordinate.values[older].empty()) coordinate.values[older] = std::move(coordinate.values[newer]);
    coordinate.values[newer].clear();
  }
}

}  // namespace tocsin::stream
