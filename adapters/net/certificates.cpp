#include "adapters/net/certificates.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <memory>
#include <string>

namespace tocsin::adapters::net {

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
