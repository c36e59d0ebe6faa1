-- How ranks come to an end, and what GPUs and CUDA report of it: A2, B1, B2 (A1 is in crash.lua, E2 in resume.lua; what
-- the scheduler does is in scheduler.lua). Each follows from lines; what a person asked for (a cancel) fires nothing.

-- Kernel logs and shells also report other users' processes, and helpers: if steps follow `after` the line, the job
-- goes on.
local function goes_on(job, word, after)
  local age = word:age()
  -- One that came at this very tick has no age yet
  return ((age - job.step:age():min("job")):above(after) & age:below("10000h")):surely()
end
local function well(job) return job.ended:last():is("completed", "cancelled", "timeout", "preempted", "requeued"):surely() end
-- What launchers raise for others, what a person asked for, and what nobody heeds; the rest is somebody's own.
local OTHERS = { "unheeded", "KeyboardInterrupt", "SignalException", "SystemExit", "DistBackendError", "DistNetworkError", "DistStoreError", "ChildFailedError",
                 "ProcessExitedException", "ProcessRaisedException", "CalledProcessError", "ConnectionResetError",
                 "BrokenPipeError", "ConnectionRefusedError", "WorkerCrashedError", "RayTaskError" }
-- The last of these words, where another start of the training came after it, and an exception of its own: it is not
-- why the job ended.
local function of_earlier_start(job, word)
  local last = word:age():min("job")
  local own  = job.raised:except { exception = OTHERS, part = "consequence" }:age():min("job")
  return ((last - job.again:age()):above(3) & (last - own):above(3) & last:below("10000h")):surely()
end

