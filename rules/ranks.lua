-- One rank or GPU that is worse than the others: D3, B3, B2.

local ends = shared "ends"

-- Steps differ by their data: 1.12 times the peers gave no false alarm in synthetic runs of one slow pipeline stage,
-- and found a rank of 1.15 times in 45 to 150 s.
rule "rank_late" {
  severity = "none", per = "rank", every = "10s",
  summary = "Rank computes, or loads its data, longer than its peers",
  needs = {
    compute = signal "compute_time" { over = 32, least = 16 },
    data    = signal "data_time"    { over = 32, least = 16 },
    step    = signal "step_time"    { over = 32, least = 16 },
    usual   = signal "compute_time" { over = "15m", lag = "2m", least = 16, freeze = true },
  },
  peers = { "pipeline_stage", "expert_stage" },
  -- What the rank adds must be `share` of the step: in a job that waits for data, uneven computing costs nothing. More
  -- than `few` may be late if their own past shows the onset. In a job of at most `small` ranks half of them may be, if
  -- by `much`: unequal stages that no label tells differ by less. Two ranks have no median: the other one, and `pair`.
  params = { ratio = 1.12, few = 0.02, share = 0.05, pair = 1.15, small = 16, much = 1.4 },
  evaluate = function(job, p)
    local compute = job.compute:median()
    local work    = compute + job.data:median():fill(0)
    local count   = work:count("job")
    local least_gain = p.share * job.step:median():max("job")
    local typical = work:median("peers"):fill(p.pair * work:min("job"))
    local late    = work:above(greatest(p.ratio * typical, typical + least_gain))
    local lonely  = late:at_most((p.few * count):clamp(1), "job")
    local change  = compute / job.usual:median()
    local onset   = change:above(p.ratio * change:median("peers")):surely()
    local fast    = work:quantile(0.25, "peers")
    local much    = work:above(greatest(p.much * fast, fast + least_gain))
    local several = much & (2 * much:count("job")):at_most(count) & count:at_most(p.small)
    return (late & (lonely | onset)) | several:surely()
  end,
}

rule "rank_bursts" {
  severity = "none", per = "rank", every = "10s",
  summary = "Some steps of a rank are slow",
  needs = {
    compute = signal "compute_time" { over = 32, least = 16 },
    step    = signal "step_time"    { over = 32, least = 16 },
  },
  peers = { "pipeline_stage", "expert_stage" },
  -- The mean shows it; the longest step is left out of it, for once is no habit.
  params = { bursts = 1.2, others = 31, share = 0.05, few = 0.02 },
  evaluate = function(job, p)
    local mean    = job.compute:mean()
    local often   = mean - (job.compute:max() - mean) / p.others
    local usually = often:median("peers")
    local slow    = often:above(greatest(p.bursts * usually, usually + p.share * job.step:median():max("job")))
    return slow & slow:at_most((p.few * often:count("job")):clamp(1), "job")
  end,
}

-- If every rank's loader is at its limit, another one would hold up the job instead of this one: no straggler.
rule "rank_waits_as_peers" {
  severity = "none", per = "rank", every = "10s",
  summary = "Late rank waits for its data loader, and its peers' loaders need as much of a step",
  needs = {
    late = finding "rank_late",
    work = signal "compute_time" { over = 32, least = 16 },
    data = signal "data_time"    { over = 32, least = 16 },
    step = signal "step_time"    { over = 32, least = 16 },
    busy = signal "loader_busy"  { over = 32, least = 16 },
  },
  peers = { "pipeline_stage", "expert_stage" },
  -- `need` is the part of a step that a rank's loader takes for a batch. Where `loader_busy` does not report it, it
  -- follows from the loader's pace: steps in which a rank waits for data are as long as its loader needs. A rank with
  -- batches in store does not wait, so the pace is remembered. While any rank is late all steps are long, and the pace
  -- is that from before. The newest 8 of 32 values follow a change sooner.
  params = { need_at_least = 0.85, starved = 0.25, mainly = 0.5, pair = 1.15 },
  state = { pace = 0 },
  evaluate = function(job, p, state)
    local late    = job.late:now():surely()
    local data    = job.data:median()
    local work    = job.work:median() + data:fill(0)
    local typical = work:median("peers"):fill(p.pair * work:min("job"))
    local peers   = data:median("peers"):fill(data:min("job"))
    local loader  = (data - peers):above(p.mainly * (work - typical))  -- the rank is late because of its loader
    local step    = job.step:last(8)   -- the median of the newest eight
    local waits   = job.data:last(8):above(p.starved * step):surely()
    state.pace    = (waits & ~late:any("job")):choose(step, state.pace)
    local need    = job.busy:last(8):fill(state.pace / step)
    return late & loader & need:median("peers"):fill(need:min("job")):above(p.need_at_least)
  end,
}

