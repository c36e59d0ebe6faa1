-- A1: a rank whose process ends by itself while the others are at work, and prints no traceback. No signal ended it:
-- that is killed.lua's.

local hangs = shared "hangs"
local ends = shared "ends"

rule "training_under_way" {
  severity = "none", per = "job", every = "end",
  summary = "Training was under way: a step, a loss, or collectives",
  needs = {
    step     = signal "step"                { over = "attempt" },
    loss     = signal "loss"                { over = "attempt" },
    launched = signal "collective_launched" { over = "attempt" },
  },
  params = { few = 20 },      -- collectives of a job that prints no step
  evaluate = function(job, p) return ends.begun(job) | job.launched:last():max("job"):above(p.few):surely() end,
}

rule "rank_exited" {
  family = "A1", severity = "critical", per = "job", every = "end",
  summary = "Rank exited without a traceback; peers lost connection",
  needs = {
    saved   = signal "checkpoint_saved" { over = "attempt" },
    lost    = signal "peer_lost"        { over = "attempt" },
    raised  = signal "traceback"        { over = "attempt" },
    late    = signal "collective_timeout" { over = "attempt" },
    failed  = signal "rank_failed"      { over = "attempt" },
    seen    = signal "process_cpu"      { over = "attempt" },
    begun   = finding "training_under_way",
    asked   = finding "asked_to_end",
    ended   = signal "end_reason"       { over = "attempt" },
    done    = signal "training_ended"   { over = "attempt" },
    known   = finding { "rank_unreaped", "loss_not_finite" },
  },
  yields_to = hangs.or_collective {
    "rank_killed", "host_out_of_memory", "exception", "storage_lost", "cuda_out_of_memory", "cuda_failed",
    "gpu_error", "gpu_error_in_log", "checkpoint_unreadable", "collective_timeout", "collective_failed",
    "rendezvous_failed", "node_down", "node_lost", "preempted",
  },
  shows = "exited without a traceback: {who}; ranks that lost the connection to it: {n:.0f}",
  causes = {
    coded = "exit code {code:.0f}: the program or a library called exit (sys.exit, os._exit); no signal killed it",
    early = "exit code 0 while the others were still working (its data ran out, an early return, os._exit): the "
      .. "launcher reports the failure of the others only",
  },
  actions = {
    coded = "read the last lines of {who} to see why it exited, fix that, then restart the job[ from checkpoint "
      .. "{saved:.0f}]",
    early = "make all ranks end after the same step: compare their batch counts (uneven data split, drop_last) and "
      .. "check where {who} may return early, then restart the job",
  },
  evaluate = function(job, p)
    local lost   = job.lost:seen()
    local silent = ~(lost | job.raised:seen() | job.late:seen())
    local code   = job.failed:last("exitcode")
    local own    = (silent & code:at_least(1) & code:below(128)):surely()
    -- torchrun's table has every rank of its node that failed or that it ended itself.
    local listed = job.failed:where { launcher = "torchrun" }:seen()
    local early  = silent & ~listed & job.seen:seen() & (listed & code:is(1)):any("job"):surely()
    local who    = own | (early & ~own:any("job"))
    local asked  = job.asked:now():surely()
    local well   = ends.well(job) | job.done:seen()
    return who:any("job") & job.begun:now() & lost:any("job") & ~asked & ~well & ~job.known:ever():surely(),
      {
        who = who, n = lost:count("job"), code = own:choose(code, 0):max("job"), saved = job.saved:last("step"),
        early = ~own:any("job"), coded = own:any("job"),
      }
  end,
}

-- ---- cases --------------------------------------------------------------------------------------

