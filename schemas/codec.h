#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stream/values/record.h"
#include "stream/values/result.h"

namespace tocsin::schemas {

// Encodes entries as Envelopes in FlatBuffers. Position, next and arrival belong to the log, not to the message.
// Owned by a producer; it reuses its working memory.
class Encoder {
 public:
  Encoder();
  ~Encoder();
  Encoder(Encoder&&) noexcept;

  [[nodiscard]] std::vector<std::byte> encode(const stream::Entry& entry);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// One entry, by an encoder of its own.
[[nodiscard]] std::vector<std::byte> encode(const stream::Entry& entry);

// Decodes messages into Entries. Verifies a message before reading it, and copies it once into an aligned buffer of its
// own: an entry is valid until the next call. Known layouts are recognised by comparison. Owned by the reader of a log;
// one per thread.
class Decoder {
 public:
  Decoder();
  ~Decoder();
  Decoder(Decoder&&) noexcept;

  // A torn or malformed block is skipped (Entry::rejected_blocks); an envelope that cannot be verified is an Error.
  [[nodiscard]] stream::Result<const stream::Entry*> decode(std::span<const std::byte> message,
                                                            stream::Position position, stream::Position next,
                                                            stream::Time arrival);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Builds an Entry from owned pieces, for producers: wrap's recorder, ingest, tests. `entry()` is valid until the next
// change.
class EntryBuilder {
 public:
  EntryBuilder();
  ~EntryBuilder();
  EntryBuilder(EntryBuilder&&) noexcept;

  // An owned MemberKey.
  struct Member {
    stream::Level level = stream::Level::job;
    std::uint32_t rank = 0;
    std::string node, gpu;
  };
  [[nodiscard]] static Member job() { return {}; }
  [[nodiscard]] static Member rank(std::uint32_t r) { return {stream::Level::rank, r, {}, {}}; }

  void clear();
  void about(std::string_view subject, std::string_view attempt = {}, std::string_view node = {});
  void produced_by(std::string_view producer, std::uint32_t epoch, std::uint64_t sequence);
  // Samples of one member and time; repeated calls with the same signals extend one block.
  struct Value {
    std::string_view signal;
    double number = 0;
    std::string_view text;
    bool is_text = false;
    std::string_view unit{};  // of the number; empty: the signal's own
  };
  void sample(stream::Time time, const Member& member, std::span<const Value> values, std::string_view source = {});
  void line(stream::Time time, const Member& member, std::string_view text, bool error_stream = false,
            std::string_view source = {});
  struct Field {
    std::string_view name;
    double number = 0;
    std::string_view text;
    bool is_text = false;
  };
  void event(stream::Time time, const Member& member, std::string_view name, std::span<const Field> fields,
             std::string_view source = {});
  void coverage(std::string_view source, std::span<const Member> members);
  void beat();
  void watermark(std::string_view source, stream::Time read_up_to, stream::Time gap_from = {});
  void pack(std::string_view hash, stream::Time from, std::string_view text);
  void seal();

  [[nodiscard]] bool empty() const;
  [[nodiscard]] const stream::Entry& entry();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tocsin::schemas
