-- E1: a loss that jumps. Windows count values, so that they mean the same at 0.2 s and at 30 s a step. Losses are
-- compared as ratios (0.35 is 1.4 times), so that one of 0.02 and a perplexity of 40 are judged alike; one that was
-- negative is judged for its size alone.

local losses = shared "losses"

rule "another_training" {
  severity = "none", per = "job", every = { "all", "30s" },
  summary = "Another training, fold or epoch has begun in this log: earlier losses say nothing about it",
  needs = {
    all   = signal "loss"           { over = "attempt" },
    step  = signal "step"           { over = "attempt" },
    epoch = signal "epoch"          { over = 2, least = 2 },
    ended = signal "training_ended" { over = "attempt" },
    again = signal "run_started"    { over = "attempt" },
  },
  -- Steps or epochs are counted from the start again, or the log says that a training has ended or started; in a log
  -- that shows neither steps nor epochs, the loss is back where it began. It holds for `values` losses.
  params = { small = 0.1, values = 48, birth = 0.15 },
  state = { left = 0, runs = 0, seen = 0 },
  evaluate = function(job, p, state)
    local runs, seen = job.ended:count():fill(0) + job.again:count():fill(0), job.all:count():fill(0)
    local step, epoch = job.step:last():max("job"), job.epoch:last()
    local anew   = step:below(p.small * job.step:max():max("job")):surely() | epoch:below(job.epoch:first()):surely()
    local back   = losses.ratio(job.all:last(), job.all:first(3)):abs():below(p.birth):surely() & seen:above(p.values)
                 & ~(step:known() | epoch:known())
    local begins = anew | back | (runs:above(state.runs) & state.seen:above(0))
    state.left   = begins:choose(p.values, greatest(state.left - (seen - state.seen), 0))
    state.runs, state.seen = runs, seen
    return state.left:above(0)
  end,
}

rule "loss_spike" {
  family = "E1", severity = "warning", per = "job", every = { "near", "30s" },
  summary = "Loss spike",
  needs = {
    near  = signal "loss" { over = 5, least = 5 },
    usual = signal "loss" { over = 24, lag = 5, least = 16, freeze = true },
    past  = signal "loss" { over = 256, lag = 5, least = 16, freeze = true },
    all   = signal "loss" { over = "attempt" },
    step  = signal "step" { over = "attempt" },
    rate  = signal "learning_rate" { over = 16, least = 1 },
    rates = signal "learning_rate" { over = 64, lag = 16, least = 4 },
    grad  = signal "grad_norm" { over = 5, least = 1 },
    grads = signal "grad_norm" { over = 64, lag = 5, least = 4 },
    anew  = finding "another_training",
  },
  -- The second highest of five values is above the usual ones by `jump`, by `z` deviations, by `beyond` times as much
  -- as any of them, and takes back `share` of what was learned. Or one alone is higher than all before, the first ones
  -- included. The hump of a warm-up comes before anything is learned. Three looks, because another training shows when
  -- the row of its first step closes.
  params = { jump = 0.35, z = 6, beyond = 1.5, share = 0.33, learned = 0.2, late = 1000, rises = 3, grows = 5 },
  fire = "3 of 3", clear = "16 of 16", yields_to = { "loss_diverged", "loss_stays_high", "loss_not_finite" },
  shows = { "loss {now:.4g}[ near step {step:.0f}][, {usual:.4g} before]", "the loss jumped[ near step {step:.0f}]" },
  causes = {
    rate     = "the learning rate is {rises:.0f} times what it was shortly before",
    gradient = "the gradient norm is {grows:.0f} times its usual value",
  },
  actions = {
    rate      = "make the learning rate {rises:.0f} times lower, and resume from a checkpoint before the spike",
    gradient  = "watch the loss: if it does not recover, resume from before the spike with gradient clipping",
    otherwise = "watch the loss: if it does not recover, resume from before the spike, or skip that data",
  },
  evaluate = function(job, p)
    local one, two, usual = job.near:max(), job.near:quantile(0.75), job.usual:median()
    local high    = greatest(job.past:max(), job.all:first(3))
    local limit   = greatest(p.jump, p.z * losses.scatter(job.usual), p.beyond * losses.ratio(job.usual:max(), usual))
    local both    = losses.ratio(two, usual):above(limit) & (two - usual):above(p.share * (high - usual))
    local alone   = losses.ratio(one, usual):above(limit) & one:above(high)
    local step    = job.step:last():max("job")
    local learned = losses.ratio(high, usual):above(p.learned) | step:above(p.late):surely()
    local rises, grows = job.rate:max() / job.rates:median(), job.grad:max() / job.grads:median()
    local rate    = rises:above(p.rises):surely()
    return (both | alone) & learned & job.past:min():above(0) & ~job.anew:now():surely(),
      { now = one, usual = usual, step = step, rises = rises, grows = grows,
        rate = rate, gradient = grows:above(p.grows) & ~rate }
  end,
}