rule "rank_killed" {
  family = "A2", severity = "critical", per = "job", every = "5s",
  summary = "Process killed by a signal or out of memory",
  needs = {
    saved    = signal "checkpoint_saved" { over = "attempt" },
    failed    = signal "rank_failed"       { over = "attempt" },
    killed    = signal "process_killed"    { over = "attempt" },
    worker    = signal "dataloader_killed" { over = "attempt" },
    reported  = signal "signal_received"   { over = "attempt" },
    oom       = signal "host_oom"          { over = "attempt" },
    raised    = signal "traceback"         { over = "attempt" },
    segv      = signal "segfault"          { over = "attempt" },
    bus       = signal "bus_error"         { over = "attempt" },
    cancelled = signal "slurm_cancelled"   { over = "attempt" },
    asked     = signal "cancel_requested"  { over = "attempt" },
    stopped   = signal "launcher_stopped"  { over = "attempt" },
    taken     = signal "preempted"         { over = "attempt" },
    ended     = signal "end_reason"        { over = "attempt" },
    memory    = signal "host_memory_used"  { over = "2m" },
    limit     = signal "host_memory_limit" { over = "2m" },
    step      = signal "step"              { over = "attempt" },
    again     = signal "run_started"       { over = "attempt" },
    gap       = signal "step_gap"          { over = 64, least = 8 },
  },
  -- 15, and 9 after it, are how launchers and schedulers end a job; 6 is a process that gave up, as a watchdog does.
  params = { full = 0.92, wait = "5s" }, yields_to = { "node_down", "node_lost" },
  shows = "killed[: {who}]",
  causes = {
    memory  = "the host's memory or the job's memory limit was exhausted",
    refused = "an allocation failed at the host's or the job's memory limit: the process ended by that error, not by "
      .. "a signal",
    likely  = "the host's memory was nearly full; no line shows that the kernel killed it",
    segment = "invalid memory access (SIGSEGV), usually in a library",
    shared  = "bus error (SIGBUS): shared memory is too small, or a mapped file was truncated",
    loader  = "a data loader worker was killed, and its rank with it",
    crashed = "it crashed (SIGSEGV, SIGILL or SIGFPE), usually in native code of a library",
    sent    = "SIGKILL: sent by the kernel (out of memory), the scheduler, or a person",
  },
  actions = {
    memory    = "give the job more memory or reduce its use (fewer loader workers), then restart it[ from checkpoint "
      .. "{saved:.0f}]",
    refused   = "give the job more memory or reduce its use (fewer loader workers, smaller batches); check whether "
      .. "it grows from step to step",
    likely    = "look for 'Out of memory' in the kernel log (dmesg -T) at that time; give the job more memory or "
      .. "reduce its use",
    segment   = "restart the job; if it happens again, check the library that the kernel log names (dmesg -T)",
    shared    = "give the container more shared memory (--shm-size) or use fewer loader workers, then restart the job",
    loader    = "use fewer loader workers or give the job more memory, then restart it",
    crashed   = "restart[ from checkpoint {saved:.0f}] with PYTHONFAULTHANDLER=1, which prints where it crashes; "
      .. "look for its line in the kernel log (dmesg -T[ on {node}])",
    otherwise = "find out who killed it (dmesg -T[ on {node}], the scheduler's log), then restart the job[ from "
      .. "checkpoint {saved:.0f}]",
  },
  evaluate = function(job, p)
    local function came(word) return word:count():above(0) & ~of_earlier_start(job, word) end
    local function ended_by(numbers, codes, words)
      return came(job.failed:where { signal = numbers }) | came(job.failed:where { exitcode = codes })
           | came(job.failed:where { how = words })
             | came(job.reported:where { signal = numbers })
    end
    local by_signal = ended_by({ 4, 7, 8, 9, 11 }, { -4, -7, -8, -9, -11, 132, 135, 136, 137, 139 },
                               {
                                 "Killed", "Out Of Memory", "Segmentation fault", "Bus error", "Illegal instruction",
                                 "Floating point exception",
                               })
    local crashed = ended_by({ 4, 8, 11 }, { -4, -8, -11, 132, 136, 139 },
                            { "Segmentation fault", "Illegal instruction", "Floating point exception" }):surely()
    local nine    = ended_by({ 9 }, { -9, 137 }, { "Killed" }):surely()
    -- A worker that ended by itself is reported once more, without how
    local alone  = job.worker:where { signal = "none" }:count()
    -- A process that ends by an exception of its own ends its loader's workers, and Python prints how: 15 and 6 are no
    -- kill from outside then.
    local soft   = { "none", "Aborted", "Terminated" }
    local raised = job.raised:except {
      part = "consequence", exception = { "unheeded", "KeyboardInterrupt", "SystemExit" },
    }:seen()
    local loader = job.worker:except { signal = soft }:count():above(alone)
                 | (job.worker:except { signal = "none" }:count():above(alone) & job.worker:age():above(p.wait)
                    & ~raised):surely()
    local over   = job.ended:last()
    -- The kernel names a process, a shell a command; the launcher names the rank a moment later, or the steps stop.
    local wait   = greatest(p.wait, 2 * job.gap:median():max("job"):fill(0))
    local others = job.segv:where { whose = "other" }
    local segv   = job.segv:except { whose = "other" }:count():above(0)
                 | (others:count():above(0) & others:age():above(wait) & ~goes_on(job, others, 2)):surely()
    local turned = job.oom:where { process = "refused" }:seen()
    local alive  = job.raised:except { part = "consequence" }:seen() & turned      -- long enough to report it
    local bus    = job.bus:count():above(0)
    local oom    = job.oom:count():above(0) | over:is("oom"):surely()
    local process = came(job.killed:except { signal = { 2, 6, 15 } })
    local ended  = (job.cancelled:seen() | job.asked:seen() | job.stopped:seen() | job.taken:seen())
    -- Who lost a worker comes before who lost a peer
    local first  = by_signal:surely() & ~loader:surely():any("job")
    local by_end = loader:surely() | segv:surely() | bus:surely() | first
    local who    = by_end | (alive & ~by_end:any("job"))
    local used   = (job.memory:max() / job.limit:max()):max("job"):above(p.full)
    local named  = who:any("job") | (job.oom:age():above(wait) & ~goes_on(job, job.oom, 2)):surely()
                 | over:is("oom"):surely()
    -- A better reason than the number of the signal
    local known  = (oom | turned | segv | bus | loader | used):surely():any("job")
    local other  = (process & job.killed:age():above(wait) & ~goes_on(job, job.killed, 2)):surely():any("job")
    return (oom:surely() & named) | (loader | segv | bus):surely():any("job") | ((by_signal:surely():any("job") | other) & ~ended),
      { who = who, memory = oom & ~turned, refused = turned, likely = used:surely() & ~oom:surely(), segment = segv:any("job"), shared = bus:any("job"), loader = loader:any("job"),
        crashed = (who & crashed):any("job"):surely() & ~known, sent = (who & nine):any("job"):surely() & ~known,
        saved = job.saved:last("step") }
  end,
}

