#include "adapters/config/config.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "adapters/config/options.h"

using namespace tocsin;
using namespace std::chrono_literals;
using adapters::config::Config;
using adapters::config::options_as_markdown;
using adapters::config::parse_config;
using adapters::config::show_config;

namespace {

const std::string brokers = "kafka: {brokers: [b:9092]}\n";

std::string refusal(const std::string& text) {
  const auto config = parse_config(text, "t.yml");
  return config ? "" : config.error().message;
}
// With brokers in the first line, so that the rest begins in line 2.
std::string refused(const std::string& rest) { return refusal(brokers + rest); }

std::string content(const std::string& file) {
  std::ifstream in{TOCSIN_SOURCE_DIR "/" + file};
  REQUIRE(in);
  return {std::istreambuf_iterator<char>{in}, {}};
}

}  // namespace

TEST_CASE("every option is read into its place") {
  const auto read = parse_config(R"(
kafka:
  brokers: [a:9092, "[::1]:9093"]
  session_timeout: 10s
  properties: {security.protocol: SASL_SSL, ssl.ca.location: /ca.pem}
  property_files: {sasl.password: /secret}
rules: [shipped, /etc/tocsin/rules.d]
alertmanager:
  instances:
    - url: https://am:9093/prefix
      token_file: /token
    - {url: "http://am2:9093", user: me, password_file: /password}
  labels: {cluster: west}
  canary: true
  buffer: 16MiB
http:
  listen: "[::1]:0"
  connections: 10
log: {format: json}
limits:
)",
                                 "t.yml");
  REQUIRE_MESSAGE(read, read.error().message);
  const Config& c = *read;
  CHECK(c.kafka.brokers == std::vector<std::string>{"a:9092", "[::1]:9093"});
  CHECK(c.kafka.session_timeout == 10s);
  CHECK(c.kafka.properties.at("security.protocol") == "SASL_SSL");
  CHECK(c.kafka.property_files.at("sasl.password") == "/secret");
  CHECK(c.rules == std::vector<std::string>{"shipped", "/etc/tocsin/rules.d"});
  REQUIRE(c.alertmanager.instances.size() == 2);
  CHECK(c.alertmanager.instances[0].auth.token_file == "/token");
  CHECK(c.alertmanager.instances[1].auth.user == "me");
  CHECK(c.alertmanager.canary);
  CHECK(c.alertmanager.most_bytes == 16u << 20);
  CHECK(c.http.connections == 10);
  CHECK(c.log.format == "json");
  CHECK(c.log.level == "info");
}

TEST_CASE("a configuration that is shown reads back as itself") {
  auto read = parse_config(
      brokers +
          "rules: [shipped, 'a: b', \"true\", \"x\\\"\\\\ \\n\"]\n"
          "alertmanager:\n  instances: [{url: 'http://a:1', user: u, password_file: /p}, {url: 'http://b:1'}]\n"
          "  labels: {cluster: '12', b: 'no'}\n  resend: 90s\nlimits: {queue_size: 3MiB}\n",
      "t.yml");
  REQUIRE_MESSAGE(read, read.error().message);
  const std::string shown = show_config(*read);
  const auto again = parse_config(shown, "shown.yml");
  REQUIRE_MESSAGE(again, again.error().message);
  CHECK(show_config(*again) == shown);
  CHECK(again->rules == read->rules);
  CHECK(again->alertmanager.instances[0].auth.user == "u");
  CHECK(again->alertmanager.labels == read->alertmanager.labels);
  CHECK(again->alertmanager.resend == 90s);
}

