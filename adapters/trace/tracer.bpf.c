/* Counts in the kernel what processes call in c10d, NCCL and CUDA. Nothing is sent per call: the tracer reads the
 * tables. */
#include <linux/bpf.h>
#include <linux/ptrace.h>
/* keep this order */
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "adapters/trace/kernel_tables.h"

char LICENSE[] SEC("license") = "GPL";

/* Fields of the kernel's structures that are used, found by BTF when the program is loaded. */
#define FROM_BTF __attribute__((preserve_access_index))
struct upid {
  int nr;
  void* ns;
} FROM_BTF;
struct pid {
  unsigned int level;
  struct upid numbers[1];
} FROM_BTF;
struct task_struct {
  struct task_struct* group_leader;
  struct pid* thread_pid;
  __u64 start_boottime;
  __u64 self_exec_id;
} FROM_BTF;

#define TABLE(name, type_of_map, most, flags, key_type, value_type) \
  struct {                                                          \
    __uint(type, type_of_map);                                      \
    __uint(max_entries, most);                                      \
    __uint(map_flags, flags);                                       \
    __type(key, key_type);                                          \
    __type(value, value_type);                                      \
  } name SEC(".maps")

TABLE(processes, BPF_MAP_TYPE_HASH, 16384, BPF_F_NO_PREALLOC, struct process_key, struct process);
TABLE(groups, BPF_MAP_TYPE_HASH, 16384, BPF_F_NO_PREALLOC, struct object_key, struct group);
TABLE(works, BPF_MAP_TYPE_HASH, 131072, BPF_F_NO_PREALLOC, struct object_key, struct work);
TABLE(waits, BPF_MAP_TYPE_HASH, 65536, BPF_F_NO_PREALLOC, struct wait_key, struct wait);
TABLE(pendings, BPF_MAP_TYPE_LRU_HASH, 16384, 0, struct pending_key, struct pending);
TABLE(threads, BPF_MAP_TYPE_LRU_HASH, 16384, 0, __u64, struct thread);
TABLE(place, BPF_MAP_TYPE_ARRAY, 1, 0, __u32, struct place);
TABLE(no_group, BPF_MAP_TYPE_ARRAY, 1, 0, __u32, struct group); /* zero: too large for the stack */

#ifndef barrier_var
#define barrier_var(var) asm volatile("" : "+r"(var))
#endif

static __always_inline void add(__u64* counter) { __sync_fetch_and_add(counter, 1); }

static __always_inline void lost(void) {
  __u32 zero = 0;
  struct place* here = bpf_map_lookup_elem(&place, &zero);
  if (here) __sync_fetch_and_add(&here->lost, 1);
}

/* The pid of a task in the tracer's namespace; 0: it is not in there. */
static __always_inline __u32 visible_pid(struct task_struct* leader) {
  __u32 zero = 0;
  struct place* here = bpf_map_lookup_elem(&place, &zero);
  if (!here) return 0;
  if (here->level == 0) return bpf_get_current_pid_tgid() >> 32;
  struct pid* pid = BPF_CORE_READ(leader, thread_pid);
  if (BPF_CORE_READ(pid, level) < here->level) return 0;
  char* numbers = (char*)__builtin_preserve_access_index(&pid->numbers[0]);
  struct upid* mine = (struct upid*)(numbers + here->level * bpf_core_type_size(struct upid));
  if ((__u64)BPF_CORE_READ(mine, ns) != here->space) return 0;
  return BPF_CORE_READ(mine, nr);
}

/* Who runs: its entry is made at its first call. */
static __always_inline struct process* current_process(__u32* pid) {
  struct task_struct* task = (struct task_struct*)bpf_get_current_task();
  struct task_struct* leader = BPF_CORE_READ(task, group_leader);
  struct process_key key = {
      .start = BPF_CORE_READ(leader, start_boottime),
      .pid = visible_pid(leader),
      .exec = (__u32)BPF_CORE_READ(leader, self_exec_id),
  };
  *pid = key.pid;
  if (key.pid == 0) return 0;
  struct process* found = bpf_map_lookup_elem(&processes, &key);
  if (found) return found;
  struct process fresh = {.born = bpf_ktime_get_ns()};
  bpf_map_update_elem(&processes, &key, &fresh, BPF_NOEXIST);
  found = bpf_map_lookup_elem(&processes, &key);
  if (!found) lost();
  return found;
}

static __always_inline struct group* group_at(const struct object_key* key) {
  struct group* found = bpf_map_lookup_elem(&groups, key);
  if (found) return found;
  __u32 zero = 0;
  struct group* empty = bpf_map_lookup_elem(&no_group, &zero);
  if (!empty) return 0;
  bpf_map_update_elem(&groups, key, empty, BPF_NOEXIST);
  found = bpf_map_lookup_elem(&groups, key);
  if (!found) lost();
  return found;
}

static __always_inline struct thread* current_thread(const struct process* process) {
  __u64 id = bpf_get_current_pid_tgid();
  struct thread* found = bpf_map_lookup_elem(&threads, &id);
  if (found && found->born == process->born) return found;
  struct thread fresh = {.born = process->born};
  bpf_map_update_elem(&threads, &id, &fresh, BPF_ANY);
  return bpf_map_lookup_elem(&threads, &id);
}

/* An object of this kind is destroyed: the first argument. */
static __always_inline int end_group(struct pt_regs* ctx, __u32 kind) {
  struct object_key key = {.object = PT_REGS_PARM1(ctx), .kind = kind};
  struct process* process = current_process(&key.pid);
  if (!process) return 0;
  key.born = process->born;
  bpf_map_delete_elem(&groups, &key);
  return 0;
}

#include "adapters/trace/c10d.bpf.c"
#include "adapters/trace/cuda.bpf.c"
#include "adapters/trace/nccl.bpf.c"

/* Run once by the tracer itself: where it lives. */
SEC("syscall")
int find_place(void* context) {
  __u32 zero = 0;
  struct place* here = bpf_map_lookup_elem(&place, &zero);
  struct task_struct* task = (struct task_struct*)bpf_get_current_task();
  struct task_struct* leader = BPF_CORE_READ(task, group_leader);
  struct pid* pid = BPF_CORE_READ(leader, thread_pid);
  if (!here) return 1;
  here->level = BPF_CORE_READ(pid, level);
  char* numbers = (char*)__builtin_preserve_access_index(&pid->numbers[0]);
  struct upid* mine = (struct upid*)(numbers + here->level * bpf_core_type_size(struct upid));
  here->space = (__u64)BPF_CORE_READ(mine, ns);
  return 0;
}
