-- Hangs: C2, C3, and C where the kind is unknown (C1 is in rendezvous.lua).
--
-- One limit, from the job's own steps, decides that a job stands still: `stalled`. The other rules find the kind of standstill, from
-- the signals that exist, in this order: counts of collectives, states of the processes, activity of the GPUs. If one of them knows the
-- kind, `stalled` does not page.

-- Collectors that report once a minute sample each rank at another time: the kind of a standstill is decided once every value that is
-- younger than it is due. (A rank without one by then is silent, which is evidence, too.) `standing` is the standstill's age.
local function settled(job, standing)
  local function due(window)      -- of a number: its usual interval is over
    return (~window:count():above(0):surely() | standing:above(1.2 * window:interval()):surely()):all("job")
  end
  local function reported(window)     -- of a state: it was reported again, or is overdue
    return (~window:count():above(0):surely() | window:age():below(standing):surely()):all("job") | standing:above(180)
  end
  return due(job.launched) & due(job.cpu) & due(job.gr_long) & reported(job.state)
end

-- Whether the looks at the GPUs show the standstill: one look, or one from before the last step, does not. Unknown counts as yes.
local function shown(looks, step)
  return (looks:age():below(step:age():min("job")) & looks:count():above(1)):maybe()
end

rule "stalled" {
  family = "C", severity = "critical", per = "job", every = "5s",
  summary = "No training progress",
  needs = {
    step     = signal "step"                { over = "attempt" },
    gap      = signal "step_gap"            { over = 64, lag = 4, least = 8 },
    gaps     = signal "step_gap"            { over = "attempt", least = 8 },
    fresh    = signal "step_gap"            { over = 4, least = 4 },
    first    = signal "step_gap"            { over = "attempt", least = 1 },
    loss     = signal "loss"                { over = "attempt" },
    evals    = signal "eval_time"           { over = 64, least = 1 },
    saves    = signal "checkpoint_time"     { over = 64, least = 1 },
    phase    = signal "phase"               { over = "attempt" },
    cpu      = signal "process_cpu"         { over = "45s" },
    worked   = signal "process_cpu"         { over = "attempt" },
    children = signal "children_cpu"        { over = "45s" },
    lately   = signal "process_cpu"         { over = "10s" },
    state    = signal "process_state"       { over = "attempt" },
    launched = signal "collective_launched" { over = "30s" },
    done     = signal "collective_done"     { over = "30s" },
    gr       = signal "gr_engine_active"    { over = "30s" },
    gr_long  = signal "gr_engine_active"    { over = "5m" },
    sm       = signal "sm_active"           { over = "30s" },
    alive    = signal "any"                 { over = "attempt" },
    met      = signal "rendezvous"          { over = "attempt" },
    ended    = signal "training_ended"      { over = "attempt" },
    over     = signal "training_over"       { over = "attempt" },
    due      = signal "training_due"        { over = "attempt" },
    again    = signal "run_started"         { over = "attempt" },
    call     = signal "wait_syscall"        { over = "attempt" },
  },
  -- Training: k times the 99th percentile of the last steps, between `least` and `most`, or twice the longest pause that this attempt came
  -- back from: with several steps, since a bar may show a last one long after it was made. A save, an evaluation: as long as `steps` steps
  -- take, at least a minute. That short a limit is for a standstill that processes, collectives or GPUs show as well. Where lines are all
  -- there is, a validation, a save or a preparation of data that is printed once it is done looks the same: the limit is at least `alone`,
  -- and `talking` while other lines come, and `patient` times the longest interval; `waiting` where ranks wait for one that computes.
  -- A log that shows steps or losses seldom (fewer than eight gaps, or losses alone), or none but that it trains, may take `seldom` (`rare` after fewer than `few` losses and no step), or four
  -- times what it took before: its longest pause until then doubled, or `settles` times what it took from its begin to the first of them. Of an evaluation that was announced more silence is expected (`talking`); of a training that is over, by the log's
  -- own word, or whose own count has run out, nothing more where nothing else is known.
  -- The first step may take `start` (data, compilation), but not while every process is idle and was from the begin: then nothing is being
  -- prepared. A process that worked for `worked` seconds may have trained, with lines that nobody understands.
  params = { k = 4, least = "30s", most = "10m", steps = 60, brief = "60s", save = "5m", eval = "10m", alone = "15m", waiting = "5m", talking = "30m", patient = 5,
             start = "20m", seldom = "60m", rare = "6h", few = 8, settles = 1.5, rounded = "40m", tens = 1000, hundreds = 100, jump = 32000, beside = 1, often = 100, near = 10, idle = "60s", busy = 0.02, works = 0.5, some = 0.1, rests = 0.05, wakes = 0.15, worked = 120, spin = 0.9, duty = 0.2, recent = "15m" },
  state = { longest = 0, stood = 0, wait = 0, was = 0, pause = 0, round = 0, hundred = 0, prev = -1, pace = 1e9 }, fire = "2 of 2", clear = "1 of 1",
  yields_to = { "rank_stopped", "job_stopped", "rendezvous_hang", "collective_hang", "idle_hang", "collective_timeout", "rank_killed", "node_down" },
  shows = "no step for {age}, {beyond} over the limit that this job's earlier steps allow",
  causes = {
    first      = "the first step never completed",
    saving     = "progress stopped while a checkpoint was written",
    evaluating = "progress stopped during an evaluation",
    alone      = "only the log is available: a long validation, save or data preparation that prints nothing until it is done looks the same, and so does a run that ended without a message",
  },
  actions = {
    saving     = "check the file system that the checkpoint is written to; if it is healthy, stop the job and resume from the previous checkpoint",
    evaluating = "wait if the evaluation data is large; otherwise inspect the processes (py-spy dump on each)",
    first      = "see what the processes wait for (py-spy dump on each): data, compilation, or each other",
    alone      = "check whether its processes still run; if so, see what they wait for (py-spy dump on each), then stop the job and resume from its last checkpoint",
    otherwise  = "see what the processes wait for (py-spy dump on each), then stop the job and resume from its last checkpoint",
  },
  evaluate = function(job, p, state)
    -- What the others see: a rank waits in a collective for one that does not compute; every process rests, or one is stopped; GPUs rest,
    -- or spin without work.
    local cpu      = job.cpu:mean()
    local launched = job.launched:last()
    local waits    = launched:above(job.done:last()):any("job")
    local late     = launched:below(launched:max("job"))
    local computes = (late & cpu:above(p.some)):any("job"):surely()      -- a validation may wait for its GPU, and for its data
    local stopped  = job.state:last():is("stopped", "traced", "zombie"):any("job")
    local resumed  = ~stopped:surely() & state.stood:above(0)      -- continued after a stop: it finds its pace within half a minute
    state.stood    = stopped:surely():choose(30, greatest(state.stood - 5, 0))
    local awake    = job.lately:max():max("job"):above(p.wakes):surely()      -- continued after a stop
    local starves  = (job.state:last():is("running") & cpu:below(p.rests)):any("job"):surely()      -- it wants to run, and a busy host does not let it
    local whole    = cpu + job.children:mean():fill(0)      -- loaders that start, and compilers, work for their rank
    local resting  = whole:max("job"):below(p.rests) & ~awake & ~starves
    local gr       = job.gr:mean():fill(job.gr_long:last())
    local shows    = shown(job.gr_long, job.step)
    local cold     = (gr:below(0.05) & shows):any("job") & ~cpu:above(p.works):any("job"):surely()
    local spinning = (gr:above(p.spin) & job.sm:mean():below(p.duty) & shows):all("job")
    local files    = (job.call:last():is("write", "pwrite64", "writev", "fsync", "fdatasync", "close", "msync", "munmap", "sync") | job.state:last():is("disk_sleep")):any("job"):surely()
    local resting  = resting & ~(files & job.step:age():min("job"):below(p.save)):surely()      -- a rank that writes may save: minutes, not for ever
    local seen     = (waits & ~computes):surely() | stopped:surely() | resting:surely() | cold:surely() | spinning:surely()

    local phase   = job.phase:last()
    local longest = job.gaps:max():max("job")
    local back    = longest:above(job.fresh:max():max("job")):surely()
    state.longest = back:choose(longest / "1s", state.longest)
    local pace    = p.steps * job.gap:median():max("job")
    local slowest = job.gap:quantile(0.99):max("job"):fill(longest)
    local own     = greatest((p.k * slowest):clamp(p.least, p.most), 2 * state.longest * "1s", 2 * slowest)
    local eval    = greatest(own, pace:clamp(p.brief, p.eval), (3 * job.evals:max():max("job")):fill(0))
    local save    = greatest(own, pace:clamp(p.brief, p.save), (3 * job.saves:max():max("job")):fill(0))
    local usual   = phase:is("eval"):surely():choose(eval, phase:is("checkpoint"):surely():choose(save, own))
    local steps   = job.step:age():min("job")
    local silent  = job.alive:age():min("job")
    local talks   = (silent:below(p.recent) & silent:below(0.9 * steps)):surely()       -- other lines came after the last step
    -- Evaluations and saves come at round steps, at thousands or at hundreds: a silence after one, among steps that are printed much closer, may be such.
    local at      = job.step:last():max("job")
    state.pace    = at:above(state.prev):surely():choose(at - state.prev, state.pace)
    state.prev    = at:fill(state.prev)
    state.round   = at:below(state.round):surely():choose(0, at:at_least(state.round + p.tens):surely():choose(state.round + p.tens, state.round))
    local on      = at:at_least(state.hundred + p.jump):surely():choose(state.hundred + p.jump, at:at_least(state.hundred + p.hundreds):surely():choose(state.hundred + p.hundreds, state.hundred))
    state.hundred = at:below(state.hundred):surely():choose(0, on)
    local thousands = state.round:above(0) & (at - state.round):at_most(p.beside) & state.pace:at_most(p.often)
    local hundreds  = state.hundred:above(0) & (at - state.hundred):at_most(p.beside) & state.pace:at_most(p.near)
    local round   = (thousands:surely() | hundreds:surely()) & ~seen
    local quiet   = greatest(usual, p.patient * longest, round:choose(p.rounded, "0s"), waits:surely():choose(p.waiting, (talks | phase:is("eval"):surely()):choose(p.talking, p.alone)))
    local idle    = whole:max("job"):below(p.busy) & ~awake & ~starves
    local trained = job.gaps:count():max("job"):at_least(8):surely()
    local never   = job.step:count():max("job"):is(0) & ~job.loss:count():above(0):surely()
    local tested = phase:is("eval"):surely():choose(job.phase:age(), steps)      -- an evaluation whose lines go on is progress
    local age     = least(least(steps, tested), job.loss:age():fill(steps))      -- so is a loss, if no step is reported
    local worked  = (job.worked:mean():max("job") * steps):above(p.worked):surely()
    state.wait    = never:surely():choose(state.wait + 5, state.wait)
    state.pause   = (age:below(state.was * "1s") & ~never):surely():choose(greatest(state.pause, state.was), state.pause)
    state.was     = (age / "1s"):fill(0)
    local between = greatest((4 * job.first:max():max("job")):fill(0), (4 * job.loss:interval()):fill(0), p.settles * state.wait * "1s", 2 * state.pause * "1s")
    local trains  = phase:is("train", "eval"):surely()
    local few     = (job.step:count():max("job"):is(0) & job.loss:count():below(p.few)):surely()
    local begin   = ((never & ~trains) | seen):choose(p.start, greatest((few & ~never):choose(p.rare, p.seldom), between))
    -- Processes take their time to go: what follows the training's own last word is clean-up, unless steps are made after it, or losses
    -- where no step is known.
    local made    = job.step:count():max("job"):is(0):surely():choose(age, steps)
    local over    = job.over:age():below(made + "10s"):surely()
    local due     = job.due:age():below(made + "10s"):surely()
    local gone    = (over | due) & ~job.worked:count():above(0):surely():any("job")
    -- Nor is a step missing once the process of every rank has ended, and its launcher takes its time.
    local left    = job.worked:count():above(0):surely():any("job") & job.worked:age():count("job"):is(0)
    local allowed = trained:choose(seen:choose(usual, quiet), (idle & never & ~worked):surely():choose(p.idle, begin))
    local anew    = (job.again:age():below(least(age, p.start)) & ~never & ~seen):surely()      -- another start in the same log has time for its first step, too
    local moving  = job.launched:delta():above(0):any("job")      -- slow, but it goes on: no hang
    local limit   = over:choose(greatest(allowed, p.most), allowed)
    -- A log without a line that is understood, or with phase train, does not prove that the first step never came; nor does one that
    -- goes on with other lines.
    local read    = idle | ((phase:is("starting") | job.phase:age():above(limit) | job.met:last():is("joined")) & (seen | silent:above(p.start):maybe())) | job.met:last():is("waiting")
    local certain   = ~never | read:surely()
    return age:above(limit) & certain & ~resumed & ~moving:surely() & ~job.ended:count():above(0):surely() & ~gone & ~left & ~anew,
      { age = age, limit = limit, beyond = age - limit, first = never, saving = phase:is("checkpoint"), evaluating = phase:is("eval"), alone = trained & ~seen }
  end,
}

