-- Hangs that a line alone proves: the watchdogs of PyTorch and NCCL, the rendezvous, the kernel. They page with or
-- without `stalled`.

local hangs = shared "hangs"
local ends = shared "ends"

-- What other ranks raise when one fails. PyTorch raises a plain RuntimeError for a failed collective, too. "unheeded"
-- and "cut off" mark an exception that Python ignored, and one whose traceback has no end.
local raised_by_others = {
  "unheeded", "cut off", "DistBackendError", "DistNetworkError", "DistStoreError", "RuntimeError",
  "KeyboardInterrupt", "SystemExit", "SignalException", "ChildFailedError", "RayTaskError",
}

-- Whether an exception of the program's own explains these reports: it came before them, by no more than `waits`, and
-- no step came later than 30 s after it. The rank that raised it is the one that the others waited for.
local function explained_by_exception(job, reports, waits)
  local own     = job.exception:except { exception = raised_by_others, part = "consequence" }
  local oldest  = reports:seen():choose(reports:age():fill(0), 0):max("job")  -- a rank that has exited has no age
  local before  = own:age():above(oldest) & (own:age() - oldest):below(waits)
  local goes_on = job.step:age():min("job"):below(own:age() - 30)
  return before:surely() & ~goes_on:surely()
end

rule "collective_timeout" {
  family = "C2", severity = "critical", per = "job", every = { "late", "reported", "stuck", "absent", "10s" },
  summary = "NCCL watchdog timeout",
  needs = {
    saved    = signal "checkpoint_saved" { over = "attempt" },
    late   = signal "collective_timeout" { over = "attempt" },
    reported = signal "collective_timeout_reported" { over = "attempt" },
    stuck  = signal "watchdog_stuck"     { over = "attempt" },
    absent = signal "barrier_missed"     { over = "attempt" },
    exception = signal "exception_raised" { over = "attempt" },
    step   = signal "step"               { over = "attempt" },
    hang   = finding "collective_hang",
  },
  params = { waits = "35m" },  -- watchdogs give up after 10 or 30 min
  yields_to = hangs.or_collective { "rank_killed" },
  shows = "ranks whose watchdog timed out in a collective: {n:.0f}[; never joined it: {who}]",
  causes = {
    absent  = "the named ranks did not reach a barrier",
    hung    = "this ends the hang that collective_hang reported before",
    waiting = "the ranks that print this are the ones that waited; the log does not show which rank they waited for",
  },
  actions = {
    absent  = "find out what happened to rank {rank}[ on {node}], then resume from the last checkpoint[, {saved:.0f}]",
    hung    = "inspect the rank that collective_hang named, if any: the others waited for it; then resume from the "
      .. "last checkpoint",
    waiting = "find the rank that does not report this timeout and check its node, then resume from the last "
      .. "checkpoint",
  },
  evaluate = function(job, p)
    local missed   = job.absent:seen()
    local waited   = job.late:seen() | job.stuck:seen()
    local hung     = job.hang:ever():surely()
    return (waited | job.reported:seen() | missed):any("job") & ~explained_by_exception(job, job.late, p.waits),
      {
        n = waited:count("job"), who = missed, absent = missed:any("job"), hung = ~missed:any("job") & hung,
        waiting = ~missed:any("job") & ~hung, saved = job.saved:last("step"),
      }
  end,
}

rule "stack_in_collective" {
  family = "C2", severity = "warning", per = "job", every = { "stack", "10s", "end" },
  summary = "A stack dump shows processes waiting in a collective",
  needs = {
    stack = signal "stack_in_collective" { over = "10m" },
    segv  = signal "segfault"            { over = "10m" },
    bus   = signal "bus_error"           { over = "10m" },
    step  = signal "step"                { over = "attempt" },
  },
  params = { wait = "30s" }, clear = "for 10m",
  yields_to = hangs.or_collective { "collective_timeout", "rank_killed" },
  shows = "printed stacks are inside a collective, and no step follows",
  actions = { otherwise = "compare the stacks: the others wait for the rank that is not in the same call" },
  evaluate = function(job, p)
    -- Python prints stacks on a crash, too. A person may print those of a healthy job: then steps follow. Before the
    -- first step there is none to wait for.
    local crashed = job.segv:seen():any("job") | job.bus:seen():any("job")
    local goes_on = job.step:age():min("job"):below(job.stack:age():min("job")):surely()
    local settled = job.stack:older_than(p.wait):any("job") | ~job.step:seen():any("job")
    return job.stack:seen():any("job") & settled & ~crashed & ~goes_on
  end,
}

