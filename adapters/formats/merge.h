#pragma once

#include <functional>
#include <string>
#include <vector>

#include "adapters/formats/json_lines.h"
#include "adapters/formats/line_file.h"

namespace tocsin::adapters::formats {

// The records of several files in the order of their times: of each file in its own order, under the running maximum of
// its times. Can be rewound. Owned by one ingest.
class Merge {
 public:
  // `job` is the subject of records without a job; if it is empty, they are errors.
  static stream::Result<Merge> open(const std::vector<std::filesystem::path>& files, std::string job);

  // Times outside of these are ignored: the record's own clock is years off.
  void believe(stream::Time earliest, stream::Time latest);
  // Starts from the first line; reports a line that is left out as "file:line: what, and what to write instead".
  stream::Result<void> begin(std::function<void(const std::string&)> complain);

  struct Record {
    const JsonRecord* record = nullptr;  // nullptr: the end
    stream::Time arrival{};              // of all files: never falls
    bool clock_off = false;
  };
  // The record is valid until the next call.
  stream::Result<Record> next();
  [[nodiscard]] std::uint64_t lines() const noexcept { return lines_; }
  [[nodiscard]] std::uint64_t bad_lines() const noexcept { return bad_lines_; }
  [[nodiscard]] double progress() const;

 private:
  struct Source {
    LineFile file;
    JsonReader reader;
    const JsonRecord* record = nullptr;    // the next of this file
    stream::Time time = stream::long_ago;  // the running maximum up to it
    bool clock_off = false, sealed = false;
  };
  Merge() = default;
  stream::Result<void> advance(Source& source);
  [[nodiscard]] std::string problem_with(const JsonRecord& record, const Source& source) const;
  void bad(const Source& source, std::uint64_t number, const std::string& what);

  std::vector<Source> sources_;
  std::string job_;
  Source* last_ = nullptr;  // the file of the last record
  stream::Time earliest_ = stream::long_ago, latest_ = stream::never, arrival_ = stream::long_ago;
  std::function<void(const std::string&)> complain_;
  std::uint64_t lines_ = 0, bad_lines_ = 0;
};

}  // namespace tocsin::adapters::formats
