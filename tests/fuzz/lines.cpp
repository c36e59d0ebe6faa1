// Any bytes as a job's output, through the shipped patterns and parsers. An extractor that is saved and loaded
// somewhere in between must go on as the one that was not.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "dsl/load/text_definitions.h"
#include "stream/values/archive.h"
#include "tests/text/shipped.h"

using namespace tocsin;

namespace {

// A line and where it comes from: the first byte says which rank (or none), which stream and source, and how much time
// has passed.
struct Line {
  stream::LineRecord record;
  stream::Time arrival;
};

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  stream::Time now = stream::at_nanoseconds(1'800'000'000'000'000'000);
  while (!text.empty() && lines.size() < 1000) {
    const auto about = static_cast<std::uint8_t>(text.front());
    text.remove_prefix(1);
    const std::size_t end = std::min(text.find('\n'), text.size());
    now += std::chrono::milliseconds{(about >> 4) * 200};
    const stream::MemberKey member =
        (about & 3) == 3 ? stream::MemberKey{} : stream::MemberKey{stream::Level::rank, about & 3u, {}, {}};
    lines.push_back({{now, member, (about & 4) != 0, text.substr(0, end), (about & 8) != 0 ? "kernel_log" : ""}, now});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

stream::Extraction& shipped() {
  static const auto extraction = [] {
    auto result = dsl::compile_text(test::shipped_files());
    if (!result.extraction) std::abort();
    return result.extraction->open();
  }();
  return *extraction;
}

void feed(stream::Extractor& extractor, const Line& line, test::Recorded& out) {
  if (extractor.next_due() <= line.arrival) extractor.settle(line.arrival, out);
  extractor.line(line.record, line.arrival, out);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text{reinterpret_cast<const char*>(data) + 1, size - 1};
  const auto lines = lines_of(text);
  const std::size_t cut = lines.empty() ? 0 : data[0] % lines.size();

  test::Recorded whole, parted;
  auto one = shipped().make();
  auto other = shipped().make();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i == cut) {
      stream::Writer saved;
      other->save(saved);
      other = shipped().make();
      stream::Reader reader{saved.bytes()};
      if (!other->load(reader)) std::abort();
    }
    feed(*one, lines[i], whole);
    feed(*other, lines[i], parted);
  }
  one->finish(whole);
  other->finish(parted);
  if (whole.all != parted.all || whole.times != parted.times || whole.sources != parted.sources) std::abort();
  return 0;
}
