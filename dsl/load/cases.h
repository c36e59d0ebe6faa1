#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stream/graph/graph.h"
#include "stream/values/time.h"

namespace tocsin::dsl {

// The values of a signal during a segment of a case.
struct CaseValue {
  enum class Kind : std::uint8_t { number, text, noise, ramp, steps, silent };
  Kind kind = Kind::number;
  double a = 0, b = 0;      // number; noise: mean, deviation; ramp: from, to; steps: seconds a step, first step
  bool from_given = false;  // of steps: b was written; else it continues from its last value
  std::string text;
};
using CaseValues = std::map<std::string, CaseValue>;  // by signal

struct CaseEvent {
  std::string signal;
  stream::Duration at{};  // after the segment's begin
  std::optional<std::uint32_t> rank, node, gpu;
  std::string job;  // in the cluster, that on the node; empty: none
  std::map<std::string, stream::Scalar> fields;
};

// Log lines that are read together, as those of a traceback.
struct CaseLines {
  std::vector<std::string> texts;
  stream::Duration at{};  // after the segment's begin
  std::optional<std::uint32_t> rank, node;
};

// A span of time in which every signal has its last given behaviour, from here or from an earlier segment.
struct CaseSegment {
  stream::Duration lasting{};
  std::optional<stream::Duration> sampled;              // how often collectors sample from here on
  std::map<std::string, std::string> labels;            // of the job from here on, besides earlier ones
  CaseValues all;                                       // of every owner of the signal
  std::map<std::uint32_t, CaseValues> rank, node, gpu;  // by number: of ranks and GPUs from 0, of nodes from 0
  std::vector<CaseEvent> events;
  std::vector<CaseLines> lines;
  bool new_attempt = false;  // a new attempt begins here
  std::string ends;          // the attempt ends here, for this reason; empty: it continues
};

struct CaseExpectation {
  std::string rule;
  std::optional<std::uint32_t> rank, node, gpu, rack;
  std::vector<std::uint32_t> who;
  std::string cause;
  std::string missing;                     // of unknown: the signal that is missing
  std::optional<stream::Duration> within;  // of the last segment's begin
};

// A test beside its rules: what happens, and what must be reported. Parsed and checked at load.
struct Case {
  std::string name, file;
  int line = 0;
  bool cluster = false;                   // scope = "cluster": of nodes and GPUs, without ranks and attempts
  std::uint32_t ranks = 1, per_node = 8;  // of the cluster, GPUs
  std::uint32_t per_rack = 0;             // nodes of a rack; 0: racks are not known
  stream::Duration sampled = std::chrono::seconds{1};  // how often collectors sample; each node has its own phase
  std::string records;                                 // a file of records instead of segments
  std::vector<CaseSegment> segments;
  std::vector<CaseExpectation> fires, unknown, resolves;  // nothing else may fire
};

}  // namespace tocsin::dsl
