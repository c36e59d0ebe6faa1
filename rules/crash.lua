-- A1: what fails by an error of its own, before the first step and at any other time.

local ends = shared "ends"

-- What was raised while the first own exception was handled, or because of it ("During handling of", "direct cause
-- of"): the last of such a chain ended the program. Only where the rank that failed first has one.
local function chain_of(first, own, early)
  local linked = first:where { link = { "handling", "cause" } }
  local theirs = (early & own:where { link = { "handling", "cause" } }:count():above(0)):any("job")
  return (linked:count():above(0) & theirs):surely(), linked
end
-- A loader's worker, or a pool's, shows only the frames of libraries, as a rule; who waited for it shows where the
-- program is.
local function site_of(job, whole, chain)
  local owned = job.first:where { code = "own" }
  return owned:first("place"), (whole:first("code"):is("library") & owned:count():above(0) & ~chain):surely()
end
-- What the program's own code raises after the training is over, and no thread of a helper, ended the program: a last
-- test, an export.
local function after_all(job, first)
  local own = first:except { part = "thread" }:where { code = "own" }
  return (job.finished:age() - own:age()):above(0):surely()
end

rule "startup_crash" {
  family = "A1", severity = "critical", per = "job", every = "end",
  summary = "Crashed during startup",
  needs = {
    raised   = signal "traceback"         { over = "attempt" },
    first    = signal "exception_raised"  { over = "attempt" },
    usage    = signal "usage_error"       { over = "attempt" },
    module   = signal "missing_module"    { over = "attempt" },
    library  = signal "library_missing"   { over = "attempt" },
    gpu      = signal "no_gpu"            { over = "attempt" },
    hub      = signal "hub_access"        { over = "attempt" },
    data     = signal "bad_data"          { over = "attempt" },
    file     = signal "missing_file"      { over = "attempt" },
    denied   = signal "permission_denied" { over = "attempt" },
    full     = signal "disk_full"         { over = "attempt" },
    broken   = signal "storage_failed"    { over = "attempt" },
    failed   = signal "rank_failed"       { over = "attempt" },
    step     = signal "step"              { over = "attempt" },
    loss     = signal "loss"              { over = "attempt" },
    ended    = signal "end_reason"        { over = "attempt" },
    finished = signal "training_ended"    { over = "attempt" },
    again    = signal "run_started"       { over = "attempt" },
    stood    = finding { "rank_stopped", "job_stopped" },
  },
  yields_to = {
    "rank_killed", "rendezvous_failed", "cuda_out_of_memory", "gpu_error", "gpu_error_in_log", "checkpoint_unreadable",
    "collective_timeout", "node_down", "node_lost", "preempted",
  },
  shows = "failed before the first step[: {who}]",
  causes = {
    exception   = { "{class}[: {message}][, in {place}]", "an exception without a name[, in {place}]" },
    reached     = {
      "{class}[: {message}][, in {place}], reached from {site}", "an exception in a library[, reached from {site}]",
    },
    linked      = "it led to another exception[, {last}][: {words}][, in {at}], which ended the process",
    torn        = { "{class}[: {message}][, after {where}]", "an exception without a name[, after {where}]" },
    cut         = "the traceback is cut off[ in {where}]",
    environment = "a package or library is missing or cannot be loaded",
    asset       = "a file, a model or the data is missing, corrupt or not readable by the job",
    storage     = "the disk or quota is full, not writable, or the file system failed",
    usage       = "the program rejected its command line",
    gpu         = "no usable GPU: none is visible, another process holds it or its memory, or it has failed",
  },
  -- Where nothing of the log is understood, an exception long before its end was survived; so was the error of a line
  -- after which the job ran on: a program that cannot do without what is missing ends at once.
  params = { together = 0.5, last = "5m", line = "1m", ended = 0.5 },
  actions = {
    reached     = "fix {site} or what it passes to the library, then restart the job",
    exception   = {
      "fix {place}, then restart the job", "fix what raised {class}, then restart the job",
      "fix what the traceback in the log names, then restart the job",
    },
    environment = "install what is missing on every node of the job, then restart it",
    asset       = "put the file, the model or the data where the job looks for it, make it readable, then restart "
      .. "the job",
    storage     = "free space or fix the file system, then restart the job",
    usage       = "correct the command line, then restart the job",
    gpu         = "run nvidia-smi on the job's nodes[, first on {node}]: drain a node where it fails, and kill "
      .. "processes that an earlier job left on a GPU; otherwise correct the job's GPU request",
    otherwise   = "read the end of the log[ of {who}], fix the error, then restart the job",
  },
  evaluate = function(job, p)
    local ended   = job.failed:where { exitcode = { 1, 2, 126, 127, 255 } }:seen()
    -- Ranks that waited too long for a stopped one fail without an error of their own
    local failed  = ended:any("job") & ~job.stood:ever():surely()
    local over    = failed | job.ended:last():is("failed"):surely()
    local own     = job.raised:except { exception = ends.others, part = { "consequence", "no room" } }
    local function any(events)
      return (events:seen() & ~(events:age():above(p.line) & events:age():below("10000h")):surely()
              & ~ends.of_earlier_start(job, events, own)):any("job")
    end
    -- A program that refused its command line has ended: whom a person interrupts after it is another start.
    local refused = job.usage:age():min("job")
    local asked   = job.first:where { exception = "KeyboardInterrupt" }
    local usage   = any(job.usage)
                  & ~(asked:count():above(0) & refused:below("10000h")
                      & ~(asked:age():at_least(refused - p.ended) & asked:age():below("10000h")):surely()):surely()
    local first   = job.first:except { exception = ends.others, part = { "consequence", "no room" } }
    -- Whose own exception came first, or all of them where most ranks fail in the same way.
    local came    = own:seen()
    -- One that came at this very tick has no age yet
    local since   = (came & own:age():below("10000h")):surely():choose(own:age(), 0)
    local early   = came & since:at_least(since:max("job") - p.together):surely()
    local most    = came:count("job"):above((~came):count("job"))
    local no_room = job.raised:where { part = "no room" }:seen()
    local raised  = (came & most) | early | no_room | (job.usage:seen() & usage)
    local broken  = (job.broken:count():above(0) & ~ends.goes_on(job, job.broken, 10)):surely():any("job")
    local storage = any(job.full) | any(job.denied) | broken
    local missing = any(job.module) | any(job.library)
    local gpu     = any(job.gpu) | no_room:any("job")
    local asset   = any(job.hub) | any(job.data) | any(job.file)
    local lately  = ~(first:age():above(p.last) & first:age():below("10000h")):surely() | over
                  | job.failed:seen():any("job")
    local crash   = (came:any("job") & lately) | usage | storage | missing | asset | gpu | failed
    local begun   = (job.step:count():above(0):any("job") | job.loss:count():above(0)):surely()
    local well    = ends.well(job) | (job.finished:seen() & ~after_all(job, first))
    local chain, linked = chain_of(first, own, early)
    local whole  = first:except { exception = "cut off" }
    local named  = whole:seen()
    local placed = whole:first("code"):is("own", "library"):surely()      -- a last line alone has no place
    local part   = first:where { exception = "cut off" }
    local parts  = part:seen()
    local site, reached = site_of(job, whole, chain)
    return crash & ~begun & ~well,
      {
        who = raised | (ended & ~raised:any("job")), exception = named & (placed | ~parts) & ~reached,
        reached = reached, site = site, torn = named & ~placed & parts, class = whole:first("exception"),
        message = whole:first("message"), place = whole:first("place"), cut = parts & ~named,
        where = part:first("place"), linked = chain, last = linked:last("exception"), words = linked:last("message"),
        at = linked:last("place"), environment = missing, asset = asset, storage = storage, usage = usage, gpu = gpu,
      }
  end,
}

rule "exception" {
  family = "A1", severity = "critical", per = "job", every = "end",
  summary = "Unhandled exception",
  needs = {
    saved    = signal "checkpoint_saved" { over = "attempt" },
    raised   = signal "traceback"         { over = "attempt" },
    first    = signal "exception_raised"  { over = "attempt" },
    new      = signal "exception_raised"  { over = "2m" },
    recent   = signal "exception_raised"  { over = "10m" },
    failed   = signal "rank_failed"       { over = "attempt" },
    step     = signal "step"              { over = "attempt" },
    loss     = signal "loss"              { over = "attempt" },
    ended    = signal "end_reason"        { over = "attempt" },
    finished = signal "training_ended"    { over = "attempt" },
  },
  -- The culprit: whose own exception came first, at most `together` before another. Where no step is understood, an
  -- error long before the end was survived. So is one in a job that prints exceptions again and again and goes on, as
  -- those that run code on trial: `often` of them are older than two minutes, steps are not, and one came after the
  -- last of them. Where a step takes minutes: `always` of them are older than ten.
  params = { together = 0.5, after = 30, last = "5m", often = 3, steps = "2m", always = 8, slowly = "10m" },
  yields_to = {
    "startup_crash", "storage_lost", "rank_killed", "rendezvous_failed", "cuda_out_of_memory", "gpu_error",
    "gpu_error_in_log", "cuda_failed", "checkpoint_unreadable", "collective_hang", "collective_timeout",
    "loss_not_finite", "node_down", "node_lost", "preempted",
  },
  shows = { "{class}[: {message}][, in {place}][; on {who}]", "an exception without a name[, in {place}][; on {who}]" },
  causes = {
    own    = "raised by the job's own code or data: the place is the last line outside of libraries",
    reached = "its traceback has library frames only; another traceback of the same moment called them[ from {site}]",
    linked = "it led to another exception[, {last}][: {words}][, in {at}], which ended the process",
  },
  actions = {
    reached   = "fix {site} or what it passes to the library, then restart the job[ from checkpoint {saved:.0f}]",
    own       = "fix {place}, then restart the job[ from checkpoint {saved:.0f}]",
    otherwise = {
      "fix what raised {class}, then restart the job",
      "read the last traceback in the log, fix the error, then restart the job",
    },
  },
  evaluate = function(job, p)
    local own     = job.raised:except { exception = ends.others, part = "consequence" }
    local first   = job.first:except { exception = ends.others, part = "consequence" }
    local came    = own:seen()
    -- One that came at this very tick has no age yet
    local since   = (came & own:age():below("10000h")):surely():choose(own:age(), 0)
    local early   = came & since:at_least(since:max("job") - p.together):surely()
    local begun   = (job.step:count():above(0):any("job") | job.loss:count():above(0)):surely()
    local lately  = ~(first:age():above(p.last) & first:age():below("10000h")):surely() | job.failed:seen():any("job")
    local known   = (first:count() - job.new:except {
      exception = ends.others, part = "consequence",
    }:count():fill(0)):at_least(p.often)
    local step    = job.step:age():min("job")
    local usual   = (first:count() - job.recent:except {
      exception = ends.others, part = "consequence",
    }:count():fill(0)):at_least(p.always)
    local habit   = ((known & step:below(p.steps) & step:below(first:age())) | (usual & step:below(p.slowly))):surely()
                  & ~job.failed:seen():any("job") & ~job.ended:last():is("failed"):surely()
    local own_end = ~habit & first:count():above(0) & begun & lately & ~ends.goes_on(job, first, p.after)
                  & ~(job.loss:age():below(first:age() - "30s") & first:age():below("10000h")):surely()
    local chain, linked = chain_of(first, own, early)
    local whole   = first:except { exception = "cut off" }
    local site, reached = site_of(job, whole, chain)
    -- What is raised once the training is over, by the log's own word, is clean-up, unless the launcher says that a
    -- rank failed after it.
    local failed  = (job.failed:count():above(0) & job.failed:age():at_most(job.finished:age())):surely():any("job")
    local done    = job.finished:seen() & ~failed & ~after_all(job, first)
    return own_end & whole:count():above(0) & ~ends.well(job) & ~done,
      {
        who = early, class = whole:first("exception"), message = whole:first("message"), place = whole:first("place"),
        own = first:count():above(0) & ~reached, reached = reached, site = site, linked = chain,
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
    first    = signal "exception_raised" { over = "attempt" },
    recent   = signal "exception_raised" { over = "10m" },
    raised   = signal "traceback"        { over = "attempt" },
    failed   = signal "rank_failed"      { over = "attempt" },
    step     = signal "step"             { over = "attempt" },
    loss     = signal "loss"             { over = "attempt" },
    ended    = signal "end_reason"       { over = "attempt" },
    finished = signal "training_ended"   { over = "attempt" },
  },
  params = { after = 30, last = "5m", always = 8, slowly = "10m" },
  yields_to = {
    "exception", "startup_crash", "storage_lost", "rank_exited", "rank_killed", "rendezvous_failed",
    "cuda_out_of_memory", "gpu_error", "gpu_error_in_log", "cuda_failed", "checkpoint_unreadable", "collective_hang",
    "collective_timeout", "collective_failed", "loss_not_finite", "node_down", "node_lost", "preempted",
  },
  shows = "a traceback without its end[: {who}]",
  causes = { cut = "other streams or ranks wrote in between, or the process ended before it had written everything" },
  actions = { otherwise = "read the last traceback[ of {who}] in the log, fix the error, then restart the job[ from "
    .. "checkpoint {saved:.0f}]" },
  evaluate = function(job, p)
    local part   = job.first:where { exception = "cut off" }
    -- A person's end, printed in pieces
    local asked  = job.first:where { exception = { "KeyboardInterrupt", "SignalException", "SystemExit" } }:seen()
    local begun  = (job.step:count():above(0):any("job") | job.loss:count():above(0)):surely()
    local lately = ~(part:age():above(p.last) & part:age():below("10000h")):surely() | job.failed:seen():any("job")
    local on     = ends.goes_on(job, part, p.after)
                 | (job.loss:age():below(part:age() - "30s") & part:age():below("10000h")):surely()
    local cut    = part:seen()
    local failed = job.failed:seen():any("job") | job.ended:last():is("failed"):surely()
    -- As above
    local habit  = ((job.first:count() - job.recent:count():fill(0)):at_least(p.always)
                    & job.step:age():min("job"):below(p.slowly)):surely()
                 & ~failed
    return cut & begun & lately & ~on & ~habit & ~asked & ~ends.well(job) & ~job.finished:seen(),
      { who = job.raised:where { exception = "cut off" }:seen(), cut = cut, saved = job.saved:last("step") }
  end,
}
