-- What calls of the CUDA driver show of slow steps: the tracer of `tocsin wrap` counts them.

-- The GPU of a late rank has gaps between kernels, and its program hardly waits for it. The other GPUs are busy with
-- the kernel of a collective, and their programs wait for that.
rule "launch_gaps" {
  family = "D3", severity = "warning", per = "rank", every = "5s",
  summary = "Straggler: the GPU of a rank waits for kernels from its program, the other ranks wait for it",
  needs = {
    waited   = signal "cuda_wait_time"   { over = "30s" },
    launches = signal "kernel_launches"  { over = "30s" },
    gr       = signal "gr_engine_active" { over = "30s", least = 2 },
    pid      = signal "process_pid"      { over = "attempt", least = 1 },
  },
  params = { lost = 0.3, gaps = 0.8 }, fire = "6 of 6", clear = "6 of 8",
  yields_to = { "straggler", "straggler_by_waits", "rank_stopped", "stalled", "node_down" },
  shows = "rank {rank}[ on {node}]: its GPU is busy {busy:.0%} of the time[, for {launches:.0f} kernels a second]; its "
    .. "program waits for the GPU {own:.0%} of the time, the others' {typical:.0%}",
  actions = { otherwise = "see what rank {rank} does between kernels (py-spy dump[ --pid {pid:.0f}][ on {node}]): its "
    .. "data, garbage collection, a busy host" },
  evaluate = function(job, p)
    local own = job.waited:rate()
    local typical = own:median("job"):fill(own:max("job"))
    local busy    = job.gr:mean():at("rank")
    return own:below(typical - p.lost) & busy:below(p.gaps) & job.gr:mean():max("job"):above(p.gaps),
      { own = own, typical = typical, busy = busy, launches = job.launches:rate(), pid = job.pid:last() }
  end,
}

rule "launches_block" {
  family = "D2", severity = "warning", per = "job", every = "30s",
  summary = "Program waits for the GPU after every few kernels",
  needs = {
    launches = signal "kernel_launches"  { over = "30s" },
    waits    = signal "cuda_waits"       { over = "30s" },
    gr       = signal "gr_engine_active" { over = "30s", least = 2 },
  },
  -- A step launches hundreds of kernels and waits once or twice, a graph is one launch. The GPU is idle for tens of
  -- microseconds after a wait: some hundred waits a second cost little. More than 20,000 launches are not counted.
  params = { share = 0.1, many = 500, busy = 0.8 }, fire = "4 of 4", clear = "4 of 4",
  yields_to = { "data_starved", "stalled" },
  shows = "the program waits for the GPU {waits:.0f} times a second[ and launches {launches:.0f} kernels]; the GPUs "
    .. "are busy {busy:.0%} of the time",
  actions = { otherwise = "look for .item(), .cpu(), .tolist(), print of a tensor or torch.cuda.synchronize() in inner "
    .. "loops, and unset CUDA_LAUNCH_BLOCKING" },
  evaluate = function(job, p)
    local launches, waits = job.launches:rate():max("job"), job.waits:rate():max("job")
    local busy = job.gr:mean():max("job")
    return waits:above(p.share * launches:fill(20000)) & waits:above(p.many) & busy:below(p.busy),
      { launches = launches, waits = waits, busy = busy }
  end,
}

-- ---- cases --------------------------------------------------------------------------------------

-- Minutes of training on GPUs: kernels and waits a second, the share of time in them, how busy the GPUs are.
local function trains(minutes, launches, waits, share, busy, ranks)
  local seconds = 60 * minutes
  return {
    lasting = seconds .. "s", gpu_attached = 1, process_cpu = 1, gr_engine_active = busy, rank = ranks,
    kernel_launches = ramp(0, seconds * launches), cuda_waits = ramp(0, seconds * waits),
    cuda_wait_time = ramp(0, seconds * share),
  }
end

case "the program of one of four prepares for longer, and its GPU has gaps" {
  ranks = 4, trains(2, 900, 2, 0.6, 1, { [3] = { cuda_wait_time = 0, gr_engine_active = 0.5 } }),
  fires = { { "launch_gaps", rank = 3, within = "90s" } },
}
case "one of two ranks spends 60 ms of Python between its kernels" {
  ranks = 2, trains(2, 360, 16, 0.96, 1, { [1] = { cuda_wait_time = ramp(0, 57), gr_engine_active = 0.5 } }),
  fires = { { "launch_gaps", rank = 1, within = "90s" } },
}
case "rank 0 of two alone reads the loss, and both wait for data" {
  ranks = 2, trains(3, 360, 16, 0.5, 0.6, { [1] = { cuda_wait_time = 0 } }),
}
case "rank 0 alone reads the loss in each step, and the others run ahead" {
  ranks = 4, trains(3, 900, 2, 0, 1, { [0] = { cuda_wait_time = ramp(0, 144) } }),
}
case "each of the ranks waits for its GPU most of the time" { ranks = 4, trains(3, 900, 2, 0.8, 1) }
case "the program reads a value of each layer" {
  ranks = 2, trains(6, 3000, 600, 0.5, 0.6),
  fires = { { "launches_block", within = "5m" } },
}
case "a program reads a value of each of many small layers, and its launches are too many to be counted" {
  ranks = 1, trains(6, 0, 12500, 0.1, 0.35, { [0] = { kernel_launches = silent } }),
  fires = { { "launches_block", within = "5m" } },
}
case "a program of small kernels waits once a step" {
  ranks = 1, trains(6, 0, 1000, 0.1, 0.35, { [0] = { kernel_launches = silent } }),
}
case "a program launches a graph and two kernels in each step, and reads its loss" {
  ranks = 1, trains(6, 370, 123, 0.36, 0.4),
}
case "a program of graphs waits once a graph" { ranks = 2, trains(6, 20, 20, 0.9, 0.7) }
