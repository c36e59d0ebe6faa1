-- A mean over a sliding window, at each value.
rule "w3" {
  severity = "warning", per = "rank", every = "1s",
  summary = "The mean of a minute is above the limit",
  needs = { now = signal "value" { over = "1s" }, minute = signal "value" { over = "60s" } },
  params = { limit = 1500 },
  shows = "{mean}",
  evaluate = function(job, p)
    local mean = job.minute:mean()
    return mean:above(p.limit) & job.now:seen(), { mean = mean }
  end,
}
