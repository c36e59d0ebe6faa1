#include "adapters/service/reloader.h"

#include <malloc.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>

#include <exception>
#include <utility>

#include "dsl/load/loader.h"

namespace tocsin::adapters::service {

using stream::Errc;
using stream::Error;
using stream::LoadedPack;
using stream::Result;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds look_every{250}, follow_every{5000};
constexpr stream::Duration others_take = 5s;  // to bring their announcement to all logs, at most
constexpr int most_reads = 5;                 // of directories that change while they are read
constexpr int nice = 10;                      // judging goes first

std::string short_hash(const std::string& hash) { return hash.substr(0, 8); }

}  // namespace

Reloader::Reloader(const ServiceOptions& options, Ports ports)
    : options_(options), ports_(ports), history_(ports.records), watch_(options.watched), current_(options.pack) {}

Reloader::~Reloader() { stop(); }

void Reloader::stop() {
  stopping_ = true;
  options_.reloads->close();
  if (thread_.joinable()) thread_.join();
}

LoadedPack Reloader::current() const {
  const std::lock_guard lock{mutex_};
  return current_;
}

Result<std::unique_ptr<Reloader>> Reloader::start(const ServiceOptions& options, Ports ports) {
  std::unique_ptr<Reloader> made{new Reloader{options, ports}};
  if (auto begun = made->begin(); !begun) return begun.error();
  made->thread_ = std::thread{[&reloader = *made] { reloader.run(); }};
  return made;
}

Result<void> Reloader::begin() {
  const std::string& hash = options_.pack.pack->hash;
  if (auto read = history_.read(); !read) return read;
  ports_.packs.add(options_.pack);
  const auto& announced = history_.announced();
  const bool named = announced && announced->hash == hash;
  if (!named && announced && announced->left.contains(hash) && follow()) {
    options_.log.warning("the rules that are configured (pack " + short_hash(hash) + ") were gone back from: pack " +
                         short_hash(announced->hash) + " judges until they change, or are reloaded");
  } else if (!named) {
    if (auto done = announce(options_.pack); !done) return done;
  }
  show(std::chrono::system_clock::now());
  return {};
}

void Reloader::run() {
  auto next_follow = Clock::now() + follow_every;
  while (!stopping_) {
    const std::vector<ReloadRequests::Answer> asked = options_.reloads->take(look_every);
    if (stopping_) {
      for (const auto& answer : asked)
        if (answer) answer(Error{Errc::io, "this instance is stopping: ask another one"});
      return;
    }
    if (!asked.empty() || watch_.changed(Clock::now())) {
      const auto result = reload(!asked.empty());
      for (const auto& answer : asked)
        if (answer) answer(result);
    } else if (Clock::now() >= next_follow) {
      next_follow = Clock::now() + follow_every;
      if (unannounced_) try_again();
      const auto followed = follow();
      if (!followed && std::exchange(follow_failure_, followed.error().message) != followed.error().message)
        options_.log.warning(followed.error().message);
      if (followed) follow_failure_.clear();
    }
    show(std::chrono::system_clock::now());
  }
}

Result<Reloaded> Reloader::reload(bool asked) {
  unannounced_.reset();
  const auto pack = load();
  Result<void> done = pack ? history_.read() : pack.error();
  Reloaded reloaded;
  if (done) {
    reloaded.hash = (*pack).pack->hash;
    const auto& announced = history_.announced();
    const bool named = announced && announced->hash == reloaded.hash, any_left = announced && !announced->left.empty();
    if (!named && !asked && announced && announced->left.contains(reloaded.hash)) {
      options_.log.warning("the rules in the directories (pack " + short_hash(reloaded.hash) +
                           ") were gone back from: reload them to judge by them");
      figures_.failure.clear();
      publish();
      return reloaded;
    }
    reloaded.changed = !named;
    if (!named || any_left) done = announce(*pack);  // what is configured holds again
  }
  if (!done && pack) unannounced_ = {*pack, history_.announced() ? history_.announced()->offset : -1};
  if (!done && stopping_) return done.error();
  if (!done) {
    ++figures_.failures;
    figures_.failure = done.error().message;
    publish();
    options_.log.error("rules not reloaded, those in force stay: " + done.error().message);
    return done.error();
  }
  succeeded(reloaded.changed ? "pack " + short_hash(reloaded.hash) + " judges from three seconds on"
                             : "they are the same, pack " + short_hash(reloaded.hash));
  return reloaded;
}

void Reloader::succeeded(const std::string& what) {
  ++figures_.reloads;
  figures_.last_success = std::chrono::system_clock::now();
  figures_.failure.clear();
  publish();
  options_.log("rules reloaded: " + what);
}

