#include <librdkafka/rdkafka.h>

#include "adapters/kafka/address.h"
#include "adapters/kafka/handles.h"

namespace tocsin::adapters::kafka {

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
