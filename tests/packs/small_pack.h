#pragma once

#include <string>

#include "dsl/load/loader.h"

namespace tocsin::tests {

// A pack that loads at once: one rule, scripted, that asks whether `limit` is passed.
inline std::string small_pack(const std::string& limit) {
  return dsl::pack_text(
      {{"signals.lua", R"lua(signals { duty = { kind = "gauge", unit = "ratio", owner = "gpu" } })lua"},
       {"busy.lua", R"lua(
rule "busy" {
  family = "D3", severity = "info", summary = "Busy", shows = "busy", per = "job", every = "10s",
  needs = { duty = signal "duty" { over = "30s" } },
  evaluate = function(job)
    local mean = job.duty:mean():mean("job")
    if mean:number() then return mean:above()lua" +
                        limit + R"lua() end
    return mean:above(1)
  end,
}
)lua"}});
}

}  // namespace tocsin::tests
