-- Shared by the rules about how jobs end.
local ends = {}

-- What launchers raise for others, what a person asked for, and what nobody handles; the rest is the program's own.
ends.others = {
  "unheeded", "KeyboardInterrupt", "SignalException", "SystemExit", "DistBackendError", "DistNetworkError",
  "DistStoreError", "ChildFailedError", "ProcessExitedException", "ProcessRaisedException", "CalledProcessError",
  "ConnectionResetError", "BrokenPipeError", "ConnectionRefusedError", "WorkerCrashedError", "RayTaskError",
}

-- Whether the attempt ended without a failure.
function ends.well(job)
  return job.ended:last():is("completed", "cancelled", "timeout", "preempted", "requeued"):surely()
end

-- Whether steps follow the newest of these events by more than `after` seconds. Kernel logs and shells also report
-- other users' processes, and some errors are handled.
function ends.goes_on(job, events, after)
  local age = events:age()
  return ((age - job.step:age():min("job")):above(after) & age:below("10000h")):surely()
end

-- Whether another start of the training came after the newest of these events, and an exception of its own (`own`):
-- the events are not why the job ended.
function ends.of_earlier_start(job, events, own)
  local last = events:age():min("job")
  local since = last - own:age():min("job")
  return ((last - job.again:age()):above(3) & since:above(3) & last:below("10000h")):surely()
end

return ends
