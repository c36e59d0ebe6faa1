#pragma once

#include <map>
#include <string>

#include "adapters/alertmanager/poster.h"
#include "adapters/config/config.h"
#include "adapters/http/server.h"
#include "stream/values/result.h"

// A configuration as the options of the parts that it configures.
namespace tocsin::adapters::config {

[[nodiscard]] alertmanager::PosterOptions poster_options(const Config& config);
[[nodiscard]] http::ServerOptions server_options(const Config& config);
// Of librdkafka: kafka.properties, and those of kafka.property_files with the secrets read. Not to be logged.
[[nodiscard]] stream::Result<std::map<std::string, std::string>> kafka_properties(const Config& config);

}  // namespace tocsin::adapters::config
