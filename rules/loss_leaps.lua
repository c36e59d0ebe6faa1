-- E1 with few values: a leap of the loss where there is no history to hold it against.

-- A value against those before it. Where a run goes on far from its birth there is no history to hold a spike against yet, and no warm-up
-- either: a whole nat above all that was seen, and well beyond its scatter, both as a difference and as a ratio, is no noise. After a
-- single value three nats and more than half of it are none; a loss above 30 is no entropy, and must be three times as high. Of a run that
-- is young, only one whose loss had fallen and is then three times the highest: humps of warm-ups come before it falls, and are no
-- hundred times as high.
local LEAP = { leap = 1.0, ratio = 1.2, scatter = 1.5, peak = 3, alone = 3.0, half = 1.6, nats = 30, late = 1000, few = 16, fallen = 0.85, times = 3, blown = 100, far = 10 }
local function leapt(job, p, now, before, ratios)
  local late   = job.step:last():max("job"):above(p.late)
  local usual, low = before:max(), before:min()
  local leap   = now - usual
  local alone  = before:count():is(1)
  local beyond = leap:above(p.leap) & leap:above(p.scatter * (usual - low)) & (now / usual):log():above(ratios * (usual / low):log())
  local high   = now:above(p.ratio * usual) & ((beyond & ~alone) | (alone & leap:above(p.alone) & now:above(usual:above(p.nats):choose(p.times, p.half) * usual)))
  local young  = ~late:surely() & low:below(p.fallen * job.seen:first()) & leap:above(p.leap) & now:above(p.times * usual)
  local blown  = leap:above(p.far) & now:above(p.blown * usual)
  return low:above(0) & ((high & late) | young | blown)
end

rule "loss_leap" {
  family = "E1", severity = "warning", per = "job", every = { "pair", "30s" },
  summary = "Loss spike early in training",
  needs = {
    now  = signal "loss" { over = 1 },
    own  = signal "loss" { over = 15, lag = 1, least = 4 },
    pair = signal "loss" { over = 2, least = 2 },
    past = signal "loss" { over = 14, lag = 2, least = 2 },
    epoch = signal "epoch" { over = "attempt", least = 1 },
    seen = signal "loss" { over = "attempt" },
    step = signal "step" { over = "attempt" },
  },
  params = LEAP, clear = "16 of 16", yields_to = { "loss_spike", "loss_diverged", "loss_not_finite" },
  shows = "loss {now:.4g}, at most {usual:.4g} before",
  actions = { otherwise = "watch the next values: if the loss stays high, resume from an earlier checkpoint" },
  evaluate = function(job, p)
    -- The last value against at least four, or the last two against at least two.
    local any = leapt(job, p, job.now:last(), job.own, p.peak):surely() | leapt(job, p, job.pair:min(), job.past, p.peak):surely()
    return any & job.seen:count():at_most(p.few) & ~job.epoch:last():below(job.epoch:max()):surely(), { now = job.now:last(), usual = job.past:max() }
  end,
}

rule "loss_leap_at_end" {
  family = "E1", severity = "warning", per = "job", every = "end",
  summary = "Loss spike before the end of a short log",
  needs = {
    now   = signal "loss" { over = 1 },
    usual = signal "loss" { over = 15, lag = 1, least = 1 },
    pair  = signal "loss" { over = 2, least = 2 },
    early = signal "loss" { over = 14, lag = 2, least = 1 },
    near  = signal "loss" { over = 4, least = 4 },
    past  = signal "loss" { over = 12, lag = 4, least = 1 },
    epoch = signal "epoch" { over = "attempt", least = 1 },
    seen  = signal "loss" { over = "attempt" },
    step  = signal "step" { over = "attempt" },
  },
  -- The last value, the highest of the last two, or of the last four by twice the measure.
  params = LEAP, yields_to = { "loss_leap", "loss_spike", "loss_diverged", "loss_not_finite" },
  shows = "loss {now:.4g}, {usual:.4g} before",
  actions = { otherwise = "check what changed at the end (learning rate, data), and resume from an earlier checkpoint" },
  evaluate = function(job, p)
    local now = greatest(job.now:last(), job.near:max():fill(job.now:last()))
    local any = leapt(job, p, job.now:last(), job.usual, p.scatter):surely() | leapt(job, p, job.pair:max(), job.early, p.scatter):surely()
              | leapt(job, p, job.near:max(), job.past, p.peak):surely()
    return any & job.seen:count():at_most(p.few) & ~job.epoch:last():below(job.epoch:max()):surely(), { now = now, usual = job.usual:min() }
  end,
}

-- ---- cases ------------------------------------------------------------------------------------------------------------------------

case "a leap in the middle of a run that goes on" {
  ranks = 1,
  { lasting = "6s", phase = "train", step = steps(1, 11446), loss = noise(3.06, 0.02) }, { lasting = "3s", loss = 7.7, ends = "failed" },
  fires = { { "loss_leap" } },
}
case "few epochs a run, and a run of another model is appended, whose loss is far higher" {
  ranks = 1, { lasting = "4s", loss = ramp(900, 700), epoch = ramp(0, 3) }, { lasting = "4s", loss = ramp(720, 300), epoch = ramp(0, 3) }, { lasting = "2s", loss = 31000, epoch = 0 }, { lasting = "3s", loss = 30000, epoch = 1 },
}
case "a loss of a hundred times what it was, in a run that is young" {
  ranks = 1, { lasting = "1s", phase = "train", step = steps(0.25, 400), loss = 0.15 }, { lasting = "3s", loss = 25000, ends = "failed" },
  fires = { { "loss_leap" } },
}
case "losses of hundreds of millions, as scattered as others" {
  ranks = 1, { lasting = "1s", phase = "train", step = steps(1, 5900), loss = 3e8 }, { lasting = "1s", loss = 4.5e8 }, { lasting = "1s", loss = 2.5e8 }, { lasting = "2s", loss = 5e8 },
}
case "a leap after a single value, far from the birth" {
  ranks = 1,
  { lasting = "10s", phase = "train", step = steps(10, 9000), loss = 2.9 }, { lasting = "20s", loss = 6.9, ends = "failed" },
  fires = { { "loss_leap_at_end" } },
}
case "scattered losses of a batch of one, in a run that goes on" {
  ranks = 1, { lasting = "12s", phase = "train", step = steps(1, 20000), loss = noise(1.6, 0.5) },
}
case "scattered losses, of which one is twice the highest before" {
  ranks = 1,
  { lasting = "4s", phase = "train", step = steps(1, 20000), loss = ramp(0.75, 1.6) }, { lasting = "4s", loss = ramp(1.6, 0.9) }, { lasting = "1s", loss = 3 },
  { lasting = "4s", loss = ramp(2.4, 1) },
}
case "it fell for a few values, and explodes" {
  ranks = 1,
  { lasting = "6s", phase = "train", step = steps(1, 1), loss = ramp(1.2, 0.8) }, { lasting = "2s", loss = 13.4, ends = "failed" },
  fires = { { "loss_leap" } },
}
