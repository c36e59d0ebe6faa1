#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

// A directory of a test's own, gone with it.
class TestDirectory {
 public:
  TestDirectory() {
    static int count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("tocsin-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
    std::filesystem::remove_all(path_);
  }
  ~TestDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestDirectory(const TestDirectory&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};