rule "collective_hang" {
  family = "C2", severity = "critical", per = "job", every = "5s",
  summary = "NCCL collective hang",
  needs = {
    stalled  = finding "stalled",
    step     = signal "step"                { over = "attempt" },
    launched = signal "collective_launched" { over = "attempt" },
    done     = signal "collective_done"     { over = "attempt" },
    pid      = signal "process_pid"         { over = "attempt" },
    state    = signal "process_state"       { over = "attempt" },
    channel  = signal "wait_channel"        { over = "attempt" },
    call     = signal "wait_syscall"        { over = "attempt" },
    cpu      = signal "process_cpu"         { over = "30s" },
    gr       = signal "gr_engine_active"    { over = "30s" },
    sm       = signal "sm_active"           { over = "30s" },
    gr_long  = signal "gr_engine_active"    { over = "5m" },
    power    = signal "gpu_power"           { over = "5m" },
  },
  -- Without steps, counts that stand still for `still` are enough. So are GPUs of which some are cold for five minutes while the rest
  -- look busy and draw hardly more power than the cold ones: kernels that wait do no work. (While rank 0 saves for all it looks the same.)
  params = { still = "90s", cold = 0.05, spin = 0.9, work = 0.2, idle = 0.05, draw = 2 },
  yields_to = { "rank_stopped", "job_stopped", "rank_unreaped", "rank_killed", "node_down" },
  shows = "the job hangs in a collective; not in it: {who}",
  causes = {
    outside = "the named ranks have not entered a collective that the others wait in: inspect their processes first",
    stopped = "a process is stopped or waits for a device, and the rest wait for it",
    spinning = "the GPUs of the named ranks are idle while the others wait in a kernel",
    elsewhere = "most ranks wait in a futex, as threads in a collective do; the named ranks do something else",
    fabric  = "all ranks wait in the same collective: suspect the network or the library, not a rank",
  },
  actions = {
    stopped  = { "inspect process {pid:.0f} of rank {rank} on {node} (ps, dmesg -T): if it is stopped, kill -CONT {pid:.0f}; otherwise drain {node}",
                 "inspect the process of rank {rank} on {node} (ps, dmesg -T): if it is stopped, kill -CONT; otherwise drain {node}", "inspect the process of {who}: if it is stopped, kill -CONT" },
    outside  = { "see what rank {rank} on {node} does (py-spy dump --pid {pid:.0f}), then stop the job and resume from its last checkpoint",
                 "see what rank {rank} on {node} does (py-spy dump), then stop the job and resume from its last checkpoint", "see what {who} does (py-spy dump on each process), then stop the job and resume from its last checkpoint" },
    elsewhere = { "see what rank {rank} on {node} does (py-spy dump --pid {pid:.0f}), then stop the job and resume from its last checkpoint",
                 "see what rank {rank} on {node} does (py-spy dump), then stop the job and resume from its last checkpoint", "see what {who} does instead (py-spy dump on each process), then stop the job and resume from its last checkpoint" },
    spinning = { "inspect the GPU and the process of rank {rank} on {node} (nvidia-smi, dmesg -T); drain {node} if its GPU does not respond", "inspect the GPU and the process of {who} (nvidia-smi, dmesg -T)" },
    fabric   = "check the network between the nodes (ibstat, link counters, nccl-tests), then stop the job and resume from its last checkpoint",
    otherwise = "find the rank that is not in a collective (py-spy dump on each)",
  },
  evaluate = function(job, p)
    -- Counts: a rank that has launched more than is done waits; one that has launched fewer than the rest, and does not wait, delays them.
    local launched = job.launched:last()
    local waits    = launched:above(job.done:last())
    local behind   = launched:below(launched:max("job"))
    local outside  = behind & ~waits
    local by_count = outside | (behind & ~outside:any("job"))
    local counted  = launched:count("job"):above(0)

    -- Processes: one that is stopped, or one that sleeps elsewhere while most sleep in a futex, as a thread that waits for gloo does.
    local state    = job.state:last()
    local cpu      = job.cpu:mean()
    local stopped  = state:is("stopped", "traced", "zombie") | (state:is("disk_sleep") & cpu:below(p.idle))
    local futex    = job.channel:last():is("futex_do_wait", "futex_wait_queue", "futex_wait_queue_me"):surely()
                   | job.call:last():is("futex"):surely()
    local reported     = (job.channel:count():above(0) | job.call:count():above(0)):surely()
    local quiet    = futex & cpu:below(p.idle):maybe()
    local most     = quiet:count("job"):above((reported & ~quiet):count("job"))
    local by_state = stopped & ~stopped:all("job")
    local by_wait  = reported & ~quiet & most

    -- GPUs: the cold ones, while others spin.
    local gr       = job.gr:mean():fill(job.gr_long:last()):at("rank")
    local cold     = gr:below(p.cold)
    local spin     = gr:above(p.spin) & (job.sm:mean():below(p.work)):maybe()
    local by_gpu   = cold & spin:any("job")

    local gr_long  = job.gr_long:min():at("rank")
    local dark     = job.gr_long:max():at("rank"):below(p.cold)
    local power    = job.power:mean():at("rank")
    local pinned   = gr_long:above(p.spin) & power:below(p.draw * power:min("job"))
    local frozen   = job.launched:age():min("job"):above(p.still) & waits:any("job") & behind:any("job")
    local lit      = dark:any("job") & pinned:any("job") & (dark | pinned):all("job")

    local c, s     = by_count:surely(), by_state:surely()
    local no_count = ~c:any("job")
    local no_state = no_count & ~s:any("job")
    local w        = by_wait:surely() & ~counted
    local g        = by_gpu:surely() | (dark & lit):surely()
    local who      = c | (s & no_count) | (w & no_state) | (g & no_state & ~w:any("job"))

    local standing = job.step:age():min("job"):fill(job.launched:age():min("job"))
    local stuck    = (job.stalled:now():surely() & settled(job, standing):maybe()) | (job.stalled:now():maybe() & (frozen | lit))
    local within   = waits:any("job") | (~counted & (by_state:any("job") | by_wait:any("job"))) | spin:any("job") | lit
    return stuck & within,
      { who = who, pid = job.pid:last(), outside = c:any("job"), stopped = (who & stopped:surely()):any("job"), spinning = (who & g):any("job"), elsewhere = (who & w & no_state):any("job"),
        fabric = waits:all("job") & ~who:any("job") }
  end,
}