void Reloader::try_again() {
  if (!history_.read()) return;
  const Unannounced waits = *unannounced_;
  const std::string& hash = waits.pack.pack->hash;
  const auto& announced = history_.announced();
  const bool through = announced && announced->hash == hash;
  if (!through && announced && announced->offset != waits.since) return unannounced_.reset();  // others announced since
  if (through ? !complete() : !announce(waits.pack)) return;
  unannounced_.reset();
  succeeded("the log has taken pack " + short_hash(hash));
}

// What was written while it was read is read again.
Result<LoadedPack> Reloader::load() {
  for (int read = 1;; ++read) {
    const std::string before = watch_.seen();
    Result<LoadedPack> pack = Error{Errc::refused, ""};
    std::thread{[&] {  // of its own: a thread cannot raise its priority again
      ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), nice);
      try {
        pack = options_.load([this] { return stopping_.load(); });
      } catch (const std::exception& error) { pack = Error{Errc::refused, error.what()}; }
    }}
        .join();
    ::malloc_trim(
        0);  // loading takes much for a moment, each time from another of the allocator's arenas, which keep it
    if (stopping_) return Error{Errc::io, "this instance is stopping: ask another one"};
    if (watch_.seen() != before && read < most_reads) continue;
    watch_.has_read(before);
    return pack;
  }
}

Result<void> Reloader::announce(const LoadedPack& pack) {
  ports_.packs.add(pack);
  const auto announced = history_.announce({pack.pack->hash, pack.pack->text}, {}, ports_.appender);
  if (!announced) return announced;
  return follow();
}

Result<void> Reloader::complete() { return history_.complete(ports_.appender); }

// Goes by what is announced, whoever wrote it.
Result<void> Reloader::follow() {
  if (auto read = history_.read(); !read) return read;
  const auto& announced = history_.announced();
  if (!announced) return {};
  if (!history_.in_all_logs() && std::chrono::system_clock::now() > announced->made + others_take)
    if (auto done = complete(); !done) return done;
  if (announced->hash == current().pack->hash) return {};
  const auto* known = history_.find(announced->hash);
  if (known == nullptr) return {};
  ports_.packs.prepare(known->pack.hash, known->pack.text);
  auto pack = ports_.packs.pack(known->pack.hash);
  if (!pack) return Error{Errc::refused, "pack " + short_hash(known->pack.hash) + " of the cluster does not load here"};
  const std::lock_guard lock{mutex_};
  current_ = std::move(*pack);
  return {};
}

// An announced pack is in force when its time has come.
void Reloader::show(stream::Time now) {
  const auto& announced = history_.announced();
  const LoadedPack pack = current();
  if (announced && now < announced->from && figures_.pack) return;
  if (figures_.pack == pack.pack) return;
  if (figures_.pack) options_.log("pack " + short_hash(pack.pack->hash) + " is in force");
  figures_.pack = pack.pack;
  figures_.since = announced && announced->hash == pack.pack->hash ? announced->made : now;
  publish();
}

void Reloader::publish() {
  if (options_.outlet != nullptr) options_.outlet->rules(figures_);
}

namespace fs = std::filesystem;

RuleWatch::RuleWatch(std::vector<fs::path> directories)
    : directories_(std::move(directories)), read_(seen()), last_(read_) {}

bool RuleWatch::changed(Clock::time_point now) {
  if (directories_.empty()) return false;
  if (std::string there = seen(); there != last_) {
    last_ = std::move(there);
    since_ = now;
  }
  if (last_ == read_ || now < since_ + settles) return false;
  read_ = last_;
  return true;
}

std::string RuleWatch::seen() const {
  std::string all;
  for (const fs::path& directory : directories_) {
    auto paths = dsl::pack_paths(directory);
    all += directory.string() + (paths ? "" : ": " + paths.error().message) + '\n';
    if (!paths) continue;
    std::sort(paths->begin(), paths->end());
    for (const fs::path& path : *paths) {
      struct stat file {};
      if (::stat(path.c_str(), &file) != 0) continue;
      all += path.string() + ' ' + std::to_string(file.st_dev) + ' ' + std::to_string(file.st_ino) + ' ' +
             std::to_string(file.st_size) + ' ' + std::to_string(file.st_mtim.tv_sec) + '.' +
             std::to_string(file.st_mtim.tv_nsec) + ' ' + std::to_string(file.st_ctim.tv_sec) + '.' +
             std::to_string(file.st_ctim.tv_nsec) + '\n';
    }
  }
  return all;
}

}  // namespace tocsin::adapters::service
