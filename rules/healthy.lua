-- G1, on positive evidence, and what only a whole run shows: D1, D2, E3.

rule "data_starved" {
  family = "D1", severity = "warning", per = "job", every = "10s",
  summary = "Data loading bottleneck",
  needs = {
    data    = signal "data_time"    { over = 32, least = 16 },
    compute = signal "compute_time" { over = 32, least = 16 },
    busy    = signal "loader_busy"  { over = 32, least = 16 },
    step    = signal "step_time"    { over = 32, least = 16 },
  },
  -- Most ranks wait for their data for `share` of a step. Or one rank does, and the others wait for it in a collective:
  -- then the loaders of all ranks are at work all the time (`full`), and no rank computes for `computes` of a step.
  params = { share = 0.4, full = 0.97, computes = 0.5 }, fire = "4 of 4", clear = "4 of 4", yields_to = { "stalled" },
  shows = { "{share:.0%} of each step is spent waiting for data", "most of each step is spent waiting for data" },
  causes = { loaders = "the loader workers are busy {busy:.0%} of the time, and each step waits for the last batch" },
  actions = {
    loaders   = "use more loader workers",
    otherwise = "use more loader workers, or faster storage for the data",
  },
  evaluate = function(job, p)
    local share    = job.data:median() / job.step:median()
    local most     = share:median("job")      -- one slow loader is a straggler
    local busy     = job.busy:median():min("job")
    local computes = (job.compute:median() / job.step:median()):max("job")
    local limit    = (busy:at_least(p.full) & computes:below(p.computes) & share:max("job"):above(p.share)):surely()
    return most:above(p.share) | limit, { share = limit:choose(share:max("job"), most), loaders = limit, busy = busy }
  end,
}

rule "input_bound" {
  family = "D1", severity = "warning", per = "job", every = { "found", "30s" },
  summary = "Profiler shows a data loading bottleneck",
  needs = { found = signal "input_bound" { over = "attempt" } },
  clear = "for 30m", yields_to = { "data_starved", "stalled" },
  shows = {
    "according to the profiler, {share:.1f} % of each step is spent waiting for data",
    "according to the profiler, most of each step is spent waiting for data",
  },
  actions = { otherwise = "use more loader workers and prefetching, or faster storage for the data" },
  evaluate = function(job, p) return job.found:seen(), { share = job.found:last("share") } end,
}

rule "save_storm" {
  family = "D2", severity = "warning", per = "job", every = "10s",
  summary = "Checkpoints are saved nearly every step",
  needs = { saved = signal "checkpoint_saved" { over = "attempt" }, step = signal "step" { over = "attempt" } },
  params = { steps = 10, share = 0.4 }, yields_to = { "stalled" },
  shows = "{saves:.0f} checkpoints in {steps:.0f} steps",
  actions = { otherwise = "save less often, every 100 steps or more" },
  evaluate = function(job, p)
    local saves, steps = job.saved:count(), job.step:delta():max("job")
    return steps:at_least(p.steps) & saves:above(p.share * steps), { saves = saves, steps = steps }
  end,
}

rule "undertrained" {
  family = "E3", severity = "warning", per = "job", every = "end",
  summary = "Completed after hardly any steps",
  needs = {
    step  = signal "step"               { over = "attempt" },
    ended = signal "end_reason"         { over = "attempt" },
    cut   = signal "training_cut_short" { over = "attempt" },
  },
  params = { steps = 20 },
  shows = { "completed after step {last:.0f}", "completed after a few steps" },
  actions = { otherwise = "check the number of steps and the size of the dataset in the job's configuration" },
  evaluate = function(job, p)
    local last, asked = job.step:last():max("job"), job.cut:last("steps")
    local few  = (asked:below(p.steps) & ~last:at_least(p.steps):surely()):surely()      -- the trainer's own count
    return (job.ended:last():is("completed") & last:below(p.steps) & last:above(0)) | few,
      { last = few:choose(asked, last) }
  end,
}

rule "healthy" {
  family = "G1", severity = "none", per = "job", every = "end",
  summary = "Healthy training: steps advanced and the loss fell",
  needs = {
    step  = signal "step"       { over = "attempt" },
    loss  = signal "loss"       { over = "attempt" },
    ended = signal "end_reason" { over = "attempt" },
    lost  = signal "checkpoint_missing"  { over = "attempt" },
    other = signal "checkpoint_mismatch" { over = "attempt" },
    core  = finding { "stalled", "no_first_step", "loss_diverged", "loss_not_finite" },
    rest  = finding "*",
  },
  shows = "{steps:.0f} steps, loss {from:.3f} to {to:.3f}",
  evaluate = function(job, p)
    local from, to, steps = job.loss:first(32), job.loss:last(32), job.step:delta():max("job")
    -- Weights that the log says were not loaded leave a run whose loss falls as well.
    local loaded = ~(job.lost:seen() | job.other:seen())
    return job.ended:last():is("completed") & steps:at_least(20) & to:below(from) & loaded
         & ~job.core:ever() & ~job.rest:ever():surely(),
      { steps = steps, from = from, to = to }
  end,
}

