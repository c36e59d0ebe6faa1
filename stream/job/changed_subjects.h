#pragma once

#include <array>
#include <memory>
#include <set>
#include <string>

#include "stream/values/archive.h"
#include "stream/values/copy_on_write.h"
#include "stream/values/digest.h"

namespace tocsin::stream {

// The names of a shard's subjects that have changed since their sections were taken. It is lent in parts, so that a
// change copies one part at most. Owned by its Shard.
class ChangedSubjects {
 public:
  void insert(const std::string& name) { part(name).insert(name); }
  void erase(const std::string& name) { part(name).erase(name); }
  // A list of names, in no order.
  void save(Writer& out) const {
    for (const auto& part : parts_)
      out.later([names = part.lend()](Writer& of) {
        for (const std::string& name : *names) of(element_tag, name);
      });
  }

 private:
  using Names = std::set<std::string>;
  Names& part(const std::string& name) { return parts_[hash_text(name) % parts_.size()].own(); }
  std::array<CopyOnWrite<Names>, 64> parts_;
};

}  // namespace tocsin::stream
