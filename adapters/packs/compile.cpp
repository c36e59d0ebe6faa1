#include "adapters/packs/compile.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "adapters/packs/pattern_cache.h"
#include "dsl/load/text_definitions.h"
#include "dsl/lua/problems.h"
#include "dsl/text/slips.h"
#include "stream/values/nearest.h"

namespace tocsin::adapters::packs {

namespace {

// What patterns and parsers make has to be declared: what is not would be thrown away without a word.
struct Declared {
  const dsl::PackFiles& files;
  const stream::SignalTable& signals;
  std::vector<dsl::Problem>& problems;

  void problem(const dsl::text::Definition& of, std::string message, bool warning = false) const {
    const char* kind = of.kind == dsl::text::Definition::Kind::pattern ? "pattern '" : "parser '";
    problems.push_back({of.file,
                        of.line,
                        dsl::Problems{files}.source_line(of.file, of.line),
                        {},
                        kind + of.name + "': " + std::move(message),
                        warning});
  }
  std::string near(const std::string& name) const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < signals.size(); ++i) names.push_back(signals[static_cast<stream::SignalId>(i)].name);
    return stream::nearest(name, names);
  }
  const stream::SignalDefinition* find(const dsl::text::Definition& of, const std::string& name,
                                       const char* what) const {
    const auto id = signals.find(name);
    if (!id)
      problem(of, std::string{what} + " '" + name + "' is not in signals.lua" + near(name) + ": declare it there");
    return id ? &signals[*id] : nullptr;
  }
  void event(const dsl::text::Definition& of, const std::string& name) const {
    if (name.empty()) return;
    const auto* signal = find(of, name, "event");
    if (!signal) return;
    if (signal->kind != stream::SignalKind::event)
      return problem(of, "event '" + name + "' is of kind " + std::string{stream::name(signal->kind)} +
                             ", not an event: write samples = { " + name + " = … }");
    std::vector<std::string> known;
    for (const auto& field : signal->fields) known.push_back(field.name);
    for (const auto& field : of.fields) {
      const auto place = std::find(known.begin(), known.end(), field.name) - known.begin();
      if (place == std::ssize(known))
        problem(of, "event '" + name + "' has no field '" + field.name + "'" + stream::nearest(field.name, known) +
                        ": declare it in signals.lua, fields = { " + field.name + " = \"none\" }");
      else if (signal->fields[place].unit == "text" && !makes_text(field))
        problem(of, "field '" + field.name + "' of event '" + name + "' is a text, and fields makes numbers: write " +
                        "texts = { " + field.name + " = … }");
    }
  }
  [[nodiscard]] static bool makes_text(const dsl::text::Value& field) {
    return field.textual || std::ranges::any_of(field.sources, [](const auto& source) { return !source.text.empty(); });
  }
  void sample(const dsl::text::Definition& of, const dsl::text::Value& value) const {
    const auto* signal = find(of, value.name, "signal");
    if (!signal) return;
    if (signal->kind == stream::SignalKind::event)
      return problem(of, "'" + value.name + "' is an event, and has no value: write event = \"" + value.name + "\"");
    for (const auto& source : value.sources)
      if (!source.text.empty() && !signal->values.empty() &&
          std::find(signal->values.begin(), signal->values.end(), source.text) == signal->values.end())
        problem(of, value.name + " = \"" + source.text + "\" is none of its values" +
                        stream::nearest(source.text, signal->values) + ": add it to values in signals.lua");
  }
  void slips(const dsl::text::Definition& of) const {
    for (const std::string& line : of.lines)
      if (auto slip = dsl::text::slip_in(line)) problem(of, std::move(slip->message), slip->warning);
  }
  void check(const dsl::text::Definition& of) const {
    event(of, of.event);
    event(of, of.also);
    for (const auto& value : of.samples) sample(of, value);
  }
};

PatternCache& cache() {
  static PatternCache cache;
  return cache;
}

// What the Lua of a pack comes to, if an earlier start kept it: to run it again takes most of a start. Rules that stay
// scripts are not kept.
struct KnownPack {
  explicit KnownPack(const dsl::PackFiles& files) : text(dsl::pack_text(files)), hash(dsl::pack_hash(text)) {}

