#include "adapters/service/rule_watch.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "dsl/load/loader.h"

namespace tocsin::adapters::service {

namespace fs = std::filesystem;

RuleWatch::RuleWatch(std::vector<fs::path> directories)
    : directories_(std::move(directories)), read_(seen()), last_(read_) {}

bool RuleWatch::changed(Clock::time_point now) {
  if (directories_.empty()) return false;
  if (std::string there = seen(); there != last_) {
    last_ = std::move(there);
    since_ = now;
  }
  if (last_ == read_ || now < since_ + settles) return false;
  read_ = last_;
  return true;
}

std::string RuleWatch::seen() const {
  std::string all;
  for (const fs::path& directory : directories_) {
    auto paths = dsl::pack_paths(directory);
    all += directory.string() + (paths ? "" : ": " + paths.error().message) + '\n';
    if (!paths) continue;
    std::sort(paths->begin(), paths->end());
    for (const fs::path& path : *paths) {
      struct stat file {};
      if (::stat(path.c_str(), &file) != 0) continue;
      all += path.string() + ' ' + std::to_string(file.st_dev) + ' ' + std::to_string(file.st_ino) + ' ' +
             std::to_string(file.st_size) + ' ' + std::to_string(file.st_mtim.tv_sec) + '.' +
             std::to_string(file.st_mtim.tv_nsec) + ' ' + std::to_string(file.st_ctim.tv_sec) + '.' +
             std::to_string(file.st_ctim.tv_nsec) + '\n';
    }
  }
  return all;
}

}  // namespace tocsin::adapters::service
