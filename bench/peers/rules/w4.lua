-- Silence of a rank that has reported before.
rule "w4" {
  severity = "warning", per = "rank", every = "1s",
  summary = "A rank is silent",
  needs = { value = signal "value" { over = "60s" } },
  params = { silence = "30s" },
  shows = "silent[ for {age}]",
  evaluate = function(job, p)
    return job.value:older_than(p.silence), { age = job.value:age() }
  end,
}
