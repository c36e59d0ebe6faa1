-- A1: a job that ends because it cannot write or read its files.

local ends = shared "ends"

rule "storage_lost" {
  family = "A1", severity = "critical", per = "job", every = "end",
  summary = "Storage error ended the job",
  needs = {
    saved    = signal "checkpoint_saved"  { over = "attempt" },
    full     = signal "disk_full"         { over = "attempt" },
    denied   = signal "permission_denied" { over = "attempt" },
    broken   = signal "storage_failed"    { over = "attempt" },
    step     = signal "step"              { over = "attempt" },
    ended    = signal "end_reason"        { over = "attempt" },
    finished = signal "training_ended"    { over = "attempt" },
  },
  -- A disk that is full strikes at a save: the steps until then prove nothing. What a line says long before the end was
  -- survived.
  params = { last = "5m", after = 10 },
  yields_to = {
    "rank_killed", "rendezvous_failed", "cuda_out_of_memory", "gpu_error", "gpu_error_in_log", "checkpoint_unreadable",
    "collective_timeout", "node_down", "node_lost", "preempted",
  },
  shows = "the job ended because a file could not be written or read",
  causes = {
    full   = "the disk or quota is full, or the job may not write files of that size",
    denied = "no permission to write there, or the file system is read-only",
    broken = "the file system failed or was unmounted",
  },
  actions = {
    full   = "free space or raise the quota (df -h, df -i, quota, ulimit -f), check that the last checkpoint is "
      .. "complete, then restart the job[ from checkpoint {saved:.0f}]",
    denied = "let the job write there or have it write elsewhere, then restart it",
    broken = "fix the file system (dmesg -T, mount, ls on it), check that the last checkpoint is complete, then "
      .. "restart the job",
  },
  evaluate = function(job, p)
    local full, denied = job.full:within(p.last), job.denied:within(p.last)
    local broken = job.broken:seen() & ~ends.goes_on(job, job.broken, p.after)
    local who = full | denied | broken
    return who:any("job") & ~ends.well(job) & ~job.finished:seen(),
      {
        who = who, full = full:any("job"), denied = denied:any("job"), broken = broken:any("job"),
        saved = job.saved:last("step"),
      }
  end,
}

-- ---- cases --------------------------------------------------------------------------------------

case "the disk is full at the first save" {
  ranks = 2,
  {
    lasting = "20s", phase = "train", step = steps(1),
    events = { { "disk_full", rank = 0, at = "6s" }, { "traceback", rank = 0, at = "6s" } }, ends = "failed",
  },
  fires = { { "storage_lost", who = { 0 }, cause = "full" } },
}
case "the file system goes away" {
  ranks = 2, { lasting = "3m", phase = "train", step = steps(1) },
  {
    lasting = "5s", step = silent,
    events = { { "storage_failed", rank = 1, errno = 116 }, { "traceback", rank = 1, exception = "OSError" } },
    ends = "failed",
  },
  fires = { { "storage_lost", who = { 1 }, cause = "broken" } },
}
case "a file is closed to the job in the middle of its training" {
  ranks = 1,
  {
    lasting = "1m", phase = "train", step = steps(1), loss = ramp(5, 4),
    events = {
      { "permission_denied", rank = 0, at = "58s" },
      { "traceback", rank = 0, exception = "PermissionError", at = "58s" },
    },
    ends = "failed",
  },
  fires = { { "storage_lost", cause = "denied" } },
}
