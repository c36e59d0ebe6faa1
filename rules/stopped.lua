-- Processes that do not run, as /proc shows them: no step has to be understood, and one process is enough. C2 where
-- others wait for them.

local hangs = shared "hangs"
local stacks = shared "stacks"

rule "rank_stopped" {
  family = "C2", severity = "critical", per = "job", every = "5s",
  summary = "Rank process stopped (SIGSTOP); peers wait for it",
  needs = {
    state = signal "process_state" { over = "30s", least = 1 },
    pid   = signal "process_pid"   { over = "attempt", least = 1 },
    stack = signal "stack"         { over = "70s" },
  },
  -- Two looks: a profiler stops a process for a moment.
  fire = "2 of 2", clear = "1 of 1", yields_to = { "node_down" },
  shows = "stopped until it is continued: {who}[; rank {rank}: {where}][; the others: {theirs}]",
  causes = {
    stopped = "stopped by a signal[ (pid {pid:.0f})]: SIGSTOP, SIGTSTP, or Ctrl-Z in the terminal",
    traced  = "a debugger holds it[ (pid {pid:.0f})]",
  },
  actions = {
    stopped   = { "kill -CONT {pid:.0f}[ on {node}]", "continue {who} (kill -CONT)" },
    traced    = { "detach the debugger from process {pid:.0f}[ on {node}]", "detach the debugger from {who}" },
  },
  evaluate = function(job, p)
    local state  = job.state:last()
    local who    = state:is("stopped", "traced")
    -- From the kernel alone the place is no more than the state
    local frames = job.stack:where { doing = "stopped" }:except { where = "stopped" }
    return who:any("job") & ~who:all("job"):maybe(),
         {
           who = who, pid = job.pid:last(), stopped = state:is("stopped"):any("job"),
           traced = state:is("traced"):any("job"), where = frames:last("where"),
           theirs = stacks.in_collectives(job.stack),
         }
  end,
}

rule "job_stopped" {
  family = "C3", severity = "critical", per = "job", every = "5s",
  summary = "All processes of the job are stopped (SIGSTOP)",
  needs = {
    state = signal "process_state" { over = "30s", least = 1 },
    pid   = signal "process_pid"   { over = "attempt", least = 1 },
  },
  fire = "2 of 2", clear = "1 of 1", yields_to = { "node_down" },
  shows = "stopped until it is continued: {who}",
  causes = {
    stopped = "stopped by a signal[ (pid {pid:.0f})]: SIGSTOP, SIGTSTP, or Ctrl-Z in the terminal, or a scheduler "
      .. "that suspends the job",
    traced  = "a debugger holds it[ (pid {pid:.0f})]",
  },
  actions = {
    stopped   = {
      "kill -CONT {pid:.0f}[ on {node}]",
      "continue the job's processes (kill -CONT), or ask the scheduler whether it suspended the job",
    },
    traced    = {
      "detach the debugger from process {pid:.0f}[ on {node}]", "detach the debugger from the job's processes",
    },
  },
  evaluate = function(job, p)
    local state   = job.state:last()
    local who     = state:is("stopped", "traced")
    local stopped = state:is("stopped"):any("job")
    return who:any("job") & who:all("job"):maybe(),
         { who = who, pid = job.pid:last(), stopped = stopped, traced = ~stopped }
  end,
}

rule "rank_unreaped" {
  family = "A2", severity = "critical", per = "job", every = "5s",
  summary = "Rank process died and was not reaped by its parent",
  needs = {
    state  = signal "process_state" { over = "30s", least = 1 },
    status = signal "exit_status"   { over = "attempt" },
    pid    = signal "process_pid"   { over = "attempt", least = 1 },
  },
  -- A parent that waits for its children in turn reaps one that ended well late, and that is in order.
  -- SIGTERM is how a launcher ends the rest.
  fire = "3 of 3", clear = "1 of 1", yields_to = { "rank_killed", "node_down" },
  shows = "zombie, not reaped by its parent: {who}",
  causes = { killed = "killed by signal {signal:.0f}[ (pid {pid:.0f})], now a zombie: its parent waits for something "
    .. "else" },
  actions = {
    otherwise = "read the end of the log of {who}, stop its launcher[ on {node}], and resume from the last checkpoint",
  },
  evaluate = function(job, p)
    local status = job.status:last()
    local zombie = job.state:last():is("zombie"):surely()
    local dead   = zombie & (status:above(128) & ~status:is(143)):surely()
    return dead:any("job"),
      { who = dead, pid = job.pid:last(), signal = dead:choose(status, 0):max("job") - 128, killed = dead:any("job") }
  end,
}

