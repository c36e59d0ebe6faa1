-- Reports what tocsin cannot observe: silence is never taken for an answer.

rule "unobserved" {
  severity = "warning", per = "job", every = { "behind", "back", "10s" },
  summary = "Part of the job is not observed: a log source is not being read",
  needs = {
    behind = signal "origin_behind"    { over = "attempt" },
    back   = signal "origin_caught_up" { over = "attempt" },
  },
  shows = "{n:.0f} log sources of this job are more than two minutes behind[, most recently {origin}]; their members "
    .. "are unobserved, not silent",
  causes = { reader = "the program that copies this log has stopped or cannot keep up, or the log cannot be read" },
  actions = { reader = "check the program that copies this log[ ({origin})]: it has stopped or cannot keep up" },
  evaluate = function(job, p)
    local n = job.behind:count() - job.back:count():fill(0)
    return n:above(0), { n = n, origin = job.behind:last("origin"), reader = n:above(0) }
  end,
}

-- ---- cases --------------------------------------------------------------------------------------

case "a log is not read for a while" {
  ranks = 2,
  {
    lasting = "1m", step = steps(1),
    events = {
      { "origin_behind", origin = "lines/7", at = "20s" }, { "origin_caught_up", origin = "lines/7", at = "40s" },
    },
  },
  fires = { { "unobserved", within = "22s" } },
}
case "a log that was behind is read again, and another is not" {
  ranks = 2, { lasting = "1m", step = steps(1),
    events = {
      { "origin_behind", origin = "lines/7", at = "20s" }, { "origin_caught_up", origin = "lines/7", at = "40s" },
      { "origin_behind", origin = "lines/8", at = "50s" },
    } },
  fires = { { "unobserved", within = "22s" } },
}
