-- The cases of collectives.lua.

-- A minute of training: five collectives a second.
local function trains()
  return {
    lasting = "1m", process_state = "sleeping", process_cpu = 0.8, process_pid = 4711,
    collective_launched = ramp(0, 300), collective_done = ramp(0, 300), collective_waiting = 0,
  }
end

-- So many seconds in which a collective stays open.
local function waits(seconds, more)
  local segment = {
    lasting = seconds .. "s", process_cpu = 0.01, collective_launched = 301, collective_done = 300,
    collective_waiting = ramp(0, seconds), collective_function = "all_reduce", collective_number = 301,
    collective_group = "0", collective_group_size = 4,
  }
  for key, value in pairs(more) do segment[key] = value end
  return segment
end

-- What a rank does that has not come to the collective.
local function away(more)
  local member = {
    collective_launched = 300, collective_waiting = 0, collective_function = silent, collective_number = silent,
    collective_group = silent, collective_group_size = silent,
  }
  for key, value in pairs(more or {}) do member[key] = value end
  return member
end

local function stack(rank, at, doing, unchanged, serves, where)
  where = where or "fetch (my_loader.py:88) < train (train.py:41)"
  return { "stack", rank = rank, at = at, where = where, doing = doing, unchanged = unchanged, serves = serves or 0 }
end

