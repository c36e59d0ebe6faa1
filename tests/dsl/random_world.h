#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "stream/ports.h"

namespace tocsin::dsl::test {

using Random = std::mt19937_64;
inline std::uint64_t below(Random& random, std::uint64_t n) { return random() % n; }
template <class T>
const T& one_of(Random& random, const std::vector<T>& values) {
  return values[below(random, values.size())];
}

// What was compiled of all texts there are.
using Compiled = std::map<std::string, stream::LoadedPack, std::less<>>;

// Those whose text this process has read.
class PacksRead final : public stream::PackSource {
 public:
  PacksRead(const Compiled& all, const std::string& first) : all_(&all) { read_.insert(first); }
  void prepare(std::string_view hash, std::string_view text) override {
    if (!text.empty()) read_.insert(std::string{hash});
  }
  stream::Result<stream::LoadedPack> pack(std::string_view hash) override {
    const auto found = all_->find(hash);
    if (found == all_->end() || !read_.contains(hash)) return stream::Error{stream::Errc::not_found, "nobody has it"};
    return found->second;
  }

 private:
  const Compiled* all_;
  std::set<std::string, std::less<>> read_;
};

struct Logged {
  std::vector<std::byte> bytes;
  stream::Time appended;
  std::string subject;
};

// A random log of three jobs, of which the second is mostly re-keyed, under packs of random rules that come, go and
// come back; one of them nobody has. Members move, exit and appear, attempts begin and end, lines become records. The
// same seed gives the same log.
struct World {
  Compiled packs;
  stream::LoadedPack first;
  std::vector<Logged> log;
};

inline constexpr const char* world_jobs[] = {"job", "moved", "late"};
// `holes`: beats are missing for up to a minute at a time while sources are read, which have holes of their own.
// `passing`: sources come and go, and so do more attempts and members.
struct WorldOptions {
  bool holes = false, passing = false;
};
World random_world(std::uint32_t seed, WorldOptions options = {});

}  // namespace tocsin::dsl::test
