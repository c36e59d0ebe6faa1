-- E1: steps that are left out because a gradient overflows in half precision.

rule "steps_skipped" {
  family = "E1", severity = "warning", per = "job", every = { "skip", "30s" },
  summary = "Nearly every step is left out, because gradients overflow at any scale of the loss",
  needs = { skip = signal "overflow_skip" { over = "attempt" }, step = signal "step" { over = "attempt" } },
  -- From 2^32, the highest scale that anybody begins with, 32 halvings lead to 1: a search is over before.
  params = { many = 32, most = 0.9, lowest = 1 }, yields_to = { "loss_not_finite" },
  shows = "{n:.0f} steps left out, the last at a scale of {scale:.0f}",
  causes = { lowest = "the scale cannot fall further", all = "no scale was ever found" },
  actions = { otherwise = "stop the job: train in bfloat16, or look for what overflows; nothing is learnt meanwhile" },
  evaluate = function(job, p)
    local n      = job.skip:count()
    local lowest = job.skip:last("scale"):at_most(p.lowest):surely()
    local made   = job.step:delta():max("job"):fill(0)
    local all    = n:at_least(p.many) & n:at_least(p.most * made)
    return lowest | all, { n = n, scale = job.skip:last("scale"), lowest = lowest, all = all }
  end,
}

rule "no_step_applied" {
  family = "E1", severity = "warning", per = "job", every = "end",
  summary = "The job ended, and not one of its steps had changed the model",
  needs = {
    skip   = signal "overflow_skip"    { over = "attempt" },
    step   = signal "step"             { over = "attempt" },
    ended  = signal "end_reason"       { over = "attempt" },
    raised = signal "exception_raised" { over = "attempt" },
    failed = signal "rank_failed"      { over = "attempt" },
    asked  = signal "cancel_requested" { over = "attempt" },
  },
  -- Where each step is printed. A search for the scale that was cut short looks the same: it has not begun to learn either.
  params = { few = 3 }, yields_to = { "steps_skipped", "loss_not_finite" },
  shows = "{n:.0f} steps, all of them left out because a gradient overflowed",
  causes = { search = "the scale of the loss was still being looked for when the job ended: it begins too high for so few steps" },
  actions = { search = "set the initial scale of the loss lower (2^16), or train in bfloat16; then start again, and look whether the first steps count" },
  evaluate = function(job, p)
    local steps = job.step:last():max("job") - job.step:first():min("job") + 1
    local each  = steps:at_least(p.few) & job.step:count():max("job"):at_least(steps)
    local n     = job.skip:count()
    local other = (job.raised:count():above(0) | job.failed:count():above(0):any("job") | job.asked:count():above(0)):surely()
    return each & n:at_least(steps) & ~other & ~job.ended:last():is("failed", "cancelled", "preempted", "requeued", "timeout"):surely(),
      { n = n, search = n:above(0) }
  end,
}

-- ---- cases ------------------------------------------------------------------------------------------------------------------------

case "the loss scale falls to 1" {
  ranks = 1, { lasting = "5s", phase = "train", step = steps(1, 1), events = { { "overflow_skip", scale = 2, at = "3s" }, { "overflow_skip", scale = 1, at = "4s" } } },
  fires = { { "steps_skipped", cause = "lowest" } },
}
case "the job ends while every step is left out" {
  ranks = 1, { lasting = "4s", phase = "train", step = steps(1, 1), events = { { "overflow_skip", scale = 4e9, at = "0.5s" }, { "overflow_skip", scale = 2e9, at = "1.5s" }, { "overflow_skip", scale = 1e9, at = "2.5s" }, { "overflow_skip", scale = 5e8, at = "3.5s" } }, ends = "unknown" },
  fires = { { "no_step_applied" } },
}
case "the job ends after a search for the scale of the loss, and the first steps that count" {
  ranks = 1, { lasting = "8s", phase = "train", step = steps(1, 1), loss = silent, events = { { "overflow_skip", scale = 4e9, at = "0.5s" }, { "overflow_skip", scale = 2e9, at = "1.5s" }, { "overflow_skip", scale = 1e9, at = "2.5s" } }, ends = "unknown" },
}
case "every tenth step is printed, and some are left out" {
  ranks = 1, { lasting = "40s", phase = "train", step = steps(1, 10), events = { { "overflow_skip", scale = 4e9, at = "0.5s" }, { "overflow_skip", scale = 2e9, at = "11.5s" }, { "overflow_skip", scale = 1e9, at = "21.5s" }, { "overflow_skip", scale = 1e9, at = "31.5s" }, { "overflow_skip", scale = 1e9, at = "32.5s" } }, ends = "unknown" },
}
