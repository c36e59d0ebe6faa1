/* c10d's process groups: gloo and MPI. An operation of a group makes one Work, which finishes once. NCCL's are counted
   in libnccl. No probe looks at a return: the trampoline that the kernel puts there ends a process whose C++ exception
   passes it, and c10d throws. */

/* Text of a std::string, given where the object is. */
static __always_inline void read_string(char* to, const char* string, __u64 old) {
  struct {
    const char* data;
    __u64 length;
  } text = {};
  if (bpf_probe_read_user(&text, sizeof text, string)) return;
  if (old) bpf_probe_read_user(&text.length, 8, text.data - 24);
  __u64 length = text.length;
  if (length > most_name - 1) length = most_name - 1;
  bpf_probe_read_user(to, length & (most_name - 1), text.data);
}

/* The prefix of a PrefixStore: the only string of its object. A short one lies inside the object, and points there. */
static __always_inline void read_prefix(struct group* group, __u64 reference) {
  __u64 store = 0, words[12] = {};
  if (bpf_probe_read_user(&store, sizeof store, (void*)reference)) return;
  if (bpf_probe_read_user(words, sizeof words, (void*)store)) return;
#pragma unroll
  for (int i = 2; i < 9; ++i)
    if (words[i] == store + i * 8 + 16 && words[i + 1] > 0 && words[i + 1] < 16) {
      bpf_probe_read_user(group->name, words[i + 1] & 15, (void*)words[i]);
      return;
    }
}

/* A group that is older than our first look. Its object holds rank and size after one or two counts of references; and
   since PyTorch 2 its name is its first string. */
static __always_inline void read_group(struct group* group, __u64 object) {
  __u64 words[24] = {};
  if (bpf_probe_read_user(words, sizeof words, (void*)object)) return;
#pragma unroll
  for (int i = 2; i < 4; ++i) {
    __u32 rank = words[i], size = words[i] >> 32;
    if (size == 0 || size > 1 << 20 || rank >= size) continue;
    group->rank = rank;
    group->size = size;
    break;
  }
#pragma unroll
  for (int i = 3; i < 22; ++i)
    if (words[i] == object + i * 8 + 16 && words[i + 1] > 0 && words[i + 1] < 16) {
      bpf_probe_read_user(group->name, words[i + 1] & 15, (void*)words[i]);
      return;
    }
}

static __always_inline int make_group(struct pt_regs* ctx, __u64 object, __u64 store, __u32 rank, __u32 size) {
  struct object_key key = {.object = object, .kind = kind_c10d};
  struct process* process = current_process(&key.pid);
  if (!process) return 0;
  key.born = process->born;
  bpf_map_delete_elem(&groups, &key); /* another that was there before */
  struct group* group = group_at(&key);
  if (!group) return 0;
  group->order = __sync_fetch_and_add(&process->groups, 1) + 1;
  group->rank = rank;
  group->size = size;
  if (store) read_prefix(group, store);
  struct thread* thread = current_thread(process);
  if (!thread) return 0;
  thread->unnamed[3] = thread->unnamed[2];
  thread->unnamed[2] = thread->unnamed[1];
  thread->unnamed[1] = thread->unnamed[0];
  thread->unnamed[0] = object;
  return 0;
}

SEC("uprobe")
int c10d_gloo(struct pt_regs* ctx) {
  return make_group(ctx, PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx), PT_REGS_PARM4(ctx));
}

SEC("uprobe")
int c10d_mpi(struct pt_regs* ctx) {
  return make_group(ctx, PT_REGS_PARM1(ctx), 0, PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx));
}

/* ProcessGroup::setGroupName(this, name): comes in the same thread after its backends were made. */
SEC("uprobe")
int c10d_name(struct pt_regs* ctx) {
  struct object_key key = {.kind = kind_c10d};
  struct process* process = current_process(&key.pid);
  if (!process) return 0;
  struct thread* thread = current_thread(process);
  if (!thread) return 0;
  key.born = process->born;
  char name[most_name] = {};
  read_string(name, (const char*)PT_REGS_PARM2(ctx), bpf_get_attach_cookie(ctx) & flag_old_string);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    key.object = thread->unnamed[i];
    thread->unnamed[i] = 0;
    struct group* group = key.object ? bpf_map_lookup_elem(&groups, &key) : 0;
    if (!group) continue;
    __builtin_memcpy(group->name, name, sizeof name);
  }
  return 0;
}

