-- E1: a loss that does not move although the training goes on.

rule "not_learning" {
  family = "E1", severity = "warning", per = "job", every = { "recent", "30s" },
  summary = "Loss is not decreasing",
  needs = {
    recent = signal "loss"           { over = 32, least = 32 },
    all    = signal "loss"           { over = "attempt" },
    rate   = signal "learning_rate"  { over = 32, least = 16 },
    step   = signal "step"           { over = "attempt" },
    warm   = signal "weights_loaded" { over = "attempt" },
  },
  -- Only of a training that began here (its first step is below `born`), and whose loss is not low from the first value
  -- on (`low`). It is as high as it was, does not fall (Kendall's correlation with time, in deviations of chance) and
  -- is steady. A warm-up may take `long` steps: before, only `many` values show it. A learning rate of 0 needs no
  -- patience, but small rates may be printed as 0.
  params = {
    kept = 0.98, falls = -1.6, points = 48, steps = 400, many = 128, long = 1000, born = 100, steady = 0.1, low = 1.6,
  },
  clear = "8 of 8",
  yields_to = { "loss_diverged", "loss_stays_high", "loss_not_finite", "loss_spike", "loss_constant" },
  shows = "loss {birth:.3f} initially, {now:.3f} now[, after {steps:.0f} steps]",
  causes = {
    rate = "the learning rate is 0",
    flat = "the learning rate is not 0, but nothing is learned",
  },
  actions = {
    rate      = "stop the job and check the learning rate schedule: the rate is 0",
    otherwise = "stop the job; check the labels, the data, the learning rate, and whether the weights are frozen",
  },
  evaluate = function(job, p)
    local first, last = job.step:first():min("job"), job.step:last():max("job")
    local birth, now, count = job.all:first(16), job.recent:median(), job.all:count()
    local still = now:above(p.kept * birth) & job.recent:kendall():above(p.falls) & count:at_least(p.points)
    local long  = last:above(p.steps) & (last:above(p.long) | count:at_least(p.many))
    local young = first:below(p.born) & birth:above(p.low) & ~job.warm:seen()
    local zero  = job.rate:max():is(0)
    return still & ((long & young & job.recent:mad():below(p.steady * birth)) | zero:surely()),
      { birth = birth, now = now, steps = last, rate = zero:surely(), flat = ~zero }
  end,
}

rule "loss_constant" {
  family = "E1", severity = "warning", per = "job", every = { "recent", "30s" },
  summary = "Loss has not changed since the first value",
  needs = {
    recent = signal "loss"      { over = 64, least = 5 },
    all    = signal "loss"      { over = "attempt" },
    grads  = signal "grad_norm" { over = 64, least = 5 },
  },
  -- `values` losses are the same to the last digit, or five that are the same beside gradients of 0. A loss of 0 alone
  -- may be one that the program does not compute yet; some versions of Megatron print 0 for every gradient norm.
  params = { values = 10 }, clear = "8 of 8", yields_to = { "loss_not_finite" },
  shows = "each of the[ {n:.0f}] losses so far is {loss}",
  causes = { flat = "nothing is learned", zero = "every gradient norm is 0" },
  actions = {
    zero      = "stop the job; check whether the loss depends on the weights, and whether they are frozen",
    otherwise = "stop the job; check how the loss is computed, the learning rate, and whether the weights are frozen",
  },
  evaluate = function(job, p)
    local n, loss = job.all:count(), job.all:first()
    local same = greatest(job.recent:max(), loss):at_most(least(job.recent:min(), loss))
    local zero = (same & job.grads:max():is(0)):surely()
    return (same & n:at_least(p.values) & loss:abs():above(0)) | zero, { n = n, loss = loss, flat = ~zero, zero = zero }
  end,
}

-- ---- cases ----------------------------------------------------------------------------------------------------------

case "a learning rate of 0" {
  ranks = 1, { lasting = "2m", phase = "train", step = steps(1, 1), loss = noise(4.87, 0.02), learning_rate = 0 },
  fires = { { "not_learning", cause = "rate" } },
}
case "nothing is learned" {
  ranks = 1,
  { lasting = "3m", phase = "train", step = steps(0.25, 1), loss = noise(4.87, 0.02), learning_rate = 0.001 },
  fires = { { "not_learning", cause = "flat" } },
}
case "nothing is learned beyond the weights that were loaded" {
  ranks = 1,
  { lasting = "3m", phase = "train", step = steps(0.25, 1), loss = noise(4.87, 0.02), learning_rate = 0.001,
    events = { { "weights_loaded" } } },
}
case "the loss falls slowly" {
  ranks = 1, { lasting = "5m", phase = "train", step = steps(0.25, 1), loss = ramp(4.87, 4.2), learning_rate = 0.001 },
}
case "a resumed run stays where it is" {
  ranks = 1,
  { lasting = "5m", phase = "train", step = steps(0.25, 50000), loss = noise(2.1, 0.02), learning_rate = 0.001 },
}
case "a warm-up of six hundred steps in which the loss stays" {
  ranks = 2,                                       -- rank 0 prints each tenth step
  { lasting = "60s", phase = "train", step = steps(1, 1), rank = { [1] = { step = steps(0.1, 1) } },
    loss = noise(45, 0.2), learning_rate = 0.000005 },
  { lasting = "60s", loss = ramp(45, 30), learning_rate = 0.0005 },
}
case "the loss is the same to the last digit, from the first value on" {
  ranks = 1, { lasting = "15s", phase = "train", step = steps(1, 1), loss = 2.3026 },
  fires = { { "loss_constant", cause = "flat" } },
}
case "the loss and every gradient norm are 0" {
  ranks = 1, { lasting = "8s", phase = "train", step = steps(1, 1), loss = 0, grad_norm = 0 },
  fires = { { "loss_constant", cause = "zero" } },
}
case "a loss of nothing but 0" {
  ranks = 1, { lasting = "5m", phase = "train", step = steps(0.5, 1), loss = 0 },
}
case "every gradient norm is printed as 0, and the loss falls" {
  ranks = 1, { lasting = "1m", phase = "train", step = steps(1, 1), loss = ramp(8.5, 7.7), grad_norm = 0 },
}
