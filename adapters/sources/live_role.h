#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/ingest/mapping.h"
#include "adapters/prometheus/figures.h"
#include "adapters/service/backend.h"
#include "adapters/service/sender_rights.h"
#include "stream/rules/pack.h"
#include "stream/values/result.h"

// Messages of other programs that come to this one: posted, scraped, or read from files.
namespace tocsin::adapters::sources {

// A message of a source, on its way to the log.
struct Message {
  std::size_t source = 0;  // among those of the configuration
  std::string bytes;
  std::map<std::string, std::string> labels;  // that its records have besides their own: file, host, instance
  // If the message can be read again after a crash: its producer, and a number that never falls. Records that come
  // again under their number count once.
  std::string producer;
  std::uint64_t number = 0;
  bool posted = false;   // who posted it learns that nothing of it can be read
  std::string sender;    // of SenderRights: who posted it
  std::string encoding;  // that its bytes are in: none, or as plain_body() takes them
  // Called once, by the role's thread: when all of it is durable, or never will be.
  std::function<void(const stream::Result<void>&)> done;
};

struct LiveOptions {
  std::vector<ingest::Source> sources;
  ingest::NodeMap nodes;
  service::OpenAppender open;
  service::SenderRights* rights = nullptr;           // null: every sender may write everything
  std::function<stream::PackPtr()> pack;             // whose rules of the cluster are in force, by any thread
  std::function<void(const std::string& line)> log;  // by the role's thread
  std::function<void(std::vector<prometheus::SourceFigures> figures)> show;  // once a second, by the role's thread
};

// Makes records of such messages and appends them to the log, keyed by job. They arrive when they are appended, so no
// watermark is needed: a source that is silent holds up nothing. A record that names a node and no job belongs to all
// jobs on that node. Owned by the service's command; works on a thread of its own.
class LiveRole {
 public:
  // An error: a mapping that cannot be followed.
  static stream::Result<std::unique_ptr<LiveRole>> start(LiveOptions options);
  ~LiveRole();  // as stop()

  // Any thread. At most 32 MiB wait; beyond, `done` is called at once with an error.
  void take(Message message);
  // The source that takes such requests: the one of this name, or the only one of the format. An error says which there
  // are.
  [[nodiscard]] stream::Result<std::size_t> posted_to(std::string_view format, std::string_view name) const;
  // A record of the job came from the node. Any thread.
  void saw(std::string_view node, std::string_view job);
  [[nodiscard]] const std::vector<ingest::Source>& sources() const;
  // Appends all waiting messages first.
  void stop();

 private:
  struct State;
  explicit LiveRole(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::adapters::sources
