#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dsl/text/definitions.h"
#include "dsl/text/extraction.h"

namespace tocsin::dsl {

// The patterns (patterns/*.lua) and parsers (progress/*.lua) in a pack's files, in the order of paths and of lines in
// them. Other files are ignored. The files are data: they run in their own Lua state, which knows `pattern` and
// `parser` only.
//
//   parser "nanogpt" {
//     about   = "…",                              -- for the reader
//     line    = [[^iter (?P<step>INT): loss (?P<loss>NUM), time (?P<ms>NUM)ms]],   -- or a list: any of them
//     scan    = [[…]],                            -- occurs wherever line does, and is cheaper to search for in every
//     line unless  = [[…]],                            -- must not occur in the record samples = { step = "step", loss
//     = "loss", step_time = { "ms", scale = 0.001 }, learning_rate = { find = [[lr (NUM)]] } }, states  = { phase =
//     "train" },              -- constants
//   }
//   pattern "watchdog" { line = …, event = "collective_timeout", fields = numbers, texts = …, source = "log", rank = a
//   capture that
//     names the rank, rank_if_unknown = the same if the line does not, gpu = a capture,
//     continues = …, ends = …, lines = 20, wrapped = true }     -- records of several lines
struct TextDefinitions {
  std::vector<text::Definition> definitions;
  std::vector<text::TextProblem> problems;
};
// Of the shipped rules, or of a directory that is added to them.
[[nodiscard]] bool is_text_file(const std::string& path);
[[nodiscard]] TextDefinitions read_text_definitions(const std::map<std::string, std::string>& files,
                                                    std::uint64_t instructions = 1'000'000);

// Both at once: read, then compiled. Null if there is a problem.
[[nodiscard]] text::Compiled compile_text(const std::map<std::string, std::string>& files,
                                          text::DatabaseStore* store = nullptr);

}  // namespace tocsin::dsl