case "one of four sleeps while the others wait in an all_reduce" {
  ranks = 4, trains(),
  waits(20, { rank = { [2] = away() }, events = {
    stack(2, "4s", "own", 0), stack(1, "4s", "collective", 0, 0, "all_reduce < train (train.py:43)"),
    { "bundle", node = 0, at = "5s", run = "/runs/7" },
  } }),
  fires = { { "collective_not_entered", who = { 2 }, cause = "idle", within = "12s" } },
}
case "one of four loops in its own code" {
  ranks = 4, trains(),
  waits(20, { rank = { [2] = away { process_cpu = 1 } },
    events = { stack(2, "4s", "own", 0), stack(2, "6s", "own", 2), stack(2, "10s", "own", 6) } }),
  fires = { { "collective_not_entered", who = { 2 }, cause = "looping", within = "15s" } },
}
case "one of two waits for a lock" {
  ranks = 2, trains(), waits(20, { rank = { [0] = away() }, events = { stack(0, "4s", "lock", 0) } }),
  fires = { { "collective_not_entered", who = { 0 }, cause = "locked", within = "12s" } },
}
case "one of two reads from a connection that sends nothing" {
  ranks = 2, trains(), waits(20, { rank = { [0] = away() }, events = { stack(0, "4s", "reading", 0) } }),
  fires = { { "collective_not_entered", who = { 0 }, cause = "reading", within = "12s" } },
}
case "one of four sleeps for 20 s, and comes back" {
  ranks = 4, trains(), waits(20, { rank = { [1] = away() } }), trains(),
  fires = { { "collective_not_entered", who = { 1 } } }, resolves = { { "collective_not_entered" } },
}
case "rank 0 validates for four minutes, and the others wait" {
  ranks = 4, trains(),
  waits(240, { rank = { [0] = away { process_cpu = 1.2 } },
    events = { stack(0, "4s", "computing", 0), stack(0, "7s", "computing", 3), stack(0, "10s", "computing", 6) } }),
  trains(),
}
case "rank 0 writes a checkpoint to a slow file system" {
  ranks = 4, trains(),
  waits(90, { rank = { [0] = away { process_state = "disk_sleep" } }, events = { stack(0, "4s", "saving", 0) } }),
  trains(),
}
case "the workers of one rank's loader work, and it waits for them" {
  ranks = 2, trains(),
  waits(30, { rank = { [1] = away { children_cpu = 2 } }, events = { stack(1, "4s", "loading", 0) } }),
  trains(),
}
case "every fourth collective takes eight seconds, since rank 0 saves without a sign of work" {
  ranks = 2, trains(), waits(4, { rank = { [0] = away() } }), trains(), waits(8, { rank = { [0] = away() } }), trains(),
}
case "one of four calls another function" {
  ranks = 4, trains(), waits(20, { rank = { [3] = { collective_function = "broadcast" } } }),
  fires = { { "collective_mismatch", who = { 3 }, cause = "mismatch", within = "12s" } },
}
case "one of four reduces another number of elements" {
  ranks = 4, trains(),
  waits(20,
    { collective_arguments = "1048576 x float32", rank = { [1] = { collective_arguments = "1000 x float32" } } }),
  fires = { { "collective_mismatch", who = { 1 }, cause = "mismatch", within = "12s" } },
}
case "the GPU of one rank does not come to the collective" {
  ranks = 4, trains(), waits(20, { collective_stage = "started", rank = { [3] = { collective_stage = "entered" } } }),
  fires = { { "collective_not_started", who = { 3 }, cause = "behind", within = "12s" } },
}
case "two groups are entered in opposite order" {
  ranks = 2, trains(),
  waits(20, { collective_group = "1", collective_group_size = 2,
    rank = { [1] = { collective_group = "2", collective_number = 300 } } }),
  fires = { { "collective_deadlock", who = { 1 }, cause = "order", within = "12s" } },
}
case "two groups are entered in opposite order by a job that prints steps of no rank" {
  ranks = 4, trains(),
  waits(20,
    {
      collective_group = "1", rank = { [2] = { collective_group = "2" } },
      lines = { { "step 120 | loss 0.0360", at = "1s" } },
    }),
  fires = { { "collective_deadlock", who = { 2 }, cause = "order", within = "12s" } },
}
case "all ranks are in the collective, and it does not complete" {
  ranks = 4, trains(), waits(60, {}),
  fires = { { "collective_incomplete", cause = "fabric", within = "40s" } },
}
case "a silent job stands still outside of collectives" {
  ranks = 2, trains(),
  {
    lasting = "2m", process_cpu = 0, collective_launched = 300, collective_done = 300, collective_waiting = 0,
    wait_syscall = "read", wait_channel = "pipe_read",
  },
  fires = { { "idle_hang", cause = "host", within = "90s" } },
}
case "a silent job computes for three minutes between two collectives" {
  ranks = 2, trains(),
  { lasting = "3m", process_cpu = 1, collective_launched = 300, collective_done = 300, collective_waiting = 0 },
  trains(),
}
case "a large collective takes 20 s on a busy machine" {
  ranks = 4, trains(), waits(20, { process_cpu = 0.8 }), trains(),
}
case "the ranks load for half a minute before the first collective, each for as long as it takes" {
  ranks = 4,
  { lasting = "30s", process_cpu = 0.01, collective_launched = 1, collective_done = 0, collective_waiting = ramp(0, 30),
    rank = { [2] = { collective_launched = 0, collective_waiting = 0 } } },
  trains(),
}
case "one of four validates for 50 s, and later another sleeps for long" {
  ranks = 4, trains(), waits(50, { rank = { [0] = away { process_cpu = 1 } } }), trains(), trains(),
  waits(89, { rank = { [2] = away() } }),
  fires = { { "collective_not_entered", who = { 2 }, cause = "idle", within = "88s" } },
}
case "two ranks receive from each other" {
  ranks = 2, trains(), waits(40, { collective_group_size = 2, collective_function = "recv" }),
  fires = { { "collective_incomplete", cause = "peers", within = "40s" } },
}
case "rank 2 is not a member of the group in which rank 0 waits, and rank 1 saves" {
  ranks = 3, trains(),
  waits(30, { collective_group_size = 2, rank = {
    [1] = away { process_cpu = 1, collective_awaited = 1 },
    [2] = away { collective_launched = 3, collective_awaited = 0 },
  } }),
  trains(),
}
case "rank 2 is not a member of the group in which rank 0 waits for rank 1" {
  ranks = 3, trains(),
  waits(30, { collective_group_size = 2, rank = {
    [1] = away { collective_awaited = 1 }, [2] = away { collective_launched = 3, collective_awaited = 0 },
  } }),
  fires = { { "collective_not_entered", who = { 1 }, cause = "idle", within = "12s" } },
}
case "two groups are entered in opposite order, and a rank outside both sleeps" {
  ranks = 3, trains(),
  waits(20, { collective_group_size = 2, rank = {
    [1] = { collective_group = "1" }, [2] = away { collective_launched = 3, collective_awaited = 0 },
  } }),
  fires = { { "collective_deadlock", cause = "order", within = "12s" } },
}

