#include "adapters/sources/file_follower.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "adapters/formats/json.h"
#include "adapters/journal/directory.h"

namespace tocsin::adapters::sources {

using formats::Json;
using journal::File;
using stream::Result;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

namespace {

constexpr auto between_reads = 250ms;
constexpr auto between_looks = 2s;  // for new files
constexpr auto line_patience = 5s;  // a line without an end is taken as it is
constexpr std::size_t most_at_once = 256u << 10, longest_line = 64u << 10;
constexpr std::size_t most_devices_bytes = 64u << 10;

// Of one file, as the state remembers it.
struct Place {
  std::uint64_t inode = 0, generation = 0;  // generation: one more each time it was cut
  std::uint64_t position = 0;               // the log has what lies before
  std::uint64_t next = 0;                   // if greater: the log may have what lies before this
  std::uint64_t mark = 0;                   // of the bytes before `position`: a file that was written anew has others
};

struct Followed {
  std::size_t source = 0, of_places = 0;
  std::string path;
  File file;
  Place place;
  bool device = false;
  bool replaced = false;  // another file has its name: it is read to its end
  std::string chunk;      // on its way: from position to next
  Clock::time_point grew{};
};

std::optional<struct stat> stat_of(int descriptor) {
  struct stat known {};
  return ::fstat(descriptor, &known) == 0 ? std::optional{known} : std::nullopt;
}

// FNV-1a of the last bytes before a position; 0: there are none.
std::uint64_t mark_of(int descriptor, std::uint64_t position) {
  char bytes[64];
  const std::uint64_t size = std::min<std::uint64_t>(position, sizeof bytes);
  if (size == 0 || ::pread(descriptor, bytes, size, static_cast<off_t>(position - size)) != static_cast<ssize_t>(size))
    return 0;
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
  for (std::uint64_t i = 0; i < size; ++i) hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 0x100'0000'01b3;
  return hash;
}

File open_file(const std::string& path) { return File{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)}; }

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

}  // namespace

std::string glob_of(std::string_view place) {
  std::string pattern;
  for (std::size_t i = 0; i < place.size(); ++i) {
    const std::size_t end = place[i] == '{' ? place.find('}', i) : place.npos;
    if (end == place.npos) {
      pattern += place[i];
      continue;
    }
    pattern += '*';
    i = end;
  }
  return pattern;
}

std::string file_label(std::size_t place) { return place == 0 ? "file" : "file" + std::to_string(place + 1); }

void extract_from_files(ingest::Source& source) {
  for (std::size_t i = 0; i < source.files.size(); ++i)
    if (source.files[i].find('{') != std::string::npos) source.extract.try_emplace(file_label(i), source.files[i]);
}

struct FileFollower::State {
  LiveRole& role;
  const fs::path path;
  const std::function<void(const std::string& line)> log;
  const std::string host = host_name();
  std::map<std::string, Place> remembered;  // by path
  std::set<std::string> begun;              // sources whose files were looked for before
  std::vector<Followed> files;
  std::string written, complaint;
  std::set<std::string> absent;  // places without a file, that the log names
  Clock::time_point next_look{};
  std::mutex mutex;  // of what follows
  std::condition_variable woken;
  bool stopped = false;
  std::size_t under_way = 0;
  std::set<std::size_t> failed;  // of those that were under way
  std::thread thread;

  State(LiveRole& of, fs::path state, std::function<void(const std::string& line)> to)
      : role(of), path(std::move(state)), log(std::move(to)) {}

  void complain(const std::string& why) {
    if (std::exchange(complaint, why) != why && !why.empty() && log) log(why);
  }

  // ---- what is remembered

  void read_state() {
    std::error_code error;
    if (!fs::exists(path, error)) return;
    const auto text = journal::read_whole(path);
    const Json all = text ? Json::parse(*text, nullptr, false) : Json{};
    if (!all.is_object()) return complain(path.string() + " is not ours: files are followed from their ends");
    for (const auto& name : all.value("sources", Json::array())) begun.insert(name.get<std::string>());
    const Json places = all.value("files", Json::object());
    for (const auto& [name, of] : places.items())
      remembered[name] = {of.value("inode", std::uint64_t{0}), of.value("generation", std::uint64_t{0}),
                          of.value("position", std::uint64_t{0}), of.value("next", std::uint64_t{0}),
                          of.value("mark", std::uint64_t{0})};
  }
  Result<void> write_state() {
    Json places = Json::object();
    for (const Followed& file : files)
      if (!file.device && !file.replaced) remembered[file.path] = file.place;
    for (const auto& [name, place] : remembered)
      places[name] = {{"inode", place.inode},
                      {"generation", place.generation},
                      {"position", place.position},
                      {"next", place.next},
                      {"mark", place.mark}};
    std::string text = formats::dump({{"sources", begun}, {"files", places}}) + '\n';
    if (text == written) return {};
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (auto done = journal::write_whole(path, text); !done) return done;
    written = std::move(text);
    return {};
  }

