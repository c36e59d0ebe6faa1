#include "adapters/kafka_service/unattributed.h"

#include <span>

#include "adapters/formats/json.h"
#include "adapters/kafka/topic_settings.h"

namespace tocsin::adapters::kafka_service {
namespace {

// What is quoted of a message: one that the broker refuses for its size would end the role.
constexpr std::size_t longest_text = 4096;

std::string_view line_of(std::string_view message, std::uint32_t number) {
  for (; number > 1 && message.find('\n') != message.npos; --number) message.remove_prefix(message.find('\n') + 1);
  return message.substr(0, message.find('\n')).substr(0, longest_text);
}

std::string as_json(const Unattributed::Where& where, const ingest::LeftOut& part) {
  return formats::dump({{"source", where.source},
                        {"topic", where.topic},
                        {"partition", where.partition},
                        {"offset", where.offset},
                        {"line", part.place},
                        {"reason", name(part.reason)},
                        {"what", std::string_view{part.what}.substr(0, longest_text)},
                        {"text", line_of(where.message, part.place)}});
}

}  // namespace

void Unattributed::add(const Where& where, const ingest::LeftOut& part) {
  Counted& counted = counted_[std::string{where.source}][part.reason];
  ++counted.parts;
  const auto now = Clock::now();
  if (now >= counted.second + std::chrono::seconds{1}) counted.second = now, counted.samples = 0;
  if (counted.samples++ < samples_a_second) {
    const std::string json = as_json(where, part);
    static_cast<void>(appender_->append(kafka::topic::unattributed, 0, where.source,
                                        std::as_bytes(std::span{json})));  // it is counted
  }
  if (now < counted.next_line) return;
  counted.next_line = now + between_lines;
  log_("source " + std::string{where.source} + ": " + std::to_string(counted.parts) + " times " +
       std::string{name(part.reason)} + ", last " + std::string{where.topic} + "/" + std::to_string(where.partition) +
       " at offset " + std::to_string(where.offset) + ", line " + std::to_string(part.place) + ": " + part.what);
}

std::map<std::string, std::uint64_t> Unattributed::counts(std::string_view source) const {
  std::map<std::string, std::uint64_t> counts;
  if (const auto found = counted_.find(source); found != counted_.end())
    for (const auto& [reason, counted] : found->second) counts[std::string{name(reason)}] = counted.parts;
  return counts;
}

}  // namespace tocsin::adapters::kafka_service
