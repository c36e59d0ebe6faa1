#include "adapters/cli/version.h"

#include <fmt/format.h>

#include "adapters/journal/frame.h"
#include "schemas/limits.h"
#include "schemas/snapshot.h"

namespace tocsin::adapters::cli {

std::string version() {
  constexpr std::uint32_t journal_format = (journal::frame_magic >> 24) - '0';  // the digit that ends the magic
  static_assert(journal_format < 10);
  return fmt::format("tocsin {} (commit {})\nformats: envelope {}, snapshot {}, journal {}", TOCSIN_VERSION,
                     TOCSIN_COMMIT, schemas::envelope_format, schemas::snapshot_format, journal_format);
}

std::string version_number() { return TOCSIN_VERSION; }

}  // namespace tocsin::adapters::cli
