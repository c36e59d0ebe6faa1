#include "adapters/cli/live_sources.h"

#include <algorithm>
#include <utility>

#include "adapters/wrap/wrap.h"

namespace tocsin::adapters::cli {

stream::Result<std::unique_ptr<LiveSources>> LiveSources::open(const config::Config& config,
                                                               sources::LiveOptions options, ServiceOutlet& outlet,
                                                               const service::Log& log) {
  for (const ingest::Source& source : config.ingest.sources) {
    if (!source.topic.empty()) continue;
    options.sources.push_back(source);
    sources::extract_from_files(options.sources.back());
    // The kernel's log has no source of its own in the records.
    if (source.format == "kernel_log" && source.covers.empty()) options.sources.back().covers = "kernel_log";
  }
  if (options.sources.empty()) return std::unique_ptr<LiveSources>{};
  const auto say = [log](const std::string& line) { log("ingest: " + line); };
  options.pack = [&outlet] { return outlet.known_rules().pack; };
  options.log = say;
  options.show = [&outlet](std::vector<prometheus::SourceFigures> figures) { outlet.show(std::move(figures)); };
  auto role = sources::LiveRole::start(std::move(options));
  if (!role) return role.error();
  std::unique_ptr<LiveSources> live{new LiveSources{log}};
  live->role_ = std::move(*role);
  return live;
}

void LiveSources::begin(const std::filesystem::path& state) {
  const auto say = [log = log_](const std::string& line) { log.warning("ingest: " + line); };
  const auto& all = role_->sources();
  if (std::any_of(all.begin(), all.end(), [](const auto& source) { return !source.files.empty(); }))
    files_ = std::make_unique<sources::FileFollower>(*role_, state / "followed.json", wrap::host(), say);
  if (std::any_of(all.begin(), all.end(), [](const auto& source) { return !source.scrape.empty(); }))
    scraper_ = std::make_unique<sources::Scraper>(*role_, say);
}

void LiveSources::stop() {
  files_.reset(), scraper_.reset();
  role_->stop();
}

}  // namespace tocsin::adapters::cli
