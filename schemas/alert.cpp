#include "schemas/alert.h"

#include <cstring>

#include "alert_generated.h"
#include "schemas/limits.h"

namespace tocsin::schemas {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using flatbuffers::String;
using stream::AlertTransition;
using stream::NamedMember;
using stream::Verdict;

constexpr std::uint16_t alert_format = 1;
using Texts = std::vector<std::string>;
using TextPairs = std::vector<std::pair<std::string, std::string>>;

Offset<fb::Member> put(FlatBufferBuilder& out, const NamedMember& member) {
  const auto node = out.CreateString(member.node), gpu = out.CreateString(member.gpu),
             rack = out.CreateString(member.rack);
  return fb::CreateMember(out, static_cast<fb::MemberLevel>(member.level), member.rank.has_value(),
                          member.rank.value_or(0), node, gpu, rack, member.pid.value_or(0));
}
auto put(FlatBufferBuilder& out, const Texts& texts) { return out.CreateVectorOfStrings(texts); }
auto put(FlatBufferBuilder& out, const TextPairs& pairs) {
  std::vector<Offset<fb::NamedText>> tables;
  for (const auto& [name, text] : pairs) {
    const auto a = out.CreateString(name), b = out.CreateString(text);
    tables.push_back(fb::CreateNamedText(out, a, b));
  }
  return out.CreateVector(tables);
}

// What an older reader would not miss is left out where it is empty.
Offset<String> put_any(FlatBufferBuilder& out, const std::string& text) {
  return text.empty() ? Offset<String>{} : out.CreateString(text);
}
Offset<flatbuffers::Vector<Offset<String>>> put_any(FlatBufferBuilder& out, const Texts& texts) {
  return texts.empty() ? Offset<flatbuffers::Vector<Offset<String>>>{} : out.CreateVectorOfStrings(texts);
}

std::string get(const String* text) { return text == nullptr ? std::string{} : text->str(); }
NamedMember get(const fb::Member* from) {
  NamedMember member;
  if (from == nullptr) return member;
  member.level = static_cast<stream::Level>(from->level());
  if (from->has_rank()) member.rank = from->rank();
  member.node = get(from->node());
  member.gpu = get(from->gpu());
  member.rack = get(from->rack());
  if (from->pid() != 0) member.pid = from->pid();
  return member;
}
Texts get(const flatbuffers::Vector<Offset<String>>* from) {
  Texts texts;
  if (from != nullptr)
    for (const auto* text : *from) texts.push_back(get(text));
  return texts;
}
TextPairs get(const flatbuffers::Vector<Offset<fb::NamedText>>* from) {
  TextPairs pairs;
  if (from != nullptr)
    for (const auto* pair : *from) pairs.emplace_back(get(pair->name()), get(pair->text()));
  return pairs;
}

// An unknown enumerator of a newer writer is refused, not guessed.
bool known(const fb::Member* member) { return member == nullptr || member->level() <= fb::MemberLevel::MAX; }
bool known(const fb::Transition& from) {
  bool all = from.severity() <= fb::AlertSeverity::MAX && from.mode() <= fb::AlertMode::MAX &&
             from.state() >= fb::AlertLife::MIN && from.state() <= fb::AlertLife::MAX &&
             from.reason() <= fb::AlertReason::MAX && known(from.member());
  if (from.who() != nullptr)
    for (const auto* member : *from.who()) all = all && known(member);
  return all;
}
bool known(const fb::Verdict& from) {
  bool all = true;
  if (from.families() != nullptr)
    for (const auto* line : *from.families()) all = all && line->standing() <= fb::FamilyStanding::MAX;
  return all;
}

AlertTransition get(const fb::Transition& from) {
  AlertTransition to;
  to.id = from.id();
  to.number = from.number();
  to.rule = get(from.rule());
  to.family = get(from.family());
  to.subject = get(from.subject());
  to.attempt = get(from.attempt());
  to.summary = get(from.summary());
  to.severity = static_cast<stream::Severity>(from.severity());
  to.mode = static_cast<stream::Mode>(from.mode());
  to.member = get(from.member());
  to.state = static_cast<stream::AlertState>(from.state());
  to.reason = static_cast<stream::ResolveReason>(from.reason());
  to.explained_by = get(from.explained_by());
  to.since = stream::at_nanoseconds(from.since());
  to.at = stream::at_nanoseconds(from.at());
  to.shows = get(from.shows());
  to.implies = get(from.implies());
  to.cannot_decide = get(from.cannot_decide());
  if (from.evidence() != nullptr)
    for (const auto* value : *from.evidence()) to.evidence.emplace_back(get(value->name()), value->number());
  to.evidence_texts = get(from.evidence_texts());
  if (from.who() != nullptr)
    for (const auto* member : *from.who()) to.who.push_back(get(member));
  to.family_words = get(from.family_words());
  to.actions = get(from.actions());
  to.not_known = get(from.not_known());
  return to;
}

Verdict get(const fb::Verdict& from) {
  Verdict to;
  to.subject = get(from.subject());
  to.attempt = get(from.attempt());
  to.ended = stream::at_nanoseconds(from.ended());
  to.end_reason = get(from.end_reason());
  to.family = get(from.family());
  if (from.families() != nullptr)
    for (const auto* line : *from.families())
      to.families.push_back({get(line->family()), static_cast<stream::Standing>(line->standing()), get(line->rules()),
                             get(line->missing()), get(line->words())});
  to.shows = get(from.shows());
  to.cannot_decide = get(from.cannot_decide());
  to.family_words = get(from.family_words());
  to.quarantined = get(from.quarantined());
  return to;
}

std::vector<std::byte> finished(FlatBufferBuilder& out, Offset<fb::Transition> transition,
                                Offset<fb::Verdict> verdict) {
  out.Finish(fb::CreateAlert(out, alert_format, transition, verdict), fb::AlertIdentifier());
  const auto* bytes = reinterpret_cast<const std::byte*>(out.GetBufferPointer());
  return {bytes, bytes + out.GetSize()};
}

}  // namespace

