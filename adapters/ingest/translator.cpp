#include "adapters/ingest/translator.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <unordered_map>
#include <utility>

#include "adapters/ingest/item.h"
#include "adapters/ingest/json_reader.h"
#include "adapters/ingest/labels.h"
#include "adapters/ingest/node_names.h"
#include "stream/topology/gpu_names.h"
#include "stream/values/value.h"

namespace tocsin::adapters::ingest {

using schemas::EntryBuilder;
using stream::Errc;
using stream::Error;
using stream::Level;
using stream::Time;

namespace {

using Value = EntryBuilder::Value;

// DCGM's numbers for what it does not know, is not supported or not permitted, in each of the types that an exporter
// prints them.
bool dcgm_blank(const Value& value) {
  if (!value.signal.starts_with("DCGM_") || value.is_text) return false;
  const double number = value.number;
  return number >= 9.22e18 || (number >= 2147483632.0 && number <= 2147483635.0) ||
         (number >= 140737488355328.0 && number <= 140737488355331.0);
}

struct Renamed {
  std::string signal, unit;
};

// Names of one GPU, by what they are.
struct GpuNames {
  std::string_view pci, uuid, index;
  void add(std::string_view name) {
    const stream::GpuName form{name};
    std::string_view& place = form.is_pci() ? pci : form.is_uuid() ? uuid : index;
    if (place.empty()) place = name;
  }
  [[nodiscard]] bool any() const { return !(pci.empty() && uuid.empty() && index.empty()); }
  [[nodiscard]] std::string_view best() const { return !pci.empty() ? pci : !uuid.empty() ? uuid : index; }
  [[nodiscard]] bool several() const {
    return (pci.empty() ? 0 : 1) + (uuid.empty() ? 0 : 1) + (index.empty() ? 0 : 1) > 1;
  }
};

}  // namespace

struct Translator::State final : Items {
  Source source;
  Format format = Format::logs_json;
  NodeMap none;
  const NodeMap* nodes = &none;
  std::vector<std::pair<std::string, Template>> templates;  // by label
  std::unordered_map<std::string_view, Renamed> renamed;
  JsonMessages json;
  const DefaultLabels& usual = default_labels();

  // Of the message that is read.
  Time arrival{};
  Output* out = nullptr;
  const Constants* with = nullptr;
  std::set<std::string, std::less<>> introduced;  // members whose GPU names and rack it has given already

  // Of the item that is attributed.
  const Item* now = nullptr;
  Template::Found extracted{};
  std::vector<Value> values;
  std::string introduction;

  std::string_view label(std::string_view name) const {
    for (const Label& one : now->labels)
      if (one.name == name) return blank(one.value) ? std::string_view{} : one.value;
    for (const Constants* constants : {&source.labels, with})
      if (const auto known = constants->find(std::string{name}); known != constants->end()) return known->second;
    return {};
  }
  std::string_view first_of(const Labels& names, std::size_t target) const {
    for (const std::string& name : names)
      if (const std::string_view value = label(name); !value.empty()) return value;
    return extracted[target];
  }

  // That no label of the list has a value; a long list of ours stands in the documentation.
  static std::string none_of(const Labels& names, const Labels& ours) {
    if (names == ours) return "none of the usual labels (docs/ingest.md) has a value";
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
    return "none of " + all + " has a value";
  }
  std::string those_there() const {
    std::string all;
    constexpr std::size_t most = 12;
    for (std::size_t i = 0; i < std::min(now->labels.size(), most); ++i)
      all += (i == 0 ? "" : ", ") + short_name(now->labels[i].name);
    return all.empty() ? "it has no labels" : "it has " + all + (now->labels.size() > most ? ", …" : "");
  }

  void left_out(Reason reason, std::uint32_t place, std::string what) override {
    out->left_out({reason, place, std::move(what)});
  }
  void unwanted(std::uint64_t count) override { out->unwanted(count); }

  void item(const Item& item) override {
    now = &item;
    extracted = {};
    for (const auto& [name, form] : templates)
      if (const std::string_view text = label(name); !text.empty()) form.match(text, extracted);
    if (!item.values.empty() && !choose_values()) return;

    Record record;
    record.place = item.place;
    record.time = item.time.value_or(arrival);
    record.job = first_of(source.job, Template::job);
    record.attempt = first_of(source.attempt, Template::attempt);
    const bool of_node =
        first_of(source.rank, Template::rank).empty() && !first_of(source.node, Template::node).empty();
    if (record.job.empty() && !of_node) return out->left_out(no_job());
    if (record.job.size() > longest_name || record.attempt.size() > longest_name)
      return left_out(Reason::malformed, item.place, "the name of a job or an attempt has more than 255 bytes");
    if (record.job == stream::cluster_subject)
      return left_out(Reason::malformed, item.place,
                      "a job cannot be called cluster: that name is reserved for all nodes; rename the job");
    if (!member(record)) return;
    if (item.text) return lines(record);
    if (!item.event.empty()) {
      record.what = Record::What::event;
      record.event = item.event, record.fields = item.fields, record.source = item.source;
      record.nodes = item.nodes, record.time_limit = item.time_limit;
      return give(record);
    }
    record.values = values;
    give(record);
  }