rule "rank_busier" {
  severity = "none", per = "rank", every = "10s",
  summary = "The SMs of a rank's GPU are active more of the time than those of its peers",
  needs = {
    sm      = signal "sm_active" { over = "30s" },
    sm_last = signal "sm_active" { over = "5m" },
  },
  peers = { "pipeline_stage", "expert_stage" },
  params = { ratio = 1.12, few = 0.02 },
  evaluate = function(job, p)
    local sm     = job.sm:mean():fill(job.sm_last:last()):at("rank")
    local high   = sm:above(p.ratio * sm:median("peers"))
    return high & high:at_most((p.few * sm:count("job")):clamp(1), "job")
  end,
}

rule "straggler" {
  family = "D3", severity = "warning", per = "rank", every = "10s",
  summary = "Straggler: one rank slows the whole job",
  needs = {
    late       = finding "rank_late",
    bursts     = finding "rank_bursts",
    excused    = finding "rank_waits_as_peers",
    busier     = finding "rank_busier",
    compute    = signal "compute_time" { over = 32, least = 16 },
    data       = signal "data_time"    { over = 32, least = 16 },
    sm         = signal "sm_active"    { over = "30s" },
    sm_last    = signal "sm_active"    { over = "5m" },
    clock      = signal "sm_clock"     { over = "30s" },
    clock_last = signal "sm_clock"     { over = "5m" },
  },
  peers = { "pipeline_stage", "expert_stage" },
  params = { others = 31, pair = 1.15, low = 0.95 },
  fire = "4 of 6", clear = "5 of 6", yields_to = { "throttle", "node_down", "stalled" },
  shows = {
    "rank {rank}[ on {node}]: {work} of its own work in each step[, {typical} on its peers]",
    "rank {rank}[ on {node}]: SMs active[ {sm:.0%} of the time][, {sm_peers:.0%} on its peers]",
  },
  causes = {
    loader    = "it waits for its data loader[: {data} a step]",
    throttled = "its GPU clock is low[ ({clock})]",
    bursts    = "some of its steps are slow[: {often} on average][, {usually} on its peers]; a busy host, or pauses",
    compute   = "it computes longer: more work in each step, a busy host, or a slow GPU",
    busier    = "no step times are reported, and its SMs are active more of the time than those of its peers",
  },
  actions = {
    loader    = "give rank {rank} more loader workers or faster storage[ on {node}]",
    throttled = "check the cooling and power of its GPU[ {gpu}][ on {node}] (nvidia-smi -q -d PERFORMANCE)",
    bursts    = "look for other processes on its node[ {node}] (top) and stop them",
    compute   = "check the host[ {node}] (top, nvidia-smi dmon); drain it if rank {rank} has no more work than others",
    busier    = "check the host[ {node}] (top, nvidia-smi dmon); drain it if rank {rank} has no more work than others",
    otherwise = "check the host of rank {rank} (top, nvidia-smi dmon)",
  },
  evaluate = function(job, p)
    local late, bursts = job.late:now():surely(), job.bursts:now():surely()
    local data    = job.data:median()
    local work    = job.compute:median() + data:fill(0)
    local typical = work:median("peers"):fill(p.pair * work:min("job"))
    local mean    = job.compute:mean()
    local often   = mean - (job.compute:max() - mean) / p.others
    -- Who needs less than a rank that is excused holds nobody up.
    local awaited = greatest(work, often):above(job.excused:now():surely():choose(work, 0):max("job"))
    local slow    = (late | bursts) & awaited
    local timed   = work:count("job"):above(0)
    local loader  = (data - data:median("peers"):fill(data:min("job"))):above(0.5 * (work - typical)) & late
    local sm      = job.sm:mean():fill(job.sm_last:last()):at("rank")
    local clock   = job.clock:mean():fill(job.clock_last:last()):at("rank")
    local low     = clock:below(p.low * clock:median("job"))
    local active  = job.busier:now() & ~timed
    return (timed & slow) | active, {
      work = work, often = often, usually = often:median("peers"), data = data, sm = sm, sm_peers = sm:median("peers"),
      typical = work:count("job"):is(2):choose(work:min("job"), work:median("peers")), clock = clock, loader = loader,
      throttled = low, bursts = bursts & ~late, compute = late & ~low:surely() & ~loader:surely(), busier = active,
    }
  end,
}

