-- A1: what fails by an error of its own, before the first step and at any other time.

local hangs = shared "hangs"
local ends = shared "ends"

-- Raised while another exception is handled, or because of it. The last of such a chain ended the program.
local links = { "handling", "cause" }

rule "startup_blocked" {
  family = "A1", severity = "critical", per = "job", every = "end",
  summary = "Failed to start",
  needs = {
    error    = signal "startup_error"  { over = "attempt" },
    report   = signal "startup_failed" { over = "attempt" },
    raised   = signal "traceback"      { over = "attempt" },
    step     = signal "step"           { over = "attempt" },
    loss     = signal "loss"           { over = "attempt" },
    ended    = signal "end_reason"     { over = "attempt" },
    finished = signal "training_ended" { over = "attempt" },
  },
  -- A program that needs what is missing ends at once. It survived an error long before its end.
  params = { last = "90s" },
  yields_to = {
    "rank_killed", "rendezvous_failed", "cuda_out_of_memory", "gpu_error", "gpu_error_in_log", "checkpoint_unreadable",
    "collective_timeout", "node_down", "node_lost", "preempted", "storage_lost",
  },
  shows = { "{message}[; {who}]", "failed before the first step[: {who}]" },
  causes = {
    package   = "a Python package or a shared library is missing or cannot be loaded",
    build     = "the installed packages were built without support for these GPUs",
    file      = "a file, a model or the data is missing, corrupt or not readable by the job",
    arguments = "the program rejected its command line",
    launch    = "the program or its container could not be started",
    gpu       = "no usable GPU: none is visible, another process holds it or its memory, or it has failed",
  },
  actions = {
    package   = "install it on every node of the job, then restart the job",
    build     = "install packages built for these GPUs (their CUDA version and architecture), then restart the job",
    file      = "provide the file, model or data where the job looks for it, make it readable, then restart the job",
    arguments = "correct the command line, then restart the job",
    launch    = "correct the path, the container image or the launch options, then restart the job",
    gpu       = "run nvidia-smi on the job's nodes[, first on {node}]: drain a node where it fails, and kill "
      .. "processes that an earlier job left on a GPU; otherwise correct the job's GPU request",
  },
  evaluate = function(job, p)
    local no_room = job.raised:where { part = "no room" }:seen()
    local recent  = job.error:within(p.last) | no_room
    local kind    = job.report:last("kind")
    return recent:any("job") & ~ends.begun(job) & ~ends.well(job) & ~job.finished:seen(),
      {
        who = recent, message = job.report:last("message"), package = kind:is("package"), build = kind:is("build"),
        file = kind:is("file"), arguments = kind:is("arguments"), launch = kind:is("launch"),
        gpu = kind:is("gpu") | no_room:any("job"),
      }
  end,
}

rule "startup_crash" {
  family = "A1", severity = "critical", per = "job", every = "end",
  summary = "Crashed during startup",
  needs = {
    failed   = signal "rank_failed"    { over = "attempt" },
    step     = signal "step"           { over = "attempt" },
    loss     = signal "loss"           { over = "attempt" },
    ended    = signal "end_reason"     { over = "attempt" },
    finished = signal "training_ended" { over = "attempt" },
    stood    = finding(hangs.or_collective { "rank_stopped", "job_stopped" }),
    launched = signal "collective_launched" { over = "attempt" },
  },
  -- Codes that a program or a shell gives for an error of its own. A job that prints no step trains once it has made
  -- `few` collectives.
  params = { codes = { 1, 2, 126, 127, 255 }, few = 20 },
  yields_to = {
    "startup_blocked", "exception", "exception_cut", "storage_lost", "rank_killed", "rendezvous_failed",
    "cuda_out_of_memory", "gpu_error", "gpu_error_in_log", "checkpoint_unreadable", "collective_timeout", "node_down",
    "node_lost", "preempted",
  },
  shows = { "exit code {code:.0f} before the first step[: {who}]", "failed before the first step[: {who}]" },
  actions = { otherwise = "read the end of the log[ of {who}], fix the error, then restart the job" },
  evaluate = function(job, p)
    local failed = job.failed:where { exitcode = p.codes }
    -- Ranks that waited too long for a stopped one fail without an error of their own.
    return failed:seen():any("job") & ~job.stood:ever():surely() & ~ends.begun(job) & ~ends.well(job)
             & ~job.finished:seen() & ~job.launched:last():max("job"):above(p.few):surely(),
      { who = failed:seen(), code = failed:last("exitcode"):max("job") }
  end,
}

