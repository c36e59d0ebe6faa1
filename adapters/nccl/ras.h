#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stream/values/result.h"
#include "stream/values/time.h"

namespace tocsin::adapters::nccl {

// What NCCL's RAS subsystem (2.24 and later) reports about a job: each process answers for all processes that share
// communicators with it.
//
// Its counts are of operations launched, by function, and none of them is known to have completed: a rank that waits in
// the newest has counted it. Sends and receives are not counted, nor is what a CUDA graph launches, unless our plugin
// is loaded.
struct RasRank {
  std::uint32_t rank = 0;
  std::string host;  // an address; empty: RAS does not know
  pid_t pid = 0;     // as the process knows itself; 0: not known
  std::map<std::string, std::uint64_t>
      launched{};  // by PyTorch's name of the function; the text lists differences only
  std::string
      status{};  // "INIT", "RUNNING", "FINALIZE" or "ABORT"; empty: the text does not name it, as it is like most
  int init_error = 0, async_error = 0;  // NCCL's codes; 0: none (7, in progress, is none either)
  bool missing = false;                 // of this communicator, nothing came from that rank
  bool unresponsive = false;            // nothing came from its process at all
  bool dead = false;                    // RAS has given the process up
};

struct RasCommunicator {
  std::uint64_t hash = 0;
  std::uint32_t size = 0;      // 0: the text does not say
  std::vector<RasRank> ranks;  // of JSON all of them, of the text those that differ
  // Functions whose counts differ, and for each how many ranks have launched how many: the text names few ranks.
  std::map<std::string, std::map<std::uint64_t, std::uint32_t>> differing;
};

struct RasStatus {
  std::string nccl_version;
  bool complete = true;  // false: the answer ended early, or processes did not answer RAS
  std::vector<RasCommunicator> communicators;
  struct Process {
    pid_t pid = 0;
    std::string host;
  };
  std::vector<Process> unresponsive, dead;  // processes, where the text names them

  // Whether a process of this machine, by its pid, is part of the job. The port may be shared with other jobs: who
  // answers is chance.
  [[nodiscard]] bool includes(const std::function<bool(pid_t pid, const std::string& host)>& ours) const;
  // The text names only ranks with which something is wrong: there may be none.
  [[nodiscard]] bool names_nobody() const { return communicators.empty() && unresponsive.empty() && dead.empty(); }
};

// An answer in either dialect, whole or cut off; JSON of 2.28.7 to 2.28.9 lacks a comma where a rank is missing.
[[nodiscard]] stream::Result<RasStatus> parse_ras(std::string_view answer);

// One question to one process. Never blocks: call advance() when descriptor() is ready for events().
class RasQuery {
 public:
  // "host:port", as in NCCL_RAS_ADDR. `patience`: for how long RAS itself may wait for its peers.
  RasQuery(const std::string& address, stream::Duration patience);
  ~RasQuery();
  RasQuery(const RasQuery&) = delete;
  RasQuery& operator=(const RasQuery&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return socket_; }
  [[nodiscard]] short events() const noexcept { return to_send_.empty() && stage_ != Stage::connecting ? in : out; }
  // Whether it has greeted us: one that is stopped or hangs accepts a connection and stays silent.
  [[nodiscard]] bool greeted() const noexcept { return stage_ > Stage::greeting; }

  // True: it is over.
  bool advance();
  // Once it is over; or cut off here, what there is so far.
  [[nodiscard]] stream::Result<RasStatus> result() const;
  [[nodiscard]] const std::string& answer() const noexcept { return received_; }  // as it came

 private:
  enum class Stage { connecting, greeting, timeout, format, status, over };
  static const short in, out;

  bool fail(stream::Errc code, const std::string& why);
  bool reply(std::string_view line);
  bool write();

  std::string address_;
  int patience_;
  int socket_ = -1;
  Stage stage_ = Stage::connecting;
  std::string to_send_, received_;
  std::optional<stream::Error> error_{};
};

// The job of which a process satisfies `ours`, from whoever answers at `address`; several connections are tried, as one
// may lead to another job, or to a process that is stopped. Blocks for at most `limit`.
[[nodiscard]] stream::Result<RasStatus> ask_ras(const std::string& address, stream::Duration limit,
                                                const std::function<bool(pid_t, const std::string&)>& ours);

// Where RAS listens: NCCL_RAS_ADDR of the environment, or NCCL's default.
[[nodiscard]] std::string ras_address();

}  // namespace tocsin::adapters::nccl
