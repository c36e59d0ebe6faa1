#include "adapters/trace/kernel_program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "adapters/trace/tracer_bytes.h"

namespace tocsin::adapters::trace {
namespace {

using stream::Errc;
using stream::Error;
using stream::Result;

constexpr __u64 initial_pid_namespace = 0xEFFFFFFC;  // the inode of /proc/1/ns/pid outside of any container

bool exists(const char* path) { return ::access(path, F_OK) == 0; }

constexpr const char* remedy =
    ": run as root, or add the capability SYS_ADMIN (in a container too, and let its seccomp profile pass bpf and "
    "perf_event_open)";

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

// A place in our own program for the first probe. Never called.
[[gnu::noinline, gnu::used]] void probed() { asm volatile(""); }

struct Place {
  ElfW(Addr) address;
  std::uint64_t offset = 0;
};
int find_segment(dl_phdr_info* info, std::size_t, void* data) {
  auto& place = *static_cast<Place*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    const ElfW(Addr) begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || place.address < begin || place.address - begin >= segment.p_filesz) continue;
    place.offset = place.address - begin + segment.p_offset;
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

Result<std::unique_ptr<KernelProgram>> KernelProgram::load() {
  if (!exists("/sys/bus/event_source/devices/uprobe/type"))
    return Error{Errc::refused, exists("/sys/bus/event_source")
                                    ? "the kernel has no uprobes: it needs CONFIG_UPROBE_EVENTS"
                                    : "/sys is not mounted: the tracer finds the kernel's uprobes there"};
  if (!exists("/sys/kernel/btf/vmlinux"))
    return Error{Errc::refused, "the kernel does not describe its types: it needs CONFIG_DEBUG_INFO_BTF"};
  ::libbpf_set_print(nullptr);
  LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "tocsin");
  bpf_object* object = ::bpf_object__open_mem(tracer_bytes, sizeof tracer_bytes, &options);
  if (object == nullptr) return refused(errno);
  std::unique_ptr<KernelProgram> program{new KernelProgram{object}};
  if (const int error = ::bpf_object__load(object)) return refused(-error);
  if (auto placed = program->find_place(); !placed) return placed.error();
  if (auto probed = program->try_a_probe(); !probed) return probed.error();
  return program;
}

KernelProgram::~KernelProgram() { ::bpf_object__close(object_); }

// Outside of any container pids are the kernel's own. Inside of one, a program that we run tells where that is.
Result<void> KernelProgram::find_place() const {
  struct stat status {};
  if (::stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == initial_pid_namespace) return {};
  LIBBPF_OPTS(bpf_test_run_opts, options);
  const bpf_program* program = ::bpf_object__find_program_by_name(object_, "find_place");
  if (const int error = ::bpf_prog_test_run_opts(::bpf_program__fd(program), &options)) return refused(-error);
  return {};
}

Result<void> KernelProgram::try_a_probe() const {
  Place place{reinterpret_cast<ElfW(Addr)>(&probed)};
  ::dl_iterate_phdr(find_segment, &place);
  auto link = attach("c10d_end", "/proc/self/exe", place.offset, 0);
  if (link) return {};
  return link.error();
}

Result<Link> KernelProgram::attach(const char* program, const std::string& path, std::uint64_t offset,
                                   std::uint64_t cookie, bool at_return) const {
  LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = cookie, .retprobe = at_return);
  const bpf_program* found = ::bpf_object__find_program_by_name(object_, program);
  bpf_link* link = ::bpf_program__attach_uprobe_opts(found, -1, path.c_str(), offset, &options);
  if (link == nullptr) return no_probe(errno);
  return Link{link};
}

int KernelProgram::table(const char* name) const { return ::bpf_object__find_map_fd_by_name(object_, name); }
std::uint32_t KernelProgram::lost() const {
  const __u32 zero = 0;
  kernel::place here{};
  ::bpf_map_lookup_elem(table("place"), &zero, &here);
  return here.lost;
}

}  // namespace tocsin::adapters::trace
