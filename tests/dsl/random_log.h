#pragma once

#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/dsl/judged.h"
#include "tests/oracle/windows.h"

namespace tocsin::dsl::test {

// Eight ranks on two nodes in a rack each, a GPU for each but rank 5, which has none; rank 7 has no stage.
class Cluster final : public oracle::Members {
 public:
  static constexpr std::uint32_t ranks = 8, per_node = 4, without_gpu = 5, without_stage = 7;

  [[nodiscard]] std::size_t size(stream::Level level) const override;
  [[nodiscard]] oracle::Place in(stream::Level fine, std::size_t slot, stream::Level coarse) const override;
  [[nodiscard]] std::string coordinate(stream::Level level, std::size_t slot, const std::string& name) const override;
  [[nodiscard]] static std::string node_of(std::uint32_t rank) { return rank < per_node ? "n0" : "n1"; }
  [[nodiscard]] static std::uint32_t rank_of_gpu(std::size_t gpu) {
    return static_cast<std::uint32_t>(gpu < without_gpu ? gpu : gpu + 1);
  }
};

// One attempt of that job over the sample signals, drawn from a seed: what a shard reads, and the same as plain
// records. Members fall silent, samples are late, repeated, NaN and infinite, counters start again, sources are not
// always covered.
struct RandomLog {
  RandomLog(std::uint64_t seed, unsigned seconds);

  std::vector<Message> messages;        // in the order of arrival
  std::vector<oracle::Record> records;  // the same order
  stream::Time start;
  std::map<std::string, double> symbols;  // of texts, in `records`

  struct Covered {
    std::string source;
    stream::Level level;
    std::size_t slot;
    stream::Time arrival;
  };
  std::vector<Covered> coverage;
  // Of the member or of what contains it: within (from, to], and from its beginning on no more than 30 s apart, by what
  // arrived before `now`.
  [[nodiscard]] bool was_covered(std::string_view source, stream::Level level, std::size_t slot, stream::Time from,
                                 stream::Time to, stream::Time now) const;

 private:
  struct Draft {
    stream::Time arrival;
    std::function<void(schemas::EntryBuilder&)> fill;  // none: the draft before, once more
    std::vector<oracle::Record> records;
    std::vector<Covered> coverage;
  };
  using Value = schemas::EntryBuilder::Value;
  struct At {
    stream::Level level;
    std::size_t slot;
  };  // the member that speaks

  [[nodiscard]] double uniform() { return std::uniform_real_distribution<double>{}(random_); }
  [[nodiscard]] double gauge();
  [[nodiscard]] static schemas::EntryBuilder::Member member(At at);
  void begin();
  void beat(double s);
  void listening(double s);
  void sample(double s, At at, std::vector<Value> values, const std::vector<stream::Slot>& owners,
              double step = stream::absent);
  void event(double s, At at);
  void gpus(double s);
  void nodes(double s);
  void rank(double s, std::uint32_t rank);
  void job(double s);
  void finish();
  [[nodiscard]] bool silent(At at, double s) const;

  std::mt19937_64 random_;
  std::vector<Draft> drafts_;
  std::map<std::pair<stream::Level, std::size_t>, std::pair<double, double>> silences_;  // from, for how long
  std::vector<double> sent_ = std::vector<double>(Cluster::ranks), step_ = std::vector<double>(Cluster::ranks);
  const char* phase_ = "train";
  double deaf_from_ = 0;
};

}  // namespace tocsin::dsl::test
