rule "h" {
  family = "C", severity = "critical", per = "job", every = { "5s", "loss" }, state = { best = math.huge },
  needs = { step = signal "step" { over = "attempt" }, gap = signal "step_gap" { over = 64, least = 8 },
            loss = signal "loss" { over = 8, lag = 1, freeze = true } },
  params = { k = 4, least = "30s" }, fire = "2 of 2", clear = "for 60s",
  shows = "no step for {age:.0f} s", causes = { late = "it is late" },
  evaluate = function(job, p, s)
    local age = job.step:age():min("job")
    s.best = least(s.best, job.loss:median())
    return age:above((p.k * job.gap:quantile(0.99):max("job")):clamp(p.least, "10m")) | job.loss:nonfinite():at_least(3),
      { age = age, late = age:above("1h"), who = job.step:age():above(2 * age) }
  end,
}
