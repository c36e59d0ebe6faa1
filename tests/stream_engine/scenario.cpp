#include "tests/stream_engine/scenario.h"

#include <algorithm>
#include <stdexcept>

namespace tocsin::tests {
namespace {

using schemas::EntryBuilder;

constexpr const char* signals = R"lua(signals {
    heat = { kind = "gauge", unit = "seconds", owner = "rank", source = "sensor" },
    load = { kind = "gauge", unit = "none", owner = "node" },
    moved = { kind = "counter", unit = "bytes", owner = "rank" },
    step = { kind = "step", unit = "count", owner = "rank" },
    phase = { kind = "state", unit = "text", owner = "rank" },
    boom = { kind = "event", unit = "none", owner = "rank", source = "sensor", fields = { code = "count" } },
    fault = { kind = "event", unit = "none", owner = "gpu", source = "kernel", fields = { code = "count" } },
    any = { kind = "liveness", unit = "none", owner = "rank" } })lua";

// `limit` and `mode` make packs of the same rules that differ.
std::string rules(double limit, const char* mode) {
  const std::string number = std::to_string(limit);
  return R"lua(
    rule "hot" { family = "B3", per = "rank", every = "5s", fire = "2 of 3", mode = ")lua" +
         std::string{mode} +
         R"lua(", needs = { heat = signal "heat" { over = "30s" } }, shows = "rank {rank} on {node} is hot",
      evaluate = function(job) return job.heat:mean():above()lua" +
         number + R"lua() end }
    rule "usual" { per = "rank", every = "10s", needs = { heat = signal "heat" { over = "30s" },
        usual = signal "heat" { over = "10m", lag = "20s", freeze = true } }, yields_to = { "hot" },
      evaluate = function(job) return job.heat:mean():above(1.5 * job.usual:median()) end }
    rule "busy" { per = "node", every = { "boom", "10s" }, needs = { load = signal "load" { over = "60s" }, boom = signal "boom" { over = "60s" } },
      evaluate = function(job) return job.load:max():above(80) | job.boom:count():sum("node"):above(2) end }
    rule "silent" { family = "C", per = "rank", every = "10s", needs = { any = signal "any" { over = "60s" } },
      evaluate = function(job) return job.any:age():above(30) end }
    rule "before" { scope = "job", per = "rank", every = "10s", fire = "2 of 3", state = { most = 0 }, needs = {
        heat = signal "heat" { over = "30s" }, was = signal "heat" { over = "earlier", least = 4 }, phase = signal "phase" { over = "earlier" },
        boom = signal "boom" { over = "earlier" } },
      evaluate = function(job, p, state)
        state.most = greatest(state.most, job.heat:mean())
        return job.was:median():above(2.6) | job.was:max():above(state.most) | (job.phase:last():is("eval") & job.boom:where { code = 2 }:count():above(1))
      end }
    rule "stuck" { per = "rank", every = "10s", needs = { step = signal "step" { over = "60s" } },
      evaluate = function(job) return job.step:age():above(40) end }
    rule "ever" { per = "rank", every = "15s", needs = { heat = signal "heat" { over = "60s" }, all = signal "heat" { over = "attempt" } },
      evaluate = function(job) return job.heat:mean():above(1.2 * job.all:mean()) & job.all:count():above(40) end }
    rule "follows" { scope = "cluster", per = "gpu", every = { "fault", "30s" }, needs = { fault = signal "fault" { over = "3m" } }, shows = "{job}",
      evaluate = function(cluster) return cluster.fault:distinct("job"):at_least(2), { job = cluster.fault:last("job") } end }
    rule "full_rack" { scope = "cluster", per = "rack", every = "10s", fire = "2 of 3", needs = { load = signal "load" { over = "30s" } },
      evaluate = function(cluster) return cluster.load:max():above()lua" +
         number + R"lua( * 14):at_least(2, "rack") end }
    rule "fullest" { scope = "cluster", per = "node", every = "20s", needs = { load = signal "load" { over = "60s" } }, state = { most = 0 },
      evaluate = function(cluster, p, state) local now = cluster.load:mean() state.most = greatest(now, state.most) return now:above(state.most) end }
    rule "moving" { per = "rank", every = "20s", needs = { moved = signal "moved" { over = "2m" } }, state = { most = 0 },
      evaluate = function(job, p, state) local now = job.moved:mean() state.most = greatest(now, state.most) return now:above(state.most) end })lua";
}

}  // namespace

Scenario::Scenario(std::uint32_t seed, double seconds) : random_(seed) {
  for (const auto& [limit, mode] : {std::pair{5.0, "live"}, {6.0, "live"}, {5.0, "shadow"}}) {
    const auto pack = SmallJob::load(signals, rules(limit, mode));
    hashes_.push_back(packs_.add(pack));
    if (hashes_.size() == 1) first_ = pack;
  }
  for (double s = 1; s <= seconds; ++s) second(s);
  EntryBuilder b;
  b.seal();
  put(b.entry(), seconds + 1);
}

