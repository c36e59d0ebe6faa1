#pragma once

#include <functional>
#include <string>
#include <thread>

namespace tocsin::test {

// How a fake RAS behaves.
struct RasManners {
  bool json = true;           // 2.28.7 and later; before, SET FORMAT is refused
  std::string answer{};       // to STATUS
  std::size_t cut = 1 << 30;  // it closes the connection after so many bytes of the answer
  bool in_pieces = false;     // sends a few bytes at a time
  bool silent = false;        // accepts connections and says nothing, as a process that is stopped
  std::string greeting = "SERVER PROTOCOL 2\n";
};

// Listens on a port of the loopback as a process with NCCL's RAS does, on a thread of its own. `turn` gives the manners
// of each connection, by its number: several jobs may share a port.
class FakeRas {
 public:
  explicit FakeRas(std::function<RasManners(int connection)> turn);
  ~FakeRas();
  [[nodiscard]] const std::string& address() const noexcept { return address_; }

 private:
  void serve(int connection, const RasManners& manners) const;

  int listening_ = -1, stop_[2] = {-1, -1};
  std::string address_;
  std::thread thread_;
};

}  // namespace tocsin::test
