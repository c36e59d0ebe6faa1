/* NCCL's communicators. A call only enqueues, so what is completed is not known here. ncclBcast calls ncclBroadcast,
   and each pncclX is ncclX under another name: neither has a probe of its own. The handle of a communicator is known
   when its maker has returned; no probe waits for that, the first call with a handle looks where it was to be written.
 */

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

static __always_inline int ask_for(struct process* process, __u32 pid, const struct pending* pending) {
  struct pending_key key = {.born = process->born, .pid = pid};
  key.slot = __sync_fetch_and_add(&process->pending, 1) % most_pending;
  bpf_map_update_elem(&pendings, &key, pending, BPF_ANY);
  return 0;
}

/* Makes the entry of a handle that is seen for the first time. */
static __always_inline struct group* first_seen(struct process* process, const struct object_key* key) {
  struct group* group = group_at(key);
  if (!group) return 0;
  struct pending_key slot = {.born = key->born, .pid = key->pid};
  for (__u32 i = 0; i < most_pending; ++i) {
    slot.slot = i;
    struct pending* pending = bpf_map_lookup_elem(&pendings, &slot);
    if (!pending || !pending->at) continue;
    __u64 handles[most_pending] = {};
    __u32 count = pending->many;
    if (count > most_pending) count = most_pending;
    if (bpf_probe_read_user(handles, count * 8, (const void*)pending->at)) continue;
    for (__u32 rank = 0; rank < most_pending; ++rank) {
      if (rank >= count || handles[rank] != key->object) continue;
      group->order = __sync_fetch_and_add(&process->groups, 1) + 1;
      group->size = pending->size;
      group->rank = pending->rank + rank;
      group->identity = pending->identity;
      if (count == 1) pending->at = 0;
      return group;
    }
  }
  return group;
}

static __always_inline struct group* communicator(struct process* process, const struct object_key* key) {
  struct group* group = bpf_map_lookup_elem(&groups, key);
  return group ? group : first_seen(process, key);
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
  __u32 pid;
  struct process* process = current_process(&pid);
  if (!process) return 0;
  struct pending asked = {.at = PT_REGS_PARM1(ctx), .size = PT_REGS_PARM2(ctx), .rank = rank, .many = 1};
  asked.identity = identity_at(id);
  return ask_for(process, pid, &asked);
}

/* ncclCommInitRankScalable(comm*, size, rank, number of ids, ids, config) */
SEC("uprobe")
int nccl_init_scalable(struct pt_regs* ctx) {
  __u32 pid;
  struct process* process = current_process(&pid);
  if (!process) return 0;
  struct pending asked = {.at = PT_REGS_PARM1(ctx), .size = PT_REGS_PARM2(ctx), .rank = PT_REGS_PARM3(ctx), .many = 1};
  asked.identity = identity_at((const void*)PT_REGS_PARM5(ctx));
  return ask_for(process, pid, &asked);
}

/* ncclCommInitAll(comms, number, devices): all members are in this process. */
SEC("uprobe")
int nccl_init_all(struct pt_regs* ctx) {
  __u32 pid;
  struct process* process = current_process(&pid);
  if (!process) return 0;
  struct pending asked = {.at = PT_REGS_PARM1(ctx), .size = PT_REGS_PARM2(ctx), .many = PT_REGS_PARM2(ctx)};
  asked.identity = mix(bpf_ktime_get_ns(), asked.at);
  return ask_for(process, pid, &asked);
}

/* ncclCommSplit(comm, color, key, new comm*, config): every member calls it, in the same order. The new one's size and
   rank are not known here. */
SEC("uprobe")
int nccl_split(struct pt_regs* ctx) {
  struct object_key key = {.object = PT_REGS_PARM1(ctx), .kind = kind_nccl};
  struct process* process = current_process(&key.pid);
  if (!process) return 0;
  key.born = process->born;
  struct group* parent = communicator(process, &key);
  struct pending asked = {.at = PT_REGS_PARM4(ctx), .many = 1};
  if (parent && parent->identity) {
    asked.identity = mix(mix(parent->identity, PT_REGS_PARM2(ctx)), __sync_fetch_and_add(&parent->splits, 1) + 1);
    if (!asked.identity) asked.identity = 1;
  }
  if ((int)PT_REGS_PARM2(ctx) < 0) return 0; /* this rank gets none */
  return ask_for(process, key.pid, &asked);
}

/* ncclCommDestroy, ncclCommAbort */
SEC("uprobe")
int nccl_end(struct pt_regs* ctx) {
  return end_group(ctx, kind_nccl);
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
  struct group* group = communicator(process, &key);
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
