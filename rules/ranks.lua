-- One rank or GPU that is worse than the others: D3, B3, B2.

rule "straggler" {
  family = "D3", severity = "warning", per = "rank", every = "10s",
  summary = "Straggler: one rank slows the whole job",
  needs = {
    compute = signal "compute_time" { over = 32, least = 16 },
    data    = signal "data_time"    { over = 32, least = 16 },
    step    = signal "step_time"    { over = 32, least = 16 },
    busy    = signal "loader_busy"  { over = 32, least = 16 },
    usual   = signal "compute_time" { over = "15m", lag = "2m", least = 16, freeze = true },
    sm      = signal "sm_active"    { over = "30s" },
    sm_last = signal "sm_active"    { over = "5m" },
    usual_sm = signal "sm_active"   { over = "15m", lag = "2m", least = 16, freeze = true },
    clock   = signal "sm_clock"     { over = "30s" },
    clock_last = signal "sm_clock"  { over = "5m" },
  },
  peers = { "pipeline_stage", "expert_stage" },
  -- 1.12 and 4 deviations: synthetic runs of one slow stage had no false alarm there, and found a rank of 1.15 times in
  -- 45 to 150 s. `share`: what the rank adds must matter to the step; in a job that waits for data, uneven computing
  -- costs nothing. In a job of at most `small` ranks half of them may be late, if by `much`: unequal stages that no
  -- label tells differ by less. `bursts`: a rank that is slow in some steps only shows in the mean; the longest step is
  -- left out of it, for once is no habit. `loaded`: where its peers' loaders need that much of a step for a batch too,
  -- a rank that waits for its own is no fault: another loader would hold the job up in its place. Where nobody reports
  -- how busy loaders are, a rank's needs as long as the steps in which it waited `starved` of them; while a rank is
  -- late such steps count only if they are shorter, for a loader without workers waits in slow steps just as long.
  params = {
    ratio = 1.12, z = 4, few = 0.02, share = 0.05, spread = 0.02, bursts = 1.2, others = 31, pair = 1.15, small = 16,
    much = 1.4, loaded = 0.85, starved = 0.25,
  },
  state = { pace = 0 },
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
    throttled = "check the cooling and power of its GPU[ {gpu}][ on {node}] (nvidia-smi -q -d PERFORMANCE); drain "
      .. "the node if it stays slow",
    bursts    = "look for other processes on its node[ {node}] (top) and stop them",
    compute   = "check the host of rank {rank}[, {node}] (top, nvidia-smi dmon); if the rank has no more work than "
      .. "the others, drain it",
    busier    = "check the host of rank {rank}[, {node}] (top, nvidia-smi dmon); if the rank has no more work than "
      .. "the others, drain it",
    otherwise = "check the host of rank {rank} (top, nvidia-smi dmon)",
  },
  evaluate = function(job, p, state)
    -- By time: what a rank does itself; the wait for others is not in it.
    local data    = job.data:median()
    local compute = job.compute:median()
    local work    = compute + data:fill(0)
    -- Two ranks have no median: the other one, and some
    local typical = work:median("peers"):fill(p.pair * work:min("job"))
    local late    = work:above(p.ratio * typical) & (work - typical):above(p.share * job.step:median():max("job"))
    local lonely  = late:at_most((p.few * work:count("job")):clamp(1), "job")
    local fast    = work:quantile(0.25, "peers")
    local much    = work:above(p.much * fast) & (work - fast):above(p.share * job.step:median():max("job"))
    local several = much & (2 * much:count("job")):at_most(work:count("job")) & work:count("job"):at_most(p.small)
    local change  = compute / job.usual:median()
    local middle  = change:median("peers")
    local onset   = change:above(p.ratio * middle)
                  & ((change - middle) / (1.4826 * change:mad("peers")):clamp(p.spread)):above(p.z)
    local mean    = job.compute:mean()
    local often   = mean - (job.compute:max() - mean) / p.others
    local usually = often:median("peers")
    local jerks   = often:above(p.bursts * usually) & (often - usually):above(p.share * job.step:median():max("job"))
    local bursts  = jerks & jerks:at_most((p.few * often:count("job")):clamp(1), "job")

    -- Whether loaders are what all ranks wait for: what each needs for a batch, as a share of the step. A rank with
    -- batches in store shows no wait.
    local step    = job.step:last(8)      -- of a quarter of the window: at a fault it changes before `late` does
    local lone    = data:median("peers"):fill(data:min("job"))
    local loader  = (data - lone):above(0.5 * (work - typical))
    local waits   = job.data:last(8):above(p.starved * step):surely()
    local known   = (late:any("job"):surely() & state.pace:above(0)):choose(least(state.pace, step), step)
    state.pace    = waits:choose(known, state.pace)
    local need    = job.busy:last(8):fill(state.pace / step)
    local excused = ((late | several:surely()) & loader & need:median("peers"):fill(need:min("job")):above(p.loaded)):surely()
    -- Who needs less than one that is excused holds nobody up
    local awaited = greatest(work, often):above(excused:choose(work, 0):max("job"))
    local slow    = ((late & (lonely | onset:surely())) | bursts:surely() | several:surely()) & awaited

    -- By activity, if no times are reported: the rank that works longest keeps its multiprocessors busiest.
    local sm       = job.sm:mean():fill(job.sm_last:last()):at("rank")
    local sm_mid   = sm:median("peers")
    local rise     = sm / job.usual_sm:median():at("rank")
    local rise_mid = rise:median("peers")
    local high     = sm:above(p.ratio * sm_mid)
    local busier   = rise:above(p.ratio * rise_mid)
                   & ((rise - rise_mid) / (1.4826 * rise:mad("peers")):clamp(p.spread)):above(p.z)
    local active   = (high & high:at_most((p.few * sm:count("job")):clamp(1), "job")) | busier

    local timed    = work:count("job"):above(0)
    local clock    = job.clock:mean():fill(job.clock_last:last()):at("rank")
    local low      = clock:below(0.95 * clock:median("job"))
    return (timed & slow) | (~timed & active),
      { work = work, typical = typical, often = often, usually = usually, data = data, sm = sm, sm_peers = sm_mid, clock = clock,
        loader = loader & (late | several:surely()), throttled = low, bursts = bursts & ~late,
        compute = (late | several:surely()) & ~low:surely() & ~loader:surely(),
        busier = active & ~timed }
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
    local share   = greatest(thermal:fill(brake), brake:fill(thermal)):fill(job.reasons:fraction { bits = 0xC8 })
    local clock   = job.clock:mean()
    local typical = clock:median("peers")
    local felt    = clock:below(p.clock * typical)
                  | job.now:median():median("job"):above(p.slow * job.usual:median():median("job"))
    return share:above(p.severe) & felt,
      { share = share, clock = clock, typical = typical,
        heat = thermal:above(p.severe) | job.reasons:fraction { bits = 0x40 }:above(p.severe),
        brake = brake:above(p.severe) | job.reasons:fraction { bits = 0x80 }:above(p.severe) }
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
    local asked = job.xid:where { recovery = { 1, 2, 3, 4 } }:count():above(0)      -- XID 154 names the recovery
    local code  = fatal:last("code")
    local came  = fatal:count():above(0) | asked
    local rise  = job.failed:delta():above(0) | job.ecc:delta():above(0)
    return came | rise:surely(),
      { code = code:fill(154), n = fatal:count(), bus = code:is(79), memory = code:is(48, 64, 95, 140, 158, 171, 172) | rise,
        link = code:is(74, 144, 145, 146, 147, 148, 149, 150),
        driver = code:is(46, 54, 62, 109, 110, 119, 120, 136, 143, 151, 155, 156, 167, 169),
        latent = job.failed:first():above(0) }
  end,
}

