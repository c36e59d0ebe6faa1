-- Cases of killed.lua, and those of `collective_failed`, which stands in hang_lines.lua.

case "a rank is killed" {
  ranks = 4, { lasting = "1m", phase = "train", step = steps(1) },
  {
    lasting = "5s", step = silent, events = { { "rank_failed", rank = 1, exitcode = -9, signal = 9 } }, ends = "failed",
  },
  fires = { { "rank_killed", who = { 1 }, cause = "sent" } },
}
case "a rank crashes in native code, by its launcher's word" {
  ranks = 4, { lasting = "1m", phase = "train", step = steps(1) },
  {
    lasting = "9s", step = silent, events = { { "rank_failed", rank = 2, exitcode = -11, signal = 11 } },
    ends = "failed",
  },
  fires = { { "rank_killed", who = { 2 }, cause = "crashed" } },
}
case "the rank whose loader was killed, not those that lost it" {
  ranks = 4, { lasting = "1m", phase = "train", step = steps(1) },
  {
    lasting = "5s", step = silent,
    events = {
      { "dataloader_killed", rank = 3, pid = 77 }, { "traceback", rank = 3 }, { "traceback", rank = 0, at = "1s" },
      { "rank_failed", rank = 0, exitcode = 1, at = "2s" },
    },
    ends = "failed",
  },
  fires = { { "rank_killed", who = { 3 }, cause = "loader" } },
}
case "a worker of the loader ends by its own exception" {
  ranks = 1, { lasting = "1m", phase = "starting" },
  { lasting = "5s", events = { {
    "dataloader_killed", rank = 0, pid = 77, signal = "none",
  }, { "dataloader_killed", rank = 0, pid = 77 }, { "traceback", rank = 0, exception = "RuntimeError" },
                               {
                                 "exception_raised", exception = "RuntimeError", message = "a worker ended",
                                 place = "train.py", code = "own",
                               } },
                               ends = "failed" },
  fires = { { "exception", cause = "own" } },
}
case "the kernel killed a process for its memory" {
  ranks = 4, { lasting = "1m", phase = "train", step = steps(1) },
  { lasting = "5s", events = { { "host_oom", pid = 4711 } }, ends = "oom" },
  fires = { { "rank_killed", cause = "memory" } },
}
case "the kernel killed a process in the last second" {
  ranks = 1,
  { lasting = "20s", phase = "starting", events = { { "host_oom", pid = 4711, at = "19s" } }, ends = "failed" },
  fires = { { "host_out_of_memory" } },
}
case "the kernel kills a process of another user" {
  ranks = 4,
  {
    lasting = "4m", phase = "train", step = steps(1), loss = ramp(5, 4),
    events = { { "host_oom", pid = 99, process = "firefox", at = "1m" } }, ends = "completed",
  },
  fires = { { "healthy" } },
}
case "the kernel kills a process, and the steps stop" {
  ranks = 4, { lasting = "4m", phase = "train", step = steps(1) },
  { lasting = "12s", step = silent, events = { { "host_oom", pid = 99, process = "python3" } } },
  fires = { { "rank_killed", cause = "memory", within = "12s" } },
}
case "a shell reports that its command was killed" {
  ranks = 1, { lasting = "2m", phase = "train", step = steps(1) },
  { lasting = "2s", step = silent, events = { { "process_killed", pid = 99, signal = 9 } }, ends = "failed" },
  fires = { { "process_killed" } },
}
case "a helper is killed, and the job goes on" {
  ranks = 1,
  {
    lasting = "4m", phase = "train", step = steps(1), loss = ramp(5, 4),
    events = { { "process_killed", pid = 99, signal = 9, at = "1m" } }, ends = "completed",
  },
  fires = { { "healthy" } },
}
case "a memory error that a program saw" {
  ranks = 4, per_node = 2, { lasting = "1m", phase = "train", step = steps(1) },
  { lasting = "5s", step = silent, events = { { "gpu_ecc", rank = 3 } }, ends = "failed" },
  fires = { { "gpu_error_in_log", who = { 3 }, cause = "memory" } },
}
case "a GPU that does not answer" {
  ranks = 4, per_node = 2, { lasting = "1m", phase = "train", step = steps(1) },
  { lasting = "5s", step = silent, events = { { "gpu_lost", rank = 1 } }, ends = "failed" },
  fires = { { "gpu_error_in_log", who = { 1 }, cause = "gone" } },
}
case "a CUDA call fails" {
  ranks = 2, { lasting = "1m", phase = "train", step = steps(1) },
  {
    lasting = "5s", step = silent,
    events = { { "cuda_error", rank = 1, error = "an illegal memory access was encountered" } }, ends = "failed",
  },
  fires = { { "cuda_failed", cause = "open" } },
}
case "a switch reports a fatal error" {
  ranks = 2,
  {
    lasting = "1m", phase = "train", step = steps(1),
    events = { { "sxid", code = 12028, class = "Fatal", at = "30s" } },
  },
  fires = { { "switch_failed", cause = "fatal" } },
}
case "a process gives up" {
  ranks = 2, { lasting = "1m", phase = "train", step = steps(1) },
  { lasting = "5s", step = silent, events = { { "aborted", rank = 1 } }, ends = "failed" },
  fires = { { "process_aborted", who = { 1 }, cause = "library" } },
}
case "a collective fails" {
  ranks = 2, { lasting = "1m", phase = "train", step = steps(1) },
  {
    lasting = "5s", step = silent, events = { { "nccl_error", rank = 1, message = "unhandled system error" } },
    ends = "failed",
  },
  fires = { { "collective_failed" } },
}
case "another program of the node touches memory that is not its own, and the steps go on" {
  ranks = 2,
  {
    lasting = "3m", phase = "train", step = steps(1),
    events = { { "segfault", rank = 0, process = "exporter", whose = "other", at = "60s" } },
  },
}
case "the kernel names a process that touches memory that is not its own, and the steps stop" {
  ranks = 2, { lasting = "1m", phase = "train", step = steps(1) },
  { lasting = "12s", step = silent, events = { { "segfault", rank = 0, process = "trainer", whose = "other" } } },
  fires = { { "rank_killed", who = { 0 }, cause = "segment", within = "12s" } },
}
case "the host refuses a rank more memory, and the launcher ends the others" {
  ranks = 3, { lasting = "1m", phase = "train", step = steps(1), process_cpu = 0.9 },
  { lasting = "9s", step = silent, events = { { "host_oom", process = "refused" }, {
    "traceback", rank = 1, exception = "RuntimeError",
  }, { "exception_raised", exception = "RuntimeError" },
    { "rank_failed", rank = 0, exitcode = -15, signal = 15, launcher = "torchrun", at = "2s" },
    { "rank_failed", rank = 1, exitcode = 1, launcher = "torchrun", at = "2s" } },
    ends = "failed" },
  fires = { { "rank_killed", who = { 1 }, cause = "refused" } },
}
case "NCCL gets no memory for its buffers, and fails" {
  ranks = 2,
  {
    lasting = "20s", phase = "starting",
    events = {
      { "nccl_warning", rank = 1, message = "Cuda failure 2 'out of memory'", at = "10s" },
      { "nccl_error", rank = 1, at = "10s" },
    },
    ends = "failed",
  },
  fires = { { "cuda_out_of_memory", who = { 1 }, cause = "plan" } },
}
case "a loader's worker is ended with its process, which raised an exception" {
  ranks = 1, { lasting = "1m", phase = "train", step = steps(1) },
  { lasting = "5s", step = silent, events = { {
    "dataloader_killed", rank = 0, pid = 77, signal = "Aborted",
  }, { "traceback", rank = 0, exception = "unheeded" },
    { "traceback", rank = 0, exception = "ValueError", code = "own" },
    { "exception_raised", exception = "ValueError", message = "3 columns", place = "train.py", code = "own" } },
    ends = "failed" },
  fires = { { "exception", who = { 0 }, cause = "own" } },
}
case "a loader's worker gives up, and its process reports nothing else" {
  ranks = 1, { lasting = "1m", phase = "train", step = steps(1) },
  {
    lasting = "2s", step = silent,
    events = {
      { "dataloader_killed", rank = 0, pid = 77, signal = "Aborted" },
      { "traceback", rank = 0, exception = "RuntimeError", part = "consequence" },
    },
    ends = "unknown",
  },
  fires = { { "process_aborted" } },
}
case "the kernel killed a process, the launcher names it" {
  ranks = 4, { lasting = "1m", phase = "train", step = steps(1) },
  {
    lasting = "9s", step = silent,
    events = { { "host_oom", pid = 4711 }, { "rank_failed", rank = 2, exitcode = -9, signal = 9, at = "2s" } },
    ends = "failed",
  },
  fires = { { "rank_killed", who = { 2 }, cause = "memory" } },
}
case "a rank is gone without a word" {
  ranks = 4, { lasting = "1m", phase = "train", step = steps(1), process_cpu = 0.3 },
  {
    lasting = "5s", step = silent,
    events = {
      { "peer_lost", rank = 0 }, { "traceback", rank = 0 }, { "peer_lost", rank = 1 }, { "traceback", rank = 1 },
      { "peer_lost", rank = 3 }, { "traceback", rank = 3 },
    },
    ends = "failed",
  },
  fires = { { "rank_vanished", who = { 2 } } },
}
case "a signal ends a rank whose steps nobody understands, and the other one loses it" {
  ranks = 2, { lasting = "1m", phase = "starting", process_cpu = 0.9 },
  {
    lasting = "3s", rank = { [1] = { process_state = "zombie", exit_status = 137 } },
    events = { { "peer_lost", rank = 0 }, { "traceback", rank = 0, exception = "RuntimeError", part = "consequence" } },
    ends = "failed",
  },
  fires = { { "rank_vanished", who = { 1 }, cause = "ended" } },
}
case "a person interrupts the ranks, and one loses the other before it is interrupted itself" {
  ranks = 2, { lasting = "1m", phase = "starting", process_cpu = 0.9 },
  {
    lasting = "3s", rank = { [1] = { process_state = "zombie", exit_status = 130 } },
    events = { { "peer_lost", rank = 0 }, { "traceback", rank = 0, exception = "RuntimeError", part = "consequence" } },
    ends = "failed",
  },
}
case "the launcher ends a rank with SIGTERM before it says that it lost the one that raised" {
  ranks = 4, { lasting = "1m", phase = "train", step = steps(1), process_cpu = 0.9 },
  { lasting = "3s", step = silent, rank = { [0] = { exit_status = 143 } }, events = {
    { "traceback", rank = 2, exception = "ValueError" },
    { "exception_raised", exception = "ValueError", message = "3 columns", place = "train.py", code = "own" },
    { "peer_lost", rank = 1 }, { "traceback", rank = 1, exception = "RuntimeError", part = "consequence" },
    { "peer_lost", rank = 3 } },
    ends = "failed" },
  fires = { { "exception", who = { 2 }, cause = "own" } },
}
case "a rank fails by its own error, the others lose it" {
  ranks = 4, { lasting = "1m", phase = "train", step = steps(1), process_cpu = 0.3 },
  {
    lasting = "5s", step = silent,
    events = {
      { "traceback", rank = 2 }, { "peer_lost", rank = 0 }, { "peer_lost", rank = 1 }, { "peer_lost", rank = 3 },
    },
    ends = "failed",
  },
}
case "a person cancels the job" {
  ranks = 4, { lasting = "1m", phase = "train", step = steps(1) },
  {
    lasting = "5s", step = silent,
    events = {
      { "slurm_cancelled", reason = "none given" },
      { "rank_failed", rank = 0, exitcode = -15, signal = 15, at = "1s" },
      { "rank_failed", rank = 1, how = "Killed", at = "2s" },
    },
    ends = "cancelled",
  },
}
case "a GPU without memory" {
  ranks = 2,
  {
    lasting = "20s", phase = "starting",
    events = {
      { "cuda_oom", rank = 0, tried = 2147483648, total = 42949672960, at = "5s" },
      { "traceback", rank = 0, at = "5s" },
    },
    ends = "failed",
  },
  fires = { { "cuda_out_of_memory", who = { 0 }, cause = "plan" } },
}
case "a read that failed and was tried again" {
  ranks = 2,
  {
    lasting = "4m", phase = "train", step = steps(1), loss = ramp(5, 4),
    events = { { "storage_failed", rank = 0, errno = 5, at = "1m" }, { "traceback", rank = 0, at = "1m" } },
    ends = "completed",
  },
  fires = { { "healthy" } },
}
case "a batch without room in a GPU is skipped, and steps go on" {
  ranks = 2,
  {
    lasting = "3m", phase = "train", step = steps(1), loss = ramp(5, 4),
    events = { { "cuda_oom", rank = 1, at = "61s" } }, ends = "unknown",
  },
}
case "an allocator's word is the last of a rank, and its steps stop" {
  ranks = 2, { lasting = "2m", phase = "train", step = steps(1), loss = ramp(5, 4) },
  { lasting = "70s", step = silent, loss = silent, events = { { "cuda_oom", rank = 1, at = "1s" } }, ends = "unknown" },
  fires = { { "cuda_out_of_memory", who = { 1 } } },
}
case "no room at the first start; the second trains, and its disk is full" {
  ranks = 1,
  {
    lasting = "1m", phase = "starting",
    events = {
      { "cuda_oom", rank = 0, at = "5s" }, { "traceback", rank = 0, exception = "OutOfMemoryError", at = "5s" },
      { "exception_raised", exception = "OutOfMemoryError", at = "5s" }, { "run_started", at = "30s" },
    },
  },
  { lasting = "3m", phase = "train", step = steps(1), loss = ramp(5, 4) },
  {
    lasting = "5s", step = silent,
    events = {
      { "disk_full", rank = 0 }, { "traceback", rank = 0, exception = "OSError" },
      { "exception_raised", exception = "OSError" },
    },
    ends = "unknown",
  },
  fires = { { "cuda_out_of_memory" }, { "storage_lost", cause = "full" } }, resolves = { { "cuda_out_of_memory" } },
}
case "one rank found no room and went on; minutes later another one finds none" {
  ranks = 2,
  {
    lasting = "4m", phase = "train", step = steps(1), loss = ramp(5, 4),
    events = { { "cuda_oom", rank = 0, at = "61s" } },
  },
  {
    lasting = "5s", step = silent, loss = silent,
    events = {
      { "cuda_oom", rank = 1, at = "1s" }, { "traceback", rank = 1, exception = "OutOfMemoryError", at = "1s" },
      { "exception_raised", exception = "OutOfMemoryError", at = "1s" },
    },
    ends = "failed",
  },
  fires = { { "cuda_out_of_memory", cause = "growth" } },
}
case "a rank finds no room while another one is still started, and finds none in its turn" {
  ranks = 2,
  { lasting = "1m", phase = "starting", events = { { "run_started", at = "1s" }, { "cuda_oom", rank = 0, at = "10s" }, {
    "traceback", rank = 0, exception = "OutOfMemoryError", at = "10s",
  }, { "exception_raised", exception = "OutOfMemoryError", at = "10s" },
    { "run_started", at = "20s" }, { "cuda_oom", rank = 1, at = "30s" },
    { "traceback", rank = 1, exception = "OutOfMemoryError", at = "30s" },
    { "exception_raised", exception = "OutOfMemoryError", at = "30s" } },
    ends = "failed" },
  fires = { { "cuda_out_of_memory", who = { 0 } } },
}
case "a rank was killed at an earlier start, and the last one raises" {
  ranks = 2,
  {
    lasting = "1m", phase = "starting",
    events = { { "rank_failed", rank = 1, exitcode = -9, signal = 9, at = "5s" }, { "run_started", at = "20s" } },
  },
  {
    lasting = "20s",
    events = {
      { "traceback", rank = 0, exception = "KeyError", at = "5s" },
      { "exception_raised", exception = "KeyError", at = "5s" }, { "rank_failed", rank = 0, exitcode = 1, at = "6s" },
    },
    ends = "failed",
  },
  fires = { { "rank_killed", who = { 1 } }, { "exception", who = { 0 } } }, resolves = { { "rank_killed" } },
}