rule "collective_stalled" {
  -- The lines after the first name the ranks.
  family = "C2", severity = "warning", per = "job", every = { "10s", "end" },
  summary = "Some ranks have not entered a collective that others wait in",
  needs = { stall = signal "collective_stalled" { over = "5m" }, absent = signal "collective_unasked" { over = "5m" } },
  clear = "for 5m", yields_to = hangs.or_collective { "collective_timeout", "rank_killed" },
  shows = "some ranks have waited a minute for a collective[; missing: {who}]",
  causes = { order = "ranks called different collectives, or one does something else meanwhile (a save, an "
    .. "evaluation)" },
  actions = { order = "if it does not resolve within minutes, inspect the ranks that Horovod names as missing" },
  evaluate = function(job, p)
    local seen = job.stall:seen()
    return seen, { who = job.absent:seen(), order = seen }
  end,
}

rule "gpus_waited" {
  family = "C2", severity = "warning", per = "job", every = "end",
  summary = "One GPU idle while the others spin in a collective",
  needs = {
    gr     = signal "gr_engine_active" { over = "attempt" },
    power  = signal "gpu_power"        { over = "attempt" },
    memory = signal "gpu_memory_used"  { over = "attempt" },
    table  = signal "gpus_compared"    { over = "attempt" },
    step   = signal "step"             { over = "attempt" },
  },
  -- One look is no proof while a job runs: a rank that saves for the others looks the same. It is one of a job that
  -- ended so.
  params = { cold = 0.05, spin = 0.9, times = 2, held = 1e9 },
  yields_to = hangs.or_collective { "collective_timeout", "rank_killed", "node_down" },
  shows = "GPUs at full utilization and low power[: {n:.0f} or more]; idle, with memory in use[: {idle:.0f}]",
  causes = { kernel = "the others wait in a collective's kernel for the rank of the idle GPU" },
  actions = { kernel = "inspect the process on the idle GPU before the job is restarted" },
  evaluate = function(job, p)
    local gr, power = job.gr:last(), job.power:last()
    local cold   = gr:below(p.cold)
    local spin   = gr:above(p.spin) & power:below(p.times * power:min("job"))
    local held   = cold & job.memory:last():above(p.held):maybe()
    local after  = job.step:age():min("job"):below(job.gr:age():max("job"))         -- a step was made since
    -- A table whose rows have no name: one at rest, and a busy one that draws hardly more.
    local rows   = job.table:last("busy"):below(p.times * job.table:last("idle")):surely()
                 & ~job.step:age():min("job"):below(job.table:age()):surely()
    return ((held:any("job") & spin:any("job") & (held | spin):all("job")):surely() & ~after:surely()) | rows,
      {
        n = rows:choose(1, spin:count("job")), idle = rows:choose(1, held:count("job")),
        kernel = held:any("job"):surely() | rows,
      }
  end,
}

rule "collective_failed" {
  family = "C2", severity = "critical", per = "job", every = { "nccl", "10s" },
  summary = "Collective failed",
  needs = {
    saved     = signal "checkpoint_saved" { over = "attempt" },
    nccl      = signal "nccl_error"       { over = "attempt" },
    exception = signal "exception_raised" { over = "attempt" },
    step      = signal "step"             { over = "attempt" },
  },
  params = { waits = "35m" },
  yields_to = hangs.or_collective {
    "collective_timeout", "rank_killed", "gpu_error", "gpu_error_in_log", "cuda_out_of_memory", "node_down",
    "node_lost",
  },
  shows = "ranks that report an NCCL error: {n:.0f}",
  actions = { otherwise = {
    "check the network between the nodes (ibstat, NCCL_DEBUG=INFO), then resume from checkpoint {saved:.0f}",
    "check the network between the nodes (ibstat), then restart with NCCL_DEBUG=INFO",
  } },
  evaluate = function(job, p)
    local failed = job.nccl:seen()
    return failed:any("job") & ~explained_by_exception(job, job.nccl, p.waits),
      { n = failed:count("job"), saved = job.saved:last("step") }
  end,
}

