#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tests/scratch.h"

// Runs the probe (or any program) as a process of its own and looks at what came of it.
namespace tocsin::test {

struct Ended {
  std::string out, err;
  int status = 0;                    // as waitpid gives it
  [[nodiscard]] int code() const;    // -1: by a signal
  [[nodiscard]] int signal() const;  // 0: none
};

// A started process; its output is gathered into files.
class Running {
 public:
  Running(std::vector<std::string> command, const Scratch& scratch,
          std::map<std::string, std::string> environment = {});
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] std::string out() const;
  [[nodiscard]] std::string err() const;
  // How long is for what would never happen: a busy machine may take its time.
  bool wait_for(const std::function<bool()>& what, double seconds = 60) const;
  Ended end(double seconds = 120);  // waits; kills it when it takes longer

 private:
  pid_t pid_ = -1;
  std::filesystem::path out_, err_;
};

[[nodiscard]] std::vector<std::string> probe(std::vector<std::string> options, std::vector<std::string> command);
Ended run(std::vector<std::string> command, const Scratch& scratch);

// Children of a process whose name is this.
std::optional<pid_t> child_named(pid_t parent, const std::string& name);

// A journal as a test looks at it: all records, owned.
struct Recorded {
  struct Line {
    std::string text;
    bool error;
  };
  struct Event {
    std::string name, member, attempt;
    std::map<std::string, std::string> fields;
    std::int64_t time;
  };
  struct Sample {
    std::string signal, member, value;
    std::int64_t time;
  };
  struct Covered {
    std::string source;
    std::vector<std::string> members;
  };
  struct Pack {
    std::string hash;
    std::int64_t ahead;
  };
  std::vector<Line> lines;
  std::vector<Event> events;
  std::vector<Sample> samples;
  std::vector<Covered> coverage;
  std::vector<Pack> packs;
  std::vector<std::int64_t> beats;    // their arrivals
  std::vector<std::uint32_t> epochs;  // of each entry
  bool sealed = false;                // and nothing follows
  std::uint64_t corrupt = 0, rejected = 0;

  [[nodiscard]] std::vector<Event> named(const std::string& name) const;
  [[nodiscard]] std::vector<Sample> of(const std::string& signal, const std::string& member) const;
  [[nodiscard]] std::string text() const;  // all lines, each with its newline
};
[[nodiscard]] Recorded read_journal(const std::filesystem::path& directory);

}  // namespace tocsin::test
