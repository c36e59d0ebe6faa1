-- The kind of a hang (C2, C3). standstill.lua decides that there is one; rendezvous.lua finds C1.
--
-- Findings name ranks: counts of collectives, then processes, then GPUs. The first that names one decides.

local hangs = shared "hangs"
local gpus = shared "gpus"

-- Whether a process sleeps in a futex, as a thread does that waits in a collective.
local function in_futex(job)
  return job.channel:last():is("futex_do_wait", "futex_wait_queue", "futex_wait_queue_me"):surely()
       | job.call:last():is("futex"):surely()
end

rule "rank_behind" {
  severity = "none", per = "rank", every = "5s",
  summary = "Rank has launched fewer collectives than the others and waits for none",
  needs = {
    launched = signal "collective_launched" { over = "attempt" },
    done     = signal "collective_done"     { over = "attempt" },
    works    = finding "rank_works",
  },
  evaluate = function(job, p)
    local launched = job.launched:last()
    local behind   = launched:below(launched:max("job")) & ~job.works:now():surely()
    local outside  = behind & ~launched:above(job.done:last())
    -- Where all of those behind wait, in another group, they are it
    return outside | (behind & ~outside:any("job"))
  end,
}

rule "rank_halted" {
  severity = "none", per = "rank", every = "5s",
  summary = "Process of a rank is stopped, dead or blocked, those of others are not",
  needs = { state = signal "process_state" { over = "attempt" }, cpu = signal "process_cpu" { over = "30s" } },
  params = { idle = 0.05 },
  evaluate = function(job, p)
    local state  = job.state:last()
    local halted = state:is("stopped", "traced", "zombie") | (state:is("disk_sleep") & job.cpu:mean():below(p.idle))
    return halted & ~halted:all("job")
  end,
}

rule "rank_elsewhere" {
  severity = "none", per = "rank", every = "5s",
  summary = "Process does not sleep in a futex, but most others do, and collectives are not counted",
  needs = {
    launched = signal "collective_launched" { over = "attempt" },
    channel  = signal "wait_channel"        { over = "attempt" },
    call     = signal "wait_syscall"        { over = "attempt" },
    cpu      = signal "process_cpu"         { over = "30s" },
  },
  params = { idle = 0.05 },
  evaluate = function(job, p)
    local reported = (job.channel:seen() | job.call:seen())
    local waiting  = in_futex(job) & job.cpu:mean():below(p.idle):maybe()
    local most     = waiting:count("job"):above((reported & ~waiting):count("job"))
    return reported & ~waiting & most & ~job.launched:last():count("job"):above(0)
  end,
}

rule "gpu_cold" {
  severity = "none", per = "gpu", every = "5s",
  summary = "GPU is idle while others spin in a kernel",
  needs = {
    gr      = signal "gr_engine_active" { over = "30s" },
    gr_long = signal "gr_engine_active" { over = "5m" },
    sm      = signal "sm_active"        { over = "30s" },
  },
  params = { cold = 0.05, spin = 0.9, work = 0.2 },
  evaluate = function(job, p)
    local gr       = job.gr:mean():fill(job.gr_long:last())
    local spinning = gr:above(p.spin) & job.sm:mean():below(p.work):maybe()
    return gr:below(p.cold) & spinning:any("job")
  end,
}

-- Kernels that only wait draw hardly more power than an idle GPU. A save of rank 0 looks the same for minutes.
rule "gpu_dark" {
  severity = "none", per = "gpu", every = "5s",
  summary = "GPU was idle for five minutes, and all others were busy and drew hardly more power",
  needs = {
    gr    = signal "gr_engine_active" { over = "5m" },
    power = signal "gpu_power"        { over = "5m" },
    works = finding "rank_works",
  },
  params = { cold = 0.05, spin = 0.9, draw = 2 },
  evaluate = function(job, p)
    local dark   = job.gr:max():below(p.cold) & ~job.works:now():any("gpu"):surely()
    local power  = job.power:mean()
    local pinned = job.gr:min():above(p.spin) & power:below(p.draw * power:min("job"))
    return dark & pinned:any("job") & (dark | pinned):all("job")
  end,
}

-- Collectors that report once a minute sample each rank at another time: the kind of a hang is decided once the usual
-- interval of each has passed. A rank without a value by then is silent, which is evidence as well.
rule "collectors_reported" {
  severity = "none", per = "job", every = "5s",
  summary = "Every collector has reported since the last step, or is overdue",
  needs = {
    step     = signal "step"                { over = "attempt" },
    launched = signal "collective_launched" { over = "attempt" },
    cpu      = signal "process_cpu"         { over = "30s" },
    gr       = signal "gr_engine_active"    { over = "5m" },
  },
  evaluate = function(job, p)
    local standing = job.step:age():min("job"):fill(job.launched:age():min("job"))
    local function interval(window) return window:interval():max("job") end
    local longest = greatest_known(interval(job.launched), interval(job.cpu), interval(job.gr))
    return standing:above(1.2 * longest):maybe()
  end,
}

