-- E2: a run that does not go on where it had come to.

local ends = shared "ends"

rule "checkpoint_unreadable" {
  family = "E2", severity = "critical", per = "job", every = { "bad", "raised", "30s" },
  summary = "Checkpoint could not be loaded",
  needs = {
    bad = signal "checkpoint_unreadable" { over = "attempt" }, raised = signal "traceback" { over = "attempt" },
    first = signal "exception_raised" { over = "attempt" },
    step = signal "step" { over = "attempt" },
  },
  -- Failures while a checkpoint is loaded that are not failures of the checkpoint.
  params = { other = {
    "ModuleNotFoundError", "ImportError", "PermissionError", "OutOfMemoryError", "KeyboardInterrupt",
    "AcceleratorError", "DistBackendError",
  } },
  shows = "the checkpoint is corrupt or does not match the model[; on {who}]",
  causes = {
    error   = { "{class}[: {message}][, in {place}]", "an exception while it was loaded[, in {place}]" },
    line    = "the log reports an error[: {words}]",
    reached = "the log reports an error[: {words}][, in {site}]",
  },
  actions = { otherwise = "resume from the previous checkpoint, or correct the model's configuration to match this "
    .. "one" },
  evaluate = function(job, p)
    -- Once steps were made, what does not load is something else: a best model, a part for evaluation.
    local loading = job.raised:where { loading = "yes" }:except { exception = p.other }:seen()
    local bad     = job.bad:seen()
    local own     = job.raised:except { part = "consequence" }:seen()
    local who     = loading | (own & bad & ~loading:any("job"))
    local first   = job.first:where { loading = "yes" }:except { exception = "cut off", part = "consequence" }
    local named   = first:seen()
    -- The traceback of that very line.
    local near    = (job.first:age() - job.bad:age()):abs():below(0.5):surely() & ~named
    return (bad | loading:any("job")) & ~job.step:seen():any("job"),
      {
        who = who, error = named, line = bad & ~named & ~near, reached = bad & near, site = job.first:last("place"),
        words = job.bad:last("message"), class = first:first("exception"), message = first:first("message"),
        place = first:first("place"),
      }
  end,
}

rule "checkpoint_mismatched" {
  family = "E2", severity = "critical", per = "job", every = "end",
  summary = "Checkpoint does not match the model",
  needs = {
    other = signal "checkpoint_mismatch" { over = "attempt" },
    step  = signal "step"                { over = "attempt" },
    loss  = signal "loss"                { over = "attempt" },
    ended = signal "end_reason"          { over = "attempt" },
  },
  yields_to = { "checkpoint_unreadable" },
  shows = "weights do not match the model[: {n:.0f}][, the first is {weight}]",
  actions = { otherwise = "correct the model's configuration, or use the checkpoint that belongs to it" },
  evaluate = function(job, p)
    return job.other:seen() & ~ends.begun(job) & ~ends.well(job),
         { n = job.other:count(), weight = job.other:first("weight") }
  end,
}

rule "progress_lost" {
  family = "E2", severity = "critical", per = "job", every = "10s",
  summary = "Restarted from scratch by the launcher",
  needs = {
    again  = signal "worker_group_restart" { over = "attempt" },
    loaded = signal "checkpoint_loaded"    { over = "attempt" },
    step   = signal "step"                 { over = "attempt" },
  },
  params = { made = 100, anew = 50 }, yields_to = { "checkpoint_unreadable", "rank_killed", "node_down" },
  shows = "step {now:.0f} after a restart, step {before:.0f} before it",
  causes = { silent = "no checkpoint was loaded after the restart: does one exist, and does the program resume from "
    .. "it?" },
  actions = { otherwise = "stop the job and start it so that it resumes from its last checkpoint: it had reached "
    .. "step {before:.0f}" },
  evaluate = function(job, p)
    local now, before = job.step:last():max("job"), job.step:max():max("job")
    local loaded = job.loaded:within(job.again:age())
    local fresh  = job.again:seen() & before:above(p.made) & now:below(p.anew) & ~loaded
    return fresh, { now = now, before = before, silent = fresh }
  end,
}

