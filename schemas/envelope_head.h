#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schemas/message_template.h"
#include "schemas/verified_reader.h"
#include "stream/values/record.h"
#include "telemetry_generated.h"

namespace tocsin::schemas {

// The lists of blocks of an envelope, each of which is verified separately; its own fields go to the entry.
struct EnvelopeHead {
  std::uint16_t format = 0;
  std::int64_t origin_arrival = 0;  // of a record that was re-keyed
  const Tables<fb::SampleBlock>* samples = nullptr;
  const Tables<fb::LineBlock>* lines = nullptr;
  const Tables<fb::Event>* events = nullptr;
  const Tables<fb::Coverage>* coverage = nullptr;
  const Tables<fb::Control>* controls = nullptr;
  std::span<const std::uint8_t> order;
};

// False: the table is torn.
bool read_head(const flatbuffers::Table& table, flatbuffers::Verifier& verifier, EnvelopeHead& head,
               stream::Entry& entry);

// Of a message of samples alone: the bytes that decide where everything lies. Messages in which they are equal differ
// in numbers and texts only.
[[nodiscard]] std::vector<Bytes> structure_of(const flatbuffers::Table& root, const EnvelopeHead& head);
// Where the envelope's numbers lie; 0: it has none.
[[nodiscard]] MessageTemplates::Numbers places_of_numbers(const flatbuffers::Table& root, const std::uint8_t* message);

}  // namespace tocsin::schemas
