#include "adapters/notify/queue.h"

#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "adapters/formats/alert_form.h"
#include "adapters/formats/json.h"

namespace tocsin::adapters::notify {
namespace {

using formats::Json;
using stream::Errc;
using stream::Error;
using stream::Result;

constexpr const char *ending = ".msg", *state_file = "state.json";

Json json_of(const Receiver& r) {
  return {{"name", r.name},
          {"medium", static_cast<int>(r.medium)},
          {"texts",
           {r.url, r.user, r.from, r.password_file.string(), r.url_file.string(), r.key_file.string(),
            r.token_file.string(), r.ca_file.string()}},
          {"recipients", r.recipients},
          {"command", r.command}};
}

Receiver receiver_from(const Json& json) {
  Receiver r;
  r.name = json.at("name");
  const int medium = json.at("medium");
  if (medium < 0 || medium > static_cast<int>(Medium::command)) throw std::out_of_range{"medium"};
  r.medium = static_cast<Medium>(medium);
  const auto texts = json.at("texts").get<std::vector<std::string>>();
  r.url = texts.at(0), r.user = texts.at(1), r.from = texts.at(2);
  r.password_file = texts.at(3), r.url_file = texts.at(4), r.key_file = texts.at(5), r.token_file = texts.at(6);
  r.ca_file = texts.at(7);
  r.recipients = json.at("recipients").get<std::vector<std::string>>();
  r.command = json.at("command").get<std::vector<std::string>>();
  return r;
}

// A line of JSON, and the body behind it.
std::string text_of(const Outgoing& m) {
  return formats::dump({{"version", 1},
                        {"receiver", json_of(m.receiver)},
                        {"id", m.id},
                        {"made", stream::nanoseconds(m.made)},
                        {"subject", m.subject},
                        {"type", m.content_type}}) +
         '\n' + m.body;
}

std::optional<Outgoing> message_from(const std::string& text) try {
  const auto end = text.find('\n');
  if (end == text.npos) return std::nullopt;
  const Json json = Json::parse(text.substr(0, end));
  if (json.at("version") != 1) return std::nullopt;
  return Outgoing{receiver_from(json.at("receiver")),
                  json.at("id"),
                  stream::at_nanoseconds(json.at("made")),
                  json.at("subject"),
                  json.at("type"),
                  text.substr(end + 1)};
} catch (const std::exception&) { return std::nullopt; }

}  // namespace

Result<Queue> Queue::open(const std::filesystem::path& root, const std::string& own, Limits limits) {
  Queue queue{limits};
  queue.root_ = root, queue.path_ = root / own;
  if (auto made = journal::make_private(queue.path_); !made) return made.error();
  auto directory = journal::OpenDirectory::open(queue.path_);
  if (!directory) return directory.error();
  if (!directory->lock(LOCK_EX | LOCK_NB))
    return Error{Errc::refused, queue.path_.string() + " is in use by another tocsin: give each its own directory"};
  queue.directory_ = std::move(*directory);
  auto names = queue.directory_->names();
  if (!names) return names.error();
  std::sort(names->begin(), names->end());
  for (const std::string& name : *names)
    if (name.ends_with(ending)) queue.load(name);
  return queue;
}

void Queue::load(const std::string& file, bool again) {
  const auto text = directory_->read(file);
  if (!text && text.error().code == Errc::not_found) return;
  if (!text) {
    if (!again) lines_.push_back({"unknown", "a message waits until it can be read: " + text.error().message, false});
    return unread_.push_back(file);
  }
  const auto message = message_from(*text);
  if (!message) return set_aside("unknown", file);
  entries_[message->receiver.name].push_back({file, {}, message->subject, message->made, text->size()});
  bytes_ += text->size();
}

// Beside the directories of the processes, which may be removed.
void Queue::set_aside(const std::string& receiver, const std::string& file) {
  std::error_code error;
  const auto to = root_ / (file + ".damaged");
  std::filesystem::rename(path_ / file, to, error);
  lines_.push_back(
      {receiver, fmt::format("{} holds no message that this version can read, and is dropped; {}",
                             (path_ / file).string(), error ? error.message() : "it is kept as " + to.string())});
}

void Queue::adopt(bool remove) {
  if (!directory_) return;
  std::error_code error;
  for (const auto& sibling : std::filesystem::directory_iterator{root_, error}) {
    if (sibling.path() == path_ || !sibling.is_directory(error)) continue;
    auto directory = journal::OpenDirectory::open(sibling.path());
    if (!directory || !directory->lock(LOCK_EX | LOCK_NB)) continue;
    auto names = directory->names();
    if (!names) continue;
    std::sort(names->begin(), names->end());
    for (const std::string& name : *names) {
      if (!name.ends_with(ending)) continue;
      std::filesystem::rename(sibling.path() / name, path_ / name, error);
      if (!error) load(name);
    }
    if (remove) std::filesystem::remove_all(sibling.path(), error);
  }
}

Result<void> Queue::add(Outgoing message) {
  auto& entries = entries_[message.receiver.name];
  const std::string text = text_of(message);
  Result<void> written = Error{Errc::io, "there is no directory"};
  if (directory_) {
    const std::string file = fmt::format("{:020}-{:016x}{}", stream::nanoseconds(message.made), message.id, ending);
    written = directory_->write(file, text);
    if (written) {
      entries.push_back({file, {}, message.subject, message.made, text.size()});
      bytes_ += text.size();
      return {};
    }
  }
  if (memory_bytes_ + text.size() > limits_.memory_bytes)
    return Error{Errc::too_large, "'" + message.subject + "' is dropped: " + written.error().message};
  memory_bytes_ += text.size();
  const auto made = message.made;
  std::string subject = message.subject;
  entries.push_back({"", std::move(message), std::move(subject), made, text.size()});
  return written;
}

std::vector<std::string> Queue::receivers() const {
  std::vector<std::string> names;
  for (const auto& [name, entries] : entries_)
    if (!entries.empty()) names.push_back(name);
  return names;
}

Result<Outgoing> Queue::front(const std::string& receiver) {
  auto& entries = entries_[receiver];
  while (!entries.empty()) {
    if (entries.front().message) return *entries.front().message;
    const auto text = directory_->read(entries.front().file);
    if (!text && text.error().code != Errc::not_found) return text.error();
    if (auto message = text ? message_from(*text) : std::nullopt) return std::move(*message);
    set_aside(receiver, entries.front().file);
    drop(entries, 0);
  }
  return Error{Errc::not_found, "nothing waits"};
}

std::string Queue::pop(const std::string& receiver) {
  auto& entries = entries_[receiver];
  if (entries.empty()) return {};
  std::string subject = entries.front().subject;
  drop(entries, 0);
  return subject;
}

void Queue::drop(std::deque<Entry>& entries, std::size_t at) {
  const Entry entry = std::move(entries[at]);
  entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(at));
  (entry.file.empty() ? memory_bytes_ : bytes_) -= entry.bytes;
  if (!entry.file.empty()) static_cast<void>(directory_->remove(entry.file));
}

