#pragma once

#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include "stream/topology/topology.h"

// How GPUs are named on a node: by PCI address, UUID or index.
namespace tocsin::stream {

[[nodiscard]] inline bool hexadecimal(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// A GPU's name in normal form. NVML writes a PCI address as 00000000:3B:00.0, sysfs as 0000:3b:00.0, and the kernel log
// without the function; all are one GPU. Any other name (index, UUID) stays as it is.
class GpuName {
 public:
  explicit GpuName(std::string_view text) : name_(text) {
    constexpr std::size_t longest = 16;  // 00000000:3B:00.0
    if (text.size() > longest) return;
    const auto first = text.find(':');
    if (first == std::string_view::npos || (first != 4 && first != 8)) return;
    std::string_view domain = text.substr(0, first);
    const std::string_view rest = text.substr(first + 1);
    if (rest.size() != 5 && rest.size() != 7) return;
    if (rest[2] != ':' || (rest.size() == 7 && rest[5] != '.')) return;
    for (const char c : domain)
      if (!hexadecimal(c)) return;
    for (std::size_t i = 0; i < rest.size(); ++i)
      if (i != 2 && i != 5 && !hexadecimal(rest[i])) return;
    if (first == 8 && domain.starts_with("0000")) domain.remove_prefix(4);
    std::size_t n = 0;
    const auto put = [&](char c) { flattened_[n++] = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c; };
    for (const char c : domain) put(c);
    put(':');
    for (const char c : rest) put(c);
    if (rest.size() == 5) put('.'), put('0');
    size_ = n;
  }
  [[nodiscard]] bool is_pci() const noexcept { return size_ != 0; }
  [[nodiscard]] bool is_uuid() const noexcept { return name_.starts_with("GPU-") || name_.starts_with("MIG-"); }
  // Virtual machines and broken drivers report an address or a UUID of zeros: many GPUs would be one.
  [[nodiscard]] bool names_nothing() const noexcept {
    return (is_pci() || is_uuid()) &&
           view().find_first_of("123456789abcdefABCDEF", is_uuid() ? 4 : 0) == std::string_view::npos;
  }
  [[nodiscard]] std::string_view view() const noexcept {
    return size_ == 0 ? name_ : std::string_view{flattened_.data(), size_};
  }

 private:
  std::string_view name_;
  std::array<char, 20> flattened_{};
  std::size_t size_ = 0;
};

// (node, name) as one text; does not allocate for names of the usual length.
class GpuKey {
 public:
  GpuKey(Slot node, std::string_view name) {
    const std::size_t size = sizeof node + name.size();
    char* to = short_.data();
    if (size > short_.size()) {
      long_.resize(size);
      to = long_.data();
    }
    std::memcpy(to, &node, sizeof node);
    std::memcpy(to + sizeof node, name.data(), name.size());
    view_ = {to, size};
  }
  GpuKey(const GpuKey&) = delete;
  GpuKey& operator=(const GpuKey&) = delete;
  [[nodiscard]] std::string_view view() const noexcept { return view_; }

 private:
  std::array<char, 64> short_;
  std::string long_;
  std::string_view view_;
};

}  // namespace tocsin::stream