rule "host_out_of_memory" {
  family = "A2", severity = "critical", per = "job", every = "end",
  summary = "Host out of memory (OOM killer)",
  needs = {
    saved = signal "checkpoint_saved" { over = "attempt" }, oom = signal "host_oom" { over = "attempt" },
    step = signal "step" { over = "attempt" }, ended = signal "end_reason" { over = "attempt" },
  },
  yields_to = { "rank_killed", "node_down", "node_lost" },
  shows = "the kernel or the scheduler killed a process for its memory use; no line names its rank",
  actions = {
    otherwise = "give the job more memory or reduce its use (fewer loader workers), then restart it[ from checkpoint "
      .. "{saved:.0f}]",
  },
  evaluate = function(job, p) return job.oom:count():above(0) & ~goes_on(job, job.oom, 10) & ~job.ended:last():is("completed"):surely(),
  { saved = job.saved:last("step") } end,
}

rule "process_killed" {
  family = "A2", severity = "warning", per = "job", every = "end",
  summary = "Process killed, and no step since",
  needs = {
    saved    = signal "checkpoint_saved" { over = "attempt" },
    killed    = signal "process_killed"   { over = "attempt" },
    cancelled = signal "slurm_cancelled"  { over = "attempt" },
    asked     = signal "cancel_requested" { over = "attempt" },
    step      = signal "step"             { over = "attempt" },
    ended     = signal "end_reason"       { over = "attempt" },
  },
  yields_to = { "rank_killed", "host_out_of_memory", "node_down", "node_lost", "preempted" },
  shows = "killed by a signal[: {signal:.0f}]",
  actions = {
    otherwise = "find out who sent the signal (dmesg -T, the scheduler's log), then restart the job[ from checkpoint "
      .. "{saved:.0f}]",
  },
  evaluate = function(job, p)
    local killed = job.killed:except { signal = { 2, 6, 15 } }
    local asked  = (job.cancelled:seen() | job.asked:seen())
    return (killed:count():above(0) & ~goes_on(job, killed, 10)):surely():any("job") & ~asked & ~well(job),
         { signal = killed:last("signal"):max("job"), saved = job.saved:last("step") }
  end,
}

rule "process_aborted" {
  family = "A2", severity = "warning", per = "job", every = "end",
  summary = "Process aborted",
  needs = {
    abort  = signal "aborted"        { over = "attempt" },
    killed = signal "process_killed" { over = "attempt" },
    failed = signal "rank_failed"    { over = "attempt" },
    raised = signal "traceback"      { over = "attempt" },
    worker = signal "dataloader_killed" { over = "attempt" },
    cancelled = signal "slurm_cancelled" { over = "attempt" },
    stopped   = signal "launcher_stopped" { over = "attempt" },
    ended  = signal "end_reason"     { over = "attempt" },
    done   = signal "training_ended" { over = "attempt" },
    known  = finding { "collective_hang", "collective_timeout", "collective_failed", "rendezvous_failed", "cuda_out_of_memory", "gpu_error", "gpu_fault", "gpu_error_in_log",
                       "cuda_failed", "checkpoint_unreadable", "loss_not_finite" },
  },
  -- What launchers raise
  params = { passed_on = { "unheeded", "CalledProcessError", "ChildFailedError", "ProcessExitedException" } },
  yields_to = { "rank_killed", "rank_vanished", "node_down", "node_lost", "preempted" },
  shows = "aborted: {who}",
  causes = {
    library = "a library detected corrupted memory, or an error that it could not return",
    loader  = "a data loader worker failed or was killed by a signal",
  },
  actions = {
    loader  = "find out who killed the worker (the scheduler's log, dmesg -T) or read its last lines, then restart "
      .. "the job",
    library = "read the last lines of {who} and its core file, if there is one; if nothing explains it, try another "
      .. "version of the library",
  },
  evaluate = function(job, p)
    local gave_up = job.abort:seen() | job.killed:where { signal = 6 }:seen() | job.failed:where { signal = 6 }:seen()
    local raised  = job.raised:except { exception = p.passed_on }:seen():any("job")
    local well    = well(job) | job.done:seen()
    -- A loader's worker that gave up or was ended, in a process that raised nothing of its own, and nobody asked for
    -- its end.
    local asked   = (job.cancelled:seen() | job.stopped:seen())
    local worker  = ~asked & job.worker:where { signal = { "Aborted", "Terminated" } }:seen()
                  & ~job.raised:except { exception = p.passed_on, part = "consequence" }:seen():any("job")
    return ((gave_up:any("job") & ~raised) | worker:any("job")) & ~well & ~job.known:ever():surely(),
         { who = gave_up | worker, library = gave_up:any("job"), loader = worker:any("job") }
  end,
}