rule "loss_leap" {
  family = "E1", severity = "warning", per = "job", every = { "near", "30s" },
  summary = "Loss spike shortly after the start",
  needs = {
    near  = signal "loss" { over = 2, least = 2 },
    past  = signal "loss" { over = 14, lag = 2, least = 1 },
    all   = signal "loss" { over = "attempt" },
    grad  = signal "grad_norm" { over = 2, least = 2 },
    grads = signal "grad_norm" { over = 14, lag = 2, least = 1 },
    step  = signal "step" { over = "attempt" },
    anew  = finding "another_training",
  },
  -- Of a run with `few` values. Two in a row are above all before by `leap`, or one is by `alone`, and the gradient
  -- norm is `grows` times as high; by `beyond` times the range of those before. In a run that began here once the loss
  -- has `fallen`, and by `young`: a warm-up has humps.
  params = { few = 21, leap = 0.2, alone = 0.5, young = 1.1, fallen = 0.85, late = 1000, beyond = 1.5, grows = 2 },
  clear = "16 of 16", yields_to = { "loss_spike", "loss_diverged", "loss_stays_high", "loss_not_finite" },
  shows = { "loss {now:.4g}[, at most {usual:.4g} before]", "the loss jumped" },
  actions = { otherwise = "watch the next values: if the loss stays high, resume from an earlier checkpoint" },
  evaluate = function(job, p)
    local high, low = job.past:max(), job.past:min()
    local range  = p.beyond * losses.ratio(high, low)
    local late   = job.step:last():max("job"):above(p.late):surely()
    local limit  = greatest(late:choose(p.leap, p.young), range)
    local two    = losses.ratio(job.near:min(), high):above(limit) & job.past:count():above(1)
    local grown  = (job.grad:max():above(p.grows * job.grads:max()) & late):surely()
    local one    = losses.ratio(job.near:max(), high):above(greatest(p.alone, 2 * range)) & grown
    return (two | one) & (late | low:below(p.fallen * job.all:first())) & low:above(0) & job.all:count():at_most(p.few)
         & ~job.anew:now():surely(), { now = job.near:max(), usual = high }
  end,
}

rule "loss_exploded" {
  family = "E1", severity = "warning", per = "job", every = { "one", "30s" },
  summary = "Loss exploded",
  needs = {
    one  = signal "loss" { over = 1 },
    past = signal "loss" { over = 64, lag = 1, least = 1 },
    anew = finding "another_training",
  },
  -- `times` as large as any before, whatever their sign, and above `size`: a penalty may begin at next to nothing.
  params = { times = 300, size = 10 },
  clear = "16 of 16", yields_to = { "loss_diverged", "loss_stays_high", "loss_not_finite", "loss_absurd" },
  shows = "loss {now:.6g}, at most {high:.4g} before",
  actions = {
    otherwise = "stop the job; resume from an earlier checkpoint with a lower learning rate or gradient clipping",
  },
  evaluate = function(job, p)
    local now, high = job.one:last():abs(), greatest(job.past:max(), -job.past:min())
    return now:above(greatest(p.size, p.times * high)) & high:above(0) & ~job.anew:now():surely(),
      { now = job.one:last(), high = high }
  end,
}

-- ---- cases ----------------------------------------------------------------------------------------------------------

