-- Hangs of unknown kind (family C). hang.lua finds the kind: in a collective (C2), outside of one (C3); rendezvous.lua
-- finds C1.
--
-- Two findings say what is seen: `no_activity` (processes, collectives or GPUs) and `training_finished` (the log).
-- `stalled` needs `no_activity` and is critical after a short limit; `log_silent` has nothing but the log, where a long
-- validation looks the same, and is a warning after a long one. Where the kind is found, they yield to it.
-- `no_first_step` is for the rules that know what a start waits for.

local hangs = shared "hangs"
local gpus    = shared "gpus"
local working = shared "working"

-- The age of the job's progress: a step, a loss, a line of an evaluation.
local function progress_age(job)
  local steps = job.step:age():min("job")
  local eval  = job.phase:last():is("eval"):surely():choose(job.phase:age(), steps)
  return least_known(steps, eval, job.loss:age())
end

rule "gpus_spinning" {
  severity = "none", per = "job", every = "5s",
  summary = "All GPUs spin in a kernel that does no work",
  needs = {
    step    = signal "step"             { over = "attempt" },
    gr      = signal "gr_engine_active" { over = "30s" },
    gr_long = signal "gr_engine_active" { over = "5m" },
    sm      = signal "sm_active"        { over = "30s" },
  },
  params = { spins = 0.9, work = 0.2 },
  evaluate = function(job, p)
    local gr = job.gr:mean():fill(job.gr_long:last())
    return (gr:above(p.spins) & job.sm:mean():below(p.work) & gpus.sampled_since(job.gr_long, job.step)):all("job")
  end,
}

rule "no_activity" {
  severity = "none", per = "job", every = "5s",
  summary = "No activity of processes, collectives or GPUs",
  needs = {
    step     = signal "step"                { over = "attempt" },
    cpu      = signal "process_cpu"         { over = "45s" },
    lately   = signal "process_cpu"         { over = "10s" },
    -- Data loaders that start, and compilers, work for their rank
    children = signal "children_cpu"        { over = "45s" },
    state    = signal "process_state"       { over = "attempt" },
    call     = signal "wait_syscall"        { over = "attempt" },
    launched = signal "collective_launched" { over = "30s" },
    done     = signal "collective_done"     { over = "30s" },
    gr       = signal "gr_engine_active"    { over = "30s" },
    gr_long  = signal "gr_engine_active"    { over = "5m" },
    spinning = finding "gpus_spinning",
  },
  -- A rank that computes while others wait for it, or that writes, may validate or save for all of them: for
  -- `patience`.
  params = { idle = 0.05, awake = 0.15, computes = 0.1, busy = 0.5, patience = "5m" },
  state = { resumed = 0 },      -- seconds in which a process that was stopped and continued may still find its pace
  evaluate = function(job, p, state)
    local recent    = job.step:age():min("job"):below(p.patience)
    local cpu       = job.cpu:mean()
    local process   = job.state:last()
    local stopped   = process:is("stopped", "traced", "zombie"):any("job"):surely()
    local continued = ~stopped & state.resumed:above(0)
    state.resumed   = stopped:choose(30, greatest(state.resumed - 5, 0))
    local launched  = job.launched:last()
    local moving    = job.launched:delta():max("job"):above(0):surely()      -- slow, but it goes on
    local waiting   = launched:above(job.done:last()):any("job")
    local writes    = working.writing(job.call, job.state)
    -- Others wait for a rank that works, or writes
    local behind    = launched:below(launched:max("job"))
    local awaited   = (behind & (cpu:above(p.computes) | writes)):any("job"):surely() & recent
    local awake     = job.lately:max():max("job"):above(p.awake):surely()
    -- Runnable, but the host is overloaded
    local starved   = (process:is("running") & cpu:below(p.idle)):any("job"):surely()
    local writing   = writes:any("job") & recent
    local rests     = cpu:max("job"):below(p.idle) & job.children:mean():max("job"):below(p.idle):maybe()
    local idle      = rests & ~awake & ~starved & ~writing
    local gr        = job.gr:mean():fill(job.gr_long:last())
    local cold      = (gr:below(p.idle) & gpus.sampled_since(job.gr_long, job.step)):any("job")
                    & ~cpu:max("job"):above(p.busy):surely()
    local seen      = (waiting & ~awaited):surely() | stopped | idle:surely() | cold:surely()
                    | job.spinning:now():surely()
    return seen & ~moving & ~continued
  end,
}

