// A mail: RFC 5322 with MIME, in lines of at most 76 characters of ASCII, so that every server takes it.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "adapters/net/credentials.h"
#include "adapters/notify/media.h"

namespace tocsin::adapters::notify {
namespace {

bool plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

// A header's text: words of RFC 2047 where it is not ASCII. No line break can come from it.
std::string header_text(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  if (plain(text) && text.size() <= 900) return text;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    constexpr std::size_t most = 42;  // bytes of a word; between characters
    std::size_t end = std::min(at + most, text.size());
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    out += fmt::format("{}=?utf-8?B?{}?=", out.empty() ? "" : "\r\n ", net::base64(text.substr(at, end - at)));
    at = end;
  }
  return out;
}

std::string quoted_printable(std::string_view text) {
  std::string out, line;
  const auto put = [&](std::string_view piece) {
    if (line.size() + piece.size() > 75) out += line + "=\r\n", line.clear();
    line += piece;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool last = i + 1 == text.size() || text[i + 1] == '\n';
    if (c == '\n') out += line + "\r\n", line.clear();
    else if ((c > ' ' && c < 0x7f && c != '=' && !(c == '.' && line.empty())) || (c == ' ' && !last)) put({&c, 1});
    else put(fmt::format("={:02X}", static_cast<unsigned char>(c)));
  }
  return out + line + (line.empty() ? "" : "\r\n");
}

std::string base64_lines(std::string_view bytes) {
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += 57) out += net::base64(bytes.substr(at, 57)) + "\r\n";
  return out;
}

std::string file_name(std::string name) {
  name = name.substr(name.rfind('/') + 1);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c < 0x20 || c == 0x7f || c == '"' || c == '\\'; }, '_');
  return name;
}

std::string artifacts_text(const std::vector<Artifact>& artifacts) {
  std::string in, out;
  for (const Artifact& one : artifacts)
    if (one.left_out.empty()) in += fmt::format("  {} ({})\n", one.name, size_text(one.content.size()));
    else out += fmt::format("  {}: {}\n", one.name, one.left_out);
  return (in.empty() ? "" : "\nAttached:\n" + in) + (out.empty() ? "" : "\nNot attached:\n" + out);
}

}  // namespace

Payload mail(const Message& message, const Receiver& receiver, const Links& links,
             const std::vector<Artifact>& artifacts) {
  const std::string from = receiver.from.empty() ? "tocsin@" + links.host : receiver.from;
  const auto at = std::chrono::system_clock::to_time_t(
      std::chrono::time_point_cast<std::chrono::system_clock::duration>(message.at));
  std::string out = fmt::format(
      "From: tocsin <{}>\r\nTo: {}\r\nSubject: {}\r\nDate: {:%a, %d %b %Y %H:%M:%S} +0000\r\n", from,
      fmt::join(receiver.recipients, ", "), header_text(shortened(subject_of(message), 300)), fmt::gmtime(at));
  out += fmt::format("Message-ID: <{:016x}@{}>\r\n", message.id, links.host);
  // Mails about one alert are one thread.
  if (!message.items.empty())
    out += fmt::format("References: <alert-{:016x}@{}>\r\n", message.items.front().alert.id, links.host);
  out += "Auto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n";
  const std::string text =
      "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n" +
      quoted_printable(text_of(message, links) + artifacts_text(artifacts));
  if (std::none_of(artifacts.begin(), artifacts.end(), [](const auto& one) { return one.left_out.empty(); }))
    return {"message/rfc822", out + text};
  const std::string boundary = fmt::format("tocsin-{:016x}", message.id);
  out += fmt::format("Content-Type: multipart/mixed; boundary=\"{}\"\r\n\r\n--{}\r\n{}", boundary, boundary, text);
  for (const Artifact& one : artifacts) {
    if (!one.left_out.empty()) continue;
    out += fmt::format(
        "--{}\r\nContent-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=\"{}\"\r\n"
        "Content-Transfer-Encoding: base64\r\n\r\n{}",
        boundary, file_name(one.name), base64_lines(one.content));
  }
  return {"message/rfc822", out + "--" + boundary + "--\r\n"};
}

}  // namespace tocsin::adapters::notify
