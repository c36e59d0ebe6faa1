-- D3 of the whole job: every step takes longer than this job's own steps did, whoever it is that holds them up.

rule "job_slower" {
  family = "D3", severity = "warning", per = "job", every = "30s",
  summary = "Step time regression",
  needs = {
    now    = signal "step_time"    { over = "5m", least = 8 },
    usual  = signal "step_time"    { over = "30m", lag = "6m", least = 16, freeze = true },
    few    = signal "step_time"    { over = 4, least = 4 },
    before = signal "step_time"    { over = 32, lag = 5, least = 4, freeze = true },
    step   = signal "step"         { over = "attempt" },
    rate   = signal "tokens_per_s" { over = "5m" },
    rates  = signal "tokens_per_s" { over = "30m", lag = "6m", freeze = true },
    open   = signal "collective_waiting" { over = "5m" },
    opened = signal "collective_waiting" { over = "30m", lag = "6m", freeze = true },
  },
  -- Short steps are compared over five minutes: the median must be 1.1 times the one before, and the lower quartile
  -- above nine tenths of the steps before. Steps of half a minute or more are compared by number: the shortest of four
  -- must be above the longest before. A step with more work (as many tokens a second as before) is no fault, and
  -- neither is another training in the same attempt, whose steps begin again.
  -- The last rank to enter a collective waits for nobody: how long it is in there is the time of the transfer.
  params = { ratio = 1.1, kept = 0.97, long = 30, longer = 1.04, link = 2 },
  fire = "for 60s", clear = "for 5m",
  yields_to = { "straggler", "straggler_by_waits", "throttle", "stalled", "node_down" },
  shows = "each step takes longer[: {took}][; it took {before} before]",
  causes = { link = "collectives take longer on each rank, also on the last one to enter: the network, not a rank" },
  actions = {
    link      = "check the network between the nodes (ibstat, nccl-tests), and what else uses it",
    otherwise = "look for a node with a lower clock or a busy host (nvidia-smi -q -d PERFORMANCE, top), and for slow "
      .. "storage or network",
  },
  evaluate = function(job, p)
    local now, usual = job.now:median():mean("job"), job.usual:median():mean("job")
    local apart = job.now:quantile(0.25):mean("job"):above(job.usual:quantile(0.9):mean("job"))
    local kept  = job.rate:median():max("job"):at_least(p.kept * job.rates:median():max("job")):surely()
    local slow  = (now:above(p.ratio * usual) & apart & ~kept):surely()
    local least_now, most = job.few:min():mean("job"), job.before:max():mean("job")
    local few   = (least_now:above(p.longer * most) & least_now:above(p.long)):surely()
    local again = job.step:last():max("job"):below(job.step:max():max("job")):surely()
    local open, opened = job.open:mean():min("job"), job.opened:mean():min("job")
    return (slow | few) & ~again,
         {
           link = slow & open:above(p.link * opened),
           took = slow:choose(now, job.few:median():mean("job")),
           before = slow:choose(usual, job.before:median():mean("job")),
         }
  end,
}

-- ---- cases --------------------------------------------------------------------------------------

case "each step takes a fifth longer from one minute to the next" {
  ranks = 1, { lasting = "20m", phase = "train", step = steps(2), step_time = noise(2, 0.05) },
  { lasting = "15m", step_time = noise(2.4, 0.05) },
  fires = { { "job_slower", within = "8m" } },
}
case "steps of two minutes take a twentieth longer" {
  ranks = 1, { lasting = "20m", phase = "train", step = steps(105), step_time = noise(105, 0.1) },
  { lasting = "30m", step_time = noise(111, 0.2) },
  fires = { { "job_slower" } },
}
case "steps that differ by a third among themselves" {
  ranks = 1, { lasting = "60m", phase = "train", step = steps(2), step_time = noise(2, 0.6) },
}
case "three steps of forty take twice as long, and then all take what they took" {
  ranks = 1, { lasting = "20m", phase = "train", step = steps(40), step_time = noise(40, 1) },
  { lasting = "2m", step_time = 80 }, { lasting = "20m", step_time = noise(40, 1) },
}
case "twice the tokens in a step, as fast as before" {
  ranks = 1,
  { lasting = "20m", phase = "train", step = steps(2), step_time = noise(2, 0.05), tokens_per_s = noise(1e5, 1e3) },
  { lasting = "20m", step_time = noise(4, 0.05), tokens_per_s = noise(1e5, 1e3) },
}
case "another training in the same attempt, whose steps take longer" {
  ranks = 1, { lasting = "20m", phase = "train", step = steps(2), step_time = noise(2, 0.05) },
  { lasting = "20m", step = steps(3, 1), step_time = noise(3, 0.05) },
}
case "each collective takes three times as long as before, on all ranks" {
  ranks = 4,
  {
    lasting = "20m", phase = "train", step = steps(2), step_time = noise(2, 0.05),
    collective_waiting = noise(0.1, 0.02),
  },
  { lasting = "15m", step_time = noise(2.5, 0.05), collective_waiting = noise(0.3, 0.02) },
  fires = { { "job_slower", cause = "link" } },
}
