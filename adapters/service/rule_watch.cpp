#include "adapters/service/rule_watch.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

namespace tocsin::adapters::service {

namespace fs = std::filesystem;

RuleWatch::RuleWatch(std::vector<fs::path> directories) : directories_(std::move(directories)), read_(seen()), last_(read_) {}

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
    std::vector<std::string> files;
    std::error_code error;
    for (fs::recursive_directory_iterator entry{directory, error}, end; !error && entry != end; entry.increment(error)) {
      if (entry->path().filename().string().starts_with(".")) {  // as those of an editor, or of Kubernetes
        entry.disable_recursion_pending();
        continue;
      }
      struct stat file {};
      if (entry->path().extension() != ".lua" || ::stat(entry->path().c_str(), &file) != 0) continue;
      files.push_back(entry->path().string() + ' ' + std::to_string(file.st_dev) + ' ' + std::to_string(file.st_ino) + ' ' +
                      std::to_string(file.st_size) + ' ' + std::to_string(file.st_mtim.tv_sec) + '.' +
                      std::to_string(file.st_mtim.tv_nsec) + ' ' + std::to_string(file.st_ctim.tv_sec) + '.' +
                      std::to_string(file.st_ctim.tv_nsec));
    }
    std::sort(files.begin(), files.end());
    all += directory.string() + (error ? ": " + error.message() : "") + '\n';
    for (const std::string& file : files) all += file + '\n';
  }
  return all;
}

}  // namespace tocsin::adapters::service
