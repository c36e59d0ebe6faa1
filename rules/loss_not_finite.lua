-- E1: a loss or a gradient that is not a number, or too large to be one of a model that works.

rule "loss_not_finite" {
  family = "E1", severity = "critical", per = "job", every = { "loss", "grad", "counted", "reported", "30s" },
  summary = "NaN/Inf loss or gradient",
  needs = {
    loss     = signal "loss"           { over = 1 },
    losses   = signal "loss"           { over = "attempt" },
    grad     = signal "grad_norm"      { over = 2, least = 2 },
    grads    = signal "grad_norm"      { over = "attempt" },
    skip     = signal "overflow_skip"  { over = "1m" },
    counted  = signal "nan_iterations" { over = "5m" },
    reported = signal "loss_is_nan"    { over = "attempt" },
    gone     = signal "loss_scale_exhausted" { over = "attempt" },
    step     = signal "step"           { over = "attempt" },
  },
  -- Steps that overflow while a loss scale is searched are skipped, and a single gradient that is not finite is skipped
  -- as well. A progress bar shows NaN until the first step is made. So a finite value has come before, or `many` values
  -- are not finite. Some trainers print 0 for a loss that is NaN.
  params = { many = 8 }, clear = "8 of 8",
  shows = { "last loss {loss}[ after step {step:.0f}]", "a loss or gradient is not finite[; last step {step:.0f}]" },
  causes = {
    itself   = "the loss is not finite",
    gradient = "the gradient norm is not finite, twice in a row or beside a loss of 0",
    counted  = "the framework skipped[ {count:.0f}] steps whose loss is not finite",
    reported = "the program reports it, and usually stops",
  },
  actions = {
    otherwise = "stop the job; resume[ from before step {step:.0f}] with a lower learning rate or gradient clipping",
  },
  evaluate = function(job, p)
    local function begun(values)
      return (values:first():abs():below(math.huge) | values:nonfinite():at_least(p.many)):surely()
    end
    local settled  = ~job.skip:seen()
    local bad      = job.grad:nonfinite()
    local loss     = (job.loss:nonfinite():above(0) & begun(job.losses) & settled):surely()
    local gradient = (((bad:is(2) & begun(job.grads)) | (bad:above(0) & job.loss:last():is(0))) & settled):surely()
    local counted, reported = job.counted:seen(), job.reported:seen()
    return loss | gradient | counted | reported | job.gone:seen(),
      { loss = job.loss:last(), step = job.step:last():max("job"), count = job.counted:last("count"),
        itself = loss, gradient = gradient, counted = counted, reported = reported }
  end,
}

rule "loss_never_finite" {
  family = "E1", severity = "critical", per = "job", every = "end",
  summary = "Last loss was NaN/Inf",
  needs = {
    loss  = signal "loss"          { over = 1 },
    skip  = signal "overflow_skip" { over = "1m" },
    alive = signal "any"           { over = "attempt" },
  },
  -- If the log goes on long after that loss, the later ones are printed in a form that is not read. Where all ranks
  -- have exited, nothing goes on.
  params = { later = "2h" }, yields_to = { "loss_not_finite" },
  shows = "the last loss was not a finite number[: {loss}]",
  actions = {
    otherwise = "look for a division by 0, a logarithm of 0 or too low a precision; restart with a lower learning rate",
  },
  evaluate = function(job, p)
    local newest = (job.loss:age() - job.alive:age():min("job"):fill(0)):below(p.later)
    local settled = ~job.skip:seen()
    return (job.loss:nonfinite():above(0) & newest):surely() & settled, { loss = job.loss:last() }
  end,
}

rule "loss_absurd" {
  family = "E1", severity = "critical", per = "job", every = { "loss", "30s" },
  summary = "Loss is absurdly large",
  needs = { loss = signal "loss" { over = 1 } },
  -- The loss of a model that can still learn never comes near. At this size the squares of gradients overflow float32.
  params = { limit = 1e20 }, clear = "8 of 8", yields_to = { "loss_not_finite" },
  shows = "loss {loss:.3g}, limit {p.limit:.0e}",
  actions = {
    otherwise = "stop the job; check data and precision; resume from an earlier checkpoint with a lower learning rate",
  },
  evaluate = function(job, p) return job.loss:last():abs():above(p.limit), { loss = job.loss:last() } end,
}

