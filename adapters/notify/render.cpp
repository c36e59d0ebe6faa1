#include "adapters/notify/render.h"

#include <fmt/format.h>

#include <algorithm>

#include "adapters/formats/alert_form.h"
#include "adapters/formats/json.h"
#include "adapters/formats/printable.h"
#include "adapters/notify/media.h"

namespace tocsin::adapters::notify {
namespace {

std::string headline(const Alert& alert) {
  return fmt::format("{}: {}{}", formats::printable(alert.job), alert.summary,
                     alert.who.empty() ? "" : " (" + alert.who + ")");
}

std::string replaced(std::string text, std::string_view place, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(place, at)) != text.npos; at += by.size())
    text.replace(at, place.size(), by);
  return text;
}

std::string paragraph(std::string_view title, std::string_view text) {
  return fmt::format("  {:<13} {}\n", title, text);
}

std::string how_it_ended(const Alert& alert) {
  return fmt::format("{}, {} after it began", alert.ended.empty() ? "resolved" : alert.ended,
                     formats::duration_text(alert.at - alert.since));
}

std::string item_text(const Message::Item& item, const Links& links) {
  const Alert& a = item.alert;
  std::string out = tag_of(item) + " " + headline(a) + "\n";
  if (!a.firing) out += paragraph("resolved", how_it_ended(a));
  if (a.firing || item.first)
    for (const auto& [title, text] : a.parts) out += paragraph(title, text);
  if (const std::string url = runbook_of(a, links); !url.empty() && a.runbook.empty()) out += paragraph("runbook", url);
  if (const std::string url = page_of(a, links); !url.empty()) out += paragraph("page", url);
  return out;
}

}  // namespace

std::string size_text(std::size_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  return bytes < (1u << 20) ? fmt::format("{:.0f} KiB", static_cast<double>(bytes) / 1024)
                            : fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string shortened(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most - std::min<std::size_t>(most, 3);  // "…" has three bytes
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text + "…";
}

std::string tag_of(const Message::Item& item) {
  if (item.alert.firing)
    return fmt::format("[{}{}]", stream::name(item.alert.severity), item.first ? "" : ", still firing");
  return item.first ? fmt::format("[{}, resolved]", stream::name(item.alert.severity)) : "[resolved]";
}

std::string page_of(const Alert& alert, const Links& links) {
  std::string_view page = links.page;
  while (page.ends_with('/')) page.remove_suffix(1);
  return page.empty() ? std::string{} : fmt::format("{}/#alert={:016x}", page, alert.id);
}

std::string runbook_of(const Alert& alert, const Links& links) {
  if (!alert.runbook.empty() || links.runbook_url.empty()) return alert.runbook;
  return replaced(replaced(links.runbook_url, "{rule}", alert.rule), "{family}", alert.family);
}

std::string notes_of(const Message& message, const Links& links) {
  const std::string where = !links.page.empty() ? links.page : links.more;
  const std::string see = where.empty() ? "" : "; see " + where;
  std::string out;
  if (message.more > 0)
    out += fmt::format("{} more alert{} not listed here{}.\n", message.more, message.more == 1 ? " is" : "s are", see);
  if (message.left_out > 0)
    out += fmt::format("{} alert{} fired and resolved while the limit of messages held them back{}.\n",
                       message.left_out, message.left_out == 1 ? "" : "s", see);
  if (message.held_until)
    out += fmt::format("The limit of messages an hour is reached: the next one comes at {}{}.\n",
                       formats::time_text(*message.held_until), see);
  return out;
}

std::string subject_of(const Message& message) {
  if (message.test) return "[test] tocsin can reach you";
  if (message.ended) {
    const bool named = !message.items.empty() && !message.items.front().alert.who.empty();
    return fmt::format("[ended] {}: {}{}", formats::printable(message.ended->job), message.ended->result,
                       named ? ", " + message.items.front().alert.who : "");
  }
  if (message.items.empty()) return fmt::format("[info] {} alerts were left out", message.left_out);
  const Message::Item& first = message.items.front();
  const std::size_t others = message.items.size() - 1 + message.more;
  return fmt::format("{} {}{}", tag_of(first), headline(first.alert),
                     others == 0 ? "" : fmt::format(", and {} more", others));
}

std::string first_line_of(const Message& message, const Links& links) {
  if (message.test) return "This is a test: alerts that this receiver chooses will come here.";
  if (message.items.empty()) {
    if (!message.ended) return {};
    for (const auto& [title, text] : message.ended->parts)
      if (title == "found") return "Found: " + text;
    return fmt::format("Ended {}.", formats::time_text(message.ended->at));
  }
  const Message::Item& item = message.items.front();
  if (!item.alert.firing && !message.ended) return "Resolved: " + how_it_ended(item.alert) + ".";
  if (message.ended && item.alert.ended == "cleared")
    for (const auto& [title, text] : message.ended->parts)
      if (title == "found") return "Found: " + text;
  if (!item.alert.action.empty()) return "Do: " + item.alert.action;
  for (const std::string& url : {runbook_of(item.alert, links), page_of(item.alert, links)})
    if (!url.empty()) return "Do: read " + url;
  return item.alert.seen.empty() ? std::string{} : "Seen: " + item.alert.seen;
}

std::string text_of(const Message& message, const Links& links) {
  std::string out = first_line_of(message, links);
  if (!out.empty()) out += "\n\n";
  if (message.ended) {
    const Ended& ended = *message.ended;
    out += fmt::format("Job {}, attempt {}: {}\n", ended.job, ended.attempt, ended.result);
    out += paragraph("ended", formats::time_text(ended.at));
    for (const auto& [title, text] : ended.parts) out += paragraph(title, text);
    if (!ended.last_lines.empty()) {
      out += "\nLast lines:\n";
      for (const std::string& line : ended.last_lines) out += "  | " + line + "\n";
    }
    if (!message.items.empty()) out += "\n";
  }
  for (std::size_t i = 0; i < message.items.size(); ++i)
    out += (i == 0 ? "" : "\n") + item_text(message.items[i], links);
  if (const std::string notes = notes_of(message, links); !notes.empty()) out += "\n" + notes;
  return out;
}

Payload render(const Message& message, const Receiver& receiver, const Links& links,
               const std::vector<Artifact>& artifacts) {
  switch (receiver.medium) {
    case Medium::mail: return mail(message, receiver, links, artifacts);
    case Medium::slack: return slack(message, links);
    case Medium::teams: return teams(message, links);
    case Medium::discord: return discord(message, links);
    case Medium::pagerduty: return pagerduty(message, links);
    case Medium::alertmanager: return manager_webhook(message, receiver, links);
    case Medium::webhook:
    case Medium::command: break;
  }
  return webhook(message, receiver, links);
}

}  // namespace tocsin::adapters::notify
