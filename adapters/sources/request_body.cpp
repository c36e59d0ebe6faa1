#include "adapters/sources/request_body.h"

#include <zlib.h>

#include <memory>

namespace tocsin::adapters::sources {

using stream::Errc;
using stream::Error;

namespace {

stream::Result<std::string> gunzip(std::string_view bytes, std::size_t most) {
  z_stream state{};
  constexpr int window = 15, gzip = 16;  // zlib's flag for gzip's header
  if (::inflateInit2(&state, window + gzip) != Z_OK) return Error{Errc::io, "no memory to decompress"};
  const std::unique_ptr<z_stream, decltype(&::inflateEnd)> ends{&state, &::inflateEnd};
  state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  state.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  int code = Z_OK;
  while (code == Z_OK) {
    constexpr std::size_t step = 256u << 10;
    const std::size_t had = out.size();
    out.resize(had + step);
    state.next_out = reinterpret_cast<Bytef*>(out.data() + had);
    state.avail_out = step;
    code = ::inflate(&state, Z_NO_FLUSH);
    out.resize(had + step - state.avail_out);
    if (out.size() > most)
      return Error{Errc::too_large, "the request has more than " + std::to_string(most >> 20) + " MiB decompressed"};
  }
  if (code != Z_STREAM_END) return Error{Errc::malformed, "the request is not a gzip stream, or is cut short"};
  return out;
}

}  // namespace

stream::Result<std::string> plain_body(std::string body, std::string_view encoding) {
  constexpr std::size_t most = 64u << 20;
  if (encoding == "gzip") return gunzip(body, most);
  if (encoding.empty() || encoding == "identity" || encoding == "snappy") return body;
  return Error{Errc::malformed, "Content-Encoding '" + std::string{encoding} + "': send gzip, or none"};
}

}  // namespace tocsin::adapters::sources