rule "gpu_fault" {
  family = "B2", severity = "warning", per = "gpu", every = { "xid", "30s" },
  summary = "XID error that ends applications",
  needs = { xid = signal "xid" { over = "1h" } },
  -- All after which NVIDIA restarts the application (engines for copies and video among them), and what was contained
  -- or remapped. 43 and 45, the end of a channel, follow other errors and come at every teardown; 37, 38 and 44 may be
  -- ignored.
  params = { ends = { 8, 11, 13, 25, 31, 32, 39, 40, 41, 60, 61, 68, 69, 70, 71, 72, 75, 76, 77, 80, 82, 83, 84, 85, 86, 88, 89, 96, 97, 98, 99, 100, 101, 102, 103, 104, 105,
                      126, 127, 128, 129, 130, 131, 132, 133, 134, 135, 139, 63, 92, 94, 121, 157, 159 } },
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
    return own:count():above(0),
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
  shows = "GPU {gpu} on {node}: XID[ {code:.0f}] only, {n:.0f} times",
  causes = { software = "usually the application: it was stopped in a kernel, or its kernel failed" },
  actions = { software = "check the application first (its last lines, and who stopped it); drain {node} only if the "
    .. "error returns with other jobs" },
  evaluate = function(job, p)
    local channel = job.xid:where { code = { 43, 45 } }
    local well    = job.ended:last():is("completed", "cancelled", "timeout", "preempted", "requeued"):surely()
    local age     = channel:age()
    local goes_on = ((age - job.step:age():min("job")):above(p.after) & age:below("10000h")):surely()
    local seen    = channel:count():above(0) & ~well & ~goes_on
    return seen, { code = channel:last("code"), n = channel:count(), software = seen }
  end,
}