-- Waits that look like hangs.
case "ranks of an idle server wait in a broadcast for rank 0, which waits for requests" {
  ranks = 4, trains(),
  waits(300, { collective_function = "broadcast", rank = { [0] = away() },
    events = { stack(0, "4s", "lock", 0, 1), stack(0, "1m", "lock", 56, 1), stack(0, "2m", "lock", 116, 1),
      stack(0, "3m", "lock", 176, 1), stack(0, "4m", "lock", 236, 1) } }),
  {
    lasting = "10m", collective_waiting = ramp(300, 600),
    events = { stack(0, "1s", "lock", 300, 1), stack(0, "1m", "lock", 360, 1), stack(0, "2m", "lock", 420, 1),
      stack(0, "3m", "lock", 480, 1), stack(0, "4m", "lock", 540, 1), stack(0, "5m", "lock", 600, 1),
      stack(0, "6m", "lock", 660, 1), stack(0, "7m", "lock", 720, 1), stack(0, "8m", "lock", 780, 1),
      stack(0, "9m", "lock", 840, 1) },
    rank = { [0] = { collective_waiting = 0 } },
  },
}
case "the others wait in a broadcast for rank 0, whose stack cannot be taken" {
  ranks = 4, trains(), waits(330, { collective_function = "broadcast", rank = { [0] = away() } }),
  fires = { { "collective_not_entered", who = { 0 }, cause = "sends" } },
}
case "one of four waits for a minute for a process that it started and that uses no CPU" {
  ranks = 4, trains(), waits(60, { rank = { [1] = away { wait_syscall = "wait4" } } }), trains(),
  waits(60, { rank = { [2] = away { wait_syscall = "poll" } },
    events = { stack(2, "3s", "child", 0), stack(2, "9s", "child", 6), stack(2, "39s", "child", 36) } }),
  trains(),
}
case "one of four waits for a lock, and another thread of it runs on" {
  ranks = 4, trains(),
  waits(50, { rank = { [2] = away { process_cpu = 1 } },
    events = { stack(2, "3s", "lock", 0), stack(2, "9s", "lock", 6), stack(2, "39s", "lock", 36) } }),
  fires = { { "collective_not_entered", who = { 2 }, cause = "own", within = "45s" } },
}
case "a pool of threads works for rank 0, which waits for it for half a minute" {
  ranks = 4, trains(),
  waits(30,
    { rank = { [0] = away { process_cpu = 1 } }, events = { stack(0, "3s", "lock", 0), stack(0, "9s", "lock", 6) } }),
  trains(),
}
case "one of four sleeps for 85 s before the first barrier" {
  ranks = 4,
  {
    lasting = "85s", process_cpu = 0.01, process_state = "sleeping", collective_launched = 1, collective_done = 0,
    collective_waiting = ramp(0, 85), rank = { [0] = { collective_launched = 0, collective_waiting = 0 } },
  },
  trains(),
}
case "at the end of a silent job its processes wait for two minutes for a processor" {
  ranks = 4, trains(),
  {
    lasting = "2m", process_cpu = 0.01, process_state = "running", collective_launched = 300, collective_done = 300,
    wait_syscall = "none",
  },
}
case "the others wait for the buffers of the model that rank 0 sends, and it waits for a lock" {
  ranks = 4, trains(),
  waits(20, { collective_function = "broadcast", rank = { [0] = away() },
    events = { stack(0, "4s", "lock", 0), stack(1, "4s", "syncing", 0) } }),
  fires = { { "collective_not_entered", who = { 0 }, cause = "locked", within = "12s" } },
}
case "one of four has exited with 0, and its launcher waits for another" {
  ranks = 4, trains(), waits(20, { rank = { [2] = away { process_state = "zombie", exit_status = 0 } } }),
  fires = { { "collective_not_entered", who = { 2 }, cause = "exited", within = "12s" } },
}
