// Prints what the rings of a directory and NCCL's RAS show now, one line of text for each thing: nccl_look DIRECTORY
// [ras]

#include <chrono>
#include <cstdio>
#include <string_view>

#include "adapters/nccl/ras.h"
#include "adapters/nccl/reader.h"

using namespace tocsin;
using namespace std::chrono_literals;

namespace {

void print(const adapters::nccl::ProcessRing& ring) {
  const auto all = ring.collectives();
  std::printf("process %d: interface %llu, launched %llu, done %lld%s%s\n", ring.pid,
              static_cast<unsigned long long>(ring.interface_version), static_cast<unsigned long long>(all.launched),
              all.done ? static_cast<long long>(*all.done) : -1LL, all.oldest ? ", waits in " : "",
              all.oldest ? all.oldest->function.c_str() : "");
  for (const auto& it : ring.communicators) {
    std::printf(
        "  communicator %s: rank %u of %u, collectives %llu, point-to-point %llu, captured %llu, calls %llu%s\n",
        it.group.c_str(), it.rank, it.ranks, static_cast<unsigned long long>(it.collectives),
        static_cast<unsigned long long>(it.point_to_points), static_cast<unsigned long long>(it.captured),
        static_cast<unsigned long long>(it.calls), it.finalized ? ", finalized" : "");
    for (const auto& open : it.open)
      std::printf(
          "    open %s %llu: %s, %s/%s, entered %.3f s ago, running %.3f s, channels %u of %u started, %u ended%s\n",
          open.is.function.c_str(), static_cast<unsigned long long>(open.is.sequence), open.is.arguments.c_str(),
          open.algorithm.c_str(), open.protocol.c_str(), stream::seconds(open.is.open),
          open.running ? stream::seconds(*open.running) : -1.0, open.channels_started, open.channels,
          open.channels_completed, open.captured ? ", captured" : "");
    if (!it.unreported.empty())
      std::printf("    may be done: %zu, the last of them %s %llu\n", it.unreported.size(),
                  it.unreported.back().is.function.c_str(),
                  static_cast<unsigned long long>(it.unreported.back().is.sequence));
    for (const auto& link : it.connections)
      std::printf(
          "    channel %u %s %u: operation %llu, steps %llu, posted %llu, moved %llu, done %llu, waits for %s, "
          "unchanged %.3f s\n",
          link.channel, link.sends ? "to" : "from", link.peer, static_cast<unsigned long long>(link.operation),
          static_cast<unsigned long long>(link.steps), static_cast<unsigned long long>(link.posted),
          static_cast<unsigned long long>(link.moved), static_cast<unsigned long long>(link.done),
          link.waits_for.c_str(), stream::seconds(link.unchanged));
  }
}

void print(const adapters::nccl::RasStatus& status) {
  std::printf("RAS of NCCL %s%s\n", status.nccl_version.c_str(), status.complete ? "" : ", incomplete");
  for (const auto& it : status.communicators) {
    std::printf("  communicator 0x%llx of %u\n", static_cast<unsigned long long>(it.hash), it.size);
    for (const auto& rank : it.ranks) {
      std::printf("    rank %u on %s, pid %d, %s%s%s%s:", rank.rank, rank.host.c_str(), rank.pid, rank.status.c_str(),
                  rank.missing ? " missing" : "", rank.unresponsive ? " unresponsive" : "", rank.dead ? " dead" : "");
      for (const auto& [function, count] : rank.launched)
        if (count != 0) std::printf(" %s %llu", function.c_str(), static_cast<unsigned long long>(count));
      std::printf("\n");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const auto rings = adapters::nccl::read_rings(argv[1]);
  for (const auto& it : rings.processes) print(it);
  for (const auto& it : rings.ended) std::printf("ended: %s\n", it.c_str());
  for (const auto& it : rings.unread) std::printf("unread: %s\n", it.message.c_str());
  if (argc < 3 || std::string_view{argv[2]} != "ras") return 0;
  const auto status = adapters::nccl::ask_ras(adapters::nccl::ras_address(), 15s, [&](pid_t pid, const std::string&) {
    for (const auto& it : rings.processes)
      if (it.pid == pid) return true;
    return false;
  });
  if (status) print(*status);
  else std::printf("RAS: %s\n", status.error().message.c_str());
}
