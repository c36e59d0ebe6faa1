-- A hang that lasts until the time limit, and a log whose progress is not recognized. The cases are pauses of healthy
-- jobs.

local hangs = shared "hangs"

rule "stalled_at_limit" {
  family = "C", severity = "critical", per = "job", every = "end",
  summary = "Hung until the scheduler's time limit",
  needs = {
    saved    = signal "checkpoint_saved" { over = "attempt" },
    ended = signal "end_reason" { over = "attempt" },
    limit = signal "time_limit" { over = "attempt" },
    step  = signal "step"       { over = "attempt" },
    gaps  = signal "step_gap"   { over = "attempt", least = 8 },
    done  = signal "training_ended" { over = "attempt" },
  },
  -- A job that reaches its limit during a validation or a save stepped a moment before. A hang is longer than twice
  -- any pause that ended.
  params = { least = "4m", times = 2 },
  yields_to = hangs.or_collective {
    "stalled", "rendezvous_hang", "idle_hang", "collective_timeout", "rank_killed", "node_down",
  },
  shows = "no step for {age} when the time limit was reached; the longest pause before was {longest}",
  actions = { otherwise = {
    "find out why it hung before it is queued again, then resume from checkpoint {saved:.0f}",
    "find out why it hung before it is queued again; a longer time limit does not help",
  } },
  evaluate = function(job, p)
    local timed   = job.ended:last():is("timeout"):surely() | job.limit:seen()
    local age     = job.step:age():min("job")
    local longest = job.gaps:max():max("job")
    return timed & age:above(greatest(p.times * longest, p.least)) & ~job.done:seen(),
         { age = age, longest = longest, saved = job.saved:last("step") }
  end,
}

rule "progress_not_understood" {
  severity = "info", per = "job", every = "30s",
  summary = "Log format not recognized: no step or loss found",
  needs = {
    step  = signal "step" { over = "attempt" },
    loss  = signal "loss" { over = "attempt" },
    alive = signal "any"  { over = "attempt" },  -- any record: a log line or a sample
  },
  -- Loading a model and compiling it may take minutes.
  params = { active_at_least = "15m" },
  shows = "active for {active}, no step or loss recognized; hangs are detected from processes and GPUs alone",
  actions = { otherwise = "add a parser for this log format (docs/rules.md), or print lines such as 'step 12 loss "
    .. "3.4'" },
  evaluate = function(job, p)
    local active = job:age() - job.alive:age():min("job")   -- from the start to the newest record
    local never  = job.step:count():max("job"):is(0) & ~job.loss:seen()
    return never & active:above(p.active_at_least), { active = active }
  end,
}

-- ---- cases --------------------------------------------------------------------------------------