rule "collective_warned" {
  family = "C2", severity = "critical", per = "job", every = "end",
  summary = "NCCL warning, and no step since",
  needs = {
    warned = signal "nccl_warning"   { over = "attempt" },
    step   = signal "step"           { over = "attempt" },
    loss   = signal "loss"           { over = "attempt" },
    ended  = signal "end_reason"     { over = "attempt" },
    done   = signal "training_ended" { over = "attempt" },
  },
  -- Of what it does without, NCCL warns when it starts, and the job goes on. The last words of a job are another
  -- matter.
  params = { last = "2m" },
  yields_to = hangs.or_collective {
    "collective_timeout", "collective_failed", "rank_killed", "rendezvous_failed", "gpu_error", "gpu_error_in_log",
    "cuda_out_of_memory", "startup_blocked", "startup_crash", "storage_lost", "exception", "node_down", "node_lost",
    "preempted",
  },
  shows = "ranks that report an NCCL warning and nothing after it: {n:.0f}",
  actions = { otherwise = "read NCCL's warning in the log, check the network between the nodes, then restart with "
    .. "NCCL_DEBUG=INFO" },
  evaluate = function(job, p)
    local warned = job.warned:within(p.last)
    local after  = least_known(job.step:age():min("job"), job.loss:age()):below(job.warned:age():min("job")):surely()
    return warned:any("job") & ~after & ~ends.well(job) & ~job.done:seen(), { n = warned:count("job") }
  end,
}

rule "kernel_hang" {
  family = "C2", severity = "critical", per = "job", every = "10s",
  summary = "GPU kernels do not finish on most ranks",
  needs = { hung = signal "rank_hung" { over = "1m" }, step = signal "step" { over = "1m" } },
  -- One rank alone may have a long kernel; DLRover waits for all of them, for five minutes.
  fire = "for 1m", yields_to = hangs.or_collective { "rank_killed", "node_down" },
  shows = "the profilers of {n:.0f} ranks see a kernel that does not finish",
  actions = { otherwise = "take stacks of all ranks (py-spy dump --native), then stop the job and resume from its "
    .. "last checkpoint" },
  evaluate = function(job, p)
    local hung   = job.hung:min():above(0)
    local moving = job.step:delta():max("job"):above(0):surely()
    local n      = hung:count("job")
    return n:above(job.hung:min():count("job") - n) & ~moving, { n = n }
  end,
}

