-- Hangs in collectives (C2) where it is known which collective each rank has entered: by the tracer of `tocsin wrap`,
-- by NCCL's profiler plugin, or from flight recorder dumps. hang.lua decides where only counts or processes are known.
--
-- A rank waits if its oldest collective has been open for longer than collectives of this job usually are. What the
-- other ranks do then tells the kind: some are in no collective (not entered); all wait, but in different functions
-- (mismatch), in different groups (deadlock), or in the same collective (not completed).

local stacks  = shared "stacks"
local working = shared "working"

rule "collective_waits" {
  severity = "none", per = "rank", every = "2s",
  summary = "Rank has waited in a collective for longer than usual",
  needs = {
    open     = signal "collective_waiting"  { over = "10s", least = 1 },
    usual    = signal "collective_waiting"  { over = "10m", lag = "20s", least = 1 },
    launched = signal "collective_launched" { over = "attempt" },
  },
  -- `least` more than `k` times the longest wait of ten minutes, at most `most`. The first `few` collectives wait for
  -- ranks that start: nothing tells how long this job's ranks take to download, or to wait for each other's files.
  params = { k = 1.5, least = "5s", most = "10m", start = "5m", few = 20, begun = "16s" },
  state = { limit = 300 },      -- seconds; a wait that goes on does not count for its own limit
  evaluate = function(job, p, state)
    local usual = job.usual:max():max("job"):fill(0)
    local young = job.launched:last():max("job"):below(p.few):surely()
    local limit = young:choose(p.start, least(p.k * usual + p.least, p.most))
    state.limit = job.open:last():above(p.begun):surely():choose(state.limit, limit)
    return job.open:last():above(state.limit)
  end,
}

rule "collective_absent" {
  severity = "none", per = "rank", every = "2s",
  summary = "Rank is in no collective, and has entered none for a while",
  needs = {
    open     = signal "collective_waiting"  { over = "attempt", least = 1 },
    launched = signal "collective_launched" { over = "attempt" },
  },
  params = { still = "4s" },
  evaluate = function(job, p) return job.open:last():is(0) & job.launched:age():above(p.still) end,
}

-- A rank that validates, saves, compiles or waits for a process of its own comes to the collective later: for
-- `patience`. If its main thread waits meanwhile, another thread may work for it: for `beside`. In a broadcast the
-- others wait for what one rank sends, and that one may wait for requests: without an end, if it is seen to serve.
rule "rank_works" {
  severity = "none", per = "rank", every = "2s",
  summary = "Rank computes, loads, saves or compiles, or waits for requests",
  needs = {
    cpu      = signal "process_cpu"   { over = "5s", least = 2 },
    children = signal "children_cpu"  { over = "5s", least = 2 },
    state    = signal "process_state" { over = "10s", least = 1 },
    call     = signal "wait_syscall"  { over = "10s", least = 1 },
    stack    = signal "stack"         { over = "70s" },
    open     = signal "collective_waiting" { over = "attempt", least = 1 },
    fn       = signal "collective_function" { over = "10s", least = 1 },
  },
  params = { idle = 0.05, loop = "5s", beside = "30s", patience = "5m" },
  evaluate = function(job, p)
    local doing, unchanged = job.stack:last("doing"), job.stack:last("unchanged")
    local looping = (doing:is("own") & unchanged:at_least(p.loop)):surely()
    local waiting = (doing:is("lock", "waiting", "sleeping") & unchanged:at_least(p.beside)):surely()
    local runs    = job.cpu:mean():above(p.idle) | job.state:last():is("running")      -- or would, on a busy host
    local busy    = (runs & ~waiting) | job.children:mean():above(p.idle):surely()
    local writes  = working.writing(job.call, job.state)
                  | (job.call:last():is("wait4", "waitid")
                     | doing:is("saving", "compiling", "importing", "writing", "child")):surely()
    local model   = doing:is("syncing"):any("job")      -- DDP broadcasts the buffers of the model
    local sends   = (job.fn:last():mode("job"):is("broadcast", "scatter") & ~model:surely()
                     & ~job.state:last():is("zombie")):surely()
    local recent  = job.open:last():max("job"):below(p.patience)
    return (((busy & ~looping) | writes | sends) & recent) | (sends & job.stack:last("serves"):is(1):surely())
  end,
}

