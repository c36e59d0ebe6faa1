#include "dsl/text/lines.h"

#include <algorithm>
#include <cstring>

#include "dsl/text/cleaning.h"
#include "dsl/text/number.h"
#include "stream/values/digest.h"

namespace tocsin::dsl::text {

using stream::Extracted;
using stream::Level;
using stream::LineRecord;
using stream::MemberKey;
using stream::Time;

namespace {

constexpr std::size_t most_totals = 65'536;
constexpr std::uint32_t no_rule = 0xFFFFFFFFu;
constexpr std::string_view own_log =
    "log";  // the source of a rank's own output; records made of it have the source that the rules define

struct Drawn {
  std::optional<double> number;
  std::string_view text;
  bool has_text = false;
};

std::string_view find_in(const Regex& expression, std::string_view text, bool last, Expressions::Workspace& workspace) {
  std::array<re2::StringPiece, 2> groups;  // the whole match, and the value
  if (!last) return workspace.shapes.match(expression, text, groups) ? std::string_view{groups[1]} : std::string_view{};
  std::string_view found;
  for (std::size_t at = 0; at <= text.size();) {
    if (!workspace.searches.match(expression, text, at, groups)) break;
    found = groups[1];
    const auto end = static_cast<std::size_t>(groups[0].data() - text.data()) + groups[0].size();
    at = end > at ? end : at + 1;
  }
  return found;
}

std::string_view captured(const Captures& captures, int which) {
  return which == no_capture ? std::string_view{} : captures[static_cast<std::size_t>(which)];
}

// Counts that restart each epoch still grow where the epoch's length is not printed: step 12'000'340 is batch 340 of
// epoch 12.
constexpr double unknown_epoch_length = 1e6;

// The extracted values in the form of the output.
std::optional<Drawn> read(const Rule::Output& output, const Rule::Source& source, std::string_view found,
                          const Captures& captures) {
  if (output.textual) {
    if (blank(found)) return std::nullopt;
    return Drawn{std::nullopt, found, true};
  }
  auto value = number(found);
  if (!value) return std::nullopt;
  *value *= source.scale;
  if (source.epoch != no_capture) {
    const auto epoch = number(captured(captures, source.epoch));
    const auto each = number(captured(captures, source.per_epoch));
    if (!epoch) return std::nullopt;
    *value += (*epoch - source.first_epoch) * each.value_or(unknown_epoch_length);
  }
  return Drawn{value, {}, false};
}

// The value of the first source that has one.
Drawn draw(const Rule::Output& output, std::string_view text, const Captures& captures,
           Expressions::Workspace& workspace) {
  for (const Rule::Source& source : output.sources) {
    const bool constant = !source.text.empty() || source.number;
    if (!constant || source.find) {
      const std::string_view found =
          source.find ? find_in(*source.find, text, source.last, workspace) : captured(captures, source.capture);
      if (!found.data()) continue;
      if (!constant) {
        if (auto drawn = read(output, source, found, captures)) return *drawn;
        continue;
      }
    }
    if (source.number) return {source.number, {}, false};
    return {std::nullopt, source.text, true};
  }
  return {};
}

// Pairs of which the line has none are not compared.
bool are_equal(const std::vector<std::pair<int, int>>& pairs, const Captures& captures) {
  return std::all_of(pairs.begin(), pairs.end(), [&](const auto& pair) {
    const std::string_view one = captured(captures, pair.first), other = captured(captures, pair.second);
    return !one.data() || !other.data() || number(one) == number(other);
  });
}

std::optional<std::uint32_t> rank_in(std::string_view text) {
  const auto value = number(text);
  if (!value || !(*value >= 0 && *value < 262'144)) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

}  // namespace

void Lines::line(const LineRecord& line, Time arrival, Extracted& out) {
  ++counters_.lines;
  part_of_ = nullptr;
  std::string_view text = line.text;
  if (text.size() > longest_line) {
    ++counters_.cut_lines;
    text = text.substr(0, longest_line);
  }
  if (!has_controls(text)) {
    take_plain(text, line, arrival, out);
    return;
  }
  text = without_utf16(text, narrow_);
  if (text.empty() || (!std::memchr(text.data(), '\r', text.size()) && !std::memchr(text.data(), '\b', text.size()))) {
    take(text, line, arrival, out);
    return;
  }
  counters_.pieces_dropped += split_pieces(text, pieces_);
  for (std::string_view piece : pieces_) take(piece, line, arrival, out);
}

void Lines::take(std::string_view text, const LineRecord& line, Time arrival, Extracted& out) {
  take_plain(without_colours(text, clean_), line, arrival, out);
}

void Lines::take_plain(std::string_view text, const LineRecord& line, Time arrival, Extracted& out) {
  const std::size_t end = end_of_bar(text);
  take_clean(text.substr(0, end), line, arrival, out);
  if (end < text.size()) take_clean(text.substr(end), line, arrival, out);
}

void Lines::take_clean(std::string_view text, const LineRecord& line, Time arrival, Extracted& out) {
  const Prefix prefix = read_prefix(text);
  Piece piece;
  piece.body = text.substr(prefix.size);
  piece.member = piece.from = line.member;
  piece.rank_known = line.member.level == Level::rank;
  piece.error = line.error_stream;
  piece.source = line.source == own_log ? std::string_view{} : line.source;
  piece.time = line.time;
  piece.arrival = arrival;
  // A collector that knows the rank overrides a rank in the text; a local rank means nothing on a known node.
  if (prefix.rank && !piece.rank_known && !(prefix.local && line.member.level != Level::job)) {
    piece.member.level = Level::rank;
    piece.member.rank = *prefix.rank;
    piece.rank_known = true;
  }
  workspace_->shapes.begin(piece.body);
  apply(piece, out);
  workspace_->shapes.begin({});
}

void Lines::apply(const Piece& piece, Extracted& out) {
  expressions_->scan(piece.body, *workspace_, found_);
  if (found_.empty() && open_.none()) return;

  const Rule* joined = open_.none() ? nullptr : join(piece, out);
  bool parsed = joined && joined->kind == Definition::Kind::parser;
  std::uint32_t matched = no_rule;
  Captures captures;
  for (const std::uint32_t id : found_) {
    const Expression& expression = expressions_->expression(id);
    if (expression.rule == matched) continue;  // another line of the same rule has matched
    const Rule& rule = expressions_->rule(expression.rule);
    if (rule.kind == Definition::Kind::parser && parsed) continue;
    // A line within a record is reported by the record.
    if (joined && (joined == &rule || (!rule.event.empty() && rule.event == joined->event))) continue;
    if (!expression.match(piece.body, captures, workspace_->shapes)) {
      ++counters_.unconfirmed;
      workspace_->shapes.drop(id, *expression.captures);
      continue;
    }
    if (rule.unless && workspace_->shapes.match(*rule.unless, piece.body, {})) continue;
    if (!are_equal(rule.equal, captures) || !counts(rule, captures, piece.member)) continue;
    matched = expression.rule;
    if (rule.kind == Definition::Kind::parser) parsed = true;
    if (rule.assembles() && !(rule.until && workspace_->searches.occurs(*rule.until, piece.body)))
      begin(piece, expression.rule, out);
    else emit(rule, piece.body, captures, piece.member, piece.rank_known, piece.source, piece.time, out);
  }
}

const Rule* Lines::join(const Piece& piece, Extracted& out) {
  auto place = open_.find(piece.member, piece.error, piece.source);
  const bool by_stream = place.has_value();
  if (!place && !piece.rank_known) place = open_.find_wrapped(piece.from, piece.error, piece.source, *expressions_);
  if (!place) return nullptr;
  OpenRecord& record = (*place)->second;
  const Rule& rule = expressions_->rule(record.rule);
  const bool again = std::any_of(found_.begin(), found_.end(), [&](std::uint32_t id) {
    const Expression& expression = expressions_->expression(id);
    Captures captures;
    return expression.rule == record.rule && expression.match(piece.body, captures, workspace_->shapes);
  });
  Searches& searches = workspace_->searches;
  const bool ends = !again && rule.until && searches.occurs(*rule.until, piece.body);
  const bool continues = !again && (ends || !rule.continues || searches.occurs(*rule.continues, piece.body));
  if (!by_stream && !continues) return nullptr;  // belongs to another record
  if (again || (!continues && !rule.until)) {
    close(open_.take(*place), out);
    return nullptr;
  }
  ++record.lines;
  bool full = record.lines >= rule.most_lines;
  if (continues) {
    part_of_ = &rule;
    if (record.text.size() + piece.body.size() + 1 > OpenRecords::most_bytes) {
      full = true;
    } else {
      if (!rule.wrapped) record.text.push_back('\n');
      else if (!record.text.empty() && record.text.back() != ' ' && !piece.body.empty() && piece.body.front() != ' ')
        record.text.push_back(' ');
      record.text.append(piece.body);
      record.time = piece.time;
      record.due = piece.arrival + OpenRecords::patience;
    }
  }
  if (full && !ends) ++counters_.records_cut;
  if (full || ends) close(open_.take(*place), out);
  return continues ? &rule : nullptr;
}

void Lines::begin(const Piece& piece, std::uint32_t rule, Extracted& out) {
  if (const auto other = open_.find(piece.member, piece.error, piece.source)) {
    close(open_.take(*other), out);
  } else if (open_.full()) {
    ++counters_.records_refused;
    return;
  }
  part_of_ = &expressions_->rule(rule);
  OpenRecord record;
  record.rule = rule;
  record.of = OwnedMember{piece.member};
  record.from = OwnedMember{piece.from};
  record.source = piece.source;
  record.rank_known = piece.rank_known;
  record.text = piece.body;
  record.lines = 1;
  record.time = piece.time;
  record.due = piece.arrival + OpenRecords::patience;
  open_.open(piece.member, piece.error, std::move(record));
}

void Lines::close(const OpenRecord& record, Extracted& out) {
  const Rule& rule = expressions_->rule(record.rule);
  std::string_view first = record.text;  // the line expression matches the first line, unless all lines are joined
  if (!rule.wrapped) first = first.substr(0, first.find('\n'));
  for (const Expression& expression : expressions_->of(record.rule)) {
    Captures captures;
    if (!expression.match(first, captures, workspace_->shapes)) continue;
    if (!rule.unless || !workspace_->searches.occurs(*rule.unless, record.text))
      emit(rule, record.text, captures, record.of.key(), record.rank_known, record.source, record.time, out);
    return;
  }
}

// A bar within another (an evaluation within the training) counts to a smaller total and ends sooner. A total is
// dropped when its bar reaches it.
bool Lines::counts(const Rule& rule, const Captures& captures, const MemberKey& member) {
  if (rule.remembers != no_capture) {
    if (const auto total = number(captured(captures, rule.remembers)); total && totals_.size() < most_totals)
      totals_[OwnedMember{member}] = *total;
  }
  if (rule.same == no_capture) return true;
  const auto total = number(captured(captures, rule.same));
  if (!total) return false;
  const auto place = totals_.try_emplace(OwnedMember{member}, *total).first;
  if (place->second > *total) return false;
  place->second = *total;
  return true;
}

void Lines::emit(const Rule& rule, std::string_view text, const Captures& captures, const MemberKey& member,
                 bool rank_known, std::string_view source, Time time, Extracted& out) {
  making_ = &rule;
  MemberKey about = member;
  if (rule.rank != no_capture && !(rule.rank_yields && rank_known)) {
    if (const auto rank = rank_in(captured(captures, rule.rank))) {
      if (about.level != Level::rank || about.rank != *rank) about = {Level::rank, *rank, {}, {}};
    }
  }
  // Without a node if the line is a rank's: a kernel's log that was pasted or printed.
  if (rule.gpu != no_capture && captured(captures, rule.gpu).data())
    about = {Level::gpu, 0, about.node, captured(captures, rule.gpu)};

  if (!rule.event.empty()) {
    fields_.clear();
    texts_.clear();
    texts_.reserve(rule.fields.size());  // the fields hold views of them
    for (const Rule::Output& field : rule.fields) {
      const Drawn drawn = draw(field, text, captures, *workspace_);
      if (drawn.number) {
        fields_.push_back({field.name, *drawn.number});
      } else if (drawn.has_text) {
        texts_.push_back(mask_secrets(presentable(drawn.text)));
        fields_.push_back({field.name, std::string_view(texts_.back())});
      }
    }
    ++counters_.events;
    out.event({time, about, rule.event, source.empty() ? std::string_view{rule.source} : source, fields_});
    if (!rule.also.empty())
      out.event({time, about, rule.also, source.empty() ? std::string_view{rule.source} : source, fields_});
  }
  for (const Rule::Output& sample : rule.samples) {
    const Drawn drawn = draw(sample, text, captures, *workspace_);
    if (drawn.number) out.sample(time, about, sample.name, *drawn.number, source);
    else if (drawn.has_text) out.sample(time, about, sample.name, drawn.text, source);
    else continue;
    ++counters_.samples;
    if (rule.same != no_capture && drawn.number && sample.name == "step" &&
        *drawn.number >= totals_[OwnedMember{member}])
      totals_.erase(OwnedMember{member});
  }
}

void Lines::settle(Time clock, Extracted& out) {
  while (const auto record = open_.take_due(clock)) close(*record, out);
}

void Lines::finish(Extracted& out) { settle(stream::never, out); }

void Lines::save(stream::Writer& out) const {
  out.object(1, [this](stream::Writer& records) { open_.save(records, *expressions_); });
  out(2, totals_);
}

stream::Result<void> Lines::load(stream::Reader& in) {
  in.object(1, [this](stream::Reader& records) { (void)open_.load(records, *expressions_); });
  in(2, totals_);
  return in.status();
}

namespace {

class TextExtraction final : public stream::Extraction {
 public:
  TextExtraction(std::shared_ptr<const Expressions> expressions, std::uint64_t hash,
                 std::shared_ptr<Expressions::Workspace> workspace = nullptr)
      : expressions_(std::move(expressions)), hash_(hash), workspace_(std::move(workspace)) {}
  [[nodiscard]] std::shared_ptr<stream::Extraction> open() const override {
    return std::make_shared<TextExtraction>(expressions_, hash_,
                                            std::make_shared<Expressions::Workspace>(*expressions_));
  }
  [[nodiscard]] std::unique_ptr<stream::Extractor> make() override {
    return std::make_unique<Lines>(expressions_, workspace_);
  }
  [[nodiscard]] std::uint64_t hash() const override { return hash_; }

 private:
  std::shared_ptr<const Expressions> expressions_;
  std::uint64_t hash_;
  std::shared_ptr<Expressions::Workspace> workspace_;
};

std::uint64_t hash_of(std::span<const Definition> definitions) {
  stream::Writer out;
  out.list(1, definitions, [](stream::Writer& to, const Definition& one) { Definition::meaning(one, to); });
  const auto bytes = out.bytes();
  return stream::hash_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

Compiled compile(std::span<const Definition> definitions, DatabaseStore* store) {
  Groups groups;
  return compile(definitions, groups, store);
}

Compiled compile(std::span<const Definition> definitions, Groups& groups, DatabaseStore* store) {
  Compiled compiled;
  if (auto expressions = Expressions::compile(definitions, compiled.problems, groups, store))
    compiled.extraction = std::make_shared<TextExtraction>(std::move(expressions), hash_of(definitions));
  return compiled;
}

}  // namespace tocsin::dsl::text
