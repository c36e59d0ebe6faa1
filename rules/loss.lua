-- E1: the loss. All windows count points, so that they mean the same at 0.2 s and at 30 s a step.

rule "loss_not_finite" {
  family = "E1", severity = "critical", per = "job", every = { "loss", "grad", "counted", "reported", "30s" },
  summary = "NaN/Inf loss or gradient",
  needs = {
    loss    = signal "loss"           { over = 1 },
    losses  = signal "loss"           { over = 32, least = 32 },
    all     = signal "loss"           { over = "attempt" },
    grad    = signal "grad_norm"      { over = 2, least = 2 },
    bad     = signal "grad_norm"      { over = 1 },
    grads   = signal "grad_norm"      { over = "attempt" },
    thrice  = signal "grad_norm"      { over = 3, least = 3 },
    skip    = signal "overflow_skip"  { over = "1m" },
    counted = signal "nan_iterations" { over = "5m" },
    reported = signal "loss_is_nan"   { over = "attempt" },
    gone    = signal "loss_scale_exhausted" { over = "attempt" },
    step    = signal "step"           { over = "attempt" },
  },
  -- While the loss scale is searched, steps overflow and are left out: bad values are part of that, 32 in a row are not. A gradient that
  -- is no number once is left out as well; two in a row are not, in a run that began with one that was, nor three where a search is long over. Bars show a loss that is no
  -- number until the first step is made: so a value that was one has come before, or eight have not.
  params = { late = 1000 }, clear = "8 of 8",
  shows = "loss {loss} after step {step:.0f}",      -- the last one that is known to be made: the row of a value's own step is closed after it
  causes = {
    itself   = "the loss itself",
    gradient = "the gradient norm, twice in a row or with a loss of 0",
    counted  = "the framework skipped {count:.0f} steps because of it",
    reported = "the program detected it itself and usually stops",
  },
  actions = {
    counted   = "stop the job and resume from before step {step:.0f} with a lower learning rate or gradient clipping",
    otherwise = { "stop the job and resume from a checkpoint before step {step:.0f} with a lower learning rate or gradient clipping", "stop the job and resume from an earlier checkpoint with a lower learning rate or gradient clipping" },
  },
  evaluate = function(job, p)
    local searching = job.skip:count():above(0):surely()
    local begun = job.all:first():below(1e30):surely() | job.all:nonfinite():at_least(8):surely()
    local loss  = (job.loss:nonfinite():above(0) & ~searching & begun) | job.losses:nonfinite():at_least(32):surely()
    local late  = job.step:last():max("job"):above(p.late):surely()
    local grad  = ((job.grad:nonfinite():at_least(2) & job.grads:first():below(1e30):surely()) | (job.thrice:nonfinite():at_least(3) & late)) & ~searching
    local count = job.counted:count():above(0):surely()
    local gone  = job.gone:count():above(0):surely()
    local reported = job.reported:count():above(0):surely()
    local lost  = (job.loss:last():is(0) & job.bad:nonfinite():above(0) & ~searching):surely()      -- a gradient of no number, and nothing left of the loss
    return loss:surely() | grad:surely() | count | gone | reported | lost,
      { loss = job.loss:last(), step = job.step:last():max("job"), count = job.counted:last("count"), itself = loss, gradient = grad | lost, counted = count, reported = reported }
  end,
}

rule "loss_never_finite" {
  family = "E1", severity = "critical", per = "job", every = "end",
  summary = "Last loss was NaN/Inf",
  needs = { loss = signal "loss" { over = 1 }, skip = signal "overflow_skip" { over = "1m" }, alive = signal "any" { over = "attempt" } },
  -- Where the log goes on for long after it, later losses are of a form that is not read: no number is read in more forms than a number.
  params = { later = "2h", recent = "10m" },
  yields_to = { "loss_not_finite" },
  shows = "the last loss was {loss}",
  actions = { otherwise = "look for a division by 0, a logarithm of 0 or a wrong precision in the first steps; restart with a lower learning rate" },
  evaluate = function(job, p)
    local before = (job.loss:age():above(p.later) & job.alive:age():min("job"):below(p.recent)):surely()
    return job.loss:nonfinite():above(0):surely() & ~job.skip:count():above(0):surely() & ~before, { loss = job.loss:last() }
  end,
}

