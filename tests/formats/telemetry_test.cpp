#include "adapters/formats/telemetry.h"

#include <doctest/doctest.h>
#include <zstd.h>

#include <cstring>
#include <string>
#include <vector>

#include "schemas/codec.h"

using namespace tocsin;
using namespace tocsin::adapters::formats;

namespace {

std::string behind_its_length(std::span<const std::byte> message) {
  const auto length = static_cast<std::uint32_t>(message.size());
  std::string text(sizeof length, '\0');
  std::memcpy(text.data(), &length, sizeof length);
  return text.append(reinterpret_cast<const char*>(message.data()), message.size());
}

std::string posted(schemas::EntryBuilder& entry) { return behind_its_length(schemas::encode(entry.entry())); }

schemas::EntryBuilder line_of(std::string_view job) {
  schemas::EntryBuilder entry;
  if (!job.empty()) entry.about(job);
  entry.line({}, schemas::EntryBuilder::rank(0), "step 1");
  return entry;
}

std::string problem(std::string_view body, std::string_view encoding = {}) {
  const auto pushed = TelemetryReader{}.read(body, encoding);
  return pushed ? "" : pushed.error().message;
}

// In one frame that tells its size, or not.
std::string compressed(const std::string& text, bool tells) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, tells ? 1 : 0);
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return out;
}

}  // namespace

TEST_CASE("messages are taken as they came, each with the job that it is keyed by") {
  auto a = line_of("a"), b = line_of("b");
  const std::string body = posted(a) + posted(b) + posted(a);
  const auto pushed = TelemetryReader{}.read(body, "identity");
  REQUIRE(pushed);
  CHECK(pushed->records == 3);
  CHECK(pushed->jobs == 2);
  std::string again;
  for (const PushedEntry& entry : pushed->entries) again += behind_its_length(entry.message);
  CHECK(again == body);
  CHECK(pushed->entries[1].job == "b");
}

TEST_CASE("a watermark names its source, and says whether it is the last") {
  schemas::EntryBuilder going, last;
  going.watermark("journal/n1", stream::at_nanoseconds(1));
  last.watermark("journal/n1", stream::source_ended);
  const auto pushed = TelemetryReader{}.read(posted(going) + posted(last), {});
  REQUIRE(pushed);
  REQUIRE(pushed->entries.size() == 2);
  CHECK(pushed->entries[0].job.empty());
  CHECK(pushed->entries[0].watermarks.at(0).source == "journal/n1");
  CHECK_FALSE(pushed->entries[0].watermarks[0].last);
  CHECK(pushed->entries[1].watermarks.at(0).last);
}

TEST_CASE("a message that is cut short, damaged, of no job or the log's own is refused by its number") {
  auto good = line_of("a"), without_job = line_of("");
  schemas::EntryBuilder pack, beat, seal;
  pack.pack("hash", {}, "text"), beat.beat(), seal.seal();
  const std::string first = posted(good);
  CHECK(problem("").starts_with("no message"));
  CHECK(problem(first + "ab") == "message 2: the length is cut short");
  CHECK(problem(first + first.substr(0, first.size() - 1)).starts_with("message 2: "));
  CHECK(problem(first + std::string{"\x04\0\0\0abcd", 8}).starts_with("message 2: "));
  CHECK(problem(posted(without_job)) == "message 1: no job");
  for (schemas::EntryBuilder* own : {&pack, &beat, &seal})
    CHECK(problem(first + posted(*own)) == "message 2: a beat, a seal or a pack, which only the log itself writes");
  CHECK(TelemetryReader{}.read(std::string{"\xff\xff\xff\x7f", 4}, {}).error().code == stream::Errc::too_large);
}

TEST_CASE("content that is not zstd, and another encoding, are refused") {
  CHECK(problem("abc", "zstd").starts_with("the body is not zstd: "));
  CHECK(problem("abc", "gzip") == "Content-Encoding 'gzip': send zstd, or none");
}

TEST_CASE("compressed messages are the same, of any size, with and without it, in one frame or several") {
  auto a = line_of("a");
  std::string body;
  for (int doublings = 0; doublings < 13; ++doublings, body += doublings == 1 ? posted(a) : body) {
    if (body.empty()) continue;
    const std::size_t records = TelemetryReader{}.read(body, {})->records;
    for (const bool tells : {true, false}) {
      const std::string content = compressed(body, tells);
      CHECK(TelemetryReader{}.read(content, "zstd")->records == records);
      CHECK(TelemetryReader{}.read(content + compressed(posted(a), !tells) + content, "zstd")->records ==
            2 * records + 1);
      CHECK(problem(content.substr(0, content.size() / 2), "zstd").starts_with("the body is not zstd: "));
    }
  }
  for (const bool tells : {true, false}) {
    const std::string most(16u << 20, '\xff'), more = most + 'x';
    CHECK(problem(compressed(most, tells), "zstd").starts_with("message 1: 4294967295 bytes"));
    CHECK(problem(compressed(more, tells), "zstd").starts_with("the request has more than 16 MiB"));
  }
}

TEST_CASE("names that are longer than those of JSON lines are refused, and so are very many messages") {
  const std::string longest(255, 'n'), longer = longest + 'n', text(64u << 10, 't');
  using Builder = schemas::EntryBuilder;
  const auto with = [&](const std::string& name, const std::string& value) {
    std::vector<std::string> bodies;
    const auto add = [&](const auto& change) {
      auto entry = line_of("a");
      change(entry);
      bodies.push_back(posted(entry));
    };
    add([&](Builder& entry) { entry.about("a", name); });
    add([&](Builder& entry) { entry.produced_by(name, 0, 1); });
    add([&](Builder& entry) { entry.line({}, Builder::rank(0), "x", false, name); });
    const Builder::Field named[] = {{name, 1.0, {}, false}}, valued[] = {{"f", 0, value, true}};
    add([&](Builder& entry) { entry.event({}, Builder::rank(0), name, valued, "s"); });
    if (name == longest) add([&](Builder& entry) { entry.event({}, Builder::rank(0), "e", named, "s"); });
    Builder watermark;
    watermark.watermark(name, {});
    bodies.push_back(posted(watermark));
    return bodies;
  };
  for (const std::string& body : with(longest, text)) CHECK(problem(body).empty());
  for (const std::string& body : with(longer, text))
    CHECK(problem(body).starts_with("message 1: a name of more than 255 bytes"));
  CHECK(problem(with("e", text + 't')[3]).starts_with("message 1: a name of more than 255 bytes, or a text"));
  auto one = line_of("a");
  std::string many;
  for (int i = 0; i <= 20'000; ++i) many += posted(one);
  CHECK(TelemetryReader{}.read(many, {}).error().code == stream::Errc::too_large);
}
