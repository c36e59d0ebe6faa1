-- Cases of loss.lua: losses of other scales and shapes, healthy and not.

case "a loss below zero, and noisy" {
  ranks = 1, { lasting = "5m", phase = "train", step = steps(0.5, 1), loss = noise(-1, 0.8) },
}
case "rewards: a loss that falls far below zero" {
  ranks = 1, { lasting = "2m", phase = "train", step = steps(0.5, 1), loss = ramp(-2, -9) }, { lasting = "4m", loss = noise(-9, 1.2) },
}
case "a loss of nothing but 0" {
  ranks = 1, { lasting = "5m", phase = "train", step = steps(0.5, 1), loss = 0 },
}
case "a loss that does not move, in a run that goes on" {
  ranks = 1, { lasting = "5m", phase = "train", step = steps(0.5, 1000), loss = 2.5 },
}
case "perplexities" {
  ranks = 1, { lasting = "2m", phase = "train", step = steps(0.5, 1), loss = ramp(9000, 40) }, { lasting = "5m", loss = noise(38, 6) },
}
case "the loss gains a term" {
  ranks = 1, { lasting = "2m", phase = "train", step = steps(0.5, 1), loss = ramp(4, 1.2) }, { lasting = "3m", loss = noise(1.2, 0.03) }, { lasting = "3m", loss = noise(1.6, 0.03) },
}
case "two networks against each other: up and down" {
  ranks = 1, { lasting = "10s", phase = "train", step = steps(0.5, 1), loss = ramp(1.1, 1.8) },
  { lasting = "20s", loss = ramp(1.8, 0.4) }, { lasting = "20s", loss = ramp(0.4, 1.8) }, { lasting = "20s", loss = ramp(1.8, 0.4) }, { lasting = "20s", loss = ramp(0.4, 1.8) },
  { lasting = "20s", loss = ramp(1.8, 0.4) }, { lasting = "20s", loss = ramp(0.4, 1.8) }, { lasting = "20s", loss = ramp(1.8, 0.4) }, { lasting = "20s", loss = ramp(0.4, 1.8) },
}
case "losses near zero, and batches of few" {
  ranks = 1, { lasting = "1m", phase = "train", step = steps(0.5, 1), loss = ramp(0.7, 0.01) }, { lasting = "5m", loss = noise(0.01, 0.003) }, { lasting = "1s", loss = 0.03 }, { lasting = "2m", loss = noise(0.01, 0.003) },
}
case "a young fine-tune learns, and then loses it all" {
  ranks = 1, { lasting = "15s", phase = "train", step = steps(1, 1), loss = ramp(1.4, 0.9) }, { lasting = "5s", loss = noise(0.9, 0.03) }, { lasting = "30s", loss = noise(6, 0.3) },
  fires = { { "loss_diverged", cause = "young", within = "15s" } },
}
case "the rate is three hundred times too high, and the loss follows" {
  ranks = 1, { lasting = "3m", phase = "train", step = steps(0.5), loss = ramp(5, 2.4), learning_rate = 0.001 },
  { lasting = "2m", loss = noise(2.4, 0.03) }, { lasting = "5s", learning_rate = 0.3 }, { lasting = "20s", loss = noise(7, 0.2) },
  fires = { { "loss_spike", cause = "rate", within = "10s" }, { "loss_diverged", cause = "stays" } },
}
case "a small batch of a loss that has fallen to a hundredth: a bar shows one high value twice" {
  ranks = 1, { lasting = "60s", phase = "train", step = steps(0.1, 1), loss = ramp(3.5, 0.02) }, { lasting = "60s", step = steps(0.1, 601), loss = noise(0.0126, 0.0013) },
  { lasting = "1s", step = steps(0.1, 1201), loss = 0.0403 }, { lasting = "20s", step = steps(0.1, 1211), loss = noise(0.0126, 0.0013) },
}
case "a second run in the same log begins anew" {
  ranks = 1,
  { lasting = "30s", phase = "train", step = steps(1), loss = ramp(6.5, 3.2) }, { lasting = "100s", loss = noise(3.1, 0.05) },
  { lasting = "2s", step = steps(1, 1), loss = silent }, { lasting = "3s", loss = 6.6 }, { lasting = "30s", loss = ramp(6.4, 3) },
}
case "batches of one whose loss is fifty times as high as another's, and a low one first" {
  ranks = 1,
  { lasting = "1s", phase = "train", step = steps(1), loss = 20 }, { lasting = "2s", loss = 21 }, { lasting = "20s", loss = noise(160, 130) }, { lasting = "12s", loss = noise(150, 60) }, { lasting = "40s", loss = noise(160, 130) },
}
case "the next fold of a cross validation: no step is read, and the loss is what it was at the begin" {
  ranks = 1, { lasting = "3m", phase = "train", loss = ramp(0.0134, 0.0013) }, { lasting = "3m", loss = ramp(0.0133, 0.0013) }, { lasting = "3m", loss = ramp(0.0135, 0.0013) },
}
case "a few examples, learnt by heart: the loss of most batches is next to nothing, of a few it is not" {
  ranks = 1, { lasting = "100s", phase = "train", loss = ramp(1.2, 0.02) }, { lasting = "100s", loss = noise(0.0008, 0.0003) }, { lasting = "1s", loss = 0.04 }, { lasting = "1s", loss = 0.25 },
  { lasting = "60s", loss = noise(0.0008, 0.0003) },
}
case "the sum of the losses of an epoch, which begins anew with the next" {
  ranks = 1, { lasting = "100s", phase = "train", step = steps(1, 1), loss = ramp(2.3, 210) }, { lasting = "100s", loss = ramp(1.9, 185) }, { lasting = "100s", loss = ramp(1.7, 168) },
}
case "the sum of the losses of a short epoch" {
  ranks = 1, { lasting = "20s", phase = "train", step = steps(1, 1), loss = ramp(2.3, 44) }, { lasting = "20s", loss = ramp(1.9, 37) }, { lasting = "20s", loss = ramp(1.7, 33) }, { lasting = "20s", loss = ramp(1.6, 31) },
}
case "a penalty for the distance to the first policy: it begins at 0, and grows" {
  ranks = 1, { lasting = "20s", phase = "train", step = steps(1, 1), loss = ramp(0.0002, 0.0001) }, { lasting = "5m", loss = ramp(0.0001, 0.03) },
}
case "another training in the same log: its steps begin anew, and its loss is another one" {
  ranks = 1,
  { lasting = "60s", phase = "train", step = steps(0.5), loss = ramp(6, 2.5) }, { lasting = "120s", step = steps(0.5, 121), loss = noise(2.5, 0.03) },
  { lasting = "20s", step = steps(0.5, 1), loss = ramp(8.6, 6) }, { lasting = "3m", step = steps(0.5, 41), loss = ramp(6, 3.4) },
}
case "another training in the same log, seldom printed" {
  ranks = 1,
  { lasting = "5m", phase = "train", step = steps(5), loss = ramp(6, 2.5) }, { lasting = "10m", step = steps(5, 61), loss = noise(2.5, 0.03) },
  { lasting = "100s", step = steps(5, 1), loss = ramp(8.6, 6) }, { lasting = "15m", step = steps(5, 21), loss = ramp(6, 3.4) },
}
case "another training in the same log, of which no step is read, behind the words that end the first" {
  ranks = 1,
  { lasting = "60s", phase = "train", loss = ramp(3, 1.2) }, { lasting = "120s", loss = noise(1.2, 0.02), events = { { "training_ended", at = "119s" } } },
  { lasting = "40s", loss = ramp(4, 1.6) }, { lasting = "60s", loss = noise(1.6, 0.02) },
}
case "the last value of a log lies far out" {
  ranks = 1, { lasting = "10m", phase = "train", step = steps(10), loss = ramp(6, 2) }, { lasting = "20m", loss = noise(2, 0.02) }, { lasting = "10s", loss = 9, ends = "failed" },
  fires = { { "loss_spike" } },
}
case "a second training of a loss of another scale" {
  ranks = 1,
  { lasting = "60s", phase = "train", step = steps(0.25), loss = ramp(2, 0.22) }, { lasting = "200s", step = steps(0.25, 241), loss = noise(0.2, 0.006) },
  { lasting = "60s", step = steps(0.25, 1), loss = ramp(9, 6) }, { lasting = "4m", step = steps(0.25, 241), loss = ramp(6, 4) },
}
case "folds whose bars count within their epochs" {
  ranks = 1,
  { lasting = "70s", phase = "train", step = steps(0.2), loss = ramp(2.3, 0.3) }, { lasting = "60s", step = steps(0.2, 351), loss = noise(0.24, 0.008) },
  { lasting = "70s", step = steps(0.2, 1), loss = ramp(2.31, 0.3) }, { lasting = "60s", step = steps(0.2, 351), loss = noise(0.24, 0.008) },
}
case "the steps begin anew, and the loss is lost later" {
  ranks = 1,
  { lasting = "60s", phase = "train", step = steps(0.5), loss = ramp(6, 2.5) }, { lasting = "120s", step = steps(0.5, 121), loss = noise(2.5, 0.03) },
  { lasting = "60s", step = steps(0.5, 1), loss = ramp(8.6, 3) }, { lasting = "60s", step = steps(0.5, 121), loss = noise(2.9, 0.03) }, { lasting = "60s", step = steps(0.5, 241), loss = noise(7.5, 0.1) },
  fires = { { "loss_spike" }, { "loss_diverged" } },
}
case "a bar that counts within its epoch, and a loss that is lost early in one" {
  ranks = 1,
  { lasting = "100s", phase = "train", step = steps(0.5), loss = ramp(6, 3) }, { lasting = "100s", step = steps(0.5, 1), loss = ramp(3, 2.5) }, { lasting = "100s", step = steps(0.5, 1), loss = noise(2.4, 0.03) },
  { lasting = "30s", step = steps(0.5, 1), loss = noise(2.4, 0.03) }, { lasting = "70s", step = steps(0.5, 61), loss = noise(4.7, 0.1) },
  fires = { { "loss_spike" }, { "loss_diverged" } },
}
case "one value that is no number, and nothing else" {
  ranks = 1, { lasting = "2m", phase = "train", step = steps(0.5), loss = ramp(6, 2.5) }, { lasting = "1s", loss = math.huge }, { lasting = "1m", loss = noise(2.5, 0.03) },
  fires = { { "loss_not_finite" } },
}
case "a loss that rises at first, as against a queue that fills, and then falls slowly" {
  ranks = 1, { lasting = "90s", phase = "train", step = steps(0.3), loss = ramp(2, 5.8) }, { lasting = "6m", step = steps(0.3, 301), loss = ramp(5.8, 4.6) },
}
case "a log without steps: a second run begins, and its epochs are counted from the start" {
  ranks = 1, { lasting = "60s", phase = "train", epoch = ramp(1, 60), loss = ramp(5, 0.4) }, { lasting = "120s", epoch = ramp(61, 180), loss = noise(0.4, 0.02) },
  { lasting = "60s", epoch = ramp(1, 60), loss = ramp(6, 0.5) },
}
case "a log without steps: the loss jumps, and the epochs go on" {
  ranks = 1, { lasting = "60s", phase = "train", epoch = ramp(1, 60), loss = ramp(5, 0.4) }, { lasting = "120s", epoch = ramp(61, 180), loss = noise(0.4, 0.02) },
  { lasting = "180s", epoch = ramp(181, 360), loss = noise(3, 0.1) },
  fires = { { "loss_spike" }, { "loss_diverged" } },
}
case "a loss of 0 while nothing is trained yet, and then one" {
  ranks = 1, { lasting = "60s", phase = "train", step = steps(0.1, 1), loss = 0 }, { lasting = "60s", loss = noise(0.14, 0.02) },
}
case "a warm-up of six hundred steps in which the loss stays" {
  ranks = 2, { lasting = "60s", phase = "train", step = steps(1, 1), rank = { [1] = { step = steps(0.1, 1) } }, loss = noise(45, 0.2), learning_rate = 0.000005 },  -- rank 0 prints each tenth step
  { lasting = "60s", loss = ramp(45, 30), learning_rate = 0.0005 },
}
case "folds of five epochs, and then those of a model whose loss is twice as high" {
  ranks = 1, { lasting = "5s", phase = "train", epoch = ramp(1, 5), loss = ramp(0.16, 0.13) }, { lasting = "5s", epoch = ramp(1, 5), loss = ramp(0.16, 0.13) }, { lasting = "5s", epoch = ramp(1, 5), loss = ramp(0.16, 0.13) },
  { lasting = "5s", epoch = ramp(1, 5), loss = ramp(0.4, 0.37) }, { lasting = "5s", epoch = ramp(1, 5), loss = ramp(0.4, 0.37) }, { lasting = "5s", epoch = ramp(1, 5), loss = ramp(0.4, 0.37) },
}
