-- A running sum, at each value.
rule "w2" {
  severity = "warning", per = "rank", every = "1s",
  summary = "The sum of all values is above the limit",
  needs = { now = signal "value" { over = "1s" }, all = signal "value" { over = "attempt" } },
  params = { limit = 1220000 },
  shows = "{sum}",
  evaluate = function(job, p)
    local sum = job.all:sum()
    return sum:above(p.limit) & job.now:seen(), { sum = sum }
  end,
}
