#include "adapters/net/credentials.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <memory>
#include <string>

#include <algorithm>
#include <cstring>
#include <fstream>

namespace tocsin::adapters::net {

using stream::Errc;
using stream::Error;

stream::Result<std::string> read_secret(const std::filesystem::path& file) {
  constexpr std::size_t longest = 16u << 10;
  std::ifstream in{file, std::ios::binary};
  if (!in) return Error{Errc::io, "cannot read the secret in " + file.string() + ": " + std::strerror(errno)};
  std::string text(longest + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (in.bad()) return Error{Errc::io, "cannot read the secret in " + file.string()};
  text.resize(std::min(text.find_first_of("\r\n"), text.size()));
  if (text.empty()) return Error{Errc::malformed, file.string() + " holds no secret: its first line is empty"};
  if (text.size() > longest)
    return Error{Errc::too_large, "the first line of " + file.string() + " is longer than a secret may be (16 KiB)"};
  if (std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
    return Error{Errc::malformed,
                 "the secret in " + file.string() + " holds a control character; it is one line of text"};
  return text;
}

std::string base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');  // with a NUL behind it
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

stream::Result<std::string> authorization(const ClientAuth& auth) {
  if (!auth.token_file.empty()) {
    const auto token = read_secret(auth.token_file);
    if (!token) return token.error();
    return "Bearer " + *token;
  }
  if (auth.user.empty()) return std::string{};
  const auto password = read_secret(auth.password_file);
  if (!password) return password.error();
  return "Basic " + base64(auth.user + ":" + *password);
}

std::string masked(std::string text, std::string_view secret) {
  if (secret.empty()) return text;
  for (std::size_t at = 0; (at = text.find(secret, at)) != text.npos; at += 3) text.replace(at, secret.size(), "***");
  return text;
}

bool same_secret(std::string_view given, std::string_view expected) {
  return given.size() == expected.size() && CRYPTO_memcmp(given.data(), expected.data(), given.size()) == 0;
}

using stream::Errc;
using stream::Error;

namespace {

struct FreeContext {
  void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
};

int no_passphrase(char*, int, int, void*) { return 0; }  // else OpenSSL asks the terminal

Error wrong(const std::filesystem::path& file, const std::string& what) {
  const unsigned long code = ERR_peek_error();
  const char* why = code != 0 ? ERR_reason_error_string(code) : nullptr;
  ERR_clear_error();
  return {Errc::malformed, file.string() + " " + what + (why != nullptr ? std::string{" ("} + why + ")" : "")};
}

}  // namespace

stream::Result<void> check_certificates(const std::filesystem::path& certificate, const std::filesystem::path& key,
                                        const std::filesystem::path& authorities) {
  const std::unique_ptr<SSL_CTX, FreeContext> context{SSL_CTX_new(TLS_method())};
  if (!context) return Error{Errc::io, "OpenSSL cannot begin"};
  SSL_CTX_set_default_passwd_cb(context.get(), no_passphrase);
  ERR_clear_error();
  if (!certificate.empty() && SSL_CTX_use_certificate_chain_file(context.get(), certificate.c_str()) != 1)
    return wrong(certificate, "holds no certificate that can be used: it must be PEM");
  if (!authorities.empty() && SSL_CTX_load_verify_locations(context.get(), authorities.c_str(), nullptr) != 1)
    return wrong(authorities, "holds no certificates of authorities that can be used: it must be PEM");
  if (key.empty()) return {};
  if (SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(), SSL_FILETYPE_PEM) != 1) {
    const bool other = ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH;
    return wrong(key, other ? "is not the key of " + certificate.string() + ": they must be a pair"
                            : "holds no private key that can be used: it must be PEM, without a passphrase");
  }
  return {};
}

}  // namespace tocsin::adapters::net
