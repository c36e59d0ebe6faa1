#include "adapters/formats/alert_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "adapters/formats/parse_time.h"
#include "adapters/formats/printable.h"
#include "stream/values/units.h"

namespace tocsin::adapters::formats {
namespace {

using stream::AlertTransition;
using stream::Level;
using stream::NamedMember;

constexpr std::size_t most_named = 8;

std::string join(const std::vector<std::string>& texts, const char* between) {
  return fmt::format("{}", fmt::join(texts, between));
}

std::vector<std::string> members_named(const AlertTransition& t) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(t.who.size(), most_named); ++i) names.push_back(member_text(t.who[i]));
  if (t.who.size() > most_named) names.push_back("and " + std::to_string(t.who.size() - most_named) + " more");
  const bool of_job = t.member.level == Level::job || t.member.level == Level::none;
  // The culprits lie within the member that the alert is about.
  if (const std::string own = member_text(t.member);
      !of_job && std::find(names.begin(), names.end(), own) == names.end())
    names.insert(names.begin(), own);
  return names;
}

std::string who_text(const AlertTransition& t) {
  std::string text = join(members_named(t), "; ");
  const bool cluster = t.subject == stream::cluster_subject;
  text += (text.empty() ? "" : "; ") + (cluster ? std::string{"the cluster"} : "job " + t.subject);
  if (!t.attempt.empty() && !cluster) text += ", attempt " + t.attempt;
  return text;
}

std::string more_text(const AlertTransition& t, const std::string& recording) {
  std::string text;
  if (!t.runbook.empty()) text = "runbook " + t.runbook;
  if (!t.owner.empty()) text += (text.empty() ? "owner " : ", owner ") + t.owner;
  if (recording.empty() || t.rule == stream::limit_rule) return text;
  text += (text.empty() ? "" : "; ") + std::string{"tocsin explain "} + shell_word(recording) + " --rule " +
          shell_word(t.rule);
  const auto add = [&text](const char* option, const std::string& value) {
    if (!value.empty()) text += std::string{" "} + option + " " + shell_word(value);
  };
  if (t.member.level == Level::rank && t.member.rank) add("--rank", std::to_string(*t.member.rank));
  if (t.member.level == Level::gpu || t.member.level == Level::node) add("--node", t.member.node);
  if (t.member.level == Level::gpu) add("--gpu", t.member.gpu);
  add("--job", t.subject);
  add("--at", typed_time(t.at));
  return text;
}

}  // namespace

std::string members_text(const AlertTransition& transition) {
  const std::string names = join(members_named(transition), "; ");
  return names.empty() ? member_text(transition.member) : names;
}

std::string member_text(const NamedMember& member) {
  std::string text = describe(member);
  if (member.level == Level::rank && !member.gpu.empty()) text += ", GPU " + member.gpu;
  if (member.pid) text += ", pid " + std::to_string(*member.pid);
  return text;
}

std::string time_text(stream::Time time) {
  std::string text = rfc3339(time, 0);
  text[10] = ' ';
  text.pop_back();
  return text + " UTC";
}

std::string typed_time(stream::Time time) {
  if (time == std::chrono::floor<std::chrono::seconds>(time)) return rfc3339(time, 0);
  std::string text = rfc3339(time, 9);
  text.erase(text.find_last_not_of("0Z") + 1);
  return text + 'Z';
}

std::string duration_text(stream::Duration duration) {
  const double seconds = stream::seconds(duration);
  return stream::quantity_text(seconds < 1 ? seconds : static_cast<double>(static_cast<long long>(seconds + 0.5)),
                               "seconds");
}

AlertForm alert_form(const AlertTransition& t, const std::string& recording) {
  AlertForm form;
  form.what = t.summary.empty() ? t.rule : t.summary;
  if (!t.family.empty()) form.what += " (" + stream::with_words(t.family, t.family_words) + ")";
  form.who = who_text(t);
  form.since = time_text(t.since);
  if (t.state == stream::AlertState::firing && t.at - t.since >= std::chrono::seconds{1})
    form.since += ", reported " + duration_text(t.at - t.since) + " later";
  form.seen = t.shows;
  std::vector<std::string> causes;
  for (const auto& [name, text] : t.implies) causes.push_back(text);
  form.likely = join(causes, "; ");
  form.action = join(t.actions, "; or ");
  form.not_known = t.not_known;
  form.more = more_text(t, recording);
  return form;
}

std::vector<std::pair<const char*, std::string>> AlertForm::parts() const {
  std::vector<std::pair<const char*, std::string>> all{{"what", what},           {"who", who},       {"since", since},
                                                       {"seen", seen},           {"likely", likely}, {"do", action},
                                                       {"not known", not_known}, {"more", more}};
  std::erase_if(all, [](const auto& part) { return part.second.empty(); });
  return all;
}

}  // namespace tocsin::adapters::formats
