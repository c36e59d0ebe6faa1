// An ordinary line allocates nothing, and a progress line only what RE2 needs to find its captures.
#include <doctest/doctest.h>

#include <cstdlib>
#include <new>

#include "tests/text/shipped.h"

namespace {
std::size_t allocations = 0;
}
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they bring operators of their own
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace {

class Dropped final : public tocsin::stream::Extracted {
 public:
  void sample(tocsin::stream::Time, const tocsin::stream::MemberKey&, std::string_view, double,
              std::string_view) override {
    ++count;
  }
  void sample(tocsin::stream::Time, const tocsin::stream::MemberKey&, std::string_view, std::string_view,
              std::string_view) override {
    ++count;
  }
  void event(const tocsin::stream::EventRecord&) override { ++count; }
  std::size_t count = 0;
};

// The allocations of a round of these lines, once all memory that is kept has its size.
std::size_t allocations_of(std::initializer_list<std::string_view> lines) {
  static const auto compiled = tocsin::dsl::compile_text(tocsin::test::shipped_files());
  REQUIRE(compiled.extraction);
  auto extractor = compiled.extraction->open()->make();
  Dropped out;
  const auto feed = [&] {
    for (std::string_view line : lines)
      extractor->line({{}, {tocsin::stream::Level::rank, 3, "n1", {}}, false, line}, {}, out);
  };
  for (int i = 0; i < 10; ++i) feed();
  const std::size_t before = allocations, made = out.count;
  for (int i = 0; i < 100; ++i) feed();
  CHECK(out.count == made + 10 * made);
  return (allocations - before) / 100;
}

}  // namespace

TEST_CASE("an ordinary line allocates nothing, and a progress line only what RE2 needs for its captures") {
  CHECK(allocations_of({"n2:5776:5902 [1] NCCL INFO Channel 00/0 : 1[1] -> 2[2] via P2P",
                        "Loading checkpoint shards from /data/llama-7b, this takes some minutes"}) == 0);
  const std::size_t allocated = allocations_of(
      {"[rank 3] step 120 | loss 2.3312 | grad_norm 1.20 | lr 3.0e-04 | step_time 0.212 | compute 0.150 | data 0.004 | "
       "comm 0.058",
       " iteration       10/     330 | elapsed time per iteration (ms): 118.3 | learning rate: 1.5E-03 | lm loss: "
       "4.5E+00 | grad norm: 1.1 "
       "| number of nan iterations:   0 |",
       "{'loss': 4.8, 'grad_norm': 2.25, 'learning_rate': 0.00075, 'epoch': 0.01}",
       "iter 5: loss 4.5, time 120.97ms, mfu 0.25%",
       "[rank0]:[titan] 2026-02-03 04:05:06,338 - root - INFO - step: 14  loss:  3.25000  grad_norm:  0.8125  memory:  "
       "9.46GiB(64.99%)  "
       "tps: 7,282",
       "\x1b[32m 12%|#    | 12/100 [00:05<00:40,  2.20it/s]\r"});
  CHECK(allocated <= 66);  // three for each of up to 22 searches
}
