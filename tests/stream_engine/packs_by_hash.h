#pragma once

#include <map>
#include <string>
#include <string_view>

#include "stream/ports.h"

namespace tocsin::tests {

// Packs that a test has made, by their hash.
class PacksByHash final : public stream::PackSource {
 public:
  std::string add(const stream::LoadedPack& pack) {
    packs_[pack.pack->hash] = pack;
    return pack.pack->hash;
  }
  void remove(const std::string& hash) { packs_.erase(hash); }
  void prepare(std::string_view, std::string_view) override {}
  stream::Result<stream::LoadedPack> pack(std::string_view hash) override {
    const auto found = packs_.find(hash);
    if (found == packs_.end()) return stream::Error{stream::Errc::not_found, "nobody has it"};
    return found->second;
  }

 private:
  std::map<std::string, stream::LoadedPack, std::less<>> packs_;
};

}  // namespace tocsin::tests
