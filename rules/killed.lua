-- A2: processes that are killed. Each rule follows from lines; what a person asked for (a cancel) fires nothing.

local hangs = shared "hangs"
local ends = shared "ends"

-- Findings: what shows that a process was killed.

rule "asked_to_end" {
  severity = "none", per = "job", every = "5s",
  summary = "Somebody, or the scheduler, asked the job to end",
  needs = {
    cancelled = signal "slurm_cancelled"  { over = "attempt" },
    asked     = signal "cancel_requested" { over = "attempt" },
    stopped   = signal "launcher_stopped" { over = "attempt" },
    taken     = signal "preempted"        { over = "attempt" },
  },
  evaluate = function(job, p)
    return job.cancelled:seen() | job.asked:seen() | job.stopped:seen() | job.taken:seen()
  end,
}

-- 15, and 9 after it, are how launchers and schedulers end a job; 6 is a process that gave up, as a watchdog does.
rule "rank_ended_by_signal" {
  severity = "none", per = "rank", every = "5s",
  summary = "Rank ended by SIGKILL, SIGSEGV, SIGBUS, SIGILL or SIGFPE",
  needs = {
    failed   = signal "rank_failed"     { over = "attempt" },
    reported = signal "signal_received" { over = "attempt" },
    again    = signal "run_started"     { over = "attempt" },
  },
  params = { signals = { 4, 7, 8, 9, 11 } },
  evaluate = function(job, p)
    local function came(reports)
      local ends_rank = reports:where { signal = p.signals }
      return ends_rank:seen() & ~ends.of_earlier_start(job, ends_rank)
    end
    return came(job.failed) | came(job.reported)
  end,
}

rule "loader_killed" {
  severity = "none", per = "rank", every = "5s",
  summary = "Data loader worker of a rank was killed",
  needs = {
    worker = signal "dataloader_killed" { over = "attempt" }, raised = signal "traceback" { over = "attempt" },
  },
  -- A worker that ended by itself is reported once more, without a signal. A process that ends by an exception of its
  -- own ends its workers by 15 or 6.
  params = { wait = "5s" },
  evaluate = function(job, p)
    local alone  = job.worker:where { signal = "none" }:count()
    local raised = job.raised:except {
      part = "consequence", exception = { "unheeded", "KeyboardInterrupt", "SystemExit" },
    }:seen()
    return job.worker:except { signal = { "none", "Aborted", "Terminated" } }:count():above(alone):surely()
         | (job.worker:except { signal = "none" }:count():above(alone):surely() & job.worker:older_than(p.wait)
            & ~raised)
  end,
}

-- A report names a process that may be another user's or a helper's. It is one of the job's if no step follows for
-- `wait`, or twice the usual time between steps. A step that ends up to 2 s after the
-- report was under way.
local function ended_the_job(job, reports, wait)
  local long_enough = greatest(wait, 2 * job.gap:median():max("job"):fill(0))
  return reports:older_than(long_enough) & ~ends.goes_on(job, reports, 2)
end

rule "rank_segfault" {
  severity = "none", per = "rank", every = "5s",
  summary = "Segmentation fault in a process of the job",
  needs = {
    segv = signal "segfault" { over = "attempt" },
    step = signal "step"     { over = "attempt" },
    gap  = signal "step_gap" { over = 64, least = 8 },
  },
  params = { wait = "5s" },
  evaluate = function(job, p)
    return job.segv:except { whose = "other" }:seen() | ended_the_job(job, job.segv:where { whose = "other" }, p.wait)
  end,
}

rule "job_out_of_memory" {
  severity = "none", per = "job", every = "5s",
  summary = "Job ended after the host or its memory limit ran out of memory",
  needs = {
    oom   = signal "host_oom"   { over = "attempt" },
    ended = signal "end_reason" { over = "attempt" },
    step  = signal "step"       { over = "attempt" },
    gap   = signal "step_gap"   { over = 64, least = 8 },
  },
  params = { wait = "5s" },
  evaluate = function(job, p) return job.ended:last():is("oom"):surely() | ended_the_job(job, job.oom, p.wait) end,
}

