#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "adapters/sources/live_role.h"
#include "stream/values/result.h"

namespace tocsin::adapters::sources {

struct ScrapeTarget {
  std::string url;  // with the path, /metrics where none is given
  std::map<std::string, std::string> labels;
};
// HOST:PORT, or a URL.
[[nodiscard]] stream::Result<ScrapeTarget> scrape_target(std::string_view text);
// The file of Prometheus' file discovery, in JSON: [{"targets": ["HOST:PORT"], "labels": {"NAME": "VALUE"}}].
[[nodiscard]] stream::Result<std::vector<ScrapeTarget>> read_targets(const std::filesystem::path& file);

// Asks the targets of each source that has some for their metrics, each as often as its source says, all at once and
// none waiting for another. A target that does not answer is a line of the log, and another when it answers again.
// Owned by the service's command; works on a thread of its own.
class Scraper {
 public:
  Scraper(LiveRole& role, std::function<void(const std::string& line)> log);
  ~Scraper();
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::adapters::sources
