#pragma once

#include <fmt/format.h>

#include <fstream>
#include <string>
#include <thread>

namespace tocsin::bench {

// Every benchmark begins by naming the machine that its numbers are of.
inline void name_machine() {
  std::ifstream cpuinfo{"/proc/cpuinfo"};
  std::string line, model = "unknown CPU";
  while (std::getline(cpuinfo, line))
    if (line.rfind("model name", 0) == 0) {
      model = line.substr(line.find(':') + 2);
      break;
    }
  fmt::print("machine: {}, {} cores\n", model, std::thread::hardware_concurrency());
}

}  // namespace tocsin::bench