rule "rank_vanished" {
  family = "A2", severity = "warning", per = "job", every = "end",
  summary = "Process exited without an error message; peers lost connection",
  needs = {
    saved    = signal "checkpoint_saved" { over = "attempt" },
    lost   = signal "peer_lost"    { over = "attempt" },
    raised = signal "traceback"    { over = "attempt" },
    late   = signal "collective_timeout" { over = "attempt" },
    seen   = signal "process_cpu"  { over = "attempt" },
    status = signal "exit_status"  { over = "attempt" },
    failed = signal "rank_failed"  { over = "attempt" },
    asked  = signal "launcher_stopped" { over = "attempt" },
    step   = signal "step"         { over = "attempt" },
    ended  = signal "end_reason"   { over = "attempt" },
    explained = finding { "exception", "startup_crash", "storage_lost", "rank_unreaped", "rank_exited" },
  },
  yields_to = {
    "rank_killed", "collective_hang", "collective_timeout", "cuda_out_of_memory", "gpu_error", "node_down",
    "node_lost", "preempted",
  },
  shows = "no error message from {who}; ranks that lost a connection: {n:.0f}",
  causes = {
    ended  = "killed by signal {signal:.0f}",
    killed = "probably killed from outside, usually by the kernel for its memory use: a process that can still print "
      .. "reports why it ends",
  },
  actions = {
    otherwise = "find out who killed it (dmesg -T[ on {node}]), then restart the job[ from checkpoint {saved:.0f}]",
  },
  evaluate = function(job, p)
    -- Only of ranks that were seen at work: one that never came is another matter. SIGTERM is how a launcher ends the
    -- rest, SIGHUP and SIGINT are a person's.
    local lost   = job.lost:seen()
    local known  = lost | job.raised:seen() | job.late:seen()
    local status = job.status:last()
    local dead   = ~known & (status:above(128) & ~status:is(129, 130, 143)):surely()
    local sent   = job.failed:last("exitcode"):is(-15, 143):surely()      -- the launcher ended it
    local silent = dead | (~known & ~sent & job.seen:seen() & ~dead:any("job"))
    local begun  = (job.step:seen() | dead):any("job")
    local well   = well(job) | job.asked:where { signal = { 2, 15 } }:seen()
    local few    = silent:any("job") & silent:count("job"):at_most(lost:count("job"))
    return lost:any("job") & few & begun & ~well & ~job.explained:ever():surely(),
      {
        who = silent, n = lost:count("job"), ended = dead:any("job"), signal = dead:choose(status, 0):max("job") - 128,
        killed = few & ~dead:any("job"), saved = job.saved:last("step"),
      }
  end,
}

