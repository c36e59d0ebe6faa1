#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "adapters/forward/destination.h"
#include "adapters/kafka/address.h"
#include "adapters/kafka/appender.h"
#include "adapters/kafka/placement_records.h"

namespace tocsin::adapters::kafka {

// The telemetry topic of a cluster, and the topic `placement`, which learns where the journal's jobs are.
class JournalDestination final : public forward::Destination {
 public:
  static stream::Result<std::unique_ptr<JournalDestination>> open(const Address& address);

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] stream::Result<void> reach() override;
  stream::Result<void> append(const stream::Entry& entry, std::span<const std::byte> message) override;
  stream::Result<void> control(std::span<const std::byte> message) override;
  stream::Result<void> leave() override;
  [[nodiscard]] std::size_t waiting() const override { return appender_->waiting(); }
  stream::Result<bool> flush(std::chrono::milliseconds wait) override { return appender_->flush(wait); }

 private:
  JournalDestination(std::string name, std::unique_ptr<Appender> appender)
      : name_(std::move(name)), appender_(std::move(appender)) {}
  stream::Result<void> place(const stream::Entry& entry);

  std::string name_;
  std::unique_ptr<Appender> appender_;
  int partitions_ = 0;                                          // of the topic; 0: not known yet
  std::set<int> used_;                                          // the partitions of the journal's jobs
  std::map<std::pair<std::string, std::string>, Stay> places_;  // of nodes and jobs, as they were written last
};

}  // namespace tocsin::adapters::kafka
