// Prometheus' remote write 1.0: a protobuf message of series, compressed by snappy.
#include <remote_write.pb.h>
#include <snappy.h>

#include <bit>

#include "adapters/ingest/item.h"

namespace tocsin::adapters::ingest {
namespace {

constexpr std::size_t most_bytes = 64u << 20;              // decompressed
constexpr std::uint64_t stale = 0x7ff0'0000'0000'0002ull;  // a NaN that says that the series has ended

void read(const remote_write::Series& series, std::uint32_t place, Items& out) {
  Item item;
  item.place = place;
  std::string_view name;
  for (const remote_write::Label& label : series.labels()) {
    if (label.name() == "__name__") name = label.value();
    else if (label.name() == "le" || label.name() == "quantile")
      return out.unwanted(static_cast<std::uint64_t>(series.samples_size()));
    else if (item.labels.size() < most_labels) item.labels.push_back({label.name(), label.value()});
  }
  if (name.empty() || name.size() > longest_name)
    return out.left_out(Reason::malformed, place, "a series needs a label __name__ of 1 to 255 bytes");
  for (const remote_write::Sample& sample : series.samples()) {
    if (std::bit_cast<std::uint64_t>(sample.value()) == stale) {
      out.unwanted(1);
      continue;
    }
    constexpr std::int64_t most = std::int64_t{1} << 42;  // milliseconds, some 140 years
    item.time.reset();
    if (sample.timestamp() > 0 && sample.timestamp() < most)
      item.time = stream::at_nanoseconds(sample.timestamp() * 1'000'000);
    item.values.assign(1, {name, sample.value(), {}, false});
    out.item(item);
  }
}

}  // namespace

void read_remote_write(std::string_view message, Items& out) {
  std::size_t size = 0;
  if (!snappy::GetUncompressedLength(message.data(), message.size(), &size))
    return out.left_out(Reason::malformed, 1, "not compressed by snappy, as remote write is");
  if (size > most_bytes) return out.left_out(Reason::too_large, 1, "the request has more than 64 MiB decompressed");
  std::string plain;
  remote_write::Request request;
  if (!snappy::Uncompress(message.data(), message.size(), &plain) || !request.ParseFromString(plain))
    return out.left_out(Reason::malformed, 1, "not a request of remote write, or cut short");
  std::uint32_t place = 0;
  for (const remote_write::Series& series : request.timeseries()) read(series, ++place, out);
}

}  // namespace tocsin::adapters::ingest
