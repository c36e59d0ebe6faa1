#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include "stream/ports.h"

namespace tocsin::adapters::runtime {

// Hands bundles to a sink, one at a time and in their order; on a thread of its own if asked, so that judging goes on
// while a broker commits. A bundle that was not kept stays here, and none overtakes it.
// Owned by whoever runs the shard; its functions belong to that thread. While a bundle is under way on the other
// thread, the sink belongs to that one.
class HandOver final : public stream::BundleSink {
 public:
  struct Outcome {
    stream::Result<void> kept;
    std::chrono::steady_clock::time_point begun{}, ended{};
  };
  // `beside`: on a thread of its own; else give() and again() return when the sink has answered.
  HandOver(stream::BundleSink& sink, bool beside);
  ~HandOver() override;  // waits for the one that is under way

  void give(stream::Bundle bundle);              // while `idle`
  void again();                                  // while `waits`
  [[nodiscard]] bool idle() const;               // nothing is under way, and nothing waits
  [[nodiscard]] bool waits() const;              // one that was not kept
  [[nodiscard]] std::size_t reports() const;     // in what is here; while nothing is under way
  [[nodiscard]] std::optional<Outcome> ended();  // what became of the one that was under way: once

  // Waits for what is under way, and gives it, where it was not kept, and this one to the sink on the caller's thread.
  // Neither, where that was refused: it may have been kept.
  stream::Result<void> keep(const stream::Bundle& bundle) override;
  // Never while a bundle is here: the sink may drop a pack with it that the next one needs.
  [[nodiscard]] bool has_pack(std::string_view hash) const override { return idle() && sink_->has_pack(hash); }

 private:
  enum class Stage { idle, under_way, ended, waits };
  void begin();
  void ask_sink();
  void run();
  void set(Stage stage);
  [[nodiscard]] Stage stage() const;

  stream::BundleSink* sink_;
  stream::Bundle bundle_;
  Outcome outcome_;
  mutable std::mutex mutex_;  // of the stage: what else there is belongs to this object's thread while it is under way,
                              // else to the owner's
  std::condition_variable changed_;
  Stage stage_ = Stage::idle;
  bool over_ = false;
  std::thread thread_;  // last: it begins when all else is there; none, where the caller's is used
};

}  // namespace tocsin::adapters::runtime