TEST_CASE("options reach the parts that they configure, and secrets come from their files") {
  const std::string path = std::string{P_tmpdir} + "/tocsin_secret_" + std::to_string(getpid());
  std::ofstream{path} << "pass word\n";
  const auto config = parse_config(
      "kafka: {brokers: [b:1], properties: {sasl.username: u}, property_files: {sasl.password: " + path +
          "}}\nalertmanager: {instances: [{url: 'https://a:1', ca_file: /ca, token_file: /t, server_name: "
          "n}], batch: 3, resend: 5s}\n"
          "http: {listen: '127.0.0.1:7', external_url: 'http://x', names: [y], connections: 9, header_size: 2KiB, "
          "token_file: /u}\n",
      "t.yml");
  REQUIRE_MESSAGE(config, config.error().message);
  const auto& poster = config->alertmanager;
  REQUIRE(poster.instances.size() == 1);
  CHECK(poster.instances[0].tls.ca_file == "/ca");
  CHECK(poster.instances[0].tls.server_name == "n");
  CHECK(poster.instances[0].auth.token_file == "/t");
  CHECK(poster.batch == 3);
  CHECK(poster.resend == 5s);
  CHECK(poster.external_url == "http://x");
  const auto server = adapters::config::server_options(*config);
  CHECK(server.listen == "127.0.0.1:7");
  CHECK(server.names == std::vector<std::string>{"y", "x"});
  CHECK(server.connections == 9);
  CHECK(server.header_bytes == 2048);
  CHECK(server.auth.token_file == "/u");
  CHECK(*adapters::config::kafka_properties(*config) ==
        std::map<std::string, std::string>{{"sasl.username", "u"}, {"sasl.password", "pass word"}});
  std::remove(path.c_str());
  CHECK(adapters::config::kafka_properties(*config).error().message.find(
            "kafka.property_files.sasl.password: cannot read") == 0);
}

TEST_CASE("each option has a meaning, a place of its own, and a default within its limits") {
  Config config;
  std::vector<const void*> places;
  const auto look = [&](const adapters::config::Option& option) {
    CHECK(option.meaning.ends_with("."));
    const auto place = option.place(config);
    places.push_back(std::visit(
        [](auto at) -> const void* {
          if constexpr (std::is_same_v<decltype(at), adapters::config::Size>) return at.bytes;
          else return at;
        },
        place));
    if (const auto* count = std::get_if<std::uint64_t*>(&place))
      CHECK((**count >= option.least && **count <= option.most));
    if (const auto* size = std::get_if<adapters::config::Size>(&place))
      CHECK((*size->bytes >= option.least && *size->bytes <= option.most));
    if (const auto* time = std::get_if<std::chrono::milliseconds*>(&place)) {
      CHECK(static_cast<std::uint64_t>((*time)->count()) >= option.least);
      CHECK(static_cast<std::uint64_t>((*time)->count()) <= option.most);
    }
  };
  for (const auto& section : adapters::config::sections())
    for (const auto& option : section.options) look(option);
  std::sort(places.begin(), places.end());
  CHECK(std::adjacent_find(places.begin(), places.end()) == places.end());
}

TEST_CASE("receivers of notifications are read with their conditions, and take the rest from their addresses") {
  const auto config = parse_config(
      "kafka: {brokers: [b:1]}\n"
      "notify:\n"
      "  relay: smtps://ada%40site.example@mail.example/?password_file=/etc/p\n"
      "  receivers:\n"
      "    - to: mailto:ops@site.example\n"
      "      jobs: {partition: [prod, batch], user: '!ci'}\n"
      "      repeat: 0s\n"
      "    - command: [notify-send, tocsin]\n"
      "      severity: info\n",
      "file");
  REQUIRE_MESSAGE(config, (config ? "" : config.error().message));
  const auto all = receivers(*config);
  REQUIRE_MESSAGE(all, (all ? "" : all.error().message));
  REQUIRE(all->size() == 2);
  CHECK(all->front().url == "smtps://mail.example:465");
  CHECK(all->front().password_file == "/etc/p");
  CHECK(all->front().jobs ==
        std::map<std::string, std::vector<std::string>>{{"partition", {"prod", "batch"}}, {"user", {"!ci"}}});
  CHECK(all->front().repeat == std::chrono::milliseconds{0});
  CHECK(all->back().name == "command:notify-send");
  const auto again = parse_config(show_config(*config), "shown");
  REQUIRE_MESSAGE(again, (again ? "" : again.error().message));
  CHECK(show_config(*again) == show_config(*config));
}

