// Slack, Teams and Discord: the same short text, in the form and within the limits of each.
#include <fmt/format.h>

#include <algorithm>

#include "adapters/formats/json.h"
#include "adapters/notify/media.h"

namespace tocsin::adapters::notify {
namespace {

using formats::Json;

constexpr std::size_t shown = 5;  // alerts in full

// What a chat shows of an alert below its headline.
std::vector<std::pair<std::string, std::string>> short_parts(const Message::Item& item, const Links& links) {
  const Alert& a = item.alert;
  std::vector<std::pair<std::string, std::string>> parts;
  const auto add = [&](const char* title, const std::string& text) {
    if (!text.empty()) parts.emplace_back(title, shortened(text, 500));
  };
  if (!a.firing) add("resolved", a.ended);
  if (a.firing || item.first) add("do", a.action), add("seen", a.seen);
  add("runbook", runbook_of(a, links));
  add("page", page_of(a, links));
  return parts;
}

std::vector<std::pair<std::string, std::string>> ended_parts(const Ended& ended) {
  auto parts = ended.parts;
  if (!ended.last_lines.empty()) parts.emplace_back("last line", ended.last_lines.back());
  for (auto& [title, text] : parts) text = shortened(text, 500);
  return parts;
}

// A block: its headline, and titles with texts.
struct Block {
  std::string headline;
  std::vector<std::pair<std::string, std::string>> parts;
  stream::Severity severity{};
  bool firing = false;
};

std::vector<Block> blocks_of(const Message& message, const Links& links) {
  std::vector<Block> blocks;
  if (message.test) blocks.push_back({subject_of(message), {{"test", first_line_of(message, links)}}, {}, false});
  if (message.ended)
    blocks.push_back({subject_of(message), ended_parts(*message.ended),
                      message.ended->failed ? stream::Severity::critical : stream::Severity::none,
                      message.ended->failed});
  for (std::size_t i = 0; i < std::min(message.items.size(), shown); ++i) {
    Message one;
    one.items = {message.items[i]};
    blocks.push_back({subject_of(one), short_parts(message.items[i], links), message.items[i].alert.severity,
                      message.items[i].alert.firing});
  }
  std::string rest;
  if (message.items.size() > shown) {
    Message hidden = message;
    hidden.more += message.items.size() - shown;
    rest = notes_of(hidden, links);
  } else {
    rest = notes_of(message, links);
  }
  if (!rest.empty()) {
    rest.pop_back();
    blocks.push_back({message.items.empty() && !message.ended ? subject_of(message) : "", {{"", rest}}, {}, false});
  }
  return blocks;
}

// Of a message about one alert or job the text in front of the blocks has the headline and what to do already.
std::vector<Block> without_first_lines(const Message& message, std::vector<Block> blocks) {
  if (message.items.size() + message.more + (message.ended ? 1 : 0) != 1 || blocks.empty()) return blocks;
  blocks.front().headline.clear();
  std::erase_if(blocks.front().parts, [&](const auto& part) {
    return part.first == (message.ended ? "found" : message.items.front().alert.firing ? "do" : "resolved");
  });
  if (blocks.front().parts.empty()) blocks.erase(blocks.begin());
  return blocks;
}

std::string colour(const Block& block) {
  if (!block.firing) return "2EB67D";
  return block.severity == stream::Severity::critical  ? "D00000"
         : block.severity == stream::Severity::warning ? "E8A317"
                                                       : "439FE0";
}

// Slack: three characters have a meaning.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return out;
}

bool is_link(std::string_view text) { return text.starts_with("http://") || text.starts_with("https://"); }

// For the Markdown of Teams and Discord; links stay as they are.
std::string unmarked(const std::string& text) {
  std::string out;
  bool in_link = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i == 0 || text[i - 1] == ' ' || text[i - 1] == '\n') in_link = is_link(std::string_view{text}.substr(i));
    if (!in_link && std::string_view{"\\*_`~|[]<>#"}.find(text[i]) != std::string_view::npos) out += '\\';
    out += text[i];
  }
  return out;
}

}  // namespace

Payload slack(const Message& message, const Links& links) {
  Json attachments = Json::array();
  for (const Block& block : without_first_lines(message, blocks_of(message, links))) {
    std::string text = block.headline.empty() ? "" : "*" + escaped(block.headline) + "*";
    for (const auto& [title, part] : block.parts) {
      text += text.empty() ? "" : "\n";
      text += title.empty() ? escaped(part) : fmt::format("*{}:* {}", title, escaped(part));
    }
    attachments.push_back(
        {{"color", "#" + colour(block)},
         {"blocks",
          Json::array({{{"type", "section"}, {"text", {{"type", "mrkdwn"}, {"text", shortened(text, 2900)}}}}})}});
  }
  const std::string first = first_line_of(message, links);
  return {"application/json",
          formats::dump({{"text", escaped(shortened(subject_of(message) + (first.empty() ? "" : "\n" + first), 1000))},
                         {"attachments", std::move(attachments)}})};
}

Payload teams(const Message& message, const Links& links) {
  Json body = Json::array();
  for (const Block& block : blocks_of(message, links)) {
    if (!block.headline.empty())
      body.push_back({{"type", "TextBlock"},
                      {"text", unmarked(shortened(block.headline, 500))},
                      {"weight", "Bolder"},
                      {"color", !block.firing                                  ? "Good"
                                : block.severity == stream::Severity::critical ? "Attention"
                                                                               : "Warning"},
                      {"wrap", true}});
    Json facts = Json::array();
    for (const auto& [title, part] : block.parts) {
      if (title.empty()) body.push_back({{"type", "TextBlock"}, {"text", unmarked(part)}, {"wrap", true}});
      else
        facts.push_back(
            {{"title", title}, {"value", is_link(part) ? fmt::format("[{}]({})", title, part) : unmarked(part)}});
    }
    if (!facts.empty()) body.push_back({{"type", "FactSet"}, {"facts", std::move(facts)}});
  }
  return {
      "application/json",
      formats::dump({{"type", "message"},
                     {"summary", shortened(subject_of(message), 500)},
                     {"attachments", Json::array({{{"contentType", "application/vnd.microsoft.card.adaptive"},
                                                   {"content",
                                                    {{"$schema", "http://adaptivecards.io/schemas/adaptive-card.json"},
                                                     {"type", "AdaptiveCard"},
                                                     {"version", "1.4"},
                                                     {"body", std::move(body)}}}}})}})};
}

Payload discord(const Message& message, const Links& links) {
  Json embeds = Json::array();
  for (const Block& block : without_first_lines(message, blocks_of(message, links))) {
    std::string text;
    for (const auto& [title, part] : block.parts)
      text +=
          (text.empty() ? "" : "\n") +
          (title.empty() ? unmarked(part) : fmt::format("**{}:** {}", title, is_link(part) ? part : unmarked(part)));
    Json embed{{"color", std::stoi(colour(block), nullptr, 16)}};
    formats::put(embed, "title", shortened(unmarked(block.headline), 250));
    formats::put(embed, "description", shortened(text, 900));  // 6000 characters in all
    embeds.push_back(std::move(embed));
  }
  const std::string subject = "**" + unmarked(shortened(subject_of(message), 900)) + "**",
                    first = unmarked(first_line_of(message, links));
  return {"application/json",
          formats::dump({{"content", shortened(first.empty() ? subject : subject + "\n" + first, 1900)},
                         {"embeds", std::move(embeds)},
                         {"allowed_mentions", {{"parse", Json::array()}}}})};
}

}  // namespace tocsin::adapters::notify
