#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <chrono>
#include <sstream>

#include "adapters/evidence/bundle.h"
#include "adapters/evidence/bundle_parts.h"
#include "adapters/evidence/run_ranks.h"
#include "adapters/journal/journal.h"
#include "doctest/doctest.h"
#include "processes.h"
#include "schemas/codec.h"

using namespace tocsin::adapters::evidence;
using namespace tocsin::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;
namespace journal = tocsin::adapters::journal;
using tocsin::schemas::EntryBuilder;
using tocsin::stream::Errc;
using tocsin::stream::Time;

namespace {

const Time now = tocsin::stream::at_nanoseconds(1'780'000'000'000'000'000);

class Run : public Scratch {
 public:
  Run() : writer_(*journal::Writer::open(path() / "run")) {}
  [[nodiscard]] fs::path directory() const { return path() / "run"; }
  void line(std::uint32_t rank, const std::string& text) {
    entry_.about("job");
    entry_.line(now, EntryBuilder::rank(rank), text);
    append();
  }
  void pid(std::uint32_t rank, pid_t pid, Time at) {
    entry_.about("job");
    const EntryBuilder::Value value[] = {{"process_pid", static_cast<double>(pid), {}, false}};
    entry_.sample(at, EntryBuilder::rank(rank), value, "sampler");
    append(at);
  }

 private:
  void append(Time at = now) {
    CHECK(writer_.append(tocsin::schemas::encode(entry_.entry()), at));
    entry_.clear();
  }
  journal::Writer writer_;
  EntryBuilder entry_;
};

BundleReport gather(const BundleRequest& request) {
  Bundle bundle;
  REQUIRE(bundle.begin(request));
  for (;;) {
    pollfd at{bundle.descriptor(), POLLIN, 0};
    ::poll(&at, 1, 1000);
    if (auto report = bundle.poll()) return *report;
  }
}

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream{path, std::ios::binary}.rdbuf();
  return text.str();
}

const BundlePart& part(const BundleReport& report, const std::string& name) {
  static const BundlePart none{"", 0, "no such part"};
  for (const BundlePart& one : report.parts)
    if (one.name == name) return one;
  return none;
}

}  // namespace

TEST_CASE("a bundle holds stacks, lines and processes of the ranks, says what is missing, and is private") {
  const OnlyTools tools;
  Run run;
  run.line(0, "iter 5 loss 2.5");
  run.line(1, "api_key=sk-verysecretverysecretverysecret1234");
  const Sleeper a{{{"RANK", "0"}, {"NCCL_DEBUG", "INFO"}, {"DATABASE_PASSWORD", "hidden"}}}, b;
  BundleRequest request{run.directory(), "job", "n1", now, {a.as_rank(0), b.as_rank(1)}};
  const BundleReport report = gather(request);
  CHECK(report.complete);
  CHECK(report.name == "bundle-20260528T202640Z");
  CHECK(report.groups == "all 2 ranks: sleeping in clock_nanosleep (hrtimer_nanosleep)");
  const fs::path at = run.directory() / report.name;
  CHECK((fs::status(at).permissions() & fs::perms::others_all) == fs::perms::none);
  CHECK(read(at / "stacks.txt").starts_with(report.groups));
  CHECK(read(at / "stacks.json").find("\"rank\":1") != std::string::npos);
  CHECK(read(at / "lines.txt").starts_with("2026-05-28 20:26:40 UTC rank 0: iter 5 loss 2.5\n"));
  CHECK(read(at / "lines.txt").find("verysecret") == std::string::npos);
  const std::string process = read(at / "rank_0.txt");
  CHECK(process.find("State:\tS") != std::string::npos);
  CHECK(process.find("NCCL_DEBUG=INFO") != std::string::npos);
  CHECK(process.find("hidden") == std::string::npos);
  CHECK(part(report, "nvidia-smi.txt").missing == "nvidia-smi is not installed");
  CHECK(part(report, "flight_recorder_rank_1").missing.starts_with("there is no /tmp/nccl_trace_rank_1"));
  const auto listed = bundles_of(run.directory());
  REQUIRE(listed.size() == 1);
  CHECK(listed.front().groups == report.groups);
  CHECK(listed.front().parts.size() == report.parts.size());
}

TEST_CASE("stacks that were taken already are not taken again") {
  const OnlyTools tools;
  Run run;
  ProcessStack stack;
  stack.pid = 1;
  stack.rank = 3;
  stack.error = "as it was";
  BundleRequest request{run.directory(), "job", "n1", now};
  request.stacks = {stack};
  CHECK(gather(request).groups == "rank 3: as it was");
}

TEST_CASE("bundles are ten minutes apart, in whichever process the last one was gathered") {
  const OnlyTools tools;
  Run run;
  BundleRequest request{run.directory(), "job", "n1", now};
  gather(request);
  Bundle another;
  request.now = now + 9min;
  CHECK(another.begin(request).error().code == Errc::refused);
  request.now = now + 10min;
  CHECK(gather(request).complete);
}

TEST_CASE("of many bundles the first and the newest are kept") {
  const OnlyTools tools;
  Run run;
  BundleRequest request{run.directory(), "job", "n1", now};
  for (int i = 0; i < 6; ++i) {
    request.now = now + i * 10min;
    gather(request);
  }
  const auto listed = bundles_of(run.directory());
  REQUIRE(listed.size() == 4);
  CHECK(listed.front().name == "bundle-20260528T202640Z");
  CHECK(listed.back().name == "bundle-20260528T211640Z");
}