std::vector<Queue::Line> Queue::expire(stream::Time now) {
  for (const std::string& file : std::exchange(unread_, {})) load(file, true);
  const auto tell = [&](const std::string& receiver, const Entry& entry, const char* why) {
    lines_.push_back(
        {receiver, fmt::format("'{}' of {} is dropped: {}", entry.subject, formats::time_text(entry.made), why)});
  };
  for (auto& [receiver, entries] : entries_)
    while (!entries.empty() && now - entries.front().made > limits_.age) {
      tell(receiver, entries.front(), "it could not be sent in time");
      drop(entries, 0);
    }
  while (bytes_ > limits_.bytes) {
    std::pair<const std::string, std::deque<Entry>>* oldest = nullptr;
    for (auto& one : entries_)
      if (!one.second.empty() && !one.second.front().file.empty() &&
          (oldest == nullptr || one.second.front().made < oldest->second.front().made))
        oldest = &one;
    if (oldest == nullptr) break;
    tell(oldest->first, oldest->second.front(), "too much waits");
    drop(oldest->second, 0);
  }
  return std::exchange(lines_, {});
}

std::size_t Queue::waiting(const std::string& receiver) const {
  const auto found = entries_.find(receiver);
  return found == entries_.end() ? 0 : found->second.size();
}

std::size_t Queue::waiting() const {
  std::size_t all = 0;
  for (const auto& [receiver, entries] : entries_) all += entries.size();
  return all;
}

std::string Queue::state() const {
  if (!directory_) return {};
  auto text = directory_->read(state_file);
  return text ? std::move(*text) : std::string{};
}

Result<void> Queue::keep_state(const std::string& state) {
  return directory_ ? directory_->write(state_file, state) : Result<void>{};
}

void Queue::close() {
  std::error_code error;
  if (directory_ && bytes_ == 0 && unread_.empty()) std::filesystem::remove_all(path_, error);
  else if (directory_) static_cast<void>(directory_->remove(state_file));
}

}  // namespace tocsin::adapters::notify
