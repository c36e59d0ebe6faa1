#include "adapters/cli/ingest.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <span>

#include "adapters/cli/packs.h"
#include "adapters/cli/say.h"
#include "adapters/config/config.h"
#include "adapters/formats/json_lines.h"
#include "adapters/formats/line_file.h"
#include "adapters/ingest/host_list.h"
#include "adapters/ingest/translator.h"
#include "stream/values/nearest.h"

namespace tocsin::adapters::cli {
namespace {

using ingest::Reason;
using stream::Errc;
using stream::Error;
using What = ingest::Record::What;

constexpr std::uintmax_t whole_at_most = 4u << 20;

// Prints each part as FILE:LINE: and its record as a JSON line, and counts.
class Printer final : public ingest::Output {
 public:
  explicit Printer(std::string file) : file_(std::move(file)) {}
  std::uint64_t first_line = 0;  // in front of the message

  void record(const ingest::Record& record) override {
    jobs_.emplace(record.job);
    print(record, "");
    if (!record.nodes.empty()) nodes(record);
  }
  void without_job(const ingest::Record& record, const std::function<ingest::LeftOut()>&) override {
    ++of_nodes_;
    print(record, fmt::format("for the jobs on node {}: ", record.member.node));
  }
  void left_out(const ingest::LeftOut& part) override {
    ++reasons_[part.reason];
    fmt::print("{}:{}: {}: {}\n", file_, first_line + part.place, name(part.reason), part.what);
  }
  void unwanted(std::uint64_t values) override { unwanted_ += values; }

  [[nodiscard]] bool all_taken() const { return reasons_.empty(); }

  void summary(const stream::SignalTable& known) const {
    fmt::print("{} samples, {} lines and {} events of {} jobs; {} values not kept\n", samples_, lines_, events_,
               jobs_.size(), unwanted_);
    if (placed_ > 0) fmt::print("{} starts name the nodes of their job\n", placed_);
    if (of_nodes_ > 0) fmt::print("{} records name a node and no job: they go to the jobs that are on it\n", of_nodes_);
    std::uint64_t all = 0;
    std::string parts;
    for (const auto& [reason, count] : reasons_) {
      all += count;
      parts += fmt::format("{}{} {}", parts.empty() ? ": " : ", ", name(reason), count);
    }
    fmt::print("{} left out{}\n", all, parts);
    for (const auto& [signal, count] : signals_) {
      const auto id = known.find(signal);
      if (id) fmt::print("{} values of {}: the signal {} ({})\n", count, signal, known[*id].name, known[*id].unit);
      else fmt::print("{} values of {}: no signal of the rules\n", count, signal);
    }
  }

 private:
  void print(const ingest::Record& record, std::string_view whose) {
    builder_.clear();
    builder_.about(record.job, record.attempt);
    switch (record.what) {
      case What::samples:
        samples_ += record.values.size();
        for (const auto& value : record.values) ++signals_[std::string{value.signal}];
        builder_.sample(record.time, record.member, record.values, record.source);
        break;
      case What::line:
        ++lines_;
        builder_.line(record.time, record.member, record.text, record.error_stream, record.source);
        break;
      case What::event:
        ++events_;
        builder_.event(record.time, record.member, record.event, record.fields, record.source);
        break;
    }
    fmt::print("{}:{}: {}{}", file_, first_line + record.place, whose, formats::to_json(builder_.entry()));
  }
  // The first nodes of a job that starts.
  void nodes(const ingest::Record& start) {
    const auto all = ingest::nodes_of(start, *this);
    if (all.empty()) return;
    ++placed_;
    constexpr std::size_t most = 8;
    fmt::print("{}:{}: job {} is on {} nodes until its end: {}{}\n", file_, first_line + start.place, start.job,
               all.size(), fmt::join(std::span{all}.first(std::min(all.size(), most)), ", "),
               all.size() > most ? ", …" : "");
  }

  std::string file_;
  schemas::EntryBuilder builder_;
  std::uint64_t samples_ = 0, lines_ = 0, events_ = 0, placed_ = 0, of_nodes_ = 0, unwanted_ = 0;
  std::map<Reason, std::uint64_t> reasons_;
  std::map<std::string, std::uint64_t> signals_;
  std::set<std::string, std::less<>> jobs_;
};

stream::Result<ingest::Source> source_named(const config::Config& config, const std::string& file,
                                            const std::string& name) {
  const auto& sources = config.ingest.sources;
  std::vector<std::string> names;
  for (const auto& source : sources) {
    if (source.name == name || (name.empty() && sources.size() == 1)) return source;
    names.push_back(source.name);
  }
  if (sources.empty())
    return Error{Errc::not_found, fmt::format("{} has no ingest.sources: docs/ingest.md describes them", file)};
  if (name.empty())
    return Error{Errc::not_found,
                 fmt::format("{} has several sources: name one with --source: {}", file, fmt::join(names, ", "))};
  return Error{Errc::not_found, fmt::format("{} has no source '{}'{}", file, name, stream::nearest(name, names))};
}

// A file that is small enough is one message; of a larger one each line is.
stream::Result<void> read(const std::filesystem::path& file, ingest::Translator& translator, Printer& to) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto arrival = stream::at_nanoseconds(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  auto lines = formats::LineFile::open(file);
  if (!lines) return lines.error();
  if (lines->size() <= whole_at_most && file != "-") {
    std::ifstream in{file, std::ios::binary};
    const std::string message{std::istreambuf_iterator<char>{in}, {}};
    translator.read(message, arrival, to);
    return {};
  }
  for (;;) {
    const auto line = lines->next();
    if (!line) return line.error();
    if (!*line) return {};
    to.first_line = (*line)->number - 1;
    if ((*line)->too_long) to.left_out({Reason::too_large, 1, "the line is too long"});
    else if (!(*line)->text.empty()) translator.read((*line)->text, arrival, to);
  }
}

stream::Result<int> run(const IngestOptions& options) {
  const auto config = config::read_config(options.config);
  if (!config) return config.error();
  const auto source = source_named(*config, options.config.string(), options.source);
  if (!source) return source.error();
  auto nodes = config->ingest.nodes.empty() ? ingest::NodeMap{} : config::read_nodes(config->ingest.nodes);
  if (!nodes) return nodes.error();
  auto translator = ingest::Translator::make(*source, &*nodes);
  if (!translator) return translator.error();
  Printer printer{options.tried.string()};
  if (auto done = read(options.tried, *translator, printer); !done) return done.error();
  if (!options.quiet) {
    const auto pack = load_pack_from(config->rules);
    if (!pack) return pack.error();
    printer.summary(pack->pack->signals);
  }
  return options.strict && !printer.all_taken() ? 1 : 0;
}

}  // namespace

int try_mapping(const IngestOptions& options) {
  const auto done = run(options);
  if (done) return *done;
  say("tocsin: {}\n", done.error().message);
  return 2;
}

}  // namespace tocsin::adapters::cli
