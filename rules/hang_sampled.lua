-- Cases of hang.lua: what collectors sample seldom, and other numbers of ranks.

-- Collectors look every 15, 30 or 60 s, and at each node at another time.
case "a cold GPU, looked at every 15 s" {
  ranks = 8, per_node = 4, sampled = "15s",
  { lasting = "5m", phase = "train", step = steps(2), gr_engine_active = 1, sm_active = noise(0.9, 0.02) },
  { lasting = "3m", step = silent, sm_active = 0.1, rank = { [3] = { gr_engine_active = 0 } } },
  fires = { { "collective_hang", who = { 3 }, cause = "spinning", within = "90s" } },
}
case "a cold GPU, looked at every 60 s: the hang pages first" {
  ranks = 8, per_node = 4, sampled = "60s",
  { lasting = "10m", phase = "train", step = steps(2), gr_engine_active = 1, sm_active = noise(0.9, 0.02) },
  { lasting = "5m", step = silent, sm_active = 0.1, rank = { [3] = { gr_engine_active = 0 } } },
  fires = { { "stalled" }, { "collective_hang", who = { 3 }, cause = "spinning", within = "150s" } },
}
case "nothing but GPUs of two nodes, looked at every 30 s" {
  ranks = 16, per_node = 8, sampled = "30s",
  { lasting = "10m", gr_engine_active = noise(0.97, 0.01), gpu_power = noise(380, 20) },
  { lasting = "10m", gr_engine_active = 1, gpu_power = 90, rank = { [5] = { gr_engine_active = 0, gpu_power = 66 } } },
  fires = { { "collective_hang", who = { 5 }, within = "8m" } },
}
case "nothing but GPUs, and a save of four minutes" {
  ranks = 8, per_node = 4, sampled = "30s",
  { lasting = "10m", gr_engine_active = noise(0.97, 0.01), gpu_power = noise(380, 20) },
  { lasting = "4m", gr_engine_active = 1, gpu_power = 95, rank = { [0] = { gr_engine_active = 0, gpu_power = 70 } } },
  { lasting = "10m", gr_engine_active = noise(0.97, 0.01), gpu_power = noise(380, 20) },
}
case "counts, looked at every 60 s: only those behind are named" {
  ranks = 8, per_node = 4, sampled = "60s",
  {
    lasting = "10m", phase = "train", step = steps(0.5), collective_launched = ramp(0, 30000),
    collective_done = ramp(0, 30000),
  },
  {
    lasting = "5m", step = silent, collective_launched = 30001, collective_done = 30000,
    rank = { [2] = { collective_launched = 30000 } },
  },
  fires = { { "stalled" }, { "collective_hang", who = { 2 }, cause = "outside", within = "150s" } },
}
case "states of processes, looked at every 30 s" {
  ranks = 8, per_node = 4, sampled = "30s",
  { lasting = "5m", phase = "train", step = steps(0.5), process_state = "sleeping", process_cpu = 0.9 },
  { lasting = "4m", step = silent, process_cpu = 0, rank = { [6] = { process_state = "stopped" } } },
  fires = { { "rank_stopped", who = { 6 }, within = "90s" } },
}
case "two ranks" {
  ranks = 2,
  {
    lasting = "90s", phase = "train", step = steps(1), collective_launched = ramp(0, 300),
    collective_done = ramp(0, 300),
  },
  {
    lasting = "70s", step = silent, collective_launched = 301, collective_done = 300,
    rank = { [1] = { collective_launched = 300 } },
  },
  fires = { { "collective_hang", who = { 1 }, within = "60s" } },
}
case "512 ranks" {
  ranks = 512,
  {
    lasting = "60s", phase = "train", step = steps(2), collective_launched = ramp(0, 300),
    collective_done = ramp(0, 300),
  },
  {
    lasting = "60s", step = silent, collective_launched = 301, collective_done = 300,
    rank = { [407] = { collective_launched = 300 } },
  },
  fires = { { "collective_hang", who = { 407 }, within = "60s" } },
}
case "steps of 0.05 s" {
  ranks = 2, { lasting = "30s", phase = "train", step = steps(0.05), process_cpu = 0.9 },
  { lasting = "60s", step = silent, process_cpu = 0 }, fires = { { "stalled", within = "50s" } },
}
case "steps of two minutes" {
  ranks = 2, { lasting = "3h", phase = "train", step = steps(120) }, { lasting = "33m", step = silent },
  fires = { { "log_silent", within = "31m" } },
}
