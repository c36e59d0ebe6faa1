#pragma once

#include <string>
#include <vector>

#include "adapters/notify/receiver.h"
#include "adapters/notify/render.h"

namespace tocsin::adapters::notify {

// The files that go with the mail of an ended job: those that the receiver's globs name ({job} is filled in), the
// newest first, within its budget. What does not fit is there by name and size, and a glob that names nothing, too.
[[nodiscard]] std::vector<Artifact> gather_artifacts(const Receiver& receiver, const std::string& job);

}  // namespace tocsin::adapters::notify
