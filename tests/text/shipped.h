#pragma once

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "dsl/load/text_definitions.h"
#include "stream/extractor.h"
#include "stream/values/value.h"

namespace tocsin::test {

// The shipped patterns and parsers, as path and text.
inline std::map<std::string, std::string> shipped_files() {
  std::map<std::string, std::string> files;
  const std::filesystem::path root = std::filesystem::path(TOCSIN_SOURCE_DIR) / "rules";
  for (const char* folder : {"patterns", "progress"})
    for (const auto& entry : std::filesystem::directory_iterator(root / folder)) {
      std::ifstream in(entry.path(), std::ios::binary);
      files[std::string(folder) + "/" + entry.path().filename().string()] = {std::istreambuf_iterator<char>(in), {}};
    }
  return files;
}

inline std::string written(double value) {
  if (value != value) return "nan";
  char text[40];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

inline std::string written(const stream::MemberKey& member) {
  switch (member.level) {
    case stream::Level::rank: return "rank " + std::to_string(member.rank);
    case stream::Level::node: return "node " + std::string(member.node);
    case stream::Level::gpu: return "gpu " + std::string(member.gpu) + " of " + std::string(member.node);
    default: return "job";
  }
}

// What extraction made, one line a sample or event: "rank 3: loss 2.5", "job: cuda_oom tried=…".
class Recorded final : public stream::Extracted {
 public:
  void sample(stream::Time time, const stream::MemberKey& member, std::string_view signal, double value,
              std::string_view source) override {
    add(time, written(member) + ": " + std::string(signal) + " " + written(value), source);
  }
  void sample(stream::Time time, const stream::MemberKey& member, std::string_view signal, std::string_view text,
              std::string_view source) override {
    add(time, written(member) + ": " + std::string(signal) + " " + std::string(text), source);
  }
  void event(const stream::EventRecord& event) override {
    std::string text = written(event.member) + ": " + std::string(event.name);
    for (const auto& field : event.fields) {
      text += " " + std::string(field.name) + "=";
      if (const double* number = std::get_if<double>(&field.value)) text += written(*number);
      else text += "'" + std::string(std::get<std::string_view>(field.value)) + "'";
    }
    add(event.time, text, event.source);
  }
  std::vector<std::string> all;
  std::vector<stream::Time> times;
  std::vector<std::string> sources;

 private:
  void add(stream::Time time, std::string text, std::string_view source) {
    all.push_back(std::move(text));
    times.push_back(time);
    sources.emplace_back(source);
  }
};

}  // namespace tocsin::test
