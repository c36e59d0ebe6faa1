#include "dsl/text/reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "adapters/cli/commands.h"
#include "adapters/cli/packs.h"
#include "adapters/cli/say.h"
#include "adapters/cli/usage.h"
#include "adapters/formats/json.h"
#include "adapters/formats/line_file.h"

namespace tocsin::adapters::cli {
namespace {

using dsl::text::Reading;
using formats::Json;

struct LinesOptions {
  std::string file;
  std::vector<std::string> rules;
  bool unread = false, json = false;
};

const char* kind_of(const Reading& reading) {
  return reading.kind == dsl::text::Definition::Kind::parser ? "parser" : "pattern";
}

Json json_of(const Reading& reading) {
  Json out{{kind_of(reading), reading.name}};
  if (reading.unfinished) out["unfinished"] = true;
  if (reading.rank) out["rank"] = *reading.rank;
  formats::put(out, "event", reading.event);
  for (const auto& [name, value] : reading.values)
    if (const auto* number = std::get_if<double>(&value)) out["values"][name] = formats::json_number(*number);
    else out["values"][name] = std::get<std::string>(value);
  return out;
}

std::string text_of(const Reading& reading) {
  std::string out = reading.unfinished ? "a part of a record" : reading.event;
  for (const auto& [name, value] : reading.values) {
    out += (out.empty() ? "" : out == reading.event ? ": " : ", ") + name + " ";
    if (const auto* number = std::get_if<double>(&value)) out += fmt::format("{:.10g}", *number);
    else out += std::get<std::string>(value);
  }
  return out;
}

class Report {
 public:
  explicit Report(const LinesOptions& options) : options_(options) {}

  void add(const formats::LineFile::Line& line, const dsl::text::ReadLine& read) {
    ++lines_;
    const bool blank = read.shape.find_first_not_of(" \t\r") == std::string::npos;
    blank_ += blank ? 1 : 0;
    std::set<std::string> by;
    for (const Reading& reading : read.readings) by.insert(std::string{kind_of(reading)} + " " + reading.name);
    for (const std::string& one : by) ++by_[one];
    if (read.readings.empty() && !blank) {
      ++unread_;
      if (options_.unread) {
        Shape& shape = shapes_[read.shape];
        if (++shape.count == 1) shape.first = line.number, shape.example = line.text;
      }
    }
    if (options_.unread) return;
    if (!options_.json) {
      fmt::print("{:>6}  {}\n", line.number, formats::printable(line.text));
      for (const Reading& reading : read.readings) print(reading, read.rank, read.time);
      return;
    }
    Json out{{"line", line.number}, {"text", line.text}};
    if (read.rank) out["rank"] = *read.rank;
    formats::put(out, "time", read.time);
    out["read"] = Json::array();
    for (const Reading& reading : read.readings) out["read"].push_back(json_of(reading));
    fmt::print("{}\n", formats::dump(out));
  }

  void finish(const std::vector<Reading>& rest) {
    if (options_.unread) print_shapes();
    else if (options_.json && !rest.empty()) {
      Json out{{"at_the_end", Json::array()}};
      for (const Reading& reading : rest) out["at_the_end"].push_back(json_of(reading));
      fmt::print("{}\n", formats::dump(out));
    } else if (!rest.empty()) {
      fmt::print("   end\n");
      for (const Reading& reading : rest) print(reading, {}, "");
    }
    if (options_.json) {
      Json out{{"lines", lines_}, {"blank", blank_}, {"read", lines_ - blank_ - unread_}, {"unread", unread_}};
      out["by"] = by_;
      return fmt::print("{}\n", formats::dump(out));
    }
    std::vector<std::pair<std::uint64_t, std::string>> most;
    for (const auto& [name, count] : by_) most.emplace_back(count, name);
    std::stable_sort(most.begin(), most.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::string by;
    for (const auto& [count, name] : most) by += fmt::format("{}{} {}", by.empty() ? " by " : ", ", name, count);
    fmt::print("{} lines: {} read{}; {} not read, {} blank\n", lines_, lines_ - blank_ - unread_, by, unread_, blank_);
  }

 private:
  struct Shape {
    std::uint64_t count = 0, first = 0;
    std::string example;
  };
  static void print(const Reading& reading, std::optional<std::uint32_t> of_line, const std::string& time) {
    const auto rank = reading.rank ? reading.rank : of_line;
    std::string where = rank ? fmt::format("rank {}", *rank) : "job";
    if (!time.empty()) where += "  " + time;
    fmt::print("        {:<7} {:<26} {}  {}\n", kind_of(reading), reading.name, where,
               formats::printable(text_of(reading)));
  }
  void print_shapes() const {
    std::vector<std::pair<std::string, Shape>> all{shapes_.begin(), shapes_.end()};
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return std::pair{b.second.count, a.second.first} < std::pair{a.second.count, b.second.first};
    });
    if (!options_.json && !all.empty()) fmt::print("{:>7}  {:>6}  {}\n", "COUNT", "FIRST", "LINE, N FOR EACH NUMBER");
    for (const auto& [shape, of] : all)
      if (options_.json)
        fmt::print("{}\n", formats::dump(Json{
                               {"count", of.count}, {"first", of.first}, {"shape", shape}, {"example", of.example}}));
      else fmt::print("{:>7}  {:>6}  {}\n", of.count, of.first, formats::printable(shape));
  }

  const LinesOptions& options_;
  std::uint64_t lines_ = 0, blank_ = 0, unread_ = 0;
  std::map<std::string, std::uint64_t> by_;
  std::map<std::string, Shape> shapes_;
};

int show_lines(const LinesOptions& options) {
  auto file = formats::LineFile::open(options.file);
  if (!file) return cannot("lines", file.error().message);
  const auto pack = load_pack_from(options.rules);
  if (!pack) return cannot("lines", pack.error().message);
  dsl::text::LogReading reading{*pack->extraction};
  Report report{options};
  for (;;) {
    const auto line = file->next();
    if (!line) return cannot("lines", line.error().message);
    if (!*line) break;
    report.add(**line, reading.read((*line)->text));
  }
  report.finish(reading.finish());
  return 0;
}

}  // namespace

void add_lines_command(CLI::App& app, int& status) {
  const auto options = std::make_shared<LinesOptions>();
  auto* command = app.add_subcommand(
      "lines",
      "Show what each line of a log becomes: the parser or pattern that reads it, its rank, values and events");
  add_needed(*command, "FILE", options->file, "", "The log; - is standard input");
  add_option(*command, "RULES", options->rules, "", several_rules_text);
  command->add_flag("--unread", options->unread,
                    "Only lines that nothing reads, those that differ in numbers together, the most frequent first");
  command->add_flag("--json", options->json, "Print JSON: an object for each line, and one that counts them");
  command->callback([options, &status] { status = show_lines(*options); });
}

}  // namespace tocsin::adapters::cli
