#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "stream/ports.h"
#include "stream/values/result.h"

namespace tocsin::adapters::journal {

// The state of a shard that judges a journal, in a directory beside it: a file for each section, the texts of the packs
// that sections name, and a manifest that says which files are in force and up to which position of the log they were
// handed over. The manifest is replaced last, so a store is there whole or not at all; what no manifest names is
// removed with the next one. docs/journal.md. `name` tells the shards of one journal apart. Owned by whoever runs the
// shard.
class StateStore final : public stream::SnapshotStore {
 public:
  explicit StateStore(std::filesystem::path journal, std::string name = "state");
  ~StateStore() override;

  // Holds the journal's directory until the store goes; refused while another store holds it, in whatever process. To
  // be called by whoever goes on from the state: two that did would each publish the same reports. Where a file system
  // has no locks this does nothing.
  stream::Result<void> lock();
  // The state in force; nullopt: nothing was ever stored. What is torn, missing or of a newer program is an error that
  // names the file: an engine that began anew beside its own state would report everything twice, and forget what it
  // had seen.
  stream::Result<std::optional<stream::Stored>> newest() override;
  // The position of the state in force; nullopt: nothing was ever stored.
  stream::Result<std::optional<stream::Position>> position();
  // Writes the bundle's sections, where they differ from those in force, its packs and its position; reports are not
  // kept here. On disk when it returns; after an error the former state is in force.
  stream::Result<void> store(const stream::Bundle& bundle);
  // The state in force holds the text of this pack.
  [[nodiscard]] bool has_pack(std::string_view hash) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::adapters::journal
