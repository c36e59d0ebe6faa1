signals {
  bench_flag = { kind = "gauge", unit = "none", owner = "job", points = true, lateness = "1s", documentation = "Above 0: an alert." },
}
