-- What only the cluster shows: the history of a GPU across jobs, and what a rack's nodes have in common.

-- The numbers that gpu_error lists: a reset of the GPU or a restart of its machine. And those that say nothing about
-- the GPU: 43 and 45 end a channel after another error or at a teardown, 37, 38 and 44 may be ignored, 154 names the
-- recovery of another.
local HARDWARE = {
  46, 48, 54, 62, 64, 74, 79, 95, 109, 110, 119, 120, 136, 140, 143, 144, 145, 146, 147, 148, 149, 150, 151, 155, 156,
  158, 167, 169, 171, 172,
}
local BENIGN   = { 37, 38, 43, 44, 45, 154 }

rule "gpu_xids_in_jobs" {
  scope = "cluster", family = "B2", severity = "critical", per = "gpu", every = { "xid", "5m" },
  summary = "GPU fails in one job after another",
  needs = { xid = signal "xid" { over = "7d" } },
  -- Where more than `few` GPUs of a node fail so, it is what they share.
  params = { hardware = HARDWARE, twice = 2, few = 2 },
  shows = "GPU {gpu} on {node}: fatal XIDs in {jobs:.0f} jobs within 7 days[, most recently XID {code:.0f}][ in job "
    .. "{job}]",
  causes = {
    broken = "{jobs:.0f} jobs had errors that require a GPU reset: the repair after the first one did not help",
    shared = "several GPUs on {node} fail in the same way: suspect what they share (power supply, baseboard, PCIe "
      .. "switches)",
  },
  actions = {
    broken    = "drain {node} and replace GPU {gpu}",
    shared    = "drain {node} and test what its GPUs share (power, baseboard, PCIe switches)",
    otherwise = "drain {node} and test GPU {gpu} (dcgmi diag -r 3)",
  },
  evaluate = function(cluster, p)
    local own    = cluster.xid:where { code = p.hardware }
    local jobs   = own:distinct("job")
    local fails  = jobs:at_least(p.twice)
    local broken = fails & fails:surely():at_most(p.few, "node")
    return fails,
         {
           jobs = jobs, code = own:last("code"), job = own:last("job"), broken = broken,
           shared = fails & ~broken:surely(),
         }
  end,
}

rule "gpu_errors_in_jobs" {
  scope = "cluster", family = "B2", severity = "warning", per = "gpu", every = { "xid", "5m" },
  summary = "One GPU of a node has had errors in several jobs",
  needs = { xid = signal "xid" { over = "7d" } },
  -- An error of a program comes on all GPUs that run it. One that stays with few of a node's GPUs in `often` jobs may
  -- be theirs; a job that had but one GPU proves nothing about the others.
  params = { benign = BENIGN, often = 3, alone = 2 }, yields_to = { "gpu_xids_in_jobs" },
  shows = "GPU {gpu} on {node}: XIDs in {jobs:.0f} jobs within 7 days and none on the node's other GPUs[, most "
    .. "recently XID {code:.0f}][ in job {job}]",
  actions = { otherwise = "test GPU {gpu} when {node} is free (dcgmi diag -r 3); if it passes, check the jobs' "
    .. "programs (compute-sanitizer)" },
  evaluate = function(cluster, p)
    local own   = cluster.xid:except { code = p.benign }
    local jobs  = own:distinct("job")
    local often = jobs:at_least(p.often)
    -- A kernel's log that is quiet proves nothing about the others.
    return often & often:surely():at_most(p.alone, "node"),
         { jobs = jobs, code = own:last("code"), job = own:last("job") }
  end,
}

rule "rack_power_brake" {
  scope = "cluster", family = "B3", severity = "critical", per = "rack", every = "30s",
  summary = "Power brake slowdown on several nodes of a rack",
  needs = {
    brake   = signal "throttle_brake"      { over = "2m" },
    reasons = signal "clock_event_reasons" { over = "2m" },
  },
  -- One node may have a bad power supply; two at once share a rack's.
  params = { share = 0.10, nodes = 2 }, fire = "2 of 3", clear = "4 of 4",
  shows = "rack {rack}: the power brake slows[ {n:.0f}] nodes[, their worst GPUs {share:.0%} of the time]",
  causes = { all = "all nodes of the rack are affected: its power feed is overloaded" },
  actions = {
    all       = "check the power supply of rack {rack} (PDU, breakers, feed); reduce its load until it is repaired",
    otherwise = "check the feed and the power supplies of rack {rack} (PDU, breakers); drain the nodes that stay slow",
  },
  evaluate = function(cluster, p)
    local brake  = cluster.brake:mean()
    local share  = brake:fill(cluster.reasons:fraction { bits = 0x80 })
    local braked = share:above(p.share)
    local nodes  = braked:any("node")
    return nodes:at_least(p.nodes, "rack"),
      { n = nodes:count("rack"), share = share:max("rack"), who = nodes, all = nodes:all("rack") }
  end,
}

-- ---- cases --------------------------------------------------------------------------------------

