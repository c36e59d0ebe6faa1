-- Shared by the rules about how jobs end.
local ends = {}

-- What launchers raise for others, what a person asked for, and what nobody handles; the rest is the program's own.
ends.others = {
  "unheeded", "KeyboardInterrupt", "SignalException", "SystemExit", "DistBackendError", "DistNetworkError",
  "DistStoreError", "ChildFailedError", "ProcessExitedException", "ProcessRaisedException", "CalledProcessError",
  "ConnectionResetError", "BrokenPipeError", "ConnectionRefusedError", "WorkerCrashedError", "RayTaskError",
}

-- Whether the attempt ended without a failure of its own: a time limit or a preemption is none. Unknown counts as no.
function ends.well(job)
  return job.ended:last():is("completed", "cancelled", "timeout", "preempted", "requeued"):surely()
end

-- Whether steps follow the newest of these events by more than `after` seconds. Kernel logs and shells also report
-- other users' processes, and some errors are handled.
function ends.goes_on(job, events, after)
  return events:older_than(job.step:age():min("job") + after)
end

-- Whether another start of the training came after the newest of these events: they are not why the job ended.
function ends.of_earlier_start(job, events)
  return events:older_than(job.again:age() + "3s")
end

-- Whether the training was under way: a step or a loss came.
function ends.begun(job)
  return job.step:seen():any("job") | job.loss:seen()
end

-- Which ranks had these events first: those at most `together` seconds after the first of them. A rank that has exited
-- has no age.
function ends.earliest(events, together)
  local came  = events:seen()
  local since = came:choose(events:age():fill(0), 0)
  return came & since:at_least(since:max("job") - together)
end

-- The exceptions that the program itself raised.
function ends.own_exceptions(job) return job.first:except { exception = ends.others, part = "consequence" } end

-- Whether such an exception ended the job: no progress came after it, it is recent or a rank is reported as failed, and
-- it is not one of many that the job survived.
function ends.ended_by(job, events, p)
  local failed   = job.failed:seen():any("job")
  local progress = least_known(job.step:age():min("job"), job.loss:age())
  local lately   = ~events:older_than(p.last) | failed
  local survived = (events:age() - progress):above(p.after):surely()
  local often    = (job.first:count() - job.new:count():fill(0)):at_least(p.often)
  local habit    = (often & progress:below(events:age())):surely() & ~failed & ~job.ended:last():is("failed"):surely()
  return lately & ~survived & ~habit & ~ends.well(job)
end

-- Whether the exception was clean-up: the training was over by its own word, no rank is reported as failed since, and
-- the program's own code raised nothing after it. A thread of a helper counts as clean-up.
function ends.after_training(job, first)
  local own    = first:except { part = "thread" }:where { code = "own" }
  local failed = (job.failed:seen() & job.failed:age():at_most(job.finished:age())):surely():any("job")
  return job.finished:seen() & ~failed & ~(job.finished:age() - own:age()):above(0):surely()
end

return ends
