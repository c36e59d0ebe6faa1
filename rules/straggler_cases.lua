-- Cases of `straggler`: a rank whose own loader is slow, and jobs whose loaders are all as slow.

-- Loaders need as long as a step: the rank whose is slower by a hundredth waits for its data, the others' batches pile
-- up.
case "the loaders of all ranks are the limit, and one is slower by a hundredth" {
  ranks = 4,
  {
    lasting = "30s", phase = "train", step = steps(0.088), compute_time = noise(0.012, 0.002),
    data_time = noise(0.05, 0.015),
  },
  {
    lasting = "4m", step = steps(0.085), compute_time = noise(0.008, 0.001), data_time = noise(0.006, 0.002),
    rank = { [1] = { data_time = noise(0.068, 0.003) } },
  },
}
case "both loaders of two ranks are the limit" {
  ranks = 2,
  {
    lasting = "30s", phase = "train", step = steps(0.087), compute_time = noise(0.008, 0.001),
    data_time = noise(0.07, 0.005),
  },
  { lasting = "4m", rank = { [0] = { data_time = noise(0.076, 0.002) }, [1] = { data_time = noise(0.002, 0.0005) } } },
}
case "the limit are all loaders, as their workers show, though one rank alone waits from the begin" {
  ranks = 4,
  {
    lasting = "5m", phase = "train", step = steps(0.085), compute_time = noise(0.008, 0.001),
    data_time = noise(0.006, 0.002), loader_busy = noise(0.96, 0.03),
    rank = { [2] = { data_time = noise(0.068, 0.003) } },
  },
}
case "a file system slows all loaders, and the same rank is the last one" {
  ranks = 4,
  {
    lasting = "2m", phase = "train", step = steps(0.085), compute_time = noise(0.008, 0.001),
    data_time = noise(0.006, 0.002), loader_busy = noise(0.96, 0.03),
    rank = { [2] = { data_time = noise(0.068, 0.003) } },
  },
  { lasting = "4m", step = steps(0.2), rank = { [2] = { data_time = noise(0.18, 0.005) } } },
}
case "uneven computing hides behind the loader that is last" {
  ranks = 4,
  {
    lasting = "5m", phase = "train", step = steps(0.085), compute_time = noise(0.008, 0.001),
    data_time = noise(0.006, 0.002), loader_busy = noise(0.96, 0.03),
    rank = { [2] = { data_time = noise(0.068, 0.003) }, [0] = { compute_time = noise(0.03, 0.003) } },
  },
}
case "a rank computes longer than all loaders need" {
  ranks = 4,
  {
    lasting = "1m", phase = "train", step = steps(0.085), compute_time = noise(0.008, 0.001),
    data_time = noise(0.006, 0.002), loader_busy = noise(0.96, 0.03),
    rank = { [2] = { data_time = noise(0.068, 0.003) } },
  },
  {
    lasting = "2m", step = steps(0.2), compute_time = noise(0.008, 0.001), data_time = noise(0.004, 0.001),
    loader_busy = noise(0.42, 0.03), rank = { [3] = { compute_time = noise(0.19, 0.003) } },
  },
  fires = { { "straggler", rank = 3, cause = "compute", within = "60s" } },
}
case "one slow loader from the begin, beside fast ones" {
  ranks = 4,
  { lasting = "2m", phase = "train", step = steps(0.4), compute_time = noise(0.01, 0.001), data_time = noise(0.004,
      0.001), loader_busy = noise(0.2, 0.05),
    rank = { [3] = { data_time = noise(0.38, 0.01), loader_busy = 1 } } },
  fires = { { "straggler", rank = 3, cause = "loader", within = "60s" } },
}
case "one slow loader from the begin, and no word of the workers" {
  ranks = 4,
  {
    lasting = "2m", phase = "train", step = steps(0.4), compute_time = noise(0.01, 0.001),
    data_time = noise(0.004, 0.001), rank = { [3] = { data_time = noise(0.38, 0.01) } },
  },
  fires = { { "straggler", rank = 3, cause = "loader", within = "60s" } },
}
case "one loader becomes slow where all are somewhat slow" {
  ranks = 4,
  {
    lasting = "2m", phase = "train", step = steps(0.1), compute_time = noise(0.06, 0.001),
    data_time = noise(0.032, 0.002), loader_busy = 1,
  },
  {
    lasting = "2m", step = steps(0.17), data_time = noise(0.003, 0.001), loader_busy = noise(0.6, 0.04),
    rank = { [1] = { data_time = noise(0.1, 0.003), loader_busy = 1 } },
  },
  fires = { { "straggler", rank = 1, cause = "loader", within = "60s" } },
}
case "one loader becomes slow where all are somewhat slow, and no word of the workers" {
  ranks = 2,
  {
    lasting = "2m", phase = "train", step = steps(0.1), compute_time = noise(0.06, 0.001),
    data_time = noise(0.032, 0.002),
  },
  {
    lasting = "2m", step = steps(0.17), data_time = noise(0.003, 0.001),
    rank = { [1] = { data_time = noise(0.1, 0.003) } },
  },
  fires = { { "straggler", rank = 1, cause = "loader", within = "60s" } },
}
case "loaders without workers, which each rank waits for in each step, and one becomes slow" {
  ranks = 4,
  {
    lasting = "2m", phase = "train", step = steps(0.13), compute_time = noise(0.08, 0.001),
    data_time = noise(0.049, 0.002),
  },
  { lasting = "2m", step = steps(0.19), rank = { [1] = { data_time = noise(0.11, 0.003) } } },
  fires = { { "straggler", rank = 1, cause = "loader", within = "60s" } },
}
case "the limit are all loaders, and then one of them becomes slower, little by little" {
  ranks = 4,
  {
    lasting = "30s", phase = "train", step = steps(0.088), compute_time = noise(0.012, 0.002),
    data_time = noise(0.05, 0.015),
  },
  {
    lasting = "1m", step = steps(0.085), compute_time = noise(0.008, 0.001), data_time = noise(0.006, 0.002),
    rank = { [1] = { data_time = noise(0.068, 0.003) } },
  },
  {
    lasting = "10m", step = steps(0.12), step_time = ramp(0.085, 0.17),
    rank = { [1] = { data_time = ramp(0.068, 0.155) } },
  },
  fires = { { "straggler", rank = 1, cause = "loader", within = "6m" } },
}