TEST_CASE("the page on the configuration has every option as the table has it, and the example is read") {
  CHECK_MESSAGE(content("docs/configuration.md").find(options_as_markdown()) != std::string::npos,
                "docs/configuration.md is not what `tocsin config reference` prints");
  const auto example = parse_config(content("deploy/tocsin.yml"), "deploy/tocsin.yml");
  CHECK_MESSAGE(example, example.error().message);
}

// Mistakes that people make: place, what is wrong, what to write instead.
TEST_CASE("an option that there is not is named with the one that was meant") {
  CHECK(refusal("kafka:\n  brokers: [b:9092]\n  broker: x\n") ==
        "t.yml:3:3: there is no option kafka.broker (brokers?)");
  CHECK(refused("htttp: {listen: '127.0.0.1:1'}") == "t.yml:2:1: there is no option htttp (http?)");
  CHECK(refused("log: {listen: '127.0.0.1:1'}") == "t.yml:2:7: there is no option log.listen (http.listen?)");
  CHECK(refused("http: {tls: {cert: a}}") == "t.yml:2:8: there is no option http.tls");
  CHECK(refused("alertmanager:\n  instances:\n  - url: http://a:1\n    pasword_file: /p\n") ==
        "t.yml:5:5: there is no option alertmanager.instances.pasword_file (password_file?)");
  CHECK(refused("listen: x") == "t.yml:2:1: there is no option listen (http.listen?)");
}

TEST_CASE("a wrong type is named with the right one") {
  CHECK(refusal("kafka: {brokers: b:9092}") == "t.yml:1:18: kafka.brokers is a list: write [b:9092]");
  CHECK(refused("kafka2: 1\nhttp: 9464") ==
        "t.yml:2:1: there is no option kafka2 (kafka?)\nt.yml:3:7: http is a section: its options stand below it, "
        "indented");
  CHECK(refused("http: {listen: [a, b]}") == "t.yml:2:16: http.listen is ADDRESS:PORT, and this is a list");
  CHECK(refused("alertmanager: {canary: yes}") == "t.yml:2:24: alertmanager.canary is true or false, and not 'yes'");
  CHECK(refused("http: {connections: many}") == "t.yml:2:21: http.connections is a whole number, and not 'many'");
  CHECK(refused("http: {connections: 1.5}") == "t.yml:2:21: http.connections is a whole number, and not '1.5'");
  CHECK(refused("http:\n  user:\n") == "t.yml:3:3: http.user has no value: write a text, or leave the option out");
  CHECK(refused("alertmanager: {instances: ['http://a:1']}") ==
        "t.yml:2:28: alertmanager.instances has a text: write - url: http://a:1");
  CHECK(refused("alertmanager: {labels: [a]}") ==
        "t.yml:2:24: alertmanager.labels is a mapping: write NAME: TEXT, a line each");
  CHECK(refusal("- a\n").find("t.yml:1:1: a configuration is a mapping of sections: kafka, rules,") == 0);
}

TEST_CASE("a wrong or missing unit is named with the units that there are") {
  CHECK(refused("alertmanager: {resend: 60}") ==
        "t.yml:2:24: alertmanager.resend: 60 has no unit: write 250ms, 45s, 5m or 1h");
  CHECK(refused("alertmanager: {resend: 1min}") ==
        "t.yml:2:24: alertmanager.resend: 'min' is none of the units: write 250ms, 45s, 5m or 1h");
  CHECK(refused("limits: {queue_size: 64MB}") ==
        "t.yml:2:22: limits.queue_size: 'MB' is none of the units: write 512B, 64KiB, 16MiB or 1GiB");
  CHECK(refused("limits: {queue_size: big}") ==
        "t.yml:2:22: limits.queue_size: 'big' is not a whole number with a unit: write 512B, 64KiB, 16MiB or 1GiB");
  CHECK(refused("limits: {queue_size: 99999999999999999999GiB}") == "t.yml:2:22: limits.queue_size: is too large");
}

