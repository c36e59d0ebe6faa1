// Announces the rules of a directory and ends before any log names them: half_announced ADDRESS DIRECTORY.
#include <cstdio>

#include "adapters/kafka_service/kafka_backend.h"
#include "adapters/service/pack_history.h"
#include "dsl/load/loader.h"

using namespace tocsin;
using namespace tocsin::adapters;

namespace {

stream::Result<void> announce(const kafka::Address& address, const char* directory) {
  const auto files = dsl::read_pack(directory);
  if (!files) return files.error();
  const std::string text = dsl::pack_text(*files);
  auto topic = kafka_service::PacksTopic::open(address, "half");
  if (!topic) return topic.error();
  service::PackHistory history{**topic};
  if (auto read = history.read(); !read) return read;
  return history.write({dsl::pack_hash(text), text}, {});
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const auto address = kafka::parse_address(arguments[1]);
  const auto done = address ? announce(*address, arguments[2]) : address.error();
  if (!done) std::fprintf(stderr, "%s\n", done.error().message.c_str());
  return done ? 0 : 1;
}
