-- Cases of loss.lua; losses of other scales and shapes are in loss_scales.lua.

case "the loss becomes NaN" {
  ranks = 2, { lasting = "1m", phase = "train", step = steps(0.5), loss = ramp(5, 3) }, { lasting = "10s", loss = nan },
  fires = { { "loss_not_finite", cause = "itself", within = "5s" } },
}
case "the framework counts NaN steps and prints no loss" {
  ranks = 1, { lasting = "1m", phase = "train", step = steps(0.5), loss = ramp(5, 3) }, { lasting = "10s", loss = silent, events = { { "nan_iterations", count = 5 } } },
  fires = { { "loss_not_finite", cause = "counted", within = "5s" } },
}
case "the gradient is NaN once" {
  ranks = 1, { lasting = "1m", phase = "train", step = steps(1), loss = 2, grad_norm = 0.5 }, { lasting = "1s", grad_norm = nan }, { lasting = "1m", grad_norm = 0.5 },
}
case "the loss scale is searched" {
  ranks = 1,
  { lasting = "10s", phase = "train", step = steps(1), loss = nan, events = { { "overflow_skip" }, { "overflow_skip", at = "2s" } } },
}
case "the learning rate blows the loss up, and it stays" {
  ranks = 4,
  { lasting = "1m", phase = "train", step = steps(0.5), loss = ramp(5, 2.4) }, { lasting = "5s", loss = 12 }, { lasting = "70s", loss = noise(3.4, 0.05) },
  fires = { { "loss_spike" }, { "loss_diverged", cause = "stays", within = "75s" } },
}
case "the loss is lost, and falls again far above: that is one divergence, and no spike after it" {
  ranks = 1,
  { lasting = "2m", phase = "train", step = steps(0.2), loss = ramp(5, 2.4) }, { lasting = "10s", loss = ramp(10, 200) }, { lasting = "60s", loss = ramp(200, 90) }, { lasting = "60s", loss = noise(90, 5) },
  fires = { { "loss_spike" }, { "loss_diverged" } },
}
case "a spike that recovers, two points long" {
  ranks = 4,
  { lasting = "40s", phase = "train", step = steps(1), loss = noise(4.5, 0.1) }, { lasting = "60s", loss = noise(2.5, 0.15) },
  { lasting = "1s", loss = 6.5 }, { lasting = "1s", loss = 5.6 }, { lasting = "1m", loss = noise(2.4, 0.15) },
  fires = { { "loss_spike" } },
}
case "at a round step something is set back, the loss leaps, and recovers" {
  ranks = 1,
  { lasting = "198s", phase = "train", step = steps(0.1, 1010), loss = ramp(0.25, 0.07) }, { lasting = "2s", step = steps(0.1, 2990), loss = 0.07 }, { lasting = "2s", step = steps(0.1, 3010), loss = 0.29 },
  { lasting = "3s", step = steps(0.1, 3030), loss = 0.19 }, { lasting = "4s", step = steps(0.1, 3060), loss = 0.12 }, { lasting = "60s", step = steps(0.1, 3100), loss = noise(0.075, 0.004) },
}
case "the same at a step that is not round" {
  ranks = 1,
  { lasting = "198s", phase = "train", step = steps(0.1, 1410), loss = ramp(0.25, 0.07) }, { lasting = "2s", step = steps(0.1, 3390), loss = 0.07 }, { lasting = "2s", step = steps(0.1, 3410), loss = 0.29 },
  { lasting = "3s", step = steps(0.1, 3430), loss = 0.19 }, { lasting = "4s", step = steps(0.1, 3460), loss = 0.12 }, { lasting = "60s", step = steps(0.1, 3500), loss = noise(0.075, 0.004) },
  fires = { { "loss_spike" } },
}
case "a new term at a round step of the first epoch, whose length is unknown" {
  ranks = 1,
  { lasting = "30s", phase = "train", step = steps(0.02, 1000253), loss = ramp(3.6, 0.3) },
  { lasting = "25s", step = steps(0.02, 1001753), loss = noise(0.25, 0.01) },
  { lasting = "1s", step = steps(0.02, 1003003), loss = 0.87 }, { lasting = "2s", step = steps(0.02, 1003053), loss = 0.32 },
  { lasting = "60s", step = steps(0.02, 1003153), loss = noise(0.25, 0.01) },
}
case "the same between two round steps" {
  ranks = 1,
  { lasting = "30s", phase = "train", step = steps(0.02, 1000503), loss = ramp(3.6, 0.3) },
  { lasting = "25s", step = steps(0.02, 1002003), loss = noise(0.25, 0.01) },
  { lasting = "1s", step = steps(0.02, 1003253), loss = 0.87 }, { lasting = "2s", step = steps(0.02, 1003303), loss = 0.32 },
  { lasting = "60s", step = steps(0.02, 1003403), loss = noise(0.25, 0.01) },
  fires = { { "loss_spike" } },
}
case "with steps of 30 s" {
  ranks = 1,
  { lasting = "20m", phase = "train", step = steps(30), loss = 6 }, { lasting = "40m", loss = noise(2.5, 0.05) }, { lasting = "10m", loss = noise(5, 0.05) },
  fires = { { "loss_spike" } },
}
case "gradients of no number, in a run that goes on" {
  ranks = 1, { lasting = "10s", phase = "train", step = steps(1, 5400), grad_norm = nan }, fires = { { "loss_not_finite", cause = "gradient" } },
}
case "a bar shows no number until the first step is made" {
  ranks = 1, { lasting = "4s", phase = "train", step = steps(1, 1), loss = nan }, { lasting = "30s", loss = ramp(4, 3.5) },
}
case "no loss was ever a number" {
  ranks = 1, { lasting = "4s", phase = "train", step = steps(1, 1), loss = nan, ends = "failed" }, fires = { { "loss_never_finite" } },
}
case "losses that were no number on the first day, and a log that goes on without one that is read" {
  ranks = 1, { lasting = "4s", phase = "train", step = steps(1, 1), loss = nan }, { lasting = "5h", step = steps(1), loss = silent, ends = "unknown" },
}
case "a loss of 0, and a gradient that is no number" {
  ranks = 1, { lasting = "5s", phase = "train", step = steps(1, 1), loss = 2.1, grad_norm = 1.2 }, { lasting = "3s", loss = 0, grad_norm = nan },
  fires = { { "loss_not_finite", cause = "gradient" } },
}
case "a loss of 0, as at the first steps of some reinforcement learning" {
  ranks = 1, { lasting = "5s", phase = "train", step = steps(1, 1), loss = 0, grad_norm = 0.2 },
}
case "the program finds that its loss is no number" {
  ranks = 1, { lasting = "5s", phase = "train", step = steps(1, 1), loss = 2.1, events = { { "loss_is_nan", at = "4s" } } },
  fires = { { "loss_not_finite", cause = "reported" } },
}
case "the hump of a warm-up" {
  ranks = 1,
  { lasting = "20s", phase = "train", step = steps(1, 1), loss = ramp(12.4, 11) }, { lasting = "4s", loss = 44 }, { lasting = "40s", loss = ramp(40, 9) }, { lasting = "60s", loss = ramp(9, 7) },
}
case "the loss climbs from value to value" {
  ranks = 1, { lasting = "40s", phase = "train", step = steps(1, 30), loss = ramp(11.6, 20) },
  fires = { { "loss_diverged", cause = "climbs" } },
}
case "a rate of 0" {
  ranks = 1, { lasting = "2m", phase = "train", step = steps(1, 1), loss = noise(4.87, 0.02), learning_rate = 0 },
  fires = { { "not_learning", cause = "rate" } },
}
case "nothing is learnt" {
  ranks = 1, { lasting = "3m", phase = "train", step = steps(0.25, 1), loss = noise(4.87, 0.02), learning_rate = 0.001 },
  fires = { { "not_learning", cause = "flat" } },
}
case "nothing is learnt beyond the weights that were loaded" {
  ranks = 1, { lasting = "3m", phase = "train", step = steps(0.25, 1), loss = noise(4.87, 0.02), learning_rate = 0.001, events = { { "weights_loaded" } } },
}
case "slow, but it learns" {
  ranks = 1, { lasting = "5m", phase = "train", step = steps(0.25, 1), loss = ramp(4.87, 4.2), learning_rate = 0.001 },
}
case "a run that goes on stays where it is" {
  ranks = 1, { lasting = "5m", phase = "train", step = steps(0.25, 50000), loss = noise(2.1, 0.02), learning_rate = 0.001 },
}
