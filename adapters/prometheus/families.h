#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "adapters/prometheus/figures.h"

namespace tocsin::adapters::prometheus {

using LabelValues = std::initializer_list<std::pair<const char*, std::string>>;

// The metrics of an answer, in the order in which they were begun.
class Families {
 public:
  // What follows is of this metric. One that gets no value is left out.
  Families& counter(const char* name, const char* help) { return begin(name, help, ::prometheus::MetricType::Counter); }
  Families& gauge(const char* name, const char* help) { return begin(name, help, ::prometheus::MetricType::Gauge); }
  Families& histogram(const char* name, const char* help) {
    return begin(name, help, ::prometheus::MetricType::Histogram);
  }
  Families& summary(const char* name, const char* help) { return begin(name, help, ::prometheus::MetricType::Summary); }
  Families& value(LabelValues labels, double number);
  Families& value(LabelValues labels, std::uint64_t number) { return value(labels, static_cast<double>(number)); }
  template <class Number>
  Families& value(LabelValues labels, const std::optional<Number>& known) {
    return known ? value(labels, *known) : *this;
  }
  Families& value(LabelValues labels, const Latencies& latencies);
  Families& value(LabelValues labels, const stream::Spread& spread);

  [[nodiscard]] std::string text() const;

 private:
  Families& begin(const char* name, const char* help, ::prometheus::MetricType type);
  ::prometheus::ClientMetric& add(LabelValues labels);
  std::vector<::prometheus::MetricFamily> families_;
};

}  // namespace tocsin::adapters::prometheus
