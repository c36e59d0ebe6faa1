#include "adapters/config/config.h"
#include "adapters/net/credentials.h"
#include "adapters/net/url.h"

namespace tocsin::adapters::config {

namespace {

bool asks_for_credentials(const http::ServerOptions& http) {
  return !http.auth.user.empty() || !http.auth.token_file.empty() || !http.tls.client_ca_file.empty();
}

}  // namespace

std::string unguarded(const Config& config) {
  const auto& http = config.http;
  const auto listen = net::parse_listen(http.listen);
  if (config.http_open || !listen || listen->loopback() || asks_for_credentials(http)) return {};
  return "http.listen: " + http.listen +
         " can be reached from other machines, and who reaches it may read all, push records and reload the rules; set "
         "http.token_file, or http.user and http.password_file; http.open: true allows it";
}

std::vector<std::string> warnings(const Config& config) {
  std::vector<std::string> all;
  const auto& http = config.http;
  const auto listen = net::parse_listen(http.listen);
  if (listen && !listen->loopback()) {
    if (config.http_open && !asks_for_credentials(http))
      all.push_back("http.open: who reaches " + http.listen + " may read all, push records and reload the rules");
    if (auto open = unguarded(config); !open.empty()) all.push_back(std::move(open));
    if (http.tls.certificate_file.empty() && !(http.auth.user.empty() && http.auth.token_file.empty()))
      all.push_back("http.listen: " + http.listen +
                    " takes credentials without TLS; set http.certificate_file and http.key_file");
  }
  for (const auto& instance : config.alertmanager.instances)
    if (instance.url.starts_with("http://") && !(instance.auth.user.empty() && instance.auth.token_file.empty()))
      all.push_back("alertmanager.instances: " + instance.url + " is sent credentials without TLS; write https://");
  for (const auto& receiver : config.notify.receivers)
    for (const char* medium : {"slack:https://", "teams:https://", "discord:https://"})
      if (receiver.to.starts_with(medium))
        all.push_back("notify.receivers: the URL of a webhook is a secret: put it into a file, and write url_file");
  return all;
}

stream::Result<std::vector<notify::Receiver>> receivers(const Config& config) {
  std::vector<notify::Receiver> all;
  for (const notify::Receiver& given : config.notify.receivers) {
    auto receiver = notify::complete(given, config.notify.relay);
    if (!receiver) return stream::Error{receiver.error().code, "notify.receivers: " + receiver.error().message};
    all.push_back(std::move(*receiver));
  }
  notify::number_names(all);
  return all;
}

http::ServerOptions server_options(const Config& config) {
  http::ServerOptions options = config.http;
  if (const auto url = net::parse_url(config.alertmanager.external_url)) options.names.push_back(url->host);
  return options;
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