  // ---- which files

  void look() {
    if (Clock::now() < next_look) return;
    next_look = Clock::now() + between_looks;
    for (std::size_t source = 0; source < role.sources().size(); ++source) {
      const ingest::Source& of = role.sources()[source];
      if (of.files.empty()) continue;
      const bool first = !begun.contains(of.name);
      for (std::size_t place = 0; place < of.files.size(); ++place) look_for(source, place, first);
      begun.insert(of.name);
    }
  }
  void look_for(std::size_t source, std::size_t place, bool first) {
    const std::string& pattern = role.sources()[source].files[place];
    glob_t found{};
    const bool any = ::glob(glob_of(pattern).c_str(), 0, nullptr, &found) == 0;
    for (std::size_t i = 0; any && i < found.gl_pathc; ++i) follow(source, place, found.gl_pathv[i], first);
    ::globfree(&found);
    if (any) absent.erase(pattern);
    else if (absent.insert(pattern).second && log)
      log("source " + role.sources()[source].name + ": no file is " + pattern + " yet");
  }
  void follow(std::size_t source, std::size_t place, const std::string& name, bool first) {
    const auto known = std::find_if(files.begin(), files.end(),
                                    [&](const Followed& file) { return file.path == name && !file.replaced; });
    struct stat now {};
    if (::stat(name.c_str(), &now) != 0 || S_ISDIR(now.st_mode)) return;
    const auto inode = static_cast<std::uint64_t>(now.st_ino);
    if (known != files.end()) {
      if (known->device || known->place.inode == inode) return;
      known->replaced = true;
      return begin(source, place, name, {inode, 0, 0, 0, 0});
    }
    if (S_ISCHR(now.st_mode)) return begin_device(source, place, name);
    const auto before = remembered.find(name);
    if (before == remembered.end())
      return begin(source, place, name, {inode, 0, first ? static_cast<std::uint64_t>(now.st_size) : 0, 0, 0});
    if (before->second.inode == inode) return begin(source, place, name, before->second);
    // It was rotated while this program did not run: what was not read has another name.
    begin_rotated(source, place, name, before->second);
    begin(source, place, name, {inode, 0, 0, 0, 0});
  }
  void begin(std::size_t source, std::size_t place, const std::string& name, Place at, const std::string& from = {}) {
    File file = open_file(from.empty() ? name : from);
    if (!file) return complain("cannot read " + name + ": " + std::strerror(errno));
    if (at.mark == 0) at.mark = mark_of(file.get(), at.position);
    files.push_back({source, place, name, std::move(file), at, false, !from.empty(), {}, Clock::now()});
  }
  void begin_rotated(std::size_t source, std::size_t place, const std::string& name, const Place& at) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator{fs::path{name}.parent_path(), error}) {
      struct stat other {};
      if (::stat(entry.path().c_str(), &other) != 0 || other.st_ino != at.inode || !S_ISREG(other.st_mode)) continue;
      return begin(source, place, name, at, entry.path().string());
    }
    if (log) log(name + " was replaced, and the rest of the file before is gone");
  }
  void begin_device(std::size_t source, std::size_t place, const std::string& name) {
    File file = open_file(name);
    if (!file) return complain("cannot read " + name + ": " + std::strerror(errno));
    ::lseek(file.get(), 0, SEEK_END);
    files.push_back({source, place, name, std::move(file), {}, true, false, {}, Clock::now()});
  }

  // ---- what they hold

  // The next chunk of whole lines; empty: there is none.
  void read(Followed& file) {
    file.chunk.clear();
    if (file.device) return read_device(file);
    const auto now = stat_of(file.file.get());
    if (!now) return;
    Place& at = file.place;
    const auto size = static_cast<std::uint64_t>(now->st_size);
    if (size < at.position || (size > at.position && mark_of(file.file.get(), at.position) != at.mark))
      at = {at.inode, at.generation + 1, 0, 0, 0};
    if (size < at.next) at.next = 0;
    const bool again = at.next > at.position;  // exactly what may be in the log already
    const std::uint64_t most = again ? at.next - at.position : most_at_once;
    file.chunk.resize(static_cast<std::size_t>(std::min<std::uint64_t>(most, size - at.position)));
    const ssize_t got = ::pread(file.file.get(), file.chunk.data(), file.chunk.size(), static_cast<off_t>(at.position));
    file.chunk.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (again || file.chunk.empty()) return;
    const std::size_t end = file.chunk.rfind('\n');
    if (end != std::string::npos) file.chunk.resize(end + 1);
    else if (file.chunk.size() < longest_line && !file.replaced && Clock::now() - file.grew < line_patience)
      file.chunk.clear();
    at.next = at.position + file.chunk.size();
  }
  static void read_device(Followed& file) {
    char record[8192];
    while (file.chunk.size() < most_devices_bytes) {
      const ssize_t got = ::read(file.file.get(), record, sizeof record);
      if (got < 0 && errno == EPIPE) continue;  // it has overwritten what was not read
      if (got <= 0) return;
      file.chunk.append(record, static_cast<std::size_t>(got));
    }
  }

  void send(std::size_t index) {
    Followed& file = files[index];
    Message message;
    message.source = file.source;
    message.bytes = file.chunk;
    message.labels[file_label(file.of_places)] = file.path;
    if (file.device) {
      message.labels["host"] = host;
    } else {
      message.producer = "file/" + host + file.path + '#' + std::to_string(file.place.inode) + '.' +
                         std::to_string(file.place.generation);
      message.number = file.place.position;
    }
    message.done = [this, index](const Result<void>& done) {
      const std::lock_guard lock{mutex};
      --under_way;
      if (!done) failed.insert(index);
      woken.notify_all();
    };
    {
      const std::lock_guard lock{mutex};
      ++under_way;
    }
    role.take(std::move(message));
  }

  // Reads a chunk of each file, remembers what will be sent, and waits until the log has it. False: nothing was there.
  bool turn() {
    look();
    bool any = false;
    for (Followed& file : files) {
      read(file);
      any = any || !file.chunk.empty();
    }
    if (auto kept = write_state(); !kept) {
      complain("files are not read while their places cannot be remembered: " + kept.error().message);
      return false;
    }
    for (std::size_t i = 0; i < files.size(); ++i)
      if (!files[i].chunk.empty()) send(i);
    std::set<std::size_t> not_taken;
    {
      std::unique_lock lock{mutex};
      woken.wait(lock, [this] { return under_way == 0; });
      not_taken.swap(failed);
    }
    for (std::size_t i = 0; i < files.size(); ++i) {
      Followed& file = files[i];
      if (file.chunk.empty() || not_taken.contains(i)) continue;
      if (!file.device) {
        file.place.position = file.place.next;
        file.place.mark = mark_of(file.file.get(), file.place.position);
      }
      file.grew = Clock::now();
    }
    if (!not_taken.empty()) complain("files wait: the log takes nothing");
    else complaint.clear();
    std::erase_if(files, [](const Followed& file) { return file.replaced && file.chunk.empty(); });
    return any && not_taken.empty();
  }

  void run() {
    read_state();
    for (;;) {
      const bool more = turn();
      std::unique_lock lock{mutex};
      if (more && !stopped) continue;
      woken.wait_for(lock, between_reads, [this] { return stopped; });
      if (stopped) break;
    }
    static_cast<void>(write_state());
  }
};

FileFollower::FileFollower(LiveRole& role, fs::path state, std::function<void(const std::string& line)> log)
    : state_(std::make_unique<State>(role, std::move(state), std::move(log))) {
  state_->thread = std::thread{[this] { state_->run(); }};
}
FileFollower::~FileFollower() { stop(); }

void FileFollower::stop() {
  {
    const std::lock_guard lock{state_->mutex};
    state_->stopped = true;
    state_->woken.notify_all();
  }
  if (state_->thread.joinable()) state_->thread.join();
}

}  // namespace tocsin::adapters::sources
