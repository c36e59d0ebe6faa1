#include "dsl/text/expressions.h"

#include <algorithm>
#include <map>

#include "dsl/text/slips.h"

namespace tocsin::dsl::text {
namespace {

constexpr int most_groups = 20;  // of one expression

// Compiles one definition; a problem has file, line, pattern and remedy.
class DefinitionReader {
 public:
  DefinitionReader(const Definition& definition, std::vector<TextProblem>& problems, Groups& groups,
                   std::uint32_t& regexes)
      : definition_(definition), problems_(problems), groups_(groups), regexes_(regexes) {}

  void problem(const std::string& what) {
    const char* kind = definition_.kind == Definition::Kind::pattern ? "pattern" : "parser";
    problems_.push_back(
        {definition_.file, definition_.line, std::string(kind) + " \"" + definition_.name + "\": " + what});
  }

  std::unique_ptr<Regex> expression(const std::string& text, std::string_view key) {
    auto regex = std::make_unique<Regex>(for_capturing(text), regexes_);
    if (!groups_.contains(regex->text) && !compiles(text, regex->text, key)) return nullptr;
    ++regexes_;
    return regex;
  }

  std::unique_ptr<Regex> optional(const std::string& text, std::string_view key) {
    return text.empty() ? nullptr : expression(text, key);
  }

  int capture(const std::string& name, std::string_view key) {
    if (name.empty()) return no_capture;
    if (auto found = captures_.find(name); found != captures_.end()) return found->second;
    if (refused_) return no_capture;  // the group may be in that expression
    for (const std::string& line : definition_.lines)
      if (const auto slip = slip_in(line); slip && !slip->warning) {
        problem(slip->message);
        return no_capture;
      }
    problem("no expression in line has a group named \"" + name + "\", which " + std::string(key) +
            " asks for; write (?P<" + name + ">…) around it");
    return no_capture;
  }

  // Numbers the named groups of all line expressions.
  bool number_groups(const Regex& line, std::vector<int>& capture_of) {
    for (const auto& [name, group] : groups_.at(line.text).named) {
      const auto [place, added] = captures_.try_emplace(name, static_cast<int>(captures_.size()));
      if (added && captures_.size() > most_captures) {
        problem("more than " + std::to_string(most_captures) + " named groups; take what is optional with find");
        return false;
      }
      const auto index = static_cast<std::size_t>(group);
      if (index >= capture_of.size()) capture_of.resize(index + 1, no_capture);
      capture_of[index] = place->second;
    }
    return true;
  }

  Rule::Output output(const Value& value) {
    Rule::Output out;
    out.name = value.name;
    out.textual = value.textual;
    for (const ValueSource& source : value.sources) {
      Rule::Source& compiled = out.sources.emplace_back();
      compiled.capture = capture(source.capture, value.name);
      if (!source.find.empty()) {
        compiled.find = expression(source.find, value.name);
        const int count = compiled.find ? groups_.at(compiled.find->text).count : 1;
        if (count != 1)
          problem("`" + source.find + "` of " + value.name + " has " + std::to_string(count) +
                  " groups; write (…) around the value, and (?:…) elsewhere");
      }
      compiled.last = source.last;
      compiled.text = source.text;
      compiled.number = source.number;
      compiled.scale = source.scale;
      compiled.epoch = capture(source.epoch, value.name);
      compiled.per_epoch = capture(source.per_epoch, value.name);
      compiled.first_epoch = source.first_epoch;
    }
    if (out.sources.empty()) problem(value.name + " has no source; name a capture, or write { find = … }");
    return out;
  }

