-- What the scheduler does to a job, its nodes and its time: F1, F2, F3.

rule "node_down" {
  family = "F1", severity = "critical", per = "node", every = { "state", "10s" },
  summary = "Node down",
  needs = {
    saved = signal "checkpoint_saved" { over = "attempt" }, state = signal "node_state" { over = "attempt" },
    alive = signal "any" { over = "attempt" },
  },
  shows = "{node} is {state}",
  causes = {
    silent = "all its ranks are silent",
    agent = "its ranks still write: the scheduler's daemon failed, or somebody set the node down",
  },
  actions = {
    silent = "drain {node} and restart the job without it[ from checkpoint {saved:.0f}]",
    agent  = "check the scheduler's daemon on {node} before you end the job: its ranks still work",
    otherwise = "drain {node} and restart the job without it",
  },
  evaluate = function(job, p)
    local quiet = job.alive:age():above(60):all("node")
    return job.state:last():is("down", "fail", "not_responding"),
         { state = job.state:last(), silent = quiet, agent = ~quiet, saved = job.saved:last("step") }
  end,
}

rule "node_lost" {
  family = "F1", severity = "critical", per = "job", every = { "lost", "end" },
  summary = "Node failure reported by the scheduler",
  needs = {
    saved = signal "checkpoint_saved" { over = "attempt" }, lost = signal "node_failure" { over = "attempt" },
    ended = signal "end_reason" { over = "attempt" },
  },
  yields_to = { "node_down" },
  shows = "a node of the job failed",
  actions = { otherwise = "drain the lost node and restart the job without it[ from checkpoint {saved:.0f}]" },
  evaluate = function(job, p)
    return job.lost:seen() | job.ended:last():is("node_fail"):surely(), { saved = job.saved:last("step") }
  end,
}

rule "preempted" {
  family = "F2", severity = "warning", per = "job", every = { "preempted", "requeued", "end" },
  summary = "Preempted or requeued by the scheduler",
  needs = {
    saved     = signal "checkpoint_saved" { over = "attempt" },
    preempted = signal "preempted"        { over = "attempt" },
    requeued  = signal "requeued"         { over = "attempt" },
    ended     = signal "end_reason"       { over = "attempt" },
  },
  -- A rule about the node says more: jobs of a lost node are requeued, too.
  yields_to = { "node_down", "node_lost" },
  shows = "the attempt was ended from outside",
  causes = {
    preempted = "another job or the cloud provider took the nodes", requeued = "the job was put back into the queue",
  },
  actions = {
    preempted = "nothing is broken: queue it again[ and resume from checkpoint {saved:.0f}]",
    requeued  = "nothing is broken: it waits in the queue; make sure that it resumes[ from checkpoint {saved:.0f}]",
  },
  evaluate = function(job, p)
    local ended = job.ended:last()
    local preempted = job.preempted:seen() | ended:is("preempted"):surely()
    local requeued  = job.requeued:seen() | ended:is("requeued"):surely()
    -- Where both came, the requeue is what the operator acts on.
    return preempted | requeued,
      { preempted = preempted & ~requeued, requeued = requeued, saved = job.saved:last("step") }
  end,
}

rule "time_limit" {
  family = "F3", severity = "warning", per = "job", every = "end",
  summary = "Time limit reached while still training",
  needs = {
    saved    = signal "checkpoint_saved" { over = "attempt" },
    ended   = signal "end_reason" { over = "attempt" },
    limit   = signal "time_limit" { over = "attempt" },
    step    = signal "step"       { over = "attempt" },
    stalled = finding { "stalled", "no_first_step" },
    stood   = finding "stalled_at_limit",
  },
  shows = "the scheduler ended the job at its time limit[, after step {step:.0f}]",
  actions = { otherwise = "queue it again with a longer time limit[ and resume from checkpoint {saved:.0f}]" },
  evaluate = function(job, p)
    -- `stalled` at its last tick: a hang is never passed off as a time limit, and where it could not be judged neither
    -- is this.
    local timeout = job.ended:last():is("timeout"):surely() | job.limit:seen()
    return timeout & ~job.stalled:now() & ~job.stood:now():surely(),
      { step = job.step:last():max("job"), saved = job.saved:last("step") }
  end,
}

-- ---- cases --------------------------------------------------------------------------------------

case "the scheduler loses a node, after a checkpoint" {
  ranks = 2,
  { lasting = "1m", phase = "train", step = steps(1), events = { { "checkpoint_saved", step = 12000, at = "20s" } } },
  { lasting = "5s", step = silent, events = { { "node_failure" } }, ends = "node_fail" },
  fires = { { "node_lost" } },
}
case "the cloud takes a node back, and kills what still runs there" {
  ranks = 2, { lasting = "1m", phase = "train", step = steps(1) },
  {
    lasting = "30s", step = silent,
    events = { { "preempted", at = "1s" }, { "rank_failed", rank = 1, exitcode = -9, signal = 9, at = "10s" } },
  },
  fires = { { "preempted" } },
}
case "a node goes down" {
  ranks = 4, per_node = 2, { lasting = "1m", phase = "train", step = steps(1), node_state = "up" },
  { lasting = "20s", node = { [1] = { node_state = "down" } } },
  fires = { { "node_down", node = 1 } },
}
case "a drained node works on" {
  ranks = 4, per_node = 2, { lasting = "1m", phase = "train", step = steps(1), node_state = "up" },
  { lasting = "20s", node = { [1] = { node_state = "drain" } } },
}
case "preempted" {
  ranks = 2, { lasting = "1m", phase = "train", step = steps(1), ends = "preempted" },
  fires = { { "preempted", cause = "preempted" } },
}
case "ended at its limit while it worked" {
  ranks = 1, { lasting = "5m", phase = "train", step = steps(2), ends = "timeout" }, fires = { { "time_limit" } },
}
case "ended at its limit in a hang" {
  ranks = 1, { lasting = "5m", phase = "train", step = steps(2) }, { lasting = "9m", step = silent, ends = "timeout" },
  fires = { { "stalled_at_limit" } },
}