std::vector<std::byte> encode(const AlertTransition& from) {
  FlatBufferBuilder out;
  const auto rule = out.CreateString(from.rule), family = out.CreateString(from.family),
             subject = out.CreateString(from.subject), attempt = out.CreateString(from.attempt),
             summary = out.CreateString(from.summary), explained_by = out.CreateString(from.explained_by),
             shows = out.CreateString(from.shows);
  const auto member = put(out, from.member);
  const auto implies = put(out, from.implies), evidence_texts = put(out, from.evidence_texts);
  const auto cannot_decide = put(out, from.cannot_decide);
  std::vector<Offset<fb::NamedNumber>> numbers;
  for (const auto& [name, number] : from.evidence) {
    const auto text = out.CreateString(name);
    numbers.push_back(fb::CreateNamedNumber(out, text, number));
  }
  const auto evidence = out.CreateVector(numbers);
  std::vector<Offset<fb::Member>> members;
  for (const auto& culprit : from.who) members.push_back(put(out, culprit));
  const auto who = out.CreateVector(members);
  const auto family_words = put_any(out, from.family_words), not_known = put_any(out, from.not_known);
  const auto actions = put_any(out, from.actions);
  const auto transition =
      fb::CreateTransition(out, from.id, from.number, rule, family, subject, attempt, summary,
                           static_cast<fb::AlertSeverity>(from.severity), static_cast<fb::AlertMode>(from.mode), member,
                           static_cast<fb::AlertLife>(from.state), static_cast<fb::AlertReason>(from.reason),
                           explained_by, stream::nanoseconds(from.since), stream::nanoseconds(from.at), shows, implies,
                           cannot_decide, evidence, evidence_texts, who, family_words, actions, not_known);
  return finished(out, transition, {});
}

std::vector<std::byte> encode(const Verdict& from) {
  FlatBufferBuilder out;
  const auto subject = out.CreateString(from.subject), attempt = out.CreateString(from.attempt),
             end_reason = out.CreateString(from.end_reason), family = out.CreateString(from.family);
  std::vector<Offset<fb::FamilyLine>> lines;
  for (const auto& line : from.families) {
    const auto name = out.CreateString(line.family);
    const auto rules = put(out, line.rules), missing = put(out, line.missing);
    const auto words = put_any(out, line.words);
    lines.push_back(
        fb::CreateFamilyLine(out, name, static_cast<fb::FamilyStanding>(line.standing), rules, missing, words));
  }
  const auto families = out.CreateVector(lines);
  const auto shows = put(out, from.shows), cannot_decide = put(out, from.cannot_decide);
  const auto family_words = put_any(out, from.family_words);
  const auto quarantined = put_any(out, from.quarantined);
  return finished(out, {},
                  fb::CreateVerdict(out, subject, attempt, stream::nanoseconds(from.ended), end_reason, family,
                                    families, shows, cannot_decide, family_words, quarantined));
}

stream::Result<AlertMessage> decode_alert(std::span<const std::byte> message) {
  using stream::Errc;
  using stream::Error;
  if (message.size() < 16 || message.size() > most_message_bytes)
    return Error{Errc::torn,
                 "an alert message of " + std::to_string(message.size()) + " bytes: it is torn, or none of ours"};
  std::vector<std::uint64_t> aligned(message.size() / 8 + 1);
  std::memcpy(aligned.data(), message.data(), message.size());
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(aligned.data());
  flatbuffers::Verifier verifier{bytes, message.size(), 8, 1'000'000};
  if (!verifier.VerifyBuffer<fb::Alert>(fb::AlertIdentifier()))
    return Error{Errc::torn, "the alert message is torn, or none of ours (no TOCA)"};
  const auto& alert = *fb::GetAlert(bytes);
  if (alert.format() > alert_format)
    return Error{Errc::unknown_version, "the alert has format " + std::to_string(alert.format()) +
                                            ", this reader knows up to " + std::to_string(alert_format) +
                                            ": update it before the engine"};
  if (alert.transition() != nullptr && alert.verdict() == nullptr && known(*alert.transition()))
    return AlertMessage{get(*alert.transition())};
  if (alert.verdict() != nullptr && alert.transition() == nullptr && known(*alert.verdict()))
    return AlertMessage{get(*alert.verdict())};
  return Error{Errc::malformed,
               "the alert message holds neither one transition nor one verdict that this reader knows"};
}

}  // namespace tocsin::schemas