 private:
  bool compiles(const std::string& text, const std::string& for_captures, std::string_view key) {
    if (const std::string set = group_in_set(text); !set.empty()) return refuse(set);
    const RE2 compiled{for_captures, regex_options()};
    if (!compiled.ok())
      return refuse("RE2 does not take `" + text + "` in " + std::string(key) + ": " + compiled.error() + "; " +
                    remedy(compiled.error_code()));
    const int count = compiled.NumberOfCapturingGroups();
    if (count > most_groups)
      return refuse("too many groups in " + std::string(key) + "; write (?:…) where nothing is captured");
    groups_.insert({for_captures, {count, compiled.NamedCapturingGroups()}});
    return true;
  }
  bool refuse(const std::string& what) {
    problem(what);
    refused_ = true;
    return false;
  }
  static const char* remedy(RE2::ErrorCode code) {
    switch (code) {
      case RE2::ErrorMissingBracket: return "write \\[ for a bracket of the line, or end the set of characters with ]";
      case RE2::ErrorMissingParen:
      case RE2::ErrorUnexpectedParen: return "write \\( and \\) for those of the line, and end each group with )";
      case RE2::ErrorRepeatArgument: return "write \\*, \\+ or \\? for a sign of the line";
      case RE2::ErrorBadPerlOp:
      case RE2::ErrorBadNamedCapture:
        return "name a group with (?P<name>…), and write it without look-around, back-references and possessive "
               "repeats";
      default: return "write it without look-around, back-references and possessive repeats";
    }
  }