rule "cuda_out_of_memory" {
  family = "B1", severity = "critical", per = "job", every = { "oom", "nccl", "30s", "end" },
  summary = "CUDA out of memory",
  needs = { oom = signal "cuda_oom" { over = "attempt" }, raised = signal "traceback" { over = "attempt" }, failed = signal "rank_failed" { over = "attempt" }, step = signal "step" { over = "attempt" }, loss = signal "loss" { over = "attempt" },
            again = signal "run_started" { over = "attempt" }, warned = signal "nccl_warning" { over = "attempt" },
            nccl = signal "nccl_error" { over = "attempt" }, ended = signal "end_reason" { over = "attempt" } },
  -- NCCL warns of what it could not get; only where it fails then is it why the job ended.
  params = {
    warnings = { "Cuda failure 'out of memory'", "Cuda failure 2 'out of memory'" }, wait = "60s", caught = 2,
    after = "60s",
  },
  yields_to = { "node_down" },
  shows = "out of GPU memory: {who}[; tried to allocate {tried}][ of {total}]",
  causes = {
    plan   = "before the first step: the model and batch do not fit",
    growth = "after steps that fit: longer inputs, fragmentation, or a leak",
  },
  actions = {
    plan   = "reduce the batch size, the sequence length or the model's share of a GPU, then restart",
    growth = "limit the input length or set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True; if memory grows "
      .. "steadily, look for a leak",
  },
  evaluate = function(job, p)
    local buffers = job.warned:where { message = p.warnings }:seen()
    -- Who finds no memory at its first use of a GPU did not fill it.
    local taken   = job.raised:where { part = "no room" }:seen()
    local out     = (job.oom:seen() & ~taken) | (buffers & job.nccl:seen():any("job"))
    local begun   = job.step:count():above(0):any("job")
    -- A program that does not catch it ends: a traceback, the launcher or the job's end say so, or `wait` passes.
    local last    = job.oom:age():min("job")
    local raised  = job.raised:seen():any("job")
    local failed  = job.failed:seen():any("job") | job.ended:last():is("failed", "unknown"):surely()
    local died    = raised | failed | last:above(p.wait):surely()
    -- One that catches it goes on: for long after a traceback, with the next step or loss where there is none.
    local function went_on(progress, after) return ((last - progress:age():min("job")):above(after) & last:below("10000h")):surely() end
    local on      = went_on(job.step, p.after) | (~raised & (went_on(job.step, p.caught) | went_on(job.loss, p.caught)))
    return out:any("job") & died & ~on & ~of_earlier_start(job, job.oom),
      {
        who = out, tried = job.oom:last("tried"):max("job"), total = job.oom:last("total"):max("job"), plan = ~begun,
        growth = begun,
      }
  end,
}

rule "gpu_error_in_log" {
  family = "B2", severity = "critical", per = "job", every = { "ecc", "lost", "30s" },
  summary = "GPU hardware error in the application",
  needs = { ecc = signal "gpu_ecc" { over = "attempt" }, lost = signal "gpu_lost" { over = "attempt" } },
  yields_to = { "gpu_error", "node_down" },
  shows = "the application reports a failed GPU: {who}",
  causes = {
    memory = "uncorrectable memory error: reset the GPU, and replace it if the error returns",
    gone = "the GPU no longer responds: reboot the node",
  },
  actions = {
    memory    = "drain the node[ {node}] and reset its GPU (nvidia-smi --gpu-reset); replace the GPU if it fails again",
    gone      = "drain the node[ {node}] and reboot it",
  },
  evaluate = function(job, p)
    local memory, gone = job.ecc:seen(), job.lost:seen()
    return (memory | gone):any("job"), { who = memory | gone, memory = memory:any("job"), gone = gone:any("job") }
  end,
}

rule "switch_failed" {
  family = "B2", severity = "critical", per = "job", every = { "error", "30s" },
  summary = "Fatal NVSwitch error (SXid)",
  needs = { error = signal "sxid" { over = "1h" } },
  clear = "for 1h", yields_to = { "gpu_error", "node_down" },
  shows = "fatal SXid[ {code:.0f}]",
  causes = { fatal = "all GPUs of the node's NVLink fabric are affected: reset them, and check the switch or its "
    .. "link" },
  actions = { fatal = "drain the node whose kernel log has the SXid and reset all of its GPUs; have the switch "
    .. "checked if it returns" },
  evaluate = function(job, p)
    local fatal = job.error:where { class = "Fatal" }
    local seen  = fatal:count():above(0)
    return seen, { code = fatal:last("code"), fatal = seen }
  end,
}

rule "cuda_failed" {
  family = "B2", severity = "warning", per = "job", every = { "error", "30s" },
  summary = "CUDA error",
  needs = { error = signal "cuda_error" { over = "attempt" } },
  yields_to = {
    "gpu_error", "gpu_fault", "gpu_error_in_log", "cuda_out_of_memory", "rank_killed", "node_down", "node_lost",
  },
  shows = "a CUDA call failed on {who}",
  causes = { open = "the message does not distinguish failed hardware from an illegal address: look for an XID at "
    .. "that time" },
  actions = { open = "look for 'NVRM: Xid' in the kernel log[ of {node}] (dmesg -T): if there is one, drain that "
    .. "node; otherwise rerun with CUDA_LAUNCH_BLOCKING=1" },
  evaluate = function(job, p)
    local seen = job.error:seen()
    return seen:any("job"), { who = seen, open = seen:any("job") }
  end,
}
