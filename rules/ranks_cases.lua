-- Cases of ranks.lua; slow loaders of the rule `straggler` are in straggler_cases.lua.

case "a look at a GPU shows that heat slows it down" {
  ranks = 2,
  {
    lasting = "3m", phase = "train", step = steps(1),
    events = { { "throttle_reported", reason = "HW Thermal Slowdown", at = "1m" } },
  },
  fires = { { "throttle_in_log" } },
}
case "one of two ranks computes longer by half" {
  ranks = 2,
  {
    lasting = "90s", phase = "train", step = steps(2), compute_time = noise(1.7, 0.03),
    rank = { [1] = { compute_time = noise(2.6, 0.03) } },
  },
  fires = { { "straggler", rank = 1 } },
}
case "one rank of four computes twice as long from its birth" {
  ranks = 4,
  {
    lasting = "2m", phase = "train", step = steps(0.22), compute_time = noise(0.105, 0.003), data_time = 0.003,
    rank = { [3] = { compute_time = noise(0.21, 0.004) } },
  },
  fires = { { "straggler", rank = 3, cause = "compute", within = "90s" } },
}
case "one rank becomes slower by half" {
  ranks = 4,
  { lasting = "2m", phase = "train", step = steps(0.12), compute_time = noise(0.105, 0.003), data_time = 0.003 },
  { lasting = "2m", step = steps(0.16), rank = { [1] = { compute_time = noise(0.157, 0.003) } } },
  fires = { { "straggler", rank = 1, cause = "compute", within = "90s" } },
}
case "one rank's data loader is slow" {
  ranks = 4,
  {
    lasting = "2m", phase = "train", step = steps(0.12), compute_time = noise(0.1, 0.003),
    data_time = noise(0.003, 0.0005),
  },
  { lasting = "2m", step = steps(0.2), rank = { [2] = { data_time = noise(0.09, 0.01) } } },
  fires = { { "straggler", rank = 2, cause = "loader", within = "90s" } },
}
case "a slow rank by the activity of its GPU, and its clock" {
  ranks = 8,
  { lasting = "20m", sm_active = noise(0.16, 0.005), sm_clock = 1700 },
  { lasting = "3m", rank = { [3] = { sm_active = 0.55, sm_clock = 1200 } } },
  fires = { { "straggler", rank = 3, cause = "throttled", within = "2m" } },
}
case "a rank that pauses for a moment in every fourth step" {
  ranks = 4,
  {
    lasting = "3m", phase = "train", step = steps(0.2), compute_time = noise(0.105, 0.003),
    rank = { [2] = { compute_time = noise(0.16, 0.09) } },
  },
  fires = { { "straggler", rank = 2 } },
}
case "steps of 30 s" {
  ranks = 4,
  {
    lasting = "1h", phase = "train", step = steps(30), compute_time = noise(25, 0.5),
    rank = { [0] = { compute_time = noise(40, 0.5) } },
  },
  fires = { { "straggler", rank = 0 } },
}
case "uneven computing that hides in the wait for data" {
  ranks = 4,
  {
    lasting = "3m", phase = "train", step = steps(0.9), compute_time = noise(0.112, 0.003),
    data_time = noise(0.78, 0.01),
    rank = { [2] = { compute_time = noise(0.132, 0.003), data_time = noise(0.76, 0.01) } },
  },
  fires = { { "data_starved" } },
}
case "all ranks slow down together" {
  ranks = 4,
  { lasting = "2m", phase = "train", step = steps(0.12), compute_time = noise(0.105, 0.003) },
  { lasting = "2m", step = steps(0.3), compute_time = noise(0.28, 0.005) },
}
case "a rank is busy elsewhere for 10 s" {
  ranks = 4,
  { lasting = "2m", phase = "train", step = steps(0.12), compute_time = noise(0.105, 0.003) },
  { lasting = "10s", step = steps(0.2), rank = { [1] = { compute_time = 0.19 } } },
  { lasting = "1m", step = steps(0.12), compute_time = noise(0.105, 0.003) },
}
case "a hot GPU" {
  ranks = 8,
  {
    lasting = "5m", throttle_thermal = ramp(0, 0), throttle_brake = ramp(0, 0), sm_clock = 1700,
    gpu = { [2] = { throttle_thermal = ramp(0, 150), sm_clock = 900 } },
  },
  fires = { { "throttle", gpu = 2, cause = "heat" } },
}
case "a power cap: every GPU at its limit, and that is all" {
  ranks = 8, { lasting = "5m", clock_event_reasons = 4, sm_clock = 1500 },
}
case "a GPU has fallen off the bus" {
  ranks = 8, { lasting = "2m", events = { { "xid", gpu = 5, code = 79, at = "30s" } } },
  fires = { { "gpu_error", gpu = 5, cause = "bus" } },
}
case "XID 154 asks for a reset" {
  ranks = 8, { lasting = "2m", events = { { "xid", gpu = 1, code = 154, recovery = 1, at = "30s" } } },
  fires = { { "gpu_error", gpu = 1 } },
}
case "XID 154 asks for nothing, 43 and 45 come at a teardown" {
  ranks = 8,
  {
    lasting = "2m",
    events = {
      { "xid", gpu = 1, code = 154, recovery = 0, at = "30s" }, { "xid", gpu = 1, code = 43, at = "31s" },
      { "xid", gpu = 1, code = 45, at = "31s" },
    },
  },
}
case "a channel ended, and so did the job" {
  ranks = 8, { lasting = "2m", events = { { "xid", gpu = 3, code = 43, at = "100s" } }, ends = "failed" },
  fires = { { "gpu_channel_ended", gpu = 3 } },
}
case "the channel of another program is ended, and the steps go on" {
  ranks = 8,
  {
    lasting = "2m", phase = "train", step = steps(1), events = { { "xid", gpu = 3, code = 43, at = "30s" } },
    ends = "unknown",
  },
}
case "a channel is ended at the teardown of a job that ends well" {
  ranks = 8, { lasting = "2m", events = { { "xid", gpu = 3, code = 45, at = "119s" } }, ends = "completed" },
}
case "an illegal address" {
  ranks = 8, { lasting = "2m", events = { { "xid", gpu = 1, code = 31, at = "30s" } } },
  fires = { { "gpu_fault", gpu = 1, cause = "software" } },
}
case "a latent remap failure is not a verdict" {
  ranks = 4, { lasting = "2m", row_remap_failure = 0, gpu = { [1] = { row_remap_failure = 1 } } },
}

