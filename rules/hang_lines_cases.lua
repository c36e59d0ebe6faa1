-- Cases of hang_lines.lua: lines that prove a hang, and such lines where the job goes on.

case "a watchdog gives up: those that report it waited, no rank is named" {
  ranks = 4,
  { lasting = "2m", phase = "train", step = steps(1) },
  {
    lasting = "20s", step = silent,
    events = {
      { "collective_timeout", rank = 0, seq = 133, op = "ALLREDUCE" },
      { "collective_timeout", rank = 2, seq = 133, op = "ALLREDUCE" },
    },
  },
  fires = { { "collective_timeout", cause = "waiting", within = "5s" } },
}
case "the watchdogs give up on a hang that was reported" {
  ranks = 4,
  {
    lasting = "1m", phase = "train", step = steps(0.2), process_state = "sleeping", process_cpu = 0.3,
    wait_channel = "hrtimer_nanosleep",
  },
  {
    lasting = "1m", step = silent, process_cpu = 0, wait_channel = "futex_do_wait",
    rank = { [1] = { wait_channel = "hrtimer_nanosleep" } },
  },
  {
    lasting = "20s", process_cpu = 0.9,
    events = {
      { "collective_timeout", rank = 0 }, { "collective_timeout", rank = 2 }, { "collective_timeout", rank = 3 },
    },
  },
  fires = { { "collective_hang", who = { 1 }, cause = "elsewhere" }, { "collective_timeout", cause = "hung" } },
}
case "a rank raises an exception, and the watchdogs of the others give up later" {
  ranks = 4, { lasting = "2m", phase = "train", step = steps(1) },
  {
    lasting = "10m", step = silent,
    events = {
      { "traceback", rank = 2, exception = "IndexError", code = "own", at = "1s" },
      { "exception_raised", exception = "IndexError", message = "2", place = "data.py", code = "own", at = "1s" },
    },
  },
  {
    lasting = "5s", step = silent,
    events = {
      { "collective_timeout", rank = 0 }, { "collective_timeout", rank = 1 }, { "collective_timeout", rank = 3 },
      { "rank_failed", rank = 2, exitcode = 1, at = "3s" },
    },
    ends = "failed",
  },
  fires = { { "exception" } },
}
case "an error of NCCL after another rank's own exception is a consequence of that" {
  ranks = 2, { lasting = "1m", phase = "train", step = steps(1) },
  { lasting = "9s", step = silent, events = { { "traceback", rank = 0, exception = "TypeError", code = "own" }, {
    "exception_raised", exception = "TypeError", message = "none", place = "train.py", code = "own",
  },
    { "nccl_error", rank = 1, at = "4s" },
    { "traceback", rank = 1, exception = "DistBackendError", part = "consequence", at = "4s" } },
    ends = "failed" },
  fires = { { "exception", who = { 0 } } },
}
case "a barrier that knows its members names the one that did not come" {
  ranks = 4,
  { lasting = "2m", phase = "train", step = steps(1) },
  { lasting = "20s", step = silent, events = { { "barrier_missed", rank = 3 } } },
  fires = { { "collective_timeout", who = { 3 }, cause = "absent", within = "5s" } },
}
case "a dump of stacks" {
  ranks = 2, { lasting = "1m", events = { { "stack_in_collective", rank = 0, call = "barrier", at = "10s" } } },
  fires = { { "stack_in_collective" } },
}
case "Python prints the stack of a process that a wrong address ends in a barrier" {
  ranks = 2,
  {
    lasting = "1m",
    events = {
      { "segfault", rank = 0, at = "10s" }, { "stack_in_collective", rank = 0, call = "barrier", at = "10s" },
    },
  },
  fires = { { "rank_killed", who = { 0 }, cause = "segment" } },
}
case "the last look shows one idle GPU among such as wait" {
  ranks = 4,
  { lasting = "2m", phase = "train", step = steps(1) },
  {
    lasting = "1s", step = silent, gr_engine_active = 1, gpu_power = 92, gpu_power_limit = 400, gpu_memory_used = 6e10,
    gpu = { [2] = { gr_engine_active = 0, gpu_power = 64 } },
  },
  {
    lasting = "4s", gr_engine_active = silent, gpu_power = silent, gpu_power_limit = silent, gpu_memory_used = silent,
    ends = "failed",
  },
  fires = { { "gpus_waited" } },
}
case "a table without the names of its GPUs shows the same" {
  ranks = 4, { lasting = "2m", phase = "train", step = steps(1) },
  { lasting = "5s", step = silent, events = { { "gpus_compared", idle = 66, busy = 91 } }, ends = "failed" },
  fires = { { "gpus_waited", cause = "kernel" } },
}
case "a table without the names of its GPUs shows some at work" {
  ranks = 4, { lasting = "2m", phase = "train", step = steps(1) },
  { lasting = "5s", step = silent, events = { { "gpus_compared", idle = 66, busy = 310 } }, ends = "failed" },
}
case "a look at the same, and the job goes on" {
  ranks = 4,
  { lasting = "1m", phase = "train", step = steps(1), loss = ramp(5, 4) },
  {
    lasting = "1s", gr_engine_active = 1, gpu_power = 92, gpu_power_limit = 400, gpu_memory_used = 6e10,
    gpu = { [2] = { gr_engine_active = 0, gpu_power = 64 } },
  },
  {
    lasting = "1m", gr_engine_active = silent, gpu_power = silent, gpu_power_limit = silent, gpu_memory_used = silent,
    ends = "failed",
  },
}
case "the last look shows GPUs at work, and one that is not used" {
  ranks = 4,
  { lasting = "2m", phase = "train", step = steps(1) },
  {
    lasting = "2s", gr_engine_active = 1, gpu_power = 310, gpu_power_limit = 400, gpu_memory_used = 6e10,
    gpu = { [2] = { gr_engine_active = 0, gpu_power = 64, gpu_memory_used = 4e6 } }, ends = "failed",
  },
}
case "NCCL warns of what it does without, and the job goes on" {
  ranks = 4,
  {
    lasting = "30s", phase = "starting",
    events = { { "nccl_warning", rank = 0, at = "20s" }, { "nccl_warning", rank = 3, at = "20s" } },
  },
  { lasting = "3m", phase = "train", step = steps(1), loss = ramp(5, 4) },
}
case "NCCL warns in the midst of the steps, and they go on" {
  ranks = 4,
  {
    lasting = "3m", phase = "train", step = steps(1), loss = ramp(5, 4),
    events = { { "nccl_warning", rank = 1, at = "2m" } },
  },
}
case "NCCL warns in a log of which nothing is understood, and ten minutes follow" {
  ranks = 4,
  { lasting = "10m", phase = "starting", process_rss = 1e9, events = { { "nccl_warning", rank = 1, at = "20s" } } },
}
case "a connection that NCCL loses is the last of a job" {
  ranks = 4, { lasting = "3m", phase = "train", step = steps(1) },
  {
    lasting = "10s", step = silent,
    events = { { "nccl_warning", rank = 1, at = "2s" }, { "nccl_warning", rank = 2, at = "3s" } }, ends = "failed",
  },
  fires = { { "collective_warned" } },
}
case "a rank learns of a watchdog on another node" {
  ranks = 4,
  { lasting = "2m", phase = "train", step = steps(1) },
  { lasting = "20s", step = silent, events = { { "collective_timeout_reported", rank = 1 } } },
  fires = { { "collective_timeout", within = "5s" } },
}
case "a file server is silent, and no step is made" {
  ranks = 2, { lasting = "5m", phase = "train", step = steps(1) },
  {
    lasting = "8m", step = silent,
    events = {
      { "file_server_silent", server = "nas1", at = "1m" }, { "file_server_silent", server = "nas1", at = "4m" },
    },
  },
  fires = { { "file_server_lost", within = "5m" } },
}
case "a file server is silent for a minute" {
  ranks = 2,
  {
    lasting = "9m", phase = "train", step = steps(1),
    events = {
      { "file_server_silent", server = "nas1", at = "1m" }, { "file_server_back", server = "nas1", at = "2m" },
    },
  },
}
case "a file server is silent, and the steps go on" {
  ranks = 2,
  {
    lasting = "9m", phase = "train", step = steps(1),
    events = {
      { "file_server_silent", server = "nas1", at = "1m" }, { "file_server_silent", server = "nas1", at = "4m" },
    },
  },
}
case "Horovod names the one rank that others wait for" {
  ranks = 4,
  {
    lasting = "2m", phase = "train", step = steps(1),
    events = { { "collective_stalled", at = "1m" }, { "collective_unasked", rank = 2, at = "1m" } },
  },
  fires = { { "collective_stalled", who = { 2 } } },
}
case "Horovod waits for some ranks" {
  ranks = 4, { lasting = "2m", phase = "train", step = steps(1), events = { { "collective_stalled", at = "1m" } } },
  fires = { { "collective_stalled" } },
}
case "the rendezvous is reached at the third try" {
  ranks = 2,
  {
    lasting = "30s", phase = "starting",
    events = { { "rendezvous_trouble", at = "3s" }, { "rendezvous_trouble", at = "9s" } },
  },
  { lasting = "8m", phase = "train", step = steps(1), loss = ramp(5, 4), ends = "completed" },
  fires = { { "healthy" } },
}
case "the rendezvous is never reached" {
  ranks = 2,
  {
    lasting = "30s", phase = "starting",
    events = { { "rendezvous_trouble", at = "3s" }, { "rendezvous_trouble", at = "9s" } }, ends = "failed",
  },
  fires = { { "rendezvous_unfinished" } },
}
case "a port in use" {
  ranks = 2, { lasting = "30s", phase = "starting", events = { { "port_in_use", at = "3s", port = 29500 } } },
  fires = { { "rendezvous_failed", cause = "port" } },
}
case "one of two joined" {
  ranks = 2,
  { lasting = "30s", phase = "starting", events = { { "rendezvous_timeout", at = "3s", joined = 1, wanted = 2 } } },
  fires = { { "rendezvous_failed", cause = "absent" } },
}
case "the store is gone after an hour of steps: the rendezvous did not fail" {
  ranks = 2, { lasting = "5m", phase = "train", step = steps(1), events = { { "rendezvous_failed", at = "4m" } } },
}
case "kernels without end on all ranks" {
  ranks = 8, { lasting = "3m", rank_hung = 1 }, fires = { { "kernel_hang" } },
}
case "a long kernel on one rank" {
  ranks = 8, { lasting = "3m", rank_hung = 0, rank = { [2] = { rank_hung = 1 } } },
}
case "the kernel reports a task that waits for a device" {
  ranks = 2, { lasting = "1m", events = { { "hung_task", at = "10s", pid = 4711, seconds = 120 } } },
  fires = { { "hung_task" } },
}
case "NCCL warned on the first day of three" {
  ranks = 1,
  {
    lasting = "5m", phase = "train", step = steps(5), loss = ramp(5, 4.9),
    events = { { "nccl_warning", rank = 0, at = "1m" } },
  },
  { lasting = "30h", step = steps(5), loss = ramp(4.9, 3), ends = "unknown" },
}
case "the first barrier knows its members, and names those that never came" {
  ranks = 4,
  {
    lasting = "5s", phase = "starting",
    events = {
      { "rendezvous_failed", at = "2s" }, { "rendezvous_missed", rank = 1, at = "2s" },
      { "rendezvous_missed", rank = 3, at = "2s" },
    },
    ends = "failed",
  },
  fires = { { "rendezvous_failed", who = { 1, 3 }, cause = "named" } },
}
case "the rendezvous gives up, and does not say how many it wanted" {
  ranks = 2, { lasting = "5s", phase = "starting", events = { { "rendezvous_timeout", at = "2s" } }, ends = "failed" },
  fires = { { "rendezvous_failed", cause = "late" } },
}