rule "collective_hang" {
  family = "C2", severity = "critical", per = "job", every = "5s",
  summary = "The job hangs in a collective",
  needs = {
    hang      = finding { "stalled", "no_first_step" },
    settled   = finding "collectors_reported",
    spinning  = finding "gpus_spinning",
    behind    = finding "rank_behind",
    halted    = finding "rank_halted",
    elsewhere = finding "rank_elsewhere",
    cold      = finding "gpu_cold",
    dark      = finding "gpu_dark",
    launched  = signal "collective_launched" { over = "attempt" },
    done      = signal "collective_done"     { over = "attempt" },
    pid       = signal "process_pid"         { over = "attempt" },
  },
  -- Where no step is read, counts that have not changed for `still` are enough, and so are GPUs that are dark.
  params = { still = "90s" },
  yields_to = hangs.or_entered { "rank_stopped", "job_stopped", "rank_unreaped", "rank_killed", "node_down" },
  shows = "the job hangs in a collective[; not in it: {who}]",
  causes = {
    outside   = "the named ranks have not entered a collective that the others wait in",
    stopped   = "a process is stopped or waits for a device, and the rest wait for it",
    spinning  = "the GPUs of the named ranks are idle while the others wait in a kernel",
    elsewhere = "most ranks wait in a futex, as threads in a collective do; the named ranks do something else",
    fabric    = "all ranks wait in the same collective: suspect the network or the library, not a rank",
  },
  actions = {
    stopped   = "inspect the process[ {pid:.0f}] of rank {rank}[ on {node}] (ps, dmesg -T): kill -CONT if it is "
      .. "stopped",
    outside   = "see what rank {rank} does (py-spy dump[ --pid {pid:.0f}][ on {node}]), then restart from a checkpoint",
    elsewhere = "see what rank {rank} does (py-spy dump[ --pid {pid:.0f}][ on {node}]), then restart from a checkpoint",
    spinning  = "inspect the GPU of rank {rank}[ on {node}] (nvidia-smi, dmesg -T); drain the node if it does not "
      .. "respond",
    fabric    = "check the network between the nodes (ibstat, nccl-tests), then restart from the last checkpoint",
    otherwise = "find the rank that is not in a collective (py-spy dump on each)",
  },
  evaluate = function(job, p)
    local behind, halted   = job.behind:now():surely(), job.halted:now():surely()
    local elsewhere        = job.elsewhere:now():surely() & ~halted:any("job")
    local dark             = job.dark:now():surely()
    local cold             = (job.cold:now() | dark):at("rank"):surely()
    local no_count         = ~behind:any("job")
    local no_process       = no_count & ~(halted | elsewhere):any("job")
    local who              = behind | ((halted | elsewhere) & no_count) | (cold & no_process)
    local launched = job.launched:last()
    local waits    = launched:above(job.done:last())
    local counted  = launched:count("job"):above(0)
    local frozen   = job.launched:age():min("job"):above(p.still) & waits:any("job") & ~no_count
    local stepless = job.hang:now():maybe() & (frozen | dark:any("job"))      -- no step is read
    local hang     = (job.hang:now():surely() & job.settled:now():maybe()) | stepless
    local within   = waits:any("job") | (~counted & (halted | elsewhere):any("job")) | cold:any("job")
                   | job.spinning:now()
    return hang & within, {
      who = who, pid = job.pid:last(),
      outside = ~no_count, stopped = (who & halted):any("job"), spinning = (who & cold):any("job"),
      elsewhere = (who & elsewhere):any("job"), fabric = waits:all("job") & ~who:any("job"),
    }
  end,
}

rule "idle_hang" {
  family = "C3", severity = "critical", per = "job", every = "5s",
  summary = "Job hung outside collectives, all ranks idle",
  needs = {
    hang     = finding { "stalled", "no_first_step", "collectives_ceased" },
    settled  = finding "collectors_reported",
    step     = signal "step"                { over = "attempt" },
    launched = signal "collective_launched" { over = "attempt" },
    done     = signal "collective_done"     { over = "attempt" },
    state    = signal "process_state"       { over = "attempt" },
    channel  = signal "wait_channel"        { over = "attempt" },
    call     = signal "wait_syscall"        { over = "attempt" },
    cpu      = signal "process_cpu"         { over = "30s" },
    cpu_long = signal "process_cpu"         { over = "5m" },
    gr       = signal "gr_engine_active"    { over = "30s" },
    gr_long  = signal "gr_engine_active"    { over = "5m" },
  },
  params = { cold = 0.05, idle = 0.05 },
  yields_to = hangs.or_collective {
    "rank_stopped", "job_stopped", "rank_unreaped", "rendezvous_hang", "rank_killed", "node_down",
  },
  shows = "every rank is idle, and none is in a collective",
  causes = {
    stopped = "all processes are stopped, by a signal or a debugger",
    device  = "the processes wait for a device or a file system",
    host    = "the processes sleep: on a lock, a pipe, a queue or a remote service",
  },
  actions = {
    stopped = "continue the processes: kill -CONT; if a debugger holds them, detach it",
    device  = "check the device or the file system that the processes wait for (dmesg -T, ls on the mount)",
    host    = "see what the processes wait for (py-spy dump on each): a lock, a pipe, or a service that does not "
      .. "respond",
    otherwise = "see what the processes wait for (py-spy dump on each)",
  },
  evaluate = function(job, p)
    local launched = job.launched:last()
    local waits    = launched:above(job.done:last())
    local counted  = launched:count("job"):above(0)
    local state    = job.state:last()
    local idle     = job.cpu:mean():fill(job.cpu_long:last()):below(p.idle)
    local reported = job.channel:seen() | job.call:seen()
    local asleep   = (idle & reported & ~in_futex(job)):all("job")
    local gr       = job.gr:mean():fill(job.gr_long:last())
    local cold     = (gr:below(p.cold) & gpus.sampled_since(job.gr_long, job.step)):all("job")
    local outside  = (counted & ~waits:any("job")) | (~counted & (asleep | cold))
    local begun    = (job.step:seen() | launched:above(0):surely()):any("job")
    local halted   = state:is("stopped", "traced"):all("job")
    local device   = state:is("disk_sleep"):any("job")
    return job.hang:now() & job.settled:now():maybe() & outside & begun,
      { stopped = halted, device = device, host = idle:all("job") & ~halted & ~device }
  end,
}
