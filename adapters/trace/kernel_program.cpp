#include "adapters/trace/kernel_program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include "adapters/trace/tracer_bytes.h"

namespace tocsin::adapters::trace {
namespace {

using stream::Errc;
using stream::Error;
using stream::Result;

constexpr std::uint32_t uprobe_multi = 48;  // BPF_TRACE_UPROBE_MULTI

// Options of libbpf, which go by their size.
template <class Options>
Options sized() {
  Options options{};
  options.sz = sizeof options;
  return options;
}

bool exists(const char* path) { return ::access(path, F_OK) == 0; }

constexpr const char* remedy =
    ": run as root, or add the capabilities BPF, PERFMON and SYS_PTRACE (SYS_ADMIN for the first two before Linux "
    "6.6); in a container "
    "also let its seccomp profile pass bpf and perf_event_open";

// Why the kernel refused, and how to allow it.
Error refused(int error) {
  std::string lockdown;
  std::getline(std::ifstream{"/sys/kernel/security/lockdown"}, lockdown);
  if (lockdown.find("[confidentiality]") != lockdown.npos)
    return {Errc::refused,
            "the kernel is locked down (lockdown=confidentiality), so that no program reads memory: boot with "
            "lockdown=integrity"};
  if (error == EPERM) return {Errc::refused, std::string{"loading a BPF program is not permitted"} + remedy};
  if (error == ENOSYS) return {Errc::refused, "the kernel has no BPF: it needs CONFIG_BPF_SYSCALL"};
  if (error == EMFILE) return {Errc::refused, "too many files are open: raise the limit with `ulimit -n`"};
  if (error == EACCES)
    return {Errc::refused,
            "the kernel refuses the tracer's program: SELinux or another security module forbids BPF, or Linux is "
            "older than 5.15"};
  return {Errc::refused, std::string{"the kernel refuses the tracer's program ("} + std::strerror(error) +
                             "): it needs Linux 5.15 or later"};
}
Error no_probe(int error) {
  // BPF and PERFMON are enough for a probe in some kernels, and not in others.
  if (error == EPERM || error == EACCES)
    return {Errc::refused, std::string{"setting a probe is not permitted"} + remedy};
  return error == EMFILE ? refused(error)
                         : Error{Errc::io, std::string{"setting a probe failed: "} + std::strerror(error)};
}

bool in_a_pid_namespace() {
  constexpr ino_t initial = 0xEFFFFFFC;  // the inode of /proc/1/ns/pid outside of any container
  struct stat status {};
  return ::stat("/proc/self/ns/pid", &status) != 0 || status.st_ino != initial;
}
constexpr std::string_view finds_place = "find_place";

// A place in our own program for the first probe. Never called.
[[gnu::noinline, gnu::used]] void probed() { asm volatile(""); }

struct Code {
  ElfW(Addr) address;
  std::uint64_t offset = 0;
};
int find_segment(dl_phdr_info* info, std::size_t, void* data) {
  auto& code = *static_cast<Code*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    const ElfW(Addr) begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || code.address < begin || code.address - begin >= segment.p_filesz) continue;
    code.offset = code.address - begin + segment.p_offset;
    return 1;
  }
  return 0;
}

}  // namespace

void LinkCloser::operator()(bpf_link* link) const noexcept { ::bpf_link__destroy(link); }

template <class Key, class Value>
std::vector<std::pair<Key, Value>> Table<Key, Value>::read() const {
  constexpr __u32 at_once = 1024;
  std::vector<std::pair<Key, Value>> all;
  std::vector<Key> keys(at_once);
  std::vector<Value> values(at_once);
  __u32 batch = 0;
  for (bool first = true;; first = false) {
    __u32 count = at_once;
    const int error = ::bpf_map_lookup_batch(descriptor_, first ? nullptr : &batch, &batch, keys.data(), values.data(),
                                             &count, nullptr);
    if (error != 0 && error != -ENOENT) return all;
    for (__u32 i = 0; i < count; ++i) all.emplace_back(keys[i], values[i]);
    if (error != 0) return all;
  }
}

template <class Key, class Value>
void Table<Key, Value>::erase(const Key& key) const noexcept {
  ::bpf_map_delete_elem(descriptor_, &key);
}

template class Table<kernel::process_key, kernel::process>;
template class Table<kernel::object_key, kernel::group>;
template class Table<kernel::object_key, kernel::work>;
template class Table<kernel::wait_key, kernel::wait>;

// Many at once need BPF and PERFMON alone, one by one also SYS_ADMIN in some kernels; older kernels know only the
// second.
Result<std::unique_ptr<KernelProgram>> KernelProgram::load(bool one_by_one) {
  if (!exists("/sys/kernel/btf/vmlinux"))
    return Error{Errc::refused, "the kernel does not describe its types: it needs CONFIG_DEBUG_INFO_BTF, and /sys"};
  if (!one_by_one)
    if (auto program = load_for(true)) return program;
  return load_for(false);
}