SEC("uprobe")
int c10d_end(struct pt_regs* ctx) {
  return end_group(ctx, kind_c10d);
}

/* An operation is called: the next Work that this thread makes is its own. */
SEC("uprobe")
int c10d_enter(struct pt_regs* ctx) {
  __u32 pid;
  struct process* process = current_process(&pid);
  if (!process) return 0;
  add(&process->calls[call_c10d]);
  struct thread* thread = current_thread(process);
  if (!thread) return 0;
  __u64 cookie = bpf_get_attach_cookie(ctx), stack = PT_REGS_SP(ctx);
  __u64 first = PT_REGS_PARM1(ctx), second = PT_REGS_PARM2(ctx);
  barrier_var(first); /* else the compiler selects the address to load, which the kernel refuses */
  barrier_var(second);
#if defined(__TARGET_ARCH_x86)
  /* The place of the returned pointer comes first, then the object. */
  __u64 object = cookie & flag_this_first ? first : second;
#else
  __u64 object = first;
#endif
  if (cookie & flag_delegated && thread->group == object && thread->function & flag_delegates && stack < thread->stack)
    return 0;
  thread->group = object;
  thread->function = cookie;
  thread->stack = stack;
  return 0;
}

/* A Work of NCCL begins: none of the operation that this thread entered before, if that threw. */
SEC("uprobe")
int c10d_foreign(struct pt_regs* ctx) {
  __u32 pid;
  struct process* process = current_process(&pid);
  struct thread* thread = process ? current_thread(process) : 0;
  if (thread) thread->group = 0;
  return 0;
}

SEC("uprobe")
int c10d_work(struct pt_regs* ctx) {
  struct object_key key = {.kind = kind_c10d};
  struct process* process = current_process(&key.pid);
  if (!process) return 0;
  struct thread* thread = current_thread(process);
  if (!thread || !thread->group) return 0;
  key.born = process->born;
  key.object = thread->group;
  struct work work = {
      .group = thread->group,
      .start = bpf_ktime_get_ns(),
      .function = thread->function & function_mask,
      .peer = (thread->function & flag_peer) != 0,
  };
  thread->group = 0;
  struct group* group = bpf_map_lookup_elem(&groups, &key);
  if (!group) {
    group = group_at(&key);
    if (!group) return 0;
    read_group(group, key.object);
  }
  if (work.peer) {
    work.sequence = __sync_fetch_and_add(&group->peer_launched, 1) + 1;
    add(&process->peer_launched);
  } else {
    work.sequence = __sync_fetch_and_add(&group->launched, 1) + 1;
    add(&process->launched);
  }
  if (work.function < most_functions) add(&group->functions[work.function & (most_functions - 1)]);
  key.object = PT_REGS_PARM1(ctx);
  if (bpf_map_update_elem(&works, &key, &work, BPF_ANY)) lost();
  return 0;
}

/* finish and finishAndThrow; wait of a send or receive ends with the second. */
SEC("uprobe")
int c10d_finish(struct pt_regs* ctx) {
  struct object_key key = {.object = PT_REGS_PARM1(ctx), .kind = kind_c10d};
  struct process* process = current_process(&key.pid);
  if (!process) return 0;
  key.born = process->born;
  struct work* work = bpf_map_lookup_elem(&works, &key);
  if (!work) return 0;
  struct object_key of = key;
  of.object = work->group;
  __u32 peer = work->peer;
  if (bpf_map_delete_elem(&works, &key)) return 0; /* another thread was first */
  add(peer ? &process->peer_done : &process->done);
  struct group* group = bpf_map_lookup_elem(&groups, &of);
  if (group) add(peer ? &group->peer_done : &group->done);
  return 0;
}

/* wait of a send or receive. */
SEC("uprobe")
int c10d_wait(struct pt_regs* ctx) {
  struct object_key key = {.object = PT_REGS_PARM1(ctx), .kind = kind_c10d};
  struct process* process = current_process(&key.pid);
  if (!process) return 0;
  key.born = process->born;
  struct work* work = bpf_map_lookup_elem(&works, &key);
  if (work) work->waiting = bpf_ktime_get_ns();
  return 0;
}