void Scenario::put(const stream::Entry& entry, double s) {
  messages_.push_back({schemas::encode(entry), SmallJob::at(s), std::string{entry.subject}});
}

void Scenario::second(double s) {
  std::vector<std::string> names{"direct", "rekeyed", "mixed"};
  std::shuffle(names.begin(), names.end(), random_);
  double appended = s;  // never falls: other jobs' records move the log's clock
  for (const auto& name : names) job(name, appended += static_cast<double>(random_() % 300) * 0.0001);
  cluster(appended);
  control(s + 0.1);
}

void Scenario::control(double s) {
  if (random_() % 200 == 0) return;  // with others of its kind a gap
  EntryBuilder b;
  b.beat();
  put(b.entry(), s);
  for (int source = 0; source < 2; ++source) {
    if (random_() % 40 == 0) continue;
    // The second source is read late now and then, once for longer than it is waited for.
    const double behind = source == 1 && static_cast<int>(s) % 600 > 400 ? 150 : static_cast<double>(random_() % 4);
    read_[source] = std::max(read_[source], s - behind);
    EntryBuilder w;
    w.watermark("source/" + std::to_string(source), SmallJob::at(read_[source]));
    put(w.entry(), s);
  }
  if (random_() % 60 == 0) {
    EntryBuilder p;
    p.pack(hashes_[random_() % hashes_.size()], SmallJob::at(s + static_cast<double>(random_() % 12) - 2), "");
    put(p.entry(), s);
  }
}

// Copies of what nodes wrote, each with the job that is on its node, if one is known.
void Scenario::cluster(double s) {
  for (int number = 0; number < 4; ++number) {
    if (random_() % 6 == 0) continue;
    EntryBuilder b;
    b.about(stream::cluster_subject,
            random_() % 4 == 0 ? "" : "job-" + std::to_string((static_cast<int>(s) / 60 + number) % 3));
    const std::string node = "n" + std::to_string(number);
    const bool full = static_cast<int>(s) % 200 > 100 && number < 3;
    const EntryBuilder::Value values[] = {
        {"load", (full ? 90 : 40) + static_cast<double>(random_() % 1000) * 0.001, {}, false}};
    b.sample(SmallJob::at(s - 0.05), {stream::Level::node, 0, node, {}}, values);
    const EntryBuilder::Member gpu{stream::Level::gpu, 0, node, std::to_string(random_() % 2)};
    if (random_() % 25 == 0) {
      const EntryBuilder::Field fields[] = {{"code", static_cast<double>(random_() % 3), {}, false}};
      b.event(SmallJob::at(s - static_cast<double>(random_() % 30) * 0.1), gpu, "fault", fields, "kernel");
    }
    if (s < 5 || random_() % 80 == 0) {
      const std::string rack = "r" + std::to_string((number + (random_() % 20 == 0 ? 1 : 0)) / 2);
      const EntryBuilder::Field fields[] = {{"rack", 0, rack, true}};
      b.event(SmallJob::at(s), gpu, "member", fields);
    }
    stream::Entry entry = b.entry();
    const std::string source = "source/" + std::to_string(number % 2);
    entry.origin_source = source, entry.origin_offset = offsets_["cluster " + source]++;
    entry.arrival = SmallJob::at(s);
    const int times = random_() % 20 == 0 ? 2 : 1;
    for (int i = 0; i < times; ++i) put(entry, s);
  }
}

