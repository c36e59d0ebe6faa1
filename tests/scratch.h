#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace tocsin::test {

// A directory that goes with the test.
class Scratch {
 public:
  Scratch() {
    char name[] = "/tmp/tocsin-test-XXXXXX";
    if (::mkdtemp(name) == nullptr) throw std::runtime_error{"no directory can be made in /tmp"};
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  void file(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream{path_ / name, std::ios::binary} << text;
  }
  void program(const std::string& name, const std::string& text) const {
    file(name, "#!/bin/sh\n" + text);
    std::filesystem::permissions(path_ / name, std::filesystem::perms::owner_all);
  }

 private:
  std::filesystem::path path_;
};

}  // namespace tocsin::test