rule "collectives_ceased" {
  severity = "none", per = "job", every = "5s",
  summary = "No rank has entered a collective for a while, and none works",
  needs = {
    absent   = finding "collective_absent",
    works    = finding "rank_works",
    open     = signal "collective_waiting"  { over = "10s", least = 1 },
    launched = signal "collective_launched" { over = "attempt" },
  },
  params = { patience = "60s", few = 20 },
  evaluate = function(job, p)
    local absent = job.absent:now():surely()
    local others = (job.open:seen() & ~absent) | job.works:now():surely()
    local trains = job.launched:last():max("job"):above(p.few):surely()
    return absent:any("job") & ~others:any("job") & trains & job.launched:age():min("job"):above(p.patience)
  end,
}

rule "rank_missing" {
  severity = "none", per = "rank", every = "2s",
  summary = "Rank is in no collective and does not work, and others may wait for it",
  needs = {
    absent = finding "collective_absent",
    works  = finding "rank_works",
    asked  = signal "collective_awaited" { over = "10s", least = 1 },
  },
  evaluate = function(job, p)
    local elsewhere = job.asked:last():is(0):surely()      -- others wait in groups that it is not in
    return job.absent:now() & ~job.works:now():surely() & ~elsewhere
  end,
}

rule "rank_waits_for_own" {
  severity = "none", per = "rank", every = "2s",
  summary = "Main thread of a rank waits for a process that it started, or while another thread of it works",
  needs = { cpu = signal "process_cpu" { over = "5s", least = 2 }, stack = signal "stack" { over = "70s" } },
  params = { idle = 0.05 },
  evaluate = function(job, p)
    local doing = job.stack:last("doing")
    return doing:is("child") | (job.cpu:mean():above(p.idle) & doing:is("lock", "waiting", "sleeping"))
  end,
}

rule "collective_not_entered" {
  family = "C2", per = "job", every = "2s",
  severity = { looping = "warning", reading = "warning", sends = "warning", own = "warning", otherwise = "critical" },
  summary = "Rank has not entered a collective; peers wait",
  needs = {
    waits   = finding "collective_waits",
    missing = finding "rank_missing",
    own     = finding "rank_waits_for_own",
    open    = signal "collective_waiting"  { over = "attempt", least = 1 },
    fn      = signal "collective_function" { over = "10s", least = 1 },
    number  = signal "collective_number"   { over = "10s", least = 1 },
    state   = signal "process_state"       { over = "10s", least = 1 },
    pid     = signal "process_pid"         { over = "attempt", least = 1 },
    stack   = signal "stack"               { over = "70s" },
    bundle  = signal "bundle"              { over = "attempt" },
  },
  fire = "2 of 2", clear = "4 of 4", yields_to = { "rank_stopped", "rank_killed", "rank_unreaped", "node_down" },
  shows = {
    "{fn} {number:.0f} was not entered by {who}; ranks waiting in it: {n:.0f} of {all:.0f}[; rank {rank}: {where}]"
      .. "[; the others: {theirs}]",
    "not in the collective that others wait in: {who}; ranks waiting in it: {n:.0f} of {all:.0f}",
  },
  causes = {
    looping = "the same function of the program runs on and on: an endless loop, or long work in Python",
    locked  = "it waits for a lock or a queue",
    loading = "it waits for its data loader",
    reading = "it reads a file, a pipe or a connection, and no data comes: a download looks the same",
    sends   = "the others wait for what it sends: a server that waits for requests looks the same",
    own     = "its main thread waits for a process that it started, or while another thread of it works",
    exited  = "its process has gone",
    idle    = "its process sleeps: on a lock, a pipe, a queue or a remote service",
  },
  actions = {
    exited    = "read the last lines of {who} to see why it exited",
    otherwise = "see what rank {rank} does ([tocsin bundle {run}, ]py-spy dump[ --pid {pid:.0f}][ on {node}]), then "
      .. "restart from a checkpoint",
  },
  evaluate = function(job, p)
    local waits, who = job.waits:now():surely(), job.missing:now():surely()
    local fn, number = job.fn:last():mode("job"), job.number:last():mode("job")
    local inside     = waits & job.fn:last():is(fn):maybe() & job.number:last():is(number):maybe()
    local doing, known = job.stack:last("doing"), job.state:seen():any("job")      -- dumps know no processes
    local function culprit(mask) return (who & mask):any("job") end
    local looping = culprit(doing:is("own") & job.stack:last("unchanged"):at_least("5s"))
    local reading, own = culprit(doing:is("reading")), culprit(job.own:now())
    local sends   = (fn:is("broadcast", "scatter") & ~doing:is("syncing"):any("job"):surely()):surely() & known
    local unsure  = (looping | reading | own | sends):surely()
    local locked, loading = culprit(doing:is("lock")) & ~unsure, culprit(doing:is("loading")) & ~unsure
    local exited  = culprit((~job.state:seen() & known) | job.state:last():is("zombie"))
    return waits:any("job") & who:any("job"), {
      who = who, n = inside:count("job"), all = job.open:last():count("job"), fn = fn, number = number,
      where = job.stack:last("where"), run = job.bundle:last("run"):at("rank"), pid = job.pid:last(),
      theirs = stacks.in_collectives(job.stack),
      looping = looping, locked = locked, loading = loading, reading = reading, sends = sends, own = own,
      exited = exited, idle = known & ~(unsure | locked | loading | exited):surely(),
    }
  end,
}