-- ---- cases --------------------------------------------------------------------------------------

case "a healthy run" {
  ranks = 4,
  { lasting = "2m", phase = "train", step = steps(0.5), loss = ramp(5, 3), compute_time = noise(0.4, 0.01),
    data_time = 0.01, ends = "completed" },
  fires = { { "healthy" } },
}
case "the loss falls, and the log says that weights were not loaded" {
  ranks = 4,
  { lasting = "2m", phase = "train", step = steps(0.5), loss = ramp(5, 3), compute_time = noise(0.4, 0.01),
    data_time = 0.01, ends = "completed",
    events = { { "checkpoint_mismatch", weight = "h.0.attn.c_attn.weight", at = "1s" } } },
}
case "two steps" {
  ranks = 4,
  { lasting = "3s", phase = "train", step = steps(1, 1), loss = 5, ends = "completed" }, fires = { { "undertrained" } },
}
case "the trainer says that it was to make three steps" {
  ranks = 1,
  { lasting = "9s", phase = "train", step = steps(3), events = { { "training_cut_short", steps = 3, at = "8s" } },
    ends = "unknown" },
  fires = { { "undertrained" } },
}
case "the trainer has no batch" {
  ranks = 1,
  { lasting = "9s", phase = "starting", events = { { "training_cut_short", steps = 0, at = "8s" } },
    ends = "unknown" }, fires = { { "undertrained" } },
}
case "the trainer says that it was to make a thousand steps" {
  ranks = 1,
  { lasting = "9m", phase = "train", step = steps(0.5), loss = ramp(5, 3), events = { { "training_cut_short",
    steps = 1000, at = "8m" } }, ends = "unknown" },
}
case "a profiler finds that most of each step waits for data" {
  ranks = 1,
  { lasting = "3m", phase = "train", step = steps(1), events = { { "input_bound", share = 71.5, at = "2m" } } },
  fires = { { "input_bound" } },
}
case "data is late for everybody" {
  ranks = 4,
  { lasting = "90s", phase = "train", step = steps(0.9), step_time = 0.9, data_time = noise(0.78, 0.02),
    compute_time = noise(0.11, 0.004) },
  fires = { { "data_starved" } },
}
case "data is late for everybody, and the others wait for the one whose comes last" {
  ranks = 4,
  { lasting = "90s", phase = "train", step = steps(0.18), step_time = noise(0.18, 0.005),
    data_time = noise(0.04, 0.01), compute_time = noise(0.015, 0.004), loader_busy = 1,
               rank = { [1] = { data_time = noise(0.15, 0.01) } } },
  fires = { { "data_starved" } },
}
case "most of a step is a collective, and the loaders rest" {
  ranks = 4,
  { lasting = "90s", phase = "train", step = steps(0.18), step_time = noise(0.18, 0.005),
    data_time = noise(0.04, 0.01), compute_time = noise(0.015, 0.004), loader_busy = 0.6 },
}
case "one rank waits for its data, and the loaders of the others rest" {
  ranks = 4,
  { lasting = "90s", phase = "train", step = steps(0.18), step_time = noise(0.18, 0.005),
    data_time = noise(0.04, 0.01), compute_time = noise(0.015, 0.004), loader_busy = 0.6,
               rank = { [1] = { data_time = noise(0.15, 0.01), loader_busy = 1 } } },
  fires = { { "straggler", rank = 1, cause = "loader" } },
}
case "one rank waits for its data, and another computes for most of the step" {
  ranks = 4,
  { lasting = "90s", phase = "train", step = steps(0.18), step_time = noise(0.18, 0.005),
    data_time = noise(0.04, 0.01), compute_time = noise(0.015, 0.004), loader_busy = 1,
               rank = { [1] = { data_time = noise(0.15, 0.01) }, [2] = { compute_time = noise(0.12, 0.004) } } },
}
case "the loaders are always at work, and nobody waits for them" {
  ranks = 4,
  { lasting = "90s", phase = "train", step = steps(0.18), step_time = noise(0.18, 0.005),
    data_time = noise(0.05, 0.01), compute_time = noise(0.06, 0.004), loader_busy = 1 },
}
case "a save at every other step" {
  ranks = 2,
  { lasting = "22s", phase = "train", step = steps(1.5),
    events = { { "checkpoint_saved", at = "2s" }, { "checkpoint_saved", at = "4s" }, { "checkpoint_saved", at = "6s" },
               { "checkpoint_saved", at = "8s" }, { "checkpoint_saved", at = "10s" },
               { "checkpoint_saved", at = "12s" }, { "checkpoint_saved", at = "14s" },
               { "checkpoint_saved", at = "16s" } } },
  { lasting = "10s" },
  fires = { { "save_storm" } },
}