rule "command_killed" {
  severity = "none", per = "job", every = "5s",
  summary = "A process was reported as killed, and no step follows",
  needs = {
    killed = signal "process_killed" { over = "attempt" },
    again  = signal "run_started"    { over = "attempt" },
    step   = signal "step"           { over = "attempt" },
    gap    = signal "step_gap"       { over = 64, least = 8 },
  },
  params = { wait = "5s" },
  evaluate = function(job, p)
    local killed = job.killed:except { signal = { 2, 6, 15 } }  -- a person, an abort of its own, a scheduler
    return (ended_the_job(job, killed, p.wait) & ~ends.of_earlier_start(job, killed)):any("job")
  end,
}

rule "host_memory_full" {
  severity = "none", per = "job", every = "5s",
  summary = "Host memory is nearly full",
  needs = {
    memory = signal "host_memory_used"  { over = "2m" },
    limit  = signal "host_memory_limit" { over = "2m" },
  },
  params = { full = 0.92 },  -- processes are killed before all is used: the kernel needs memory, too
  evaluate = function(job, p) return (job.memory:max() / job.limit:max()):max("job"):above(p.full) end,
}

rule "rank_killed" {
  family = "A2", severity = "critical", per = "job", every = "5s",
  summary = "Process killed by a signal or out of memory",
  needs = {
    killed  = finding "rank_ended_by_signal",
    failed  = signal "rank_failed"      { over = "attempt" },
    loader  = finding "loader_killed",
    segv    = finding "rank_segfault",
    fatal   = finding "job_out_of_memory",
    command = finding "command_killed",
    full    = finding "host_memory_full",
    asked   = finding "asked_to_end",
    oom     = signal "host_oom"         { over = "attempt" },
    bus     = signal "bus_error"        { over = "attempt" },
    raised  = signal "traceback"        { over = "attempt" },
    saved   = signal "checkpoint_saved" { over = "attempt" },
  },
  yields_to = { "node_down", "node_lost" },
  shows = "killed[: {who}]",
  causes = {
    memory  = "the host's memory or the job's memory limit was exhausted",
    refused = "an allocation failed at the host's or the job's memory limit, and the process ended by that error",
    likely  = "the host's memory was nearly full; no line shows that the kernel killed it",
    segment = "invalid memory access (SIGSEGV), usually in a library",
    shared  = "bus error (SIGBUS): shared memory is too small, or a mapped file was truncated",
    loader  = "a data loader worker was killed, and its rank with it",
    crashed = "it crashed (SIGSEGV, SIGBUS, SIGILL or SIGFPE), usually in native code of a library",
    sent    = "SIGKILL: sent by the kernel (out of memory), the scheduler, or a person",
  },
  actions = {
    memory    = "give the job more memory or use less (fewer loader workers), then restart it[ from step {saved:.0f}]",
    refused   = "give the job more memory or use less (smaller batches); check whether its use grows from step to step",
    likely    = "look for 'Out of memory' in the kernel log (dmesg -T); give the job more memory or use less",
    segment   = "restart the job; if it happens again, check the library that the kernel log names (dmesg -T)",
    shared    = "give the container more shared memory (--shm-size) or use fewer loader workers, then restart the job",
    loader    = "use fewer loader workers or give the job more memory, then restart it",
    crashed   = "restart[ from checkpoint {saved:.0f}] with PYTHONFAULTHANDLER=1, which prints where it crashes; "
      .. "look for its line in the kernel log (dmesg -T[ on {node}])",
    otherwise = "find out who killed it (dmesg -T[ on {node}]), then restart the job[ from checkpoint {saved:.0f}]",
  },
  evaluate = function(job, p)
    local loader, segv, bus = job.loader:now():surely(), job.segv:now():surely(), job.bus:seen()
    local killed, refused = job.killed:now():surely(), job.oom:where { process = "refused" }:seen()
    local raised  = job.raised:except { part = "consequence" }:seen()
    local fault   = loader:any("job") | segv:any("job") | bus:any("job")
    local first   = killed & ~loader:any("job")                  -- who lost a worker comes before who lost a peer
    local alive   = raised & refused & ~fault & ~killed:any("job")      -- long enough to report the failed allocation
    local who     = loader | segv | bus | first | alive
    local fatal, full = job.fatal:now():surely(), job.full:now():surely()
    local oom     = job.oom:seen() | fatal
    local known   = (oom | refused | fault | full):surely()      -- a better reason than the number of the signal
    local signal  = (killed:any("job") | job.command:now():surely()) & ~job.asked:now():surely()
    local sent    = job.failed:last("signal"):is(9):surely()
    return fatal | (oom & who:any("job")) | fault | signal, {
      who = who, memory = oom & ~refused, refused = refused, likely = full & ~oom, segment = segv:any("job"),
      shared = bus:any("job"), loader = loader:any("job"), crashed = (who & killed & ~sent):any("job") & ~known,
      sent = (who & killed & sent):any("job") & ~known, saved = job.saved:last("step"),
    }
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
  evaluate = function(job, p)
    local completed = job.ended:last():is("completed"):surely()
    return job.oom:seen() & ~ends.goes_on(job, job.oom, 10) & ~completed, { saved = job.saved:last("step") }
  end,
}