rule "collective_mismatch" {
  family = "C2", severity = "critical", per = "job", every = "2s",
  summary = "Ranks call different collectives at the same place",
  needs = {
    waits  = finding "collective_waits",
    fn     = signal "collective_function"  { over = "10s", least = 1 },
    args   = signal "collective_arguments" { over = "10s", least = 1 },
    number = signal "collective_number"    { over = "10s", least = 1 },
    group  = signal "collective_group"     { over = "10s", least = 1 },
    stack  = signal "stack"                { over = "70s" },
  },
  fire = "2 of 2", yields_to = { "rank_stopped", "rank_killed", "node_down", "collective_not_entered" },
  shows = "rank {rank}[ on {node}] calls {own}[ ({own_args})] where the others call[ {fn}][ ({args})], as number "
    .. "{number:.0f} of group {group}[; rank {rank}: {where}]",
  causes = {
    mismatch = "the ranks take different branches of the program: a condition that depends on the rank or its data",
  },
  actions = { mismatch = "compare the calls of rank {rank} with those of the others, and make all ranks of the group "
    .. "call the same collectives in the same order" },
  evaluate = function(job, p)
    local fn, number, group = job.fn:last(), job.number:last(), job.group:last()
    local here = job.waits:now():surely() & group:is(group:mode("job")):surely()
    local args = job.args:last()
    local same = fn:is(fn:mode("job")) & args:is(args:mode("job")):maybe()
    local who  = (here & number:is(number:mode("job")) & ~same & ~fn:is("send", "recv")):surely()
    return who:any("job"),
      {
        who = who, own = fn, own_args = args, fn = fn:mode("job"), args = args:mode("job"),
        number = number:mode("job"), group = group:mode("job"), where = job.stack:last("where"),
        mismatch = who:any("job"),
      }
  end,
}

rule "collective_deadlock" {
  family = "C2", severity = "critical", per = "job", every = "2s",
  summary = "Ranks wait in different groups for each other",
  needs = {
    waits  = finding "collective_waits",
    open   = signal "collective_waiting"    { over = "10s", least = 1 },
    group  = signal "collective_group"      { over = "10s", least = 1 },
    size   = signal "collective_group_size" { over = "10s", least = 1 },
    asked  = signal "collective_awaited"    { over = "10s", least = 1 },
    stack  = signal "stack"                 { over = "70s" },
  },
  fire = "2 of 2",
  yields_to = { "rank_stopped", "rank_killed", "node_down", "collective_not_entered", "collective_mismatch" },
  shows = "rank {rank}[ on {node}] waits in group[ {theirs}], and others ({n:.0f}) wait in group {group}; "
    .. "none of these groups is complete[; rank {rank}: {where}]",
  causes = { order = "ranks that are members of both groups enter them in different order" },
  actions = { order = "call collectives of different groups in the same order on all ranks, then restart the job" },
  evaluate = function(job, p)
    local waits  = job.waits:now():surely()
    local group  = job.group:last()
    local here   = waits & group:is(group:mode("job")):surely()
    local there  = waits & (~group:is(group:mode("job"))):surely()
    local size   = here:choose(job.size:last(), 0):max("job")
    local whole  = here:count("job"):at_least(size)
    local free   = (job.open:seen() & ~waits & ~job.asked:last():is(0):surely()):any("job")
    return there:any("job") & ~free & ~whole,
      {
        who = there, n = here:count("job"), theirs = group, group = group:mode("job"),
        where = job.stack:last("where"), order = there:any("job"),
      }
  end,
}

