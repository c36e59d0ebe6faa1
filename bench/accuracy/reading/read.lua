-- What is read of a log: these count values and judge nothing. `run` puts them beside the pack's signals, patterns and parsers.

rule "read_step" {
  severity = "warning", per = "job", every = "end", summary = "Steps were read",
  needs = { step = signal "step" { over = "attempt" } }, params = { few = 3 },
  shows = "{n:.0f} steps",
  evaluate = function(job, p)
    local n = job.step:count():max("job")
    return n:at_least(p.few), { n = n }
  end,
}

rule "read_loss" {
  severity = "warning", per = "job", every = "end", summary = "Losses were read",
  needs = { loss = signal "loss" { over = "attempt" } }, params = { few = 3 },
  shows = "{n:.0f} losses",
  evaluate = function(job, p)
    local n = job.loss:count()
    return n:at_least(p.few), { n = n }
  end,
}

case "steps and losses" {
  ranks = 1, { lasting = "1m", step = steps(1), loss = ramp(5, 4) },
  fires = { { "read_step" }, { "read_loss" } },
}
