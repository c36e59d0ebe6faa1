#pragma once

#include "adapters/notify/render.h"

// The inside of render(): a function for each medium, and what they share. Included by their sources alone.
namespace tocsin::adapters::notify {

[[nodiscard]] Payload mail(const Message&, const Receiver&, const Links&, const std::vector<Artifact>&);
[[nodiscard]] Payload slack(const Message&, const Links&);
[[nodiscard]] Payload teams(const Message&, const Links&);
[[nodiscard]] Payload discord(const Message&, const Links&);
[[nodiscard]] Payload pagerduty(const Message&, const Links&);
[[nodiscard]] Payload webhook(const Message&, const Receiver&, const Links&);
[[nodiscard]] Payload manager_webhook(const Message&, const Receiver&, const Links&);

[[nodiscard]] std::string tag_of(const Message::Item& item);                     // [critical], [resolved]
[[nodiscard]] std::string page_of(const Alert& alert, const Links& links);       // empty: there is none
[[nodiscard]] std::string runbook_of(const Alert& alert, const Links& links);    // empty: there is none
[[nodiscard]] std::string notes_of(const Message& message, const Links& links);  // a line each: what is not in it

}  // namespace tocsin::adapters::notify
