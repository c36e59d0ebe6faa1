#pragma once

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/stream_engine/packs_by_hash.h"
#include "tests/stream_engine/small_job.h"

namespace tocsin::tests {

// A random log of three jobs and the cluster. Of the jobs one is written directly, one re-keyed from two sources that
// are read at their own speed, one of both kinds. With member events, late and repeated samples, strays, attempts that
// start and end or are never ended, reloads that come, go and come back, gaps, units and modes. The same seed gives the
// same log.
class Scenario {
 public:
  struct Message {
    std::vector<std::byte> bytes;
    stream::Time appended;
    std::string subject;  // empty: control records
  };
  Scenario(std::uint32_t seed, double seconds);

  [[nodiscard]] const std::vector<Message>& messages() const noexcept { return messages_; }
  [[nodiscard]] const stream::LoadedPack& first_pack() const noexcept { return first_; }
  [[nodiscard]] PacksByHash& packs() noexcept { return packs_; }

  struct Result {
    std::map<std::string, std::uint64_t> digests, rows;
    std::map<std::string, std::vector<std::string>> reported;  // by subject
  };
  // All of it, or what is about these subjects and the control records.
  [[nodiscard]] Result judge(const std::set<std::string>& subjects = {},
                             std::size_t most_ticks = stream::Shard::all_ticks);
  // Stopped after each of these messages, with whatever sections were kept until then.
  [[nodiscard]] Result judge_with_restarts(const std::vector<std::size_t>& stops);

 private:
  void put(const stream::Entry& entry, double s);
  void second(double s);
  void control(double s);
  void job(const std::string& name, double s);
  void cluster(double s);

  std::mt19937 random_;
  std::vector<Message> messages_;
  PacksByHash packs_;
  stream::LoadedPack first_;
  std::vector<std::string> hashes_;
  std::map<std::string, std::uint64_t> sequences_, offsets_;
  double read_[2] = {0, 0};
};

}  // namespace tocsin::tests
