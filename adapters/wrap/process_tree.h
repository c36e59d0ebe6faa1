#pragma once

#include <dirent.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tocsin::adapters::wrap {

// The rank of a process, from its environment.
struct Identity {
  std::uint32_t rank = 0;
  std::uint32_t world_size = 0;  // 0: unknown
  std::uint8_t kind = 0;         // which launcher's variables, in the order of their table; `unnamed`: none's
  std::optional<std::uint32_t> local_rank{};
  static constexpr std::uint8_t unnamed = 255;
  friend bool operator==(const Identity& a, const Identity& b) noexcept { return a.rank == b.rank && a.kind == b.kind; }
};

// Reads an environment in the form of /proc/PID/environ, NUL after each entry. The variables of a launcher that
// `before` has with the same values are ignored: they were set before the ranks were started. A rank that its own world
// size excludes is ignored, too; `impossible`, if it is given, then names the variables: "RANK=5 and WORLD_SIZE=4".
[[nodiscard]] std::optional<Identity> identity_in(std::string_view environment, std::string_view before,
                                                  std::string* impossible = nullptr);
// The variable that has the rank, of a kind of identity: "RANK".
[[nodiscard]] std::string_view rank_variable(std::uint8_t kind) noexcept;
// The entries of an environment that identity_in() looks at.
[[nodiscard]] std::string rank_variables(std::string_view environment);

// A process of the job.
struct Process {
  pid_t pid = 0, parent = 0;
  std::uint64_t start = 0;        // ticks since boot
  std::uint64_t inode = 0;        // of /proc/PID: another where another process has the pid
  std::uint64_t environment = 0;  // its address, when it was read
  std::uint64_t cpu_ticks = 0;    // at the last look; of ranks and what is below them: at the first
  char state = '?';               // at the last look, of what is neither a rank nor below one
  std::string name;
  std::optional<Identity> identity;
  bool rank = false;       // the topmost process of its identity: its loader workers inherit the same
  std::string impossible;  // the variables that name a rank beyond their world size, of a process without an identity
};

// /proc/PID/cmdline: its words, NUL after each. Empty: it has gone.
[[nodiscard]] std::string command_line(pid_t pid);
// Whether a program of this name only starts others, and waits for them.
[[nodiscard]] bool is_shell(std::string_view name);
// Whether a command line (as /proc/PID/cmdline has it, NUL after each word) is a launcher's: its work is to start
// ranks.
[[nodiscard]] bool launches_ranks(std::string_view command_line);
[[nodiscard]] double seconds_since(std::uint64_t start_ticks);  // since boot
// Whether the process has loaded torch, NCCL or the GPU's driver: what a launcher and a program like `uv` do without.
[[nodiscard]] bool has_framework(pid_t pid);

struct DirectoryCloser {
  void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};

// Which processes a ProcessTree holds, besides those that they have started. Owned by the recorder.
class Kin {
 public:
  virtual ~Kin() = default;
  enum class Answer : std::uint8_t { ours, strange, open };  // open: it can become ours; asked again at the next look
  // Of a process whose parent is not in the tree.
  [[nodiscard]] virtual Answer of(const Process& process) = 0;
  // Variables that were set before the ranks were started: in the form of /proc/PID/environ.
  [[nodiscard]] virtual std::string_view set_before(const Process& process) const = 0;
};

// The descendants of a process. Orphans come to wrap (it is their subreaper), so none is lost.
class Descendants final : public Kin {
 public:
  explicit Descendants(pid_t root);
  [[nodiscard]] Answer of(const Process& process) override;
  [[nodiscard]] std::string_view set_before(const Process&) const override { return environment_; }

  // The root runs inside one of several ranks itself: a process without a rank here is not alone.
  [[nodiscard]] bool among_ranks() const;
  [[nodiscard]] std::optional<Identity> own_identity() const { return identity_in(environment_, {}); }

 private:
  pid_t root_;
  std::string environment_;
};

// The processes of a job, found by looking through /proc for processes that were not there before; a quiet machine
// costs one read. An environment is read once a process, and again after an exec as long as the process is no rank and
// below none. Owned by the recorder.
class ProcessTree {
 public:
  explicit ProcessTree(Kin& kin);

  void look();
  // The process has ended. Its pid may come again, in a container at once: that is another process.
  void gone(pid_t pid);
  // These are the ranks 0, 1, …, though no environment says so.
  void name(const std::vector<pid_t>& ranks);
  [[nodiscard]] const std::unordered_map<pid_t, Process>& processes() const noexcept { return processes_; }
  // A shell or a program like `uv` that was started as a rank only waits: the process below it that has loaded a
  // framework, else what the shell runs, once that is some seconds old; else the pid itself.
  [[nodiscard]] pid_t worker_of(pid_t pid) const;

 private:
  [[nodiscard]] bool anything_new();
  [[nodiscard]] bool below_same(const Process& process) const;
  [[nodiscard]] bool below_a_rank(const Process& process) const;
  [[nodiscard]] std::string_view set_before(const Process& process) const;
  void identify(Process& process);
  void find_local_zero();
  void find_launchers();
  [[nodiscard]] bool list();  // false: nothing new

  Kin& kin_;
  std::unique_ptr<DIR, DirectoryCloser> proc_;
  int load_;  // /proc/loadavg: its last word is the newest pid
  std::string newest_;
  std::unordered_map<pid_t, Process> processes_;
  std::unordered_map<pid_t, std::string> launchers_;    // of the job, with the variables that are not its ranks'
  bool local_zero_ = false;                             // a process with LOCAL_RANK 0 was seen, so none has to be found
  std::unordered_map<pid_t, std::uint64_t> strangers_;  // processes that are not of the job, and their inodes
};

}  // namespace tocsin::adapters::wrap
