#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stream/graph/graph.h"
#include "stream/topology/topology.h"
#include "stream/values/archive.h"
#include "stream/values/symbols.h"
#include "stream/windows/accumulators.h"
#include "stream/windows/events.h"

namespace tocsin::stream {

// What the windows over "earlier" hold of the attempts of a job that are over: of samples accumulators, of events their
// number, the first and the last. By name of member, because slots differ from attempt to attempt. Owned by its
// Subject. An attempt adds its own when it is over, and the attempts beside and after it read it.
class EarlierAttempts {
 public:
  using Fields = std::vector<std::pair<std::string, double>>;  // of an event, by name
  struct MemberEvents {
    std::uint64_t count = 0;
    Fields first, last;
    static void fields(auto& self, auto& archive) {
      archive(1, self.count), archive(2, self.first), archive(3, self.last);
    }
  };
  static constexpr std::size_t most_members = Topology::most_slots;  // of a window: nothing is kept of further ones
  struct Window {
    Demand demand;
    bool counter = false;
    Accumulators values{{}, false};
    std::vector<MemberEvents> events;
    std::map<std::string, Slot, std::less<>> members;
    std::vector<std::uint8_t> covered;  // by slot: in every attempt, no value means that there was none

    Slot slot(const std::string& member);  // no_slot over the limit
    void save(Writer& out) const;
    void load(Reader& in);
  };

  // Windows of one meaning have one key, whatever pack they are of.
  [[nodiscard]] static std::uint64_t key(const SignalDefinition& signal, const WindowSpec& window);
  [[nodiscard]] static std::string name(const Topology& topology, Level level, Slot slot);

  [[nodiscard]] const Window* find(std::uint64_t key) const noexcept;
  // To be added to: emptied if it has not accumulated what `demand` asks for.
  Window& open(std::uint64_t key, const Demand& demand, bool counter);
  // A reload: all other windows go.
  void keep(std::span<const std::uint64_t> keys);
  // How many attempts have added theirs.
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  void counted() noexcept { ++count_; }

  Symbols texts;  // of states and of fields of events: attempts number their texts differently

  void save(Writer& out) const;
  void load(Reader& in);

 private:
  std::map<std::uint64_t, Window> windows_;
  std::uint32_t count_ = 0;
};

// A History's windows over "earlier": the columns that it reads change with an attempt that is over, or a new member,
// and are cached until then.
class EarlierViews {
 public:
  void add(WindowSpec spec, std::uint64_t key) { views_.push_back({std::move(spec), key, 0, 0, {}}); }
  [[nodiscard]] std::vector<const WindowSpec*> of(SignalId signal) const;
  [[nodiscard]] std::vector<std::uint64_t> keys() const;

  // From which it reads, the attempt's number of each of its texts, and how many attempts began before this one:
  // nothing is known of them until all are over. Where there are none, no value came, and that is known.
  void read(const EarlierAttempts& earlier, std::vector<double> texts, std::uint32_t before) {
    earlier_ = &earlier, texts_ = std::move(texts), before_ = before;
    ++changes_;
  }
  void reduce(const Node& reduction, const WindowSpec& window, const SignalDefinition& signal, const Topology& topology,
              std::span<double> out);

 private:
  struct Column {
    Reduction reduction;
    std::uint32_t least;
    std::string field;
    std::vector<double> values;
  };
  struct View {
    WindowSpec spec;
    std::uint64_t key;
    std::uint64_t changes, topology;
    std::vector<Column> columns;
  };
  [[nodiscard]] std::vector<double> column(const View& view, const Node& reduction, const WindowSpec& window,
                                           const SignalDefinition& signal, const Topology& topology) const;

  const EarlierAttempts* earlier_ = nullptr;
  std::vector<double> texts_;
  std::uint32_t before_ = 0;
  std::uint64_t changes_ = 0;
  std::vector<View> views_;
};

}  // namespace tocsin::stream
