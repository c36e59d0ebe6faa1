#include "adapters/formats/telemetry.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "schemas/codec.h"

namespace tocsin::adapters::formats {

using stream::ControlRecord;
using stream::Entry;
using stream::Errc;
using stream::Error;
using stream::Result;

namespace {

constexpr std::size_t longest_text = 64u << 10;  // of a field

Error malformed(std::string what) { return {Errc::malformed, std::move(what)}; }

Error too_large() {
  return {Errc::too_large, "the request has more than " + std::to_string(most_telemetry_bytes >> 20) +
                               " MiB of messages: send them in several"};
}

Result<std::string> decompressed(std::string_view body, ZSTD_DCtx* context) {
  ZSTD_DCtx_reset(context, ZSTD_reset_session_only);
  // It is not believed if it is far from usual.
  const std::uint64_t size = ZSTD_getFrameContentSize(body.data(), body.size());
  std::string text;
  ZSTD_inBuffer in{body.data(), body.size(), 0};
  for (std::size_t left = 1; left != 0 || in.pos < in.size;) {
    const std::size_t before = text.size(), consumed = in.pos;
    const std::size_t room = before == 0 && size <= 64 * body.size() ? size : std::max(2 * before, 64ul << 10);
    text.resize(std::min<std::size_t>(room, most_telemetry_bytes) + 1);
    ZSTD_outBuffer out{text.data() + before, text.size() - before, 0};
    left = ZSTD_decompressStream(context, &out, &in);
    if (ZSTD_isError(left)) return malformed(std::string{"the body is not zstd: "} + ZSTD_getErrorName(left));
    text.resize(before + out.pos);
    if (text.size() > most_telemetry_bytes) return too_large();
    if (out.pos == 0 && in.pos == consumed) return malformed("the body is not zstd: it is cut short");
  }
  return text;
}

// Names are kept for as long as their job is: each is as short as in JSON lines.
Result<void> check_names(const Entry& entry) {
  const auto is_name = [](std::string_view text) { return text.size() <= 255; };
  const auto is_member = [&](const stream::MemberKey& member) { return is_name(member.node) && is_name(member.gpu); };
  bool right = is_name(entry.subject) && is_name(entry.attempt) && is_name(entry.node) && is_name(entry.producer) &&
               is_name(entry.origin_source);
  for (const stream::SampleBlock& block : entry.samples) {
    right = right && is_name(block.source) && std::ranges::all_of(block.members, is_member);
    for (const auto& signal : block.signals) right = right && is_name(signal.name) && is_name(signal.unit);
    for (const std::string_view text : block.texts) right = right && text.size() <= longest_text;
  }
  for (const stream::LineRecord& line : entry.lines) right = right && is_name(line.source) && is_member(line.member);
  for (const stream::EventRecord& event : entry.events) {
    right = right && is_name(event.name) && is_name(event.source) && is_member(event.member);
    for (const auto& [name, value] : event.fields) {
      const auto* text = std::get_if<std::string_view>(&value);
      right = right && name.size() <= 2 * 255 && (text == nullptr || text->size() <= longest_text);
    }
  }
  for (const stream::CoverageRecord& coverage : entry.coverage)
    right = right && is_name(coverage.source) && std::ranges::all_of(coverage.members, is_member);
  for (const ControlRecord& control : entry.controls) right = right && is_name(control.source);
  if (right) return {};
  return malformed("a name of more than 255 bytes, or a text of a field of more than 64 KiB");
}

// Only the log itself writes the other controls: they hold for all jobs.
Result<void> may_be_pushed(const Entry& entry) {
  const auto is_watermark = [](const ControlRecord& control) { return control.kind == ControlRecord::Kind::watermark; };
  if (!std::all_of(entry.controls.begin(), entry.controls.end(), is_watermark))
    return malformed("a beat, a seal or a pack, which only the log itself writes");
  if (entry.subject.empty() == entry.controls.empty())
    return malformed(entry.subject.empty() ? "no job" : "a watermark within the records of a job");
  if (entry.subject == stream::cluster_subject)
    return malformed("a job cannot be called cluster: that name is reserved for all nodes");
  return check_names(entry);
}

PushedEntry entry_of(const Entry& entry, std::span<const std::byte> message) {
  PushedEntry pushed{std::string{entry.subject}, {message.begin(), message.end()}, std::string{entry.origin_source}};
  pushed.node = entry.node;
  pushed.users = users_of(entry);
  for (const ControlRecord& control : entry.controls)
    pushed.watermarks.push_back({std::string{control.source}, control.read_up_to == stream::source_ended});
  return pushed;
}

}  // namespace

struct TelemetryReader::State {
  // A context made anew costs as much as all the rest of a push.
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context{ZSTD_createDCtx(), &ZSTD_freeDCtx};
  schemas::Decoder decoder;
};

TelemetryReader::TelemetryReader() : state_(std::make_unique<State>()) {
  ZSTD_DCtx_setParameter(state_->context.get(), ZSTD_d_windowLogMax, 24);
}
TelemetryReader::~TelemetryReader() = default;

Result<Pushed> TelemetryReader::read(std::string_view body, std::string_view encoding) {
  if (!encoding.empty() && encoding != "identity" && encoding != "zstd")
    return malformed("Content-Encoding '" + std::string{encoding} + "': send zstd, or none");
  std::string text;
  if (encoding == "zstd") {
    auto plain = decompressed(body, state_->context.get());
    if (!plain) return plain.error();
    text = std::move(*plain);
    body = text;
  }
  if (body.size() > most_telemetry_bytes) return too_large();
  if (body.empty()) return malformed("no message: post messages, each behind its length");
  Pushed pushed;
  std::set<std::string_view> jobs;
  while (!body.empty()) {
    const auto wrong = [number = pushed.records + 1](const Error& why) {
      return Error{why.code, "message " + std::to_string(number) + ": " + why.message};
    };
    std::uint32_t length = 0;
    if (body.size() < sizeof length) return wrong(malformed("the length is cut short"));
    std::memcpy(&length, body.data(), sizeof length);
    body.remove_prefix(sizeof length);
    if (length > largest_telemetry_message)
      return wrong({Errc::too_large, std::to_string(length) + " bytes, and at most " +
                                         std::to_string(largest_telemetry_message) + " are taken"});
    if (length > body.size())
      return wrong(malformed(std::to_string(length) + " bytes are announced, and " + std::to_string(body.size()) +
                             " are there"));
    const auto message = std::as_bytes(std::span{body.substr(0, length)});
    body.remove_prefix(length);
    const auto entry = state_->decoder.decode(message, {}, {}, {});
    if (!entry) return wrong(malformed(entry.error().message));
    if (auto right = may_be_pushed(**entry); !right) return wrong(right.error());
    pushed.entries.push_back(entry_of(**entry, message));
    if (++pushed.records > most_telemetry_messages)
      return Error{Errc::too_large,
                   "more than " + std::to_string(most_telemetry_messages) + " messages: send them in several requests"};
  }
  for (const PushedEntry& entry : pushed.entries)
    if (!entry.job.empty()) jobs.insert(entry.job);
  pushed.jobs = jobs.size();
  return pushed;
}

}  // namespace tocsin::adapters::formats