TEST_CASE("a value outside its limits, or not among the choices, is named with them") {
  CHECK(refused("alertmanager: {resend: 100ms}") == "t.yml:2:24: alertmanager.resend is 1s to 1h, and not 100ms");
  CHECK(refused("limits: {queue_size: 1KiB}") == "t.yml:2:22: limits.queue_size is 1MiB to 16GiB, and not 1KiB");
  CHECK(refused("http: {connections: 0}") == "t.yml:2:21: http.connections is 1 to 100000, and not 0");
  CHECK(refused("log: {level: warn}") ==
        "t.yml:2:14: log.level is debug, info, warning or error, and not 'warn' (warning?)");
  CHECK(refused("log: {format: text}") == "t.yml:2:15: log.format is logfmt or json, and not 'text'");
}

TEST_CASE("addresses and names that are none are named with the form that they have") {
  CHECK(refusal("kafka: {brokers: [b]}") ==
        "t.yml:1:19: kafka.brokers has 'b', which is not HOST:PORT: write broker1.example:9092");
  CHECK(refusal("kafka: {brokers: ['kafka://b:9092']}") ==
        "t.yml:1:19: kafka.brokers has 'kafka://b:9092', which is not HOST:PORT: write broker1.example:9092");
  CHECK(
      refused("http: {listen: '9464'}") ==
      "t.yml:2:16: http.listen: '9464' is nothing to listen on: it has no port; write ADDRESS:PORT, as 127.0.0.1:9464");
  CHECK(refused("alertmanager: {instances: [{url: 'am:9093'}]}") ==
        "t.yml:2:34: alertmanager.instances.url: 'am:9093' is not an address: it begins with neither http:// nor "
        "https://; "
        "write "
        "http://HOST:PORT or https://HOST:PORT");
  CHECK(refusal("kafka: {brokers: [b:1], prefix: 'my topics'}") ==
        "t.yml:1:33: kafka.prefix is a name of letters, digits, '.', '_' and '-', and not 'my topics'");
  CHECK(refused("alertmanager: {labels: {rank: '1', a-b: x}}") ==
        "t.yml:2:25: alertmanager.labels.rank is a label that alerts have of their own: choose another name\n"
        "t.yml:2:36: 'a-b' cannot name a label: write letters, digits and '_', and begin with no digit");
}

TEST_CASE("what is needed, comes twice, or belongs together is named") {
  CHECK(refusal("kafka: {group: g}") ==
        "t.yml:1:1: kafka.brokers is missing, and has no default: write a list of HOST:PORT");
  CHECK(refusal("log: {level: info}").empty());  // the service keeps the log itself
  CHECK(refusal("ingest: {sources: [{name: n, topic: t, format: otlp_metrics}]}") ==
        "t.yml:1:19: the source n is a topic of Kafka: name its brokers in kafka.brokers");
  CHECK(refusal("kafka: {brokers: []}") == "t.yml:1:18: kafka.brokers is empty: write a list of HOST:PORT");
  CHECK(refused("log: {level: info}\nlog: {level: error}") == "t.yml:3:1: log is given twice, first in line 2");
  CHECK(refused("http: {user: 'a:b', password_file: x}\n") ==
        "t.yml:2:14: http.user has a colon in it, which ends the name: choose another");
  CHECK(refused("http:\n  user: a\n") ==
        "t.yml:3:9: http.user and http.password_file need each other: set both or none");
  CHECK(refused("http: {certificate_file: /c}") ==
        "t.yml:2:26: http.certificate_file and http.key_file need each other: set both or none");
  CHECK(refused("alertmanager: {instances: [{user: a, password_file: /p, token_file: /t}]}") ==
        "t.yml:2:28: an instance of alertmanager.instances has no url\n"
        "t.yml:2:28: an instance of alertmanager.instances has a user and a token: only one of them can be sent");
  CHECK(refused("alertmanager: {instances: [{url: 'http://a:1', ca_file: /c}]}") ==
        "t.yml:2:28: an instance of alertmanager.instances has options of TLS and a url with http://: write https://");
}

TEST_CASE("properties of librdkafka that are ours, or secret, do not stand in the file") {
  CHECK(refusal("kafka:\n  brokers: [b:1]\n  properties: {group.id: x, acks: all, sasl.password: hunter2}\n") ==
        "t.yml:3:16: group.id is set by the option kafka.group\n"
        "t.yml:3:29: acks is set by tocsin itself: leave it out\n"
        "t.yml:3:40: sasl.password is a secret: put it into a file, and name that in kafka.property_files");
}

