#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/ingest/records.h"
#include "schemas/codec.h"

namespace tocsin::adapters::ingest {

// The records of one message as entries, one for each job and attempt in it, that say where they come from. The same message makes the
// same entries with the same numbers, so that those that are written again after a restart are known as repeated.
// Owned by the reader of a source; reuses its working memory.
class Rekeyer final : public Output {
 public:
  static constexpr std::size_t most_jobs = 256, most_records = 20'000;  // of a message; of an entry
  static constexpr std::uint64_t most_attempts = 16;                    // of a job in a message

  // `beyond` gets what is left out, and what is unwanted.
  explicit Rekeyer(Output& beyond) : beyond_(&beyond) {}

  // The message at `offset` of `source` (topic/partition), appended there at `arrival`.
  void begin(std::string_view source, std::uint64_t offset, stream::Time arrival);
  void record(const Record& record) override;
  void left_out(const LeftOut& part) override { beyond_->left_out(part); }
  void unwanted(std::uint64_t values) override { beyond_->unwanted(values); }

  // Of the message, in the order in which they were begun; an entry is valid until the next begin().
  [[nodiscard]] std::size_t entries() const noexcept { return used_; }
  [[nodiscard]] const stream::Entry& entry(std::size_t i);

 private:
  struct Pending {
    schemas::EntryBuilder builder;
    std::string job, attempt;
    std::uint64_t number = 0;
    std::size_t records = 0;
    stream::Entry entry;
  };
  Pending* place_of(const Record& record);

  Output* beyond_;
  std::string source_;
  std::uint64_t offset_ = 0;
  stream::Time arrival_{};
  std::vector<std::unique_ptr<Pending>> pending_;
  std::size_t used_ = 0;
};

}  // namespace tocsin::adapters::ingest
