#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "adapters/kafka/address.h"
#include "adapters/kafka/group.h"
#include "stream/values/record.h"
#include "stream/values/result.h"

namespace tocsin::adapters::kafka {

struct Outgoing {
  std::string_view topic;  // behind the prefix
  int partition = 0;
  std::string_view key;
  std::span<const std::byte> value;  // without data: a tombstone
};

// The transactions of an instance, one at a time: records and the input position of a partition, all or nothing.
// Owned by the service; any thread may commit.
class Transactor {
 public:
  // Ends what an earlier instance of this name left open, and from now on it cannot commit.
  static stream::Result<std::unique_ptr<Transactor>> open(const Address& address, const std::string& name);
  ~Transactor();

  // Since when the partition was this instance's at the least: the brokers were asked after that. An error of code
  // `refused` is for good, and says what to do; after any other nothing was written, and it may be tried again.
  stream::Result<std::chrono::steady_clock::time_point> commit(std::span<const Outgoing> records, int partition,
                                                               stream::Position position, const Group& group);
  // Without a position.
  stream::Result<void> commit(std::span<const Outgoing> records);

 private:
  struct State;
  explicit Transactor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::adapters::kafka
