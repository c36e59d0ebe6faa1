#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "stream/values/result.h"

namespace tocsin::adapters::net {

// How a client proves who it is. At most one of the two; secrets are read from their files at each connection, so that
// they may change.
struct ClientAuth {
  std::string user;
  std::filesystem::path password_file;  // basic
  std::filesystem::path token_file;     // bearer
};

// What a client trusts, and its own certificate. Paths that are empty: the system's authorities, no certificate.
struct ClientTls {
  std::filesystem::path ca_file, certificate_file, key_file;
  std::string server_name;  // in the server's certificate, where it is not the host's
};

// A server, and how a client proves itself to it.
struct Endpoint {
  std::string url;  // http://host:9093; its path is put before a request's
  ClientTls tls;
  ClientAuth auth;
};

// The first line of a file that holds a secret. The error names the file and never its content.
[[nodiscard]] stream::Result<std::string> read_secret(const std::filesystem::path& file);
// The value of an Authorization header; empty without one.
[[nodiscard]] stream::Result<std::string> authorization(const ClientAuth& auth);
[[nodiscard]] std::string base64(std::string_view bytes);
// The text with *** in the place of a secret, wherever that stands: a server may repeat what it was sent.
[[nodiscard]] std::string masked(std::string text, std::string_view secret);
// Takes as long for a wrong text as for the right one of that length.
[[nodiscard]] bool same_secret(std::string_view given, std::string_view expected);

// Whether files for TLS can be used: PEM, a key without a passphrase, the key of the certificate. Empty paths are left
// out. The error names the file and what it must be.
[[nodiscard]] stream::Result<void> check_certificates(const std::filesystem::path& certificate,
                                                      const std::filesystem::path& key,
                                                      const std::filesystem::path& authorities);

}  // namespace tocsin::adapters::net
