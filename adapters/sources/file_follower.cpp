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
#include <tuple>
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
constexpr auto line_patience = 5s;  // a line without an end is then taken, a file without its name closed
constexpr std::size_t most_at_once = 256u << 10, longest_line = 64u << 10;
constexpr std::size_t most_devices_bytes = 64u << 10;

// Of one file, as the state remembers it.
struct Place {
  std::uint64_t inode = 0;
  std::uint64_t generation = 0;  // when it was begun, as inodes are used again; one more when it was cut
  std::uint64_t position = 0;    // the log has what lies before
  std::uint64_t next = 0;        // if greater: the log may have what lies before this
  std::uint64_t mark = 0;        // of the bytes before `position`: a file that was written anew has others
};

using Key = std::tuple<std::string, std::string, std::uint64_t>;  // source, path, inode

struct Followed {
  std::size_t source = 0, of_places = 0;
  std::string path;
  File file;
  Place place;
  bool device = false;
  bool replaced = false;   // another file has its name: it is read to its end
  bool over = false;       // it was replaced or deleted, and is read to its end
  std::string chunk = {};  // on its way: from position to next
  std::uint64_t size = 0;
  Clock::time_point grew = Clock::now();  // when its size last changed
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

File open_file(const std::string& path, bool links) {
  return File{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | (links ? 0 : O_NOFOLLOW))};
}

std::uint64_t new_generation() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

