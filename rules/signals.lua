-- The signals of the pack: what rules may read, and the foreign names that mean the same.
--
-- kind gauge, counter (its rows are rates), state (a text or bits that hold until they change), step (a count of
-- progress),
--         time, event, liveness
-- owner   whose value it is: job, node, gpu or rank. A rank's value from a line of no known rank belongs to the job
-- source  who must listen before "none came" means none; a signal without one is unknown until it is seen
-- points  its samples count as points: a need may ask for the last n of them
-- aliases foreign names; name = factor where their unit is another
--
-- DCGM renamed most of its fields in 4.6; both names are listed.

local log, sampler, scheduler, kernel = "log", "sampler", "scheduler", "kernel_log"

signals {

  -- ---- progress, as frameworks print it
  -- ---------------------------------------------------------------------------------------
  step = { kind = "step", unit = "count", owner = "rank", source = log,
    documentation = "The optimizer step that a rank has finished. Its age counts from its last change.",
    aliases = { "global_step", "iteration", "train/global_step" } },
  step_gap = { kind = "gauge", unit = "seconds", owner = "rank", points = true,
    documentation = "Made by the engine: the time between two arrivals at which `step` changed." },
  step_time = { kind = "gauge", unit = "seconds", owner = "rank", source = log, points = true,
    documentation = "How long a step took, as the framework measured it.",
    aliases = { "iteration_time", elapsed_time_per_iteration_ms = 0.001, "train_step_timing" } },
  compute_time = { kind = "gauge", unit = "seconds", owner = "rank", source = log, points = true,
    documentation = "The part of a step in which the rank itself computed: without waiting for data or for other "
      .. "ranks." },
  data_time = { kind = "gauge", unit = "seconds", owner = "rank", source = log, points = true,
    documentation = "The part of a step in which the rank waited for its data loader." },
  loader_busy = { kind = "gauge", unit = "ratio", owner = "rank", source = log, points = true,
    documentation = "The share of time in which the workers of a rank's data loader were at work: below 1 they could "
      .. "give more." },
  comm_time = { kind = "gauge", unit = "seconds", owner = "rank", source = log, points = true,
    documentation = "The part of a step in collectives: the transfer, and the wait for slower ranks." },
  eval_time = { kind = "gauge", unit = "seconds", owner = "rank", source = log, points = true,
    documentation = "How long an evaluation took.", aliases = { "eval_runtime" } },
  checkpoint_time = { kind = "gauge", unit = "seconds", owner = "rank", source = log, points = true,
    documentation = "How long the training waited for a checkpoint to be written." },
  tokens_per_s = { kind = "gauge", unit = "count/seconds", owner = "rank", source = log, points = true,
    documentation = "Tokens trained on in a second.", aliases = { "tps" } },
  loss = { kind = "gauge", unit = "none", owner = "job", source = log, points = true,
    documentation = "The training loss. Ranks that report the same step agree on one value.",
    aliases = { "train_loss", "lm_loss", "train/loss" } },
  grad_norm = { kind = "gauge", unit = "none", owner = "job", source = log, points = true,
    documentation = "The norm of the gradient before clipping.", aliases = { "train/grad_norm", "gnorm" } },
  epoch = { kind = "gauge", unit = "count", owner = "job", source = log, points = true,
    documentation = "The epoch of a line that sums one up: where no step is read, it tells that another training has "
      .. "begun in the same log." },
  learning_rate = { kind = "gauge", unit = "none", owner = "job", source = log, points = true,
    documentation = "The learning rate of the first parameter group.", aliases = { "lr", "train/learning_rate" } },
  phase = { kind = "state", unit = "text", owner = "job", source = log, values = {
    "starting", "train", "eval", "checkpoint",
  },
    documentation = "What the job is busy with, by its own words." },
  overflow_skip = { kind = "event", unit = "none", owner = "job", source = log, fields = {
    count = "count", scale = "none",
  },
    documentation = "A step that the loss scaler left out because a gradient overflowed: part of finding the scale." },
  nan_iterations = { kind = "event", unit = "none", owner = "job", source = log, fields = { count = "count" },
    documentation = "Steps that the framework itself counted as having a loss that is no number." },
  loss_is_nan = { kind = "event", unit = "none", owner = "job", source = log, fields = { message = "text" },
    documentation = "The training itself reports that its loss, or a gradient, is no number." },
  loss_scale_exhausted = { kind = "event", unit = "none", owner = "job", source = log,
    documentation = "The loss scale cannot be lowered further: gradients overflow at any scale." },
  training_begun = {
    kind = "event", unit = "none", owner = "job", source = log,
    documentation = "The set-up is done; the first step comes next.",
  },
  run_started = {
    kind = "event", unit = "none", owner = "job", source = log,
    documentation = "A training was started, by what launchers and trainers print once at their start.",
  },
  training_over = {
    kind = "event", unit = "none", owner = "job", source = log,
    documentation = "The log says that training is finished; some say so of each epoch.",
  },
  training_due = {
    kind = "event", unit = "none", owner = "job", source = log,
    documentation = "By the training's own count its last step is made, or will be within half a minute.",
  },
  training_cut_short = { kind = "event", unit = "none", owner = "job", source = log, fields = { steps = "count" },
    documentation = "The training reports that it is done after so many steps: as many as its configuration asks "
      .. "for, or none for want of data." },
  input_bound = { kind = "event", unit = "none", owner = "job", source = log, fields = { share = "percent" },
    documentation = "A profiler finds that so much of each step is a wait for data." },
  training_ended = {
    kind = "event", unit = "none", owner = "job", source = log,
    documentation = "The training reports that it is done; what follows is clean-up.",
  },
  checkpoint_begun = {
    kind = "event", unit = "none", owner = "job", source = log, documentation = "A checkpoint is being written.",
  },
  checkpoint_saved = { kind = "event", unit = "none", owner = "job", source = log, fields = {
    step = "count", path = "text",
  },
    documentation = "A checkpoint is complete." },
  checkpoint_loading = { kind = "event", unit = "none", owner = "job", source = log, fields = { path = "text" },
    documentation = "A checkpoint is being read." },
  checkpoint_loaded = { kind = "event", unit = "none", owner = "job", source = log, fields = {
    step = "count", path = "text",
  },
    documentation = "The training goes on from a checkpoint." },
  weights_loaded = { kind = "event", unit = "none", owner = "job", source = log,
    documentation = "Weights that an earlier training wrote were read: the loss begins where that one ended." },
  checkpoint_missing = { kind = "event", unit = "none", owner = "job", source = log,
    documentation = "The checkpoint to go on from was not found; the training begins anew." },
  checkpoint_unreadable = { kind = "event", unit = "none", owner = "job", source = log, fields = { message = "text" },
    documentation = "A checkpoint is damaged, or does not fit the model." },
  checkpoint_mismatch = { kind = "event", unit = "none", owner = "job", source = log, fields = { weight = "text" },
    documentation = "A weight of the checkpoint has another shape in the model. Programs that leave it out go on." },
  started_from_scratch = {
    kind = "event", unit = "none", owner = "job", source = log, documentation = "The model was initialised anew.",
  },
  resume_asked = { kind = "state", unit = "text", owner = "job", source = log, values = { "yes", "no" },
    documentation = "Whether the job resumes from a checkpoint." },

  -- ---- collectives: NCCL, gloo and what they print
  -- ----------------------------------------------------------------------------
  collective_launched = { kind = "step", unit = "count", owner = "rank",
    documentation = "Collectives that the rank has launched since it started, over all its groups.",
    aliases = { "coll_launched" } },
  collective_done = { kind = "step", unit = "count", owner = "rank",
    documentation = "Collectives of the rank that are complete.", aliases = { "coll_done" } },
  rank_hung = { kind = "gauge", unit = "none", owner = "rank",
    documentation = "A profiler beside the rank reports that a kernel of it runs without end: 1, else 0.",
    aliases = { "XPU_TIMER_COMMON_HANG" } },
  rendezvous = { kind = "state", unit = "text", owner = "job", source = log, values = { "waiting", "joined" },
    documentation = "Whether the ranks have found each other." },
  rendezvous_trouble = {
    kind = "event", unit = "none", owner = "job", source = log,
    documentation = "A rank could not reach the rendezvous yet, and tries again.",
  },
  rendezvous_timeout = { kind = "event", unit = "none", owner = "job", source = log, fields = {
    joined = "count", wanted = "count", waited = "seconds",
  },
    documentation = "The rendezvous gave up: so many of the wanted ranks had joined." },
  rendezvous_failed = {
    kind = "event", unit = "none", owner = "job", source = log,
    documentation = "The rendezvous could not be reached, or was closed.",
  },
  rendezvous_missed = { kind = "event", unit = "none", owner = "rank", source = log, fields = { missing = "none" },
    documentation = "This rank did not come to the rendezvous of the start, which knows its members." },
  port_in_use = { kind = "event", unit = "none", owner = "job", source = log, fields = { port = "none" },
    documentation = "The rendezvous could not listen: another process has its port." },
  collective_timeout = { kind = "event", unit = "none", owner = "rank", source = log,
    fields = {
      missing = "none", seq = "count", op = "text", timeout_ms = "none", ran_ms = "none", last_enqueued = "count",
      last_completed = "count",
    },
    documentation = "The rank's watchdog waited too long for a collective: the rank waits, it is not the one that is "
      .. "missing." },
  collective_timeout_reported = { kind = "event", unit = "none", owner = "rank", source = log, fields = {
    last_enqueued = "count", last_completed = "count",
  },
    documentation = "Another rank's watchdog gave up on a collective, and notified this rank." },
  collective_stalled = { kind = "event", unit = "none", owner = "job", source = log, fields = { missing = "none" },
    documentation = "Some ranks have waited for a minute for others that have not asked for a collective." },
  collective_unasked = { kind = "event", unit = "none", owner = "rank", source = log, fields = { missing = "none" },
    documentation = "This rank alone has not asked for a collective in which others wait." },
  barrier_missed = { kind = "event", unit = "none", owner = "rank", source = log, fields = { missing = "none" },
    documentation = "This rank did not come to a barrier that knows its members." },
  watchdog_stuck = { kind = "event", unit = "none", owner = "rank", source = log, fields = { seconds = "seconds" },
    documentation = "The rank's watchdog thread itself makes no progress." },
  flight_recorder = { kind = "event", unit = "none", owner = "rank", source = log, fields = {
    path = "text", op = "text", missing = "text",
  },
    documentation = "The collectives of the last minutes were dumped, or a dump was analysed." },
  stack_in_collective = { kind = "event", unit = "none", owner = "rank", source = log, fields = { call = "text" },
    documentation = "A sample of a process' stack shows it within a collective." },
  nccl_error = { kind = "event", unit = "none", owner = "rank", source = log, fields = {
    message = "text", place = "text", node = "text", device = "none",
  },
    documentation = "NCCL gave up: a connection or a peer is gone." },
  nccl_warning = { kind = "event", unit = "none", owner = "rank", source = log, fields = {
    message = "text", place = "text", node = "text", device = "none",
  },
    documentation = "NCCL warns: as a rule of what it does without. Only where nothing follows is it why the job "
      .. "ended." },
  nccl_trouble = {
    kind = "event", unit = "none", owner = "rank", source = log,
    documentation = "NCCL tries again: a connection was slow or lost.",
  },
  nccl_sockets = {
    kind = "event", unit = "none", owner = "rank", source = log,
    documentation = "NCCL found no fast transport and goes over TCP.",
  },
  peer_lost = { kind = "event", unit = "none", owner = "rank", source = log, fields = { peer = "text" },
    documentation = "The rank lost its connection to another: the other one is gone." },

  -- ---- how processes and jobs end
  -- ---------------------------------------------------------------------------------------------
  traceback = { kind = "event", unit = "none", owner = "rank", source = log, fields = {
    exception = "text", message = "text", frame = "text", place = "text", loading = "text", part = "text",
    link = "text", code = "text",
  },
    documentation = "A Python traceback, by the exception that it ends in. `loading` is yes where a checkpoint was "
      .. "being loaded; `part` is consequence where the exception reports the end of another rank, and no room where "
        .. "the first use of a GPU finds no memory on it; `link` says whether it was raised while another one was "
          .. "handled, or because of it; `code` is library where all frames are, else own." },
  exception_raised = { kind = "event", unit = "none", owner = "job", source = log, fields = {
    exception = "text", message = "text", frame = "text", place = "text", loading = "text", part = "text",
    link = "text", code = "text",
  },
    documentation = "The same traceback as an event of the job: of several the first is that of whoever failed "
      .. "first. `place` is the last frame outside of libraries; `part` is consequence where another rank's end is "
        .. "what it reports." },
  usage_error = { kind = "event", unit = "none", owner = "rank", source = log, fields = { message = "text" },
    documentation = "The program refuses its command line." },
  missing_module = { kind = "event", unit = "none", owner = "rank", source = log, fields = {
    message = "text", module = "text",
  },
    documentation = "A Python module is not installed, or does not load." },
  missing_file = {
    kind = "event", unit = "none", owner = "rank", source = log, fields = { message = "text" },
    documentation = "A file is not there.",
  },
  library_missing = { kind = "event", unit = "none", owner = "rank", source = log, fields = { library = "text" },
    documentation = "A shared library does not load." },
  hub_access = {
    kind = "event", unit = "none", owner = "rank", source = log,
    documentation = "A model hub refused access, or has no such model.",
  },
  bad_data = {
    kind = "event", unit = "none", owner = "rank", source = log,
    documentation = "The data could not be read as what it should be.",
  },
  permission_denied = { kind = "event", unit = "none", owner = "rank", source = log, fields = { path = "text" },
    documentation = "A file may not be read or written." },
  disk_full = {
    kind = "event", unit = "none", owner = "rank", source = log,
    documentation = "A write failed: the disk, or the quota, is full.",
  },
  storage_failed = { kind = "event", unit = "none", owner = "rank", source = log, fields = { errno = "none" },
    documentation = "A read or a write failed, and not for lack of space: the file system, or the way to it, failed." },
  no_gpu = {
    kind = "event", unit = "none", owner = "rank", source = log, documentation = "CUDA finds no GPU, or no driver.",
  },
  cuda_oom = { kind = "event", unit = "none", owner = "rank", source = log, fields = {
    tried = "bytes", total = "bytes", gpu = "none",
  },
    documentation = "CUDA could not allocate memory." },
  cuda_error = { kind = "event", unit = "none", owner = "rank", source = log, fields = { error = "text" },
    documentation = "CUDA error for another reason than memory." },
  gpu_lost = {
    kind = "event", unit = "none", owner = "rank", source = log, fields = { pci = "text" },
    documentation = "A program asked for a GPU that does not answer any more.",
  },
  gpu_ecc = {
    kind = "event", unit = "none", owner = "rank", source = log,
    documentation = "A program saw a memory error of the GPU that could not be corrected.",
  },
  rank_failed = { kind = "event", unit = "none", owner = "rank", source = log,
    fields = {
      rank = "none", local_rank = "none", exitcode = "none", pid = "none", signal = "none", how = "text",
      node = "text", tasks = "text", launcher = "text",
    },
    documentation = "The launcher reports that a rank ended badly, by a signal or with a code." },
  process_killed = { kind = "event", unit = "none", owner = "rank", source = log, fields = {
    pid = "none", signal = "none", how = "text",
  },
    documentation = "A shell or the scheduler reports that a process was ended by a signal." },
  signal_received = { kind = "event", unit = "none", owner = "rank", source = log, fields = {
    pid = "none", signal = "none", name = "text",
  },
    documentation = "The launcher's word for the signal that ended a process." },
  launcher_stopped = { kind = "event", unit = "none", owner = "job", source = log, fields = { signal = "none" },
    documentation = "The launcher itself was asked to end." },
  worker_group_restart = { kind = "event", unit = "none", owner = "job", source = log, fields = { left = "count" },
    documentation = "The launcher starts all ranks again." },
  aborted = {
    kind = "event", unit = "none", owner = "rank", source = log, fields = { exception = "text" },
    documentation = "A process ended itself with an abort.",
  },
  host_oom = { kind = "event", unit = "none", owner = "job", source = log, fields = {
    pid = "none", count = "count", process = "text", step = "text",
  },
    documentation = "A process was killed, or refused memory, because the host's memory, or the job's share of it, "
      .. "was used up." },
  segfault = { kind = "event", unit = "none", owner = "rank", source = log, fields = {
    process = "text", library = "text", whose = "text",
  },
    documentation = "A process touched memory that is not its own." },
  bus_error = { kind = "event", unit = "none", owner = "rank", source = log,
    documentation = "A process lost memory that it had mapped: shared memory is full, or a file shrank." },
  dataloader_killed = { kind = "event", unit = "none", owner = "rank", source = log, fields = {
    pid = "none", signal = "text",
  },
    documentation = "A worker of the rank's data loader was killed." },
  slurm_cancelled = { kind = "event", unit = "none", owner = "job", source = log, fields = {
    what = "text", node = "text", reason = "text",
  },
    documentation = "The scheduler ended the job or a step of it." },
  task_failure = {
    kind = "event", unit = "none", owner = "job", source = log,
    documentation = "The scheduler ended the job because a task of it failed.",
  },
  time_limit = {
    kind = "event", unit = "none", owner = "job", source = log,
    documentation = "The scheduler ended the job at its time limit.",
  },
  node_failure = { kind = "event", unit = "none", owner = "job", source = log, fields = { node = "text" },
    documentation = "Node failure reported by the scheduler." },
  preempted = {
    kind = "event", unit = "none", owner = "job", source = log,
    documentation = "The scheduler, or the cloud, took the job's nodes for another one.",
  },
  requeued = {
    kind = "event", unit = "none", owner = "job", source = log,
    documentation = "The scheduler put the job back into its queue.",
  },
  cancel_requested = { kind = "event", unit = "none", owner = "job", source = scheduler, fields = { reason = "text" },
    documentation = "A person asked for the end of the job." },
  end_reason = { kind = "state", unit = "text", owner = "job", source = scheduler,
    values = { "completed", "failed", "timeout", "cancelled", "node_fail", "preempted", "requeued", "oom", "unknown" },
    documentation = "Why the attempt ended, by the scheduler's word." },

  -- ---- processes, from /proc
  -- --------------------------------------------------------------------------------------------------
  process_cpu = { kind = "gauge", unit = "ratio", owner = "rank", source = sampler, lateness = "1s",
    documentation = "Processor time of the rank's process over time: 1 is one core." },
  process_state = { kind = "state", unit = "text", owner = "rank", source = sampler, lateness = "1s",
    values = { "running", "sleeping", "disk_sleep", "stopped", "traced", "zombie" },
    documentation = "The state of the rank's main thread." },
  wait_channel = { kind = "state", unit = "text", owner = "rank", source = sampler, lateness = "1s",
    documentation = "The kernel function in which the rank's main thread sleeps; readable by root." },
  wait_syscall = { kind = "state", unit = "text", owner = "rank", source = sampler, lateness = "1s",
    documentation = "The system call in which the rank's main thread sleeps." },
  process_pid = { kind = "gauge", unit = "none", owner = "rank", source = sampler, lateness = "1s",
    documentation = "The number under which the rank's node knows its process." },
  wait_share = { kind = "gauge", unit = "ratio", owner = "rank", source = sampler, lateness = "1s",
    documentation = "The share of looks, several a second, in which the rank's main thread waited for others: in a "
      .. "futex, a poll or a receive." },
  children_cpu = { kind = "gauge", unit = "ratio", owner = "rank", source = sampler, lateness = "1s",
    documentation = "Processor time of what the rank's process has started, loader workers and compilers, over time: "
      .. "1 is one core." },
  exit_status = { kind = "gauge", unit = "none", owner = "rank", source = sampler, lateness = "1s",
    documentation = "How the rank's process ended, while nobody has reaped it: its code, or 128 and the signal." },
  process_rss = { kind = "gauge", unit = "bytes", owner = "rank", source = sampler, lateness = "1s",
    documentation = "Memory that the rank's process holds." },

  -- ---- nodes
  -- ------------------------------------------------------------------------------------------------------------------
  host_memory_used = { kind = "gauge", unit = "bytes", owner = "node", source = sampler,
    documentation = "Memory in use on the node, or in the job's share of it." },
  host_memory_limit = { kind = "gauge", unit = "bytes", owner = "node", source = sampler,
    documentation = "The memory that the node, or the job's share of it, has.",
    aliases = { "node_memory_MemTotal_bytes" } },
  node_state = { kind = "state", unit = "text", owner = "node", source = scheduler,
    values = { "up", "drain", "down", "fail", "not_responding" },
    documentation = "The node's state, as the scheduler sees it." },
  node_power = { kind = "gauge", unit = "watts", owner = "node", documentation = "Power that the node draws." },
  fs_latency = {
    kind = "gauge", unit = "seconds", owner = "node",
    documentation = "How long a small read or write of the shared file system takes.",
  },

  -- ---- GPUs: NVML, DCGM and their exporters
  -- -----------------------------------------------------------------------------------
  gr_engine_active = { kind = "gauge", unit = "ratio", owner = "gpu",
    documentation = "The share of time in which a kernel ran at all. A waiting NCCL kernel counts.",
    aliases = { "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO", DCGM_FI_DEV_GPU_UTIL = 0.01,
                nvmlUtilization_gpu = 0.01, nvidia_smi_utilization_gpu = 0.01 } },
  sm_active = { kind = "gauge", unit = "ratio", owner = "gpu", documentation =
    "The share of multiprocessors that had work, over time.",
    aliases = { "DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_PROF_SM_UTIL_RATIO" } },
  tensor_active = { kind = "gauge", unit = "ratio", owner = "gpu", documentation =
    "The share of time in which the tensor cores worked.",
    aliases = { "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "DCGM_FI_PROF_TENSOR_UTIL_RATIO" } },
  sm_clock = {
    kind = "gauge", unit = "MHz", owner = "gpu", documentation = "The clock of the multiprocessors.",
    aliases = { "DCGM_FI_DEV_SM_CLOCK", "nvidia_smi_clocks_current_sm" },
  },
  gpu_power = { kind = "gauge", unit = "watts", owner = "gpu", documentation = "Power that the GPU draws.",
    aliases = { "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_BOARD_POWER_WATTS", "nvidia_smi_power_draw" } },
  gpu_power_limit = { kind = "gauge", unit = "watts", owner = "gpu", documentation = "Power that the GPU may draw.",
    aliases = { "DCGM_FI_DEV_POWER_MGMT_LIMIT", "DCGM_FI_DEV_ENFORCED_POWER_LIMIT", "nvidia_smi_power_limit" } },
  gpu_temperature = { kind = "gauge", unit = "celsius", owner = "gpu", documentation = "Temperature of the chip.",
    aliases = { "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_TEMP_CELSIUS", "nvidia_smi_temperature_gpu" } },
  gpu_memory_used = { kind = "gauge", unit = "bytes", owner = "gpu", documentation = "GPU memory in use.",
    aliases = { DCGM_FI_DEV_FB_USED = 1048576, nvidia_smi_memory_used = 1048576 } },
  gpu_memory_used_ratio = { kind = "gauge", unit = "ratio", owner = "gpu", documentation = "The share of GPU memory in use.",
    aliases = { "DCGM_FI_DEV_FB_USED_RATIO", "DCGM_FI_DEV_FB_USED_PERCENT" } },
  throttle_reported = { kind = "event", unit = "none", owner = "job", source = log, fields = { reason = "text" },
    documentation = "A tool that looks at GPUs reports that heat or the power brake slows one down." },
  throttle_thermal = { kind = "counter", unit = "seconds", owner = "gpu",
    documentation = "Time in which the hardware halved the clock, or more, because of heat. Its rate is the share of "
      .. "time.",
    aliases = { DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN_NS = 1e-9, DCGM_FI_DEV_THERMAL_VIOLATION = 1e-9 } },
  throttle_brake = { kind = "counter", unit = "seconds", owner = "gpu",
    documentation = "Time in which the power brake of the machine halved the clock, or more. Its rate is the share "
      .. "of time.",
    aliases = { DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN_NS = 1e-9 } },
  clock_event_reasons = { kind = "state", unit = "bits", owner = "gpu",
    documentation = "Why the clock is not higher: 0x8 hardware slowdown, 0x20 heat (software), 0x40 heat (hardware), "
      .. "0x80 power brake; the rest is benign.",
    aliases = { "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS" } },
  nvlink_replay = { kind = "counter", unit = "count", owner = "gpu", documentation =
    "Transfers over NVLink that had to be repeated.",
    aliases = { "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_TOTAL" } },
  nvlink_recovery = { kind = "counter", unit = "count", owner = "gpu", documentation = "NVLink recoveries.",
    aliases = { "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_TOTAL" } },
  nvlink_crc = { kind = "counter", unit = "count", owner = "gpu", documentation =
    "NVLink packets whose checksum was wrong.",
    aliases = { "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_TOTAL" } },
  -- Levels, not rates: what stood there before the job is a latent fault, what came during it may be the cause.
  ecc_corrected = { kind = "gauge", unit = "count", owner = "gpu", documentation =
    "Memory errors corrected since the driver was loaded.",
    aliases = { "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL" } },
  ecc_uncorrected = { kind = "gauge", unit = "count", owner = "gpu", documentation =
    "Memory errors not corrected since the driver was loaded.",
    aliases = { "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL" } },
  row_remap_failure = { kind = "gauge", unit = "count", owner = "gpu", documentation =
    "Whether a row of memory could not be remapped.",
    aliases = { "DCGM_FI_DEV_ROW_REMAP_FAILURE", "DCGM_FI_DEV_ROW_REMAP_FAILED" } },
  gpus_compared = { kind = "event", unit = "none", owner = "job", source = log, fields = {
    idle = "watts", busy = "watts",
  },
    documentation = "A table of GPUs without their names: the power of one at rest, and of one that is fully busy." },
  gpu_unreadable = { kind = "event", unit = "none", owner = "gpu", source = sampler, fields = {
    call = "text", reason = "text",
  },
    documentation = "NVML did not answer a question about the GPU, and why: what that call gives is unknown. "
      .. "Reported once a call." },
  xid = { kind = "event", unit = "none", owner = "gpu", source = kernel, fields = {
    code = "none", pci = "text", pid = "none", process = "text", recovery = "none",
  },
    documentation = "An error that the driver reported in the kernel's log, by its number. `recovery` is the action "
      .. "that 154 asks for: 0 none, 1 reset, 2 reboot, 3 drain, 4 drain and reset." },
  sxid = { kind = "event", unit = "none", owner = "job", source = kernel, fields = {
    code = "none", pci = "text", class = "text",
  },
    documentation = "An error of an NVSwitch." },

  -- ---- the kernel's log, besides GPUs
  -- -------------------------------------------------------------------------------------------
  hung_task = { kind = "event", unit = "none", owner = "job", source = kernel, fields = {
    process = "text", pid = "none", seconds = "seconds",
  },
    documentation = "The kernel sees a process that waits for a device or a file system without an end." },
  cpu_lockup = {
    kind = "event", unit = "none", owner = "job", source = kernel,
    documentation = "A processor made no progress within the kernel.",
  },
  cpu_throttled = {
    kind = "event", unit = "none", owner = "job", source = kernel, documentation = "A processor is slowed by heat.",
  },
  machine_check = {
    kind = "event", unit = "none", owner = "job", source = kernel,
    documentation = "The hardware reported an error that it could not correct.",
  },
  pcie_error = {
    kind = "event", unit = "none", owner = "job", source = kernel,
    documentation = "The PCIe bus reported an error that it could not correct.",
  },
  link_down = {
    kind = "event", unit = "none", owner = "job", source = kernel, documentation = "A network link went down.",
  },
  file_server_silent = {
    kind = "event", unit = "none", owner = "job", source = kernel, fields = { server = "text" },
    documentation = "A file server does not answer; the kernel tries on.",
  },
  file_server_back = {
    kind = "event", unit = "none", owner = "job", source = kernel, fields = { server = "text" },
    documentation = "A file server answers again.",
  },
  storage_error = {
    kind = "event", unit = "none", owner = "job", source = kernel, documentation = "A file system or a disk failed.",
  },

  -- ---- what the engine reports of itself
  -- ------------------------------------------------------------------------------------------
  origin_behind = { kind = "event", unit = "none", owner = "job", fields = { origin = "text" },
    documentation = "Made by the engine: a log that records of the job come from has not been read for two minutes. "
      .. "Its members are unobserved." },
  origin_caught_up = { kind = "event", unit = "none", owner = "job", fields = { origin = "text" },
    documentation = "Made by the engine: a log that was behind is waited for again." },
  any = {
    kind = "liveness", unit = "none", owner = "rank",
    documentation = "Made by the engine: whether a member writes anything at all.",
  },
}

-- What `peers` may list, and whose it is.
coordinates { pipeline_stage = "rank", expert_stage = "rank", tensor_rank = "rank", gpu_model = "gpu" }
