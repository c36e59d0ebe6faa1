#pragma once

#include <map>
#include <string>
#include <string_view>

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

}  // namespace tocsin::adapters::kafka