rule "training_finished" {
  severity = "none", per = "job", every = "5s",
  summary = "Training finished, or every process has exited",
  needs = {
    step  = signal "step"           { over = "attempt" },
    loss  = signal "loss"           { over = "attempt" },
    over  = signal "training_over"  { over = "attempt" },
    due   = signal "training_due"   { over = "attempt" },
    ended = signal "training_ended" { over = "attempt" },
    cpu   = signal "process_cpu"    { over = "attempt" },
  },
  -- If steps (or losses, where no step is read) follow the message, it was about an epoch.
  params = { later = "10s" },
  evaluate = function(job, p)
    local steps   = job.step:age():min("job")
    local made    = job.step:count():max("job"):is(0):surely():choose(job.loss:age():fill(steps), steps)
    local finished = least(job.over:age(), job.due:age()):below(made + p.later):surely()
    local exited  = job.cpu:seen():any("job") & job.cpu:age():count("job"):is(0)
    return finished | exited | job.ended:seen()
  end,
}

rule "stalled" {
  family = "C", severity = "critical", per = "job", every = "5s",
  summary = "No training progress",
  needs = {
    idle     = finding "no_activity",
    finished = finding "training_finished",
    step     = signal "step"     { over = "attempt" },
    loss     = signal "loss"     { over = "attempt" },
    gap      = signal "step_gap" { over = 64, lag = 4, least = 8 },
    gaps     = signal "step_gap" { over = "attempt", least = 8 },
    phase    = signal "phase"    { over = "attempt" },
  },
  -- The limit is `k` times the 99th percentile of the last step times, from `least` to `most`, or twice the longest
  -- interval between steps. In a save or an evaluation it is at least as long as `steps` steps take. With fewer than
  -- eight steps it is `start`; once the log says that training is finished, `most`, for processes take time to exit.
  params = { k = 4, least = "30s", most = "10m", steps = 60, brief = "60s", start = "20m" },
  fire = "2 of 2", clear = "1 of 1",
  yields_to = hangs.or_collective {
    "rank_stopped", "job_stopped", "rendezvous_hang", "idle_hang", "collective_timeout", "rank_killed", "node_down",
  },
  shows = "no step for {age}, {beyond} over the limit of {limit} from this job's earlier steps; its processes, "
    .. "collectives or GPUs show no activity",
  causes = {
    saving     = "progress stopped while a checkpoint was written",
    evaluating = "progress stopped during an evaluation",
  },
  actions = {
    saving     = "check the file system that the checkpoint is written to; if it is healthy, stop the job and resume "
      .. "from the previous checkpoint",
    evaluating = "see what the processes wait for (py-spy dump on each), unless the evaluation data is large",
    otherwise  = "see what the processes wait for (py-spy dump on each), then stop the job and resume from its last "
      .. "checkpoint",
  },
  evaluate = function(job, p)
    local age     = progress_age(job)
    local begun   = job.step:count():max("job"):above(0) | job.loss:count():above(0)
    local longest = job.gaps:max():max("job")
    local usual   = job.gap:quantile(0.99):max("job"):fill(longest)
    local own     = greatest((p.k * usual):clamp(p.least, p.most), 2 * longest)
    local pausing = job.phase:last():is("eval", "checkpoint"):surely()
    local pause   = greatest(own, (p.steps * job.gap:median():max("job")):clamp(p.brief, p.most))
    local known   = job.gaps:count():max("job"):at_least(8):surely():choose(pausing:choose(pause, own), p.start)
    local limit   = job.finished:now():surely():choose(greatest(known, p.most), known)
    return begun & age:above(limit) & job.idle:now(),
      {
        age = age, limit = limit, beyond = age - limit, saving = job.phase:last():is("checkpoint"),
        evaluating = job.phase:last():is("eval"),
      }
  end,
}