case "a GPU falls off the bus in two jobs" {
  scope = "cluster", gpus = 16, per_node = 8,
  {
    lasting = "70m",
    events = {
      { "xid", gpu = 11, code = 79, at = "5m", job = "llama" },
      { "xid", gpu = 11, code = 79, at = "65m", job = "mixtral" },
    },
  },
  fires = { { "gpu_xids_in_jobs", gpu = 11, cause = "broken", within = "66m" } },
}
case "a GPU throws illegal accesses in three jobs, its neighbours none" {
  scope = "cluster", gpus = 16, per_node = 8,
  { lasting = "30m", events = { { "xid", gpu = 3, code = 31, at = "1m", job = "a" }, {
    "xid", gpu = 3, code = 13, at = "10m", job = "b",
  },
                                { "xid", gpu = 3, code = 31, at = "20m", job = "c" } } },
  fires = { { "gpu_errors_in_jobs", gpu = 3 } },
}
case "all GPUs of a node fall off the bus in two jobs" {
  scope = "cluster", gpus = 8, per_node = 4,
  { lasting = "30m", events = {
    { "xid", gpu = 4, code = 79, at = "1m", job = "a" }, { "xid", gpu = 5, code = 79, at = "1m", job = "a" },
    { "xid", gpu = 6, code = 79, at = "1m", job = "a" },
    { "xid", gpu = 4, code = 79, at = "9m", job = "b" }, { "xid", gpu = 5, code = 79, at = "9m", job = "b" },
    { "xid", gpu = 6, code = 79, at = "9m", job = "b" } } },
  fires = {
    { "gpu_xids_in_jobs", gpu = 4 }, { "gpu_xids_in_jobs", gpu = 5 }, { "gpu_xids_in_jobs", gpu = 6, cause = "shared" },
  },
}
case "one job fails on a GPU again and again" {
  scope = "cluster", gpus = 8,
  {
    lasting = "30m",
    events = {
      { "xid", gpu = 3, code = 79, at = "1m", job = "a" }, { "xid", gpu = 3, code = 79, at = "10m", job = "a" },
      { "xid", gpu = 3, code = 31, at = "20m", job = "a" },
    },
  },
}
case "a program with an error is started three times, on all GPUs of a node" {
  scope = "cluster", gpus = 4,
  { lasting = "30m", events = {
    { "xid", gpu = 0, code = 31, at = "1m", job = "a" }, { "xid", gpu = 1, code = 31, at = "1m", job = "a" },
    { "xid", gpu = 2, code = 31, at = "1m", job = "a" }, { "xid", gpu = 3, code = 31, at = "1m", job = "a" },
    { "xid", gpu = 0, code = 31, at = "9m", job = "b" }, { "xid", gpu = 1, code = 31, at = "9m", job = "b" },
    { "xid", gpu = 2, code = 31, at = "9m", job = "b" }, { "xid", gpu = 3, code = 31, at = "9m", job = "b" },
    { "xid", gpu = 0, code = 31, at = "19m", job = "c" }, { "xid", gpu = 1, code = 31, at = "19m", job = "c" },
    { "xid", gpu = 2, code = 31, at = "19m", job = "c" }, { "xid", gpu = 3, code = 31, at = "19m", job = "c" } } },
}
case "teardowns of three jobs" {
  scope = "cluster", gpus = 8,
  {
    lasting = "30m",
    events = {
      { "xid", gpu = 3, code = 45, at = "1m", job = "a" }, { "xid", gpu = 3, code = 43, at = "10m", job = "b" },
      { "xid", gpu = 3, code = 45, at = "20m", job = "c" },
    },
  },
}
case "errors on a node whose job nobody knows" {
  scope = "cluster", gpus = 8,
  { lasting = "30m", events = { { "xid", gpu = 3, code = 79, at = "1m" }, { "xid", gpu = 3, code = 79, at = "20m" } } },
}
case "two of four nodes of a rack brake" {
  scope = "cluster", gpus = 64, per_node = 8, per_rack = 4, sampled = "30s",
  { lasting = "5m", throttle_brake = ramp(0, 0) },
  { lasting = "10m", gpu = { [33] = { throttle_brake = ramp(0, 300) }, [41] = { throttle_brake = ramp(0, 240) } } },
  fires = { { "rack_power_brake", rack = 1, within = "8m" } },
}
case "all nodes of a rack brake, by the bits, and then no more" {
  scope = "cluster", gpus = 16, per_node = 4, per_rack = 2, sampled = "15s",
  { lasting = "5m", clock_event_reasons = 0 },
  { lasting = "5m", gpu = { [0] = { clock_event_reasons = 0x88 }, [5] = { clock_event_reasons = 0x80 } } },
  { lasting = "10m", clock_event_reasons = 4 },
  fires = { { "rack_power_brake", rack = 0, cause = "all" } },
  resolves = { { "rack_power_brake", rack = 0 } },
}
case "one node of each rack brakes" {
  scope = "cluster", gpus = 32, per_node = 4, per_rack = 4,
  {
    lasting = "10m", clock_event_reasons = 0,
    gpu = { [0] = { clock_event_reasons = 0x80 }, [16] = { clock_event_reasons = 0x80 } },
  },
}
case "nodes of no known rack" {
  scope = "cluster", gpus = 16, per_node = 4,
  { lasting = "10m", clock_event_reasons = 0x80 },
}