rule "silent_resume" {
  family = "E2", severity = "critical", per = "job", every = { "30s", "end" },
  summary = "Restarted from scratch instead of resuming",
  needs = {
    loss    = signal "loss"                 { over = "attempt" },
    was     = signal "loss"                 { over = "earlier" },
    step    = signal "step"                 { over = "attempt" },
    reached = signal "step"                 { over = "earlier" },
    saved   = signal "checkpoint_saved"     { over = "earlier" },
    loaded  = signal "checkpoint_loaded"    { over = "attempt" },
    loading = signal "checkpoint_loading"   { over = "attempt" },
    fresh   = signal "started_from_scratch" { over = "attempt" },
    missing = signal "checkpoint_missing"   { over = "attempt" },
    other   = signal "checkpoint_mismatch"  { over = "attempt" },
    ended   = signal "end_reason"           { over = "earlier" },
  },
  -- The loss is that of the first values, far above where the attempt before left off, and was low for half of the
  -- time between: by itself where it fell far, else together with a step of less than `half` of what was reached. A
  -- step alone says it only where no loss is printed and steps never fell. The log's own words are believed once steps
  -- or losses are there: before, a checkpoint may still be loading.
  params = { made = 100, half = 0.5, low = 0.4, back = 0.7, above = 0.5, fell = 0.2, far = 0.4, values = 32 },
  yields_to = { "checkpoint_unreadable", "checkpoint_mismatched", "progress_lost" },
  shows = {
    "started at step {first:.0f} although step {reached:.0f} had been reached[; loss {head:.4g}][, {tail:.4g} before]",
    "started from scratch[; loss {head:.4g}][, {tail:.4g} before the restart][, {birth:.4g} initially]",
  },
  causes = {
    random  = "the log says that it starts from scratch",
    weights = "a checkpoint was loaded, but its weights were not used",
    none    = "no checkpoint was saved before",
    ignored = "checkpoints had been saved, but none was loaded",
  },
  actions = {
    weights   = "stop the job and load the checkpoint with strict=True: its weights have other names or shapes",
    none      = "let it continue and save checkpoints: the progress[ up to step {reached:.0f}] is lost",
    otherwise = "stop the job and resume it from its last checkpoint[: it had reached step {reached:.0f}]",
  },
  evaluate = function(job, p)
    local birth, tail, head = job.was:first(5), job.was:last(5), job.loss:first(5)
    local fall   = birth - tail
    local first, reached, last = job.step:min():min("job"), job.reached:max():max("job"), job.reached:last():max("job")
    local back   = first:below(p.half * reached) & reached:at_least(p.made)
    local loaded, loading = job.loaded:seen(), job.loading:seen()
    local low    = job.was:median():below(birth - p.low * fall) & job.was:count():at_least(p.values)
    local like   = (head - tail):above(p.back * fall) & head:below(birth + p.above * fall) & low
    local anew   = like & fall:above((back & ~loaded):surely():choose(p.fell, p.far) * birth:abs()) & tail:above(0)
    local old    = (head - tail):below(p.half * fall):surely()
    local text   = (job.fresh:seen() | job.missing:seen()) & ~loaded
    local come   = reached:at_least(p.made):surely() | job.was:count():at_least(p.values):surely()
    local unread = job.was:count():is(0):surely()      -- no loss is printed
    local begun  = (unread & job.step:seen():any("job")) | job.loss:seen()
    local saved  = job.saved:count():above(0)
    local plain  = begun & text & come & back:maybe() & ~old
    local step   = unread & back:surely() & last:at_least(reached):surely() & saved:surely() & ~loaded & ~loading
    return (anew:surely() | plain | step) & ~job.ended:last():is("completed"):surely(),
      { first = first, reached = reached, head = head, tail = tail, birth = birth,
        random = text, weights = (loaded | loading | job.other:seen()) & ~text, none = ~saved:maybe() & ~loaded,
        ignored = saved:surely() & ~loaded & ~loading & ~text }
  end,
}

-- ---- cases --------------------------------------------------------------------------------------