rule "no_first_step" {
  severity = "none", per = "job", every = "5s",
  summary = "No first step, and the processes are idle",
  needs = {
    idle   = finding "no_activity",
    step   = signal "step"        { over = "attempt" },
    loss   = signal "loss"        { over = "attempt" },
    worked = signal "process_cpu" { over = "attempt" },
    phase  = signal "phase"       { over = "attempt" },
    met    = signal "rendezvous"  { over = "attempt" },
    launched = signal "collective_launched" { over = "attempt" },
  },
  -- Preparation may take `start` (data, compilation), but not while every process is idle and has been from the start.
  -- Once ranks have met, and wait in a collective for another one, that one may sleep for `met`. Processes that used
  -- `worked` seconds of CPU, or entered more than `few` collectives, may have trained, and the log format is not
  -- recognized.
  params = { start = "20m", patience = "60s", met = "5m", worked = 120, few = 20 },
  fire = "2 of 2", clear = "1 of 1",
  evaluate = function(job, p)
    local never   = job.step:count():max("job"):is(0) & ~job.loss:seen()
    local age     = progress_age(job)
    local entered = job.launched:last():max("job")
    local trained = (job.worked:mean():max("job") * age):above(p.worked):surely() | entered:above(p.few):surely()
    local patience = entered:above(0):surely():choose(p.met, p.patience)
    local met     = job.met:last()
    local starts  = job.phase:last():is("starting") | met:is("joined", "waiting")
    local late    = starts & age:above(p.start) & (job.idle:now() | met:is("waiting"):surely())
    return never & ((job.idle:now() & job.worked:seen():any("job") & ~trained & age:above(patience)):surely()
                    | late:surely())
  end,
}

rule "log_silent" {
  family = "C", severity = "warning", per = "job", every = "10s",
  summary = "No training progress in the log",
  needs = {
    finished = finding "training_finished",
    step     = signal "step"             { over = "attempt" },
    loss     = signal "loss"             { over = "attempt" },
    phase    = signal "phase"            { over = "attempt" },
    evals    = signal "eval_time"        { over = "attempt", least = 1 },
    saved    = signal "checkpoint_saved" { over = "attempt" },
    again    = signal "run_started"      { over = "attempt" },
    met      = signal "rendezvous"       { over = "attempt" },
    gaps     = signal "step_gap"         { over = "attempt", least = 1 },
    alive    = signal "any"              { over = "attempt" },
  },
  -- Progress is also a finished evaluation, a checkpoint and another start. The limit is `least`, or `times` the
  -- longest interval so far. Before `few` steps or losses the job's pace is not known, and only a log that prints
  -- nothing at all is silent.
  params = { least = "30m", times = 5, few = 8 },
  state = { longest = 0, was = 0 }, clear = "1 of 1",
  yields_to = hangs.or_collective {
    "stalled", "rank_stopped", "job_stopped", "rendezvous_hang", "idle_hang", "collective_timeout", "rank_killed",
    "node_down",
  },
  shows = "no progress in the log for {age}; the longest interval before was {longest}",
  causes = { log = "only the log is available: a long validation, save or data preparation that prints nothing until "
    .. "it is done looks the same" },
  actions = { log = "check whether its processes still run; if so, see what they wait for (py-spy dump on each), "
    .. "then stop the job and resume from its last checkpoint" },
  evaluate = function(job, p, state)
    local silent  = job.alive:age():min("job")
    local other   = least_known(job.evals:age():min("job"), job.saved:age(), job.again:age())
    local age     = least_known(progress_age(job), other):fill(silent)
    state.longest = age:below(state.was * "1s"):surely():choose(greatest(state.longest, state.was), state.longest)
    state.was     = (age / "1s"):fill(0)
    local longest = greatest_known(state.longest * "1s", job.gaps:max():max("job"))
    local enough  = greatest_known(job.step:count():max("job"), job.loss:count()):at_least(p.few):surely()
    local starts  = (job.phase:last():is("starting") | job.met:last():is("joined", "waiting")):surely()
                  & silent:above(p.least):maybe()
    return (enough | starts) & age:above(greatest(p.least, p.times * longest)) & ~job.finished:now():surely(),
         { age = age, longest = longest, log = enough | starts }
  end,
}