Result<std::unique_ptr<KernelProgram>> KernelProgram::load_for(bool several) {
  ::libbpf_set_print(nullptr);
  auto options = sized<bpf_object_open_opts>();
  options.object_name = "tocsin";
  bpf_object* object = ::bpf_object__open_mem(tracer_bytes, sizeof tracer_bytes, &options);
  if (object == nullptr) return refused(errno);
  std::unique_ptr<KernelProgram> program{new KernelProgram{object, several}};
  bpf_program* each = nullptr;
  bpf_object__for_each_program(each, object) {
    if (!in_a_pid_namespace() && ::bpf_program__name(each) == finds_place) ::bpf_program__set_autoload(each, false);
    if (several && ::bpf_program__type(each) == BPF_PROG_TYPE_KPROBE)
      ::bpf_program__set_expected_attach_type(each, static_cast<bpf_attach_type>(uprobe_multi));
  }
  if (const int error = ::bpf_object__load(object)) return refused(-error);
  if (auto placed = program->find_place(); !placed) return placed.error();
  if (auto probed = program->try_a_probe(); !probed) return probed.error();
  return program;
}

KernelProgram::~KernelProgram() { ::bpf_object__close(object_); }

// Outside of any container pids are the kernel's own. Inside of one, a program that we run tells where that is.
Result<void> KernelProgram::find_place() const {
  if (!in_a_pid_namespace()) return {};
  auto options = sized<bpf_test_run_opts>();
  const bpf_program* program = ::bpf_object__find_program_by_name(object_, finds_place.data());
  if (const int error = ::bpf_prog_test_run_opts(::bpf_program__fd(program), &options)) return refused(-error);
  return {};
}

Result<void> KernelProgram::try_a_probe() const {
  Code code{reinterpret_cast<ElfW(Addr)>(&probed)};
  ::dl_iterate_phdr(find_segment, &code);
  if (!several_ && !exists("/sys/bus/event_source/devices/uprobe/type"))
    return Error{Errc::refused, "the kernel has no uprobes: it needs CONFIG_UPROBE_EVENTS, and /sys"};
  auto attached = attach("c10d_end", "/proc/self/exe", {{code.offset}});
  if (attached.failed.empty()) return {};
  return attached.failed.front().second;
}

KernelProgram::Attached KernelProgram::attach(const char* program, const std::string& path,
                                              const std::vector<Place>& places) const {
  Attached attached;
  if (several_ && places.size() > 1)
    if (auto link = attach_several(program, path, places)) {
      attached.links.push_back(std::move(*link));
      return attached;
    }
  for (const Place& place : places) {
    auto link = several_ ? attach_several(program, path, {place}) : attach_alone(program, path, place);
    if (link) attached.links.push_back(std::move(*link));
    else attached.failed.emplace_back(place, link.error());
  }
  return attached;
}

Result<Link> KernelProgram::attach_several(const char* program, const std::string& path,
                                           const std::vector<Place>& places) const {
  // Debian's headers are older than this call.
  struct {
    std::uint32_t program, target = 0, attach_type = uprobe_multi, flags = 0;
    std::uint64_t path, offsets, counters = 0, cookies;
    std::uint32_t count, of_link = 0, pid = 0, unused = 0;
  } request{};
  std::vector<std::uint64_t> offsets, cookies;
  for (const Place& place : places) offsets.push_back(place.offset), cookies.push_back(place.cookie);
  request.program = ::bpf_program__fd(::bpf_object__find_program_by_name(object_, program));
  request.path = reinterpret_cast<std::uint64_t>(path.c_str());
  request.offsets = reinterpret_cast<std::uint64_t>(offsets.data());
  request.cookies = reinterpret_cast<std::uint64_t>(cookies.data());
  request.count = static_cast<std::uint32_t>(places.size());
  const long descriptor = ::syscall(SYS_bpf, BPF_LINK_CREATE, &request, sizeof request);
  if (descriptor < 0) return no_probe(errno);
  return Link{nullptr, journal::File{static_cast<int>(descriptor)}};
}

Result<Link> KernelProgram::attach_alone(const char* program, const std::string& path, const Place& place) const {
  auto options = sized<bpf_uprobe_opts>();
  options.bpf_cookie = place.cookie;
  const bpf_program* found = ::bpf_object__find_program_by_name(object_, program);
  bpf_link* link = ::bpf_program__attach_uprobe_opts(found, -1, path.c_str(), place.offset, &options);
  if (link == nullptr) return no_probe(errno);
  return Link{std::unique_ptr<bpf_link, LinkCloser>{link}, {}};
}

int KernelProgram::table(const char* name) const { return ::bpf_object__find_map_fd_by_name(object_, name); }
std::uint32_t KernelProgram::lost() const {
  const __u32 zero = 0;
  kernel::place here{};
  ::bpf_map_lookup_elem(table("place"), &zero, &here);
  return here.lost;
}

}  // namespace tocsin::adapters::trace
