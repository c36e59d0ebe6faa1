-- B1, B2: what CUDA and the driver report in the job's log.

local ends = shared "ends"

rule "cuda_out_of_memory" {
  family = "B1", severity = "critical", per = "job", every = { "oom", "nccl", "30s", "end" },
  summary = "CUDA out of memory",
  needs = {
    oom = signal "cuda_oom" { over = "attempt" }, raised = signal "traceback" { over = "attempt" },
    failed = signal "rank_failed" { over = "attempt" }, step = signal "step" { over = "attempt" },
    loss = signal "loss" { over = "attempt" }, again = signal "run_started" { over = "attempt" },
    warned = signal "nccl_warning" { over = "attempt" }, nccl = signal "nccl_error" { over = "attempt" },
    ended = signal "end_reason" { over = "attempt" },
  },
  -- NCCL warns of what it could not get; only where it fails then is it why the job ended.
  params = {
    warnings = { "Cuda failure 'out of memory'", "Cuda failure 2 'out of memory'" }, wait = "60s", caught = "2s",
    after = "60s",
  },
  yields_to = { "node_down" },
  shows = "out of GPU memory: {who}[; tried to allocate {tried}][ of {total}]",
  causes = {
    plan   = "before the first step: the model and batch do not fit",
    growth = "after steps that fit: longer inputs, fragmentation, or a leak",
  },
  actions = {
    plan   = "reduce the batch size, the sequence length or the model's share of a GPU, then restart",
    growth = "limit the input length or set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True; if memory grows "
      .. "steadily, look for a leak",
  },
  evaluate = function(job, p)
    local buffers = job.warned:where { message = p.warnings }:seen()
    -- Who finds no memory at its first use of a GPU did not fill it.
    local taken   = job.raised:where { part = "no room" }:seen()
    local oom     = job.oom:seen() & ~taken & ~ends.of_earlier_start(job, job.oom)
    local out     = oom | (buffers & job.nccl:seen():any("job"))
    local begun   = job.step:seen():any("job")
    -- A program that does not catch it ends: a traceback, the launcher or the job's end say so, or `wait` passes.
    local last    = job.oom:age():min("job")
    local raised  = job.raised:seen():any("job")
    local failed  = job.failed:seen():any("job") | job.ended:last():is("failed", "unknown"):surely()
    local died    = raised | failed | last:above(p.wait):surely()
    -- One that catches it goes on: for long after a traceback, with the next step or loss where there is none.
    local progress = least_known(job.step:age():min("job"), job.loss:age())
    local on      = (last - progress):above(raised:choose(p.after, p.caught)):surely() & oom:any("job")
    return out:any("job") & died & ~on,
      {
        who = out, tried = job.oom:last("tried"):max("job"), total = job.oom:last("total"):max("job"), plan = ~begun,
        growth = begun,
      }
  end,
}

rule "gpu_error_in_log" {
  family = "B2", severity = "critical", per = "job", every = { "ecc", "lost", "30s" },
  summary = "GPU hardware error in the application",
  needs = { ecc = signal "gpu_ecc" { over = "attempt" }, lost = signal "gpu_lost" { over = "attempt" } },
  yields_to = { "gpu_error", "node_down" },
  shows = "the application reports a failed GPU: {who}",
  causes = {
    memory = "uncorrectable memory error: reset the GPU, and replace it if the error returns",
    gone = "the GPU no longer responds: reboot the node",
  },
  actions = {
    memory    = "drain the node[ {node}] and reset its GPU (nvidia-smi --gpu-reset); replace the GPU if it fails again",
    gone      = "drain the node[ {node}] and reboot it",
  },
  evaluate = function(job, p)
    local memory, gone = job.ecc:seen(), job.lost:seen()
    return (memory | gone):any("job"), { who = memory | gone, memory = memory:any("job"), gone = gone:any("job") }
  end,
}

rule "switch_failed" {
  family = "B2", severity = "critical", per = "job", every = { "error", "30s" },
  summary = "Fatal NVSwitch error (SXid)",
  needs = { error = signal "sxid" { over = "1h" } },
  clear = "for 1h", yields_to = { "gpu_error", "node_down" },
  shows = "fatal SXid[ {code:.0f}]",
  causes = { fatal = "all GPUs of the node's NVLink fabric are affected: reset them, and check the switch or its "
    .. "link" },
  actions = { fatal = "drain the node whose kernel log has the SXid and reset all of its GPUs; have the switch "
    .. "checked if it returns" },
  evaluate = function(job, p)
    local fatal = job.error:where { class = "Fatal" }
    local seen  = fatal:seen()
    return seen, { code = fatal:last("code"), fatal = seen }
  end,
}

rule "cuda_failed" {
  family = "B2", severity = "warning", per = "job", every = { "error", "30s" },
  summary = "CUDA error",
  needs = { error = signal "cuda_error" { over = "attempt" } },
  yields_to = {
    "gpu_error", "gpu_fault", "gpu_error_in_log", "cuda_out_of_memory", "rank_killed", "node_down", "node_lost",
  },
  shows = "a CUDA call failed on {who}",
  causes = { open = "the message does not distinguish failed hardware from an illegal address: look for an XID at "
    .. "that time" },
  actions = { open = "look for 'NVRM: Xid' in the kernel log[ of {node}] (dmesg -T): if there is one, drain that "
    .. "node; otherwise rerun with CUDA_LAUNCH_BLOCKING=1" },
  evaluate = function(job, p)
    local seen = job.error:seen()
    return seen:any("job"), { who = seen, open = seen:any("job") }
  end,
}
