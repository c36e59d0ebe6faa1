-- E1: steps that are left out because a gradient overflows in half precision.

rule "steps_skipped" {
  family = "E1", severity = "warning", per = "job", every = { "skip", "30s" },
  summary = "Nearly every step skipped: gradients overflow at any loss scale",
  needs = { skip = signal "overflow_skip" { over = "attempt" }, step = signal "step" { over = "attempt" } },
  -- From 2^32, the highest scale that anybody begins with, 32 halvings lead to 1: a search is over before.
  params = { many = 32, most = 0.9, lowest = 1 }, yields_to = { "loss_not_finite" },
  shows = "{n:.0f} steps skipped, the last at a loss scale of {scale:.0f}",
  causes = { lowest = "the loss scale cannot fall further", all = "no usable loss scale was ever found" },
  actions = { otherwise = "stop the job: train in bfloat16, or find what overflows; nothing is learned meanwhile" },
  evaluate = function(job, p)
    local n      = job.skip:count()
    local lowest = job.skip:last("scale"):at_most(p.lowest):surely()
    local made   = job.step:delta():max("job"):fill(0)
    local all    = n:at_least(p.many) & n:at_least(p.most * made)
    return lowest | all, { n = n, scale = job.skip:last("scale"), lowest = lowest, all = all }
  end,
}

-- ---- cases ------------------------------------------------------------------------------------------------------------------------

case "the loss scale falls to 1" {
  ranks = 1, { lasting = "5s", phase = "train", step = steps(1, 1), events = { { "overflow_skip", scale = 2, at = "3s" }, { "overflow_skip", scale = 1, at = "4s" } } },
  fires = { { "steps_skipped", cause = "lowest" } },
}