rule "steps_skipped" {
  family = "E1", severity = "warning", per = "job", every = { "skip", "30s" },
  summary = "Nearly every step skipped: gradients overflow at any loss scale",
  needs = { skip = signal "overflow_skip" { over = "attempt" }, step = signal "step" { over = "attempt" } },
  -- From 2^32, the highest scale that anybody begins with, 32 halvings lead to 1: a search is over before.
  params = { many = 32, most = 0.9, lowest = 1 }, yields_to = { "loss_not_finite" },
  shows = "steps are skipped[: {n:.0f}][, the last at a loss scale of {scale:.0f}]",
  causes = { lowest = "the loss scale cannot fall further", all = "no usable loss scale was ever found" },
  actions = { otherwise = "stop the job: train in bfloat16, or find what overflows; nothing is learned meanwhile" },
  evaluate = function(job, p)
    local n, scale = job.skip:count(), job.skip:last("scale")
    local lowest = scale:at_most(p.lowest):surely()
    local all    = n:at_least(greatest(p.many, p.most * job.step:delta():max("job"):fill(0)))
    return lowest | all, { n = n, scale = scale, lowest = lowest, all = all }
  end,
}

-- ---- cases ----------------------------------------------------------------------------------------------------------

case "the loss becomes NaN" {
  ranks = 2, { lasting = "1m", phase = "train", step = steps(0.5), loss = ramp(5, 3) }, { lasting = "10s", loss = nan },
  fires = { { "loss_not_finite", cause = "itself", within = "5s" } },
}
case "a single infinite loss" {
  ranks = 1, { lasting = "2m", phase = "train", step = steps(0.5), loss = ramp(6, 2.5) },
  { lasting = "1s", loss = math.huge }, { lasting = "1m", loss = noise(2.5, 0.03) },
  fires = { { "loss_not_finite" } },
}
case "the framework counts NaN steps and prints no loss" {
  ranks = 1, { lasting = "1m", phase = "train", step = steps(0.5), loss = ramp(5, 3) },
  { lasting = "10s", loss = silent, events = { { "nan_iterations", count = 5 } } },
  fires = { { "loss_not_finite", cause = "counted", within = "5s" } },
}
case "the program detects a NaN loss itself" {
  ranks = 1,
  { lasting = "5s", phase = "train", step = steps(1, 1), loss = 2.1, events = { { "loss_is_nan", at = "4s" } } },
  fires = { { "loss_not_finite", cause = "reported" } },
}
case "the gradient is NaN once" {
  ranks = 1, { lasting = "1m", phase = "train", step = steps(1), loss = noise(2, 0.05), grad_norm = 0.5 },
  { lasting = "1s", grad_norm = nan }, { lasting = "1m", grad_norm = 0.5 },
}
case "every gradient is NaN from the first step of the log on" {
  ranks = 1, { lasting = "20s", phase = "train", step = steps(1, 5400), grad_norm = nan },
  fires = { { "loss_not_finite", cause = "gradient" } },
}
case "the trainer prints 0 for a NaN loss, beside a gradient that is NaN" {
  ranks = 1,
  { lasting = "5s", phase = "train", step = steps(1, 1), loss = 2.1, grad_norm = 1.2 },
  { lasting = "3s", loss = 0, grad_norm = nan },
  fires = { { "loss_not_finite", cause = "gradient" } },
}
case "a loss of 0 in the first steps of reinforcement learning" {
  ranks = 1, { lasting = "5s", phase = "train", step = steps(1, 1), loss = 0, grad_norm = 0.2 },
}
case "the loss scale is searched" {
  ranks = 1,
  { lasting = "10s", phase = "train", step = steps(1), loss = nan, events = { { "overflow_skip" }, { "overflow_skip",
    at = "2s" } } },
}
case "a bar shows NaN until the first step is made" {
  ranks = 1,
  { lasting = "4s", phase = "train", step = steps(1, 1), loss = nan }, { lasting = "30s", loss = ramp(4, 3.5) },
}
case "no loss was ever finite" {
  ranks = 1,
  { lasting = "4s", phase = "train", step = steps(1, 1), loss = nan, ends = "failed" },
  fires = { { "loss_never_finite" } },
}
case "the first losses are NaN, and the log goes on for hours without one that is read" {
  ranks = 1,
  { lasting = "4s", phase = "train", step = steps(1, 1), loss = nan },
  { lasting = "5h", step = steps(1), loss = silent, ends = "unknown" },
}
case "the second loss is 4e31" {
  ranks = 1, { lasting = "1s", phase = "train", step = steps(1, 1), loss = 2.3 }, { lasting = "3s", loss = 4e31 },
  fires = { { "loss_absurd" } },
}
case "losses of hundreds of millions, as scattered as others" {
  ranks = 1, { lasting = "1s", phase = "train", step = steps(1, 5900), loss = 3e8 }, { lasting = "1s", loss = 4.5e8 },
  { lasting = "1s", loss = 2.5e8 }, { lasting = "2s", loss = 5e8 },
}
case "the loss scale falls to 1" {
  ranks = 1,
  { lasting = "5s", phase = "train", step = steps(1, 1),
    events = { { "overflow_skip", scale = 2, at = "3s" }, { "overflow_skip", scale = 1, at = "4s" } } },
  fires = { { "steps_skipped", cause = "lowest" } },
}
