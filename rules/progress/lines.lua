-- Lines of no framework that frameworks.lua and images.lua know, and no bars, which are in bars.lua. The first here
-- reads a line.

-- A number and its end: `0.41,` and `0.41. `, but not `0.41.2`, `0.41s`.
local function value(name) return [[(?P<]] .. name .. [[>NUM)(?:[^\w.]|\.?$|\.\s)]] end

-- How a loss is called: loss, train_loss, lm loss, nll.
local loss_prefix = either {
  [=[train(?:ing)?[_ /]]=], [=[total[_ -]]=], "tot_", "per_token_", [=[[mc]?lm[_ ]]=], [=[step[_ ]]=],
  [=[(?:mini-?)?batch[_ ]]=], [[curr?(?:ent)?_]], [=[ce[_ ]]=], [=[gen[_ ]]=], "contrastive_",
}
local loss = either {
  loss_prefix .. [[?loss(?:[_ ]total|_train(?:ing)?)?]], [[x-?ent]], [[cross[_ -]?entropy]], "nll", "ce", "objective",
  "cost",
}
local loss_is = [[\b]] .. loss .. [[["'*]?\s*(?:[:=|\[]|\bis\b|\s)\s*["'*{]?(?:loss=|tensor\()?]] .. value("loss")
local scan_loss = [[(?i)loss|x-?ent|entropy|nll|objective|cost|\bce\b]]

-- "key value" pairs with a step and a loss, in this order or the other. A line about validation, or about a loss that
-- is a mean or a best one, is not taken, whatever else it contains. `l` and `g` alone are too short for a loss.
local validation = [[\b(?:val|valid|validation|validating|eval|evaluation|evaluating|test|testing|dev)(?:\b|_)]]
local aggregate = [[\b(?:average|avg|mean|best|lowest|min|final|target|last|previous)]]
local of_losses = [[(?:(?:\w+[ _-]){0,2}(?:loss|nll|entropy|objective)|cost)]]
local other = either {
  validation, [[\b(?:holdout|patience|summary)(?:\b|_)]], [[\bval(?:id)?loss]],
  [[\b(?:[dg]|disc(?:riminator)?|generator)[ _]loss]],
  [[loss[ _]?(?:fn|func|function|weight|type)]], [[\bif\b]], [[\bwhen\b]], [[\bexpected\b]], [[^e\s{3}]],
}
local not_training = [[(?i)]] .. either { other, aggregate .. [=[[ _-]]=] .. of_losses }
-- The same where the line shows a loss of its own first: Loss: 0.5, average loss: 0.6. A mean joined by an underline is
-- another name.
local not_first = [[(?i)]] .. either { other, [[^(?:[^l]|l[^o]|lo[^s])*]] .. aggregate .. [=[[ -]]=] .. of_losses }

local named_step = [[(?:global[_ ]?steps?|steps?|iter|iters|iteration|it|itr|update|num_updates|upd|batch)]]
local step_number = [[(?P<step>INT)(?:\s?/\s?(?:INT|NUM[kKM]))?]]      -- step 120, step 120/5000, step 120/5k
local grad_norm = { find = [[(?i)\b(?:grad[_ ]?norm|g_?norm|grad|g)["']?\s*[:= ]\s*["']?(NUM)]] }
local learning_rate = { find = [[(?i)\b(?:cur(?:rent)?_)?(?:lr|learning[_ ]rate)["']?\s*[:= ]\s*["']?(NUM)]] }
local time_of_step = [[(?i)\b(?:step[_ ]time|time[_ ]per[_ ]step|iter[_ ]time|s/b|dt)["']?\s*[:= ]\s*["']?(NUM)\s?]]
local step_time = {
  { find = time_of_step .. [[ms\b]], scale = 0.001 }, { find = time_of_step .. [[(?:s|sec|seconds)?(?:[,;|\s]|$)]] },
  { find = [[\b(NUM) ?(?:s|sec|secs|seconds)/(?:it|iter|step|batch)\b]] },
  { find = [[\b(NUM) ?ms/(?:it|iter|step|batch)\b]], scale = 0.001 },
  { find = [[\belapsed_time_per_iteration_ms: (NUM)(?:\s|$)]], scale = 0.001 },
  { find = [[\belapsed_time_per_iteration_ms: (NUM)K\b]] },
}
local tokens_per_s = {
  find = [[(?i)\b(?:tokens?(?:/s(?:ec)?|[_ ]per[_ ]s(?:ec(?:ond)?)?)|tok/s(?:ec)?|tps)["']?\s*[:= ]\s*["']?(NUM)]],
}
-- Where two counts stand on the line: the one of the whole.
local of_all = { find = [[(?i)\bglobal[_ ](?:step|iter(?:ation)?|batch)(?:_idx)?["']?\s*[:=]\s*["']?(INT)\b]] }
local function with(samples)
  samples.grad_norm, samples.learning_rate = grad_norm, learning_rate
  samples.step_time, samples.tokens_per_s = step_time, tokens_per_s
  return samples
end
local function training(head)
  head.generic, head.states = "lines", { phase = "train" }
  return head
end

-- A count without a loss is progress only where nothing is saved, loaded or resumed: such lines name the step of a
-- checkpoint.
local of_checkpoint = [[(?i)]] .. either {
  "checkpoint", "ckpt", [[\bsav(?:e|ed|ing)\b]], [[\bload(?:ed|ing)?\b]], "restor", "resum",
  [[\.(?:pt|pth|bin|safetensors|h\d)\b]],
}

-- What a logger writes before its message: INFO - , INFO | __main__:train:35 - , train.log - INFO - ,
-- [__main__][INFO] - , [INFO | main.py:45] and a time; and times of forms that are no prefix.
local info = [[(?:(?:info|debug)\W+)?]]
local logger = [[(?:(?:\w*[._][\w.]*|root|main|model|train(?:er|ing)?)(?::\d+)?\]? ?[-|:\[]+ ?)?]]
local lead = [[(?i)^[\W\d]*(?:(?:info|debug) \| \w+\.py:\d+[\W\d]{1,40})?]] .. logger .. [[\W*]] .. logger
  .. [[(?:(?:info|debug)[\W\d]+)?(?:[\w.<>]+:[\w.<>]+:\d+ - |\w+\.[\w.]+ (?:info|debug): )?]] .. logger .. [[\W*]]

-- A statement of a program that prints its own source: total_loss = 0.0.
local statement = [[(?i)loss = 0(?:\.0?)?\s*$]]

-- A count beside an epoch begins anew with it. With the epoch's length it makes a step of the whole; a batch without it
-- makes none.
local of_total = [[(?:\s?(?:/|of)\s?INT)?]]      -- epoch 3 of 10
local epoch = [[\bepochs?["']?(?: is)?[ :#=\[{(]*(?P<epoch>INT)]] .. of_total
local epoch_first = [[epochs?[ :#=\[(]*(?P<epoch>INT)]] .. of_total      -- of a line that it begins
local of_two = [[\b(?:loss[ _]?(?:[dg]|disc\w*|gen\w*)|(?:[dg]|disc(?:riminator)?|gen(?:erator)?)[ _]loss)\b]]
local within = [[(?:step|iter|iters|iteration|it|batch(?:es)?|mini-?batch)]]
local train_loss = [[\W{1,4}train(?:ing)?[ _]loss\s*[:=]?\s*]]
local and_validation = [[\W{1,4}(?:val\w*|dev|eval\w*|test)[ _]loss]]
local reward_loss = [[(?i)(?:^|[,;|\]):-])\s*(?:total[ _]|train(?:ing)?[ _])?loss\b]]

parser "rewarded" (training {
  about = "reinforcement learning: an actor's loss says nothing about what is learnt",
  line = [[(?i)]] .. epoch .. [[[\])}{,:;|\s\[(-]{1,6}(?:]] .. within
    .. [[(?: is)?[ :#=\[{(]*)?(?P<n>INT)[\])]?\s?(?:/|of)\s?\[?(?P<total>INT)[^\w.].*?]]
    .. [[\b(?:reward|return|advantage)s?\b]],
  scan = [[(?i)reward|return|advantage]], unless = either { not_training, reward_loss },
  samples = with { step = { of_all, { "n", epoch = "epoch", per_epoch = "total" } } },
})
parser "rewarded_step" (training {
  about = "the same with a step: Train Step: 3000 | Episode Reward: 31.2; not one that counts within an episode",
  line = [[(?i)(?:^|[^\w/])]] .. named_step .. [[["']?\s*(?:[:=#_]|\s)\s*["']?\[?]] .. step_number
    .. [=[[^\w.].*?\b(?:\w+_)?(?:reward|return)s?(?:_mean|_avg)?["']?\s*[:=]]=],
  scan = [[(?i)reward|return]], unless = either { not_training, reward_loss, [[(?i)\bepisode["']?[ :#=\[]*INT\b]] },
  samples = with { step = { of_all, { "step" } } },
})
parser "two_networks" (training {
  about = "losses of two networks against each other: [Epoch 3/200] [Batch 20/938] [D loss: 0.4] [G loss: 1.9]",
  line = {
    [[(?i)]] .. epoch .. [[[\])}{,:;|\s\[-]{1,6}(?:]] .. within
      .. [[(?: is)?[ :#=\[{(]*)?(?P<n>INT)\s?(?:/|of)\s?(?P<total>INT)[^\w.].*?]] .. of_two,
    [[(?i)^\[(?P<epoch>INT)/INT\]\[(?P<n>INT)/(?P<total>INT)\].*?]] .. of_two, [[^(?P<count>INT) \[D loss: ]],
    lead .. [[(?:global[_ ]?step|steps?|iter|iteration)[ :=#]{1,3}(?P<step>INT)\b[^\w.%].*?\b]] .. either {
      [=[loss_[dg]]=], [[[dg]_loss]], [[(?:disc(?:riminator)?|gen(?:erator)?)[ _]loss]],
    } .. [[\b]],
  },
  scan = scan_loss, unless = [[(?i)\b(?:val|valid|validation|eval|evaluation|test|dev)(?:\b|_)]],
  samples = with { step = { of_all, { "n", epoch = "epoch", per_epoch = "total" }, { "count" }, { "step" } } },
})
parser "epoch_and_count" (training {
  about = "Epoch [3/30], Step [12/400]; epoch=3 i=12/400; Epoch 3 (12/400); it 12/400 of epoch 3; [3/30] iter: 12/400",
  line = {
    [[(?i)]] .. epoch .. [[[\])}{,:;|\s\[(-]{1,6}(?:]] .. within
      .. [[(?: is)?[ :#=\[{(]*|[in] ?[=:] ?)?(?P<n>INT)\]?\s?(?:/|of)\s{0,4}\[?(?P<total>INT)[^\w.].*?]] .. loss_is,
    [[(?i)\b]] .. within .. [[(?: is)?[ :#=\[{(]*(?P<n>INT)/(?P<total>INT) of epoch (?P<epoch>INT)\b.*?]] .. loss_is,
    [[(?i)\b(?P<epoch>INT)(?:st|nd|rd|th)?[ -]epoch\W{1,4}(?P<n>INT)\s?/\s?(?P<total>INT)[^\w.].*?]] .. loss_is,
    [[(?i)]] .. epoch .. [[[\])}{,:;|\s\[(-]{1,6}]] .. within .. [[[ :#=\[{(]*(?P<n>INT)\s?/\s?(?P<total>INT)]]
      .. either { [[\W{1,4}]], [[\W.{0,8}\blosses\b[^\]|]{0,160}?\b]] }
      .. [[total\s*[:= ]\s*(?P<loss>\d+\.\d{3,})(?:[^\w.]|$)]],
    [[(?i)^\W*\[(?P<epoch>INT)/INT\][\s,|:-]{1,4}]] .. within .. [[[ :=#\[]*(?P<n>INT)/(?P<total>INT)\W.*?]] .. loss_is,
  },
  scan = scan_loss .. "|total", unless = not_first,
  samples = with { step = { of_all, { "n", epoch = "epoch", per_epoch = "total" } }, loss = "loss" },
})
parser "epoch_and_mean" (training {
  about = "the same beside a mean over the epoch so far: Epoch[003/100], Step[0120/0450], Avg Loss: 0.41",
  line = [[(?i)]] .. epoch .. [[[\])}{,:;|\s\[-]{1,6}]] .. within
    .. [[[ :#=\[]*(?P<n>INT)\s?/\s?(?P<total>INT)[^\w.]{1,4}(?:avg|average|mean|running)[ _]loss["']?\s*[:=]?\s*]]
    .. value("loss"),
  scan = scan_loss, unless = [[(?i)]] .. validation,
  samples = with { step = { "n", epoch = "epoch", per_epoch = "total" }, loss = "loss" },
})
parser "step_and_mean" (training {
  about = "a step that begins the line, and behind it a mean: [step 25] avg_loss=0.41; Step 120 | Avg Loss: 3.4",
  line = lead .. [[(?:global[_ ]?step|steps?|iter|iteration)[ :=#]{1,3}(?P<step>INT)(?:\s?/\s?INT)?\W{1,4}]]
    .. [[(?:avg|average|mean)[ _](?:train(?:ing)?[ _])?loss["']?\s*[:=]?\s*]] .. value("loss"),
  scan = scan_loss, unless = [[(?i)]] .. either { validation, [[\b(?:best|final)(?:\b|_)]], "so far" },
  samples = with { step = "step", loss = "loss" },
})
parser "epoch_and_batch" (training {
  about = "no length, and often no loss: Epoch[12] Batch [1300-1320], [Epoch 8][Batch 99], Epoch: 2, batches done: 400",
  line = {
    [[(?i)]] .. epoch .. [[[\])}{,:;|\s\[-]{1,6}(?:train(?:ing)?[\s_])?]] .. either {
      [[batch(?:es)?]], [[mini-?batch]], [[iter(?:ation)?s?]], "step",
    } .. [[(?:[_ ](?:id|idx|index|done|complete|completed))?[ :#=\[]*(?:INT-)?(?P<n>INT)\b]],
    [[(?i)\bepochs?:?\s?\[(?P<epoch>INT)\]\s?\[\s*(?P<alone>INT)\]\s.*?]] .. loss_is,
    [[(?i)]] .. epoch .. [[\b.*?]] .. loss_is .. [[.*?\b]] .. within
      .. [[(?: is)?[ :#=\[{(]*(?P<count>INT)\s?/\s?INT\b]],
  },
  scan = [[(?i)epoch]], unless = either { not_first, of_checkpoint },
  samples = with {
    step = { of_all, { "n", epoch = "epoch" }, { "alone", epoch = "epoch" } },
    loss = { { "loss" }, { find = [[(?i)]] .. loss_is } },
  },
})
parser "step_and_loss" (training {
  line = {
    [[(?i)(?:^|[^\w/]|(?:train|trainer|training|global|perf|progress)/)]] .. named_step
      .. [[["']?(?:[ _](?:index|idx|number))?\s*(?:[:=#_]|\s)\s*["']?\[?]] .. step_number .. [[(?:[^\w.]|\.\s).*?\b]]
      .. loss .. [[["']?\s*(?:[:=|,]|\bis\b|\s)\s*["']?(?:tensor\()?]] .. value("loss"),
    [[(?i)\b]] .. loss .. [[["']?\s*(?:[:=]|\bis\b|\s)\s*["']?(?:tensor\()?(?P<loss>NUM)[^\w.].*?\b]] .. named_step
      .. [[["']?\s*[:=#]\s*["']?(?P<step>INT)(?:[^\w.]|\.\s|$)]],
    [[(?i)\b(?:task|round)s?\s?[:#]?\s?\[?(?P<step>INT)\s?/\s?INT\]?[^\w.].*?]] .. loss_is,
    [[(?i)^\W*]] .. named_step .. [[_(?P<step>INT):?\s+loss_(?P<joined>-?\d+\.\d+)\s*$]],
  },
  scan = scan_loss, unless = not_first,
  samples = with { step = { of_all, { "step" } }, loss = { { "loss" }, { "joined" } } },
})
parser "counted_loss" (training {
  about = "the step stands first, without a word: #120, [120/5000], 120 |",
  line = [[(?i)^[\W_]*(?:#|\[)?(?P<step>INT)(?:\s?/\s?INT)?\b[^\w.,%](?:[^\w]*epoch:? INT\b)?[^\w]*]] .. loss
    .. [[["']?\s*[:= ]\s*["']?]] .. value("loss"),
  scan = scan_loss, unless = not_first, samples = with { step = { of_all, { "step" } }, loss = "loss" },
})
parser "loss_at_step" (training {
  about = "Loss at step 120: 0.41; Loss after mini-batch 120: 0.41; [1,   120] loss: 0.41",
  line = {
    [[(?i)^\W*(?:train(?:ing)?[ _])?(?:loss|cost)\b[^:=]{0,24}? (?:at|after|in) (?:the )?]] .. either {
      "step", "iteration", "iter", "batch", "mini-batch",
    } .. [[\s+(?P<step>INT)\s*[:=]\s*]] .. value("loss"),
    [[(?i)^\[(?P<epoch>INT), +(?P<n>INT)\] (?:train(?:ing)?[ _])?loss\s*[:=]\s*]] .. value("counted"),
  },
  scan = scan_loss, unless = not_first,
  samples = { step = { { "step" }, { "n", epoch = "epoch", first_epoch = 1 } }, loss = { { "loss" }, { "counted" } } },
})
parser "step_summary" (training {
  about = "the loss of the training, and that of a validation: Step: 120, Training Loss: 0.41, Validation Loss: 0.52",
  line = {
    lead .. named_step .. [[\s*[:=# ]\s*(?P<step>INT)(?:\s?/\s?INT)?]] .. train_loss .. [[(?P<loss>NUM)]]
      .. and_validation,
    [[(?i)]] .. epoch .. [=[ ?[,|:]? ?\[\s*(?P<counted_n>INT)\s?/\s?(?P<total>INT)\]]=] .. train_loss
      .. [[(?P<beside>NUM)]] .. and_validation,
    [[(?i)]] .. epoch .. [[\W{1,6}(?:global )?(?:batch|step|iter(?:ation)?)[ :#=]*(?P<n>INT)(?:\s?/\s?INT)?]]
      .. train_loss .. [[(?P<counted>NUM)]] .. and_validation,
  },
  scan = scan_loss,
  samples = {
    step = {
      { "step" }, { find = [[(?i)\bglobal (?:batch|step|iter(?:ation)?)[ :#=]*(INT)]] }, { "n", epoch = "epoch" },
      { "counted_n", epoch = "epoch", per_epoch = "total" },
    },
    loss = { { "loss" }, { "counted" }, { "beside" } },
  },
})
parser "counted_of" (training {
  about = "[000120/5000] words | loss 0.4; Training [===   ] 51.0% 120/5000 | loss=0.4",
  line = {
    [[(?i)^\s*\[(?P<step>INT)\s?/\s?\d{2,}\].{0,60}?]] .. loss_is,
    [[(?i)^\W*train(?:ing)?\b[^a-z]{0,60}?[^\w.](?P<step>INT)\s?/\s?\d{2,}[^\w.].{0,60}?]] .. loss_is,
  },
  scan = scan_loss, unless = not_training, samples = with { step = "step", loss = "loss" },
})
parser "statistics" (training {
  about = "a JSON object or a Python dictionary of a step, or of an epoch",
  line = [[(?i)\{.*["'](?:train(?:ing)?[_/]|step_|total_|lm_|mean_|average_|avg_|batch_)]]
    .. [[?loss(?:/(?:out|train))?["']\s*:\s*\[?["']?(?:np\.float\d+\()?(?P<loss>NUM)]],
  scan = scan_loss,
  unless = [[(?i)]] .. either {
    [[["'](?:mode|phase|split|type|stage|subset|event|kind)["']\s*:\s*["'](?:val|valid|eval|test|dev)]],
    [=[["']train_runtime["']]=],
  },
  samples = with {
    loss = "loss", epoch = { find = [[(?i)["']epoch["']\s*:\s*(INT)\s*(?:,|\})]] },
    step = {
      {
        find = [[(?i)["'](?:global_|train(?:ing)?[_/]|current_)?(?:steps?|iter|iters|iteration|num_updates|updates?)]]
          .. [[["']\s*:\s*["']?(INT)]],
      },
      { find = [=[(?i)^[^{]*\[train(?:ing)? (INT)/INT\]]=] },
    },
  },
})
parser "named_loss" (training {
  about = "a loss by a name of its own: seg_loss=0.4, recon_loss: 12.1",
  line = [[(?i)(?:^|[^\w/])]] .. named_step .. [[["']?\s*(?:[:=#_]|\s)\s*["']?\[?]] .. step_number
    .. [[(?:[^\w.]|\.\s).*?\b[a-z]{2,16}[_ ]loss["']?\s*[:=| ]\s*["']?]] .. value("loss"),
  scan = scan_loss,
  unless = either { not_training, [[(?i)\b(?:policy|actor|critic|value|vf|pg|kl|aux\w*|adv\w*|reward)[ _]loss]] },
  samples = with { step = { of_all, { "step" } }, loss = "loss" },
})
parser "epoch_summary" (training {
  about = "the mean of an epoch: Epoch 3/10, Train Loss: 0.51, Val Loss: 0.55; or alone: Train Loss: 0.51, Acc: 0.9",
  line = {
    [[(?i)]] .. epoch .. [[\b.*?\btr(?:ain(?:ing)?)?]] .. either {
      [[[\W_]{0,3}(?:(?:avg|average|mean|total|running|epoch)[ _])?loss]], [[[_ ][a-z][a-z\d]{1,9}[_ ]loss]],
      [[[\W_]{0,3}(?:r?mse|mae|bce|nll)(?:_\w{1,12})?]],
    } .. [[["']?\s*[:=|]?\s*["']?]] .. value("labelled"),
    [[(?i)]] .. epoch
      .. [[\b.*?\b(?:avg|ave|average|mean|running|epoch)[ _](?:train(?:ing)?[ _])?loss["']?\s*[:=|]?\s*["']?]]
      .. value("average"),
    lead .. either { [[train(?:ing)?\W{1,4}]], [[finish(?:ed)? train(?:ing)? ]] }
      .. [[?(?:\w+:)*\s?(?:epochs?[ :#=\[(]*|train )(?P<epoch>INT)]] .. of_total
      .. [[\W{1,6}(?:(?:is )?(?:finished|completed?|done|ended|over)\W{1,4})?]]
      .. [[(?:train[_ ])?(?:loss|cost)["']?(?: is)?\s*[:=|]?\s*["']?]] .. value("loss"),
    [[(?i)\bepoch (?P<epoch>INT): (?:[a-z_]+ NUM\s+){1,12}loss ]] .. value("paired"),
    lead .. epoch_first .. [[[\W]{1,6}(?:[a-z][a-z_ ]{0,19}\s?[=:]\s?\[?NUM[\]%s]{0,2}[\s,;|]+){1,6}loss\s?[=:]\s?]]
      .. value("after"),
    [[(?i)^\W*]] .. either { "client", "worker", "node", "party", "user" }
      .. [[[ _#]?\d+[\W_]{1,3}train(?:ing)?\W{1,6}(?:local )?epoch[ :#=]*INT\W{1,6}]]
      .. [[(?:[a-z][a-z_ ]{0,19}\s?[=:]\s?NUM%?[\s,;|]+){0,4}loss\s?[=:]\s?]] .. value("local"),
    lead
      .. [[(?:train(?:ing)?[_ ])?(?:loss|cost) (?:at|after|for|in|of) (?:the )?epoch[ :#]{1,2}(?P<epoch>INT)\s*[:=]\s*]]
      .. value("ended"),
    lead .. either {
      [[train(?:ing)?[_ ](?:(?:mean|avg|average)[_ ])?loss(?:[_ ](?:average|avg|mean))?]], [[训练(?:集)?(?:平均)?损失]],
      [[train metrics ?: (?:[a-z]\w*: NUM ?[;,] ?){0,6}loss]],
    } .. [[(?:\s*[:=：]\s*|\s)]] .. value("begins"),
    [[(?i)^(?:\[?(?:info|debug)[\W\d]*(?:[ap]m)?)?\W*]] .. either {
      [=[(?:average|avg|mean)[_ ]train(?:ing)?[_ ]loss\s*[:=]]=], [[mean loss(?: was|\s*[:=])?]],
    } .. [[\s*(?P<mean>NUM)\s*$]],
  },
  scan = scan_loss .. [[|(?i)r?mse|mae|bce|损失]],
  unless = [[(?i)]] .. either {
    statement, [[\b(?:eval(?:uat\w+)?|valid(?:at\w+)?|val|test|dev)\b[ :\w]{0,16}epoch]],
    [[epoch(?:[^,|;l]|l[^o]){0,24}\b(?:val|valid|validation|eval|evaluation|test|dev)\b]],
    [[^\W*(?:\w+\W+){0,4}(?:best|lowest|min|minimum|patience)\b.*epoch]], [[train[_ ](?:val|gen|adv|aux|test|disc)]],
  },
  samples = {
    loss = {
      { "labelled" }, { "average" }, { "loss" }, { "paired" }, { "after" }, { "local" }, { "ended" }, { "begins" },
      { "mean" },
    },
    epoch = "epoch",
  },
})
parser "named_loss_of_epoch" (training {
  about = "an epoch, and first a loss by a name of its own: epoch 3/100, seg loss: 0.41; epoch 3 | flow_loss=0.14",
  line = lead .. epoch_first .. [[\W{1,6}[a-z][a-z\d-]{1,15}[_ ]loss["']?\s*[:=|]?\s*]] .. value("loss"),
  scan = scan_loss,
  unless = either {
    not_training,
    [[(?i)\b]] .. either {
      "policy", "actor", "critic", "value", "vf", "pg", "kl", [[aux\w*]], [[adv\w*]], "gen", "pi", "q", "reward",
      [[(?:mini-?)?batch]], "step", "iteration",
    } .. [[[ _]loss]],
  },
  samples = { loss = "loss", epoch = "epoch" },
})
parser "epoch_header" (training {
  about = "a line that begins an epoch: Epoch 3/10, EPOCH 3 ..., Starting epoch 3 / 10, ==== Epoch 3 / 4 ====",
  line = lead .. [[(?:]] .. either { [[start(?:ing)?]], [[begin(?:ning)?]], [[train(?:ing)?]], "running", "new" }
    .. [[\W{1,3})?epoch(?: number)?[ :#=\[]{1,3}(?P<epoch>INT)\]?]] .. of_total .. [[\W*(?:lr[ :=]+NUM)?\W*$]],
  scan = [[(?i)epoch]], samples = { epoch = "epoch" },
})
parser "loss_of_a_batch" (training {
  about = "without a count: a line of its own, or after the epoch",
  line = {
    [[(?i)^\W*(?:(?:current|mini-?batch|batch|step|iteration|train(?:ing)?)[ _]){1,2}loss\s*[:=]\s*(?P<loss>NUM)\W*$]],
    [[(?i)]] .. epoch .. [[\W{1,6}(?:mini-?batch|batch|step|iteration)[ _]loss["']?\s*[:=]?\s*]] .. value("loss"),
    [[(?i)]] .. epoch .. [[\b[^.%]{0,8}\bNUM ?(?:%|percent\b)[^:=\d]{0,16}\bloss(?: of|\s*[:=])\s*]] .. value("loss"),
  },
  scan = scan_loss, unless = either { not_training, statement }, samples = { loss = "loss" },
})
parser "loss_first" (training {
  about = "without a count, at the start or behind short values: Loss: 0.41; LR: 0.0002, Acc: 93.1, Loss: 0.41",
  line = {
    lead .. either { [=[training[_ ]]=], [=[total[_ ]]=], [=[mini-?batch[_ ]]=], [[train(?:ing)?:\s]] }
      .. [[?loss\s*[:=]\s*(?:tensor\()?(?P<loss>NUM)]] .. either {
      [[\s*$]], ", grad_fn=", [=[\s+\[ *INT/INT\]]=], [=[\s*[,;|]]=], [=[\s+[a-z][\w ]{0,15}[:=]]=],
    },
    lead .. [[(?:[a-z][a-z_ ]{0,23}\d?\s*[:=]\s*NUM%?\s*[,;|]\s*){1,4}]]
      .. [[(?:train(?:ing)?[_ ])?loss\s*[:=]\s*(?P<after>NUM)(?:[\s:]*$|\s*[,;|])]],
    [[(?i)^<epoch: *INT, *lr: ?NUM> *loss: ?(?P<epochs>NUM)\s*$]],
  },
  scan = scan_loss,
  unless = either {
    not_training, statement,
    [[(?i)(?:\b|_)(?:policy|actor|critic|value|vf|pg|reward|return)s?(?:[ _]loss|\s*[:=])|better|improv]],
  },
  samples = { loss = { { "loss" }, { "after" }, { "epochs" } }, grad_norm = grad_norm, learning_rate = learning_rate },
})
parser "batch_of" (training {
  about = "how far it is within an epoch that another line names, and no loss: Batch 120/1650",
  line = [[(?i)^\W*]] .. info
    .. [[(?:mini-?)?batch(?:es)?["']?\s*[:=#]?\s*\[?(?P<step>INT)\s?(?:/|of)\s?(?P<total>\d{2,})(?:[^\w.]|$)]],
  scan = [[(?i)batch]], unless = either { not_training, of_checkpoint }, same = "total",
  samples = with { step = "step" },
})
parser "step_alone" (training {
  about = "a line of its own: current step: 120, the 120th step, iter = 120; steps: 9000 is how many there will be",
  line = {
    [[(?i)^\W*(?:(?:current|global)[ _](?:step|iteration|iter)s?|(?:training|train)[ _](?:step|iteration|iter))]]
      .. [[\s*[:=#]?\s*(?P<step>INT)(?:st|nd|rd|th)?(?: (?:step|iteration))?\W*$]],
    [[(?i)^\W*(?:the )?(?P<step>INT)(?:st|nd|rd|th) (?:step|iteration)\W*$]],
    [[(?i)^\W*(?:epoch[ :=]{1,2}INT[,;|\s]+)?]]
      .. [[(?:global_?)?(?:step|iteration|iter)\s*[:=]\s*(?P<step>INT)(?:\s*$|-{4,}\s*$)]],
    [[(?i)^\W*num(?:ber)?[_ ](?:of[_ ])?updates\s*[:=]\s*(?P<step>INT)\s*$]],
    lead .. [[(?:]] .. either { "epoch", "step", "iteration", "iter", "batch" }
      .. [[[ :=]{1,2}INT[,;|\s]+){1,2}global[_ ]?step\s*[:=]\s*(?P<step>INT)\s*$]],
  },
  scan = [[(?i)step|iter|updates]], samples = { step = "step" },
})
parser "step_of" (training {
  about = "how far it is, and no loss: step 1200/50000; of a total of hundreds, so that stages of a set-up are none",
  line = [[(?i)(?:^|[^\w/])(?:global[_ ]?step|steps?|iter|iters|iteration|update)]]
    .. [[["']?\s*(?:[:=#]|\s)\s*\[?(?P<step>INT)\s?(?:/|of)\s?(?P<total>\d{3,})(?:[^\w.]|$)]],
  scan = [[(?i)step|iter|update]], unless = either { not_training, of_checkpoint }, same = "total",
  samples = with { step = { of_all, { "step" } } },
})
parser "epoch_and_running" (training {
  about = "beside a mean over the epoch so far: Epoch 73, Step 25, 3.1 s, avg loss so far is 0.02",
  line = [[(?i)^\W*]] .. info .. epoch .. [[[\])}{,:;|\s\[-]{1,6}(?:batch|mini-?batch|iter(?:ation)?|step)]]
    .. [[[ :#=\[]*(?P<n>INT)\b.*?\b(?:avg|average|mean|running)[ _-]\w*loss]],
  unless = [[(?i)]] .. either { validation, [[\b(?:best|final)(?:\b|_)]], of_checkpoint },
  samples = with { step = { of_all, { "n", epoch = "epoch" } } },
})
parser "step_and_values" (training {
  about = "a count that begins the line, and values, none of them a loss by name: iter 120:, mean_dist=3.6, err=0.2",
  line = [[(?i)^\W*]] .. info .. named_step
    .. [[[ :=#]{1,3}(?P<step>INT)\b[^\w.%]{1,4}(?:[a-z][\w ]{0,24}\s?[=:]\s?-?NUM[,;|\s]*){3}]],
  unless = either { not_training, of_checkpoint }, samples = with { step = { of_all, { "step" } } },
})
parser "loss_of_no_number" {
  generic = "lines",
  about = "wherever it stands: a training loss that is not a number needs no step to be true",
  line = [[(?i)(?:^|[^\w/]|total_|train_|training_|train/|avg_|mean_|running_)]]
    .. [[loss(?:es)?(?:_]] .. either {
    "G", "D", "net", "all", "sum", "total", "train", "ce", "cls", "reg", "mse", "bbox", "l1", "l2", "kl", "rec",
    "recon", "gen", "disc",
  } .. [=[)?["')\]]*\s*(?:[:=]|\bis\b|\s)\s*["'(]?(?:tensor\()?(?P<loss>-?(?:nan|inf))\b]=],
  scan = [[(?i)\b(?:nan|inf)\b]],
  unless = [[(?i)]] .. either {
    [[\b(?:val|valid|validation|eval|evaluation|test|dev|patience)(?:\b|_)]],
    [[\b(?:best|min|minimum|lowest|previous|initial)\b[^|,;]{0,12}loss]], "improved from", [[\bif\b]], [[\bwhen\b]],
    [[\bexpected\b]], [[^e\s{3}]],
  },
  samples = { loss = "loss" },
}
