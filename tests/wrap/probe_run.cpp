#include "probe_run.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "adapters/journal/journal.h"
#include "adapters/wrap/proc_stat.h"
#include "doctest/doctest.h"
#include "schemas/codec.h"

namespace tocsin::test {

namespace {

double seconds_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string member_text(const stream::MemberKey& member) {
  switch (member.level) {
    case stream::Level::rank: return "rank " + std::to_string(member.rank);
    case stream::Level::node: return "node " + std::string{member.node};
    case stream::Level::gpu: return "gpu " + std::string{member.gpu};
    default: return "job";
  }
}

std::string number_text(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

}  // namespace

int Ended::code() const { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }
int Ended::signal() const { return WIFSIGNALED(status) ? WTERMSIG(status) : 0; }

Running::Running(std::vector<std::string> command, const Scratch& scratch,
                 std::map<std::string, std::string> environment) {
  static int number = 0;
  out_ = scratch / ("out" + std::to_string(++number));
  err_ = scratch / ("err" + std::to_string(number));
  environment.emplace("XDG_STATE_HOME", (scratch / "state").string());
  pid_ = ::fork();
  if (pid_ == 0) {
    ::setpgid(0, 0);
    ::dup2(::open("/dev/null", O_RDONLY), 0);
    ::dup2(::open(out_.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_APPEND, 0600), 1);
    ::dup2(::open(err_.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_APPEND, 0600), 2);
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> arguments;
    for (std::string& argument : command) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
}

std::string Running::out() const { return contents(out_); }
std::string Running::err() const { return contents(err_); }

bool Running::wait_for(const std::function<bool()>& what, double seconds) const {
  for (const double until = seconds_now() + seconds; seconds_now() < until; ::poll(nullptr, 0, 10))
    if (what()) return true;
  return what();
}

Ended Running::end(double seconds) {
  Ended ended;
  const bool done = wait_for([&] { return ::waitpid(pid_, &ended.status, WNOHANG) == pid_; }, seconds);
  if (!done) {
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, &ended.status, 0);
  }
  CHECK_MESSAGE(done, "it did not end; its stderr: ", err());
  ended.out = out();
  ended.err = err();
  return ended;
}

std::vector<std::string> probe(std::vector<std::string> options, std::vector<std::string> command) {
  std::vector<std::string> all{WRAP_PROBE};
  all.insert(all.end(), options.begin(), options.end());
  all.emplace_back("--");
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

Ended run(std::vector<std::string> command, const Scratch& scratch) {
  return Running{std::move(command), scratch}.end();
}

std::optional<pid_t> child_named(pid_t parent, const std::string& name) {
  DIR* proc = ::opendir("/proc");
  std::optional<pid_t> found;
  while (const dirent* entry = ::readdir(proc)) {
    const pid_t pid = ::atoi(entry->d_name);
    if (pid <= 0) continue;
    const std::string text = contents("/proc/" + std::to_string(pid) + "/stat");
    const auto stat = adapters::wrap::parse_stat(text);
    if (stat && stat->parent == parent && stat->name == name && stat->state != 'Z') found = pid;
  }
  ::closedir(proc);
  return found;
}

std::vector<Recorded::Event> Recorded::named(const std::string& name) const {
  std::vector<Event> found;
  for (const Event& event : events)
    if (event.name == name) found.push_back(event);
  return found;
}

std::vector<Recorded::Sample> Recorded::of(const std::string& signal, const std::string& member) const {
  std::vector<Sample> found;
  for (const Sample& sample : samples)
    if (sample.signal == signal && sample.member == member) found.push_back(sample);
  return found;
}

std::string Recorded::text() const {
  std::string all;
  for (const Line& line : lines) all += line.text + '\n';
  return all;
}

Recorded read_journal(const std::filesystem::path& directory) {
  Recorded recorded;
  auto reader = adapters::journal::Reader::open(directory);
  REQUIRE(reader);
  schemas::Decoder decoder;
  for (;;) {
    auto frame = reader->next();
    REQUIRE(frame);
    if (!*frame) break;
    auto decoded = decoder.decode((*frame)->payload, (*frame)->position, (*frame)->next, (*frame)->arrival);
    REQUIRE(decoded);
    const stream::Entry& entry = **decoded;
    recorded.sealed = false;
    recorded.rejected += entry.rejected_blocks;
    recorded.epochs.push_back(entry.epoch);
    for (const auto& line : entry.lines) recorded.lines.push_back({std::string{line.text}, line.error_stream});
    for (const auto& event : entry.events) {
      Recorded::Event copy{std::string{event.name},
                           member_text(event.member),
                           std::string{entry.attempt},
                           {},
                           stream::nanoseconds(event.time)};
      for (const auto& field : event.fields) {
        const auto* text = std::get_if<std::string_view>(&field.value);
        copy.fields[std::string{field.name}] =
            text != nullptr ? std::string{*text} : number_text(std::get<double>(field.value));
      }
      recorded.events.push_back(std::move(copy));
    }
    for (const auto& coverage : entry.coverage) {
      Recorded::Covered copy{std::string{coverage.source}, {}};
      for (const auto& member : coverage.members) copy.members.push_back(member_text(member));
      recorded.coverage.push_back(std::move(copy));
    }
    for (const auto& block : entry.samples) {
      CHECK((block.source == "sampler" || block.source == "tracer"));
      for (std::size_t i = 0; i < block.size(); ++i) {
        if (!block.has(i)) continue;
        const auto& signal = block.signals[i % block.signals.size()];
        const auto& member = block.members[i / block.signals.size() % block.members.size()];
        const double value = block.value(i);
        const auto time = block.times[i / block.signals.size() / block.members.size()];
        recorded.samples.push_back(
            {std::string{signal.name}, member_text(member),
             signal.unit == "text" ? std::string{block.texts[static_cast<std::size_t>(value)]} : number_text(value),
             stream::nanoseconds(time)});
      }
    }
    for (const auto& control : entry.controls) {
      using Kind = stream::ControlRecord::Kind;
      if (control.kind == Kind::beat) recorded.beats.push_back(stream::nanoseconds(entry.arrival));
      if (control.kind == Kind::pack)
        recorded.packs.push_back({std::string{control.pack_hash}, (control.pack_from - entry.arrival).count()});
      if (control.kind == Kind::seal) recorded.sealed = true;
    }
  }
  recorded.corrupt = reader->corrupt_frames();
  return recorded;
}

}  // namespace tocsin::test