  LeftOut no_job() const {
    return {Reason::no_job, now->place, "no job: " + none_of(source.job, usual.job) + "; " + those_there()};
  }
  // A line without a source is a rank's: of no job, it is nobody's.
  void give(const Record& record) {
    if (!record.job.empty()) return out->record(record);
    if (record.what == Record::What::line && record.source.empty()) return out->left_out(no_job());
    out->without_job(record, [this] { return no_job(); });
  }

  // The values that the mapping keeps, under the names that it gives them. False: there is none.
  bool choose_values() {
    values.clear();
    for (const Value& value : now->values) {
      const bool kept = source.keep.empty() ||
                        std::any_of(source.keep.begin(), source.keep.end(),
                                    [&](const std::string& pattern) { return matches(pattern, value.signal); });
      if (!kept || dcgm_blank(value)) continue;
      Value& chosen = values.emplace_back(value);
      if (const auto found = renamed.find(value.signal); found != renamed.end()) {
        chosen.signal = found->second.signal;
        if (!chosen.is_text) chosen.unit = found->second.unit;
      }
    }
    out->unwanted(now->values.size() - values.size());
    return !values.empty();
  }

  // Whose the record is. False: that cannot be known, and was reported.
  bool member(Record& record) {
    auto& member = record.member;
    if (const std::string_view text = first_of(source.rank, Template::rank); !text.empty()) {
      constexpr std::uint32_t most = 0xFFFFFFFE;
      const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), member.rank);
      if (wrong != std::errc{} || end != text.data() + text.size() || member.rank > most) {
        left_out(Reason::bad_rank, now->place, "the rank is not a whole number: " + shortened(text));
        return false;
      }
      member.level = Level::rank;
    }
    member.node = first_of(source.node, Template::node);
    if (member.node.size() > longest_name) {
      left_out(Reason::malformed, now->place, "the name of a node has more than 255 bytes");
      return false;
    }
    GpuNames gpu;
    for (const std::string& name : source.gpu)
      if (const auto found = gpu_name(label(name))) gpu.add(*found);
    if (const auto found = gpu_name(extracted[Template::gpu])) gpu.add(*found);
    if (gpu.any() && !now->text) {
      if (!label("GPU_I_ID").empty()) {
        left_out(Reason::part_of_gpu, now->place, "the value is of a part of a GPU (MIG): its label GPU_I_ID is set");
        return false;
      }
      if (member.node.empty() && member.level != Level::rank) {
        left_out(Reason::no_node, now->place,
                 "a GPU without its node: " + none_of(source.node, usual.node) + "; " + those_there());
        return false;
      }
      complete(gpu, member.node);
      member.gpu = gpu.best();
    }
    if (member.level != Level::rank)
      member.level = !member.gpu.empty() ? Level::gpu : !member.node.empty() ? Level::node : Level::job;
    if (!now->text) introduce(record, gpu);
    return true;
  }

  // What the static map has of a node, under the name that it has there; null: nothing, or two nodes of that short
  // name.
  const MappedNode* mapped(std::string_view node) const {
    if (const auto found = nodes->find(node); found != nodes->end()) return &found->second;
    const MappedNode* only = nullptr;
    bool several = false;
    each_name(*nodes, node, [&](const MappedNode& one) { several = std::exchange(only, &one) != nullptr || several; });
    return several ? nullptr : only;
  }

  // What the static map knows of a GPU.
  void complete(GpuNames& gpu, std::string_view node) const {
    const MappedNode* found = mapped(node);
    if (found == nullptr) return;
    for (const MappedGpu& one : found->gpus) {
      const auto same = [](std::string_view a, std::string_view b) {
        return !a.empty() && stream::GpuName{a}.view() == stream::GpuName{b}.view();
      };
      if (!same(gpu.pci, one.pci) && !same(gpu.uuid, one.uuid) && !same(gpu.index, one.index)) continue;
      for (const std::string* name : {&one.pci, &one.uuid, &one.index})
        if (!name->empty()) gpu.add(*name);
      return;
    }
  }

  // Once in a message for each member: under which names its GPU is known, and the rack of its node.
  void introduce(const Record& record, const GpuNames& gpu) {
    const auto& member = record.member;
    const MappedNode* node = mapped(member.node);
    const bool rack = node != nullptr && !node->rack.empty();
    if (!gpu.several() && !rack) return;
    introduction.assign(record.job)
        .append(1, '\0')
        .append(record.attempt)
        .append(1, '\0')
        .append(member.node)
        .append(1, '\0');
    introduction.append(member.gpu)
        .append(1, '\0')
        .append(member.level == Level::rank ? std::to_string(member.rank) : "");
    if (!introduced.insert(introduction).second) return;
    Record about = record;
    about.what = Record::What::event;
    about.event = "member";
    std::vector<EntryBuilder::Field> fields;
    const auto add = [&fields](std::string_view name, std::string_view text) {
      if (!text.empty()) fields.push_back({name, 0, text, true});
    };
    add("gpu_pci", gpu.pci), add("gpu_uuid", gpu.uuid), add("gpu_index", gpu.index);
    if (rack) add("rack", node->rack);
    about.fields = fields;
    give(about);
  }

  void lines(Record& record) {
    record.what = Record::What::line;
    record.source = source.covers;
    record.error_stream = now->error_stream;
    each_line(*now->text, [&](std::string_view line, std::uint32_t) {
      record.text = line;
      give(record);
    });
  }
};