  [[nodiscard]] stream::PackPtr find() {
    const auto bytes = cache().find(name());
    if (!bytes) return nullptr;
    auto pack = std::make_shared<stream::Pack>();
    stream::Reader in{std::as_bytes(std::span{*bytes})};
    pack->load(in);
    if (!in.ok() || pack->hash != hash) return nullptr;
    pack->text = std::move(text);
    return pack;
  }
  void keep(const stream::Pack& pack) const {
    if (pack.scripts || cache().find(name())) return;
    stream::Writer out;
    pack.save(out);
    const auto bytes = out.bytes();
    cache().keep(name(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

 private:
  [[nodiscard]] std::string name() const { return "patterns-pack-" + hash; }
  std::string text, hash;
};

// What is in use of compiled patterns and parsers. They take most of the time that a pack takes to compile, and
// megabytes, and most reloads do not change them: packs whose files of them are the same have one. It may be called by
// any thread.
class TextsInUse {
 public:
  dsl::text::Compiled compile(const dsl::PackFiles& files) {
    dsl::PackFiles texts;
    std::copy_if(files.begin(), files.end(), std::inserter(texts, texts.end()),
                 [](const auto& file) { return dsl::is_text_file(file.first) || file.first == dsl::directories_file; });
    {
      const std::lock_guard lock{mutex_};
      std::erase_if(known_, [](const Known& one) { return one.extraction.expired(); });
      for (const Known& one : known_)
        if (one.files == texts)
          if (auto extraction = one.extraction.lock()) return {std::move(extraction), {}, one.definitions};
    }
    auto compiled = dsl::compile_text(texts, &cache());
    const std::lock_guard lock{mutex_};
    if (compiled.extraction) known_.push_back({std::move(texts), compiled.extraction, compiled.definitions});
    return compiled;
  }

 private:
  struct Known {
    dsl::PackFiles files;
    std::weak_ptr<const stream::Extraction> extraction;
    std::shared_ptr<const std::vector<dsl::text::Definition>> definitions;
  };
  std::mutex mutex_;
  std::vector<Known> known_;
};

}  // namespace

dsl::text::Compiled compile_texts(const dsl::PackFiles& files) {
  static TextsInUse in_use;
  return in_use.compile(files);
}

PackOutcome compile(const dsl::PackFiles& files, const dsl::Budgets& budgets, Origin origin) {
  PackOutcome outcome;
  const bool may_be_known = budgets == dsl::Budgets{};
  KnownPack known{files};
  if (may_be_known && origin == Origin::log)
    if (auto pack = known.find())
      if (auto texts = compile_texts(files); texts.extraction) {
        outcome.pack = stream::LoadedPack{std::move(pack), std::move(texts.extraction)};
        return outcome;
      }
  dsl::Loaded rules = dsl::load(files, budgets);
  outcome.problems = std::move(rules.problems);
  for (dsl::Problem& problem : outcome.problems)
    if (problem.incomplete && origin == Origin::files) problem.warning = false, rules.pack = nullptr;
  outcome.cases = std::move(rules.cases);
  const dsl::text::Compiled texts = compile_texts(files);
  for (const auto& problem : texts.problems)
    outcome.problems.push_back({problem.file,
                                problem.line,
                                dsl::Problems{files}.source_line(problem.file, problem.line),
                                {},
                                problem.message,
                                false});
  if (rules.pack && texts.extraction) {
    const Declared declared{files, rules.pack->signals, outcome.problems};
    const std::size_t before = outcome.errors().size();
    for (const auto& definition : *texts.definitions) {
      declared.check(definition);
      if (origin == Origin::files) declared.slips(definition);
    }
    if (outcome.errors().size() > before) return outcome;
  }
  if (rules.pack && texts.extraction) {
    if (may_be_known) known.keep(*rules.pack);
    outcome.pack = stream::LoadedPack{std::move(rules.pack), texts.extraction};
  }
  return outcome;
}

std::vector<dsl::Problem> PackOutcome::errors() const {
  std::vector<dsl::Problem> found;
  std::copy_if(problems.begin(), problems.end(), std::back_inserter(found),
               [](const auto& problem) { return !problem.warning; });
  return found;
}

}  // namespace tocsin::adapters::packs
