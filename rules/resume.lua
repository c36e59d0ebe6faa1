-- E2: a run that does not go on where it had come to.

rule "checkpoint_unreadable" {
  family = "E2", severity = "critical", per = "job", every = { "bad", "raised", "30s" },
  summary = "The checkpoint could not be loaded",
  needs = { bad = signal "checkpoint_unreadable" { over = "attempt" }, raised = signal "traceback" { over = "attempt" }, step = signal "step" { over = "attempt" } },
  -- Failures while a checkpoint is loaded that are not failures of the checkpoint.
  params = { other = { "ModuleNotFoundError", "ImportError", "PermissionError", "OutOfMemoryError", "KeyboardInterrupt", "AcceleratorError", "DistBackendError" } },
  shows = "the checkpoint is damaged, or does not fit the model",
  actions = { otherwise = "resume from the checkpoint before this one, or correct the model's configuration so that it fits" },
  evaluate = function(job, p)
    -- Once steps were made, what does not load is something else: a best model, a part for evaluation.
    local within = job.raised:where { loading = "yes" }:except { exception = p.other }:count():above(0):surely():any("job")
    return (job.bad:count():above(0):surely() | within) & ~job.step:count():above(0):any("job"):surely()
  end,
}

rule "checkpoint_mismatched" {
  family = "E2", severity = "critical", per = "job", every = "end",
  summary = "The checkpoint has weights of other shapes than the model, and no step was made",
  needs = {
    other = signal "checkpoint_mismatch" { over = "attempt" },
    step  = signal "step"                { over = "attempt" },
    loss  = signal "loss"                { over = "attempt" },
    ended = signal "end_reason"          { over = "attempt" },
  },
  yields_to = { "checkpoint_unreadable" },
  shows = "weights that do not fit: {n:.0f}, the first of them {weight}",
  actions = { otherwise = "correct the model's configuration, or name the checkpoint that belongs to it: {weight} does not fit" },
  evaluate = function(job, p)
    local begun = (job.step:count():above(0):any("job") | job.loss:count():above(0)):surely()
    return job.other:count():above(0) & ~begun & ~job.ended:last():is("completed"):surely(), { n = job.other:count(), weight = job.other:first("weight") }
  end,
}

rule "progress_lost" {
  family = "E2", severity = "critical", per = "job", every = "10s",
  summary = "The launcher started the ranks again, and they began anew",
  needs = {
    again  = signal "worker_group_restart" { over = "attempt" },
    loaded = signal "checkpoint_loaded"    { over = "attempt" },
    step   = signal "step"                 { over = "attempt" },
  },
  params = { made = 100, anew = 50 }, yields_to = { "checkpoint_unreadable", "rank_killed", "node_down" },
  shows = "step {now:.0f} after a restart, step {before:.0f} before it",
  causes = { silent = "no checkpoint was loaded after it: is there one, and does the program resume from it?" },
  actions = { otherwise = "stop the job, and start it so that it resumes from its last checkpoint: step {before:.0f} was reached before" },
  evaluate = function(job, p)
    local now, before = job.step:last():max("job"), job.step:max():max("job")
    local loaded = job.loaded:age():below(job.again:age()):surely()
    local fresh  = job.again:count():above(0) & before:above(p.made) & now:below(p.anew) & ~loaded
    return fresh, { now = now, before = before, silent = fresh }
  end,
}

-- ---- cases ------------------------------------------------------------------------------------------------------------------------

case "the launcher starts the ranks again, and they begin at 0" {
  ranks = 2, { lasting = "5m", phase = "train", step = steps(1) },
  { lasting = "5s", step = silent, events = { { "worker_group_restart", left = 2, at = "2s" } } }, { lasting = "40s", step = steps(1, 1) },
  fires = { { "progress_lost", cause = "silent" } },
}
case "the launcher starts the ranks again, and they go on" {
  ranks = 2, { lasting = "5m", phase = "train", step = steps(1) },
  { lasting = "5s", step = silent, events = { { "worker_group_restart", left = 2, at = "2s" }, { "checkpoint_loaded", step = 250, at = "4s" } } }, { lasting = "40s", step = steps(1, 250) },
}
case "a checkpoint that does not fit the model" {
  ranks = 2, { lasting = "10s", phase = "starting", events = { { "checkpoint_unreadable", at = "4s" }, { "traceback", rank = 1, at = "4s" } }, ends = "failed" },
  fires = { { "checkpoint_unreadable" } },
}
case "weights of other shapes are left out, and the training goes on" {
  ranks = 1, { lasting = "10s", phase = "starting", events = { { "checkpoint_mismatch", weight = "head.weight", at = "4s" } } }, { lasting = "3m", phase = "train", step = steps(1) },
}
case "weights of other shapes are the end" {
  ranks = 1, { lasting = "10s", phase = "starting", events = { { "checkpoint_mismatch", weight = "head.weight", at = "4s" } }, ends = "failed" },
  fires = { { "checkpoint_mismatched" } },
}
