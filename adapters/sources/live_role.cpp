#include "adapters/sources/live_role.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "adapters/formats/push.h"
#include "adapters/ingest/rekey.h"
#include "adapters/ingest/source_clock.h"
#include "adapters/ingest/translator.h"
#include "adapters/sources/request_body.h"
#include "schemas/codec.h"
#include "stream/job/murmur2.h"

namespace tocsin::adapters::sources {

using ingest::wall_now;
using stream::Errc;
using stream::Error;
using stream::Result;
using stream::Time;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::size_t most_waiting_bytes = 32u << 20;
constexpr std::size_t most_places = 100'000;  // of nodes and jobs, which the role's thread has not taken yet
constexpr auto patience = 10s;
constexpr auto between_lines = 60s;  // of the log, for a source and reason

}  // namespace

struct LiveRole::State final : ingest::Output {
  explicit State(LiveOptions given) : options(std::move(given)) { rekeyer.copy_by(placement); }

  // ---- of any thread
  LiveOptions options;
  std::mutex mutex;  // of what follows
  std::condition_variable asked;
  std::vector<Message> waiting;
  std::size_t waiting_bytes = 0;                       // those in hand too
  std::set<std::pair<std::string, std::string>> seen;  // nodes and jobs
  bool stopped = false;

  // ---- of the role's thread
  struct Counted {
    std::uint64_t parts = 0;
    Clock::time_point next_line{};
  };
  struct Source {
    ingest::Translator translator;
    prometheus::SourceFigures figures{};
    std::map<ingest::Reason, Counted> left_out{};
  };
  std::vector<Source> sources;
  ingest::Placement placement;
  ingest::Rekeyer rekeyer{*this};
  ingest::Rekeyer of_limited{*this};  // for senders that may write only some jobs: it copies no record to other jobs
  stream::PackPtr pack;
  std::unique_ptr<service::Appender> appender;
  int partitions = 0;
  schemas::Encoder encoder;
  Source* now = nullptr;   // of the message that is read
  std::string unreadable;  // what is wrong with it, first
  Clock::time_point next_show{};
  std::thread thread;

  void record(const ingest::Record&) override {}  // they go to the rekeyer
  void unwanted(std::uint64_t values) override { now->figures.unwanted += values; }
  void left_out(const ingest::LeftOut& part) override {
    if (unreadable.empty() && (part.reason == ingest::Reason::malformed || part.reason == ingest::Reason::too_large))
      unreadable = part.what;
    Counted& counted = now->left_out[part.reason];
    now->figures.left_out[std::string{ingest::name(part.reason)}] = ++counted.parts;
    if (Clock::now() < counted.next_line || !options.log) return;
    counted.next_line = Clock::now() + between_lines;
    options.log("source " + now->figures.source + ": left out (" + std::string{ingest::name(part.reason)} + ", " +
                std::to_string(counted.parts) + " so far): " + part.what);
  }

  Result<void> open() {
    if (appender) return {};
    auto opened = options.open();
    if (!opened) return opened.error();
    const auto count = (*opened)->partitions(patience);
    if (!count) return count.error();
    partitions = *count;
    appender = std::move(*opened);
    return {};
  }

  Result<void> append(Message& message) {
    now = &sources[message.source];
    unreadable.clear();
    const bool limited = options.rights != nullptr && options.rights->limited(message.sender);
    if (options.rights != nullptr)
      if (auto admitted = options.rights->admit(message.sender, Clock::now()); !admitted) return admitted;
    auto plain = plain_body(std::move(message.bytes), message.encoding);
    if (!plain) return plain.error();
    ingest::Rekeyer& to = limited ? of_limited : rekeyer;
    const Time arrival = wall_now();
    to.begin(message.producer, message.number, arrival);
    now->translator.read(*plain, arrival, to, message.labels);
    to.finish();
    ++now->figures.messages, now->figures.bytes += plain->size();
    if (auto right = may_write(message.sender, to, plain->size()); !right) return right;
    for (std::size_t i = 0; i < to.entries(); ++i) {
      stream::Entry entry = to.entry(i);
      // It is no record of another log: this one is the first that has it.
      if (!message.producer.empty()) entry.producer = message.producer, entry.sequence = entry.origin_offset + 1;
      entry.origin_source = {}, entry.origin_offset = 0;
      const auto partition = stream::partition_of(entry.subject, partitions);
      if (auto appended = appender->append(partition, entry.subject, encoder.encode(entry)); !appended) return appended;
      ++now->figures.entries;
    }
    if (message.posted && to.entries() == 0 && !unreadable.empty()) return Error{Errc::malformed, unreadable};
    return {};
  }

  Result<void> may_write(const std::string& sender, ingest::Rekeyer& made, std::size_t bytes) {
    if (sender.empty() || options.rights == nullptr) return {};
    std::vector<service::SenderRights::Part> parts;
    for (std::size_t i = 0; i < made.entries(); ++i) {
      const stream::Entry entry = made.entry(i);
      parts.push_back({entry.subject, formats::users_of(entry)});
    }
    return options.rights->take(sender, parts, bytes, Clock::now());
  }

