#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "stream/values/result.h"

namespace tocsin::adapters::kafka {

// A cluster, and what our topics there are called.
struct Address {
  std::string brokers;                         // HOST:PORT, several with commas
  std::string prefix = "tocsin";               // of the topics' names
  std::map<std::string, std::string> options;  // handed to librdkafka as they are: security, sizes

  [[nodiscard]] std::string topic(std::string_view name) const { return prefix + '.' + std::string{name}; }
};

// kafka://HOST:PORT[,HOST:PORT…][/PREFIX], or the same without kafka://.
stream::Result<Address> parse_address(std::string_view text);

// The properties of librdkafka: whether there is one of this name; those that have a default; and what is wrong with a
// value, in librdkafka's words (empty: nothing).
[[nodiscard]] bool is_option(const std::string& name);
[[nodiscard]] std::vector<std::string> option_names();
[[nodiscard]] std::string problem_of_option(const std::string& name, const std::string& value);

}  // namespace tocsin::adapters::kafka