rule "loss_spike" {
  family = "E1", severity = "warning", per = "job", every = { "near", "30s" },
  summary = "Loss spike",
  needs = {
    one   = signal "loss" { over = 1 },
    near  = signal "loss" { over = 5, least = 5 },
    usual = signal "loss" { over = 64, lag = 5, least = 16, freeze = true },
    noise = signal "loss" { over = 24, lag = 5, least = 16, freeze = true },      -- short: a loss that falls is no noise
    wide  = signal "loss" { over = 256, lag = 5, least = 16, freeze = true },
    birth = signal "loss" { over = "attempt" },
    step  = signal "step" { over = "attempt" },
    rate  = signal "learning_rate" { over = 16, least = 1 },
    rates = signal "learning_rate" { over = 64, lag = 16, least = 4 },
    grad  = signal "grad_norm" { over = 5, least = 1 },
    grads = signal "grad_norm" { over = 64, lag = 5, least = 4 },
    ended = signal "training_ended" { over = "attempt" },
    epoch = signal "epoch" { over = 2, least = 2 },
  },
  -- Two of the last five values (the second highest of them) lie far above the median before: in the run's own scatter; in its own size;
  -- and as a share of what it has learnt since its birth. A loss that fell by no more than it moves in hundreds of values is no measure of what is learnt
  -- (rewards, two networks against each other): nor has a run that goes on from elsewhere shown it. Of those only a height counts that was
  -- never reached in hundreds of values, and twice the size. The hump of a warm-up is no jump: it comes before the loss has fallen. Nor is one hard
  -- batch of a loss that has fallen to next to nothing (`tiny` of its birth): there only `much` of its birth is.
  -- Nor does a loss rise from 0, which is that of a program that does not train yet. Where epochs are counted from the start again, another run has begun;
  -- where neither is read, one may have, unless the loss is `twice_born` its birth.
  -- What happens at a round step, by the count of a job that prints at least every `wide / prints` steps, was planned: opacities that are set back,
  -- a new term, harder data. Of a job that prints at least every `wide` steps, so was what it shows first after it. If it stays, `loss_diverged` says so.
  -- A run that goes on, or whose steps hold the number of its epoch, begins far from 0: its round step is found `rounds` at a time.
  -- What was judged a jump lasts until the loss has come back to its usual, which does not move meanwhile.
  params = { z = 6, size = 0.7, share = 0.15, learnt = 2.5, height = 1.2, fallen = 0.1, early = 500, far = 10, twice = 1, birth = 0.15, alone = 8, ratios = 5, tails = 4, double = 2, over = 1.5, rises = 3, grows = 5, fresh = 0.1, patience = 16, values = 64, tiny = 0.02, much = 0.5, twice_born = 2, round = 1000, rounds = 32000, wide = 50, prints = 3 },
  -- `at`: the step at which values lie out, until they are judged; `judged`: 1 a jump, 2 another training, or planned; `calm`: the last step
  -- that was known before any of the last values lay out.
  state = { at = -1, calm = -1, waits = 0, judged = 0, seen = 0, runs = 0, new = 0, round = 0, prev = -1, pace = 1e9, planned = 0 },
  clear = "16 of 16", yields_to = { "loss_diverged", "loss_not_finite" },
  shows = "loss {now:.4g} after step {step:.0f}, {usual:.4g} before ({z:.1f} deviations)",
  causes = {
    rate     = "the learning rate is {rises:.0f} times what it was shortly before",
    gradient = "the gradient norm is {grows:.0f} times its usual value",
  },
  actions = {
    rate      = "restore the learning rate ({rises:.0f} times lower) and resume from a checkpoint before step {step:.0f}",
    gradient  = "watch the loss: if it does not recover, resume from a checkpoint before step {step:.0f} with gradient clipping, or skip that data",
    otherwise = "watch the loss: if it does not recover, resume from a checkpoint before step {step:.0f}, or skip that data",
  },
  evaluate = function(job, p, state)
    local now, usual = job.near:quantile(0.75), job.usual:median()
    local scatter = 1.4826 * job.noise:mad()
    local broad   = greatest(scatter, 1.4826 * job.usual:mad())
    local excess  = now - usual
    local fall    = job.birth:first(3) - usual
    local signs   = job.birth:min():below(0) & job.birth:max():above(0)      -- of rewards and advantages
    local learnt  = fall:above(p.learnt * job.wide:mad()) & fall:above(p.fallen * job.birth:first(3):abs())
    local share   = usual:below(p.tiny * job.birth:first(3)):surely():choose(p.much, p.share) * fall
    local rises, grows = job.rate:max() / job.rates:median(), job.grad:max() / job.grads:median()
    local jumped  = excess:above(p.z * broad) & now:above(usual + p.height * (job.usual:max() - usual)) & excess:above(p.size * usual:abs()) & excess:above(share)
    -- A bar shows few of the values: one alone must lie far out as a difference and as a ratio, and above all that was seen lately.
    local one     = job.one:last()
    local alone   = (one - usual):above(p.alone * broad) & (one / usual):log():above(p.ratios * broad / usual) & one:above(p.double * usual)
                  & one:above(p.over * job.noise:max()) & (one - usual):above(share) & usual:above(0)
    local anew    = (now - job.birth:first(3)):abs():below(p.birth * job.birth:first(3):abs())      -- a mean of each epoch begins again
    -- A second run in the same log: the loss is what it was at the birth of the first.
    local again   = (one - job.birth:first(3)):abs():below(p.birth * job.birth:first(3):abs()):surely()
    local ever    = ~signs & excess:above(p.far * broad) & excess:above(p.twice * usual:abs()) & now:above(job.wide:max()) & job.step:last():max("job"):above(p.early)
                  & ~(learnt & excess:below(p.share * fall)):surely()
    local ratio   = (now / usual):log():above(p.tails * broad / usual):maybe()        -- losses of small batches have long tails
    local none    = usual:is(0):surely()
    local bare    = job.step:count():is(0):all("job") & job.birth:first(3):above(0):surely() & now:below(p.twice_born * job.birth:first(3)):surely() & ~job.epoch:last():above(-1):surely()
    local out     = ((excess:above(0) & learnt & jumped & ratio & ~anew & ~signs) | (learnt & alone & ~anew & ~again) | (ever & ratio)):surely() & ~none & ~bare
    -- Or it is another one: its steps are small again, or the one before has reported its end. The row of a value's own step is closed a moment
    -- after the value is seen: the next value, or a look without one, judges it.
    local step    = job.step:last():max("job")
    local count   = job.birth:count()
    local fresh   = count:above(state.seen)
    local ends    = job.ended:count():fill(0)
    local back    = job.epoch:last():below(job.epoch:first()):surely()
    state.new     = (ends:above(state.runs) | back):choose(p.values, greatest(state.new - (count - state.seen), 0))
    local other   = step:below(p.fresh * job.step:max():max("job")):surely() | state.new:above(0)
    local idle    = state.judged:is(0)
    state.pace    = step:above(state.prev):surely():choose(step - state.prev, state.pace)
    state.prev    = step:fill(state.prev)
    local onwards = step:at_least(state.round + p.round):surely():choose(state.round + p.round, state.round)
    state.round   = step:below(state.round):surely():choose(0, step:at_least(state.round + p.rounds):surely():choose(state.round + p.rounds, onwards))
    local begins  = out & idle & state.waits:is(0)
    state.at      = begins:choose(step, state.at)
    local waits   = ((out | state.waits:above(0)) & idle):choose(state.waits + 1, 0)
    local due     = waits:above(0) & (step:above(state.at):surely() | step:below(state.at):surely() | ~step:above(-1):surely() | (waits:above(1) & ~fresh) | waits:above(p.patience))
    local past    = step - state.round
    local soon    = begins & past:at_most(least(p.wide, p.prints * state.pace)) & (p.prints * state.pace):at_most(p.wide)
    local next    = due & past:below(state.pace) & state.pace:at_most(p.wide)
    state.planned = ((soon | next) & state.round:above(0)):surely():choose(p.values, greatest(state.planned - (count - state.seen), 0))
    state.waits   = due:choose(0, waits)
    local lasts   = (excess:above(p.size * usual:abs()) & state.judged:is(1)):surely() & ~other
    state.judged  = due:choose((other | state.planned:above(0)):choose(2, 1), (out | lasts):choose(state.judged, 0))
    state.runs, state.seen = ends, count
    local high    = job.near:max()
    state.calm    = (high - usual):above(p.size * usual:abs()):surely():choose(state.calm, step)
    return (due | out | lasts) & state.judged:is(1), { now = high, usual = usual, z = (high - usual) / broad, step = state.calm, rises = rises, grows = grows, rate = rises:above(p.rises), gradient = grows:above(p.grows) }
  end,
}