rule "idle_hang" {
  family = "C3", severity = "critical", per = "job", every = "5s",
  summary = "Job hung outside collectives, all ranks idle",
  needs = {
    stalled  = finding "stalled",
    step     = signal "step"                { over = "attempt" },
    launched = signal "collective_launched" { over = "attempt" },
    done     = signal "collective_done"     { over = "attempt" },
    state    = signal "process_state"       { over = "attempt" },
    channel  = signal "wait_channel"        { over = "attempt" },
    call     = signal "wait_syscall"        { over = "attempt" },
    cpu      = signal "process_cpu"         { over = "30s" },
    cpu_long = signal "process_cpu"         { over = "5m" },
    gr       = signal "gr_engine_active"    { over = "30s" },
    gr_long  = signal "gr_engine_active"    { over = "5m" },
  },
  params = { cold = 0.05, idle = 0.05 },
  yields_to = { "rank_stopped", "job_stopped", "rank_unreaped", "collective_hang", "rendezvous_hang", "rank_killed", "node_down" },
  shows = "every rank is idle, and none is in a collective",
  causes = {
    stopped = "all processes are stopped, by a signal or a debugger",
    device  = "the processes wait for a device or a file system",
    host    = "the processes sleep: on a lock, a pipe, a queue or a remote service",
  },
  actions = {
    stopped = "continue the processes: kill -CONT; if a debugger holds them, detach it",
    device  = "check the device or the file system that the processes wait for (dmesg -T, ls on the mount)",
    host    = "see what the processes wait for (py-spy dump on each): a lock, a pipe, or a service that does not respond",
    otherwise = "see what the processes wait for (py-spy dump on each)",
  },
  evaluate = function(job, p)
    local waits   = job.launched:last():above(job.done:last())
    local counted = job.launched:last():count("job"):above(0)
    local state   = job.state:last()
    local idle    = job.cpu:mean():fill(job.cpu_long:last()):below(p.idle)
    local futex   = job.channel:last():is("futex_do_wait", "futex_wait_queue", "futex_wait_queue_me"):surely()
                  | job.call:last():is("futex"):surely()
    local reported    = job.channel:count():above(0) | job.call:count():above(0)
    local cold    = (job.gr:mean():fill(job.gr_long:last()):below(p.cold) & shown(job.gr_long, job.step)):all("job")
    local outside = (counted & ~waits:any("job")) | (~counted & ((idle & reported & ~futex):all("job") | cold))
    local begun   = job.step:count():above(0):any("job") | job.launched:last():above(0):any("job")
    local halted  = state:is("stopped", "traced"):all("job")
    local device  = state:is("disk_sleep"):any("job")
    local standing = job.step:age():min("job"):fill(job.launched:age():min("job"))
    return job.stalled:now() & settled(job, standing):maybe() & outside & begun,
      { stopped = halted, device = device, host = idle:all("job") & ~halted & ~device }
  end,
}
