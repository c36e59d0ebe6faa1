rule "slow" {
  family = "D3", severity = "warning", summary = "Computes longer than its peers", per = "rank", every = { "recent", "10s" }, clear = "for 20s",
  needs = { recent = signal "compute_time" { over = 20 }, all = signal "compute_time" { over = "attempt" } },
  shows = "rank {rank} computes {x:.2f} s, its peers {typical:.2f} s",
  evaluate = function(job)
    local x = job.recent:median()
    local typical = x:median("job")
    return x:above(1.2 * typical) & job.all:count():above(10), { x = x, typical = typical, first = job.all:first(3), far = job.all:quantile(0.9) }
  end,
}
rule "duty_changed" {
  family = "D1", severity = "info", summary = "Works more or less than usual", per = "gpu", every = "5s", fire = "2 of 3", clear = "3 of 3",
  needs = { now = signal "sm_active" { over = "10s" }, usual = signal "sm_active" { over = "15m", lag = "10s", freeze = true } },
  evaluate = function(job)
    local ratio = job.now:mean() / job.usual:median():median("job")
    return ratio:above(1.1) | ratio:below(0.9), { ratio = ratio, spread = job.now:mad(), trend = job.usual:theil_sen() }
  end,
}
rule "still" {
  family = "C2", severity = "critical", summary = "Nobody steps", per = "job", every = "10s",
  needs = { step = signal "step" { over = "30s" }, state = signal "process_state" { over = "10s" } },
  evaluate = function(job) return job.step:age():min("job"):above("20s"), { stopped = job.state:last():is("stopped"):count("job") } end,
}
rule "faults" {
  family = "B2", severity = "critical", summary = "The GPU reports faults", per = "gpu", every = { "xid", "10s" }, clear = "for 1h", yields_to = { "still" },
  needs = { xid = signal "xid" { over = "1h" }, ever = signal "xid" { over = "attempt" } },
  evaluate = function(job) return job.xid:count():above(0), { code = job.ever:last("code"), n = job.ever:count() } end,
}
rule "errors_corrected" {
  family = "B2", severity = "info", summary = "Memory errors are corrected", per = "rank", every = "10s", fire = "for 20s",
  needs = { rate = signal "ecc_corrected" { over = "30s" } },
  evaluate = function(job) return job.rate:mean():above(0.5), { rate = job.rate:mean() } end,
}
rule "loss_rises" {
  family = "E1", severity = "warning", summary = "The loss is above its best", per = "job", every = { "loss", "30s" }, clear = "4 of 4",
  needs = { loss = signal "loss" { over = 4 } }, params = { rise = 1.05 }, state = { best = math.huge, above = 0 },
  evaluate = function(job, p, state)
    local now = job.loss:median()
    state.best = least(state.best, now)
    local over = now:above(p.rise * state.best)
    state.above = over:choose(state.above + 1, 0)
    return state.above:at_least(2), { now = now, best = state.best }
  end,
}
rule "failed" {
  family = "A1", severity = "critical", summary = "A rank failed", per = "rank", every = { "failure", "10s" }, clear = "for 1m",
  needs = { failure = signal "failure" { over = "5m" } },
  evaluate = function(job) return job.failure:count():above(0), { n = job.failure:count(), repeated = job.failure:repeats("message") } end,
}
rule "scripted" {
  family = "G1", severity = "info", mode = "shadow", summary = "Counts in a script", per = "job", every = "10s",
  needs = { step = signal "step" { over = "30s" } }, state = { ticks = 0 },
  evaluate = function(job, p, state)
    state.ticks = state.ticks + 1
    local n = state.ticks:max("job")
    if n:number() and n:number() > 3 then return n:above(3) end
    return n:above(100)
  end,
}