Translator::Translator(std::unique_ptr<State> state) : state_(std::move(state)) {}
Translator::~Translator() = default;
Translator::Translator(Translator&&) noexcept = default;

stream::Result<Translator> Translator::make(const Source& source, const NodeMap* nodes) {
  auto state = std::make_unique<State>();
  State& s = *state;
  s.source = source;
  if (nodes != nullptr) s.nodes = nodes;
  const auto format = std::find_if(format_names.begin(), format_names.end(),
                                   [&](const FormatName& one) { return one.name == source.format; });
  if (format == format_names.end()) return Error{Errc::malformed, "'" + source.format + "' is not a format"};
  s.format = format->format;
  const DefaultLabels& usual = s.usual;
  const auto fill = [](Labels& labels, const Labels& from) {
    if (labels.empty()) labels = from;
  };
  fill(s.source.job, usual.job), fill(s.source.attempt, usual.attempt), fill(s.source.rank, usual.rank);
  fill(s.source.node, usual.node), fill(s.source.gpu, usual.gpu), fill(s.source.time, usual.time),
      fill(s.source.text, usual.text);
  for (const auto& [label, text] : source.extract) {
    auto made = Template::parse(text);
    if (!made) return Error{Errc::malformed, "extract." + label + " " + made.error().message};
    s.templates.emplace_back(label, std::move(*made));
  }
  for (const auto& [foreign, signal] : s.source.signals) {
    if (const std::string problem = problem_of_signal(signal); !problem.empty())
      return Error{Errc::malformed, "signals." + foreign + ": " + problem};
    const std::size_t end = signal.find(' ');
    s.renamed[foreign] = {signal.substr(0, end), end == signal.npos ? std::string{} : signal.substr(end + 1)};
  }
  return Translator{std::move(state)};
}

void Translator::read(std::string_view message, Time arrival, Output& out, const Constants& with) {
  State& s = *state_;
  s.arrival = arrival;
  s.out = &out, s.with = &with;
  s.introduced.clear();
  if (message.size() > longest_message)
    return out.left_out(
        {Reason::too_large, 1, "the message has more than " + std::to_string(longest_message >> 20) + " MiB"});
  if (constexpr std::string_view mark = "\xef\xbb\xbf"; message.starts_with(mark))
    message.remove_prefix(mark.size());  // of UTF-8
  switch (s.format) {
    case Format::prometheus_text: return read_exposition(message, s);
    case Format::prometheus_remote_write: return read_remote_write(message, s);
    case Format::influx: return read_influx(message, s);
    case Format::logs_syslog: return read_syslog(message, s);
    case Format::logs_plain: return read_lines(message, s);
    case Format::kernel_log: return read_kernel_records(message, s);
    case Format::otlp_metrics:
    case Format::otlp_logs:
      if (read_otlp_wire(s.format == Format::otlp_logs, s.source.text, message, s)) return;
      [[fallthrough]];
    default: return s.json.read(s.format, {s.source.time, s.source.text}, message, s);
  }
}

}  // namespace tocsin::adapters::ingest
