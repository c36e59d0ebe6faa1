-- A2: a launcher that lost its terminal. Signals 2 and 15 are what a person or a scheduler asked for; 1 is what nobody
-- means.

local ends = shared "ends"

rule "launcher_hung_up" {
  family = "A2", severity = "warning", per = "job", every = "end",
  summary = "Launcher ended by SIGHUP: its terminal was closed",
  needs = {
    saved   = signal "checkpoint_saved" { over = "attempt" },
    stopped = signal "launcher_stopped" { over = "attempt" },
    step    = signal "step"             { over = "attempt" },
    ended   = signal "end_reason"       { over = "attempt" },
    done    = signal "training_ended"   { over = "attempt" },
  },
  yields_to = { "rank_killed", "host_out_of_memory", "node_down", "node_lost", "preempted", "time_limit" },
  shows = "the launcher got signal 1 (SIGHUP)[ at step {step:.0f}]",
  causes = { closed = "the shell or connection that the job was started from is gone" },
  actions = {
    closed = "start it detached (nohup, setsid, tmux or the scheduler)[ and resume from checkpoint {saved:.0f}]",
  },
  evaluate = function(job, p)
    local hung = job.stopped:where { signal = 1 }:seen()
    return hung & ~ends.well(job) & ~job.done:seen(),
      { closed = hung, saved = job.saved:last("step"), step = job.step:last():max("job") }
  end,
}

case "the connection that started the job is closed" {
  ranks = 2,
  { lasting = "1m", phase = "train", step = steps(1), events = { { "checkpoint_saved", step = 40, at = "40s" } } },
  {
    lasting = "2s", step = silent,
    events = { { "launcher_stopped", signal = 1 }, { "traceback", rank = 0, exception = "SignalException" } },
    ends = "failed",
  },
  fires = { { "launcher_hung_up", cause = "closed" } },
}
case "a person ends the launcher" {
  ranks = 2, { lasting = "1m", phase = "train", step = steps(1) },
  { lasting = "2s", step = silent, events = { { "launcher_stopped", signal = 2 } } },
}
