-- A job that has GPUs and uses none of them: it trains on the CPU, or never came so far. The tracer of `tocsin wrap`
-- sees whether a process has a CUDA context.

rule "gpu_unused" {
  severity = "warning", per = "job", every = "1m",
  summary = "No process of the job has ever used a GPU",
  needs = {
    attached = signal "gpu_attached"     { over = "attempt", least = 1 },
    gr       = signal "gr_engine_active" { over = "5m", least = 2 },
  },
  params = { patience = "10m", idle = 0.02 },
  shows = "no process has a CUDA context after {age}; GPUs: {gpus:.0f}, all idle",
  causes = {
    cpu = "the program trains on the CPU: PyTorch without CUDA, no .to(device), or an empty CUDA_VISIBLE_DEVICES",
  },
  actions = { cpu = "check torch.cuda.is_available() and CUDA_VISIBLE_DEVICES in the job, or give its GPUs back" },
  evaluate = function(job, p)
    local none = job.attached:max():max("job"):below(1)
    local idle = job.gr:max():max("job"):below(p.idle)
    return none & idle & job:age():above(p.patience), { age = job:age(), gpus = job.gr:max():count("job"), cpu = none }
  end,
}

case "a job of two trains on the CPU of a machine with GPUs" {
  ranks = 2, { lasting = "15m", phase = "train", step = steps(0.2), gpu_attached = 0, gr_engine_active = 0 },
  fires = { { "gpu_unused", cause = "cpu", within = "12m" } },
}
case "a job loads its data for twelve minutes, and then uses its GPUs" {
  ranks = 2,
  { lasting = "8m", process_cpu = 1, gpu_attached = 0, gr_engine_active = 0 },
  { lasting = "5m", process_cpu = 1, gpu_attached = 1, gr_engine_active = 0 },
  { lasting = "3m", phase = "train", step = steps(1), gr_engine_active = 0.9 },
}
case "a job without GPUs" {
  ranks = 2, { lasting = "15m", phase = "train", step = steps(1), gpu_attached = 0 },
}
