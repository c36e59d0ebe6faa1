#include "adapters/nccl/environment.h"

#include <strings.h>

#include <cstdlib>
#include <system_error>

namespace tocsin::adapters::nccl {

namespace {

constexpr std::size_t longest_name = 254;  // NCCL cuts what is longer

}  // namespace

std::optional<std::filesystem::path> nccl_plugin() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  for (const auto& place :
       {error ? std::filesystem::path{} : program.parent_path().parent_path() / "lib/tocsin/libnccl-profiler-tocsin.so",
        std::filesystem::path{TOCSIN_NCCL_PLUGIN}})
    if (std::filesystem::exists(place, error)) return place;
  return std::nullopt;
}

NcclEnvironment nccl_environment(const std::filesystem::path& directory) {
  const char* set = std::getenv("NCCL_PROFILER_PLUGIN");
  const auto plugin = nccl_plugin();
  if (!plugin)
    return {{}, "NCCL's collectives are not seen: libnccl-profiler-tocsin.so is not installed beside tocsin"};
  const bool ours = set != nullptr && std::filesystem::path{set}.filename() == plugin->filename();
  if (set != nullptr && *set != '\0' && !ours) {
    if (::strcasecmp(set, "none") == 0) return {{}, "NCCL's collectives are not seen: NCCL_PROFILER_PLUGIN is none"};
    return {{},
            "NCCL's collectives are not seen, as NCCL_PROFILER_PLUGIN is " + std::string{set} +
                ": to have both, set NCCL_PROFILER_PLUGIN=" + plugin->string() + " and TOCSIN_NCCL_NEXT=" + set};
  }
  if (plugin->native().size() > longest_name)
    return {{},
            "NCCL's collectives are not seen: NCCL takes no plugin whose path is longer than 254 bytes, as is " +
                plugin->string()};
  NcclEnvironment result;
  if (!ours) result.variables.emplace_back("NCCL_PROFILER_PLUGIN", plugin->string());
  result.variables.emplace_back("TOCSIN_NCCL_DIR", std::filesystem::absolute(directory).string());
  return result;
}

}  // namespace tocsin::adapters::nccl