case "a spike of two values that recovers" {
  ranks = 4,
  { lasting = "40s", phase = "train", step = steps(1), loss = noise(4.5, 0.1) },
  { lasting = "60s", loss = noise(2.5, 0.15) },
  { lasting = "1s", loss = 6.5 }, { lasting = "1s", loss = 5.6 }, { lasting = "1m", loss = noise(2.4, 0.15) },
  fires = { { "loss_spike", within = "5s" } },
}
case "a bar shows one value of a spike, higher than the first loss" {
  ranks = 1,
  { lasting = "40s", phase = "train", step = steps(0.125, 1), loss = ramp(4.9, 2.4) },
  { lasting = "1m", step = steps(0.125, 321), loss = noise(2.4, 0.1) },
  { lasting = "1s", step = steps(0.125, 801), loss = 6.5 },
  { lasting = "1m", step = steps(0.125, 809), loss = noise(2.4, 0.1) },
  fires = { { "loss_spike" } },
}
case "a hard batch: one value of twice the usual, far below the first loss" {
  ranks = 1,
  { lasting = "1m", phase = "train", step = steps(1), loss = ramp(9, 1.9) },
  { lasting = "2m", loss = noise(1.87, 0.06) },
  { lasting = "1s", loss = 3.8 }, { lasting = "2m", loss = noise(1.87, 0.06) },
}
case "the gradient norm leaps with the loss" {
  ranks = 1, { lasting = "1m", phase = "train", step = steps(1), loss = ramp(9, 2), grad_norm = noise(0.5, 0.05) },
  { lasting = "1m", loss = noise(2, 0.05), grad_norm = noise(0.5, 0.05) }, { lasting = "3s", loss = 6, grad_norm = 40 },
  { lasting = "1m", loss = noise(2, 0.05), grad_norm = noise(0.5, 0.05) },
  fires = { { "loss_spike", cause = "gradient" } },
}
case "the hump of a warm-up" {
  ranks = 1,
  { lasting = "20s", phase = "train", step = steps(1, 1), loss = ramp(12.4, 11) }, { lasting = "4s", loss = 44 },
  { lasting = "40s", loss = ramp(40, 9) }, { lasting = "60s", loss = ramp(9, 7) },
}
case "a learning rate of three hundred times what it was shows in the loss" {
  ranks = 1, { lasting = "3m", phase = "train", step = steps(0.5), loss = ramp(5, 2.4), learning_rate = 0.001 },
  { lasting = "2m", loss = noise(2.4, 0.03) }, { lasting = "5s", learning_rate = 0.3 },
  { lasting = "20s", loss = noise(7, 0.2) },
  fires = { { "loss_spike", cause = "rate", within = "10s" }, { "loss_diverged", cause = "rate" } },
}
case "a second run in the same log counts its steps from the start" {
  ranks = 1,
  { lasting = "30s", phase = "train", step = steps(1), loss = ramp(6.5, 3.2) },
  { lasting = "100s", loss = noise(3.1, 0.05) },
  { lasting = "2s", step = steps(1, 1), loss = silent }, { lasting = "3s", loss = 6.6 },
  { lasting = "30s", loss = ramp(6.4, 3) },
}
case "a second training in the same log starts higher, behind the line that ends the first" {
  ranks = 1,
  { lasting = "60s", phase = "train", loss = ramp(3, 1.2) },
  { lasting = "120s", loss = noise(1.2, 0.02), events = { { "training_ended", at = "119s" } } },
  { lasting = "40s", loss = ramp(4, 1.6) }, { lasting = "60s", loss = noise(1.6, 0.02) },
}
case "a log without steps: the epochs of a second run are counted from the start" {
  ranks = 1,
  { lasting = "60s", phase = "train", epoch = ramp(1, 60), loss = ramp(5, 0.4) },
  { lasting = "120s", epoch = ramp(61, 180), loss = noise(0.4, 0.02) },
  { lasting = "60s", epoch = ramp(1, 60), loss = ramp(6, 0.5) },
}
case "a log without steps: the loss jumps, and the epochs go on" {
  ranks = 1,
  { lasting = "60s", phase = "train", epoch = ramp(1, 60), loss = ramp(5, 0.4) },
  { lasting = "120s", epoch = ramp(61, 180), loss = noise(0.4, 0.02) },
  { lasting = "180s", epoch = ramp(181, 360), loss = noise(3, 0.1) },
  fires = { { "loss_spike" }, { "loss_stays_high" } },
}
case "a log without steps and epochs: the next fold begins where the first one began" {
  ranks = 1,
  { lasting = "3m", phase = "train", loss = ramp(0.0134, 0.0013) }, { lasting = "3m", loss = ramp(0.0133, 0.0013) },
  { lasting = "3m", loss = ramp(0.0135, 0.0013) },
}
case "folds of five epochs, and then those of a model whose loss is twice as high" {
  ranks = 1,
  { lasting = "5s", phase = "train", epoch = ramp(1, 5), loss = ramp(0.16, 0.13) },
  { lasting = "5s", epoch = ramp(1, 5), loss = ramp(0.16, 0.13) },
  { lasting = "5s", epoch = ramp(1, 5), loss = ramp(0.16, 0.13) },
  { lasting = "5s", epoch = ramp(1, 5), loss = ramp(0.4, 0.37) },
  { lasting = "5s", epoch = ramp(1, 5), loss = ramp(0.4, 0.37) },
  { lasting = "5s", epoch = ramp(1, 5), loss = ramp(0.4, 0.37) },
}
case "a leap in a resumed run" {
  ranks = 1,
  { lasting = "6s", phase = "train", step = steps(1, 11446), loss = noise(3.06, 0.02) },
  { lasting = "3s", loss = 7.7, ends = "failed" },
  fires = { { "loss_leap" } },
}
case "the second loss of a resumed run is high, and so is its gradient norm" {
  ranks = 1,
  { lasting = "1s", phase = "train", step = steps(1, 11446), loss = 3.1, grad_norm = 12 },
  { lasting = "1s", loss = 3.2, grad_norm = 260 },
  { lasting = "1s", loss = 7.7, grad_norm = 255 }, { lasting = "1s", loss = 3.3, grad_norm = 14 },
  fires = { { "loss_leap" } },
}
case "scattered losses of batches of one in a resumed run" {
  ranks = 1, { lasting = "12s", phase = "train", step = steps(1, 20000), loss = noise(1.6, 0.5) },
}
case "scattered losses of a resumed run, of which one is twice the highest before" {
  ranks = 1,
  { lasting = "4s", phase = "train", step = steps(1, 20000), loss = ramp(0.75, 1.6) },
  { lasting = "4s", loss = ramp(1.6, 0.9) },
  { lasting = "1s", loss = 3 }, { lasting = "4s", loss = ramp(2.4, 1) },
}
case "the loss of a young run falls for a few values, and leaps" {
  ranks = 1,
  { lasting = "6s", phase = "train", step = steps(1, 1), loss = ramp(1.2, 0.8) },
  { lasting = "2s", loss = 13.4, ends = "failed" },
  fires = { { "loss_leap" } },
}
case "a young fine-tune learns, and then loses it all" {
  ranks = 1,
  { lasting = "15s", phase = "train", step = steps(1), loss = ramp(1.4, 0.9) },
  { lasting = "5s", loss = noise(0.9, 0.03) },
  { lasting = "30s", loss = noise(6, 0.3) },
  fires = { { "loss_spike", within = "5s" }, { "loss_stays_high" } },
}
case "few epochs a run, and a run of another model is appended, whose loss is far higher" {
  ranks = 1,
  { lasting = "4s", loss = ramp(900, 700), epoch = ramp(0, 3) },
  { lasting = "4s", loss = ramp(720, 300), epoch = ramp(0, 3) },
  { lasting = "2s", loss = 31000, epoch = 0 }, { lasting = "3s", loss = 30000, epoch = 1 },
}
case "the loss of a young run is a hundred thousand times what it was" {
  ranks = 1,
  { lasting = "1s", phase = "train", step = steps(0.25, 400), loss = 0.15 },
  { lasting = "3s", loss = 25000, ends = "failed" },
  fires = { { "loss_exploded" } },
}
case "a negative loss explodes" {
  ranks = 1,
  { lasting = "5s", phase = "train", step = steps(1, 78000), loss = noise(-4.3, 0.1) }, { lasting = "1s", loss = 4191 },
  { lasting = "5s", loss = noise(-2.7, 0.2) },
  fires = { { "loss_exploded" } },
}
case "a penalty for the distance to the first policy: it begins next to nothing, and grows" {
  ranks = 1,
  { lasting = "20s", phase = "train", step = steps(1, 1), loss = ramp(0.0002, 0.0001) },
  { lasting = "5m", loss = ramp(0.0001, 0.03) },
}