case "steps of 0.5 s, and pauses of 40, 90 and 300 s without a line" {
  ranks = 1,
  { lasting = "3m", phase = "train", step = steps(0.5, 1) }, { lasting = "40s", step = silent },
  { lasting = "3m", step = steps(0.5, 400) }, { lasting = "90s", step = silent },
  { lasting = "3m", step = steps(0.5, 900) }, { lasting = "300s", step = silent },
  { lasting = "3m", step = steps(0.5, 1400) },
}
case "a first pause of twelve minutes, before anything is known of the run's habits" {
  ranks = 4, { lasting = "1m", phase = "train", step = steps(0.5, 1) }, { lasting = "12m", step = silent },
  { lasting = "1m", step = steps(0.5, 130) },
}
case "all ranks validate for two minutes: they compute, and no step is made" {
  ranks = 4,
  {
    lasting = "2m", phase = "train", step = steps(0.5), process_cpu = noise(1, 0.05),
    collective_launched = ramp(0, 300), collective_done = ramp(0, 300),
  },
  { lasting = "2m", step = silent, process_cpu = noise(1, 0.05), collective_launched = 300, collective_done = 300 },
  {
    lasting = "1m", step = steps(0.5, 250), process_cpu = noise(1, 0.05), collective_launched = ramp(301, 400),
    collective_done = ramp(301, 400),
  },
}
case "rank 0 validates for two minutes, the others wait for it" {
  ranks = 4,
  {
    lasting = "2m", phase = "train", step = steps(0.5), process_cpu = noise(1, 0.05),
    collective_launched = ramp(0, 300), collective_done = ramp(0, 300),
  },
  {
    lasting = "2m", step = silent, process_cpu = noise(0.01, 0.002), collective_launched = 301, collective_done = 300,
    rank = { [0] = { process_cpu = noise(1, 0.05), collective_launched = 300 } },
  },
  {
    lasting = "1m", step = steps(0.5, 250), process_cpu = noise(1, 0.05), collective_launched = ramp(302, 400),
    collective_done = ramp(302, 400),
  },
}
case "rank 0 validates for a minute, with little of a processor, and yet more than in its steps" {
  ranks = 4,
  {
    lasting = "2m", phase = "train", step = steps(0.5), process_cpu = noise(0.05, 0.005),
    collective_launched = ramp(0, 300), collective_done = ramp(0, 300),
  },
  {
    lasting = "1m", step = silent, process_cpu = 0, collective_launched = 301, collective_done = 300,
    rank = { [0] = { process_cpu = noise(0.17, 0.01), collective_launched = 300 } },
  },
  {
    lasting = "1m", step = steps(0.5, 250), process_cpu = noise(0.05, 0.005), collective_launched = ramp(302, 400),
    collective_done = ramp(302, 400),
  },
}
case "the GPUs rest while one process prepares data" {
  ranks = 4,
  { lasting = "2m", phase = "train", step = steps(0.5), process_cpu = 1, gr_engine_active = 0.95 },
  { lasting = "90s", step = silent, gr_engine_active = 0, process_cpu = 1 },
  { lasting = "1m", step = steps(0.5, 250), gr_engine_active = 0.95 },
}
case "pauses of 80 s between epochs, with idle processes: the second one is known" {
  ranks = 2,
  { lasting = "2m", phase = "train", step = steps(0.5, 1), process_cpu = 0.8 },
  { lasting = "80s", step = silent, process_cpu = 0 },
  { lasting = "2m", step = steps(0.5, 300), process_cpu = 0.8 }, { lasting = "100s", step = silent, process_cpu = 0 },
  { lasting = "1m", step = steps(0.5, 600), process_cpu = 0.8 },
  fires = { { "stalled" } }, resolves = { { "stalled" } },
}
case "a bar shows its last step 20 s late: that is not a pause that ended" {
  ranks = 1,
  { lasting = "1m", phase = "train", step = steps(0.1, 1), process_cpu = 0.9 },
  { lasting = "20s", step = silent, process_cpu = 0 },
  { lasting = "1s", step = 700 }, { lasting = "60s", step = silent },
  fires = { { "stalled", within = "60s" } },
}
case "steps stop, and lines that nobody understands go on for a quarter of an hour" {
  ranks = 1, { lasting = "3m", phase = "train", step = steps(0.5, 1), process_rss = 1e9 },
  { lasting = "15m", step = silent }, { lasting = "1m", step = steps(0.5, 400) },
}
case "a log that never shows a step and goes on for an hour" {
  ranks = 2, { lasting = "30s", phase = "starting", rendezvous = "joined" }, { lasting = "1h", process_rss = 1e9 },
  fires = { { "progress_not_understood" } },
}
case "a log that shows no step, and another line every quarter of an hour" {
  ranks = 1, { lasting = "30s", phase = "starting", rendezvous = "joined" },
  { lasting = "2h", phase = silent, rendezvous = silent, events = { {
    "nccl_sockets", rank = 0, at = "14m",
  }, { "nccl_sockets", rank = 0, at = "29m" }, { "nccl_sockets", rank = 0, at = "44m" },
    { "nccl_sockets", rank = 0, at = "60m" }, { "nccl_sockets", rank = 0, at = "75m" },
    { "nccl_sockets", rank = 0, at = "90m" }, { "nccl_sockets", rank = 0, at = "105m" } } },
  fires = { { "progress_not_understood" } },
}
case "a log without a line after its begin" {
  ranks = 2, { lasting = "30s", phase = "starting" }, { lasting = "40m", phase = silent }, fires = { { "log_silent" } },
}
case "processes work for minutes and nothing of it is understood; then they rest for two" {
  ranks = 2, { lasting = "10m", phase = "starting", process_cpu = 0.9 }, { lasting = "2m", process_cpu = 0 },
  { lasting = "5m", process_cpu = 0.9 },
  fires = { { "progress_not_understood" } },
}
case "processes that never worked rest" {
  ranks = 2, { lasting = "15s", phase = "starting", process_cpu = 0.9 }, { lasting = "3m", process_cpu = 0 },
  fires = { { "rendezvous_hang", cause = "init" } },
}
case "the time is up in a validation" {
  ranks = 1, { lasting = "5m", phase = "train", step = steps(0.5) },
  { lasting = "3m", step = silent, ends = "timeout" }, fires = { { "time_limit" } },
}
case "a rank computes without end, and the others wait for it" {
  ranks = 4,
  {
    lasting = "2m", phase = "train", step = steps(0.5), process_cpu = noise(1, 0.05),
    collective_launched = ramp(0, 300), collective_done = ramp(0, 300),
  },
  {
    lasting = "7m", step = silent, process_cpu = noise(0.01, 0.002), collective_launched = 301, collective_done = 300,
    rank = { [2] = { process_cpu = noise(1, 0.05), collective_launched = 300 } },
  },
  fires = { { "collective_hang", who = { 2 }, cause = "outside", within = "6m" } },
}
case "one process, and it is stopped" {
  ranks = 1, { lasting = "2m", phase = "train", step = steps(0.5), process_state = "sleeping", process_cpu = 0.9 },
  { lasting = "50s", step = silent, process_state = "stopped", process_cpu = 0 },
  fires = { { "job_stopped", within = "15s" } },
}
case "the others spin while one is stopped" {
  ranks = 4, { lasting = "2m", phase = "train", step = steps(0.5), process_state = "running", process_cpu = 1 },
  { lasting = "50s", step = silent, rank = { [2] = { process_state = "stopped", process_cpu = 0 } } },
  fires = { { "rank_stopped", who = { 2 }, within = "15s" } },
}
case "a busy host: processes want to run, and get next to nothing for minutes" {
  ranks = 2, { lasting = "4m", phase = "starting", process_state = "running", process_cpu = 0.01 },
  { lasting = "2m", phase = "train", step = steps(1), process_cpu = 0.03 },
  { lasting = "2m", step = silent, process_cpu = 0.02 }, { lasting = "1m", step = steps(1, 200), process_cpu = 0.03 },
}
case "ranks wait for loaders that take minutes to start" {
  ranks = 2,
  { lasting = "4m", phase = "starting", process_state = "sleeping", process_cpu = 0.005, children_cpu = 0.4 },
  { lasting = "1m", phase = "train", step = steps(1), process_cpu = 0.5 },
}
case "the training is finished, and its processes take two minutes to go" {
  ranks = 2,
  { lasting = "2m", phase = "train", step = steps(0.5), process_state = "sleeping", process_cpu = noise(1, 0.05) },
  { lasting = "2m", step = silent, process_cpu = 0, events = { { "training_over", at = "1s" } }, ends = "completed" },
}
case "the training is finished, and its processes never go" {
  ranks = 2,
  { lasting = "2m", phase = "train", step = steps(0.5), process_state = "sleeping", process_cpu = noise(1, 0.05) },
  { lasting = "15m", step = silent, process_cpu = 0, events = { { "training_over", at = "1s" } } },
  fires = { { "stalled" } },
}
case "an epoch says that training is finished, and the next one stands still" {
  ranks = 2,
  {
    lasting = "2m", phase = "train", step = steps(0.5), process_state = "sleeping", process_cpu = noise(1, 0.05),
    events = { { "training_over", at = "60s" } },
  },
  { lasting = "2m", step = silent, process_cpu = 0 },
  fires = { { "stalled" } },
}
case "an evaluation that the log announces, of twenty minutes" {
  ranks = 1, { lasting = "3m", phase = "train", step = steps(0.5, 1) },
  { lasting = "20m", phase = "eval", step = silent }, { lasting = "1m", phase = "train", step = steps(0.5, 400) },
}
case "an evaluation whose lines go on, in which the processes rest" {
  ranks = 2, { lasting = "2m", phase = "train", step = steps(0.5), process_cpu = 0.9 },
  { lasting = "5m", phase = "eval", step = silent, process_cpu = 0, wait_syscall = "clock_nanosleep" },
  { lasting = "1m", phase = "train", step = steps(0.5, 250), process_cpu = 0.9 },
}
case "the lines of an evaluation stop, and the processes rest" {
  ranks = 2, { lasting = "2m", phase = "train", step = steps(0.5), process_cpu = 0.9 },
  { lasting = "1m", phase = "eval", step = silent, process_cpu = 0.9 },
  { lasting = "3m", phase = silent, process_cpu = 0, wait_syscall = "clock_nanosleep" },
  fires = { { "idle_hang", within = "2m" } },
}
case "a program that evaluates and never trains, in which the processes rest" {
  ranks = 2, { lasting = "10s", phase = "starting", process_cpu = 0 },
  { lasting = "5m", phase = "eval", process_cpu = 0, wait_syscall = "clock_nanosleep" },
}
case "a log that shows no step, but that it trains and evaluates by turns" {
  ranks = 1, { lasting = "50m", phase = "train" }, { lasting = "10m", phase = "eval" },
  { lasting = "50m", phase = "train" }, { lasting = "10m", phase = "eval", ends = "completed" },
}
case "a log whose last word is that the training is finished" {
  ranks = 1, { lasting = "5m", phase = "train", step = steps(0.5, 1) },
  { lasting = "2h", phase = silent, step = silent, events = { { "training_over", at = "1s" } } },
}
case "by its own count nothing is left, and no line comes after that" {
  ranks = 1, { lasting = "5m", phase = "train", step = steps(0.5, 1) },
  { lasting = "2h", phase = silent, step = silent, events = { { "training_due", at = "1s" } } },
}
case "by its own count nothing was left, and the run that begins after it stands still" {
  ranks = 1, { lasting = "5m", phase = "train", step = steps(0.5, 1), events = { { "training_due", at = "299s" } } },
  { lasting = "2m", step = steps(0.5, 1) }, { lasting = "33m", step = silent },
  fires = { { "log_silent" } },
}
case "a validation of twenty minutes that prints nothing" {
  ranks = 1, { lasting = "50m", phase = "train", step = steps(10, 1) }, { lasting = "20m", step = silent },
  { lasting = "5m", step = steps(10, 302) },
}
case "a log that shows a loss every eighty minutes, and the first after as long" {
  ranks = 1, { lasting = "80m", phase = "train" }, { lasting = "1s", loss = 2 }, { lasting = "80m", loss = silent },
  { lasting = "1s", loss = 1.5 }, { lasting = "80m", loss = silent },
  { lasting = "1s", loss = 1.2 },
}
case "a log that shows losses alone, with pauses that grow" {
  ranks = 1, { lasting = "1s", phase = "train", loss = 2 }, { lasting = "50m", loss = silent },
  { lasting = "5m", loss = ramp(1.9, 1.8) }, { lasting = "90m", loss = silent },
  { lasting = "5m", loss = ramp(1.7, 1.6) },
}
case "a log that shows losses alone stands still" {
  ranks = 1, { lasting = "10m", phase = "train", loss = ramp(2, 1) }, { lasting = "70m", loss = silent },
  fires = { { "log_silent" } },
}
case "a log that shows losses alone, and whose last word is that the training is finished" {
  ranks = 1, { lasting = "10m", phase = "train", loss = ramp(2, 1) },
  { lasting = "70m", loss = silent, events = { { "training_over", at = "1s" } } },
}
case "a log that shows losses alone, and whose run after the one that is finished stands still" {
  ranks = 1, { lasting = "10m", phase = "train", loss = ramp(2, 1) },
  { lasting = "5m", loss = silent, events = { { "training_over", at = "1s" } } },
  { lasting = "10m", loss = ramp(2, 1) }, { lasting = "70m", loss = silent }, fires = { { "log_silent" } },
}
case "three losses, and hours until the next" {
  ranks = 1, { lasting = "1s", phase = "train", loss = 2 }, { lasting = "10m", loss = silent },
  { lasting = "1s", loss = 1.5 }, { lasting = "5h", loss = silent }, { lasting = "1s", loss = 1.2 },
}
case "a run ends without a word, and another one in the same log prepares for twelve minutes" {
  ranks = 1, { lasting = "2m", phase = "train", step = steps(0.5) }, { lasting = "14m", step = silent },
  { lasting = "12m", events = { { "run_started", at = "1s" } } }, { lasting = "2m", step = steps(0.5) },
}
case "a run ends without a word, and the next one in the same log never makes a step" {
  ranks = 1, { lasting = "2m", phase = "train", step = steps(0.5) }, { lasting = "3m", step = silent },
  { lasting = "33m", events = { { "run_started", at = "1s" } } },
  fires = { { "log_silent" } },
}
