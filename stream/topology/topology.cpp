#include "stream/topology/topology.h"

#include <algorithm>

#include "stream/topology/gpu_names.h"

namespace tocsin::stream {
namespace {

std::size_t index(Level level) noexcept { return static_cast<std::size_t>(level); }

}  // namespace

Topology::Topology() : rank_exists_(1, 0), rank_exited_(1, 0), rank_node_(1, no_slot), rank_gpu_(1, no_slot) {}

void Topology::changed() noexcept {
  ++version_;
  derived_ = {};
}

std::optional<Slot> Topology::rank(std::uint32_t rank) {
  if (rank >= most_ranks || ranks_refused_) return std::nullopt;
  const Slot slot = rank + 1;
  if (slot >= rank_exists_.size()) {
    rank_exists_.resize(slot + 1, 0);
    rank_exited_.resize(slot + 1, 0);
    rank_node_.resize(slot + 1, no_slot);
    rank_gpu_.resize(slot + 1, no_slot);
  }
  if (!rank_exists_[slot]) {
    rank_exists_[slot] = 1;
    changed();
  }
  return slot;
}

Slot Topology::node(std::string_view name) {
  if (const auto found = node_slots_.find(name); found != node_slots_.end()) return found->second;
  if (name.empty() || nodes_.size() >= most_nodes) return no_slot;
  const auto slot = static_cast<Slot>(nodes_.size());
  nodes_.emplace_back(name);
  node_rack_.push_back(no_slot);
  node_slots_.emplace(name, slot);
  changed();
  return slot;
}

std::optional<Slot> Topology::slot(const MemberKey& key) {
  const auto some = [](Slot slot) { return slot == no_slot ? std::nullopt : std::optional{slot}; };
  switch (key.level) {
    case Level::job: return Slot{0};
    case Level::node: return some(node(key.node));
    case Level::gpu: return some(gpu(key.node, key.gpu));
    case Level::rank:
      if (!key.node.empty() || !key.gpu.empty()) place(key.rank, key.node, key.gpu);
      return rank(key.rank);
    case Level::none:
    case Level::rack: return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Slot> Topology::find(const MemberKey& key) const {
  switch (key.level) {
    case Level::job: return Slot{0};
    case Level::node: {
      const auto found = node_slots_.find(key.node);
      return found == node_slots_.end() ? std::nullopt : std::optional{found->second};
    }
    case Level::gpu: {
      Slot on = no_slot;
      if (!key.node.empty()) {
        const auto found = node_slots_.find(key.node);
        if (found == node_slots_.end()) return std::nullopt;
        on = found->second;
      }
      const Slot found = find_gpu(on, GpuName{key.gpu}.view());
      return found == no_slot ? std::nullopt : std::optional{found};
    }
    case Level::rank:
      if (key.rank >= most_ranks || !exists(Level::rank, key.rank + 1)) return std::nullopt;
      return key.rank + 1;
    case Level::none:
    case Level::rack: return std::nullopt;
  }
  return std::nullopt;
}

void Topology::expect_ranks(std::uint32_t world_size) {
  world_size_ = std::min(world_size, most_ranks);
  if (world_size_ == 0) return;
  (void)rank(world_size_ - 1);
  for (Slot slot = 1; slot <= world_size_; ++slot) rank_exists_[slot] = 1;
  changed();
}

void Topology::put_rank(Slot rank, Slot node, Slot gpu) {
  if (node == no_slot) node = rank_node_[rank];
  if (gpu == no_slot) gpu = rank_gpu_[rank];
  if (node == rank_node_[rank] && gpu == rank_gpu_[rank]) return;
  moves_.own().push_back({reading_, rank, rank_node_[rank], rank_gpu_[rank]});
  rank_node_[rank] = node;
  rank_gpu_[rank] = gpu;
  changed();
}

void Topology::place(std::uint32_t number, std::string_view node_name, std::string_view gpu_name) {
  const auto slot = rank(number);
  if (!slot) return;
  const Slot on = node_name.empty() ? no_slot : node(node_name);
  const Slot with = gpu_name.empty() ? no_slot : gpu(node_name, gpu_name);
  put_rank(*slot, on, with);
}

void Topology::go_back_to(Position position) {
  for (; !moves_->empty() && moves_->back().at >= position; moves_.own().pop_back()) {
    const Move& move = moves_->back();
    rank_node_[move.rank] = move.node;
    rank_gpu_[move.rank] = move.gpu;
  }
  for (; !renamed_.empty() && renamed_.back().at >= position; renamed_.pop_back()) {
    const Renaming& last = renamed_.back();
    if (last.to == no_slot) {  // it left; a GPU that came under its name has it again afterwards
      const Slot now = find_gpu((*gpus_)[last.from].node, last.name);
      move_name(last.name, no_slot, last.from);
      to_leave_.push_back({last.at, last.name, last.from, now});
    } else if (find_gpu((*gpus_)[last.to].node, last.name) == last.to) {
      move_name(last.name, last.to, last.from);
    }
  }
  changed();
}

void Topology::reading(Position entry) {
  reading_ = entry;
  for (; !to_leave_.empty() && to_leave_.back().at < entry; to_leave_.pop_back()) {
    const auto& [at, name, from, to] = to_leave_.back();
    if (find_gpu((*gpus_)[from].node, name) == from) move_name(name, from, to);
    changed();
  }
}

void Topology::forget_placements_before(Position position) {
  const auto kept =
      std::find_if(moves_->begin(), moves_->end(), [position](const Move& move) { return move.at >= position; }) -
      moves_->begin();
  if (kept != 0) moves_.own().erase(moves_.own().begin(), moves_.own().begin() + kept);
  const auto named = std::ranges::find_if(renamed_, [position](const Renaming& one) { return one.at >= position; });
  renamed_.erase(renamed_.begin(), named);
}

Slot Topology::rack_slot(std::string_view name) {
  if (const auto found = rack_slots_.find(name); found != rack_slots_.end()) return found->second;
  if (name.empty() || racks_.size() >= most_racks) return no_slot;
  const auto slot = static_cast<Slot>(racks_.size());
  racks_.emplace_back(name);
  rack_slots_.emplace(name, slot);
  changed();
  return slot;
}

void Topology::rack(std::string_view node_name, std::string_view rack_name) {
  const Slot in = rack_slot(rack_name);
  const Slot on = node(node_name);
  if (in == no_slot || on == no_slot || node_rack_[on] == in) return;
  node_rack_[on] = in;
  changed();
}

void Topology::coordinate(Level owner, Slot slot, std::string_view name, std::string_view value) {
  if (slot >= size(owner)) return;
  const auto known = coordinates_->find(name);
  if (known != coordinates_->end() && known->second.owner == owner && slot < known->second.values.size() &&
      known->second.values[slot] == value)
    return;
  Coordinate& coordinate = coordinates_.own().try_emplace(std::string{name}, Coordinate{owner, {}}).first->second;
  if (coordinate.owner != owner) coordinate = {owner, {}};
  if (slot >= coordinate.values.size()) coordinate.values.resize(slot + 1);
  if (coordinate.values[slot] == value) return;
  coordinate.values[slot] = value;
  changed();
}

void Topology::exited(std::uint32_t number) {
  const auto slot = rank(number);
  if (!slot || rank_exited_[*slot]) return;
  rank_exited_[*slot] = 1;
  changed();
}

void Topology::retire(Level level, Slot slot) {
  if (!exists(level, slot)) return;
  if (level == Level::node) {
    for (Slot gpu = 0; gpu < gpus_->size(); ++gpu)
      if ((*gpus_)[gpu].node == slot) retire(Level::gpu, gpu);
    node_slots_.erase(nodes_[slot]);
    nodes_[slot].clear();
    node_rack_[slot] = no_slot;
  } else if (level == Level::gpu) {
    while (!(*gpus_)[slot].names.empty()) name_gpu(no_slot, (*gpus_)[slot].names.back(), slot);
  }
  changed();
}

void Topology::use_reserved() {
  if (reserved_used_) return;
  reserved_used_ = true;
  changed();
}

std::size_t Topology::size(Level level) const noexcept {
  switch (level) {
    case Level::rank: return rank_exists_.size();
    case Level::gpu: return gpus_->size();
    case Level::node: return nodes_.size();
    case Level::rack: return racks_.size();
    default: return 1;
  }
}

bool Topology::exists(Level level, Slot slot) const noexcept {
  if (slot >= size(level)) return false;
  if (level == Level::rank) return rank_exists_[slot] != 0;
  if (level == Level::gpu) return !(*gpus_)[slot].names.empty();
  if (level == Level::node) return !nodes_[slot].empty();
  return true;
}

bool Topology::expected(Level level, Slot slot) const noexcept {
  if (!exists(level, slot)) return false;
  if (level == Level::rank) return !rank_exited_[slot];
  if (level != Level::gpu && level != Level::node) return true;
  if (!derived_.left_known) find_left();
  return !(level == Level::gpu ? derived_.left_gpus : derived_.left_nodes)[slot];
}

std::span<const std::uint8_t> Topology::existing(Level level) const {
  auto& all = derived_.existing[index(level)];
  for (auto slot = static_cast<Slot>(all.size()); slot < size(level); ++slot)
    all.push_back(exists(level, slot) ? 1 : 0);
  return all;
}

std::span<const std::uint8_t> Topology::all_expected(Level level) const {
  auto& all = derived_.expected[index(level)];
  for (auto slot = static_cast<Slot>(all.size()); slot < size(level); ++slot)
    all.push_back(expected(level, slot) ? 1 : 0);
  return all;
}

std::string_view Topology::node_name(Slot node) const {
  return node < nodes_.size() ? std::string_view{nodes_[node]} : "";
}
std::string_view Topology::rack_name(Slot rack) const {
  return rack < racks_.size() ? std::string_view{racks_[rack]} : "";
}
std::string_view Topology::gpu_name(Slot gpu) const {
  return exists(Level::gpu, gpu) ? std::string_view{(*gpus_)[gpu].names.front()} : "";
}

MemberKey Topology::key(Level level, Slot slot) const {
  MemberKey key;
  if (level == Level::rank && slot == reserved_slot) return key;
  key.level = level;
  switch (level) {
    case Level::rank:
      key.rank = slot - 1;
      key.gpu = gpu_name(container(level, slot, Level::gpu));
      key.node = node_name(container(level, slot, Level::node));
      break;
    case Level::gpu:
      key.gpu = gpu_name(slot);
      key.node = node_name(container(level, slot, Level::node));
      break;
    case Level::node: key.node = node_name(slot); break;
    case Level::none:
    case Level::job:
    case Level::rack: break;
  }
  return key;
}

void Topology::fields(auto& self, auto& archive) {
  archive(1, self.world_size_), archive(2, self.reserved_used_), archive(3, self.rank_exists_),
      archive(4, self.rank_exited_);
  archive(5, self.rank_node_), archive(6, self.rank_gpu_), archive(7, self.nodes_), archive(8, self.racks_),
      archive(9, self.node_rack_);
  archive(13, self.renamed_);
}

void Topology::save(Writer& out) const {
  fields(*this, out);
  out.later([gpus = gpus_.lend(), coordinates = coordinates_.lend(), moves = moves_.lend()](Writer& of) {
    of(10, *gpus), of(11, *coordinates);
    of.columns(12, *moves, &Move::at, &Move::rank, &Move::node, &Move::gpu);
  });
}

Result<void> Topology::load(Reader& in) {
  Topology read;
  fields(read, in);
  in(10, read.gpus_.own()), in(11, read.coordinates_.own());
  in.columns(12, read.moves_.own(), &Move::at, &Move::rank, &Move::node, &Move::gpu);
  read.version_ = version_;
  read.ranks_refused_ = ranks_refused_;
  if (auto status = in.status(); !status) return status;

  const Error damaged{Errc::malformed,
                      "the snapshot's topology does not hold together: start from an older snapshot, or from the log"};
  const auto ranks = read.rank_exists_.size();
  const auto within = [](const std::vector<Slot>& slots, std::size_t size) {
    return std::all_of(slots.begin(), slots.end(), [&](Slot slot) { return slot == no_slot || slot < size; });
  };
  if (ranks == 0 || ranks > most_ranks + 1 || read.rank_exited_.size() != ranks || read.rank_node_.size() != ranks ||
      read.rank_gpu_.size() != ranks || read.world_size_ >= ranks || read.rank_exists_[reserved_slot])
    return damaged;
  if (read.nodes_.size() > most_nodes || read.racks_.size() > most_racks || read.gpus_->size() > most_gpus)
    return damaged;
  if (read.node_rack_.size() != read.nodes_.size() || !within(read.node_rack_, read.racks_.size())) return damaged;
  if (!within(read.rank_node_, read.nodes_.size()) || !within(read.rank_gpu_, read.gpus_->size())) return damaged;
  for (Slot slot = 0; slot < read.nodes_.size(); ++slot)
    if (!read.nodes_[slot].empty()) read.node_slots_.emplace(read.nodes_[slot], slot);
  for (Slot slot = 0; slot < read.racks_.size(); ++slot) read.rack_slots_.emplace(read.racks_[slot], slot);
  for (Slot slot = 0; slot < read.gpus_->size(); ++slot) {
    const auto& gpu = (*read.gpus_)[slot];
    if (gpu.node != no_slot && gpu.node >= read.nodes_.size()) return damaged;
    for (const auto& name : gpu.names) read.gpu_slots_.emplace(GpuKey{gpu.node, name}.view(), slot);
  }
  for (const Move& move : *read.moves_)
    if (move.rank >= ranks || (move.node != no_slot && move.node >= read.nodes_.size()) ||
        (move.gpu != no_slot && move.gpu >= read.gpus_->size()))
      return damaged;
  for (const Renaming& one : read.renamed_)
    if (one.from == one.to || !within({one.from, one.to}, read.gpus_->size())) return damaged;
  for (const auto& [name, coordinate] : *read.coordinates_)
    if (index(coordinate.owner) >= level_count || coordinate.values.size() > read.size(coordinate.owner))
      return damaged;
  *this = std::move(read);
  changed();
  return {};
}

}  // namespace tocsin::stream
