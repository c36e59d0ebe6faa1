#include "stream/rules/judge.h"

#include <algorithm>

#include "stream/rules/explanation.h"
#include "stream/rules/verdict.h"

namespace tocsin::stream {
namespace {

constexpr Duration first_quarantine = std::chrono::seconds{60};
constexpr std::uint32_t longest_quarantine = 6;  // doublings

}  // namespace

// The working set of a scripted rule: the copy of the pack's graph above a mark, computed at once.
class Judge::Script final : public Scratch {
 public:
  explicit Script(Judge& judge) : judge_(&judge) {}

  Graph& graph() override { return judge_->scripts_->scratch(); }
  void compute(NodeId node) override { judge_->evaluator_.run_with_needs(node); }
  Column column(NodeId node) const override { return judge_->evaluator_.column(node); }
  Mask mask(NodeId node) const override { return judge_->evaluator_.mask(node); }
  const Topology& topology() const override { return judge_->facts_.topology; }
  std::optional<std::string> text(double symbol) const override { return judge_->facts_.symbols.text(symbol); }

 private:
  Judge* judge_;
};

Judge::Judge(PackPtr pack, ScriptRuntime& scripts, Facts facts, Context around)
    : pack_(std::move(pack)),
      scripts_(&scripts),
      facts_(facts),
      context_(around),
      scheduler_(*pack_, facts.subject, facts.start),
      steady_(*pack_),
      evaluator_(scripts.graph(), facts.topology, *this),
      lifecycle_(*pack_, {facts.subject, facts.attempt}, &facts.job.lifecycles) {
  prepare();
  facts_.job.enter(this);
}

Judge::~Judge() { facts_.job.leave(this); }

void Judge::prepare() {
  runs_.clear();
  runs_.reserve(pack_->rules.size());
  selective_ = std::ranges::any_of(pack_->rules, [](const Rule& rule) { return !rule.jobs.empty(); });
  for (const Rule& rule : pack_->rules) runs_.emplace_back(rule);
  for (const Rule& rule : pack_->rules)
    for (const RuleIndex base : rule.findings) {
      RuleRun& run = runs_[static_cast<std::size_t>(base)];
      if (rule.settle > run.rule().settle) run.keep_answers_for(rule.settle - run.rule().settle);
    }
}

// The most frequent case of judge(), for itself.
[[gnu::always_inline]] inline bool Judge::repeat_quiet(RuleIndex index, DigestStep& digest) {
  if (!steady_.repeats_at_once(index, answered_)) return false;
  RuleRun& run = runs_[static_cast<std::size_t>(index)];
  const Rule& rule = run.rule();
  if (rule.scope == Scope::job || !run.quiet() || !rule.state.empty()) return false;
  run.repeat(tick_);
  ++context_.counters->repeated;
  digest.add(rule.name_hash);
  digest.add_all(run.outcomes());
  answered_ = std::max(answered_, run.unchanged_since());
  return true;
}

void Judge::perform(Time at) {
  if (over_ || scheduler_.next() > at) {
    lifecycle_.expire(at, runs_, facts_.topology, [this](const AlertTransition& t) { publish(t); });
    expiry_ = lifecycle_.next_expiry(runs_);
    return;
  }
  Scheduler::Due due = scheduler_.take(std::move(due_rules_));
  run(due);
  due_rules_ = std::move(due.rules);
}

void Judge::end(Time end, std::string reason) {
  facts_.end = end;
  end_reason_ = std::move(reason);
  scheduler_.end(end);
}

void Judge::run(Scheduler::Due& due) {
  moment_ = {due.rows_to, due.run_at, facts_.start, facts_.end};
  tick_ = due.tick;
  if (due.at_end) moment_.now = facts_.end;
  ++context_.counters->ticks;
  evaluator_.begin_tick();
  if (context_.evaluate_all) evaluator_.forget();
  const std::uint64_t computed = evaluator_.computed();
  if (const std::size_t gaps = facts_.coverage.gaps(due.run_at); gaps != gaps_) gaps_ = gaps, age_anew();
  const bool looked_at = context_.digest_columns || observed();
  steady_.begin_tick(
      moment_.tick, due.run_at,
      facts_.end == never && !looked_at && !context_.evaluate_all && !facts_.coverage.any_unread(due.run_at));
  script_answers_.clear();
  const std::size_t mark = graph().mark();  // nodes that scripted rules append live until their alerts are explained
  std::vector<RuleIndex>& rules = due.rules;
  if (selective_)
    std::erase_if(rules, [&](RuleIndex rule) { return !selects(pack_->rules[static_cast<std::size_t>(rule)]); });
  alive_.clear();
  for (const RuleIndex rule : rules) runs_[static_cast<std::size_t>(rule)].prefetch();
  {
    DigestStep digest{*context_.digest};
    digest.add(static_cast<std::uint64_t>(nanoseconds(tick_)));
    for (const RuleIndex rule : rules)
      if (!repeat_quiet(rule, digest)) judge(rule, digest);
  }
  if (!alive_.empty()) {
    const std::uint64_t over_limit = lifecycle_.over_limit();
    lifecycle_.settle(
        due.tick, alive_, runs_, facts_.topology,
        [this](RuleIndex rule, Slot slot, AlertTransition& t) { explain(rule, slot, t); },
        [this](const AlertTransition& t) { publish(t); });
    context_.counters->alerts_over_limit += lifecycle_.over_limit() - over_limit;
    expiry_ = lifecycle_.next_expiry(runs_);
  }
  if (context_.settled_observer && *context_.settled_observer)
    for (const RuleIndex rule : rules) show(rule, *context_.settled_observer);
  if (scripts_->truncate(mark)) evaluator_.forget_above(mark);
  context_.counters->nodes += evaluator_.computed() - computed;
  if (due.at_end) conclude();
}

bool Judge::selects(const Rule& rule) const {
  return std::all_of(rule.jobs.begin(), rule.jobs.end(), [&](const auto& wanted) {
    const auto found = facts_.labels.find(wanted.first);
    return allows(wanted.second, found == facts_.labels.end() ? nullptr : &found->second);
  });
}

void Judge::judge(RuleIndex index, DigestStep& digest) {
  RuleRun& run = runs_[static_cast<std::size_t>(index)];
  if (run.rule().scope == Scope::job) take_over(index);
  const bool had_lives = !run.lives().empty();
  const bool repeats = steady_.repeats(index, answered_, *this, graph());
  if (!repeats) evaluate(index, run);
  else if (run.quiet()) run.repeat(tick_);
  else repeat(run);
  context_.counters->repeated += repeats, context_.counters->evaluations += !repeats;
  add_to_digest(run, digest);
  answered_ = std::max(answered_, run.unchanged_since());
  if (had_lives || !run.lives().empty()) alive_.push_back(index);
  if (repeats) return;
  steady_.consider(index, run, had_lives, evaluator_, facts_.topology, *this);
  if (context_.observer && *context_.observer) show(index, *context_.observer);
}

void Judge::evaluate(RuleIndex index, RuleRun& run) {
  const Rule& rule = run.rule();
  run.prefetch_outcomes();
  if (rule.scripted) {
    if (!evaluate_script(index, rule, run)) outcomes_.assign(facts_.topology.size(rule.per), Truth::unknown);
  } else {
    if (!rule.often) evaluator_.take_room();
    evaluator_.run(rule.hot_set);
    take_outcomes(rule.answer, rule);
    std::vector<std::pair<std::size_t, NodeId>> writes;
    for (std::size_t i = 0; i < rule.state.size(); ++i)
      if (rule.state[i].write) writes.emplace_back(i, *rule.state[i].write);
    if (!writes.empty()) write_state(rule, run, writes);
  }
  run.record(tick_, outcomes_, facts_.topology);
}

void Judge::repeat(RuleRun& run) {
  outcomes_.assign(run.outcomes().begin(), run.outcomes().end());
  run.record(tick_, outcomes_, facts_.topology);
}

bool Judge::observed() const {
  const auto set = [](const RuleObserver* observer) { return observer && *observer; };
  return set(context_.observer) || set(context_.settled_observer);
}

void Judge::show(RuleIndex index, const RuleObserver& observer) {
  const Rule& rule = pack_->rules[static_cast<std::size_t>(index)];
  const RuleRun& run = runs_[static_cast<std::size_t>(index)];
  const auto view = script_answers_.find(index);
  const Rule& shown = view != script_answers_.end() ? view->second : rule;
  if (!rule.scripted) evaluator_.run(rule.cold);
  const auto why = [this](NodeId node, Level level, Slot slot) { return why_unknown(node, level, slot); };
  observer({facts_.subject, facts_.attempt, shown, tick_, evaluator_, facts_.topology, run.outcomes(),
            [this](double symbol) { return facts_.symbols.text(symbol).value_or(""); }, *pack_, facts_.labels, run,
            [&](Slot slot) { return lifecycle_.waits_for(index, slot, runs_, facts_.topology); },
            [&](NodeId node, Slot slot) { return explanation(shown).missing(node, shown.per, slot, why); }});
}

void Judge::take_outcomes(NodeId answer, const Rule& rule) {
  const std::size_t members = facts_.topology.size(rule.per);
  outcomes_.resize(members);
  const Node& node = graph()[answer];
  if (node.type.level == rule.per) {
    const Mask mask = evaluator_.mask(answer);
    std::copy_n(mask.begin(), std::min(mask.size(), members), outcomes_.begin());
  } else {
    for (Slot slot = 0; slot < members; ++slot) outcomes_[slot] = evaluator_.truth_at(answer, rule.per, slot);
  }
}

bool Judge::evaluate_script(RuleIndex index, const Rule& rule, RuleRun& run) {
  if (RuleRun::Seldom& failed = run.seldom(); failed.quarantined_until && tick_ < *failed.quarantined_until)
    return false;
  Script script{*this};
  const Result<ScriptedAnswer> answer = scripts_->evaluate(index, script);
  if (!answer) {
    const std::uint32_t doublings = std::min(run.seldom().failures++, longest_quarantine);
    run.seldom().quarantined_until = tick_ + first_quarantine * (1 << doublings);
    ++context_.counters->quarantined;
    run.seldom().failure = answer.error().message;
    context_.counters->quarantine_messages[rule.name] = answer.error().message;
    return false;
  }
  run.seldom().leave_quarantine();
  script.compute(answer->answer);
  take_outcomes(answer->answer, rule);
  for (const auto& [field, node] : answer->state) script.compute(node);
  write_state(rule, run, answer->state);
  const bool needed = observed() || !run.lives().empty() ||
                      std::find(outcomes_.begin(), outcomes_.end(), Truth::yes) != outcomes_.end();
  if (!needed) return true;
  Rule& view = script_answers_.insert_or_assign(index, rule).first->second;
  view.answer = answer->answer;
  view.outputs = answer->outputs;
  view.who = answer->who;
  for (const Output& output : answer->outputs) script.compute(output.node);
  if (answer->who) script.compute(*answer->who);
  for (Cause& cause : view.causes)
    for (const auto& [name, node] : answer->causes)
      if (name == cause.name) script.compute(cause.node = node);
  const NodeId roots[] = {answer->answer};
  view.hot = graph().reach(roots);
  view.cold.clear();
  if (!observed()) return true;
  std::vector<NodeId> reported;
  for (const Output& output : view.outputs) reported.push_back(output.node);
  if (view.who) reported.push_back(*view.who);
  std::ranges::set_difference(graph().reach(reported), view.hot, std::back_inserter(view.cold));
  return true;
}

void Judge::write_state(const Rule& rule, RuleRun& run, std::span<const std::pair<std::size_t, NodeId>> writes) {
  const std::size_t members = facts_.topology.size(rule.per);
  for (const auto& [field, node] : writes) {
    auto& column = run.state(field, members);
    const Column values = evaluator_.column(node);
    const bool own = graph()[node].type.level == rule.per && values.size() == members;
    for (Slot slot = 0; slot < members; ++slot)
      if (const double value = own ? values[slot] : evaluator_.number_at(node, rule.per, slot); is_number(value))
        column[slot] = value;
  }
}

void Judge::add_to_digest(RuleRun& run, DigestStep& digest) {
  const Rule& rule = run.rule();
  digest.add(rule.name_hash);
  digest.add_all(run.outcomes());
  if (!rule.state.empty() || context_.digest_columns) add_columns_to_digest(run, digest);
}

void Judge::add_columns_to_digest(RuleRun& run, DigestStep& digest) {
  const Rule& rule = run.rule();
  for (std::size_t i = 0; i < rule.state.size(); ++i)
    digest.add_all<double>(run.state(i, facts_.topology.size(rule.per)));
  if (!context_.digest_columns) return;
  for (const NodeId id : rule.hot) {
    const Type& type = graph()[id].type;
    if (type.shape == Shape::column) digest.add_all<double>(evaluator_.column(id));
    if (type.shape == Shape::mask) digest.add_all<Truth>(evaluator_.mask(id));
  }
}

void Judge::publish(AlertTransition transition) {
  transition.labels = facts_.labels;
  ++context_.counters->transitions;
  context_.digest->add(transition.id);
  context_.digest->add(std::uint64_t{transition.number});
  context_.digest->add(static_cast<std::uint64_t>(transition.state) << 8 |
                       static_cast<std::uint64_t>(transition.reason));
  context_.digest->add(transition.shows);
  context_.sink->transition(transition);
}

std::vector<AlertTransition> Judge::firing() const {
  auto all = lifecycle_.firing(runs_, facts_.topology);
  for (AlertTransition& t : all) t.labels = facts_.labels;
  return all;
}

void Judge::conclude() {
  const auto publish_one = [this](const AlertTransition& t) { publish(t); };
  over_ = true;
  if (facts_.subject == cluster_subject)  // of which there is no verdict
    return lifecycle_.resolve_all(std::max(facts_.end, tick_), ResolveReason::attempt_ended, runs_, facts_.topology,
                                  publish_one);
  evaluator_.begin_tick();
  Verdict verdict = stream::conclude(*pack_, runs_, end_reason_, [this](RuleIndex index) {
    const Rule& rule = pack_->rules[static_cast<std::size_t>(index)];
    if (rule.scripted) return std::vector<std::string>{};
    evaluator_.run(rule.hot);
    return explanation(rule).missing();
  });
  verdict.subject = facts_.subject, verdict.attempt = facts_.attempt;
  verdict.ended = facts_.end, verdict.end_reason = end_reason_.empty() ? "unknown" : end_reason_;
  verdict.training = training();
  verdict.labels = facts_.labels;
  lifecycle_.resolve_attempt(std::max(facts_.end, tick_), runs_, facts_.topology, publish_one);
  expiry_ = lifecycle_.next_expiry(runs_);
  context_.digest->add(verdict.family);
  context_.sink->verdict(verdict);
}

bool Judge::reduce(const Node& reduction, const WindowSpec& window, Column other, std::span<double> out) {
  return facts_.history.reduce(reduction, window, other, moment_, facts_.coverage, out);
}

double Judge::job_age() const {
  return facts_.coverage.live(moment_.attempt_start, std::min(moment_.now, moment_.attempt_end));
}

void Judge::state(const Node& node, std::span<double> out) {
  RuleRun& run = runs_[static_cast<std::size_t>(*node.attributes.rule)];
  for (std::size_t field = 0; field < run.rule().state.size(); ++field) {
    if (run.rule().state[field].name != node.attributes.field) continue;
    const auto& column = run.state(field, out.size());
    std::copy_n(column.begin(), out.size(), out.begin());
    return;
  }
}

void Judge::freeze(const Node& node, std::span<double> in_out) {
  RuleRun& run = runs_[static_cast<std::size_t>(*node.attributes.rule)];
  auto& held = run.seldom().held[static_cast<std::uint32_t>(node.arguments[0])];
  held.resize(in_out.size(), absent);
  const bool quiet = run.lives().empty();
  for (Slot slot = 0; slot < in_out.size(); ++slot) {
    const bool frozen = !quiet && std::any_of(run.lives().begin(), run.lives().end(), [&](const auto& entry) {
      return entry.second.first != never &&
             overlap(facts_.topology, node.type.level, slot, run.rule().per, entry.first);
    });
    if (frozen && !is_absent(held[slot])) in_out[slot] = held[slot];
    else if (!explaining_) held[slot] = in_out[slot];
  }
}

double Judge::symbol(std::string_view text) const { return facts_.symbols.find(text); }

void Judge::save(Writer& out) const {
  out(1, scheduler_), out(2, lifecycle_), out(3, end_reason_), out(4, over_), out(5, facts_.end);
  out(6, runs_);
}

Result<void> Judge::load(Reader& in) {
  in(1, scheduler_), in(2, lifecycle_), in(3, end_reason_), in(4, over_), in(5, facts_.end);
  std::size_t run = 0;
  in.list(6, [&](Reader& saved) {
    if (run < runs_.size()) runs_[run].load(saved);
    ++run;
  });
  if (run != runs_.size()) in.fail(Error{Errc::malformed, "the snapshot is of another pack"});
  for (const RuleRun& one : runs_)
    if (!one.lives().empty() && one.lives().last() >= facts_.topology.size(one.rule().per))
      in.fail("an alert is of no member");
  if (auto status = in.status(); !status) return status;
  lifecycle_.count(runs_);
  expiry_ = lifecycle_.next_expiry(runs_);
  for (const RuleRun& one : runs_) answered_ = std::max(answered_, one.unchanged_since());
  return in.status();
}

}  // namespace tocsin::stream
