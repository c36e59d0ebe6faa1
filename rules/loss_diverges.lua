-- E1: a loss that rises and stays. One series alone is a warning; the learning rate or the gradient norm beside it
-- makes it a divergence.

local losses = shared "losses"

rule "loss_above_best" {
  severity = "none", per = "job", every = { "recent", "30s" },
  summary = "The loss stays above its best",
  needs = {
    recent = signal "loss" { over = 16 },
    past   = signal "loss" { over = 64, lag = 32, least = 8 },
    wide   = signal "loss" { over = 256, lag = 32, least = 8 },
    trend  = signal "loss" { over = 32, least = 16 },
    all    = signal "loss" { over = "attempt" },
    anew   = finding "another_training",
  },
  -- The median of 16 values is above the best such median by `share` of what was learned, by `rise` and by `z`
  -- deviations of one value, and does not fall again (Kendall's correlation with time, in deviations of chance). A loss
  -- that has learned less than `moves` deviations of hundreds of values (two networks against each other) has no best.
  -- It lasts until the loss has come back.
  params = { share = 0.33, rise = 0.1, z = 2, learned = 0.2, moves = 3, floor = 0.05, falls = -3.5 },
  state = { best = math.huge, high = 0 }, fire = "for 10s",
  evaluate = function(job, p, state)
    local now, birth = job.recent:median(), job.all:first(3)
    state.best    = job.anew:now():surely():choose(now, least(state.best, now))
    local learned, rise = losses.ratio(birth, state.best), losses.ratio(now, state.best)
    local over    = rise:above(greatest(p.rise, p.share * learned))
    local falls   = job.trend:kendall():below(p.falls):surely()
    local begins  = rise:above(p.z * losses.scatter(job.past)) & now:above(p.floor) & job.wide:min():above(0) & ~falls
                  & learned:above(greatest(p.learned, p.moves * losses.scatter(job.wide)))
    local stays   = (over & (begins | state.high:is(1))):surely()
    state.high    = stays:choose(1, 0)
    return stays
  end,
}

rule "loss_climbs" {
  severity = "none", per = "job", every = { "last", "30s" },
  summary = "The loss rises from value to value, far above where it began",
  needs = {
    last = signal "loss" { over = 32, least = 32 },
    all  = signal "loss" { over = "attempt" },
    anew = finding "another_training",
  },
  -- `steady` is Kendall's correlation with time. A penalty for the distance to an earlier model begins at next to
  -- nothing and grows: `floor`.
  params = { steady = 6, climb = 0.18, above = 0.4, floor = 0.05 }, clear = "32 of 32",
  evaluate = function(job, p)
    local now, low = job.last:last(), job.last:min()
    return job.last:kendall():above(p.steady) & losses.ratio(now, low):above(p.climb)
         & losses.ratio(now, job.all:first(3)):above(p.above) & now:above(p.floor) & low:above(0)
             & ~job.anew:now():surely()
  end,
}

rule "loss_diverged" {
  family = "E1", severity = "critical", per = "job", every = { "recent", "30s" },
  summary = "Training diverged",
  needs = {
    lost   = finding { "loss_above_best", "loss_climbs" },
    recent = signal "loss" { over = 16 },
    past   = signal "loss" { over = 256, lag = 32, least = 8 },
    all    = signal "loss" { over = "attempt" },
    step   = signal "step" { over = "attempt" },
    rate   = signal "learning_rate" { over = 64, least = 1 },
    rates  = signal "learning_rate" { over = 256, lag = 64, least = 4 },
    grad   = signal "grad_norm" { over = 32, least = 8 },
    grads  = signal "grad_norm" { over = 256, lag = 32, least = 8 },
  },
  -- What the learning rate or the gradient norm has confirmed once is confirmed until the loss has come back.
  params = { rises = 3, grows = 2 },
  state = { confirmed = 0 }, clear = "16 of 16", yields_to = { "loss_not_finite" },
  shows = {
    "median of the last 16 losses {now:.4g}[ at step {step:.0f}][; lowest {best:.4g}][, initially {birth:.4g}]",
    "the loss is above its lowest values[ at step {step:.0f}]",
  },
  causes = {
    rate     = "the learning rate is {rises:.0f} times what it was before the rise",
    gradient = "the gradient norm is {grows:.1f} times what it was before the rise",
  },
  actions = {
    rate      = "stop the job, make the learning rate {rises:.0f} times lower, and resume from before the rise",
    otherwise = "stop the job and resume from a checkpoint before the rise with a lower learning rate",
  },
  evaluate = function(job, p, state)
    local rises, grows = job.rate:max() / job.rates:median(), job.grad:quantile(0.75) / job.grads:median()
    local rate, gradient = rises:above(p.rises):surely(), grows:above(p.grows):surely()
    state.confirmed = (job.lost:now():surely() & (rate | gradient | state.confirmed:is(1))):choose(1, 0)
    return state.confirmed:is(1),
      { now = job.recent:median(), best = job.past:min(), birth = job.all:first(3), step = job.step:last():max("job"),
        rises = rises, grows = grows, rate = rate, gradient = gradient & ~rate }
  end,
}

rule "loss_stays_high" {
  family = "E1", severity = "warning", per = "job", every = { "recent", "30s" },
  summary = "Loss rose and has not recovered",
  needs = {
    lost   = finding { "loss_above_best", "loss_climbs" },
    recent = signal "loss" { over = 16 },
    past   = signal "loss" { over = 256, lag = 32, least = 8 },
    all    = signal "loss" { over = "attempt" },
    step   = signal "step" { over = "attempt" },
  },
  clear = "16 of 16", yields_to = { "loss_diverged", "loss_not_finite" },
  shows = {
    "median of the last 16 losses {now:.4g}[ at step {step:.0f}][; lowest {best:.4g}][, initially {birth:.4g}]",
    "the loss is above its lowest values[ at step {step:.0f}]",
  },
  actions = {
    otherwise = "compare with the validation loss; if the rise was not planned, resume from a checkpoint before it",
  },
  evaluate = function(job, p)
    return job.lost:now():surely(),
      { now = job.recent:median(), best = job.past:min(), birth = job.all:first(3), step = job.step:last():max("job") }
  end,
}

-- ---- cases --------------------------------------------------------------------------------------

case "the learning rate makes the loss leap, and it stays high" {
  ranks = 4,
  { lasting = "1m", phase = "train", step = steps(0.5), loss = ramp(5, 2.4), learning_rate = 0.001 },
  { lasting = "5s", loss = 12, learning_rate = 0.3 },
  { lasting = "70s", loss = noise(3.4, 0.05), learning_rate = 0.3 },
  fires = { { "loss_spike" }, { "loss_diverged", cause = "rate", within = "75s" } },
}
case "the loss rises slowly, and the gradient norm with it" {
  ranks = 1, { lasting = "2m", phase = "train", step = steps(1), loss = ramp(6, 2.5), grad_norm = noise(0.5, 0.03) },
  { lasting = "3m", loss = noise(2.5, 0.03), grad_norm = noise(0.5, 0.03) },
  { lasting = "3m", loss = ramp(2.5, 5), grad_norm = noise(3, 0.2) },
  fires = { { "loss_diverged", cause = "gradient" } },
}
case "the loss leaps and stays high, and no second series shows why" {
  ranks = 4,
  { lasting = "1m", phase = "train", step = steps(0.5), loss = ramp(5, 2.4) }, { lasting = "5s", loss = 12 },
  { lasting = "70s", loss = noise(3.4, 0.05) },
  fires = { { "loss_spike" }, { "loss_stays_high", within = "75s" } },
}
case "the loss stays high, falls, and is far above its best still: one alert" {
  ranks = 1,
  { lasting = "2m", phase = "train", step = steps(0.2), loss = ramp(5, 2.4) },
  { lasting = "10s", loss = ramp(10, 200) },
  { lasting = "60s", loss = ramp(200, 90) }, { lasting = "60s", loss = noise(90, 5) },
  fires = { { "loss_spike" }, { "loss_stays_high" } },
}
case "the loss doubles, with steps of 30 s" {
  ranks = 1,
  { lasting = "20m", phase = "train", step = steps(30), loss = noise(6, 0.05) },
  { lasting = "40m", loss = noise(2.5, 0.05) },
  { lasting = "10m", loss = noise(5, 0.05) },
  fires = { { "loss_spike" }, { "loss_stays_high" } },
}
case "the loss climbs from value to value" {
  ranks = 1, { lasting = "40s", phase = "train", step = steps(1, 30), loss = ramp(11.6, 20) },
  fires = { { "loss_stays_high" } },
}
case "the loss climbs from value to value, beside a learning rate of ten times what it was" {
  ranks = 1, { lasting = "100s", phase = "train", step = steps(1, 30), loss = ramp(12, 11.6), learning_rate = 0.0001 },
  { lasting = "40s", loss = ramp(11.6, 20), learning_rate = 0.001 },
  fires = { { "loss_diverged", cause = "rate" } },
}
case "the loss rises at first, as the queue of its negatives fills, and then falls slowly" {
  ranks = 1,
  { lasting = "90s", phase = "train", step = steps(0.3), loss = ramp(2, 5.8) },
  { lasting = "6m", step = steps(0.3, 301), loss = ramp(5.8, 4.6) },
}
case "the steps of a second training begin anew, and its loss is lost later" {
  ranks = 1,
  { lasting = "60s", phase = "train", step = steps(0.5), loss = ramp(6, 2.5) },
  { lasting = "120s", step = steps(0.5, 121), loss = noise(2.5, 0.03) },
  { lasting = "60s", step = steps(0.5, 1), loss = ramp(8.6, 3) },
  { lasting = "60s", step = steps(0.5, 121), loss = noise(2.9, 0.03) },
  { lasting = "60s", step = steps(0.5, 241), loss = noise(7.5, 0.1) },
  fires = { { "loss_spike" }, { "loss_stays_high" } },
}
case "another training in the same log has another loss" {
  ranks = 1,
  { lasting = "60s", phase = "train", step = steps(0.5), loss = ramp(6, 2.5) },
  { lasting = "120s", step = steps(0.5, 121), loss = noise(2.5, 0.03) },
  { lasting = "20s", step = steps(0.5, 1), loss = ramp(8.6, 6) },
  { lasting = "3m", step = steps(0.5, 41), loss = ramp(6, 3.4) },
}
case "another training in the same log prints seldom" {
  ranks = 1,
  { lasting = "5m", phase = "train", step = steps(5), loss = ramp(6, 2.5) },
  { lasting = "10m", step = steps(5, 61), loss = noise(2.5, 0.03) },
  { lasting = "100s", step = steps(5, 1), loss = ramp(8.6, 6) },
  { lasting = "15m", step = steps(5, 21), loss = ramp(6, 3.4) },
}

-- Healthy losses of other scales and shapes.

case "a loss below zero, and noisy" {
  ranks = 1, { lasting = "5m", phase = "train", step = steps(0.5, 1), loss = noise(-1, 0.8) },
}
case "rewards: a loss that falls far below zero" {
  ranks = 1,
  { lasting = "2m", phase = "train", step = steps(0.5, 1), loss = ramp(-2, -9) },
  { lasting = "4m", loss = noise(-9, 1.2) },
}
case "perplexities" {
  ranks = 1,
  { lasting = "2m", phase = "train", step = steps(0.5, 1), loss = ramp(9000, 40) },
  { lasting = "5m", loss = noise(38, 6) },
}
case "the loss gains a term" {
  ranks = 1,
  { lasting = "2m", phase = "train", step = steps(0.5, 1), loss = ramp(4, 1.2) },
  { lasting = "3m", loss = noise(1.2, 0.03) },
  { lasting = "3m", loss = noise(1.6, 0.03) },
}
case "two networks against each other: up and down" {
  ranks = 1,
  { lasting = "10s", phase = "train", step = steps(0.5, 1), loss = ramp(1.1, 1.8) },
  { lasting = "20s", loss = ramp(1.8, 0.4) },
  { lasting = "20s", loss = ramp(0.4, 1.8) }, { lasting = "20s", loss = ramp(1.8, 0.4) },
  { lasting = "20s", loss = ramp(0.4, 1.8) },
  { lasting = "20s", loss = ramp(1.8, 0.4) }, { lasting = "20s", loss = ramp(0.4, 1.8) },
  { lasting = "20s", loss = ramp(1.8, 0.4) },
  { lasting = "20s", loss = ramp(0.4, 1.8) },
}
case "batches of one whose loss is fifty times as high as another's, and a low one first" {
  ranks = 1,
  { lasting = "1s", phase = "train", step = steps(1), loss = 20 }, { lasting = "2s", loss = 21 },
  { lasting = "20s", loss = noise(160, 130) },
  { lasting = "12s", loss = noise(150, 60) }, { lasting = "40s", loss = noise(160, 130) },
}
case "losses near zero, and batches of few" {
  ranks = 1,
  { lasting = "1m", phase = "train", step = steps(0.5, 1), loss = ramp(0.7, 0.01) },
  { lasting = "5m", loss = noise(0.01, 0.003) },
  { lasting = "1s", loss = 0.03 }, { lasting = "2m", loss = noise(0.01, 0.003) },
}
case "a few examples, learned by heart: the loss of most batches is next to nothing, of a few it is not" {
  ranks = 1,
  { lasting = "100s", phase = "train", loss = ramp(1.2, 0.02) }, { lasting = "100s", loss = noise(0.0008, 0.0003) },
  { lasting = "1s", loss = 0.04 },
  { lasting = "1s", loss = 0.25 }, { lasting = "60s", loss = noise(0.0008, 0.0003) },
}
case "the sum of the losses of a short epoch begins anew with the next" {
  ranks = 1,
  { lasting = "20s", phase = "train", step = steps(1, 1), loss = ramp(2.3, 44) },
  { lasting = "20s", loss = ramp(1.9, 37) },
  { lasting = "20s", loss = ramp(1.7, 33) }, { lasting = "20s", loss = ramp(1.6, 31) },
}
case "a loss of 0 while nothing is trained yet, and then one" {
  ranks = 1,
  { lasting = "60s", phase = "train", step = steps(0.1, 1), loss = 0 }, { lasting = "60s", loss = noise(0.14, 0.02) },
}
