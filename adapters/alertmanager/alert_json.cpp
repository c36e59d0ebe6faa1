#include "adapters/alertmanager/alert_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "adapters/formats/alert_form.h"
#include "adapters/formats/json.h"
#include "stream/values/value.h"

namespace tocsin::adapters::alertmanager {
namespace {

using Texts = std::map<std::string, std::string>;
constexpr std::array own_labels{"alertname", "severity", "family", "job_id", "rank", "node", "gpu", "rack", "mode"};
constexpr std::size_t longest_text = 4000, most_culprits = 20;

// At most so many bytes, cut between characters.
std::string shortened(std::string text) {
  if (text.size() <= longest_text) return text;
  std::size_t end = longest_text;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text + "…";
}

std::string object(const Texts& texts) {
  formats::Json out = formats::Json::object();
  for (const auto& [name, text] : texts)
    if (!text.empty()) out[name] = text;
  return formats::dump(out);
}

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    if (plain) out += c;
    else out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string replaced(std::string text, std::string_view place, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(place, at)) != text.npos; at += by.size())
    text.replace(at, place.size(), by);
  return text;
}

std::string description(const stream::AlertTransition& t) {
  std::string out;
  for (auto& [title, text] : formats::alert_form(t).parts())
    out += fmt::format("{}{}: {}", out.empty() ? "" : "\n", title, text);
  return out;
}

std::string culprits(const stream::AlertTransition& t) {
  std::string out;
  for (std::size_t i = 0; i < std::min(t.who.size(), most_culprits); ++i)
    out += (i == 0 ? "" : ", ") + formats::member_text(t.who[i]);
  if (t.who.size() > most_culprits) out += fmt::format(" and {} more", t.who.size() - most_culprits);
  return out;
}

std::string evidence(const stream::AlertTransition& t) {
  std::string out;
  for (const auto& [value, number] : t.evidence)
    if (!stream::is_absent(number)) out += fmt::format("{}{}={:g}", out.empty() ? "" : ", ", value, number);
  for (const auto& [value, text] : t.evidence_texts)
    out += fmt::format("{}{}={}", out.empty() ? "" : ", ", value, text);
  return out;
}

std::string resolution(const stream::AlertTransition& t) {
  if (t.state != stream::AlertState::resolved) return {};
  if (t.reason == stream::ResolveReason::explained) return "explained by " + t.explained_by;
  return std::string{name(t.reason)};
}

}  // namespace

bool own_label(const std::string& name) {
  return std::find(own_labels.begin(), own_labels.end(), name) != own_labels.end();
}

bool valid_label(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

RenderedAlert render(const stream::AlertTransition& t, const PosterOptions& options) {
  Texts labels = options.labels;
  labels["alertname"] = t.rule;
  labels["severity"] = name(t.severity);
  labels["family"] = t.family;
  labels["job_id"] = t.subject;
  if (t.member.rank) labels["rank"] = std::to_string(*t.member.rank);
  labels["node"] = t.member.node;
  labels["gpu"] = t.member.gpu;
  if (t.member.level == stream::Level::rack) labels["rack"] = t.member.rack;
  if (!t.owner.empty()) labels["owner"] = t.owner;
  if (t.mode != stream::Mode::live) labels["mode"] = name(t.mode);

  Texts annotations;
  const std::string where = t.member.level == stream::Level::job ? t.subject : t.subject + ", " + describe(t.member);
  annotations["summary"] = shortened(where + ": " + t.summary);
  annotations["description"] = shortened(description(t));
  annotations["action"] = shortened(formats::alert_form(t).action);
  annotations["culprits"] = shortened(culprits(t));
  annotations["evidence"] = shortened(evidence(t));
  annotations["attempt"] = shortened(t.attempt);
  annotations["resolved"] = resolution(t);
  if (!t.runbook.empty()) annotations["runbook_url"] = t.runbook;
  else if (!options.runbook_url.empty())
    annotations["runbook_url"] = replaced(replaced(options.runbook_url, "{rule}", percent_encoded(t.rule)), "{family}",
                                          percent_encoded(t.family));

  RenderedAlert out{object(labels), object(annotations), {}};
  std::string_view page = options.external_url;
  while (page.ends_with('/')) page.remove_suffix(1);
  if (!page.empty()) out.generator_url = fmt::format("{}/#alert={:016x}", page, t.id);
  return out;
}

}  // namespace tocsin::adapters::alertmanager