// Whether it names one file. Anyone may make a file that another pattern finds: those are taken only where they are
// regular files, and no links, which would be read with the service's rights.
bool names_one(std::string_view pattern) { return pattern.find_first_of("*?[{") == pattern.npos; }

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
  const std::string host;
  const std::function<void(const std::string& line)> log;
  std::map<Key, Place> remembered;
  std::set<std::string> begun;  // sources whose files were looked for before
  std::vector<Followed> files;
  std::string written, complaint;
  std::set<std::string> absent;   // places without a file, that the log names
  std::set<std::string> refused;  // places that found what is not followed, that the log names
  Clock::time_point next_look{};
  std::mutex mutex;  // of what follows
  std::condition_variable woken;
  bool stopped = false;
  std::size_t under_way = 0;
  std::set<std::size_t> failed;  // of those that were under way
  std::thread thread;

  State(LiveRole& of, fs::path state, std::string name, std::function<void(const std::string& line)> to)
      : role(of), path(std::move(state)), host(std::move(name)), log(std::move(to)) {}

  void complain(const std::string& why) {
    if (std::exchange(complaint, why) != why && !why.empty() && log) log(why);
  }

  // ---- what is remembered

  void read_state() {
    std::error_code error;
    if (!fs::exists(path, error)) return;
    const auto text = journal::read_whole(path);
    try {
      const Json all = Json::parse(text ? *text : std::string{});
      std::set<std::string> sources;
      for (const Json& name : all.at("sources")) sources.insert(name.get_ref<const std::string&>());
      std::map<Key, Place> places;
      for (const Json& of : all.at("files")) {
        const auto number = [&](const char* name) { return of.at(name).get_ref<const Json::number_unsigned_t&>(); };
        places[{of.at("source").get_ref<const std::string&>(), of.at("path").get_ref<const std::string&>(),
                number("inode")}] = {number("inode"), number("generation"), number("position"), number("next"),
                                     number("mark")};
      }
      begun = std::move(sources), remembered = std::move(places);
    } catch (const Json::exception&) { complain(path.string() + " is not ours: files are followed from their ends"); }
  }
  Key key_of(const Followed& file) const { return {role.sources()[file.source].name, file.path, file.place.inode}; }
  Result<void> write_state() {
    Json places = Json::array();
    for (const Followed& file : files)
      if (!file.device) remembered[key_of(file)] = file.place;
    for (const auto& [key, place] : remembered)
      places.push_back(Json{{"source", std::get<0>(key)},
                            {"path", std::get<1>(key)},
                            {"inode", place.inode},
                            {"generation", place.generation},
                            {"position", place.position},
                            {"next", place.next},
                            {"mark", place.mark}});
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
    const std::string& pattern = role.sources()[source].files[place];
    const bool one = names_one(pattern);
    struct stat now {};
    if ((one ? ::stat(name.c_str(), &now) : ::lstat(name.c_str(), &now)) != 0 || S_ISDIR(now.st_mode)) return;
    if (!S_ISREG(now.st_mode) && !(one && S_ISCHR(now.st_mode))) {
      if (refused.insert(pattern).second && log)
        log("source " + role.sources()[source].name + ": " + name + " is not followed, since " + pattern +
            " finds it and it is not a regular file: name the file itself");
      return;
    }
    const auto inode = static_cast<std::uint64_t>(now.st_ino);
    bool known = false;
    for (Followed& file : files) {
      if (file.source != source || file.path != name) continue;
      if (file.device) return;
      file.replaced = file.place.inode != inode;
      known = known || !file.replaced;
    }
    if (known) return;
    if (S_ISCHR(now.st_mode)) return begin_device(source, place, name);
    Place at{inode, new_generation(), first ? static_cast<std::uint64_t>(now.st_size) : 0, 0, 0};
    const std::string& of = role.sources()[source].name;
    for (auto i = remembered.lower_bound({of, name, 0}); i != remembered.end();) {
      const auto before = i++;
      if (std::get<0>(before->first) != of || std::get<1>(before->first) != name) break;
      if (before->second.inode == inode) at = before->second;
      else if (!begin_rotated(source, place, name, before->second)) remembered.erase(before);
    }
    begin(source, place, name, at, name, one);
  }
  void begin(std::size_t source, std::size_t place, const std::string& name, Place at, const std::string& from,
             bool links) {
    File file = open_file(from, links);
    if (!file) return complain("cannot read " + from + ": " + std::strerror(errno));
    const auto now = stat_of(file.get());
    if (!now || !S_ISREG(now->st_mode) || now->st_ino != at.inode) return;  // changed just now: the next look sees it
    if (at.mark == 0) at.mark = mark_of(file.get(), at.position);
    files.push_back({source, place, name, std::move(file), at, false, from != name});
  }
  // What was rotated while this program did not run has another name. False: it is gone.
  bool begin_rotated(std::size_t source, std::size_t place, const std::string& name, const Place& at) {
    for (const Followed& file : files)
      if (file.source == source && file.path == name && file.place.inode == at.inode) return true;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator{fs::path{name}.parent_path(), error}) {
      struct stat other {};
      if (::lstat(entry.path().c_str(), &other) != 0 || other.st_ino != at.inode || !S_ISREG(other.st_mode)) continue;
      begin(source, place, name, at, entry.path().string(), false);
      return true;
    }
    if (log) log(name + " was replaced, and the rest of the file before is gone");
    return false;
  }
  void begin_device(std::size_t source, std::size_t place, const std::string& name) {
    File file = open_file(name, true);
    if (!file) return complain("cannot read " + name + ": " + std::strerror(errno));
    ::lseek(file.get(), 0, SEEK_END);
    files.push_back({source, place, name, std::move(file), {}, true});
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
    if (std::exchange(file.size, size) != size) file.grew = Clock::now();
    const bool silent = Clock::now() - file.grew >= line_patience;
    if (size < at.position || (size > at.position && mark_of(file.file.get(), at.position) != at.mark))
      at = {at.inode, at.generation + 1, 0, 0, 0};
    if (size < at.next) at.next = 0;
    const bool again = at.next > at.position;  // exactly what may be in the log already
    const std::uint64_t most = again ? at.next - at.position : most_at_once;
    file.chunk.resize(static_cast<std::size_t>(std::min<std::uint64_t>(most, size - at.position)));
    const ssize_t got = ::pread(file.file.get(), file.chunk.data(), file.chunk.size(), static_cast<off_t>(at.position));
    file.chunk.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    file.over = silent && file.chunk.empty() && (file.replaced || now->st_nlink == 0);
    if (again || file.chunk.empty()) return;
    const std::size_t end = file.chunk.rfind('\n');
    if (end != std::string::npos) file.chunk.resize(end + 1);
    else if (file.chunk.size() < longest_line && !silent) file.chunk.clear();
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
      message.producer = "file/" + role.sources()[file.source].name + '/' + host + file.path + '#' +
                         std::to_string(file.place.inode) + '.' + std::to_string(file.place.generation);
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
      if (file.chunk.empty() || file.device || not_taken.contains(i)) continue;
      file.place.position = file.place.next;
      file.place.mark = mark_of(file.file.get(), file.place.position);
    }
    if (!not_taken.empty()) complain("files wait: the log takes nothing");
    else complaint.clear();
    std::erase_if(files, [this](const Followed& file) {
      if (file.over) remembered.erase(key_of(file));
      return file.over;
    });
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

FileFollower::FileFollower(LiveRole& role, fs::path state, std::string host,
                           std::function<void(const std::string& line)> log)
    : state_(std::make_unique<State>(role, std::move(state), std::move(host), std::move(log))) {
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
