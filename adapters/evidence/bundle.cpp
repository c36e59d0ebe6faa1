#include "adapters/evidence/bundle.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "adapters/evidence/bundle_parts.h"
#include "adapters/evidence/groups.h"
#include "adapters/formats/alert_form.h"
#include "adapters/formats/json.h"
#include "adapters/formats/printable.h"

namespace tocsin::adapters::evidence {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using formats::Json;
using stream::Errc;
using stream::Error;
using stream::Result;

namespace {

constexpr auto longest_gathering = 180s;
constexpr std::size_t parts_at_once = 3;
constexpr std::string_view prefix = "bundle-";
const char* const manifest_name = "manifest.json";

std::string name_at(stream::Time time) {
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::time_point_cast<std::chrono::system_clock::duration>(time));
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  return std::string{prefix} + std::string(text, std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts));
}

std::optional<stream::Time> time_of(const std::string& name) {
  std::tm parts{};
  if (!name.starts_with(prefix) || ::strptime(name.c_str() + prefix.size(), "%Y%m%dT%H%M%SZ", &parts) == nullptr)
    return std::nullopt;
  return stream::at_nanoseconds(::timegm(&parts) * 1'000'000'000L);
}

// By age.
std::vector<std::string> names_in(const fs::path& run) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto at = fs::directory_iterator(run, error); !error && at != fs::directory_iterator{}; at.increment(error)) {
    std::error_code gone;
    const std::string name = at->path().filename().string();
    if (time_of(name) && at->is_directory(gone) && !at->is_symlink(gone)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<BundleReport> report_from(const std::string& text) {
  const Json in = Json::parse(text, nullptr, false);
  if (!in.is_object()) return std::nullopt;
  try {
    BundleReport report{in.at("bundle"),
                        in.value("job", ""),
                        in.value("node", ""),
                        in.at("begun"),
                        in.value("complete", false),
                        in.value("groups", ""),
                        {}};
    for (const Json& part : in.at("parts"))
      report.parts.push_back({part.at("name"), part.value("bytes", std::uint64_t{0}), part.value("missing", ""),
                              part.value("cut", false)});
    return report;
  } catch (const Json::exception&) { return std::nullopt; }
}

// Writes the files of one bundle within its limits. Used by the gathering process.
class Gathering {
 public:
  Gathering(const BundleRequest& request, journal::OpenDirectory directory, std::string name)
      : request_(request), directory_(std::move(directory)), left_(request.limits.all) {
    report_.name = std::move(name);
    report_.job = request.job;
    report_.node = request.node;
    report_.begun = formats::time_text(request.now);
  }

  void put(const std::string& name, std::string content, bool tail, bool whole) {
    BundlePart part{name};
    const std::uint64_t most = std::min(left_, request_.limits.file);
    if (content.size() > most && whole) return miss(name, "it is larger than what a bundle may take");
    if (content.size() > most) {
      part.cut = true;
      content = tail ? content.substr(content.size() - most) : content.substr(0, most);
    }
    if (auto written = directory_.write(name, content); !written) return miss(name, written.error().message);
    part.bytes = content.size();
    left_ -= content.size();
    report_.parts.push_back(std::move(part));
  }
  void miss(const std::string& name, std::string reason) { report_.parts.push_back({name, 0, std::move(reason)}); }
  void groups(std::string text) { report_.groups = std::move(text); }

  std::string manifest(bool complete) {
    report_.complete = complete;
    std::string text = formats::dump(to_json(report_));
    // The report goes on without it: whoever gathers still learns what is there.
    (void)directory_.write(manifest_name, text + '\n');
    return text;
  }

 private:
  const BundleRequest& request_;
  journal::OpenDirectory directory_;
  std::uint64_t left_;
  BundleReport report_;
};

// The first bundle of a run is of its first hang, the newest of what is of interest now.
void remove_middle(const fs::path& run, std::size_t kept) {
  auto names = names_in(run);
  while (names.size() >= std::max<std::size_t>(kept, 2)) {
    std::error_code failed;
    fs::remove_all(run / names[1], failed);
    names.erase(names.begin() + 1);
  }
}

// "ok" or "no", a newline, and the content or the reason.
void answer_with(const PartMaker& part, int out) {
  const auto made = part.make();
  write_all_of(out, made ? "ok\n" : "no\n");
  write_all_of(out, made ? *made : made.error().message);
}

void gather(const BundleRequest& request, const std::string& name, int out) {
  remove_middle(request.run, request.limits.kept);
  const auto run = journal::OpenDirectory::open(request.run);
  auto directory = run ? run->make(name) : Result<journal::OpenDirectory>{run.error()};
  if (!directory) return;
  Gathering gathering{request, std::move(*directory), name};
  StackSettings settings;
  settings.gdb = request.gdb;
  const auto stacks = request.stacks.empty() ? take_stacks(request.targets, settings) : request.stacks;
  std::string text = text_of(groups_of(stacks));
  gathering.groups(formats::printable(text));
  text += '\n';
  for (const ProcessStack& stack : stacks) text += '\n' + text_of(stack);
  gathering.put("stacks.txt", formats::printable_lines(text), false, false);
  gathering.put("stacks.json", formats::dump(stacks_json(stacks)) + '\n', false, true);
  gathering.manifest(false);

  const auto parts = bundle_parts(request.run, request.targets);
  std::vector<Piece> pieces;
  for (const PartMaker& part : parts) pieces.push_back({[&part](int to) { answer_with(part, to); }, part.limit});
  run_pieces(pieces, parts_at_once, [&](std::size_t i, std::string bytes, bool late) {
    if (late) gathering.miss(parts[i].name, "it took too long");
    else if (bytes.starts_with("ok\n")) gathering.put(parts[i].name, bytes.substr(3), parts[i].tail, parts[i].whole);
    else gathering.miss(parts[i].name, bytes.starts_with("no\n") ? bytes.substr(3) : "gathering it failed");
  });
  write_all_of(out, gathering.manifest(true));
}

}  // namespace

Json to_json(const BundleReport& report) {
  Json out{{"version", 1}, {"bundle", report.name}};
  formats::put(out, "job", report.job);
  formats::put(out, "node", report.node);
  out["begun"] = report.begun;
  out["complete"] = report.complete;
  formats::put(out, "groups", report.groups);
  Json& parts = out["parts"] = Json::array();
  for (const BundlePart& part : report.parts) {
    Json one{{"name", part.name}};
    if (part.missing.empty()) one["bytes"] = part.bytes;
    else one["missing"] = part.missing;
    if (part.cut) one["cut"] = true;
    parts.push_back(std::move(one));
  }
  return out;
}

Result<void> Bundle::begin(BundleRequest request) {
  if (running()) return Error{Errc::refused, "a bundle is being gathered"};
  const auto names = names_in(request.run);
  for (const std::string& name : names)
    if (const auto time = time_of(name);
        std::max(*time, request.now) - std::min(*time, request.now) < request.limits.apart)
      return Error{Errc::refused, name + " is younger than the time between two bundles"};
  name_ = name_at(request.now);
  if (std::find(names.begin(), names.end(), name_) != names.end())
    return Error{Errc::refused, name_ + " is there already: try again in a second"};
  work_.start(
      "tocsin-bundle", [&](int out) { gather(request, name_, out); }, longest_gathering);
  return {};
}

std::optional<BundleReport> Bundle::poll() {
  const auto answer = work_.poll();
  if (!answer) return std::nullopt;
  if (auto report = report_from(*answer)) return report;
  BundleReport report;
  report.name = name_;
  report.parts.push_back({"", 0, "gathering the bundle did not finish; what is there is in " + name_});
  return report;
}

std::vector<BundleReport> bundles_of(const fs::path& run) {
  std::vector<BundleReport> reports;
  for (const std::string& name : names_in(run)) {
    const auto text = journal::read_whole(run / name / manifest_name);
    auto report = text ? report_from(*text) : std::nullopt;
    if (!report) report = BundleReport{name, "", "", formats::time_text(*time_of(name)), false, "", {}};
    report->name = name;
    reports.push_back(std::move(*report));
  }
  return reports;
}

}  // namespace tocsin::adapters::evidence
