#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "adapters/sources/live_role.h"

namespace tocsin::adapters::sources {

// A place of ingest.sources.files with its parts: {job}, {rank} and the like stand for what varies, as * does.
[[nodiscard]] std::string glob_of(std::string_view place);
// The label under which a record has the name of its file, of the n-th place; and the mapping with what the parts of
// the places say.
[[nodiscard]] std::string file_label(std::size_t place);
void extract_from_files(ingest::Source& source);

// Follows the files of each source that has some, from the byte that the log has: also over a rotation (a new file
// under the name, the old one read to its end), a truncation (it begins anew) and restarts of this program. Files that
// are there at the first start of a source are read from their ends. A file that was deleted is closed once it is read
// and was silent for a while. A pattern with a wildcard takes regular files alone; a place without one may be a link,
// or a character device, such as /dev/kmsg, which is read from now on. Owned by the service's command; works on a
// thread of its own.
class FileFollower {
 public:
  // `state`: a file that remembers how far each file was read. `host`: this machine, as its records name it.
  FileFollower(LiveRole& role, std::filesystem::path state, std::string host,
               std::function<void(const std::string& line)> log);
  ~FileFollower();
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::adapters::sources