rule "loss_diverged" {
  family = "E1", severity = "critical", per = "job", every = { "recent", "30s" },
  summary = "Training diverged",
  needs = {
    recent = signal "loss" { over = 16 },
    wide   = signal "loss" { over = 256, lag = 32, least = 16 },
    noise  = signal "loss" { over = 24, lag = 32, least = 16 },
    trend  = signal "loss" { over = 32, least = 16 },
    birth  = signal "loss" { over = "attempt" },
    long   = signal "loss" { over = 32, least = 32 },
    one    = signal "loss" { over = 1 },
    past   = signal "loss" { over = 256, lag = 32, least = 1 },
    young  = signal "loss" { over = 10, least = 10 },
    step   = signal "step" { over = "attempt" },
    rate   = signal "learning_rate" { over = 64, least = 1 },
    rates  = signal "learning_rate" { over = 64, lag = 64, least = 4 },
    epoch  = signal "epoch" { over = 2, least = 2 },
  },
  -- The median of 16 values is above its best: by a share of what was learnt, by the run's own scatter, by its own size, and by more than
  -- an earlier rise from which it came back; 32 times in a row (64 in a young run), and without falling again, as after a new term or harder data.
  -- It lasts until the loss has come back to near its best: one that falls again, far above, is lost still. Or 32 values rise steadily to half more than any of hundreds before. Or, in a young run that had begun to learn, ten values lie well above its birth.
  -- Neither judges a loss below `floor`: a distance to the first policy begins at 0, and grows. Where steps are small again (`fresh` of the highest)
  -- and the loss is `other` times what it was, or where the epochs begin anew, another training has begun in this log: what was best before says nothing of it.
  params = { share = 0.25, birth = 3, z = 6, size = 0.1, learnt = 3, fallen = 0.1, again = 1.5, falls = -3.5, climb = 1.2, height = 1.5, never = 0.85, steady = 6,
             early = 400, few = 128, begun = 0.95, above = 2, rises = 3, floor = 0.05, fresh = 0.1, other = 1.5, values = 48, all = 3.9 },
  state = { best = math.huge, above = 0, seen = 0, peak = 0, known = 0, lost = 0, anew = 0, run = 0 },
  clear = "32 of 32", yields_to = { "loss_not_finite" },
  shows = "median of the last 16 losses {now:.4g} at step {step:.0f}; best {best:.4g}, initially {birth:.4g}",
  causes = { stays = "the loss rose and did not recover", climbs = "the loss climbs steadily", young = "the loss is above its initial value again",
             rate = "the learning rate is {rises:.0f} times what it was before the rise" },
  actions = {
    rate      = "stop the job, restore the learning rate ({rises:.0f} times lower) and resume from a checkpoint before the rise",
    otherwise = "stop the job and resume from a checkpoint before the rise with a lower learning rate",
  },
  evaluate = function(job, p, state)
    local now     = job.recent:median()
    local count   = job.birth:count()
    local birth   = job.birth:first(3)
    local fresh   = count:above(state.seen)                       -- a new value, not a look in between
    local step    = job.step:last():max("job")
    local small   = (step:below(p.fresh * job.step:max():max("job")) & job.one:last():above(p.other * job.wide:median())):surely()
    state.anew    = small:choose(p.values, greatest(state.anew - (count - state.seen), 0))
    local back    = job.epoch:last():below(job.epoch:first()):surely()
    state.run     = back:choose(p.values, greatest(state.run - (count - state.seen), 0))
    local another = ((state.anew:above(0) & now:above(p.other * job.wide:median())):surely() | state.run:above(0)) & state.lost:is(0)
    state.best    = another:choose(now, least(state.best, now))
    local rise    = now - state.best
    local fall    = birth - state.best
    local scatter = 1.4826 * job.noise:mad()
    local falls   = job.trend:kendall():below(p.falls):surely()
    -- An excursion that came back to where it began is known from then on.
    state.peak    = greatest(state.peak, rise)
    local back    = rise:below(0.1 * fall):surely()
    state.known   = back:choose(greatest(state.known, state.peak), state.known)
    state.peak    = back:choose(rise, state.peak)
    local learnt  = fall:above(p.learnt * job.wide:mad()) & fall:above(p.fallen * birth:abs())
    local signs   = job.birth:min():below(0) & job.birth:max():above(0)      -- of rewards and advantages
    local over    = learnt & rise:above(signs:choose(p.birth, p.share) * fall) & rise:above(p.z * scatter) & rise:above(p.size * state.best:abs()) & rise:above(p.again * state.known) & ~falls
    state.above   = over:choose(state.above + fresh:choose(count - state.seen, 0), 0)
    state.seen    = count
    local stays   = state.above:at_least(count:below(p.early):choose(64, 32))      -- a warm-up may have a hump
    local before  = greatest(job.past:max():fill(birth), birth)
    local climbs  = job.birth:min():above(0) & job.long:last():above(p.floor) & job.long:kendall():above(p.steady) & job.long:last():above(p.climb * job.long:first())
                  & (job.long:last():above(p.height * before) | (state.best:above(p.never * birth) & job.long:last():above(p.height * birth)))
    local early   = job.young:min():above(p.above * birth) & job.young:min():above(p.floor) & (job.young:min() - birth):above(1.4826 * job.birth:mad()) & birth:above(0) & job.birth:min():below(p.begun * birth)
                  & ~job.young:kendall():below(p.falls):surely() & count:below(p.few)
    -- Ten values that rise each (Kendall is 3.94 then), by about as much as the least value is, are the sum of an epoch's losses so far.
    local added   = (job.young:last() - job.young:first()) / 9
    local sums    = (job.young:kendall():at_least(p.all) & added:above(0.3 * job.birth:min()) & added:below(1.25 * job.birth:min())):surely()
    local rises   = job.rate:max() / job.rates:median()
    local begins  = stays:surely() | ((climbs:surely() | early:surely()) & ~sums & state.run:is(0))
    local above   = (rise:above(p.share * fall) & rise:above(p.size * state.best:abs()) & state.lost:above(0)):surely()
    state.lost    = (begins | above):choose(1, 0)
    return begins | above,
      { now = now, best = state.best, birth = birth, stays = stays:surely() | (above & ~begins), climbs = climbs, young = early, step = step, rises = rises, rate = rises:above(p.rises) }
  end,
}

