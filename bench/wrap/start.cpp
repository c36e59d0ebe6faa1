// Time from the decision to run a command until its main(), in turn: by a bare fork and exec; what the disk alone takes
// to have a new file of that size written and synced; by wrap(); and, where TOCSIN is given, by the whole program,
// which is loaded and linked first. wrap's share is its time less the first two.
//   bench_wrap_start [ROUNDS] [DIRECTORY FOR JOURNALS] [TOCSIN]
// With TOCSIN a round takes until its engine has compiled the rules, a second or two: give it 20.
// On a machine that others use too: chrt -f 10 bench_wrap_start …, so that they do not run meanwhile.

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "adapters/wrap/wrap.h"
#include "bench/machine.h"

namespace {

using namespace tocsin;

double milliseconds_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

// The command: says when it runs. `from` is when it was decided on.
int stamp(const char* from) {
  const double took = milliseconds_now() - ::strtod(from, nullptr);
  std::printf("%.6f\n", took);
  return 0;
}

enum class How { bare, wrapped, program };
constexpr std::size_t pack_bytes = 140'000;  // as long as the shipped rules are

double once(How how, const std::string& self, const std::string& journal, const std::string& program = {}) {
  int ends[2];
  if (::pipe(ends) != 0) return 0;
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(ends[1], 1);
    ::close(ends[0]);
    ::close(ends[1]);
    char from[40];
    if (how == How::program) {
      ::close(2);
      std::snprintf(from, sizeof from, "%.6f", milliseconds_now());
      if (::fork() == 0) {
        ::execl(program.c_str(), program.c_str(), "wrap", "--journal", journal.c_str(), "--", self.c_str(), "--stamp",
                from, nullptr);
        ::_exit(127);
      }
      ::wait(nullptr);
      ::_exit(0);
    }
    if (how == How::bare) {
      std::snprintf(from, sizeof from, "%.6f", milliseconds_now());
      const pid_t child = ::fork();
      if (child == 0) {
        ::execl(self.c_str(), self.c_str(), "--stamp", from, nullptr);
        ::_exit(127);
      }
      ::waitpid(child, nullptr, 0);
      ::_exit(0);
    }
    adapters::wrap::WrapOptions options;
    options.journal = journal;
    options.quiet = true;
    options.first_pack = [] { return adapters::wrap::PackRecord{"0123456789abcdef", std::string(pack_bytes, 'x')}; };
    std::snprintf(from, sizeof from, "%.6f", milliseconds_now());
    options.command = {self, "--stamp", from};
    const int code = adapters::wrap::wrap(options, [](const auto&, const auto&) { return 0; });
    ::_exit(code);
  }
  ::close(ends[1]);
  char text[64] = {};
  std::size_t size = 0;
  for (ssize_t got; size + 1 < sizeof text && (got = ::read(ends[0], text + size, sizeof text - 1 - size)) > 0;)
    size += static_cast<std::size_t>(got);
  ::close(ends[0]);
  ::waitpid(pid, nullptr, 0);
  return ::strtod(text, nullptr);
}

double sync_alone(const std::string& directory) {
  const std::string bytes(pack_bytes, 'x');
  const double from = milliseconds_now();
  std::filesystem::create_directory(directory);
  const int file = ::open((directory + "/file").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  const bool done =
      ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) && ::fdatasync(file) == 0;
  const double took = milliseconds_now() - from;
  ::close(file);
  return done ? took : 0;
}

double print(const char* name, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const auto at = [&](double q) { return times[static_cast<std::size_t>(q * static_cast<double>(times.size() - 1))]; };
  std::printf("%-8s median %.2f ms  p90 %.2f ms  p99 %.2f ms  most %.2f ms\n", name, at(0.5), at(0.9), at(0.99),
              times.back());
  return at(0.5);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && ::strcmp(argv[1], "--stamp") == 0) return stamp(argv[2]);
  const int rounds = argc > 1 ? std::max(1, ::atoi(argv[1])) : 200;
  char scratch[4096];
  std::snprintf(scratch, sizeof scratch, "%s/tocsin-bench-XXXXXX", argc > 2 ? argv[2] : "/tmp");
  if (::mkdtemp(scratch) == nullptr) return 1;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string program = argc > 3 ? argv[3] : "";
  std::vector<double> bare, disk, wrapped, whole;
  for (int round = 0; round < rounds; ++round) {
    const std::string number = std::to_string(round);
    bare.push_back(once(How::bare, self, {}));
    disk.push_back(sync_alone(std::string{scratch} + "/disk" + number));
    wrapped.push_back(once(How::wrapped, self, std::string{scratch} + '/' + number));
    if (!program.empty())
      whole.push_back(once(How::program, self, std::string{scratch} + "/program" + number, program));
  }
  std::filesystem::remove_all(scratch);
  tocsin::bench::name_machine();
  const double alone = print("bare", bare), written = print("disk", disk), with = print("wrapped", wrapped);
  if (!whole.empty()) print("program", whole);
  std::printf("wrapped is %.2f times bare; wrap's own share %.2f ms\n", with / alone, with - alone - written);
}