TEST_CASE("an option without a value is named at its name, and many mistakes are not all printed") {
  CHECK(refused("rules:\nalertmanager: {instances: , labels: }\nlog: {level: ~}") ==
        "t.yml:2:1: rules has no value: write a list of texts, or leave the option out\n"
        "t.yml:3:16: alertmanager.instances has no value: write a list of instances, or leave the option out\n"
        "t.yml:3:29: alertmanager.labels has no value: write texts by name, or leave the option out\n"
        "t.yml:4:7: log.level has no value: write debug, info, warning or error, or leave the option out");
  CHECK(refused("rules: [~, [a]]") ==
        "t.yml:2:9: an item of rules has no value: write a text, or leave the option out\n"
        "t.yml:2:12: an item of rules is a text, and this is a list");
  std::string many = "rules: [";
  for (int i = 0; i < 100; ++i) many += "[],";
  const auto message = refused(many + "]");
  CHECK(std::count(message.begin(), message.end(), '\n') == 50);
  CHECK(message.ends_with("t.yml: and 50 more mistakes"));
}

TEST_CASE("a password in an address is not repeated") {
  const auto message =
      refusal("kafka: {brokers: ['me:hunter2@b:9092']}") +
      refused(
          "alertmanager: {instances: [{url: 'http://me:hunter2@a:9093'}]}\nhttp: {external_url: 'http://x:hunter2@y'}");
  CHECK(message.find("hunter2") == std::string::npos);
  CHECK(message.find("kafka.brokers has a user or password in it") != std::string::npos);
  CHECK(message.find("the address of 'a:9093' has a user or password in it") != std::string::npos);
}

TEST_CASE("a server that other machines reach without credentials, or credentials without TLS, are warned of") {
  const auto warned = [](const std::string& rest) {
    const auto config = parse_config(brokers + rest, "t.yml");
    REQUIRE_MESSAGE(config, config.error().message);
    const auto all = adapters::config::warnings(*config);
    return all.empty() ? "" : all.front();
  };
  CHECK(warned("http: {listen: '127.0.0.1:1'}").empty());
  CHECK(warned("http: {listen: '0.0.0.0:1'}").find("can be reached from other machines") != std::string::npos);
  CHECK(warned("http: {listen: '0.0.0.0:1', open: true}").find("who reaches 0.0.0.0:1 may read all") !=
        std::string::npos);
  CHECK(warned("http: {listen: '0.0.0.0:1', token_file: /t}").find("takes credentials without TLS") !=
        std::string::npos);
  CHECK(warned("http: {listen: '0.0.0.0:1', token_file: /t, certificate_file: /c, key_file: /k}").empty());
  CHECK(
      warned("alertmanager: {instances: [{url: 'http://a:1', token_file: /t}]}").find("without TLS; write https://") !=
      std::string::npos);
}

TEST_CASE("what is no YAML is named with its place") {
  CHECK(refusal("kafka: [\n").find("t.yml:2:1: not valid YAML: ") == 0);
  CHECK(refusal("kafka:\n\tbrokers: [b:1]\n").find("spaces, not tabs") != std::string::npos);
  CHECK(refused("---\nlog: {}\n") == "t.yml:3:1: the file holds several documents: keep one, without a line ---");
}

TEST_CASE("files and directories that a configuration names are looked at") {
  const std::string path = std::string{P_tmpdir} + "/tocsin_config_" + std::to_string(getpid()) + ".yml";
  std::ofstream{path} << brokers
                      << "rules: [shipped, /nowhere/rules]\nhttp: {user: a, password_file: /nowhere/password}\n";
  const auto read = adapters::config::read_config(path);
  REQUIRE(!read);
  CHECK(read.error().message ==
        path + ":2:18: rules: /nowhere/rules is not a directory; shipped is the program's own\n" + path +
            ":3:32: http.password_file: cannot read /nowhere/password: No such file or directory");
  std::remove(path.c_str());
  CHECK(adapters::config::read_config(path).error().message == "cannot read " + path + ": No such file or directory");
}
