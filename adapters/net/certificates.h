#pragma once

#include <filesystem>

#include "stream/values/result.h"

namespace tocsin::adapters::net {

// Whether files for TLS can be used: PEM, a key without a passphrase, the key of the certificate. Empty paths are left
// out. The error names the file and what it must be.
[[nodiscard]] stream::Result<void> check_certificates(const std::filesystem::path& certificate,
                                                      const std::filesystem::path& key,
                                                      const std::filesystem::path& authorities);

}  // namespace tocsin::adapters::net
