#pragma once

#include <cctype>
#include <string>
#include <string_view>

namespace tocsin::adapters::nccl {

// NCCL's "AllReduce" as PyTorch calls it: "all_reduce".
[[nodiscard]] inline std::string function_name(std::string_view name) {
  if (name == "AlltoAll") return "all_to_all";
  std::string result;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isupper(byte) != 0 && !result.empty()) result += '_';
    result += static_cast<char>(byte < 0x20 || byte > 0x7e ? '?' : std::tolower(byte));
  }
  return result;
}

}  // namespace tocsin::adapters::nccl
