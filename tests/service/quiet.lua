-- A rule that answers fast, for the tests of the service: the job has made no step for two seconds.
rule "quiet" {
  family = "C", severity = "warning", per = "job", every = "1s",
  summary = "The job has made no step for two seconds",
  needs = { step = signal "step" { over = "30s" } },
  shows = "no step for {age:.1f} s",
  evaluate = function(job)
    local age = job.step:age():min("job")
    return age:above(2), { age = age }
  end,
}