rule "process_killed" {
  family = "A2", severity = "warning", per = "job", every = "end",
  summary = "Process killed, and no step since",
  needs = {
    saved    = signal "checkpoint_saved" { over = "attempt" },
    killed    = signal "process_killed"   { over = "attempt" },
    cancelled = signal "slurm_cancelled"  { over = "attempt" },
    asked     = signal "cancel_requested" { over = "attempt" },
    failed    = signal "rank_failed"      { over = "attempt" },
    raised    = signal "traceback"        { over = "attempt" },
    status    = signal "exit_status"      { over = "attempt" },
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
    local came   = (killed:seen() & ~ends.goes_on(job, killed, 10)):any("job") & ~asked & ~ends.well(job)
    -- If a job failed and neither its launcher nor a rank reports why, a rank whose exit status nobody saw may have
    -- been killed.
    local raised = job.raised:except { part = "consequence" }
    local why    = (job.failed:seen() | (raised:seen() & ~ends.goes_on(job, raised, 10))):any("job"):surely()
    local ranks  = job.status:seen():choose(1, 0):count("job"):above(0)
    local failed = job.ended:last():is("failed"):surely() & ranks & ~why
    local unseen = job.status:last():below(0):any("job")    -- unknown where a rank has none, and never yes
    return came | (failed & unseen),
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
    known  = finding(hangs.or_collective {
      "collective_timeout", "collective_failed", "rendezvous_failed", "cuda_out_of_memory", "gpu_error", "gpu_fault",
      "gpu_error_in_log", "cuda_failed", "checkpoint_unreadable", "loss_not_finite",
    }),
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
    local well    = ends.well(job) | job.done:seen()
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
    explained = finding {
      "exception", "startup_blocked", "startup_crash", "storage_lost", "rank_unreaped", "rank_exited",
    },
  },
  yields_to = hangs.or_collective {
    "rank_killed", "collective_timeout", "cuda_out_of_memory", "gpu_error", "node_down", "node_lost", "preempted",
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
    local well   = ends.well(job) | job.asked:where { signal = { 2, 15 } }:seen()
    local few    = silent:any("job") & silent:count("job"):at_most(lost:count("job"))
    return lost:any("job") & few & begun & ~well & ~job.explained:ever():surely(),
      {
        who = silent, n = lost:count("job"), ended = dead:any("job"), signal = dead:choose(status, 0):max("job") - 128,
        killed = few & ~dead:any("job"), saved = job.saved:last("step"),
      }
  end,
}