-- Every 15 or 60 s, as exporters are looked at; and other numbers of ranks.
case "a slow rank by the activity of its GPU, looked at every 60 s" {
  ranks = 16, per_node = 8, sampled = "60s",
  { lasting = "30m", sm_active = noise(0.45, 0.01), sm_clock = 1700 },
  { lasting = "8m", rank = { [3] = { sm_active = noise(0.62, 0.01), sm_clock = 1300 } } },
  fires = { { "straggler", rank = 3, cause = "throttled", within = "5m" } },
}
case "a hot GPU, looked at every 60 s" {
  ranks = 8, sampled = "60s",
  { lasting = "10m", throttle_thermal = ramp(0, 0), throttle_brake = ramp(0, 0), sm_clock = 1700 },
  { lasting = "8m", gpu = { [2] = { throttle_thermal = ramp(0, 240), sm_clock = 900 } } },
  fires = { { "throttle", gpu = 2, cause = "heat", within = "5m" } },
}
case "a hot GPU by the bits alone, looked at every 30 s" {
  ranks = 8, sampled = "30s",
  { lasting = "10m", clock_event_reasons = 4, sm_clock = 1700 },
  { lasting = "8m", gpu = { [2] = { clock_event_reasons = 0x44, sm_clock = 900 } } },
  fires = { { "throttle", gpu = 2, cause = "heat", within = "6m" } },
}
case "two of four ranks are slower by more than half" {
  ranks = 4, { lasting = "2m", phase = "train", step = steps(0.35), compute_time = noise(0.2, 0.006),
               rank = { [1] = { compute_time = noise(0.32, 0.008) }, [2] = { compute_time = noise(0.33, 0.008) } } },
  fires = { { "straggler", rank = 1, cause = "compute" }, { "straggler", rank = 2, cause = "compute" } },
}
case "the last two of four stages have a quarter more to do" {
  ranks = 4, { lasting = "2m", phase = "train", step = steps(0.3), compute_time = noise(0.2, 0.004),
               rank = { [2] = { compute_time = noise(0.25, 0.004) }, [3] = { compute_time = noise(0.25, 0.004) } } },
}
case "one of two ranks computes longer by a tenth" {
  ranks = 2,
  {
    lasting = "3m", phase = "train", step = steps(2), compute_time = noise(1.7, 0.03),
    rank = { [0] = { compute_time = noise(1.9, 0.03) } },
  },
}
case "one of 256" {
  ranks = 256,
  {
    lasting = "80s", phase = "train", step = steps(2), compute_time = noise(1.7, 0.03),
    rank = { [201] = { compute_time = noise(2.3, 0.03) } },
  },
  fires = { { "straggler", rank = 201 } },
}
case "three of 64 ranks become a third slower, as those of one node do" {
  ranks = 64, per_node = 8,
  { lasting = "20m", step = steps(1), step_time = 1, compute_time = noise(0.8, 0.02) },
  {
    lasting = "3m", step = steps(1.2), step_time = 1.2,
    rank = {
      [8] = { compute_time = noise(1.06, 0.02) }, [9] = { compute_time = noise(1.06, 0.02) },
      [10] = { compute_time = noise(1.06, 0.02) },
    },
  },
  fires = { { "straggler", rank = 8 }, { "straggler", rank = 9 }, { "straggler", rank = 10 } },
}
