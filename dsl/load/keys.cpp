#include "dsl/load/keys.h"

namespace tocsin::dsl {
namespace {

constexpr Key of_rules[] = {
    {"per", R"("job"|"rack"|"node"|"gpu"|"rank")", "The level of the members that the rule judges.", true},
    {"every", "string|string[]",
     "The rule runs at these times: a period, `\"10s\"`; the name of a need, for each of its records; `\"end\"`, once "
     "at the attempt's end; or a list of them.",
     true},
    {"needs", "table<string, tocsin.need>",
     "The windows and findings that evaluate reads, by name: `{ sm = signal \"sm_active\" { over = \"30s\" }, hang = "
     "finding \"stalled\" }`.",
     true},
    {"evaluate",
     "fun(job: tocsin.job, p: table<string, any>, state: table<string, tocsin.column>): tocsin.mask, table<string, "
     "tocsin.column|tocsin.mask>?",
     "The function over columns. It returns the mask of the members at fault, and the values that texts, `causes` and "
     "`who` name.",
     true},
    {"summary", "string",
     "A fixed text that says what is wrong: the title of its alerts. Required unless `severity = \"none\"`."},
    {"shows", "string|string[]",
     "A text with values that says what was seen: `\"rank {rank} computes {own} a step\"`. Required unless `severity = "
     "\"none\"`."},
    {"family", "string",
     "The code of its family in verdict.lua, `\"C2\"`. A rule without a family does not count in the verdict."},
    {"severity", R"("none"|"info"|"warning"|"critical"|table<string, "info"|"warning"|"critical">)",
     "The severity of its alerts (default: `\"warning\"`), or one for each cause: `{ stopped = \"critical\", otherwise "
     "= \"warning\" }`. `\"none\"` makes a finding: other rules read it, and it sends no alert."},
    {"causes", "table<string, string|string[]>",
     "Possible causes, by the name of a mask that evaluate returns: `{ stopped = \"the process was stopped\" }`."},
    {"actions", "table<string, string|string[]>",
     "Instructions by cause; `otherwise` is given if no other is: `{ otherwise = \"check {node}\" }`."},
    {"params", "table<string, number|string|boolean|(number|string)[]>",
     "Numbers and texts that evaluate reads as `p.name`, and that `tune` changes."},
    {"state", "table<string, number>",
     "Columns that the rule remembers between evaluations, with their first values: evaluate's third argument."},
    {"fire", "string",
     "How often the answer must be yes before the alert fires: `\"3 of 4\"`, `\"for 60s\"` or both (default: once)."},
    {"clear", "string", "How often the answer must be no before the alert resolves."},
    {"yields_to", "string|string[]",
     "Rules that explain this one: it waits while one of them is pending, and ends when one fires."},
    {"peers", "string[]",
     "Coordinates from signals.lua: members with the same coordinates are a group of `\"peers\"`."},
    {"jobs", "table<string, string|string[]>",
     "The labels of the jobs that it judges, with `*` and `!`: `{ partition = { \"prod\", \"batch-*\" } }`."},
    {"scope", R"("attempt"|"job"|"cluster")",
     "The life of its state and alerts: an attempt (default), the job with all attempts, or the cluster."},
    {"mode", R"("live"|"canary"|"shadow")",
     "`\"live\"` (default) posts alerts, `\"canary\"` posts them with a mark, `\"shadow\"` only counts them."},
    {"runbook", "string", "An address that alerts show."},
    {"owner", "string", "A team that alerts show."},
};

constexpr Key of_tunes[] = {
    {"params", "table<string, number|string|boolean|(number|string)[]>", "Parameters of the rule, by name."},
    {"jobs", "table<string, string|string[]>", "The labels of the jobs that the rule judges; they replace its own."},
    {"mode", R"("live"|"canary"|"shadow")", "`\"shadow\"` judges and counts, and posts no alert."},
    {"severity", R"("none"|"info"|"warning"|"critical"|table<string, "info"|"warning"|"critical">)",
     "The severity of its alerts, or one for each cause."},
    {"fire", "string", "How often the answer must be yes before the alert fires."},
    {"clear", "string", "How often the answer must be no before the alert resolves."},
    {"runbook", "string", "An address that alerts show."},
    {"owner", "string", "A team that alerts show."},
    {"row", "string", "The length of a row of the signal."},
    {"lateness", "string", "How late samples of the signal may arrive."},
};

constexpr Key of_needs[] = {
    {"over", R"(string|integer|"attempt"|"earlier")",
     "The window: a time, `\"60s\"`; a number of points, `16`; `\"attempt\"`; or `\"earlier\"`, the attempts before.",
     true},
    {"lag", "string|integer", "The window ends this long, or this many points, ago."},
    {"least", "integer",
     "The number of values from which the window is known (default: 16, or all points of a smaller window). See: when "
     "a window is known."},
    {"full", "boolean",
     "If true, the window is unknown until the whole time has passed and was covered, or all points have arrived."},
    {"freeze", "boolean",
     "If true, a member's values stay as they were before its alert while that is open: the rule does not learn the "
     "fault."},
};

constexpr Key of_cases[] = {
    {"ranks", "integer", "How many ranks the job has (default: 1)."},
    {"per_node", "integer", "How many ranks, each with its GPU, are on a node (default: 8)."},
    {"fires", "tocsin.expectation[]",
     "The alerts that must fire: `{ { \"stalled\", rank = 3 } }`. No other alert may fire."},
    {"resolves", "tocsin.expectation[]", "Alerts that must clear."},
    {"unknown", "tocsin.expectation[]",
     "Rules whose answer must be unknown at the end, with the signal that is missing."},
    {"sampled", "string", "How often collectors sample; each node has its own phase (default: `\"1s\"`)."},
    {"scope", R"("attempt"|"cluster")", "`\"cluster\"` makes a case of nodes and GPUs, without ranks and attempts."},
    {"gpus", "integer", "How many GPUs the cluster has."},
    {"per_rack", "integer", "How many nodes a rack of the cluster has."},
    {"records", "string", "A file of records instead of segments; `tocsin ingest` and `tocsin replay` run it."},
};

constexpr Key of_segments[] = {
    {"lasting", "string", "The length of the segment.", true},
    {"rank", "table<integer, table>", "Values for single ranks: `{ [3] = { compute_time = 0.2 } }`."},
    {"gpu", "table<integer, table>", "Values for single GPUs; rank 3 uses GPU 3."},
    {"node", "table<integer, table>", "Values for single nodes."},
    {"events", "tocsin.case_event[]", "Events of the segment: `{ { \"xid\", gpu = 3, code = 79, at = \"10s\" } }`."},
    {"lines", "(string|tocsin.case_line)[]",
     "Log lines for the patterns and parsers of the pack: `{ { \"loss is not finite\", rank = 3, at = \"10s\" } }`."},
    {"labels", "table<string, string>", "Labels of the job from this segment on: `{ partition = \"prod\" }`."},
    {"sampled", "string", "How often collectors sample from this segment on."},
    {"new_attempt", "boolean", "If true, the next attempt of the job begins with this segment."},
    {"ends", "string",
     "The attempt ends after this segment, for this reason: `\"completed\"` or `\"failed\"`, for example."},
};

constexpr Key of_case_events[] = {
    {"at", "string", "The time after the start of the segment (default: 0)."},
    {"rank", "integer", "The rank of the event."},
    {"gpu", "integer", "The GPU of the event."},
    {"node", "integer", "The node of the event."},
    {"job", "string", "The job on that node, in a case of the cluster."},
};

constexpr Key of_case_lines[] = {
    {"at", "string", "The time after the start of the segment (default: 0)."},
    {"rank", "integer", "The rank that wrote the line (default: unknown)."},
    {"node", "integer", "The node that wrote the line."},
};

constexpr Key of_expectations[] = {
    {"rank", "integer", "The rank of the alert (default: any)."},
    {"gpu", "integer", "The GPU of the alert."},
    {"node", "integer", "The node of the alert."},
    {"rack", "integer", "The rack of the alert."},
    {"within", "string", "The time after the start of the last segment within which the alert must fire."},
    {"cause", "string", "A cause that the alert must name."},
    {"who", "integer[]", "All ranks that the alert must name."},
    {"missing", "string", "A signal that the rule must miss, in `unknown`."},
};

constexpr Key of_definitions[] = {
    {"line", "string|string[]",
     "A regular expression, or several of which one must match. `(?P<name>…)` captures; `NUM` and `INT` are numbers as "
     "frameworks print them.",
     true},
    {"about", "string", "An example line, which `tocsin check` tries, or a remark for the reader."},
    {"unless", "string", "An expression that must not occur in the record."},
    {"samples", "table<string, tocsin.source>", "Signals with the place of their values: `{ loss = \"loss\" }`."},
    {"states", "table<string, string>", "Signals with a constant value: `{ phase = \"train\" }`."},
    {"generic", R"("bars"|"lines")",
     "A parser with `\"bars\"` reads only lines that no parser without `generic` reads; one with `\"lines\"` reads "
     "only what those leave."},
    {"event", "string", "The event that a pattern makes."},
    {"also", "string", "A second event that a pattern makes, for the job, with the same fields."},
    {"fields", "table<string, tocsin.source>", "Fields of the event that are numbers."},
    {"texts", "table<string, tocsin.source>", "Fields of the event that are texts."},
    {"source", "string", "The source that the event covers (default: `\"log\"`)."},
    {"rank", "string", "The group that names the rank."},
    {"rank_if_unknown", "string", "The group that names the rank, used if the line has no rank of its own."},
    {"gpu", "string", "The group that names the GPU."},
    {"equal", "string[]",
     "Pairs of groups that must hold the same number: `{ \"step\", \"steps\" }`, as at the end of a count."},
    {"continues", "string", "Lines that match this expression continue the record."},
    {"ends", "string", "The line that matches this expression ends the record."},
    {"lines", "integer", "The most lines of a record (default: 512)."},
    {"wrapped", "boolean", "If true, lines are joined without line breaks, because a terminal wrapped them."},
    {"same", "string", "The group of a progress bar's total; a bar with a smaller total inside this one is not read."},
    {"remembers", "string", "The group of a line that gives that total beforehand."},
    {"scan", "string", "An expression that occurs wherever `line` does, and is cheaper to search for."},
};

constexpr Key of_sources[] = {
    {"find", "string", "An expression with one group, searched in the whole record; it replaces the name of a group."},
    {"last", "boolean", "If true, the last match of `find` counts instead of the first."},
    {"scale", "number", "The factor of the number: `{ \"ms\", scale = 0.001 }`."},
    {"number", "number", "A constant number; with `find` it applies if that matches."},
    {"text", "string", "A constant text; with `find` it applies if that matches."},
    {"epoch", "string", "The group of the epoch, for a count that restarts in each epoch."},
    {"per_epoch", "string", "The group of an epoch's length; without it an epoch counts a million."},
    {"first_epoch", "number", "The number of the first epoch (default: 0)."},
};

constexpr Key of_signals[] = {
    {"kind", R"("gauge"|"counter"|"state"|"step"|"time"|"event"|"liveness")",
     "The kind of its values (default: `\"gauge\"`)."},
    {"owner", R"("rank"|"gpu"|"node"|"rack"|"job")",
     "The level of the members that have values (default: `\"rank\"`)."},
    {"unit", "string",
     "The unit of its values: `\"seconds\"`, `\"bytes\"`, `\"ratio\"` or `\"bytes/seconds\"`, for example."},
    {"source", "string",
     "The source of its records, `\"log\"` or `\"kernel_log\"`, for example: silence counts only while the source is "
     "covered."},
    {"values", "string[]", "The values that a state can have."},
    {"fields", "table<string, string>", "The fields of an event with their units; the unit of a text is `\"text\"`."},
    {"aliases", "table", "Other names, with a factor if their unit differs: `{ \"a\", b_ms = 0.001 }`."},
    {"row", "string", "The length of a row, which holds one value of each member (default: `\"1s\"`)."},
    {"lateness", "string", "How late samples may arrive (default: `\"5s\"`, of events `\"1s\"`)."},
    {"points", "boolean", "If true, each value is kept with its time, and windows can be a number of points."},
    {"documentation", "string", "A remark for the reader."},
};

constexpr Key of_verdicts[] = {
    {"families", "table<string, string>", "The families, each with its words."},
    {"precedence", "string[]", "The order of the families, strongest first."},
    {"explains", "table<string, string|string[]>",
     "A family, and the families that are its consequences if they began later."},
    {"passes", "string[]", "Families that are past if all their alerts cleared."},
    {"pauses", "string[]", "The former name of `passes`."},
};

}  // namespace

const KeyTable rule_keys{"Rules", "rule \"name\" { … }", "tocsin.rule", of_rules};
const KeyTable tune_keys{"Changes of rules and signals", "tune \"name\" { … }", "tocsin.tune", of_tunes};
const KeyTable need_keys{"Needs", "signal \"name\" { … }", "tocsin.span", of_needs};
const KeyTable case_keys{"Cases", "case \"name\" { …, segments }", "tocsin.case", of_cases, "tocsin.segment"};
const KeyTable segment_keys{"Segments of a case",
                            "{ lasting = \"2m\", … }",
                            "tocsin.segment",
                            of_segments,
                            "",
                            "number|string|tocsin.case_value"};
const KeyTable case_event_keys{
    "Events of a segment", "{ \"signal\", … }", "tocsin.case_event", of_case_events, "string", "number|string"};
const KeyTable case_line_keys{"Lines of a segment", "{ \"text\", … }", "tocsin.case_line", of_case_lines, "string"};
const KeyTable expectation_keys{"Expectations of a case", "{ \"rule\", … }", "tocsin.expectation", of_expectations,
                                "string"};
const KeyTable definition_keys{"Patterns and parsers", "pattern \"name\" { … }, parser \"name\" { … }",
                               "tocsin.definition", of_definitions};
const KeyTable source_keys{"Places of values in a line", "{ \"group\", … } or { find = [[…]], … }", "tocsin.place",
                           of_sources, "string"};
const KeyTable signal_keys{"Signals", "signals { name = { … } }", "tocsin.signal", of_signals};
const KeyTable verdict_keys{"The verdict", "verdict { … }", "tocsin.verdict", of_verdicts};

std::vector<const KeyTable*> key_tables() {
  return {&rule_keys,      &need_keys,        &tune_keys,       &case_keys,   &segment_keys, &case_event_keys,
          &case_line_keys, &expectation_keys, &definition_keys, &source_keys, &signal_keys,  &verdict_keys};
}

std::vector<std::string> KeyTable::names() const {
  std::vector<std::string> all;
  for (const Key& key : keys) all.emplace_back(key.name);
  return all;
}

}  // namespace tocsin::dsl
