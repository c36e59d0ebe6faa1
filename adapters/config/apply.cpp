#include "adapters/config/apply.h"

#include "adapters/net/credentials.h"
#include "adapters/net/url.h"

namespace tocsin::adapters::config {

std::vector<std::string> warnings(const Config& config) {
  std::vector<std::string> all;
  const auto& http = config.http;
  const auto listen = net::parse_listen(http.listen);
  if (listen && !listen->loopback()) {
    if (http.user.empty() && http.token_file.empty() && http.client_ca_file.empty())
      all.push_back("http.listen: " + http.listen +
                    " can be reached from other machines, and who reaches it may read all and reload the rules; set "
                    "http.token_file, or "
                    "http.user and http.password_file");
    if (http.certificate_file.empty() && !(http.user.empty() && http.token_file.empty()))
      all.push_back("http.listen: " + http.listen +
                    " takes credentials without TLS; set http.certificate_file and http.key_file");
  }
  for (const auto& instance : config.alertmanager.instances)
    if (instance.url.starts_with("http://") && !(instance.auth.user.empty() && instance.auth.token_file.empty()))
      all.push_back("alertmanager.instances: " + instance.url + " is sent credentials without TLS; write https://");
  return all;
}

alertmanager::PosterOptions poster_options(const Config& config) {
  alertmanager::PosterOptions options = config.alertmanager;
  options.external_url = config.http.external_url;
  return options;
}

http::ServerOptions server_options(const Config& config) {
  const auto& from = config.http;
  http::ServerOptions to;
  to.listen = from.listen;
  to.names = from.names;
  if (const auto external = net::parse_url(from.external_url)) to.names.push_back(external->host);
  to.tls = {from.certificate_file, from.key_file, from.client_ca_file};
  to.auth = {from.user, from.password_file, from.token_file};
  to.header_bytes = from.header_size;
  to.body_bytes = from.body_size;
  to.connections = from.connections;
  to.requests_per_second = static_cast<unsigned>(from.requests_per_second);
  to.read_time = from.read_timeout;
  to.idle_time = from.idle_timeout;
  return to;
}

stream::Result<std::map<std::string, std::string>> kafka_properties(const Config& config) {
  auto properties = config.kafka.properties;
  for (const auto& [name, file] : config.kafka.property_files) {
    auto secret = net::read_secret(file);
    if (!secret)
      return stream::Error{secret.error().code, "kafka.property_files." + name + ": " + secret.error().message};
    properties[name] = std::move(*secret);
  }
  return properties;
}

}  // namespace tocsin::adapters::config
