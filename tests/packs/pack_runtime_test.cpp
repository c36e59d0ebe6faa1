// What judging by a constant pack changes: one for each shard and pack, as long as an attempt uses it.
#include "stream/job/pack_runtime.h"

#include <doctest/doctest.h>

#include "tests/packs/small_pack.h"

using namespace tocsin;
using tests::small_pack;

namespace {

stream::LoadedPack loaded(const std::string& limit) {
  const auto files = dsl::pack_files(small_pack(limit));
  REQUIRE(files);
  const dsl::Loaded result = dsl::load(*files);
  REQUIRE(result.pack);
  return {result.pack, nullptr};
}

}  // namespace

TEST_CASE("attempts of one pack share a runtime, which goes with the last of them") {
  const stream::LoadedPack a = loaded("0.5"), b = loaded("0.6");
  stream::PackRuntimes runtimes;
  auto first = runtimes.of(a), second = runtimes.of(a);
  CHECK(first == second);
  CHECK(runtimes.of(b) != first);
  const std::weak_ptr<stream::PackRuntime> watched = first;
  first.reset();
  CHECK_FALSE(watched.expired());
  second.reset();
  CHECK(watched.expired());
  CHECK(a.pack.use_count() == 1);
}

TEST_CASE("two shards append to graphs of their own, and the pack's stays as it was loaded") {
  const stream::LoadedPack pack = loaded("0.5");
  const std::size_t size = pack.pack->graph->size();
  stream::PackRuntimes one, other;
  const auto mine = one.of(pack), theirs = other.of(pack);
  (void)mine->scripts().scratch().constant(42, "none");
  CHECK(mine->scripts().graph().size() == size + 1);
  CHECK(theirs->scripts().graph().size() == size);
  CHECK(pack.pack->graph->size() == size);
  CHECK(mine->scripts().truncate(size));
  CHECK_FALSE(mine->scripts().truncate(size));
  CHECK(mine->scripts().graph().size() == size);
}