rule "rendezvous_failed" {
  family = "C1", severity = "critical", per = "job", every = { "timeout", "failed", "port", "missed", "10s" },
  summary = "Rendezvous failed",
  needs = {
    timeout = signal "rendezvous_timeout" { over = "attempt" },
    failed  = signal "rendezvous_failed"  { over = "attempt" },
    port    = signal "port_in_use"        { over = "attempt" },
    missed  = signal "rendezvous_missed"  { over = "attempt" },
    step    = signal "step"               { over = "attempt" },
  },
  shows = "the ranks did not complete the rendezvous",
  causes = {
    named   = "did not join in time: {who}",
    port    = "another process uses the rendezvous port: a run that is still alive, or a second job on the node",
    absent  = { "{joined:.0f} of {wanted:.0f} ranks joined in time", "fewer than {wanted:.0f} ranks joined in time" },
    late    = "not all ranks joined in time",
    refused = "the rendezvous was closed or unreachable",
  },
  actions = {
    named   = "check the launcher of {who}: was it started, on which node, can it reach the first node?",
    port    = "kill the process that holds the port (ss -ltnp on the first node), or give the job another MASTER_PORT",
    absent  = "find out why not all {wanted:.0f} ranks joined: the launcher on each node, the number of "
      .. "nodes, a firewall",
    late    = "find out why not all ranks joined: the launcher on each node, the number of nodes, a firewall",
    refused = "check that each node can reach MASTER_ADDR:MASTER_PORT and that rank 0 has started",
  },
  evaluate = function(job, p)
    local timeout, failed, port = job.timeout:seen(), job.failed:seen(), job.port:seen()
    -- Once steps were made the ranks had met: later errors of the store are how other ranks see one that died.
    local met = job.step:seen():any("job")
    local missed = job.missed:seen()
    local counted = job.timeout:last("wanted"):above(0):surely()
    return (timeout | failed | port | missed:any("job")) & ~met,
      {
        who = missed, named = missed:any("job"), port = port, absent = timeout & counted,
        late = timeout & ~counted & ~missed:any("job"), refused = failed, joined = job.timeout:last("joined"),
        wanted = job.timeout:last("wanted"),
      }
  end,
}

rule "rendezvous_unfinished" {
  family = "C1", severity = "warning", per = "job", every = "end",
  summary = "Ended while ranks were still connecting to each other",
  needs = {
    trouble = signal "rendezvous_trouble" { over = "attempt" },
    raised  = signal "traceback"          { over = "attempt" },
    step    = signal "step"               { over = "attempt" },
    loss    = signal "loss"               { over = "attempt" },
    ended   = signal "end_reason"         { over = "attempt" },
  },
  yields_to = { "rendezvous_failed", "rendezvous_hang", "rank_killed", "node_down", "node_lost", "preempted" },
  shows = "a rank was still connecting when the attempt ended",
  actions = { otherwise = "check that each node can reach MASTER_ADDR:MASTER_PORT and that all ranks have started" },
  evaluate = function(job, p)
    return job.trouble:seen() & ~ends.begun(job) & ~job.raised:seen():any("job") & ~ends.well(job)
  end,
}

rule "hung_task" {
  family = "C3", severity = "warning", per = "job", every = { "task", "30s" },
  summary = "Kernel reports a hung task (D state)",
  needs = { task = signal "hung_task" { over = "10m" } },
  clear = "for 10m", yields_to = hangs.or_collective { "node_down" },
  shows = "a process[ ({pid:.0f})] has been blocked[ for more than {seconds}]",
  actions = { otherwise = "see what the process[ {pid:.0f}] waits for (dmesg -T[, cat /proc/{pid:.0f}/stack as root]), "
    .. "usually a file system or a GPU; drain the node if it stays blocked" },
  evaluate = function(job, p)
    return job.task:seen(), { pid = job.task:last("pid"), seconds = job.task:last("seconds") }
  end,
}

rule "file_server_lost" {
  family = "C3", severity = "warning", per = "job", every = { "silent", "back", "30s" },
  summary = "File server not responding",
  needs = {
    silent = signal "file_server_silent" { over = "attempt" },
    back   = signal "file_server_back"   { over = "attempt" },
    step   = signal "step"               { over = "attempt" },
  },
  -- The kernel says it once in some minutes. A server that was slow for one answers at once, and steps may go on
  -- meanwhile.
  params = { waits = "2m" }, yields_to = hangs.or_collective { "node_down" },
  shows = "file server[ {server}] does not respond[; kernel messages about it: {n:.0f}]",
  actions = { otherwise = "check that the file server[ {server}] and the network to it are up; processes that wait "
    .. "for it cannot be "
    .. "killed and continue when it responds" },
  evaluate = function(job, p)
    local n, age = job.silent:count(), job.silent:age()
    local over   = least_known(job.back:age(), job.step:age():min("job")):below(age):surely()
    return (n:above(1) | job.silent:older_than(p.waits)):surely() & ~over,
         { n = n, server = job.silent:last("server") }
  end,
}
