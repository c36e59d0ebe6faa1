rule "slow_rank" {
  family  = "D3", severity = "warning",
  summary = "One rank computes slower than the others",
  per     = "rank", every = "10s",
  needs   = { compute = signal "compute_time" { over = "60s" } },
  params  = { ratio = 1.5 },
  fire    = "3 of 4", clear = "4 of 4",
  shows   = "rank {rank} computes {own:.2f} s a step, the others {typical:.2f} s",

  evaluate = function(job, p)
    local own     = job.compute:mean()              -- a column: a value per rank, or unknown
    local typical = own:median("job")               -- one value for the job
    return own:above(p.ratio * typical), { own = own, typical = typical }
  end,
}

case "one of four takes twice as long" {
  ranks = 4,
  { lasting = "3m", compute_time = 0.1 },
  { lasting = "2m", rank = { [3] = { compute_time = 0.2 } } },
  fires = { { "slow_rank", rank = 3, within = "2m" } },       -- and nothing else may
}
