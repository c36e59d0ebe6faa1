#include "adapters/ingest/rekey.h"

namespace tocsin::adapters::ingest {

void Rekeyer::begin(std::string_view source, std::uint64_t offset, stream::Time arrival) {
  constexpr std::size_t few = 16;
  if (pending_.size() > few) pending_.resize(few);
  source_ = source, offset_ = offset, arrival_ = arrival;
  used_ = 0;
}

// Where the record goes; nothing: there is no room for it.
Rekeyer::Pending* Rekeyer::place_of(const Record& record) {
  std::uint64_t attempts = 0;
  for (std::size_t i = 0; i < used_; ++i) {
    Pending& one = *pending_[i];
    if (one.job != record.job) continue;
    if (one.attempt == record.attempt) return &one;
    ++attempts;
  }
  if (used_ == most_jobs || attempts == most_attempts) return nullptr;
  if (used_ == pending_.size()) pending_.push_back(std::make_unique<Pending>());
  Pending& fresh = *pending_[used_++];
  fresh.job = record.job, fresh.attempt = record.attempt;
  fresh.number = offset_ * most_attempts + attempts;
  fresh.records = 0;
  fresh.builder.clear();
  fresh.builder.about(record.job, record.attempt);
  return &fresh;
}

void Rekeyer::record(const Record& record) {
  Pending* const to = place_of(record);
  if (to == nullptr)
    return left_out({Reason::too_large, record.place, "more than 256 jobs, or more than 16 attempts of one job, in one message"});
  if (to->records == most_records)
    return left_out({Reason::too_large, record.place, "more than 20000 records of a job in one message: write smaller messages"});
  ++to->records;
  switch (record.what) {
    case Record::What::samples: to->builder.sample(record.time, record.member, record.values, record.source); break;
    case Record::What::line: to->builder.line(record.time, record.member, record.text, record.error_stream, record.source); break;
    case Record::What::event: to->builder.event(record.time, record.member, record.event, record.fields, record.source); break;
  }
}

const stream::Entry& Rekeyer::entry(std::size_t i) {
  Pending& one = *pending_[i];
  one.entry = one.builder.entry();
  one.entry.origin_source = source_;
  one.entry.origin_offset = one.number;
  one.entry.arrival = arrival_;
  return one.entry;
}

}  // namespace tocsin::adapters::ingest
