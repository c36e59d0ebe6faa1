#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "adapters/wrap/process_tree.h"
#include "stream/values/time.h"

namespace tocsin::adapters::wrap {

// One TCP socket of a table in the form of /proc/net/tcp or tcp6: its ends as text. A mapped address is written as the
// plain one.
struct TcpSocket {
  std::uint64_t inode = 0;
  std::string local, remote;
};
[[nodiscard]] std::vector<TcpSocket> tcp_sockets(std::string_view table);

// A command line without what differs between processes that were started in a loop: its numbers.
[[nodiscard]] std::string without_numbers(std::string_view command_line);

// Finds ranks that no environment names, as torch.multiprocessing.spawn starts them: children of one process, with one
// command line, of which two hold the ends of one TCP connection, or one holds both (it serves the rendezvous and
// waits). Each end must be its own: workers of a data loader inherit the sockets of their rank, and have no connection
// between them. Owned by the Recorder.
class UnnamedRanks {
 public:
  // Below the command, in the order of their start; empty: none are found. A look that comes too soon after the last
  // finds none; the longer it is in vain, the seldomer.
  [[nodiscard]] std::vector<pid_t> look(const std::unordered_map<pid_t, Process>& processes, pid_t command,
                                        stream::Time now);

 private:
  stream::Time next_ = stream::long_ago;
  std::vector<pid_t> last_;
  stream::Duration wait_ = std::chrono::seconds{2};
};

}  // namespace tocsin::adapters::wrap