rule "exception" {
  family = "A1", severity = "critical", per = "job", every = "end",
  summary = "Unhandled exception",
  needs = {
    saved    = signal "checkpoint_saved" { over = "attempt" },
    raised   = signal "traceback"        { over = "attempt" },
    first    = signal "exception_raised" { over = "attempt" },
    new      = signal "exception_raised" { over = "2m" },
    failed   = signal "rank_failed"      { over = "attempt" },
    step     = signal "step"             { over = "attempt" },
    loss     = signal "loss"             { over = "attempt" },
    ended    = signal "end_reason"       { over = "attempt" },
    finished = signal "training_ended"   { over = "attempt" },
  },
  -- The culprit: whose own exception came first, at most `together` before another. Where no step is read, an error
  -- long before the end was survived. So is one in a job that prints exceptions again and again and goes on: `often` of
  -- them are older than two minutes, and a step came after the last.
  params = { together = 2, after = 30, last = "5m", often = 3 },
  yields_to = hangs.or_collective {
    "startup_blocked", "storage_lost", "rank_killed", "rendezvous_failed", "cuda_out_of_memory", "gpu_error",
    "gpu_error_in_log", "cuda_failed", "checkpoint_unreadable", "collective_timeout", "loss_not_finite", "node_down",
    "node_lost", "preempted",
  },
  shows = { "{class}[: {message}][, in {place}][; on {who}]", "an exception without a name[, in {place}][; on {who}]" },
  causes = {
    startup = "the job had not made its first step",
    own     = { "the last line of the job's own code is {line}", "the traceback has no line of the job's own code" },
    reached = "its traceback has library frames only; another traceback of the same moment called them[ from {site}]",
    linked  = "it led to another exception[, {last}][: {words}][, in {at}], which ended the process",
  },
  actions = {
    reached   = {
      "fix {site} or what it passes to the library, then restart the job[ from checkpoint {saved:.0f}]",
      "fix what the program passes to the library, then restart the job[ from checkpoint {saved:.0f}]",
    },
    own       = {
      "fix {line}, then restart the job[ from checkpoint {saved:.0f}]",
      "fix what raised {class}, then restart the job[ from checkpoint {saved:.0f}]", "fix it, then restart the job",
    },
  },
  evaluate = function(job, p)
    local own    = job.raised:except { exception = ends.others, part = "consequence" }
    local first  = ends.own_exceptions(job)
    local whole  = first:except { exception = "cut off" }
    local early  = ends.earliest(own, p.together)
    local linked = whole:where { link = links }
    local chain  = (early & own:where { link = links }:seen()):any("job") & linked:seen()
    -- A traceback of a loader's worker has library frames only; the process that waited for it shows its own code.
    local frames = job.first:where { code = "own" }
    local site   = whole:first("code"):is("library"):surely() & frames:seen() & ~chain
    return whole:seen() & ends.ended_by(job, first, p) & ~ends.after_training(job, first),
      {
        who = early, class = whole:first("exception"), message = whole:first("message"), place = whole:first("place"),
        startup = ~ends.begun(job), own = ~site, line = whole:where { code = "own" }:first("place"), reached = site,
        site = frames:first("place"), linked = chain,
        last = linked:last("exception"), words = linked:last("message"), at = linked:last("place"),
        saved = job.saved:last("step"),
      }
  end,
}

rule "exception_cut" {
  family = "A1", severity = "critical", per = "job", every = "end",
  summary = "Unhandled exception (traceback truncated)",
  needs = {
    saved    = signal "checkpoint_saved" { over = "attempt" },
    raised   = signal "traceback"        { over = "attempt" },
    first    = signal "exception_raised" { over = "attempt" },
    new      = signal "exception_raised" { over = "2m" },
    failed   = signal "rank_failed"      { over = "attempt" },
    step     = signal "step"             { over = "attempt" },
    loss     = signal "loss"             { over = "attempt" },
    ended    = signal "end_reason"       { over = "attempt" },
    finished = signal "training_ended"   { over = "attempt" },
  },
  params = { after = 30, last = "5m", often = 3 },
  yields_to = hangs.or_collective {
    "exception", "startup_blocked", "storage_lost", "rank_exited", "rank_killed", "rendezvous_failed",
    "cuda_out_of_memory", "gpu_error", "gpu_error_in_log", "cuda_failed", "checkpoint_unreadable",
    "collective_timeout", "collective_failed", "loss_not_finite", "node_down", "node_lost", "preempted",
  },
  shows = "a traceback without its end[: {who}][, in {place}]",
  causes = {
    startup = "the job had not made its first step",
    cut     = "other streams or ranks wrote in between, or the process ended before it had written everything",
  },
  actions = { otherwise = "read the last traceback[ of {who}] in the log, fix the error, then restart the job[ from "
    .. "checkpoint {saved:.0f}]" },
  evaluate = function(job, p)
    local part  = job.first:where { exception = "cut off" }
    -- A person's end, printed in pieces
    local asked = job.first:where { exception = { "KeyboardInterrupt", "SignalException", "SystemExit" } }:seen()
    return part:seen() & ends.ended_by(job, ends.own_exceptions(job), p) & ~asked & ~job.finished:seen(),
      {
        who = job.raised:where { exception = "cut off" }:seen(), place = part:first("place"),
        startup = ~ends.begun(job), cut = part:seen(), saved = job.saved:last("step"),
      }
  end,
}
