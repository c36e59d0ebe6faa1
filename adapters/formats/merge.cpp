#include "adapters/formats/merge.h"

#include <algorithm>

namespace tocsin::adapters::formats {

using stream::Result;
using stream::Time;

Result<Merge> Merge::open(const std::vector<std::filesystem::path>& files, std::string job) {
  Merge merge;
  merge.job_ = std::move(job);
  for (const auto& path : files) {
    auto file = LineFile::open(path);
    if (!file) return file.error();
    merge.sources_.push_back({std::move(*file), {}});
  }
  return merge;
}

void Merge::believe(Time earliest, Time latest) {
  earliest_ = earliest;
  latest_ = latest;
}

Result<void> Merge::begin(std::function<void(const std::string&)> complain) {
  complain_ = std::move(complain);
  lines_ = bad_lines_ = 0;
  last_ = nullptr;
  arrival_ = stream::long_ago;
  for (Source& source : sources_) {
    source.file.rewind();
    source.time = stream::long_ago;
    source.sealed = false;
    if (auto advanced = advance(source); !advanced) return advanced;
  }
  return {};
}

void Merge::bad(const Source& source, std::uint64_t number, const std::string& what) {
  ++bad_lines_;
  complain_(source.file.name() + ":" + std::to_string(number) + ": " + what);
}

std::string Merge::problem_with(const JsonRecord& record, const Source& source) const {
  if (source.sealed) return "a record behind the seal: nothing may follow it";
  if (record.what != JsonRecord::What::control && record.job.empty() && job_.empty())
    return "no 'job': give the record one, or name it for all with --job";
  return {};
}

Result<void> Merge::advance(Source& source) {
  source.record = nullptr;
  while (true) {
    auto line = source.file.next();
    if (!line) return line.error();
    if (!*line) return {};
    ++lines_;
    const auto number = (*line)->number;
    std::string_view text = (*line)->text;
    if (number == 1 && text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    if (!(*line)->too_long && text.find_first_not_of(" \t\r") == std::string_view::npos) continue;  // skip a blank line
    if ((*line)->too_long) {
      bad(source, number, "longer than " + std::to_string(longest_json_line >> 20) + " MiB: write shorter records");
      continue;
    }
    auto record = source.reader.read(text);
    if (!record) {
      bad(source, number, record.error().message);
      continue;
    }
    if (const std::string problem = problem_with(**record, source); !problem.empty()) {
      bad(source, number, problem);
      continue;
    }
    source.record = *record;
    const auto& control = source.record->control;
    source.sealed =
        source.record->what == JsonRecord::What::control && control.kind == stream::ControlRecord::Kind::seal;
    const auto time = source.record->time;
    source.clock_off = time && (*time < earliest_ || *time > latest_);
    if (time && !source.clock_off) source.time = std::max(source.time, *time);
    return {};
  }
}

Result<Merge::Record> Merge::next() {
  if (last_ != nullptr)
    if (auto advanced = advance(*last_); !advanced) return advanced.error();
  last_ = nullptr;
  for (Source& source : sources_)
    if (source.record != nullptr && (last_ == nullptr || source.time < last_->time)) last_ = &source;
  if (last_ == nullptr) return Record{};
  arrival_ = std::max(arrival_, last_->time);
  return Record{last_->record, arrival_, last_->clock_off};
}

double Merge::progress() const {
  double read = 0, all = 1;
  for (const Source& source : sources_) {
    read += static_cast<double>(source.file.bytes_read());
    all += static_cast<double>(source.file.size());
  }
  return read / all;
}

}  // namespace tocsin::adapters::formats
