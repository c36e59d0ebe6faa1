#include "adapters/journal/follow.h"

#include <string>
#include <utility>

namespace tocsin::adapters::journal {

stream::Result<std::optional<stream::PackText>> first_pack(const std::filesystem::path& journal,
                                                           std::size_t most_entries) {
  auto reader = Reader::open(journal);
  if (!reader) return reader.error();
  Follower log{std::move(*reader)};
  for (std::size_t read = 0; read < most_entries; ++read) {
    const auto entry = log.next();
    if (!entry) return entry.error();
    if (*entry == nullptr) break;
    for (const stream::ControlRecord& control : (*entry)->controls)
      if (control.kind == stream::ControlRecord::Kind::pack)
        return std::optional{stream::PackText{std::string{control.pack_hash}, std::string{control.pack_text}}};
  }
  return std::optional<stream::PackText>{};
}

}  // namespace tocsin::adapters::journal
