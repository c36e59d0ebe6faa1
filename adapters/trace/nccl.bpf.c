/* NCCL's communicators. A call only enqueues, so what is completed is not known here. ncclBcast calls ncclBroadcast,
   and each pncclX is ncclX under another name: neither has a probe of its own. Only what makes a communicator is probed
   at its return, for its handle is written there; it is rare, and C. */

#define FNV 1099511628211ULL
static __always_inline __u64 mix(__u64 hash, __u64 word) { return (hash ^ word) * FNV; }

/* The 128 bytes of a ncclUniqueId, which is equal in all ranks. */
static __always_inline __u64 identity_at(const void* id) {
  __u64 words[16] = {}, hash = 14695981039346656037ULL;
  if (bpf_probe_read_user(words, sizeof words, id)) return 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) hash = mix(hash, words[i]);
  return hash ? hash : 1;
}

static __always_inline int make_later(struct pt_regs* ctx, __u64 to, __u32 size, __u32 rank, __u64 identity,
                                      __u32 many) {
  __u32 pid;
  struct process* process = current_process(&pid);
  struct thread* thread = process ? current_thread(process) : 0;
  if (!thread) return 0;
  thread->made_at = to;
  thread->made_size = size;
  thread->made_rank = rank;
  thread->made_identity = identity;
  thread->made_many = many;
  return 0;
}

/* ncclCommInitRank and ncclCommInitRankConfig(comm*, size, id, rank, ...): the id is passed by value. */
SEC("uprobe")
int nccl_init(struct pt_regs* ctx) {
#if defined(__TARGET_ARCH_x86)
  const void* id = (const void*)(PT_REGS_SP(ctx) + 8);
  __u32 rank = PT_REGS_PARM3(ctx);
#else
  const void* id = (const void*)PT_REGS_PARM3(ctx);
  __u32 rank = PT_REGS_PARM4(ctx);
#endif
  return make_later(ctx, PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx), rank, identity_at(id), 0);
}

/* ncclCommInitRankScalable(comm*, size, rank, number of ids, ids, config) */
SEC("uprobe")
int nccl_init_scalable(struct pt_regs* ctx) {
  return make_later(ctx, PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx),
                    identity_at((const void*)PT_REGS_PARM5(ctx)), 0);
}

/* ncclCommInitAll(comms, number, devices): all members are in this process. */
SEC("uprobe")
int nccl_init_all(struct pt_regs* ctx) {
  return make_later(ctx, PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx), 0, mix(bpf_ktime_get_ns(), PT_REGS_PARM1(ctx)), 1);
}

/* ncclCommSplit(comm, color, key, new comm*, config): every member calls it, in the same order. */
SEC("uprobe")
int nccl_split(struct pt_regs* ctx) {
  struct object_key key = {.object = PT_REGS_PARM1(ctx), .kind = kind_nccl};
  struct process* process = current_process(&key.pid);
  if (!process) return 0;
  key.born = process->born;
  struct group* parent = bpf_map_lookup_elem(&groups, &key);
  __u64 identity = 0;
  if (parent && parent->identity) {
    identity = mix(mix(parent->identity, PT_REGS_PARM2(ctx)), __sync_fetch_and_add(&parent->splits, 1) + 1);
    if (!identity) identity = 1;
  }
  return make_later(ctx, PT_REGS_PARM4(ctx), 0, 0, identity, 0);
}

static __always_inline void made(struct process* process, __u32 pid, __u64 object, struct thread* thread, __u32 rank) {
  if (!object) return; /* failed, or of no color */
  struct object_key key = {.object = object, .born = process->born, .pid = pid, .kind = kind_nccl};
  bpf_map_delete_elem(&groups, &key);
  struct group* group = group_at(&key);
  if (!group) return;
  group->order = __sync_fetch_and_add(&process->groups, 1) + 1;
  group->size = thread->made_size;
  group->rank = rank;
  group->identity = thread->made_identity;
}

SEC("uretprobe")
int nccl_made(struct pt_regs* ctx) {
  __u32 pid;
  struct process* process = current_process(&pid);
  struct thread* thread = process ? current_thread(process) : 0;
  if (!thread || !thread->made_at) return 0;
  const __u64* at = (const __u64*)thread->made_at;
  thread->made_at = 0;
  __u64 objects[16] = {};
  if (!thread->made_many) {
    if (bpf_probe_read_user(objects, 8, at) == 0) made(process, pid, objects[0], thread, thread->made_rank);
    return 0;
  }
  for (__u32 i = 0; i < 16; ++i) {
    if (i >= thread->made_size || bpf_probe_read_user(objects, 8, at + i)) break;
    made(process, pid, objects[0], thread, i);
  }
  return 0;
}

/* ncclCommDestroy, ncclCommAbort */
SEC("uprobe")
int nccl_end(struct pt_regs* ctx) {
  struct object_key key = {.object = PT_REGS_PARM1(ctx), .kind = kind_nccl};
  struct process* process = current_process(&key.pid);
  if (!process) return 0;
  key.born = process->born;
  bpf_map_delete_elem(&groups, &key);
  return 0;
}

/* A collective, a send or a receive; the cookie says at which arguments its communicator, count, type and root are. */
SEC("uprobe")
int nccl_call(struct pt_regs* ctx) {
  __u64 cookie = bpf_get_attach_cookie(ctx);
  __u64 arguments[8] = {
      0, PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx), PT_REGS_PARM4(ctx), PT_REGS_PARM5(ctx)};
#if defined(__TARGET_ARCH_x86)
  arguments[6] = ctx->r9;
  if (((cookie >> communicator_shift) & 7) == 7) bpf_probe_read_user(&arguments[7], 8, (void*)(PT_REGS_SP(ctx) + 8));
#else
  arguments[6] = ((struct user_pt_regs*)ctx)->regs[5];
  arguments[7] = ((struct user_pt_regs*)ctx)->regs[6];
#endif
  struct object_key key = {.object = arguments[(cookie >> communicator_shift) & 7], .kind = kind_nccl};
  struct process* process = current_process(&key.pid);
  if (!process) return 0;
  key.born = process->born;
  add(&process->calls[call_nccl]);
  struct group* group = group_at(&key);
  if (!group) return 0;
  if (cookie & flag_peer) {
    add(&group->peer_launched);
    add(&process->peer_launched);
  } else {
    add(&group->launched);
    add(&process->launched);
  }
  add(&process->unfinished); /* that is: nobody says when it is completed */
  __u32 function = cookie & function_mask;
  if (function < most_functions) add(&group->functions[function & (most_functions - 1)]);
  group->last_function = function;
  group->last_count = arguments[(cookie >> count_shift) & 7];
  group->last_type = arguments[((cookie >> count_shift) & 7) + 1 & 7];
  group->last_root = cookie >> root_shift & 7 ? (int)arguments[(cookie >> root_shift) & 7] : -1;
  return 0;
}