void Scenario::job(const std::string& name, double s) {
  if (random_() % 300 == 0) {
    EntryBuilder b;
    b.about(name);
    const bool start = random_() % 2 == 0;
    const EntryBuilder::Field fields[] = {{"reason", 0, "preempted", true}};
    b.event(SmallJob::at(s), EntryBuilder::job(), start ? "start" : "end", fields);
    return put(b.entry(), s);
  }
  const std::uint32_t ranks = 3;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (random_() % 10 == 0 || (rank == 1 && static_cast<int>(s) % 300 > 240)) continue;
    EntryBuilder b;
    b.about(name, random_() % 50 == 0 ? "1" : "");
    const double late = random_() % 5 == 0 ? static_cast<double>(random_() % 80) * 0.1 : 0.05;
    const bool hot = rank == 2 && static_cast<int>(s) % 200 > 120;
    const double noise = static_cast<double>(random_() % 1000) * 0.001;
    EntryBuilder::Member member = EntryBuilder::rank(rank);
    if (random_() % 4 == 0) member.node = "n" + std::to_string(rank / 2);
    const bool milliseconds = random_() % 6 == 0;
    const EntryBuilder::Value values[] = {
        {"heat", ((hot ? 9 : 2) + noise) * (milliseconds ? 1000 : 1), {}, false, milliseconds ? "ms" : ""},
        {"load", (hot ? 85 : 40) + noise, {}, false},
        {"moved", s * 1000 + noise, {}, false, random_() % 2 ? "bytes" : ""},
        {"step", hot ? 100 : std::floor(s), {}, false},
        {"phase", 0, random_() % 2 ? "train" : "eval", true}};
    b.sample(SmallJob::at(s - late), member, values);
    if (random_() % 30 == 0) {
      const EntryBuilder::Field fields[] = {{"code", static_cast<double>(random_() % 3), {}, false}};
      b.event(SmallJob::at(s - late), EntryBuilder::rank(rank), "boom", fields, "sensor");
    }
    if (random_() % 100 == 0) {
      const std::string node = "n" + std::to_string(random_() % 3);
      const EntryBuilder::Field fields[] = {{"node", 0, node, true}};
      b.event(SmallJob::at(s), EntryBuilder::rank(rank), "member", fields);
    }
    const bool rekeyed = name == "rekeyed" || (name == "mixed" && rank == 2);
    const std::string source = "source/" + std::to_string(rank % 2);
    const std::string producer = "agent-" + std::to_string(rank);
    if (!rekeyed) b.produced_by(producer, 1, 2000 + ++sequences_[name + producer]);
    stream::Entry entry = b.entry();
    if (rekeyed) {
      entry.origin_source = source, entry.origin_offset = offsets_[source]++;
      entry.arrival = SmallJob::at(s + (random_() % 60 == 0 ? 3 : 0));  // a source's clock may be ahead
    }
    const int times = random_() % 20 == 0 ? 2 : 1;
    for (int i = 0; i < times; ++i) put(entry, s);
    if (!rekeyed && random_() % 100 == 0) {
      entry.sequence = 1 + random_() % 900;  // too far behind to tell
      put(entry, s);
    }
  }
}

Scenario::Result Scenario::judge(const std::set<std::string>& subjects, std::size_t most_ticks) {
  SmallJob job{first_, &packs_};
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    const Message& message = messages_[i];
    if (!subjects.empty() && !message.subject.empty() && !subjects.contains(message.subject)) continue;
    const auto entry = job.decoder.decode(message.bytes, static_cast<stream::Position>(i + 1),
                                          static_cast<stream::Position>(i + 2), message.appended);
    while (!job.shard.consume(**entry, most_ticks)) {}
    if (most_ticks != stream::Shard::all_ticks) (void)job.shard.figures("", 100);  // whoever looks changes nothing
  }
  if (job.shard.counters().unit_mismatch != 0) throw std::runtime_error("the log's samples are refused");
  Result result{job.shard.digests(), job.shard.row_digests(), {}};
  for (const std::string& line : job.collector.reported)
    for (const char* name : {"direct", "rekeyed", "mixed", "cluster"})
      if (line.find(std::string{" "} + name + "/") != std::string::npos) result.reported[name].push_back(line);
  return result;
}

Scenario::Result Scenario::judge_with_restarts(const std::vector<std::size_t>& stops) {
  stream::Sections kept;
  stream::Position handed_over{};
  Collector history;  // as on disk: what is in it is not taken again
  std::mt19937 random{static_cast<std::uint32_t>(stops.empty() ? 0 : stops.front())};
  Result result;
  for (std::size_t run = 0; run <= stops.size(); ++run) {
    const std::size_t end = run == stops.size() ? messages_.size() : stops[run];
    stream::Shard shard{first_, &packs_, history, {.save_every = std::chrono::seconds{20}}};
    schemas::Decoder decoder;
    std::size_t i = 0;
    if (!kept.empty()) {
      const auto from = shard.load(kept, handed_over);
      if (!from) throw std::runtime_error(from.error().message);
      i = static_cast<std::size_t>(*from) - 1;
    }
    for (; i < end; ++i) {
      const Message& message = messages_[i];
      const auto entry = decoder.decode(message.bytes, static_cast<stream::Position>(i + 1),
                                        static_cast<stream::Position>(i + 2), message.appended);
      while (!shard.consume(**entry, 1 + random() % 40)) {}
      if (!shard.sections_due()) continue;
      auto sections = shard.take_sections(false, random() % 3 == 0 ? 1 : 1u << 20);
      if (sections.empty()) continue;
      for (auto& [name, content] : sections) {
        if (content.empty()) kept.erase(name);
        else kept[name] = std::move(content);
      }
      handed_over = static_cast<stream::Position>(i + 2);
    }
    result.digests = shard.digests(), result.rows = shard.row_digests();
  }
  for (const std::string& line : history.reported)
    for (const char* name : {"direct", "rekeyed", "mixed", "cluster"})
      if (line.find(std::string{" "} + name + "/") != std::string::npos) result.reported[name].push_back(line);
  return result;
}

}  // namespace tocsin::tests
