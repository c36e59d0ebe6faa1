#include "adapters/kafka/first_pack.h"

#include "schemas/codec.h"

namespace tocsin::adapters::kafka {

using stream::Result;

Result<std::optional<FirstPack>> first_pack(TopicReader& topic, int partition, std::chrono::milliseconds patience) {
  PartitionReader reader{topic, partition};
  const auto range = reader.range();
  if (!range) return range.error();
  if (range->oldest == range->end) return std::optional<FirstPack>{};
  if (auto started = reader.start(range->oldest); !started) return started.error();
  schemas::Decoder decoder;
  while (!reader.at_end()) {
    const auto message = reader.expect(patience);
    if (!message) return message.error();
    if (*message == nullptr || !(*message)->key.empty()) continue;  // control records have no key
    const auto entry = decoder.decode((*message)->value, {}, {}, {});
    if (!entry) continue;
    for (const auto& control : (*entry)->controls)
      if (control.kind == stream::ControlRecord::Kind::pack)
        return std::optional{FirstPack{{std::string{control.pack_hash}, std::string{control.pack_text}},
                                       {(*message)->value.begin(), (*message)->value.end()}}};
    if ((*message)->offset + 1 >= range->end) break;
  }
  return std::optional<FirstPack>{};
}

}  // namespace tocsin::adapters::kafka
