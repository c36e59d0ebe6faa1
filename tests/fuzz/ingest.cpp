// Any bytes as a message of each format: what is made of it is encoded, and decodes whole.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "adapters/ingest/rekey.h"
#include "adapters/ingest/translator.h"

using namespace tocsin;
using namespace tocsin::adapters::ingest;

namespace {

struct Nothing final : Output {
  void record(const Record&) override {}
  void left_out(const LeftOut&) override {}
  void unwanted(std::uint64_t) override {}
};

}  // namespace

// The first byte chooses the format, the rest is the message.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const NodeMap nodes{{"n1", {"rack", {{"0", "0000:1b:00.0", "GPU-a"}}}}};
  static std::vector<Translator> translators = [] {
    std::vector<Translator> all;
    for (const auto& format : format_names) {
      Source source;
      source.format = format.name;
      source.labels = {{"job_id", "default"}};
      source.extract = {{"file", "/log/{job}/{node}-rank{rank}.*"}};
      auto made = Translator::make(source, &nodes);
      if (!made) std::abort();
      all.push_back(std::move(*made));
    }
    return all;
  }();
  if (size == 0) return 0;
  Nothing beyond;
  Placement placement;
  Rekeyer rekeyer{beyond};
  rekeyer.copy_by(placement);
  rekeyer.begin("fuzz/0", 1, stream::Time{});
  const std::size_t format = data[0] >= 'a' ? data[0] - std::size_t{'a'} : data[0];
  translators[format % translators.size()].read({reinterpret_cast<const char*>(data) + 1, size - 1}, stream::Time{},
                                                rekeyer);
  static schemas::Decoder decoder;
  for (std::size_t i = 0; i < rekeyer.entries(); ++i) {
    const auto entry = decoder.decode(schemas::encode(rekeyer.entry(i)), {}, {}, stream::Time{});
    if (!entry || (*entry)->rejected_blocks != 0) std::abort();
  }
  return 0;
}
