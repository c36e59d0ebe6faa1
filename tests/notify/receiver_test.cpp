#include "adapters/notify/receiver.h"

#include <doctest/doctest.h>

using namespace tocsin::adapters::notify;

namespace {

Receiver of(const std::string& to, const std::string& relay = "smtp://mail.example:25/?from=tocsin@site.example") {
  Receiver receiver;
  receiver.to = to;
  auto completed = complete(receiver, relay);
  REQUIRE_MESSAGE(completed, to << ": " << (completed ? "" : completed.error().message));
  return *completed;
}

std::string problem(const std::string& to, const std::string& relay = std::string{usual_relay}) {
  Receiver receiver;
  receiver.to = to;
  const auto completed = complete(receiver, relay);
  return completed ? "" : completed.error().message;
}

}  // namespace

TEST_CASE("an address names a medium, its server and its files") {
  const Receiver mail =
      of("smtps://ada%40site.example@mail.example/?to=ops@site.example,team@site.example&password_file=/p");
  CHECK(mail.medium == Medium::mail);
  CHECK(mail.url == "smtps://mail.example:465");
  CHECK(mail.user == "ada@site.example");
  CHECK(mail.from == "ada@site.example");
  CHECK(mail.recipients == std::vector<std::string>{"ops@site.example", "team@site.example"});
  CHECK(mail.name == "mailto:ops@site.example");

  const Receiver relayed = of("mailto:ops@site.example?severity=critical&verdicts=all");
  CHECK(relayed.url == "smtp://mail.example:25");
  CHECK(relayed.from == "tocsin@site.example");
  CHECK(relayed.severity == "critical");
  CHECK(relayed.verdicts == "all");

  CHECK(of("slack:?url_file=/hook").url_file == "/hook");
  CHECK(of("teams:https://hooks.example/a/b?sig=x&severity=info").url == "https://hooks.example/a/b?sig=x");
  CHECK(of("pagerduty:?key_file=/key").url == "https://events.pagerduty.com/v2/enqueue");
  CHECK(of("https://example.org/hook").medium == Medium::webhook);
  CHECK(of("alertmanager-webhook:http://127.0.0.1:8080/x").medium == Medium::alertmanager);
  CHECK(of("command:notify-send tocsin").command == std::vector<std::string>{"notify-send", "tocsin"});
  CHECK(of("smtp://mail.example/?to=a@b").url == "smtp://mail.example:587");
}

TEST_CASE("an address that is wrong is refused with what to write, and without its secrets") {
  const std::pair<const char*, const char*> wrong[] = {
      {"ops@site.example", "is not an address of a receiver: write mailto:NAME@HOST"},
      {"mailto:", "nobody to write to: add ?to=NAME@HOST"},
      {"mailto:ops", "'ops' is not a mail address: write NAME@HOST"},
      {"smtp://ada:hunter2@mail.example/?to=a@b", "stands in front of @ without a password: name a password_file"},
      {"smtp://ada@mail.example/?to=a@b", "a user without a password: add password_file=FILE"},
      {"smtp://mail.example/?to=a@b&password_file=/p", "password_file without a user: write smtp://USER@HOST:PORT"},
      {"smtp:///?to=a@b", "names no mail server: write smtp://HOST:587 or smtps://HOST:465"},
      {"slack:", "it has no address: add url_file=FILE"},
      {"pagerduty:", "PagerDuty needs a routing key: add key_file=FILE"},
      {"webhook:example.org", "it begins with neither http:// nor https://"},
      {"webhook:https://ada:hunter2@example.org/", "has a user or password in it"},
      {"command:", "it has no program: write command:PROGRAM"},
      {"mailto:a@b?severty=info", "there is no parameter 'severty' (severity?)"},
      {"mailto:a@b?severity=high", "severity is info, warning, critical, and not 'high'"},
      {"mailto:a@b?from=x%0d%0aBcc:c@d", "a control character in its parameter from"},
      {"mailto:a@b?group=5", "group is a duration"},
      {"mailto:a@b?limit=many", "limit is a number of messages an hour"},
      {"mailto:a@b%0aRCPT", "a control character in an address"},
  };
  for (const auto& [to, what] : wrong) {
    const std::string message = problem(to);
    CHECK_MESSAGE(message.find(what) != message.npos, to << ": " << message);
    CHECK(message.find("hunter2") == message.npos);
  }
}

TEST_CASE("parameters of an address set the times, the limit and what is sent") {
  const Receiver r = of("mailto:a@b?group=5m&repeat=4h&limit=7&alerts=false&resolved=false");
  CHECK(r.group == std::chrono::minutes{5});
  CHECK(r.repeat == std::chrono::hours{4});
  CHECK(r.limit == 7);
  CHECK_FALSE(r.alerts);
  CHECK_FALSE(r.resolved);
  CHECK(of("mailto:a@b?group=250ms").group == std::chrono::milliseconds{250});
}

TEST_CASE("two receivers of one kind have names of their own") {
  std::vector<Receiver> all{of("slack:?url_file=/a"), of("slack:?url_file=/b"), of("mailto:a@b")};
  number_names(all);
  CHECK(all[0].name == "slack");
  CHECK(all[1].name == "slack-2");
  CHECK(all[2].name == "mailto:a@b");
}
