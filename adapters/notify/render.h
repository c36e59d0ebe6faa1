#pragma once

#include <string>
#include <utility>
#include <vector>

#include "adapters/notify/receiver.h"
#include "adapters/notify/router.h"

namespace tocsin::adapters::notify {

// Where a reader finds more.
struct Links {
  std::string page;         // of the service, http.external_url; or empty
  std::string more;         // in its place: "tocsin status last"; or empty
  std::string runbook_url;  // where a rule has none of its own: {rule} and {family} are filled in; or empty
  std::string host;         // this machine, in Message-IDs and as the sender of mail
};

// A file that goes with a mail, or the reason why it does not.
struct Artifact {
  std::string name, content, left_out;
};

// What is sent: a mail with its headers, or the body of a request, or the standard input of a command. Without secrets.
struct Payload {
  std::string content_type, body;
};
[[nodiscard]] Payload render(const Message& message, const Receiver& receiver, const Links& links,
                             const std::vector<Artifact>& artifacts = {});

// In one line: job, fault and culprit. "[critical] llama: NCCL collective hang (rank 3 on n2)".
[[nodiscard]] std::string subject_of(const Message& message);
// In one line: what to do, or how it ended.
[[nodiscard]] std::string first_line_of(const Message& message, const Links& links);
// The whole, as a mail has it.
[[nodiscard]] std::string text_of(const Message& message, const Links& links);
// At most so many bytes, cut between characters.
[[nodiscard]] std::string shortened(std::string text, std::size_t most);
// "12 B", "879 KiB", "3.4 MiB".
[[nodiscard]] std::string size_text(std::size_t bytes);

}  // namespace tocsin::adapters::notify
