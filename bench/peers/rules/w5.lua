-- Each rank against the median of all ranks in the same second.
rule "w5" {
  severity = "warning", per = "rank", every = "1s",
  summary = "A value is far above the median of the ranks",
  needs = { now = signal "value" { over = "1s" } },
  params = { ratio = 1.5 },
  shows = "{value}, the others {typical}",
  evaluate = function(job, p)
    local value = job.now:last()
    local typical = value:median("job")
    return value:above(p.ratio * typical):surely(), { value = value, typical = typical }
  end,
}