TEST_CASE("a file is cut at its limit, and a bundle at its own: the end of the lines is kept") {
  const OnlyTools tools;
  Run run;
  for (int i = 0; i < 100; ++i) run.line(0, "line " + std::to_string(i));
  const Sleeper one;
  BundleRequest request{run.directory(), "job", "n1", now, {one.as_rank(0)}};
  request.limits.file = 300;
  BundleReport report = gather(request);
  CHECK(part(report, "lines.txt").cut);
  CHECK(read(run.directory() / report.name / "lines.txt").size() == 300);
  CHECK(read(run.directory() / report.name / "lines.txt").ends_with("line 99\n"));
  CHECK(part(report, "stacks.json").missing.find("larger") != std::string::npos);
  request.now += 10min;
  request.limits.all = 400;
  report = gather(request);
  std::uint64_t bytes = 0;
  for (const BundlePart& one_part : report.parts) bytes += one_part.bytes;
  CHECK(bytes <= 400);
}

TEST_CASE("a tool that hangs costs its part and nothing else") {
  const OnlyTools tools;
  tools.program("nvidia-smi", "exec /bin/sleep 1000\n");
  CHECK(gpu_state(1s).error().message == "nvidia-smi did not finish in time");
  tools.program("nvidia-smi", "echo Timestamp\n");
  CHECK(*gpu_state(60s) == "Timestamp\n");
  tools.program("nvidia-smi", "echo 'NVIDIA-SMI has failed' ; exit 9\n");
  CHECK(gpu_state(60s).error().message == "nvidia-smi failed: NVIDIA-SMI has failed\n");
}

TEST_CASE("where no NCCL listens its RAS is a missing part, and the ranks' own address is asked") {
  const Sleeper one{{{"NCCL_RAS_ADDR", "127.0.0.1:1"}}};
  const auto answer = ras_answer({one.as_rank(0)}, 5s);
  REQUIRE_FALSE(answer);
  CHECK(answer.error().message.find("127.0.0.1:1") != std::string::npos);
}

TEST_CASE("the dump of a rank is what its own user wrote since it began, under the name that its environment has") {
  const OnlyTools tools;
  const Scratch folder;
  const Sleeper one{{{"TORCH_FR_DUMP_TEMP_FILE", (folder.path() / "trace_").string()}}};
  CHECK(flight_recorder_dump(one.as_rank(2)).error().code == Errc::not_found);
  folder.file("trace_2", std::string{"\x80\x04"
                                     "dump",
                                     6});
  CHECK(*flight_recorder_dump(one.as_rank(2)) == std::string{"\x80\x04"
                                                             "dump",
                                                             6});
  CHECK(flight_recorder_dump({one.pid(), {}, 0}).error().message == "the name of its dump is not known");
  // Older than the process: of another job.
  const timespec before[2] = {{1000, 0}, {1000, 0}};
  CHECK(::utimensat(AT_FDCWD, (folder.path() / "trace_2").c_str(), before, 0) == 0);
  CHECK(flight_recorder_dump(one.as_rank(2)).error().message.find("older than the process") != std::string::npos);
  // Neither a link nor a pipe is read.
  fs::create_symlink("/etc/passwd", folder.path() / "trace_3");
  CHECK_FALSE(flight_recorder_dump(one.as_rank(3)));
  CHECK(::mkfifo((folder.path() / "trace_4").c_str(), 0600) == 0);
  CHECK_FALSE(flight_recorder_dump(one.as_rank(4)));
  if (::geteuid() == 0) {
    folder.file("trace_5", "theirs");
    CHECK(::chown((folder.path() / "trace_5").c_str(), 1234, 1234) == 0);
    CHECK(flight_recorder_dump(one.as_rank(5)).error().code == Errc::refused);
  }
}

TEST_CASE("a process that has gone, and a journal that cannot be read, are missing parts with their reason") {
  CHECK(process_text({1 << 22, 0, 0}).error().message == "the process has ended");
  CHECK_FALSE(last_lines("/nowhere/at/all", 10));
  const OnlyTools tools;
  Run run;
  CHECK(last_lines(run.directory(), 10).error().message == "the job has printed nothing lately");
  CHECK(bundles_of("/nowhere/at/all").empty());
}

TEST_CASE("the ranks of a run are the processes that its recorder saw last") {
  Run run;
  CHECK(ranks_of(run.directory()).error().code == Errc::not_found);
  run.pid(0, 100, now);
  run.pid(1, 101, now);
  run.pid(0, 200, now + 60s);
  const auto ranks = ranks_of(run.directory());
  REQUIRE(ranks);
  REQUIRE(ranks->size() == 1);  // rank 1 has not been seen for a minute
  CHECK(ranks->front().pid == 200);
  CHECK(ranks->front().rank == 0u);
}

TEST_CASE("a bundle in a directory that goes away reports that it did not finish") {
  const OnlyTools tools;
  BundleRequest request{"/nowhere/at/all", "job", "n1", now};
  const BundleReport report = gather(request);
  CHECK_FALSE(report.complete);
  CHECK(report.parts.front().missing.find("did not finish") != std::string::npos);
}
