#include "adapters/kafka/pack_history.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <thread>
#include <utility>

#include "adapters/kafka/topic_settings.h"
#include "schemas/codec.h"
#include "stream/values/archive.h"

namespace tocsin::adapters::kafka {

using stream::Errc;
using stream::Error;
using stream::Result;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::string_view announced_key = "announced", complete_key = "in-all-logs";
constexpr stream::Duration lead = 3s;  // a pack takes effect so much after it was announced
constexpr auto patience = 15s;
constexpr int most_rounds = 5;  // others that announce at the same time

struct AnnouncementRecord {
  std::string hash;
  std::vector<std::string> left;
  bool first = false;  // of this cluster: it also holds for what was written before
  static void fields(auto& self, auto& archive) {
    archive(1, self.hash), archive(2, self.left), archive(3, self.first);
  }
};
struct CompleteRecord {
  std::int64_t offset = -1;  // of the announcement
  static void fields(auto& self, auto& archive) { archive(1, self.offset); }
};

bool is_hash(std::string_view key) { return key.size() == 32 && key.find_first_not_of("0123456789abcdef") == key.npos; }

template <class Record>
std::vector<std::byte> encoded(const Record& record) {
  stream::Writer out;
  Record::fields(record, out);
  return std::move(out).take();
}

template <class Record>
std::optional<Record> decoded(std::span<const std::byte> bytes) {
  stream::Reader in{bytes};
  Record record;
  Record::fields(record, in);
  if (!in.status()) return std::nullopt;
  return record;
}

}  // namespace

PackHistory::PackHistory(std::unique_ptr<TopicReader> topic) : topic_(std::move(topic)) {}
PackHistory::~PackHistory() = default;

Result<std::unique_ptr<PackHistory>> PackHistory::open(const Address& address) {
  auto topic = TopicReader::open(address, topic::packs, TopicReader::Isolation::committed);
  if (!topic) return topic.error();
  const auto partitions = (*topic)->partitions(patience);
  if (!partitions) return partitions.error();
  return std::unique_ptr<PackHistory>{new PackHistory{std::move(*topic)}};
}

Result<void> PackHistory::read() {
  return PartitionReader{*topic_, 0}.read_to_end(next_, patience, [this](const Message& message) -> Result<bool> {
    next_ = message.offset + 1;
    take(message);
    return true;
  });
}

void PackHistory::take(const Message& message) {
  const stream::Time time = message.appended.value_or(std::chrono::system_clock::now());
  if (message.key == announced_key) {
    auto record = decoded<AnnouncementRecord>(message.value);
    if (!record) return;
    announced_ = {std::move(record->hash),
                  {record->left.begin(), record->left.end()},
                  time,
                  record->first ? stream::Time{} : time + lead,
                  message.offset};
  } else if (message.key == complete_key) {
    if (const auto record = decoded<CompleteRecord>(message.value)) complete_ = std::max(complete_, record->offset);
  } else if (!is_hash(message.key)) {
    return;
  } else if (message.tombstone) {
    packs_.erase(std::string{message.key});
  } else {
    const std::string_view text{reinterpret_cast<const char*>(message.value.data()), message.value.size()};
    packs_.insert_or_assign(std::string{message.key}, KnownPack{{std::string{message.key}, std::string{text}}, time});
  }
}

std::vector<const KnownPack*> PackHistory::newest_first() const {
  std::vector<const KnownPack*> all;
  for (const auto& [hash, pack] : packs_) all.push_back(&pack);
  std::sort(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->announced > b->announced; });
  if (all.size() > most) all.resize(most);
  return all;
}

const KnownPack* PackHistory::find(std::string_view hash) const {
  const auto found = packs_.find(hash);
  return found == packs_.end() ? nullptr : &found->second;
}

Result<void> PackHistory::announce(const stream::PackText& pack, std::set<std::string> left, Transactor& transactor,
                                   Appender& appender) {
  if (auto written = write(pack, std::move(left), transactor); !written) return written;
  return complete(transactor, appender);
}

Result<void> PackHistory::write(const stream::PackText& pack, std::set<std::string> left, Transactor& transactor) {
  const auto record = encoded(AnnouncementRecord{pack.hash, {left.begin(), left.end()}, !announced_.has_value()});
  std::vector<Outgoing> records{{topic::packs, 0, pack.hash, std::as_bytes(std::span{pack.text})}};
  std::set<std::string> remembered{pack.hash};
  for (const KnownPack* known : newest_first())
    if (remembered.size() < most) remembered.insert(known->pack.hash);
  for (const auto& [hash, known] : packs_)
    if (!remembered.contains(hash)) records.push_back({topic::packs, 0, hash, {}});
  records.push_back({topic::packs, 0, announced_key, record});
  const std::int64_t before = announced_ ? announced_->offset : -1;
  if (auto committed = transactor.commit(records); !committed) return committed;
  // It can be read a moment after it is committed.
  for (const auto until = Clock::now() + patience;;) {
    if (auto done = read(); !done) return done;
    if (announced_ && announced_->offset > before) break;
    if (Clock::now() >= until) return Error{Errc::io, topic_->topic() + " does not show in time what was committed"};
    std::this_thread::sleep_for(10ms);
  }
  return {};
}

// Whoever writes the last announcement also appends after it. One who comes to append later than that sees it when he
// reads again.
Result<void> PackHistory::complete(Transactor& transactor, Appender& appender) {
  for (int round = 0; round < most_rounds; ++round) {
    if (in_all_logs()) return {};
    const std::int64_t appended = announced_->offset;
    if (auto done = append_to_all(appender); !done) return done;
    if (auto done = read(); !done) return done;
    if (announced_->offset != appended) continue;
    const auto record = encoded(CompleteRecord{appended});
    const Outgoing records[] = {{topic::packs, 0, complete_key, record}};
    if (auto committed = transactor.commit(records); !committed) return committed;
    complete_ = appended;
    return {};
  }
  return Error{Errc::io,
               "others announce rules at the same time, again and again: do all instances have the same ones?"};
}

Result<void> PackHistory::append_to_all(Appender& appender) const {
  const KnownPack* known = find(announced_->hash);
  if (known == nullptr)
    return Error{Errc::refused, "the text of pack " + announced_->hash + " is missing in " + topic_->topic()};
  const auto partitions = appender.partitions(topic::telemetry, patience);
  if (!partitions) return partitions.error();
  schemas::EntryBuilder entry;
  entry.pack(known->pack.hash, announced_->from, known->pack.text);
  const auto message = schemas::encode(entry.entry());
  for (int partition = 0; partition < *partitions; ++partition)
    if (auto appended = appender.append(topic::telemetry, partition, {}, message); !appended) return appended;
  const auto flushed = appender.flush(patience);
  if (!flushed) return flushed.error();
  if (!*flushed) return Error{Errc::io, "the rules are not in all partitions yet: the brokers do not answer"};
  return {};
}

}  // namespace tocsin::adapters::kafka