rule "throttle" {
  family = "B3", severity = "warning", per = "gpu", every = "10s",
  summary = "GPU thermal throttling or power brake slowdown",
  needs = {
    thermal = signal "throttle_thermal"    { over = "1m" },
    brake   = signal "throttle_brake"      { over = "1m" },
    reasons = signal "clock_event_reasons" { over = "2m" },
    clock   = signal "sm_clock"            { over = "1m" },
    now     = signal "step_time"           { over = 32, least = 16 },
    usual   = signal "step_time"           { over = "15m", lag = "2m", freeze = true },
  },
  peers = { "gpu_model" },
  -- Of the bits only 0x8, 0x40 and 0x80 halve the clock; power caps and application clocks are normal under load.
  params = { severe = 0.10, clock = 0.9, slow = 1.15 }, fire = "for 60s", clear = "for 60s",
  yields_to = { "gpu_error", "node_down" },
  shows = "GPU {gpu} on {node}: throttled {share:.0%} of the time[; clock {clock}][, {typical} on its peers]",
  causes = { heat = "it is too hot (thermal slowdown)", brake = "the power supply asserts the power brake" },
  actions = {
    heat      = "check the cooling of GPU {gpu} on {node} (fans, airflow, dust); drain {node} if it stays hot",
    brake     = "check the power supplies of {node}; drain it until they are repaired",
    otherwise = "run nvidia-smi -q -d PERFORMANCE on {node}; drain it if its GPU stays slow",
  },
  evaluate = function(job, p)
    local thermal, brake = job.thermal:mean(), job.brake:mean()
    local share   = greatest_known(thermal, brake):fill(job.reasons:fraction { bits = 0xC8 })
    local clock   = job.clock:mean()
    local typical = clock:median("peers")
    local felt    = clock:below(p.clock * typical)
                  | job.now:median():median("job"):above(p.slow * job.usual:median():median("job"))
    return share:above(p.severe) & felt,
      { share = share, clock = clock, typical = typical,
        heat = thermal:fill(job.reasons:fraction { bits = 0x40 }):above(p.severe),
        brake = brake:fill(job.reasons:fraction { bits = 0x80 }):above(p.severe) }
  end,
}

rule "throttle_in_log" {
  family = "B3", severity = "warning", per = "job", every = { "report", "30s" },
  summary = "GPU thermal throttling or power brake slowdown in the log",
  needs = { report = signal "throttle_reported" { over = "10m" } },
  clear = "for 10m", yields_to = { "throttle", "gpu_error", "node_down" },
  shows = "throttling reported in the log[: {reason}]",
  actions = { otherwise = "run nvidia-smi -q -d PERFORMANCE on the node that reports it and check its cooling and "
    .. "power supplies; drain it if its GPU stays slow" },
  evaluate = function(job, p) return job.report:seen(), { reason = job.report:last("reason") } end,
}