rule "not_learning" {
  family = "E1", severity = "warning", per = "job", every = { "recent", "30s" },
  summary = "Loss is not decreasing",
  needs = {
    recent = signal "loss"          { over = 32, least = 32 },
    trend  = signal "loss"          { over = 32, least = 32 },
    past   = signal "loss"          { over = 256, lag = 32, least = 64 },
    birth  = signal "loss"          { over = "attempt" },
    rate   = signal "learning_rate" { over = 32, least = 16 },
    step   = signal "step"          { over = "attempt" },
    warm   = signal "weights_loaded" { over = "attempt" },
  },
  -- Only of a training that began here: one that goes on (from weights that one wrote before, too), or tunes a model that is good already, may stay
  -- where it is.
  -- The trend is Kendall's, in deviations of chance; a loss that is lower than hundreds of values before, or than it was for a while, does fall. A rate of 0 needs no patience: no warm-up keeps it there for 16 values.
  -- A loss of batches of one, of rewards, of two networks against each other need not fall: only one that is steady is judged; and one that
  -- is low at its birth is that of a model that is good already. Of a loss that is printed once in more than `often` steps the birth is not seen. A warm-up
  -- may take `long` steps: before, only `many` values show it.
  params = { kept = 0.98, high = 0.85, trend = -1.6, points = 48, steps = 400, born = 100, steady = 0.1, low = 1.6, often = 250, long = 1000, many = 128 },
  clear = "8 of 8", yields_to = { "loss_diverged", "loss_not_finite", "loss_spike" },
  shows = "loss {birth:.3f} initially, {now:.3f} now, after {steps:.0f} steps",
  causes = { rate = "the learning rate is 0", flat = "the learning rate is not 0, but nothing is learned: check labels, data, frozen weights, or a far too low rate" },
  actions = {
    rate      = "stop the job and check the learning rate schedule: the rate is 0",
    otherwise = "stop the job; check the labels, the learning rate, and whether the weights are frozen",
  },
  evaluate = function(job, p)
    local first, last = job.step:first():min("job"), job.step:last():max("job")
    local birth, now  = job.birth:first(16), job.recent:median()
    local flat   = now:above(p.kept * birth)
    local falls  = (now:below(p.kept * job.past:median()) | now:below(p.high * job.birth:quantile(0.9))):surely()
    local still  = flat & ~falls & job.trend:kendall():above(p.trend) & job.birth:count():at_least(p.points)
    local seen   = (last / job.birth:count()):at_most(p.often)
    local shown  = last:above(p.long) | job.birth:count():at_least(p.many)
    local born   = seen & shown & first:below(p.born) & last:above(p.steps) & birth:above(p.low) & ~job.warm:count():above(0):surely() & (1.4826 * job.recent:mad()):below(p.steady * birth)
    local zero   = job.rate:max():is(0)          -- rates that are printed with few digits look like 0, so the loss must stand still as well
    return (still & born) | (zero & still):surely(),
      { birth = birth, now = now, steps = last, rate = zero:surely(), flat = ~zero }
  end,
}
