#include "adapters/runtime/last_lines.h"

#include <doctest/doctest.h>

using namespace tocsin;
using adapters::runtime::LastLines;

namespace {

stream::LineRecord line(std::string_view text, std::optional<std::uint32_t> rank = {}, std::string_view source = {}) {
  stream::LineRecord one;
  one.text = text, one.source = source;
  if (rank) one.member = {stream::Level::rank, *rank, {}, {}};
  return one;
}

void read(LastLines& lines, std::string_view job, const std::vector<stream::LineRecord>& records) {
  stream::Entry entry;
  entry.subject = job, entry.lines = records;
  lines.read(entry);
}

}  // namespace

TEST_CASE("the last lines of a job are its ranks' own, cut, with their secrets masked, and taken once") {
  LastLines lines;
  std::vector<std::string> texts;
  for (int i = 0; i < 30; ++i) texts.push_back("step " + std::to_string(i));
  std::vector<stream::LineRecord> records;
  for (const std::string& text : texts) records.push_back(line(text));
  read(lines, "llama", records);
  const std::string lengthy(500, 'x');
  read(lines, "llama",
       {line("  \r"), line("NVRM: Xid 79", {}, "kernel_log"), line(lengthy, 3), line("password=hunter2hunter2")});
  read(lines, "bert", {line("another job")});

  const auto taken = lines.take("llama");

  REQUIRE(taken.size() == LastLines::most);
  CHECK(taken.front() == "step 12");
  CHECK(taken[18] == "rank 3: " + std::string(LastLines::longest, 'x') + "…");
  CHECK(taken[19].find("hunter2") == std::string::npos);
  CHECK(lines.take("llama").empty());
  CHECK(lines.take("bert") == std::vector<std::string>{"another job"});
}
