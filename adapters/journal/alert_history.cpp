#include "adapters/journal/alert_history.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>

namespace tocsin::adapters::journal {

using stream::Errc;
using stream::Error;
using stream::Result;
namespace fs = std::filesystem;

namespace {

const std::string file_name = "alerts.jsonl", before_name = "alerts-before.jsonl";

std::string prefix(std::uint64_t id, std::uint32_t number) {
  static constexpr char hex[] = "0123456789abcdef";
  std::string text = R"({"id":")";
  for (int shift = 60; shift >= 0; shift -= 4) text += hex[id >> shift & 15];
  return text + R"(","number":)" + std::to_string(number) + ',';
}

std::optional<std::pair<std::uint64_t, std::uint32_t>> key_of(std::string_view line) {
  constexpr std::string_view before = R"({"id":")", between = R"(","number":)";
  if (!line.starts_with(before)) return std::nullopt;
  line.remove_prefix(before.size());
  std::uint64_t id = 0;
  auto [at, error] = std::from_chars(line.data(), line.data() + std::min<std::size_t>(16, line.size()), id, 16);
  if (error != std::errc{} || at != line.data() + 16) return std::nullopt;
  line.remove_prefix(16);
  if (!line.starts_with(between)) return std::nullopt;
  line.remove_prefix(between.size());
  std::uint32_t number = 0;
  const auto parsed = std::from_chars(line.data(), line.data() + line.size(), number);
  if (parsed.ec != std::errc{}) return std::nullopt;
  return std::pair{id, number};
}

// Whether a torn last line can be of ours, which begin with id and number: where the disk lost what followed, with NUL.
bool begins_a_line(std::string_view torn) {
  torn = torn.substr(0, torn.find_last_not_of('\0') + 1);
  const std::string form = prefix(0, 0);  // {"id":"0000000000000000","number":0,
  const std::size_t number = form.size() - 2;
  for (std::size_t i = 0; i < std::min(torn.size(), number); ++i)
    if (form[i] == '0' ? std::isxdigit(static_cast<unsigned char>(torn[i])) == 0 : torn[i] != form[i]) return false;
  return torn.size() <= number || key_of(torn);
}

}  // namespace

// The keys of all whole lines. Returns how long these are: what follows is torn.
Result<std::uint64_t> AlertHistory::read(const fs::path& path, std::string_view content, Keys& known) {
  const auto not_ours = [&](std::size_t at) {
    return Error{Errc::malformed,
                 path.string() + " has a line at byte " + std::to_string(at) +
                     " that is not an alert, so the published alerts cannot be restored: fix or move the file"};
  };
  const std::size_t whole = content.rfind('\n') == content.npos ? 0 : content.rfind('\n') + 1;
  for (std::size_t begin = 0; begin < whole;) {
    const std::size_t end = content.find('\n', begin);
    const auto key = key_of(content.substr(begin, end - begin));
    if (!key) return not_ours(begin);
    known.insert(*key);
    begin = end + 1;
  }
  if (!begins_a_line(content.substr(whole))) return not_ours(whole);
  return whole;
}

Result<AlertHistory> AlertHistory::open(const fs::path& directory, std::uint64_t most_bytes) {
  AlertHistory history;
  history.path_ = directory / file_name;
  history.most_bytes_ = most_bytes;
  const auto opened = OpenDirectory::open(directory);
  if (!opened) return opened.error();
  if (const auto before = opened->read(before_name)) {
    if (auto whole = read(directory / before_name, *before, history.before_); !whole) return whole.error();
  } else if (before.error().code != Errc::not_found) {
    return before.error();
  }
  auto file = opened->open(file_name, O_RDWR | O_CREAT);
  if (!file) return file.error();
  history.file_ = std::move(*file);
  auto content = opened->read(file_name);
  if (!content) return content.error();
  const auto whole = read(history.path_, *content, history.known_);
  if (!whole) return whole.error();
  history.cut_ = content->size() - *whole;
  history.size_ = *whole;
  if (history.cut_ != 0 && ::ftruncate(history.file_.get(), static_cast<off_t>(*whole)) != 0)
    return io_error("cut the torn last line of", history.path_, errno);
  return history;
}

Result<bool> AlertHistory::add(std::uint64_t id, std::uint32_t number, std::string_view object) {
  if (holds(id, number)) return false;
  const std::string front = prefix(id, number);
  std::string line;
  if (object.starts_with(front)) line = object;
  else if (object.starts_with("{") && object.size() > 2) line = front + std::string{object.substr(1)};
  else return Error{Errc::malformed, "what is to be kept in " + path_.string() + " is not a JSON object"};
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  waiting_ += line;
  known_.insert({id, number});
  return true;
}

Result<void> AlertHistory::sync() {
  if (waiting_.empty()) return {};
  for (std::size_t done = 0; done < waiting_.size();) {
    const ssize_t wrote =
        ::pwrite(file_.get(), waiting_.data() + done, waiting_.size() - done, static_cast<off_t>(size_ + done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return io_error("append to", path_, errno);  // what is torn is written over, or cut at the next open
    done += static_cast<std::size_t>(wrote);
  }
  if (::fdatasync(file_.get()) != 0) return io_error("sync", path_, errno);
  size_ += waiting_.size();
  waiting_.clear();
  return most_bytes_ != 0 && size_ >= most_bytes_ ? begin_another() : Result<void>{};
}

Result<void> AlertHistory::begin_another() {
  const auto directory = OpenDirectory::open(path_.parent_path());
  if (!directory) return directory.error();
  const fs::path before = path_.parent_path() / before_name;
  if (::rename(path_.c_str(), before.c_str()) != 0) return io_error("rename", path_, errno);
  auto file = directory->open(file_name, O_RDWR | O_CREAT);
  if (!file) return file.error();
  file_ = std::move(*file);
  size_ = 0;
  before_ = std::exchange(known_, {});
  return directory->sync();
}

}  // namespace tocsin::adapters::journal
