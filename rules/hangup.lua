-- A2: a launcher that lost its terminal. People and schedulers send SIGINT and SIGTERM; nobody sends SIGHUP on purpose.

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
  shows = "the shell or connection that the job was started from is gone[; last step {step:.0f}]",
  actions = {
    otherwise = "start it detached (nohup, setsid, tmux or the scheduler)[ and resume from checkpoint {saved:.0f}]",
  },
  evaluate = function(job, p)
    return job.stopped:where { signal = 1 }:seen() & ~ends.well(job) & ~job.done:seen(),
      { saved = job.saved:last("step"), step = job.step:last():max("job") }
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
  fires = { { "launcher_hung_up" } },
}
case "a person ends the launcher" {
  ranks = 2, { lasting = "1m", phase = "train", step = steps(1) },
  { lasting = "2s", step = silent, events = { { "launcher_stopped", signal = 2 } } },
}
