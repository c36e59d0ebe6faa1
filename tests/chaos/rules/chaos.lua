-- Rules of the chaos tests that answer fast, one of each kind of work: a silence, ranks compared, an event, state that is kept from tick
-- to tick, and the end of an attempt.
rule "quiet" {
  family = "C", severity = "warning", per = "job", every = "1s",
  summary = "The job has made no step for four seconds",
  needs = { step = signal "step" { over = "30s" } },
  shows = "no step for {age:.1f} s",
  evaluate = function(job)
    local age = job.step:age():min("job")
    return age:above(4), { age = age }
  end,
}

rule "slow" {
  family = "D3", severity = "warning", per = "rank", every = "2s",
  summary = "One rank computes longer than its peers",
  needs = { compute = signal "compute_time" { over = "10s" } },
  fire = "3 of 4", clear = "3 of 4",
  shows = "rank {rank} computes {own:.3f} s, its peers {typical:.3f} s",
  causes = { twice = "it takes more than twice as long" },
  evaluate = function(job)
    local own = job.compute:mean()
    local typical = own:median("job")
    return own:above(1.5 * typical), { own = own, typical = typical, twice = own:above(2 * typical) }
  end,
}

rule "broken" {
  family = "B2", severity = "critical", per = "gpu", every = { "xid", "5s" },
  summary = "A GPU reported an error",
  needs = { xid = signal "xid" { over = "20s" } },
  clear = "for 20s",
  shows = "GPU {gpu} of {node}: XID {code:.0f}, {n:.0f} in 20 s",
  evaluate = function(job)
    local n = job.xid:count()
    return n:above(0), { n = n, code = job.xid:last("code") }
  end,
}

rule "climbing" {
  family = "E1", severity = "warning", per = "job", every = "1s",
  summary = "The loss is far above its best",
  needs = { loss = signal "loss" { over = "5s" } },
  state = { best = math.huge, above = 0 }, fire = "2 of 2", clear = "2 of 2",
  shows = "the loss is {loss:.3f}, its best was {best:.3f}; above it {above:.0f} times",
  evaluate = function(job, p, s)
    local loss = job.loss:mean()
    s.best = least(s.best, loss)
    local high = loss:above(2 * s.best)
    s.above = s.above + high:choose(1, 0)
    return high, { loss = loss, best = s.best, above = s.above }
  end,
}

rule "ended_badly" {
  family = "A1", severity = "critical", per = "job", every = "end",
  summary = "The job failed",
  needs = { step = signal "step" { over = "attempt" }, ended = signal "end_reason" { over = "attempt" } },
  shows = "it ended after step {last:.0f}",
  evaluate = function(job)
    return job.ended:last():is("failed"):surely(), { last = job.step:last():max("job") }
  end,
}
