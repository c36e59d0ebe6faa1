-- Cases of hang.lua; what collectors sample seldom is in hang_sampled.lua.

case "a rank is stopped, the others wait for it in a collective" {
  ranks = 4,
  { lasting = "1m", phase = "train", step = steps(0.2), collective_launched = ramp(0, 300),
    collective_done = ramp(0, 300), process_state = "sleeping", process_cpu = 0.3 },
  { lasting = "1m", step = silent, collective_launched = 301, collective_done = 300, process_cpu = 0,
    rank = { [2] = { collective_launched = 300, process_state = "stopped" } } },
  fires = { { "rank_stopped", who = { 2 }, within = "15s" } },
}
case "a rank is stuck outside the collective, with steps of 30 s" {
  ranks = 4,
  {
    lasting = "1h", phase = "train", step = steps(30), collective_launched = ramp(0, 9000),
    collective_done = ramp(0, 9000),
  },
  {
    lasting = "4m", step = silent, collective_launched = 9001, collective_done = 9000,
    rank = { [1] = { collective_launched = 9000 } },
  },
  fires = { { "collective_hang", who = { 1 }, cause = "outside", within = "150s" } },
}
case "one rank stuck in a smaller group holds up the ranks that wait for it and those that wait for them" {
  ranks = 4,
  {
    lasting = "1m", phase = "train", step = steps(0.5), collective_launched = ramp(0, 300),
    collective_done = ramp(0, 300),
  },
  { lasting = "1m", step = silent, collective_launched = 305, collective_done = 300,
    rank = { [2] = { collective_launched = 301 }, [3] = { collective_launched = 300 } } },
  fires = { { "collective_hang", who = { 3 } } },
}
case "all ranks wait in the same collective: no rank is named" {
  ranks = 4,
  {
    lasting = "1m", phase = "train", step = steps(0.5), collective_launched = ramp(0, 300),
    collective_done = ramp(0, 300),
  },
  { lasting = "1m", step = silent, collective_launched = 301, collective_done = 300 },
  fires = { { "collective_hang", cause = "fabric" } },
}
case "no counts: the rank that does not sleep in a futex is the one" {
  ranks = 4,
  {
    lasting = "1m", phase = "train", step = steps(0.2), process_state = "sleeping", process_cpu = 0.3,
    wait_channel = "hrtimer_nanosleep",
  },
  {
    lasting = "1m", step = silent, process_cpu = 0, wait_channel = "futex_do_wait",
    rank = { [1] = { wait_channel = "wait_for_partner" } },
  },
  fires = { { "collective_hang", who = { 1 }, cause = "elsewhere", within = "50s" } },
}
case "no counts, no wait: a stopped rank" {
  ranks = 4,
  { lasting = "1m", phase = "train", step = steps(0.2), process_state = "sleeping", process_cpu = 0.3 },
  { lasting = "1m", step = silent, process_cpu = 0, rank = { [0] = { process_state = "stopped" } } },
  fires = { { "rank_stopped", who = { 0 }, within = "15s" } },
}
case "rank 3's GPU goes cold, the rest spin" {
  ranks = 8, per_node = 4,
  { lasting = "5m", phase = "train", step = steps(2), gr_engine_active = 1, sm_active = noise(0.9, 0.02) },
  { lasting = "2m", step = silent, sm_active = 0.1, rank = { [3] = { gr_engine_active = 0 } } },
  fires = { { "collective_hang", who = { 3 }, cause = "spinning", within = "90s" } },
}
case "nothing but GPUs: one is cold, seven spin at the power of an idle one" {
  ranks = 8,
  { lasting = "7m", gr_engine_active = 1, gpu_power = 86, rank = { [0] = { gr_engine_active = 0, gpu_power = 68 } } },
  fires = { { "collective_hang", who = { 0 } } },
}
case "nothing but GPUs: one is not used, seven work" {
  ranks = 8,
  { lasting = "5m", gr_engine_active = 1, gpu_power = 380, rank = { [0] = { gr_engine_active = 0, gpu_power = 68 } } },
}
case "a save hangs: rank 0 is stuck in it" {
  ranks = 4,
  {
    lasting = "1m", phase = "train", step = steps(0.2), collective_launched = ramp(0, 300),
    collective_done = ramp(0, 300),
  },
  { lasting = "100s", phase = "checkpoint", step = silent, collective_launched = 301, collective_done = 300,
    rank = { [0] = { collective_launched = 300 } } },
  fires = { { "collective_hang", who = { 0 }, within = "80s" } },
}
case "rank 0 writes a checkpoint to slow storage for a minute, and the others wait in a barrier" {
  ranks = 4,
  {
    lasting = "1m", phase = "train", step = steps(0.2), collective_launched = ramp(0, 300),
    collective_done = ramp(0, 300), process_state = "sleeping", process_cpu = 0.3,
  },
  {
    lasting = "1m", step = silent, process_cpu = 0.04, wait_syscall = "futex", collective_launched = 301,
    collective_done = 300, rank = { [0] = { collective_launched = 300, wait_syscall = "write" } },
  },
  { lasting = "1m", step = steps(0.2), process_cpu = 0.3, collective_launched = ramp(301, 600),
    collective_done = ramp(301, 600) },
}
case "a save that takes its time" {
  ranks = 4,
  {
    lasting = "2m", phase = "train", step = steps(5), collective_launched = ramp(0, 300),
    collective_done = ramp(0, 300),
  },
  { lasting = "4m", phase = "checkpoint", step = silent, collective_launched = 301, collective_done = 300 },
  {
    lasting = "1m", phase = "train", step = steps(5), collective_launched = ramp(301, 400),
    collective_done = ramp(300, 400),
  },
}
case "an evaluation of three minutes, with steps of 4 s" {
  ranks = 4,
  { lasting = "2m", phase = "train", step = steps(4) }, { lasting = "3m", phase = "eval", step = silent },
  { lasting = "1m", phase = "train", step = steps(4) },
}
case "steps of a quarter of an hour" {
  ranks = 1, { lasting = "5h", phase = "train", step = steps(900) },
}
case "every rank waits for a lock outside of collectives" {
  ranks = 4,
  { lasting = "1m", phase = "train", step = steps(0.2), collective_launched = ramp(0, 300),
    collective_done = ramp(0, 300), process_state = "sleeping", process_cpu = 0.3 },
  { lasting = "1m", step = silent, collective_launched = 300, collective_done = 300, process_cpu = 0 },
  fires = { { "idle_hang", cause = "host", within = "50s" } },
}
case "no counts: all ranks sleep, none of them in a futex" {
  ranks = 4,
  {
    lasting = "1m", phase = "train", step = steps(0.2), process_state = "sleeping", process_cpu = 0.3,
    wait_channel = "hrtimer_nanosleep",
  },
  { lasting = "1m", step = silent, process_cpu = 0, wait_channel = "locks_lock_inode_wait" },
  fires = { { "idle_hang", within = "50s" } },
}
case "a hiccup of 20 s" {
  ranks = 4,
  { lasting = "1m", phase = "train", step = steps(0.2) }, { lasting = "20s", step = silent },
  { lasting = "1m", step = steps(0.2) },
}
case "a slow network: steps stop, the counts go on" {
  ranks = 4,
  {
    lasting = "2m", phase = "train", step = steps(1), collective_launched = ramp(0, 3000),
    collective_done = ramp(0, 3000),
  },
  { lasting = "2m", step = silent, collective_launched = ramp(3000, 3100), collective_done = ramp(2999, 3099) },
}
case "nothing but the log" {
  ranks = 8, { lasting = "5m", phase = "train", step = steps(2) }, { lasting = "33m", step = silent },
  fires = { { "log_silent", cause = "log", within = "31m" } },
}
case "a hang that ends" {
  ranks = 2,
  { lasting = "2m", phase = "train", step = steps(1), process_cpu = 0.3 },
  { lasting = "90s", step = silent, process_cpu = 0 }, { lasting = "2m", step = steps(1), process_cpu = 0.3 },
  fires = { { "stalled" } }, resolves = { { "stalled" } },
}
case "a table of idle GPUs before the first step, and a save of a minute" {
  ranks = 1,
  { lasting = "10s", phase = "starting", gr_engine_active = 0 },
  { lasting = "2m", phase = "train", step = steps(0.5), gr_engine_active = silent }, { lasting = "60s", step = silent },
  { lasting = "1m", step = steps(0.5) },
}
case "a run is appended to another's log, and prints one table of idle GPUs before it begins" {
  ranks = 1,
  { lasting = "2m", phase = "train", step = steps(0.5) }, { lasting = "10s", step = silent },
  { lasting = "1s", gr_engine_active = 0 }, { lasting = "60s", gr_engine_active = silent },
}
case "a table of idle GPUs that a person prints during a hang" {
  ranks = 1,
  { lasting = "2m", phase = "train", step = steps(0.5) }, { lasting = "40s", step = silent },
  { lasting = "3m", gr_engine_active = 0 },
  fires = { { "idle_hang", within = "2m" } },
}
