-- D3 without a line of the job's own: who never waits while the others do is the one that they wait for.

-- The time between steps from which on they pause, and whether they go on.
local function longest_gap(job, p) return (p.still * job.gap:median():max("job")):clamp(p.save) end
local function go_on(job, p) return job.step:age():min("job"):below(longest_gap(job, p)) end

-- A pause is felt for as long as the window of the rule below: it clears after six evaluations.
rule "steps_paused" {
  severity = "none", per = "job", every = "5s",
  summary = "Steps pause, or did so a moment ago",
  needs = { gap = signal "step_gap" { over = 64, least = 8 }, step = signal "step" { over = "attempt" } },
  params = { still = 6, save = "5s" }, clear = "6 of 6",
  evaluate = function(job, p) return (~go_on(job, p)):surely() end,
}

rule "straggler_by_waits" {
  family = "D3", severity = "warning", per = "rank", every = "5s",
  summary = "Straggler: the other ranks wait for this one in every step",
  needs = {
    paused = finding "steps_paused",
    share  = signal "wait_share"         { over = "30s" },
    pid    = signal "process_pid"        { over = "attempt", least = 1 },
    state  = signal "process_state"      { over = "attempt" },
    gap    = signal "step_gap"           { over = 64, least = 8 },
    step   = signal "step"               { over = "attempt" },
    open   = signal "collective_waiting" { over = "30s", least = 1 },
  },
  -- The others lose `lost` of their time to it, and wait at least twice as often. A whole window of waiting is a
  -- validation, a save or a hang, not a slow step: steps must go on, or, where none is read, the others must work in
  -- between. A pause of `save` or more that the window still holds is no slow step either.
  params = { lost = 0.3, times = 2, whole = 0.95, still = 6, save = "5s" },
  fire = "6 of 6", clear = "6 of 8", yields_to = { "straggler", "rank_stopped", "stalled", "node_down" },
  shows = "rank {rank}[ on {node}] was waiting in {own:.0%} of the samples, the others in {typical:.0%}",
  causes = {
    late = "its steps take longer than the others': more work, a busy host, a slow disk or pauses; see what its "
      .. "process does (py-spy dump)",
  },
  actions = {
    late = "see what rank {rank} does (top, py-spy dump[ --pid {pid:.0f}][ on {node}]); if it has no more work than "
      .. "the others, drain its node",
  },
  evaluate = function(job, p)
    local own     = job.share:mean()
    local typical = own:median("job"):fill(own:max("job"))
    local late    = own:below(least(typical - p.lost, typical / p.times))
    local few     = late:at_most((0.25 * own:count("job")):clamp(1), "job")
    local works   = own:max("job"):below(p.whole)
    local steps   = go_on(job, p)
    local waited  = job.open:max():max("job"):above(longest_gap(job, p):fill(p.save)):surely()
    local paused  = job.paused:now():surely() | waited
    local stopped = job.state:last():is("stopped", "traced", "zombie"):any("job"):surely()
    return late & few & (steps:surely() | (works & steps:maybe())) & ~paused & ~stopped,
         { own = own, typical = typical, pid = job.pid:last(), late = late }
  end,
}

-- ---- cases --------------------------------------------------------------------------------------

case "one of four is late in each step" {
  ranks = 4, { lasting = "2m", wait_share = noise(0.2, 0.05), process_cpu = 0.8 },
  { lasting = "2m", wait_share = noise(0.7, 0.05), rank = { [1] = { wait_share = noise(0.05, 0.02) } } },
  fires = { { "straggler_by_waits", rank = 1, cause = "late", within = "70s" } },
}
case "the others have next to nothing to do but to wait for it" {
  ranks = 4,
  {
    lasting = "3m", phase = "train", step = steps(0.3), wait_share = noise(0.97, 0.01),
    rank = { [1] = { wait_share = noise(0.05, 0.02) } },
  },
  fires = { { "straggler_by_waits", rank = 1 } },
}
case "one of two is late in each step" {
  ranks = 2,
  {
    lasting = "2m", phase = "train", step = steps(0.5), wait_share = noise(0.6, 0.05),
    rank = { [0] = { wait_share = noise(0.1, 0.02) } },
  },
  fires = { { "straggler_by_waits", rank = 0 } },
}
case "rank 0 validates for a minute, and the others wait" {
  ranks = 4, { lasting = "2m", wait_share = noise(0.2, 0.05) },
  { lasting = "1m", wait_share = 1, rank = { [0] = { wait_share = 0 } } },
  { lasting = "2m", wait_share = noise(0.2, 0.05) },
}
case "rank 0 validates for three quarters of a minute, and then the steps go on" {
  ranks = 3, { lasting = "1m", phase = "train", step = steps(0.5), wait_share = noise(0.3, 0.03) },
  { lasting = "45s", step = silent, wait_share = 1, process_cpu = 0.2, rank = { [0] = { wait_share = 0 } } },
  {
    lasting = "2m", step = steps(0.5, 121), wait_share = noise(0.4, 0.03),
    rank = { [0] = { wait_share = noise(0.15, 0.03) } },
  },
}
case "rank 0 of a job that prints nothing sleeps for 20 s, and goes on" {
  ranks = 2, { lasting = "1m", wait_share = noise(0.7, 0.05), collective_waiting = 0 },
  {
    lasting = "20s", wait_share = 0.9, collective_waiting = ramp(0, 20),
    rank = { [0] = { wait_share = 0, collective_waiting = 0 } },
  },
  { lasting = "8s", wait_share = 0.8, collective_waiting = 0, rank = { [0] = { wait_share = 0.1 } } },
  { lasting = "1m", wait_share = noise(0.7, 0.05) },
}
case "rank 0 saves for eight seconds, again and again" {
  ranks = 3, { lasting = "1m", phase = "train", step = steps(0.1), wait_share = noise(0.3, 0.03) },
  { lasting = "8s", step = silent, wait_share = 1, rank = { [0] = { wait_share = 0 } } },
  {
    lasting = "10s", step = steps(0.1, 601), wait_share = noise(0.3, 0.03),
    rank = { [0] = { wait_share = noise(0.1, 0.03) } },
  },
  { lasting = "8s", step = silent, wait_share = 1, rank = { [0] = { wait_share = 0 } } },
  {
    lasting = "10s", step = steps(0.1, 701), wait_share = noise(0.3, 0.03),
    rank = { [0] = { wait_share = noise(0.1, 0.03) } },
  },
  { lasting = "8s", step = silent, wait_share = 1, rank = { [0] = { wait_share = 0 } } },
  {
    lasting = "30s", step = steps(0.1, 801), wait_share = noise(0.3, 0.03),
    rank = { [0] = { wait_share = noise(0.1, 0.03) } },
  },
}
case "all ranks wait for their data" {
  ranks = 4, { lasting = "4m", phase = "train", step = steps(1), wait_share = noise(0.8, 0.05) },
}
case "rank 0 writes the log, and waits a little less" {
  ranks = 4,
  {
    lasting = "4m", phase = "train", step = steps(1), wait_share = noise(0.4, 0.05),
    rank = { [0] = { wait_share = noise(0.2, 0.05) } },
  },
}