rule "collective_not_started" {
  family = "C2", severity = "critical", per = "job", every = "2s",
  summary = "Collective does not start on the GPU of a rank; peers wait",
  needs = {
    waits  = finding "collective_waits",
    stage  = signal "collective_stage"    { over = "10s", least = 1 },
    fn     = signal "collective_function" { over = "10s", least = 1 },
    number = signal "collective_number"   { over = "10s", least = 1 },
    pid    = signal "process_pid"         { over = "attempt", least = 1 },
  },
  fire = "2 of 2",
  yields_to = { "rank_stopped", "rank_killed", "node_down", "collective_not_entered", "collective_mismatch" },
  shows = "rank {rank}[ on {node}] has called[ {fn}][ {number:.0f}], and its GPU does not run it; ranks that run it: "
    .. "{n:.0f}",
  causes = {
    behind = "the GPU is busy with something before it: a kernel that does not end, or a collective of another group",
  },
  actions = { behind = "see which kernel runs on the GPU of rank {rank} (nvidia-smi, cuda-gdb[ --pid {pid:.0f}]"
    .. "[ on {node}]), then restart from a checkpoint" },
  evaluate = function(job, p)
    local waits   = job.waits:now():surely()
    local running = (waits & job.stage:last():is("started")):surely()
    local who     = (waits & job.stage:last():is("entered")):surely()
    return who:any("job") & running:any("job"),
      {
        who = who, n = running:count("job"), fn = job.fn:last():mode("job"), number = job.number:last():mode("job"),
        pid = job.pid:last(), behind = who:any("job"),
      }
  end,
}

rule "collective_incomplete" {
  family = "C2", severity = "critical", per = "job", every = "2s",
  summary = "Collective that all ranks have entered does not complete",
  needs = {
    waits  = finding "collective_waits",
    open   = signal "collective_waiting"    { over = "10s", least = 1 },
    fn     = signal "collective_function"   { over = "10s", least = 1 },
    number = signal "collective_number"     { over = "10s", least = 1 },
    group  = signal "collective_group"      { over = "10s", least = 1 },
    size   = signal "collective_group_size" { over = "10s", least = 1 },
  },
  params = { least = "30s" },
  fire = "2 of 2",
  yields_to = {
    "rank_stopped", "rank_killed", "node_down", "collective_not_entered", "collective_mismatch",
    "collective_not_started",
  },
  shows = "all {n:.0f} members[ of group {group}] have been in the same collective[, {fn}][ {number:.0f}][ for {age}]",
  causes = {
    peers  = "each member waits for another that waits as well: all of them receive, or all send",
    fabric = "no rank is missing: suspect the network or the library, not a rank",
  },
  actions = {
    peers  = "let one rank of each pair send first while the other receives (or use batch_isend_irecv), then restart "
      .. "the job",
    fabric = "check the network between the nodes (ibstat, nccl-tests), then restart from the last checkpoint",
  },
  evaluate = function(job, p)
    local fn, number, group = job.fn:last(), job.number:last(), job.group:last()
    local same = job.waits:now() & group:is(group:mode("job")) & fn:is(fn:mode("job")) & number:is(number:mode("job"))
    local here = same:surely()
    local size = here:choose(job.size:last(), 0):max("job")
    local paired = fn:mode("job"):is("send", "recv")
    local full = (here & job.open:last():above(p.least)):count("job"):at_least(size:clamp(2))
    return full,
      {
        n = size, fn = fn:mode("job"), number = number:mode("job"), group = group:mode("job"),
        age = job.open:last():max("job"),
        peers = paired, fabric = full & ~paired,
      }
  end,
}