rule "rank_failed_unnoticed" {
  family = "A1", severity = "critical", per = "job", every = "5s",
  summary = "Rank process failed and was not reaped by its parent",
  needs = {
    state  = signal "process_state" { over = "30s", least = 1 },
    status = signal "exit_status"   { over = "attempt" },
    pid    = signal "process_pid"   { over = "attempt" },
    failed = signal "rank_failed"   { over = "attempt" },
  },
  -- A launcher that has reported it notices, and may be long in ending the others.
  fire = "3 of 3", clear = "1 of 1", yields_to = { "rank_killed", "rank_unreaped", "node_down" },
  shows = "zombie, not reaped by its parent: {who}",
  causes = { failed = "exited with status {status:.0f}[ (pid {pid:.0f})], now a zombie: its parent waits for "
    .. "something else" },
  actions = {
    failed    = "read the end of the log of {who}, stop its launcher[ on {node}], and restart the job",
  },
  evaluate = function(job, p)
    local status = job.status:last()
    local zombie = job.state:last():is("zombie"):surely()
    local ended  = zombie & (status:above(0) & status:below(128)):surely()
    local noticed = job.failed:seen():any("job")
    return ended:any("job") & ~noticed,
         { who = ended, pid = job.pid:last(), status = ended:choose(status, 0):max("job"), failed = ended:any("job") }
  end,
}

rule "rank_blocked" {
  family = "C3", severity = "warning", per = "job", every = "5s",
  summary = "Rank stuck in uninterruptible sleep (D state)",
  needs = {
    state = signal "process_state" { over = "attempt" },
    pid   = signal "process_pid"   { over = "attempt", least = 1 },
    cpu   = signal "process_cpu"   { over = "45s" },
    step  = signal "step"          { over = "attempt" },
    loss  = signal "loss"          { over = "attempt" },
  },
  -- A save over a slow file system waits so, too: minutes, and only where nothing else goes on.
  params = { idle = 0.05, still = "2m" }, fire = "for 2m", clear = "for 10s",
  yields_to = hangs.or_collective { "rank_stopped", "job_stopped", "rank_killed", "node_down" },
  shows = "stuck in uninterruptible sleep (D state) for minutes: {who}",
  causes = { device = "the process[ {pid:.0f}] is in D state: its disk, file system or driver does not respond, and "
    .. "signals do not reach it" },
  actions = {
    device    = "see what the process waits for[ on {node}] (dmesg -T[, cat /proc/{pid:.0f}/stack as root]); drain "
      .. "the node if it stays blocked",
  },
  evaluate = function(job, p)
    local blocked = (job.state:last():is("disk_sleep") & job.cpu:mean():below(p.idle)):surely()
    local never   = job.step:count():max("job"):is(0) & ~job.loss:seen()
    local still   = (~never
                     & least(job.step:age():min("job"), job.loss:age():fill(job.step:age():min("job"))):above(p.still))
                  | (never & job.cpu:mean():max("job"):below(p.idle))
    return blocked:any("job") & still:surely(), { who = blocked, pid = job.pid:last(), device = blocked:any("job") }
  end,
}

-- ---- cases --------------------------------------------------------------------------------------

