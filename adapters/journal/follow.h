#pragma once

#include "adapters/journal/journal.h"
#include "schemas/codec.h"
#include "stream/ports.h"

namespace tocsin::adapters::journal {

// A journal as a log of entries. A message that cannot be decoded is counted and passed over; the log goes on behind
// it. Owned by whoever reads the journal; touched by its thread alone.
class Follower final : public stream::LogReader {
 public:
  explicit Follower(Reader reader) : reader_(std::move(reader)) {}

  // The next entry, valid until the next call; nullptr at the end of what is written (ask again to follow).
  stream::Result<const stream::Entry*> next() override {
    while (true) {
      auto frame = reader_.next();
      if (!frame) return frame.error();
      if (!*frame) return static_cast<const stream::Entry*>(nullptr);
      message_ = (*frame)->payload;
      auto entry = decoder_.decode((*frame)->payload, (*frame)->position, (*frame)->next, (*frame)->arrival);
      if (entry) return entry;
      ++undecodable_;
    }
  }
  stream::Result<void> seek(stream::Position position) override { return reader_.seek(position); }
  stream::Result<stream::Position> oldest() override { return reader_.oldest(); }

  [[nodiscard]] std::span<const std::byte> message() const noexcept {
    return message_;
  }  // of the last entry, as long as it
  [[nodiscard]] const Reader& reader() const noexcept { return reader_; }
  [[nodiscard]] std::uint64_t undecodable() const noexcept { return undecodable_; }

 private:
  Reader reader_;
  schemas::Decoder decoder_;
  std::span<const std::byte> message_;
  std::uint64_t undecodable_ = 0;
};

// The first pack that a journal names among so many entries; nullopt: it names none there.
stream::Result<std::optional<stream::PackText>> first_pack(const std::filesystem::path& journal,
                                                           std::size_t most_entries);

}  // namespace tocsin::adapters::journal
