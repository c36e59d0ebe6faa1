#include "adapters/kafka/address.h"

#include <algorithm>
#include <charconv>

#include "adapters/kafka/client.h"

namespace tocsin::adapters::kafka {

using stream::Errc;
using stream::Error;
using stream::Result;

namespace {

bool names_a_broker(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  unsigned port = 0;
  const auto [end, wrong] = std::from_chars(text.data() + colon + 1, text.data() + text.size(), port);
  return wrong == std::errc{} && end == text.data() + text.size() && port > 0 && port < 65536;
}

// What Kafka takes in a topic's name; with our longest name behind it, within its 249 characters.
bool names_topics(std::string_view text) {
  return !text.empty() && text.size() <= 200 && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  });
}

}  // namespace

Result<Address> parse_address(std::string_view text) {
  if (text.find('@') != std::string_view::npos)
    return Error{Errc::malformed,
                 "an address holds no user and no password: put them into a configuration, and name that in place of "
                 "the address, FILE.yml"};
  const std::string whole{text};
  const auto wrong = [&](const std::string& why) { return Error{Errc::malformed, "'" + whole + "': " + why}; };
  constexpr std::string_view scheme = "kafka://";
  if (text.starts_with(scheme)) text.remove_prefix(scheme.size());
  else if (text.find("://") != std::string_view::npos) return wrong("write kafka://HOST:PORT");
  Address address;
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    address.prefix = text.substr(slash + 1);
    text = text.substr(0, slash);
    if (!names_topics(address.prefix))
      return wrong("behind the / stands the prefix of the topics' names: letters, digits, '.', '_', '-'");
  }
  address.brokers = text;
  for (std::string_view rest = text; !rest.empty() || text.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view broker = rest.substr(0, comma);
    if (!names_a_broker(broker))
      return wrong("'" + std::string{broker} + "' is not HOST:PORT; write kafka://HOST:PORT");
    if (comma == rest.size()) break;
    rest.remove_prefix(comma + 1);
    if (rest.empty()) return wrong("a broker is missing behind the comma");
  }
  return address;
}

bool is_option(const std::string& name) {
  const Configuration conf{rd_kafka_conf_new()};
  return rd_kafka_conf_set(conf.get(), name.c_str(), "", nullptr, 0) !=
         RD_KAFKA_CONF_UNKNOWN;  // to ask for one that is unset says unknown
}

std::vector<std::string> option_names() {
  const Configuration conf{rd_kafka_conf_new()};
  std::size_t count = 0;
  const char** pairs = rd_kafka_conf_dump(conf.get(), &count);
  std::vector<std::string> names;
  for (std::size_t i = 0; i + 1 < count; i += 2) names.emplace_back(pairs[i]);
  rd_kafka_conf_dump_free(pairs, count);
  return names;
}

std::string problem_of_option(const std::string& name, const std::string& value) {
  const Configuration conf{rd_kafka_conf_new()};
  char why[512] = {};
  return rd_kafka_conf_set(conf.get(), name.c_str(), value.c_str(), why, sizeof why) == RD_KAFKA_CONF_OK ? "" : why;
}

}  // namespace tocsin::adapters::kafka
