-- A filter: none of the values is so great.
rule "w1" {
  severity = "warning", per = "rank", every = "1s",
  summary = "A value is above the limit",
  needs = { now = signal "value" { over = "1s" } },
  params = { limit = 1000000 },
  shows = "{value}",
  evaluate = function(job, p)
    local value = job.now:last()
    return value:above(p.limit):surely(), { value = value }
  end,
}
