-- C1: a start in which the ranks never come together. What the log says of one is in hang_lines.lua.

rule "rendezvous_hang" {
  family = "C1", severity = "critical", per = "job", every = "5s",
  summary = "The ranks never came together",
  needs = {
    stalled  = finding "stalled",
    step     = signal "step"                { over = "attempt" },
    loss     = signal "loss"                { over = "attempt" },
    process  = signal "process_cpu"         { over = "attempt" },
    launched = signal "collective_launched" { over = "attempt" },
    met      = signal "rendezvous"          { over = "attempt" },
    cpu      = signal "process_cpu"         { over = "45s" },
    gr       = signal "gr_engine_active"    { over = "30s" },
  },
  -- A rank that was not seen for `missing` while the others do nothing needs no log to be missed.
  params = { missing = "60s", idle = 0.02 },
  yields_to = { "rendezvous_failed", "rank_stopped", "job_stopped", "rank_unreaped", "rank_killed", "node_down" },
  shows = "no step since the attempt began, and no rank is in a collective; never seen: {who}",
  causes = {
    missing = "the named ranks were never started, or run where no collector is: the others wait for them",
    waiting = "the rendezvous still waits for ranks to join",
    init    = "all ranks are there: the set-up itself hangs",
  },
  evaluate = function(job, p)
    local met     = job.met:last()
    local absent  = job.process:count():is(0)
    local missing = absent:any("job")
    local alone   = ~job.launched:last():above(0):any("job"):surely()
    local working = job.gr:mean():above(0.05):any("job"):surely()
    local never   = job.step:count():is(0):all("job") & ~job.loss:count():above(0):surely()
    local lost    = (absent & job.process:age():above(p.missing)):any("job") & job.cpu:mean():max("job"):below(p.idle)
    return ((job.stalled:now() & never) | (lost & never:maybe())):surely() & alone & ~working,
      { who = absent:surely(), missing = missing, waiting = met:is("waiting") & ~missing:surely(), init = ~missing }
  end,
}

-- ---- cases ------------------------------------------------------------------------------------------------------------------------

case "one rank of four is never started" {
  ranks = 4,
  { lasting = "2m", phase = "starting",
    rank = { [0] = { process_cpu = 0.01, collective_launched = 0 }, [1] = { process_cpu = 0.01, collective_launched = 0 },
             [2] = { process_cpu = 0.01, collective_launched = 0 } } },
  fires = { { "rendezvous_hang", who = { 3 }, cause = "missing", within = "90s" } },
}
case "the first step takes ten minutes: compilation" {
  ranks = 4,
  { lasting = "10m", phase = "starting", process_cpu = 0.9, collective_launched = 3, collective_done = 3 },
  { lasting = "1m", phase = "train", step = steps(0.5), collective_launched = ramp(4, 200), collective_done = ramp(4, 200) },
}
case "one rank prepares for ten minutes, the others wait for it" {
  ranks = 4,
  { lasting = "10m", phase = "starting", process_cpu = 0.01, collective_launched = 1, collective_done = 0,
    rank = { [0] = { process_cpu = 0.8, collective_launched = 0 } } },
  { lasting = "1m", phase = "train", step = steps(0.5), process_cpu = 0.3, collective_launched = ramp(4, 200), collective_done = ramp(4, 200) },
}
