#include "adapters/cli/wrap_notices.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>
#include <variant>

#include "adapters/cli/say.h"
#include "adapters/formats/printable.h"
#include "adapters/wrap/run_directory.h"
#include "adapters/wrap/wrap.h"
#include "dsl/text/extraction.h"
#include "stream/values/digest.h"

namespace tocsin::adapters::cli {
namespace {

constexpr std::chrono::seconds last_sends{5};

void say_line(const std::string& line) { say("tocsin: {}\n", formats::printable(line)); }

}  // namespace

stream::Result<std::vector<notify::Receiver>> wrap_receivers(const std::vector<std::string>& addresses) {
  const char* relay = std::getenv("TOCSIN_SMTP");
  std::vector<notify::Receiver> receivers;
  for (const std::string& address : addresses) {
    notify::Receiver receiver;
    receiver.to = address;
    auto completed = notify::complete(
        std::move(receiver), relay != nullptr && *relay != 0 ? std::string{relay} : std::string{notify::usual_relay});
    if (!completed) return stream::Error{completed.error().code, "--notify: " + completed.error().message};
    if (address.find("verdicts=") == address.npos) completed->verdicts = "all";
    receivers.push_back(std::move(*completed));
  }
  notify::number_names(receivers);
  return receivers;
}

std::filesystem::path wrap_queue() { return wrap::state_directory() / "notify"; }

WrapNotices::WrapNotices(std::vector<notify::Receiver> receivers, const std::filesystem::path& journal) {
  notify::NotifierOptions options;
  options.receivers = std::move(receivers);
  options.links = {"", "tocsin status " + formats::shell_word(journal.string()), "", wrap::host()};
  options.recording = journal.string();
  options.root = wrap_queue();
  options.own = fmt::format("{:016x}", stream::hash_text(journal.string()));
  options.temporary = options.alone = true;
  options.timeout = std::chrono::seconds{15};
  options.longest_back_off = std::chrono::seconds{60};
  options.log = say_line;
  options.last_lines = [this](const std::string&) {
    const std::lock_guard lock{mutex_};
    return last_lines_;
  };
  auto notifier = notify::Notifier::start(options);
  if (!notifier) {
    say_line("notify: messages that cannot be sent are lost when the run ends: " + notifier.error().message);
    options.root.clear();
    notifier = notify::Notifier::start(options);
  }
  if (notifier) notifier_ = std::move(*notifier);
}

Observers WrapNotices::observers() {
  Observers all;
  all.entry = [this](const stream::Entry& entry) { ending_.read(entry), lines_.read(entry); };
  all.report = [this](const stream::Report& one) { report(one); };
  return all;
}

void WrapNotices::report(const stream::Report& report) {
  if (!notifier_) return;
  if (const auto* verdict = std::get_if<stream::Verdict>(&report)) return ended(*verdict);
  // What comes after the command's end is known to matter once the verdict says that it was training.
  const auto& transition = std::get<stream::AlertTransition>(report);
  if (ending_.over()) held_.push_back(transition);
  else notifier_->report(0, transition);
}

void WrapNotices::ended(stream::Verdict verdict) {
  std::set<std::uint64_t> fired;  // after the end
  for (const stream::AlertTransition& one : std::exchange(held_, {})) {
    if (one.state == stream::AlertState::firing) fired.insert(one.id);
    if (verdict.training || !fired.contains(one.id)) notifier_->report(0, one);
  }
  ending_.correct(verdict);
  const bool last = ending_.attempt().empty() || ending_.attempt() == verdict.attempt;
  if (last && verdict.family.empty() && (verdict.end_reason == "failed" || !verdict.training))
    verdict.shows.insert(verdict.shows.begin(), dsl::text::mask_secrets(ending_.text(verdict.subject)));
  {
    const std::lock_guard lock{mutex_};
    last_lines_ = lines_.take(verdict.subject);
  }
  notifier_->report(0, verdict);
}

void WrapNotices::finish() {
  if (!notifier_) return;
  const std::size_t left = notifier_->drain(last_sends);
  if (left == 0) return;
  for (const notify::ReceiverStatus& one : notifier_->status().receivers)
    if (one.waiting > 0)
      say_line(fmt::format("{} message{} to {} {} not sent{}", one.waiting, one.waiting == 1 ? "" : "s", one.name,
                           one.waiting == 1 ? "is" : "are", one.last_error.empty() ? "" : ": " + one.last_error));
  say_line(notifier_->path().empty()
               ? "notify: they are lost"
               : "notify: the next `tocsin wrap --notify` sends them, or `tocsin notify --flush` now");
}

}  // namespace tocsin::adapters::cli
