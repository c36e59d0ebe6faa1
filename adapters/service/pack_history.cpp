#include "adapters/service/pack_history.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <thread>
#include <utility>

#include "schemas/codec.h"
#include "stream/values/archive.h"

namespace tocsin::adapters::service {

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

Result<void> PackHistory::read() {
  return records_->read(next_, [this](const PackRecords::Record& record) {
    next_ = record.offset + 1;
    take(record);
  });
}

void PackHistory::take(const PackRecords::Record& record) {
  const stream::Time time = record.appended.value_or(std::chrono::system_clock::now());
  if (record.key == announced_key) {
    auto announcement = decoded<AnnouncementRecord>(record.value);
    if (!announcement) return;
    announced_ = {std::move(announcement->hash),
                  {announcement->left.begin(), announcement->left.end()},
                  time,
                  announcement->first ? stream::Time{} : time + lead,
                  record.offset};
  } else if (record.key == complete_key) {
    if (const auto done = decoded<CompleteRecord>(record.value)) complete_ = std::max(complete_, done->offset);
  } else if (!is_hash(record.key)) {
    return;
  } else if (record.tombstone) {
    packs_.erase(std::string{record.key});
  } else {
    const std::string_view text{reinterpret_cast<const char*>(record.value.data()), record.value.size()};
    packs_.insert_or_assign(std::string{record.key}, KnownPack{{std::string{record.key}, std::string{text}}, time});
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

Result<void> PackHistory::announce(const stream::PackText& pack, std::set<std::string> left, Appender& appender) {
  if (auto written = write(pack, std::move(left)); !written) return written;
  return complete(appender);
}

Result<void> PackHistory::write(const stream::PackText& pack, std::set<std::string> left) {
  const auto record = encoded(AnnouncementRecord{pack.hash, {left.begin(), left.end()}, !announced_.has_value()});
  std::vector<PackRecords::Outgoing> records{{pack.hash, std::as_bytes(std::span{pack.text})}};
  std::set<std::string> remembered{pack.hash};
  for (const KnownPack* known : newest_first())
    if (remembered.size() < most) remembered.insert(known->pack.hash);
  for (const auto& [hash, known] : packs_)
    if (!remembered.contains(hash)) records.push_back({hash, {}});
  records.push_back({announced_key, record});
  const std::int64_t before = announced_ ? announced_->offset : -1;
  if (auto committed = records_->write(records); !committed) return committed;
  // It can be read a moment after it is committed.
  for (const auto until = Clock::now() + patience;;) {
    if (auto done = read(); !done) return done;
    if (announced_ && announced_->offset > before) break;
    if (Clock::now() >= until) return Error{Errc::io, records_->name() + " does not show in time what was committed"};
    std::this_thread::sleep_for(10ms);
  }
  return {};
}

// Whoever writes the last announcement also appends after it. One who comes to append later than that sees it when he
// reads again.
Result<void> PackHistory::complete(Appender& appender) {
  for (int round = 0; round < most_rounds; ++round) {
    if (in_all_logs()) return {};
    const std::int64_t appended = announced_->offset;
    if (auto done = append_to_all(appender); !done) return done;
    if (auto done = read(); !done) return done;
    if (announced_->offset != appended) continue;
    const auto record = encoded(CompleteRecord{appended});
    const PackRecords::Outgoing records[] = {{complete_key, record}};
    if (auto committed = records_->write(records); !committed) return committed;
    complete_ = appended;
    return {};
  }
  return Error{Errc::io,
               "others announce rules at the same time, again and again: do all instances have the same ones?"};
}

Result<void> PackHistory::append_to_all(Appender& appender) const {
  const KnownPack* known = find(announced_->hash);
  if (known == nullptr)
    return Error{Errc::refused, "the text of pack " + announced_->hash + " is missing in " + records_->name()};
  const auto partitions = appender.partitions(patience);
  if (!partitions) return partitions.error();
  schemas::EntryBuilder entry;
  entry.pack(known->pack.hash, announced_->from, known->pack.text);
  const auto message = schemas::encode(entry.entry());
  for (int partition = 0; partition < *partitions; ++partition)
    if (auto appended = appender.append(partition, {}, message); !appended) return appended;
  const auto flushed = appender.flush(patience);
  if (!flushed) return flushed.error();
  if (!*flushed) return Error{Errc::io, "the rules are not in all partitions yet: the log takes nothing"};
  return {};
}

}  // namespace tocsin::adapters::service
