#include "adapters/prometheus/families.h"

#include <prometheus/text_serializer.h>

#include <limits>
#include <sstream>

#include "stream/values/utf8.h"

namespace tocsin::adapters::prometheus {

Families& Families::begin(const char* name, const char* help, ::prometheus::MetricType type) {
  families_.push_back({name, help, type, {}});
  return *this;
}

// Prometheus refuses a whole scrape for one label that is not UTF-8.
::prometheus::ClientMetric& Families::add(LabelValues labels) {
  auto& metric = families_.back().metric.emplace_back();
  for (const auto& [name, text] : labels) metric.label.push_back({name, stream::as_utf8(text)});
  return metric;
}

Families& Families::value(LabelValues labels, double number) {
  if (families_.back().type == ::prometheus::MetricType::Counter) add(labels).counter.value = number;
  else add(labels).gauge.value = number;
  return *this;
}

Families& Families::value(LabelValues labels, const Latencies& latencies) {
  auto& histogram = add(labels).histogram;
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < latencies.counts.size(); ++i) {
    count += latencies.counts[i];
    const bool last = i == Latencies::bounds.size();
    histogram.bucket.push_back({count, last ? std::numeric_limits<double>::infinity() : Latencies::bounds[i]});
  }
  histogram.sample_count = count;
  histogram.sample_sum = latencies.sum;
  return *this;
}

Families& Families::value(LabelValues labels, const stream::Spread& spread) {
  auto& summary = add(labels).summary;
  summary.quantile = {{0, spread.least}, {0.5, spread.median}, {0.9, spread.high}, {1, spread.greatest}};
  summary.sample_count = spread.count;
  summary.sample_sum = spread.sum;
  return *this;
}

std::string Families::text() const {
  std::vector<::prometheus::MetricFamily> with_values;
  for (const auto& family : families_)
    if (!family.metric.empty()) with_values.push_back(family);
  std::ostringstream out;
  ::prometheus::TextSerializer{}.Serialize(out, with_values);
  return std::move(out).str();
}

}  // namespace tocsin::adapters::prometheus
