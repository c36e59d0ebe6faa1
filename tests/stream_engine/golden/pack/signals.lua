signals {
  sm_active     = { kind = "gauge", unit = "ratio", owner = "gpu" },
  step          = { kind = "step", unit = "count", owner = "rank", source = "profiler" },
  compute_time  = { kind = "gauge", unit = "seconds", owner = "rank", source = "profiler", points = true },
  loss          = { kind = "gauge", unit = "none", owner = "job", source = "log", points = true },
  process_state = { kind = "state", unit = "text", owner = "rank", source = "sampler", values = { "running", "stopped" } },
  ecc_corrected = { kind = "counter", unit = "count", owner = "rank" },
  xid           = { kind = "event", unit = "none", owner = "gpu", source = "kernel_log", fields = { code = "none" } },
  failure       = { kind = "event", unit = "none", owner = "rank", source = "log", fields = { message = "text" } },
  any           = { kind = "liveness", owner = "rank" },
}
