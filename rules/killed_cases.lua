-- Cases of killed.lua and hang_lines.lua: what a line alone says of GPUs, nodes and collectives.

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
  { lasting = "5s", step = silent, events = { { "cuda_error", rank = 1, error = "an illegal memory access was encountered" } }, ends = "failed" },
  fires = { { "cuda_failed", cause = "open" } },
}
case "a switch reports a fatal error" {
  ranks = 2, { lasting = "1m", phase = "train", step = steps(1), events = { { "sxid", code = 12028, class = "Fatal", at = "30s" } } },
  fires = { { "switch_failed", cause = "fatal" } },
}
case "the scheduler loses a node, after a checkpoint" {
  ranks = 2, { lasting = "1m", phase = "train", step = steps(1), events = { { "checkpoint_saved", step = 12000, at = "20s" } } },
  { lasting = "5s", step = silent, events = { { "node_failure" } }, ends = "node_fail" },
  fires = { { "node_lost" } },
}
case "a process gives up" {
  ranks = 2, { lasting = "1m", phase = "train", step = steps(1) },
  { lasting = "5s", step = silent, events = { { "aborted", rank = 1 } }, ends = "failed" },
  fires = { { "process_aborted", who = { 1 }, cause = "library" } },
}
case "a collective fails" {
  ranks = 2, { lasting = "1m", phase = "train", step = steps(1) },
  { lasting = "5s", step = silent, events = { { "nccl_error", rank = 1, message = "unhandled system error" } }, ends = "failed" },
  fires = { { "collective_failed" } },
}
case "another program of the node touches memory that is not its own, and the steps go on" {
  ranks = 2, { lasting = "3m", phase = "train", step = steps(1), events = { { "segfault", rank = 0, process = "exporter", whose = "other", at = "60s" } } },
}
case "the kernel names a process that touches memory that is not its own, and the steps stop" {
  ranks = 2, { lasting = "1m", phase = "train", step = steps(1) }, { lasting = "12s", step = silent, events = { { "segfault", rank = 0, process = "trainer", whose = "other" } } },
  fires = { { "rank_killed", who = { 0 }, cause = "segment", within = "12s" } },
}
case "the host refuses a rank more memory, and the launcher ends the others" {
  ranks = 3, { lasting = "1m", phase = "train", step = steps(1), process_cpu = 0.9 },
  { lasting = "9s", step = silent, events = { { "host_oom", process = "refused" }, { "traceback", rank = 1, exception = "RuntimeError" }, { "exception_raised", exception = "RuntimeError" },
    { "rank_failed", rank = 0, exitcode = -15, signal = 15, launcher = "torchrun", at = "2s" }, { "rank_failed", rank = 1, exitcode = 1, launcher = "torchrun", at = "2s" } }, ends = "failed" },
  fires = { { "rank_killed", who = { 1 }, cause = "refused" } },
}
case "the cloud takes a node back, and kills what still runs there" {
  ranks = 2, { lasting = "1m", phase = "train", step = steps(1) },
  { lasting = "30s", step = silent, events = { { "preempted", at = "1s" }, { "rank_failed", rank = 1, exitcode = -9, signal = 9, at = "10s" } } },
  fires = { { "preempted" } },
}
case "NCCL gets no memory for its buffers, and fails" {
  ranks = 2, { lasting = "20s", phase = "starting", events = { { "nccl_warning", rank = 1, message = "Cuda failure 2 'out of memory'", at = "10s" }, { "nccl_error", rank = 1, at = "10s" } }, ends = "failed" },
  fires = { { "cuda_out_of_memory", who = { 1 }, cause = "plan" } },
}
case "a loader's worker is ended with its process, which raised an exception of its own" {
  ranks = 1, { lasting = "1m", phase = "train", step = steps(1) },
  { lasting = "5s", step = silent, events = { { "dataloader_killed", rank = 0, pid = 77, signal = "Aborted" }, { "traceback", rank = 0, exception = "unheeded" },
    { "traceback", rank = 0, exception = "ValueError", code = "own" }, { "exception_raised", exception = "ValueError", message = "3 columns", place = "train.py", code = "own" } }, ends = "failed" },
  fires = { { "exception", who = { 0 }, cause = "own" } },
}
case "a loader's worker gives up, and its process reports nothing else" {
  ranks = 1, { lasting = "1m", phase = "train", step = steps(1) },
  { lasting = "2s", step = silent, events = { { "dataloader_killed", rank = 0, pid = 77, signal = "Aborted" }, { "traceback", rank = 0, exception = "RuntimeError", part = "consequence" } }, ends = "unknown" },
  fires = { { "process_aborted" } },
}