case "one of four is stopped, and no line is understood" {
  ranks = 4,
  {
    lasting = "1m", process_state = "running", process_pid = 700, process_cpu = 1,
    rank = { [2] = { process_pid = 4711 } },
  },
  {
    lasting = "25s", process_cpu = 0.9, rank = { [2] = { process_state = "stopped", process_cpu = 0 } },
    events = {
      { "stack", rank = 1, at = "4s", where = "all_reduce < train (train.py:43)", doing = "collective" },
      { "stack", rank = 2, at = "4s", where = "fetch (my_loader.py:88) < train (train.py:41)", doing = "stopped" },
    },
  },
  fires = { { "rank_stopped", who = { 2 }, cause = "stopped", within = "15s" } },
}
case "it is continued after 45 s" {
  ranks = 4, { lasting = "1m", phase = "train", step = steps(0.5), process_state = "running", process_cpu = 1 },
  { lasting = "45s", step = silent, rank = { [2] = { process_state = "stopped", process_cpu = 0 } } },
  { lasting = "1m", step = steps(0.5), process_state = "running", process_cpu = 1, ends = "completed" },
  fires = { { "rank_stopped", who = { 2 } } }, resolves = { { "rank_stopped" } },
}
case "nothing is understood; after a stop of a minute the processes work again" {
  ranks = 2, { lasting = "20s", process_state = "running", process_cpu = 0.3 },
  { lasting = "66s", process_state = "sleeping", process_cpu = 0, rank = { [1] = { process_state = "stopped" } } },
  { lasting = "60s", process_state = "running", process_cpu = noise(0.2, 0.01) },
  fires = { { "rank_stopped", who = { 1 } } }, resolves = { { "rank_stopped" } },
}
case "a debugger holds one of two" {
  ranks = 2, { lasting = "1m", process_state = "sleeping", process_cpu = 0.5 },
  { lasting = "25s", rank = { [0] = { process_state = "traced", process_cpu = 0 } } },
  fires = { { "rank_stopped", who = { 0 }, cause = "traced", within = "15s" } },
}
case "the only process is suspended, and goes on" {
  ranks = 1, { lasting = "40s", process_state = "running", process_pid = 4711, process_cpu = 1 },
  { lasting = "30s", process_state = "stopped", process_cpu = 0 },
  { lasting = "30s", process_state = "running", process_cpu = 1 },
  fires = { { "job_stopped", who = { 0 }, cause = "stopped", within = "15s" } }, resolves = { { "job_stopped" } },
}
case "a scheduler suspends the job, and its steps with it" {
  ranks = 4, { lasting = "2m", phase = "train", step = steps(0.5), process_state = "running", process_cpu = 1 },
  { lasting = "10m", step = silent, process_state = "stopped", process_cpu = 0 },
  { lasting = "1m", step = steps(0.5), process_state = "running", process_cpu = 1 },
  fires = { { "job_stopped" } }, resolves = { { "job_stopped" } },
}
case "a profiler stops a process for four seconds" {
  ranks = 2, { lasting = "1m", process_state = "running", process_cpu = 1 },
  { lasting = "4s", rank = { [1] = { process_state = "traced" } } },
  { lasting = "1m", process_state = "running", process_cpu = 1 },
}
case "a rank was killed, and its parent waits for another first" {
  ranks = 4, { lasting = "1m", process_state = "running", process_pid = 700, process_cpu = 1 },
  {
    lasting = "25s", process_cpu = 0,
    rank = { [3] = { process_state = "zombie", exit_status = 137, process_pid = 703 } },
  },
  fires = { { "rank_unreaped", who = { 3 }, cause = "killed", within = "20s" } },
}
case "a launcher ends the others after an exception, and reaps them in turn" {
  ranks = 4, { lasting = "1m", phase = "train", step = steps(0.5), process_state = "running", process_cpu = 1 },
  { lasting = "20s", step = silent, process_state = "zombie", exit_status = 143, process_cpu = 0,
    events = {
      { "traceback", rank = 2, exception = "ValueError" },
      { "exception_raised", exception = "ValueError", message = "no", place = "train.py" },
    },
    ends = "failed" },
  fires = { { "exception", who = { 2 } } },
}
case "a rank failed, and its parent waits for another first" {
  ranks = 2, { lasting = "1m", process_state = "running", process_pid = 700, process_cpu = 1 },
  {
    lasting = "25s", process_cpu = 0, rank = { [1] = { process_state = "zombie", exit_status = 1, process_pid = 703 } },
  },
  fires = { { "rank_failed_unnoticed", who = { 1 }, cause = "failed", within = "20s" } },
}
case "a rank failed, and its launcher reports it and takes its time to end" {
  ranks = 2, { lasting = "1m", process_state = "running", process_pid = 700, process_cpu = 1 },
  {
    lasting = "25s", process_cpu = 0, rank = { [1] = { process_state = "zombie", exit_status = 1 } },
    events = { { "rank_failed", rank = 1, exitcode = 1, at = "2s" } },
  },
}
case "a rank ended well before the others, and is reaped late" {
  ranks = 4, { lasting = "1m", process_state = "running", process_cpu = 1 },
  {
    lasting = "3m", process_cpu = 0.9, rank = { [3] = { process_state = "zombie", exit_status = 0, process_cpu = 0 } },
  },
}
case "the file system does not answer one process" {
  ranks = 1, { lasting = "2m", phase = "train", step = steps(0.5), process_state = "running", process_cpu = 1 },
  { lasting = "10m", step = silent, process_state = "disk_sleep", process_cpu = 0 },
  fires = { { "stalled" }, { "rank_blocked", who = { 0 }, cause = "device" } },
}
case "data comes slowly from a disk, and steps go on" {
  ranks = 4, { lasting = "6m", phase = "train", step = steps(5), process_state = "disk_sleep", process_cpu = 0.02 },
}
