// Any bytes as JSON lines: what is understood is encoded, decoded, and written as lines that are understood again.
#include <cstdlib>
#include <string_view>

#include "adapters/formats/json_lines.h"

using namespace tocsin;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static adapters::formats::JsonReader reader;
  static adapters::formats::JsonReader again;
  static schemas::Decoder decoder;
  std::string_view rest{reinterpret_cast<const char*>(data), size};
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const auto record = reader.read(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (!record) continue;
    schemas::EntryBuilder builder;
    builder.about((*record)->job, (*record)->attempt);
    (*record)->add_to(builder, (*record)->time.value_or(stream::Time{}));
    const auto entry = decoder.decode(schemas::encode(builder.entry()), {}, {}, stream::Time{});
    if (!entry || (*entry)->rejected_blocks != 0) std::abort();  // what we write, we read
    const std::string lines = adapters::formats::to_json(**entry);
    if (!again.read(std::string_view{lines}.substr(0, lines.find('\n')))) std::abort();
  }
  return 0;
}
