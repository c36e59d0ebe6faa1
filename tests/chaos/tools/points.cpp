// Loaded into `tocsin run` by LD_PRELOAD; stops it for good, or for a while, at a named point of its work with the
// brokers and Alertmanager. The program itself knows nothing of it.
//   CHAOS_AT=POINT:COUNT:SIGNAL   the COUNT-th time that POINT is reached, the process sends itself the signal (9 or
//   19) CHAOS_MARK=FILE               which is made just before
// Points: begin (before a transaction), produced (its records are queued), offsets (the position is in it), commit
// (while it is being committed), committed, post (before a request to Alertmanager), posted (the first bytes of its
// answer are here).
#include <dlfcn.h>
#include <fcntl.h>
#include <librdkafka/rdkafka.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

namespace {

struct Plan {
  std::string point;
  int count = 0, signal = 0;
  const char* mark = std::getenv("CHAOS_MARK");

  Plan() {
    const char* given = std::getenv("CHAOS_AT");
    if (given == nullptr) return;
    const std::string text{given};
    const auto first = text.find(':'), second = text.find(':', first + 1);
    if (second == text.npos) return;
    point = text.substr(0, first);
    count = std::atoi(text.c_str() + first + 1);
    signal = std::atoi(text.c_str() + second + 1);
  }
};

const Plan& plan() {
  static const Plan it;
  return it;
}

std::atomic<int> reached{0};
std::atomic<int> posting{-1};  // the socket whose answer is awaited

bool due(std::string_view point) { return plan().point == point && ++reached == plan().count; }

void stop_here() {
  if (plan().mark != nullptr) ::close(::open(plan().mark, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  ::kill(::getpid(), plan().signal);
}

void at(std::string_view point) {
  if (due(point)) stop_here();
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

constexpr std::string_view posts = "POST";  // the words of a request may come in buffers of their own

void before_sending(int socket, std::string_view bytes) {
  if (!bytes.starts_with(posts)) return;
  at("post");
  posting = socket;
}

}  // namespace

extern "C" {

rd_kafka_error_t* rd_kafka_begin_transaction(rd_kafka_t* client) {
  static const auto real = next<decltype(&rd_kafka_begin_transaction)>("rd_kafka_begin_transaction");
  at("begin");
  return real(client);
}

rd_kafka_error_t* rd_kafka_send_offsets_to_transaction(rd_kafka_t* client,
                                                       const rd_kafka_topic_partition_list_t* offsets,
                                                       const rd_kafka_consumer_group_metadata_t* group, int timeout) {
  static const auto real =
      next<decltype(&rd_kafka_send_offsets_to_transaction)>("rd_kafka_send_offsets_to_transaction");
  at("produced");
  rd_kafka_error_t* const error = real(client, offsets, group, timeout);
  at("offsets");
  return error;
}

rd_kafka_error_t* rd_kafka_commit_transaction(rd_kafka_t* client, int timeout) {
  static const auto real = next<decltype(&rd_kafka_commit_transaction)>("rd_kafka_commit_transaction");
  if (due("commit"))
    std::thread{[] {
      std::this_thread::sleep_for(std::chrono::microseconds{500});
      stop_here();
    }}.detach();
  rd_kafka_error_t* const error = real(client, timeout);
  at("committed");
  return error;
}

ssize_t send(int socket, const void* bytes, size_t size, int flags) {
  static const auto real = next<decltype(&send)>("send");
  before_sending(socket, {static_cast<const char*>(bytes), size});
  return real(socket, bytes, size, flags);
}

ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  static const auto real = next<decltype(&sendmsg)>("sendmsg");
  if (message->msg_iovlen > 0)
    before_sending(socket, {static_cast<const char*>(message->msg_iov[0].iov_base), message->msg_iov[0].iov_len});
  return real(socket, message, flags);
}

ssize_t recv(int socket, void* bytes, size_t size, int flags) {
  static const auto real = next<decltype(&recv)>("recv");
  const ssize_t count = real(socket, bytes, size, flags);
  if (count > 0 && socket == posting) posting = -1, at("posted");
  return count;
}

ssize_t recvmsg(int socket, msghdr* message, int flags) {
  static const auto real = next<decltype(&recvmsg)>("recvmsg");
  const ssize_t count = real(socket, message, flags);
  if (count > 0 && socket == posting) posting = -1, at("posted");
  return count;
}
}
