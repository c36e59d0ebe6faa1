// Wraps a command with an engine that only follows the journal: what the tests run.
//   wrap_probe [--journal DIR] [--job NAME] [--state-bytes N] [--lone-after SECONDS] [--reload good|bad] [--engine
//   dies|refuses|hangs] -- COMMAND…

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "adapters/journal/journal.h"
#include "adapters/wrap/wrap.h"
#include "schemas/codec.h"

namespace {

using namespace tocsin;
namespace wrap = adapters::wrap;

int follow(const std::filesystem::path& directory, const wrap::EngineOptions& options) {
  auto reader = adapters::journal::Reader::open(directory);
  if (!reader) return 1;
  schemas::Decoder decoder;
  std::size_t lines = 0;
  bool parent_gone = false;
  for (;;) {
    auto frame = reader->next();
    if (!frame) return 1;
    if (*frame) {
      auto entry = decoder.decode((*frame)->payload, (*frame)->position, (*frame)->next, (*frame)->arrival);
      if (!entry) continue;
      lines += (*entry)->lines.size();
      for (const auto& control : (*entry)->controls) {
        if (control.kind != stream::ControlRecord::Kind::seal) continue;
        std::fprintf(stderr, "engine: %zu lines, %u restarts\n", lines, options.restarts);
        return 0;
      }
      continue;
    }
    if (parent_gone) return 0;
    pollfd parent{options.parent, POLLIN, 0};
    parent_gone = ::poll(&parent, 1, 20) > 0;  // once more, behind its last words
  }
}

}  // namespace

int main(int argc, char** argv) {
  wrap::WrapOptions options;
  std::string engine;
  int at = 1;
  for (; at < argc && std::string{argv[at]} != "--"; ++at) {
    const std::string option = argv[at];
    if (at + 1 >= argc) return 2;
    const std::string value = argv[++at];
    if (option == "--journal") options.journal = value;
    else if (option == "--modules") options.modules = value;
    else if (option == "--job") options.job = value;
    else if (option == "--state-bytes") options.state_bytes = std::stoull(value);
    else if (option == "--lone-after") options.lone_after = std::chrono::seconds{std::stol(value)};
    else if (option == "--engine") engine = value;
    else if (option == "--reload" && value == "good")
      options.reload = [] { return wrap::PackRecord{"feed", "new rules\n"}; };
    else if (option == "--reload")
      options.reload = []() -> stream::Result<wrap::PackRecord> {
        return stream::Error{stream::Errc::malformed, "ranks.lua:3: no such signal"};
      };
    else return 2;
  }
  for (++at; at < argc; ++at) options.command.emplace_back(argv[at]);
  options.first_pack = [] { return wrap::PackRecord{"beef", "rules\n"}; };
  options.engine_wait = std::chrono::seconds{5};
  return wrap::wrap(options, [&](const std::filesystem::path& journal, const wrap::EngineOptions& how) {
    if (engine == "dies") ::abort();
    if (engine == "refuses") return wrap::engine_refused;
    if (engine == "hangs")
      for (;;) ::pause();
    return follow(journal, how);
  });
}
