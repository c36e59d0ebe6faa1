/* The CUDA driver. The runtime and the libraries above it call the same functions (cuGetProcAddress gives the exported
   ones), so a launch is counted here alone, once, also where the runtime is linked statically. */

static __always_inline struct process* called(__u32 which) {
  __u32 pid;
  struct process* process = current_process(&pid);
  if (process) add(&process->calls[which]);
  return process;
}

/* A context is made or used for the first time: the process holds a GPU. */
SEC("uprobe")
int cuda_attach(struct pt_regs* ctx) {
  __u32 pid;
  struct process* process = current_process(&pid);
  if (process && !process->attached) process->attached = bpf_ktime_get_ns();
  return 0;
}

SEC("uprobe")
int cuda_launch(struct pt_regs* ctx) {
  called(call_launch);
  return 0;
}

SEC("uprobe")
int cuda_graph(struct pt_regs* ctx) {
  called(call_graph);
  return 0;
}

SEC("uprobe")
int cuda_allocate(struct pt_regs* ctx) {
  called(call_allocate);
  return 0;
}

/* (to, from, bytes, ...): the cookie says the direction. */
SEC("uprobe")
int cuda_copy(struct pt_regs* ctx) {
  struct process* process = called(call_copy);
  if (process) __sync_fetch_and_add(&process->copied[bpf_get_attach_cookie(ctx) & 3], PT_REGS_PARM3(ctx));
  return 0;
}

/* cuMemcpy2D(const CUDA_MEMCPY2D*): two sides of eight words, then width and height. */
SEC("uprobe")
int cuda_copy_2d(struct pt_regs* ctx) {
  struct process* process = called(call_copy);
  __u64 words[16] = {};
  if (!process || bpf_probe_read_user(words, sizeof words, (void*)PT_REGS_PARM1(ctx))) return 0;
  __u32 from = words[2], to = words[9], host = 1, device = 2;
  __u32 direction = from == host && to == device   ? copy_to_device
                    : from == device && to == host ? copy_to_host
                                                   : copy_other;
  __sync_fetch_and_add(&process->copied[direction], words[14] * words[15]);
  return 0;
}

/* The host waits in there. Its end is a probe where the call returns to: the tracer sets it when it has seen the place
   for the first time. A return probe would hide the stack from debuggers for as long as it waits. */
SEC("uprobe")
int cuda_wait(struct pt_regs* ctx) {
  struct wait_key key = {.thread = bpf_get_current_pid_tgid()};
  struct process* process = current_process(&key.pid);
  if (!process) return 0;
  add(&process->calls[call_wait]);
  key.born = process->born;
  struct wait wait = {.since = bpf_ktime_get_ns(), .function = bpf_get_attach_cookie(ctx) & function_mask};
#if defined(__TARGET_ARCH_x86)
  if (bpf_probe_read_user(&wait.back, 8, (void*)PT_REGS_SP(ctx))) return 0;
#else
  wait.back = PT_REGS_RET(ctx);
#endif
  if (bpf_map_update_elem(&waits, &key, &wait, BPF_ANY)) lost();
  return 0;
}

SEC("uprobe")
int cuda_back(struct pt_regs* ctx) {
  struct wait_key key = {.thread = bpf_get_current_pid_tgid()};
  struct process* process = current_process(&key.pid);
  if (!process) return 0;
  key.born = process->born;
  struct wait* wait = bpf_map_lookup_elem(&waits, &key);
  if (!wait || wait->back != PT_REGS_IP(ctx)) return 0;
  __sync_fetch_and_add(&process->waited, bpf_ktime_get_ns() - wait->since);
  bpf_map_delete_elem(&waits, &key);
  return 0;
}