case "a rank ends by itself with a code of its own, and the launcher ends the other" {
  ranks = 2, { lasting = "1m", phase = "train", step = steps(1), process_cpu = 0.9 },
  { lasting = "3s", step = silent, events = { { "peer_lost", rank = 0 }, {
    "traceback", rank = 0, exception = "RuntimeError", part = "consequence",
  },
    { "rank_failed", rank = 0, exitcode = -15, signal = 15, launcher = "torchrun", at = "1s" },
    { "rank_failed", rank = 1, exitcode = 3, launcher = "torchrun", at = "1s" } },
    ends = "failed" },
  fires = { { "rank_exited", who = { 1 }, cause = "coded" } },
}
case "a rank of a job that prints no step ends by itself with a code of its own" {
  ranks = 2, { lasting = "1m", process_cpu = 0.9, collective_launched = ramp(0, 300) },
  { lasting = "3s", collective_launched = silent, events = { { "peer_lost", rank = 0 }, {
    "traceback", rank = 0, exception = "RuntimeError", part = "consequence",
  },
    { "rank_failed", rank = 1, exitcode = 3, launcher = "torchrun", at = "1s" } },
    ends = "failed" },
  fires = { { "rank_exited", who = { 1 }, cause = "coded" } },
}
case "a rank ends well and early, and the launcher's table has all others" {
  ranks = 4, { lasting = "1m", phase = "train", step = steps(1), process_cpu = 0.9 },
  { lasting = "9s", step = silent, events = { { "peer_lost", rank = 0 }, {
    "traceback", rank = 0, exception = "RuntimeError", part = "consequence",
  },
    { "peer_lost", rank = 1 }, { "traceback", rank = 1, exception = "RuntimeError", part = "consequence" },
    { "rank_failed", rank = 0, exitcode = 1, launcher = "torchrun", at = "8s" },
    { "rank_failed", rank = 1, exitcode = 1, launcher = "torchrun", at = "8s" },
    { "rank_failed", rank = 3, exitcode = -15, signal = 15, launcher = "torchrun", at = "8s" } }, ends = "failed" },
  fires = { { "rank_exited", who = { 2 }, cause = "early" } },
}
case "all ranks fail with a code, and one of them prints why" {
  ranks = 2, { lasting = "1m", phase = "train", step = steps(1), process_cpu = 0.9 },
  { lasting = "3s", step = silent, events = { { "traceback", rank = 0, exception = "ValueError" }, {
    "exception_raised", exception = "ValueError", message = "no", place = "train.py",
  },
    { "peer_lost", rank = 1 }, { "rank_failed", rank = 0, exitcode = 1, launcher = "torchrun", at = "1s" },
    { "rank_failed", rank = 1, exitcode = 1, launcher = "torchrun", at = "1s" } },
    ends = "failed" },
  fires = { { "exception", who = { 0 } } },
}
case "a person interrupts the launcher, and its ranks end with a code" {
  ranks = 2, { lasting = "1m", phase = "train", step = steps(1), process_cpu = 0.9 },
  {
    lasting = "3s", step = silent,
    events = {
      { "launcher_stopped", signal = 2 }, { "peer_lost", rank = 0 },
      { "rank_failed", rank = 1, exitcode = 1, launcher = "torchrun", at = "1s" },
    },
    ends = "failed",
  },
}
case "one that lost its peer ends with a code as well, and prints nothing of it" {
  ranks = 2, { lasting = "1m", phase = "train", step = steps(1), process_cpu = 0.9 },
  { lasting = "3s", step = silent, events = { { "peer_lost", rank = 0 }, {
    "rank_failed", rank = 0, exitcode = 1, launcher = "torchrun", at = "1s",
  },
    { "rank_failed", rank = 1, exitcode = 3, launcher = "torchrun", at = "1s" } }, ends = "failed" },
  fires = { { "rank_exited", who = { 1 }, cause = "coded" } },
}
case "a rank ends with a code, and nobody has lost it" {
  ranks = 2, { lasting = "1m", phase = "train", step = steps(1), process_cpu = 0.9 },
  {
    lasting = "3s", step = silent,
    events = { { "rank_failed", rank = 1, exitcode = 3, launcher = "torchrun", at = "1s" } }, ends = "failed",
  },
}
