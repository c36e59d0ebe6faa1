// What each medium is sent, as files in golden/: after a change of a text write them again with TOCSIN_WRITE_GOLDEN=1,
// and read the difference.
#include "adapters/notify/render.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/notify/notices.h"

using namespace tocsin;
using namespace tocsin::adapters::notify;

namespace {

const Links links{"https://tocsin.example/", "", "https://runbooks.example/{family}/{rule}", "n1.example"};

Message::Item item(const stream::AlertTransition& t, bool first = true) { return {alert_of(t), first}; }

Message message_of(std::vector<Message::Item> items) {
  Message message;
  message.id = 0x1234, message.at = test::at(90);
  message.items = std::move(items);
  return message;
}

// By the name of the golden file.
std::map<std::string, Message> messages() {
  std::map<std::string, Message> all{{"firing", message_of({item(test::hang())})},
                                     {"resolved", message_of({item(test::resolved(test::hang()), false)})},
                                     {"repeated", message_of({item(test::hang(), false)})},
                                     {"bare", message_of({item(test::slow_input())})},
                                     {"several", message_of({item(test::hang()), item(test::slow_input(), false)})}};
  all["several"].more = 12, all["several"].left_out = 1, all["several"].held_until = test::at(3600);
  Message ended = message_of({item(test::resolved(test::hang(), stream::ResolveReason::attempt_ended))});
  ended.ended = ended_of(test::failure());
  ended.ended->last_lines = {"step 311 loss 2.31", "RuntimeError: \"häng\" in = AllReduce"};
  all["ended"] = ended;
  Message trial = message_of({});
  trial.test = true;
  all["test"] = trial;
  return all;
}

// A body of JSON is written with a line each, so that a difference can be read.
std::string readable(const Payload& payload) {
  if (payload.content_type != "application/json") return payload.body;
  return nlohmann::ordered_json::parse(payload.body).dump(2) + "\n";
}

}  // namespace

TEST_CASE("what each medium is sent is as it was") {
  const std::filesystem::path golden = std::filesystem::path{TOCSIN_SOURCE_DIR} / "tests/notify/golden";
  const bool write = std::getenv("TOCSIN_WRITE_GOLDEN") != nullptr;
  const std::pair<const char*, const char*> receivers[] = {
      {"mail", "mailto:ops@site.example"},
      {"slack", "slack:?url_file=/hook"},
      {"teams", "teams:?url_file=/hook"},
      {"discord", "discord:?url_file=/hook"},
      {"pagerduty", "pagerduty:?key_file=/key"},
      {"webhook", "webhook:https://example.org/hook"},
      {"alertmanager", "alertmanager-webhook:https://example.org/hook"},
      {"command", "command:/usr/local/bin/notify --all"}};
  for (const auto& [medium, to] : receivers)
    for (const auto& [name, message] : messages()) {
      const Receiver receiver = test::receiver(to);
      const std::string text = readable(render(message, receiver, links));
      const auto path = golden / (std::string{medium} + "-" + name);
      if (write) std::ofstream{path, std::ios::binary} << text;
      std::ifstream in{path, std::ios::binary};
      CHECK_MESSAGE(text == std::string(std::istreambuf_iterator<char>{in}, {}), path.string());
      CHECK(text.find("unknown") == text.npos);
    }
}

TEST_CASE("subject and first line name the job, the fault, the culprit and what to do") {
  const Message message = message_of({item(test::hang())});
  CHECK(subject_of(message) == "[critical] llama: A NCCL collective hangs (rank 3 on n2, GPU 1)");
  CHECK(first_line_of(message, links) == "Do: tocsin stacks 4711 on n2, then restart the job");
  // An alert without an action: what there is instead, and no empty line.
  CHECK(first_line_of(message_of({item(test::slow_input())}), links) ==
        "Do: read https://runbooks.example/D1/data_wait");
  CHECK(first_line_of(message_of({item(test::slow_input())}), {}) == "");
  CHECK(text_of(message_of({item(test::slow_input())}), {})
            .starts_with("[warning] bert: Data loading limits the step\n"));
}

TEST_CASE("nothing that a job is called can break a header or mention a channel") {
  auto t = test::hang();
  t.subject = "x\r\nBcc: all@site.example <!channel> @everyone *bold*";
  const Message message = message_of({item(t)});
  const std::string mail = render(message, test::receiver("mailto:ops@site.example"), links).body;
  CHECK(mail.find("\nBcc:") == mail.npos);
  CHECK(mail.substr(0, mail.find("\r\n\r\n")).find("\r\nBcc") == mail.npos);
  const std::string slack = render(message, test::receiver("slack:?url_file=/hook"), links).body;
  CHECK(slack.find("<!channel>") == slack.npos);
  const std::string discord = render(message, test::receiver("discord:?url_file=/hook"), links).body;
  CHECK(discord.find(R"("allowed_mentions":{"parse":[]})") != discord.npos);
}

TEST_CASE("a text of any length stays within what the medium takes") {
  auto t = test::hang();
  t.shows = std::string(100'000, 'x');
  t.actions = {std::string(50'000, 'y')};
  t.summary = std::string(5'000, 'z');
  std::vector<Message::Item> many;
  for (int i = 0; i < 20; ++i) many.push_back(item(t));
  const Message message = message_of(many);
  const auto bytes = [&](const char* to) { return render(message, test::receiver(to), links).body.size(); };
  CHECK(bytes("slack:?url_file=/h") < 40'000);
  CHECK(bytes("teams:?url_file=/h") < 28'000);
  CHECK(bytes("discord:?url_file=/h") < 10'000);
  CHECK(bytes("pagerduty:?key_file=/h") < 64'000);
  const std::string mail = render(message, test::receiver("mailto:a@b"), links).body;
  for (std::size_t begin = 0; begin < mail.size();) {
    const std::size_t end = std::min(mail.find('\n', begin), mail.size());
    REQUIRE(end - begin <= 998);
    begin = end + 1;
  }
}

TEST_CASE("artifacts go with the mail, and what does not fit is named") {
  Message message = message_of({});
  message.ended = ended_of(test::failure());
  const std::string mail = render(message, test::receiver("mailto:ops@site.example"), links,
                                  {{"/runs/llama/out.log", "line\n", ""},
                                   {"/runs/llama/core", "", "3.0 GiB, more than 25.0 MiB for one file"}})
                               .body;
  CHECK(mail.find("Content-Type: multipart/mixed") != mail.npos);
  CHECK(mail.find("filename=\"out.log\"") != mail.npos);
  CHECK(mail.find("bGluZQo=\r\n") != mail.npos);
  CHECK(mail.find("Not attached:\r\n  /runs/llama/core: 3.0 GiB, more than 25.0 MiB for one file\r\n") != mail.npos);
}
