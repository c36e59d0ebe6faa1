#include "adapters/config/options.h"

namespace tocsin::adapters::config {
namespace {

using ingest::Source;

std::vector<std::string> formats() {
  std::vector<std::string> names;
  for (const auto& format : ingest::format_names) names.emplace_back(format.name);
  return names;
}

}  // namespace

std::span<const SourceOption> source_options() {
  static const SourceOption options[] = {
      {"name", [](Source& s) -> Place { return &s.name; }, "What it is called in the log and in metrics.", Form::name,
       0, no_limit, true},
      {"topic", [](Source& s) -> Place { return &s.topic; }, "The topic.", Form::name, 0, no_limit, true},
      {"format", [](Source& s) -> Place { return &s.format; }, "What its messages are.", Form::plain, 0, no_limit, true,
       formats()},
      {"job", [](Source& s) -> Place { return &s.job; },
       "Labels that name the job; the first that has a value counts, here and below. Empty, here and below: the usual "
       "ones, in "
       "docs/ingest.md."},
      {"attempt", [](Source& s) -> Place { return &s.attempt; }, "Labels that name the attempt."},
      {"rank", [](Source& s) -> Place { return &s.rank; }, "Labels with the rank."},
      {"node", [](Source& s) -> Place { return &s.node; }, "Labels that name the node."},
      {"gpu", [](Source& s) -> Place { return &s.gpu; },
       "Labels with a PCI address, UUID or index of the GPU. All count."},
      {"time", [](Source& s) -> Place { return &s.time; }, "Of logs: fields with the time of the line."},
      {"text", [](Source& s) -> Place { return &s.text; }, "Of logs: fields with the line."},
      {"covers", [](Source& s) -> Place { return &s.covers; },
       "Of logs: what they are, as kernel_log. Empty: the ranks' own log."},
      {"extract", [](Source& s) -> Place { return &s.extract; },
       "Label: template of its value, as /var/log/{job}/*-rank{rank}.log, for what no label of its own says."},
      {"labels", [](Source& s) -> Place { return &s.labels; }, "Labels that every record has besides its own."},
      {"signals", [](Source& s) -> Place { return &s.signals; },
       "Of metrics: foreign name: signal, or signal and the unit of the values. Names that the rules list as aliases "
       "need none."},
      {"keep", [](Source& s) -> Place { return &s.keep; },
       "Of metrics: the foreign names to keep; * stands for any text. Empty: all."},
  };
  return options;
}

}  // namespace tocsin::adapters::config