case "the launcher starts the ranks again, and they begin at 0" {
  ranks = 2, { lasting = "5m", phase = "train", step = steps(1) },
  { lasting = "5s", step = silent, events = { { "worker_group_restart", left = 2, at = "2s" } } },
  { lasting = "40s", step = steps(1, 1) },
  fires = { { "progress_lost", cause = "silent" } },
}
case "the launcher starts the ranks again, and they go on" {
  ranks = 2, { lasting = "5m", phase = "train", step = steps(1) },
  {
    lasting = "5s", step = silent,
    events = { { "worker_group_restart", left = 2, at = "2s" }, { "checkpoint_loaded", step = 250, at = "4s" } },
  },
  { lasting = "40s", step = steps(1, 250) },
}
case "a checkpoint that does not fit the model" {
  ranks = 2,
  {
    lasting = "10s", phase = "starting",
    events = {
      { "checkpoint_unreadable", message = "size mismatch for head.weight", at = "4s" },
      { "traceback", rank = 1, at = "4s" },
    },
    ends = "failed",
  },
  fires = { { "checkpoint_unreadable" } },
}
case "weights of other shapes are left out, and the training goes on" {
  ranks = 1,
  { lasting = "10s", phase = "starting", events = { { "checkpoint_mismatch", weight = "head.weight", at = "4s" } } },
  { lasting = "3m", phase = "train", step = steps(1) },
}
case "weights of other shapes are the end" {
  ranks = 1,
  {
    lasting = "10s", phase = "starting", events = { { "checkpoint_mismatch", weight = "head.weight", at = "4s" } },
    ends = "failed",
  },
  fires = { { "checkpoint_mismatched" } },
}
case "the second attempt begins anew" {
  ranks = 2,
  {
    lasting = "5m", phase = "train", step = steps(1, 1), loss = ramp(8, 3),
    events = { { "checkpoint_saved", step = 200, at = "200s" } }, ends = "failed",
  },
  { new_attempt = true, lasting = "4m", step = steps(1, 1), loss = ramp(8, 5) },
  fires = { { "silent_resume", cause = "ignored", within = "3m" } },
}
case "the second attempt goes on from a checkpoint" {
  ranks = 2,
  {
    lasting = "5m", phase = "train", step = steps(1, 1), loss = ramp(8, 3),
    events = { { "checkpoint_saved", step = 200, at = "200s" } }, ends = "failed",
  },
  {
    new_attempt = true, lasting = "4m", step = steps(1, 201), loss = ramp(4.6, 2.8),
    events = { { "checkpoint_loaded", step = 200, at = "1s" } },
  },
}
case "the second attempt goes on, and its bar begins each epoch at 0" {
  ranks = 1, { lasting = "5m", phase = "train", step = steps(1, 1), loss = ramp(8, 3), ends = "failed" },
  { new_attempt = true, lasting = "4m", step = steps(1, 1), loss = ramp(3.3, 2.8) },
}
case "the step goes on, and the weights are new" {
  ranks = 1, { lasting = "5m", phase = "train", step = steps(1, 1), loss = ramp(8, 3), ends = "failed" },
  {
    new_attempt = true, lasting = "4m", step = steps(1, 300), loss = ramp(7.9, 6),
    events = { { "checkpoint_loaded", step = 299, at = "1s" } },
  },
  fires = { { "silent_resume", cause = "weights" } },
}
case "the third attempt begins anew, and the second did not" {
  ranks = 1, { lasting = "3m", phase = "train", step = steps(1, 1), loss = ramp(8, 4), ends = "failed" },
  { new_attempt = true, lasting = "3m", step = steps(1, 180), loss = ramp(4, 3), ends = "failed" },
  { new_attempt = true, lasting = "4m", step = steps(1, 1), loss = ramp(8, 6) },
  fires = { { "silent_resume" } },
}
case "the log says that training starts from scratch, after an attempt that came far" {
  ranks = 1, { lasting = "5m", phase = "train", step = steps(1, 1), ends = "failed" },
  { new_attempt = true, lasting = "4m", step = steps(1, 1), events = { { "started_from_scratch", at = "1s" } } },
  fires = { { "silent_resume", cause = "random" } },
}
case "no loss is printed, and the step begins anew after checkpoints" {
  ranks = 1,
  {
    lasting = "5m", phase = "train", step = steps(1, 1), events = { { "checkpoint_saved", step = 200, at = "200s" } },
    ends = "failed",
  },
  { new_attempt = true, lasting = "4m", step = steps(1, 1) },
  fires = { { "silent_resume", cause = "ignored" } },
}
case "weights are made at random, and then loaded from the checkpoint for minutes" {
  ranks = 2,
  {
    lasting = "5m", phase = "train", step = steps(1, 1), loss = ramp(8, 3),
    events = { { "checkpoint_saved", step = 200, at = "200s" } }, ends = "failed",
  },
  {
    new_attempt = true, lasting = "3m", phase = "starting", step = silent, loss = silent,
    events = { { "started_from_scratch", at = "2s" }, { "checkpoint_loading", at = "3s" } },
  },
  {
    lasting = "3m", phase = "train", step = steps(1, 201), loss = ramp(4, 2.8),
    events = { { "checkpoint_loaded", step = 200, at = "1s" } },
  },
}
case "a run that completed is made again" {
  ranks = 1, { lasting = "5m", phase = "train", step = steps(1, 1), loss = ramp(2.5, 0.6), ends = "completed" },
  { new_attempt = true, lasting = "4m", step = steps(1, 1), loss = ramp(2.3, 0.8) },
}
case "an attempt that failed early begins anew" {
  ranks = 1, { lasting = "40s", phase = "train", step = steps(1, 1), loss = ramp(8, 7.5), ends = "failed" },
  { new_attempt = true, lasting = "5m", step = steps(1, 1), loss = ramp(8, 5) },
}