-- NVIDIA's immediate action for these is a reset of the GPU, a restart of the machine, or a workflow that ends in one
-- of them; the rest of its catalogue restarts the application, or may be ignored.
local FATAL = {
  46, 48, 54, 62, 64, 74, 79, 95, 109, 110, 119, 120, 136, 140, 143, 144, 145, 146, 147, 148, 149, 150, 151, 155, 156,
  158, 167, 169, 171, 172,
}
rule "gpu_error" {
  family = "B2", severity = "critical", per = "gpu", every = { "xid", "30s" },
  summary = "Fatal XID: GPU reset or replacement required",
  needs = {
    xid    = signal "xid"               { over = "1h" },
    failed = signal "row_remap_failure" { over = "attempt" },
    ecc    = signal "ecc_uncorrected"   { over = "attempt" },
  },
  params = { fatal = FATAL }, clear = "for 1h", yields_to = { "node_down" },
  shows = "GPU {gpu} on {node}: XID[ {code:.0f}][; {n:.0f} such errors in the last hour]",
  causes = {
    bus    = "the GPU has fallen off the bus: reboot the node",
    memory = "uncorrectable memory errors that could not be remapped: reset the GPU, and replace it if they return",
    link   = "NVLink error: check the link and the GPU at its other end",
    driver = "the driver or a controller of the GPU stopped: reset the GPU",
    latent = "a memory row could not be remapped before this attempt began",
  },
  actions = {
    bus       = "drain {node} and reboot it; replace GPU {gpu} if it falls off the bus again",
    memory    = "drain {node} and reset GPU {gpu} (nvidia-smi --gpu-reset); replace it if the errors return",
    link      = "drain {node} and check the NVLinks of GPU {gpu} (nvidia-smi nvlink --errorcounters)",
    driver    = "drain {node} and reset GPU {gpu} (nvidia-smi --gpu-reset)",
    latent    = "drain {node} after this job and reset GPU {gpu}; replace it if remapping fails again",
    otherwise = "drain {node} and reset GPU {gpu} (nvidia-smi --gpu-reset)",
  },
  evaluate = function(job, p)
    local fatal = job.xid:where { code = p.fatal }
    local asked = job.xid:where { recovery = { 1, 2, 3, 4 } }:seen()      -- XID 154 names the recovery
    local code  = fatal:last("code")
    local came  = fatal:seen() | asked
    local rise  = job.failed:delta():above(0) | job.ecc:delta():above(0)
    return came | rise:surely(),
      {
        code = code:fill(154), n = fatal:count(), bus = code:is(79),
        memory = code:is(48, 64, 95, 140, 158, 171, 172) | rise, link = code:is(74, 144, 145, 146, 147, 148, 149, 150),
        driver = code:is(46, 54, 62, 109, 110, 119, 120, 136, 143, 151, 155, 156, 167, 169),
        latent = job.failed:first():above(0),
      }
  end,
}

rule "gpu_fault" {
  family = "B2", severity = "warning", per = "gpu", every = { "xid", "30s" },
  summary = "XID error that ends applications",
  needs = { xid = signal "xid" { over = "1h" } },
  -- All after which NVIDIA restarts the application (engines for copies and video among them), and what was contained
  -- or remapped. 43 and 45, the end of a channel, follow other errors and come at every teardown; 37, 38 and 44 may be
  -- ignored.
  params = { ends = {
    8, 11, 13, 25, 31, 32, 39, 40, 41, 60, 61, 68, 69, 70, 71, 72, 75, 76, 77, 80, 82, 83, 84, 85, 86, 88, 89, 96, 97,
    98, 99, 100, 101, 102, 103, 104, 105, 126, 127, 128, 129, 130, 131, 132, 133, 134, 135, 139, 63, 92, 94, 121, 157,
    159,
  } },
  clear = "for 1h", yields_to = { "gpu_error", "node_down" },
  shows = "GPU {gpu} on {node}: XID[ {code:.0f}][; {n:.0f} such errors in the last hour]",
  causes = {
    software = "an illegal address or instruction: usually the application; hardware if it follows the GPU to other "
      .. "jobs",
    memory   = "a memory error that was contained or remapped",
  },
  actions = {
    software  = "restart the job; if the XID follows GPU {gpu} on {node} to other jobs, drain {node}",
    memory    = "restart the job, and reset GPU {gpu} on {node} when it is idle",
    otherwise = "restart the job; drain {node} if the XID returns there",
  },
  evaluate = function(job, p)
    local own  = job.xid:where { code = p.ends }
    local code = own:last("code")
    return own:seen(),
      {
        code = code, n = own:count(), software = code:is(8, 11, 13, 25, 31, 32, 68, 69, 80),
        memory = code:is(63, 92, 94, 157),
      }
  end,
}

rule "gpu_channel_ended" {
  family = "B2", severity = "warning", per = "gpu", every = "end",
  summary = "XID error, and the job failed",
  needs = {
    xid = signal "xid" { over = "attempt" }, step = signal "step" { over = "attempt" },
    ended = signal "end_reason" { over = "attempt" },
  },
  -- Another program's, if steps follow
  params = { after = 30 }, yields_to = { "gpu_error", "gpu_fault", "node_down" },
  shows = "GPU {gpu} on {node}: XID[ {code:.0f}] only[, {n:.0f} times]",
  causes = { software = "usually the application: it was stopped in a kernel, or its kernel failed" },
  actions = { software = "check the application first (its last lines, and who stopped it); drain {node} only if the "
    .. "error returns with other jobs" },
  evaluate = function(job, p)
    local channel = job.xid:where { code = { 43, 45 } }
    local seen    = channel:seen() & ~ends.well(job) & ~ends.goes_on(job, channel, p.after)
    return seen, { code = channel:last("code"), n = channel:count(), software = seen }
  end,
}