  const Definition& definition_;
  std::vector<TextProblem>& problems_;
  Groups& groups_;
  std::uint32_t& regexes_;  // so far, of all definitions
  bool refused_ = false;    // an expression
  std::map<std::string, int> captures_;
};

}  // namespace

bool Expression::match(std::string_view text, Captures& out, Shapes& shapes) const {
  std::array<re2::StringPiece, most_groups + 1> groups;
  if (!shapes.match(*captures, text, std::span{groups}.first(capture_of.size()))) return false;
  out.fill({});
  for (std::size_t i = 1; i < capture_of.size(); ++i)
    if (capture_of[i] != no_capture) out[static_cast<std::size_t>(capture_of[i])] = groups[i];
  return true;
}

std::shared_ptr<const Expressions> Expressions::compile(std::span<const Definition> definitions,
                                                        std::vector<TextProblem>& problems, Groups& groups,
                                                        DatabaseStore* store) {
  const std::size_t before = problems.size();
  auto set = std::make_shared<Expressions>();
  std::array<std::vector<std::string>, 2> texts;               // of the scans
  std::array<std::map<std::string, std::size_t>, 2> place_of;  // in the texts
  std::map<std::pair<int, std::string>, const Definition*> named;
  std::uint32_t regexes = 0;
  for (const Definition& definition : definitions) {
    DefinitionReader reading(definition, problems, groups, regexes);
    const auto [other, first] = named.try_emplace({static_cast<int>(definition.kind), definition.name}, &definition);
    if (!first) {
      // Of two files the one that leads is of the directory that was added.
      const bool one_file = other->second->file == definition.file;
      const Definition &taken = one_file ? *other->second : definition,
                       &second = one_file ? definition : *other->second;
      DefinitionReader(second, problems, groups, regexes)
          .problem("the name is taken by " + taken.file + ":" + std::to_string(taken.line) + "; choose another");
    }
    if (definition.lines.empty()) reading.problem("no line; write line = [[…]]");

    const auto index = static_cast<std::uint32_t>(set->rules_.size());
    set->first_.push_back(set->expressions_.size());
    for (const std::string& line : definition.lines) {
      Expression expression;
      expression.rule = index;
      expression.captures = reading.expression(line, "line");
      if (!expression.captures || !reading.number_groups(*expression.captures, expression.capture_of)) continue;
      const std::string& scanned = definition.scan.empty() ? line : definition.scan;
      const auto id = static_cast<std::uint32_t>(set->expressions_.size());
      const auto scan_for = [&](std::size_t which, const std::string& text, std::uint32_t found) {
        auto& scanned_for = set->scans_[which].scanned_for;
        const auto [place, is_new] = place_of[which].try_emplace(text, scanned_for.size());
        if (is_new) texts[which].push_back(text), scanned_for.emplace_back();
        scanned_for[place->second].push_back(found);
      };
      if (treats_digits_alike(for_capturing(scanned))) {
        scan_for(0, scanned, id);
      } else {
        scan_for(1, scanned, id);
        if (const auto alike = with_digits_alike(scanned)) scan_for(0, *alike, id | any_digits);
        else set->always_both_ = true;
      }
      set->expressions_.push_back(std::move(expression));
    }
    Rule& rule = set->rules_.emplace_back();
    rule.kind = definition.kind;
    rule.name = definition.name;
    rule.event = definition.event;
    rule.also = definition.also;
    rule.source = definition.source;
    for (const Value& value : definition.fields) rule.fields.push_back(reading.output(value));
    for (const Value& value : definition.samples) rule.samples.push_back(reading.output(value));
    // The step of a record comes before the values measured at it.
    std::stable_partition(rule.samples.begin(), rule.samples.end(),
                          [](const Rule::Output& o) { return o.name == "step"; });
    rule.unless = reading.optional(definition.unless, "unless");
    rule.continues = reading.optional(definition.continues, "continues");
    rule.until = reading.optional(definition.until, "until");
    rule.rank = reading.capture(definition.rank, "rank");
    rule.rank_yields = definition.rank_yields;
    rule.gpu = reading.capture(definition.gpu, "gpu");
    rule.same = reading.capture(definition.same, "same");
    rule.remembers = reading.capture(definition.remembers, "remembers");
    for (std::size_t i = 1; i < definition.equal.size(); i += 2)
      rule.equal.emplace_back(reading.capture(definition.equal[i - 1], "equal"),
                              reading.capture(definition.equal[i], "equal"));
    if (definition.equal.size() % 2 != 0)
      reading.problem("equal has a group without another; write { \"step\", \"steps\" }");
    rule.wrapped = definition.wrapped;
    rule.most_lines = definition.most_lines;
    if (rule.event.empty() && rule.samples.empty() && rule.remembers == no_capture)
      reading.problem("it makes neither an event nor a sample; give it an event, or samples");
  }
  if (problems.size() != before) return nullptr;

  for (const std::size_t which : {1, 0}) {
    std::vector<Scanner::Refusal> refused;
    Expressions::Scan& scan = set->scans_[which];
    scan.scanner = Scanner::compile(texts[which], refused, store);
    for (const Scanner::Refusal& refusal : refused) {
      const std::uint32_t id = scan.scanned_for[refusal.expression].front();
      if (id >= any_digits && problems.size() != before) continue;  // the text it was made of was refused, too
      const Definition& definition = definitions[set->expressions_[id % any_digits].rule];
      DefinitionReader(definition, problems, groups, regexes)
          .problem("Vectorscan does not take `" + texts[which][refusal.expression] + "`: " + refusal.message +
                   (refusal.message == matches_empty_text
                        ? ", and so occurs in every line; write something that must occur"
                        : "; RE2 does, so write it in the syntax that both know: no \\pN or \\C, and bounded repeats "
                          "below 1000"));
    }
  }
  if (problems.size() != before) return nullptr;
  return set;
}

// Puts the expressions of the texts that occur in the place of what was found before.
void Expressions::Scan::add(std::string_view text, Scanner::Scratch& scratch, std::vector<std::uint32_t>& found) const {
  scanner->scan(text, scratch, found);
  const std::size_t texts = found.size();
  for (std::size_t i = 0; i < texts; ++i) {
    const auto& expressions = scanned_for[found[i]];
    found.insert(found.end(), expressions.begin(), expressions.end());
  }
  found.erase(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(texts));
}

void Expressions::scan(std::string_view text, Workspace& workspace, std::vector<std::uint32_t>& found) const {
  const std::vector<std::uint32_t>* known = workspace.shapes.found();
  if (known == nullptr) {
    scans_[0].add(text, workspace.scratch[0], workspace.alike);
    std::sort(workspace.alike.begin(), workspace.alike.end());
    workspace.shapes.found(workspace.alike);
    known = &workspace.alike;
  }
  const auto others = std::lower_bound(known->begin(), known->end(), any_digits);
  if (others != known->end() || always_both_) scans_[1].add(text, workspace.scratch[1], found);
  else found.clear();
  found.insert(found.end(), known->begin(), others);
  if (found.size() > 1) std::sort(found.begin(), found.end());
}

std::span<const Expression> Expressions::of(std::uint32_t rule) const {
  const std::size_t begin = first_[rule];
  const std::size_t end = rule + 1 < first_.size() ? first_[rule + 1] : expressions_.size();
  return std::span(expressions_).subspan(begin, end - begin);
}

std::optional<std::uint32_t> Expressions::find(std::string_view name, Definition::Kind kind) const {
  for (std::size_t i = 0; i < rules_.size(); ++i)
    if (rules_[i].kind == kind && rules_[i].name == name) return static_cast<std::uint32_t>(i);
  return std::nullopt;
}

}  // namespace tocsin::dsl::text