  void follow_pack() {
    if (!options.pack) return;
    stream::PackPtr current = options.pack();
    if (current == pack) return;
    pack = std::move(current);
    rekeyer.cluster_needs(pack ? ingest::cluster_needs(*pack) : ingest::ClusterNeeds{});
  }

  void handle(std::vector<Message>& messages) {
    follow_pack();
    Result<void> opened = open();
    std::vector<Result<void>> results;
    for (Message& message : messages) results.push_back(opened ? append(message) : opened);
    if (opened) {
      const auto flushed = appender->flush(patience);
      const Error late{Errc::io, "the log has not taken it within 10 s"};
      for (Result<void>& result : results)
        if (result && !flushed) result = flushed.error();
        else if (result && !*flushed) result = late;
      if (!flushed) appender.reset();
    }
    for (std::size_t i = 0; i < messages.size(); ++i)
      if (messages[i].done) messages[i].done(results[i]);
  }

  void show() {
    if (Clock::now() < next_show) return;
    next_show = Clock::now() + 1s;
    static_cast<void>(placement.forget(wall_now()));
    std::vector<prometheus::SourceFigures> all;
    for (const Source& source : sources) all.push_back(source.figures);
    if (options.show) options.show(std::move(all));
  }

  void run() {
    for (;;) {
      std::vector<Message> messages;
      std::set<std::pair<std::string, std::string>> places;
      bool ends = false;
      {
        std::unique_lock lock{mutex};
        asked.wait_for(lock, 1s, [this] { return stopped || !waiting.empty(); });
        messages.swap(waiting);
        places.swap(seen);
        ends = stopped && messages.empty();
      }
      for (const auto& [node, job] : places) placement.saw(node, job, wall_now());
      if (ends) return;
      std::size_t bytes = 0;
      for (const Message& message : messages) bytes += message.bytes.size();
      if (!messages.empty()) handle(messages);
      show();
      const std::lock_guard lock{mutex};
      waiting_bytes -= bytes;
    }
  }
};

LiveRole::LiveRole(std::unique_ptr<State> state) : state_(std::move(state)) {
  state_->thread = std::thread{[this] { state_->run(); }};
}
LiveRole::~LiveRole() { stop(); }

Result<std::unique_ptr<LiveRole>> LiveRole::start(LiveOptions options) {
  auto state = std::make_unique<State>(std::move(options));
  for (const ingest::Source& source : state->options.sources) {
    auto made = ingest::Translator::make(source, &state->options.nodes);
    if (!made) return Error{Errc::refused, "source " + source.name + ": " + made.error().message};
    state->sources.push_back({std::move(*made)});
    state->sources.back().figures.source = source.name;
  }
  return std::unique_ptr<LiveRole>{new LiveRole{std::move(state)}};
}

const std::vector<ingest::Source>& LiveRole::sources() const { return state_->options.sources; }

void LiveRole::take(Message message) {
  const char* why = nullptr;
  {
    const std::lock_guard lock{state_->mutex};
    if (state_->stopped) why = "this instance is stopping";
    else if (state_->waiting_bytes + message.bytes.size() > most_waiting_bytes) why = "too much waits for the log";
    else {
      state_->waiting_bytes += message.bytes.size();
      state_->waiting.push_back(std::move(message));
      state_->asked.notify_one();
    }
  }
  if (why != nullptr && message.done) message.done(Error{Errc::io, why});  // it was not taken
}

Result<std::size_t> LiveRole::posted_to(std::string_view format, std::string_view name) const {
  std::vector<std::size_t> fit;
  std::string all;
  for (std::size_t i = 0; i < sources().size(); ++i) {
    const ingest::Source& source = sources()[i];
    if (!source.post || source.format != format) continue;
    all += (all.empty() ? "" : ", ") + source.name;
    if (name.empty() || source.name == name) fit.push_back(i);
  }
  if (fit.size() == 1) return fit.front();
  const std::string wanted = "format: " + std::string{format} + ", post: true";
  if (all.empty()) return Error{Errc::not_found, "no source takes this: add one to ingest.sources with " + wanted};
  return Error{Errc::not_found, "write which source in the address, ?source=NAME, of: " + all};
}

void LiveRole::saw(std::string_view node, std::string_view job) {
  if (node.empty() || job.empty()) return;
  const std::lock_guard lock{state_->mutex};
  if (state_->seen.size() < most_places) state_->seen.emplace(node, job);
}

void LiveRole::stop() {
  {
    const std::lock_guard lock{state_->mutex};
    state_->stopped = true;
    state_->asked.notify_one();
  }
  if (state_->thread.joinable()) state_->thread.join();
}

}  // namespace tocsin::adapters::sources
