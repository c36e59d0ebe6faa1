-- Lines of no framework that frameworks.lua and images.lua know, and no bars, which are in bars.lua. The first here reads a line.

local loss = [[(?:(?:train(?:ing)?[_ /]|total[_ -]|tot_|per_token_|[mc]?lm[_ ]|step[_ ]|(?:mini-?)?batch[_ ]|curr?(?:ent)?_|ce[_ ]|gen[_ ]|contrastive_)?loss(?:[_ ]total|_train(?:ing)?)?|x-?ent|cross[_ -]?entropy|nll|ce|objective|cost)]]
local loss_is = [[\b]] .. loss .. [[["'*]?\s*(?:[:=|\[]|\bis\b|\s)\s*["'*{]?(?:loss=|tensor\()?(?P<loss>NUM)(?:[^\w.]|\.?$|\.\s)]]
local scan_loss = [[(?i)loss|x-?ent|entropy|nll|objective|cost|\bce\b]]

-- "key value" pairs with a step and a loss, in this order or the other. A line about validation, or about a loss that is a mean or a
-- best one, is not taken, whatever else it contains. The loss has many names; `l` and `g` alone are too short for one.
local not_training = [[(?i)\b(?:val|valid|validation|validating|eval|evaluation|evaluating|test|testing|dev|holdout|patience|summary)(?:\b|_)|\bval(?:id)?loss|\b(?:average|avg|mean|best|lowest|min|final|target|last|previous)[ _-](?:(?:\w+[ _-]){0,2}(?:loss|nll|entropy|objective)|cost)|\b(?:[dg]|disc(?:riminator)?|generator)[ _]loss|loss[ _]?(?:fn|func|function|weight|type)|\bif\b|\bwhen\b|\bexpected\b|^e\s{3}]]
-- The same where the line shows a loss of its own first: Loss: 0.5, average loss: 0.6. A mean joined by an underline is another name.
local not_first = [[(?i)\b(?:val|valid|validation|validating|eval|evaluation|evaluating|test|testing|dev|holdout|patience|summary)(?:\b|_)|\bval(?:id)?loss|^(?:[^l]|l[^o]|lo[^s])*\b(?:average|avg|mean|best|lowest|min|final|target|last|previous)[ -](?:(?:\w+[ _-]){0,2}(?:loss|nll|entropy|objective)|cost)|\b(?:[dg]|disc(?:riminator)?|generator)[ _]loss|loss[ _]?(?:fn|func|function|weight|type)|\bif\b|\bwhen\b|\bexpected\b|^e\s{3}]]
local named_step = [[(?:global[_ ]?steps?|steps?|iter|iters|iteration|it|itr|update|num_updates|upd|batch)]]
local grad_norm     = { find = [[(?i)\b(?:grad[_ ]?norm|g_?norm|grad|g)["']?\s*[:= ]\s*["']?(NUM)]] }
local learning_rate = { find = [[(?i)\b(?:cur(?:rent)?_)?(?:lr|learning[_ ]rate)["']?\s*[:= ]\s*["']?(NUM)]] }
local step_time     = { { find = [[(?i)\b(?:step[_ ]time|time[_ ]per[_ ]step|iter[_ ]time|s/b|dt)["']?\s*[:= ]\s*["']?(NUM)\s?ms\b]], scale = 0.001 },
                        { find = [[(?i)\b(?:step[_ ]time|time[_ ]per[_ ]step|iter[_ ]time|s/b|dt)["']?\s*[:= ]\s*["']?(NUM)\s?(?:s|sec|seconds)?(?:[,;|\s]|$)]] } }
step_time[3] = { find = [[\b(NUM) ?(?:s|sec|secs|seconds)/(?:it|iter|step|batch)\b]] }
step_time[4] = { find = [[\b(NUM) ?ms/(?:it|iter|step|batch)\b]], scale = 0.001 }
step_time[5] = { find = [[\belapsed_time_per_iteration_ms: (NUM)(?:\s|$)]], scale = 0.001 }
step_time[6] = { find = [[\belapsed_time_per_iteration_ms: (NUM)K\b]] }
local tokens_per_s  = { find = [[(?i)\b(?:tokens?(?:/s(?:ec)?|[_ ]per[_ ]s(?:ec(?:ond)?)?)|tok/s(?:ec)?|tps)["']?\s*[:= ]\s*["']?(NUM)]] }

local of_all        = { find = [[(?i)\bglobal[_ ](?:step|iter(?:ation)?|batch)(?:_idx)?["']?\s*[:=]\s*["']?(INT)\b]] }     -- where two counts stand on the line
local function with(samples)
  samples.grad_norm, samples.learning_rate, samples.step_time, samples.tokens_per_s = grad_norm, learning_rate, step_time, tokens_per_s
  return samples
end

-- A count without a loss is progress only where nothing is saved, loaded or resumed: such lines name the step of a checkpoint.
local of_checkpoint = [[|(?i)checkpoint|ckpt|\bsav(?:e|ed|ing)\b|\bload(?:ed|ing)?\b|restor|resum|\.(?:pt|pth|bin|safetensors|h\d)\b]]

-- What a logger writes before its message: INFO - , INFO | __main__:train:35 - , train.log - INFO - , [__main__][INFO] - , [INFO | main.py:45] and a time;
-- and times of forms that are no prefix.
local logger = [[(?:(?:\w*[._][\w.]*|root|main|model|train(?:er|ing)?)(?::\d+)?\]? ?[-|:\[]+ ?)?]]
local lead = [[(?i)^[\W\d]*(?:(?:info|debug) \| \w+\.py:\d+[\W\d]{1,40})?]] .. logger .. [[\W*]] .. logger .. [[(?:(?:info|debug)[\W\d]+)?(?:[\w.<>]+:[\w.<>]+:\d+ - |\w+\.[\w.]+ (?:info|debug): )?]] .. logger .. [[\W*]]

-- A statement of a program that prints its own source: total_loss = 0.0.
local statement = [[|loss = 0(?:\.0?)?\s*$]]

-- A count beside an epoch begins anew with it. With the epoch's length it makes a step of the whole; a batch without it makes none.
local epoch  = [[\bepochs?["']?(?: is)?[ :#=\[{(]*(?P<epoch>INT)(?:\s?(?:/|of)\s?INT)?]]
local of_two = [[\b(?:loss[ _]?(?:[dg]|disc\w*|gen\w*)|(?:[dg]|disc(?:riminator)?|gen(?:erator)?)[ _]loss)\b]]
local within = [[(?:step|iter|iters|iteration|it|batch(?:es)?|mini-?batch)]]
parser "rewarded" { generic = "lines",
  about   = "reinforcement learning: the loss of an actor is no measure of what is learnt",
  line    = [[(?i)]] .. epoch .. [[[\])}{,:;|\s\[(-]{1,6}(?:]] .. within .. [[(?: is)?[ :#=\[{(]*)?(?P<n>INT)[\])]?\s?(?:/|of)\s?\[?(?P<total>INT)[^\w.].*?\b(?:reward|return|advantage)s?\b]],
  scan    = [[(?i)reward|return|advantage]], unless = not_training .. [[|(?i)(?:^|[,;|\]):-])\s*(?:total[ _]|train(?:ing)?[ _])?loss\b]],
  samples = with { step = { of_all, { "n", epoch = "epoch", per_epoch = "total" } } }, states = { phase = "train" },
}
parser "rewarded_step" { generic = "lines",
  about   = "the same with a step: Train Step: 3000 | Episode Reward: 31.2 | critic_loss: 1.0; not one that counts within an episode",
  line    = [[(?i)(?:^|[^\w/])]] .. named_step .. [=[["']?\s*(?:[:=#_]|\s)\s*["']?\[?(?P<step>INT)(?:\s?/\s?(?:INT|NUM[kKM]))?[^\w.].*?\b(?:\w+_)?(?:reward|return)s?(?:_mean|_avg)?["']?\s*[:=]]=],
  scan    = [[(?i)reward|return]], unless = not_training .. [[|(?i)(?:^|[,;|\]):-])\s*(?:total[ _]|train(?:ing)?[ _])?loss\b|\bepisode["']?[ :#=\[]*INT\b]],
  samples = with { step = { of_all, { "step" } } }, states = { phase = "train" },
}
parser "two_networks" { generic = "lines",
  about   = "two networks against each other: their losses are no measure of what is learnt: [Epoch 3/200] [Batch 20/938] [D loss: 0.4] [G loss: 1.9], 120 [D loss: 0.4",
  line    = { [[(?i)]] .. epoch .. [[[\])}{,:;|\s\[-]{1,6}(?:]] .. within .. [[(?: is)?[ :#=\[{(]*)?(?P<n>INT)\s?(?:/|of)\s?(?P<total>INT)[^\w.].*?]] .. of_two,
              [[(?i)^\[(?P<epoch>INT)/INT\]\[(?P<n>INT)/(?P<total>INT)\].*?]] .. of_two, [[^(?P<count>INT) \[D loss: ]],
              lead .. [[(?:global[_ ]?step|steps?|iter|iteration)[ :=#]{1,3}(?P<step>INT)\b[^\w.%].*?\b(?:loss_[dg]|[dg]_loss|(?:disc(?:riminator)?|gen(?:erator)?)[ _]loss)\b]] },
  scan    = scan_loss, unless = [[(?i)\b(?:val|valid|validation|eval|evaluation|test|dev)(?:\b|_)]],
  samples = with { step = { of_all, { "n", epoch = "epoch", per_epoch = "total" }, { "count" }, { "step" } } }, states = { phase = "train" },
}
parser "epoch_and_count" { generic = "lines",
  about   = "Epoch [3/30], Step [12/400]; epoch: 3, iter: 12/400; epoch=3 i=12/400; Epoch 3 (12/400); it 12/400 of epoch 3; 3-epoch (12/400); [3/30] iter: 12/400; [epoch 3/30, batch 12/400] [losses: box 0.2, all 0.3, total 0.5",
  line    = { [[(?i)]] .. epoch .. [[[\])}{,:;|\s\[(-]{1,6}(?:]] .. within .. [[(?: is)?[ :#=\[{(]*|[in] ?[=:] ?)?(?P<n>INT)\]?\s?(?:/|of)\s{0,4}\[?(?P<total>INT)[^\w.].*?]] .. loss_is,
              [[(?i)\b]] .. within .. [[(?: is)?[ :#=\[{(]*(?P<n>INT)/(?P<total>INT) of epoch (?P<epoch>INT)\b.*?]] .. loss_is,
              [[(?i)\b(?P<epoch>INT)(?:st|nd|rd|th)?[ -]epoch\W{1,4}(?P<n>INT)\s?/\s?(?P<total>INT)[^\w.].*?]] .. loss_is,
              [[(?i)]] .. epoch .. [[[\])}{,:;|\s\[(-]{1,6}]] .. within .. [[[ :#=\[{(]*(?P<n>INT)\s?/\s?(?P<total>INT)(?:\W{1,4}|\W.{0,8}\blosses\b[^\]|]{0,160}?\b)total\s*[:= ]\s*(?P<loss>\d+\.\d{3,})(?:[^\w.]|$)]],
              [[(?i)^\W*\[(?P<epoch>INT)/INT\][\s,|:-]{1,4}]] .. within .. [[[ :=#\[]*(?P<n>INT)/(?P<total>INT)\W.*?]] .. loss_is },
  scan    = scan_loss .. "|total", unless = not_first,
  samples = with { step = { of_all, { "n", epoch = "epoch", per_epoch = "total" } }, loss = "loss" },
  states  = { phase = "train" },
}
parser "epoch_and_mean" { generic = "lines",
  about   = "the same beside a mean over the epoch so far: Epoch[003/100], Step[0120/0450], Avg Loss: 0.41",
  line    = [[(?i)]] .. epoch .. [[[\])}{,:;|\s\[-]{1,6}]] .. within .. [[[ :#=\[]*(?P<n>INT)\s?/\s?(?P<total>INT)[^\w.]{1,4}(?:avg|average|mean|running)[ _]loss["']?\s*[:=]?\s*(?P<loss>NUM)(?:[^\w.]|\.?$|\.\s)]],
  scan    = scan_loss, unless = [[(?i)\b(?:val|valid|validation|validating|eval|evaluation|evaluating|test|testing|dev)(?:\b|_)]],
  samples = with { step = { "n", epoch = "epoch", per_epoch = "total" }, loss = "loss" }, states = { phase = "train" },
}
parser "step_and_mean" { generic = "lines",
  about   = "a step that begins the line, and right behind it a mean since the one before: [step 25] avg_loss=0.41 acc=0.9; Step 120 | Avg Loss: 3.4",
  line    = lead .. [[(?:global[_ ]?step|steps?|iter|iteration)[ :=#]{1,3}(?P<step>INT)(?:\s?/\s?INT)?\W{1,4}]]
         .. [[(?:avg|average|mean)[ _](?:train(?:ing)?[ _])?loss["']?\s*[:=]?\s*(?P<loss>NUM)(?:[^\w.]|\.?$|\.\s)]],
  scan    = scan_loss, unless = [[(?i)\b(?:val|valid|validation|validating|eval|evaluation|evaluating|test|testing|dev|best|final)(?:\b|_)|so far]],
  samples = with { step = "step", loss = "loss" }, states = { phase = "train" },
}
parser "epoch_and_batch" { generic = "lines",
  about   = "no length, and often no loss: Epoch[12] Batch [1300-1320], [Epoch 8][Batch 99], Epoch: 2, batches done: 400, epoch:[ 2/9 ] train step:30",
  line    = { [[(?i)]] .. epoch .. [[[\])}{,:;|\s\[-]{1,6}(?:train(?:ing)?[\s_])?(?:batch(?:es)?|mini-?batch|iter(?:ation)?s?|step)(?:[_ ](?:id|idx|index|done|complete|completed))?[ :#=\[]*(?:INT-)?(?P<n>INT)\b]],
              [[(?i)\bepochs?:?\s?\[(?P<epoch>INT)\]\s?\[\s*(?P<alone>INT)\]\s.*?]] .. loss_is,
              [[(?i)]] .. epoch .. [[\b.*?]] .. loss_is .. [[.*?\b]] .. within .. [[(?: is)?[ :#=\[{(]*(?P<count>INT)\s?/\s?INT\b]] },
  scan    = [[(?i)epoch]], unless = not_first .. of_checkpoint,
  samples = with { step = { of_all, { "n", epoch = "epoch" }, { "alone", epoch = "epoch" } }, loss = { { "loss" }, { find = [[(?i)]] .. loss_is } } },
  states  = { phase = "train" },
}
parser "step_and_loss" { generic = "lines",
  line    = { [[(?i)(?:^|[^\w/]|(?:train|trainer|training|global|perf|progress)/)]] .. named_step .. [[["']?(?:[ _](?:index|idx|number))?\s*(?:[:=#_]|\s)\s*["']?\[?(?P<step>INT)(?:\s?/\s?(?:INT|NUM[kKM]))?(?:[^\w.]|\.\s).*?\b]] .. loss .. [[["']?\s*(?:[:=|,]|\bis\b|\s)\s*["']?(?:tensor\()?(?P<loss>NUM)(?:[^\w.]|\.?$|\.\s)]],
              [[(?i)\b]] .. loss .. [[["']?\s*(?:[:=]|\bis\b|\s)\s*["']?(?:tensor\()?(?P<loss>NUM)[^\w.].*?\b]] .. named_step .. [[["']?\s*[:=#]\s*["']?(?P<step>INT)(?:[^\w.]|\.\s|$)]],
              [[(?i)\b(?:task|round)s?\s?[:#]?\s?\[?(?P<step>INT)\s?/\s?INT\]?[^\w.].*?]] .. loss_is },
  scan    = scan_loss,
  unless  = not_first,
  samples = with { step = { of_all, { "step" } }, loss = "loss" },
  states  = { phase = "train" },
}
parser "counted_loss" { generic = "lines",
  about   = "the step stands first, without a word: #120, [120/5000], 120 |",
  line    = [[(?i)^[\W_]*(?:#|\[)?(?P<step>INT)(?:\s?/\s?INT)?\b[^\w.,%](?:[^\w]*epoch:? INT\b)?[^\w]*]] .. loss .. [[["']?\s*[:= ]\s*["']?(?P<loss>NUM)(?:[^\w.]|\.?$|\.\s)]],
  scan    = scan_loss,
  unless  = not_first,
  samples = with { step = { of_all, { "step" } }, loss = "loss" },
  states  = { phase = "train" },
}
parser "loss_at_step" { generic = "lines",
  about   = "Loss at step 120: 0.41; Training loss (for one batch) at step 120: 0.41; Loss after mini-batch 120: 0.41; [1,   120] loss: 0.41",
  line    = { [[(?i)^\W*(?:train(?:ing)?[ _])?(?:loss|cost)\b[^:=]{0,24}? (?:at|after|in) (?:the )?(?:step|iteration|iter|batch|mini-batch)\s+(?P<step>INT)\s*[:=]\s*(?P<loss>NUM)(?:[^\w.]|\.?$|\.\s)]],
              [[(?i)^\[(?P<epoch>INT), +(?P<n>INT)\] (?:train(?:ing)?[ _])?loss\s*[:=]\s*(?P<counted>NUM)(?:[^\w.]|\.?$|\.\s)]] },
  scan    = scan_loss, unless = not_first,
  samples = { step = { { "step" }, { "n", epoch = "epoch", first_epoch = 1 } }, loss = { { "loss" }, { "counted" } } }, states = { phase = "train" },
}
parser "step_summary" { generic = "lines",
  about   = "the loss of the training first, and that of a validation beside it: Step: 120, Training Loss: 0.41, Validation Loss: 0.52",
  line    = { lead .. named_step .. [[\s*[:=# ]\s*(?P<step>INT)(?:\s?/\s?INT)?\W{1,4}train(?:ing)?[ _]loss\s*[:=]?\s*(?P<loss>NUM)\W{1,4}(?:val\w*|dev|eval\w*|test)[ _]loss]],
              [[(?i)]] .. epoch .. [[ ?[,|:]? ?\[\s*(?P<counted_n>INT)\s?/\s?(?P<total>INT)\]\W{1,4}train(?:ing)?[ _]loss\s*[:=]?\s*(?P<beside>NUM)\W{1,4}(?:val\w*|dev|eval\w*|test)[ _]loss]],
              [[(?i)]] .. epoch .. [[\W{1,6}(?:global )?(?:batch|step|iter(?:ation)?)[ :#=]*(?P<n>INT)(?:\s?/\s?INT)?\W{1,4}train(?:ing)?[ _]loss\s*[:=]?\s*(?P<counted>NUM)\W{1,4}(?:val\w*|dev|eval\w*|test)[ _]loss]] },
  scan    = scan_loss, samples = { step = { { "step" }, { find = [[(?i)\bglobal (?:batch|step|iter(?:ation)?)[ :#=]*(INT)]] }, { "n", epoch = "epoch" }, { "counted_n", epoch = "epoch", per_epoch = "total" } }, loss = { { "loss" }, { "counted" }, { "beside" } } }, states = { phase = "train" },
}
parser "counted_of" { generic = "lines",
  about   = "[000120/5000] words | loss 0.4; Training [===   ] 51.0% 120/5000 | loss=0.4",
  line    = { [[(?i)^\s*\[(?P<step>INT)\s?/\s?\d{2,}\].{0,60}?]] .. loss_is, [[(?i)^\W*train(?:ing)?\b[^a-z]{0,60}?[^\w.](?P<step>INT)\s?/\s?\d{2,}[^\w.].{0,60}?]] .. loss_is },
  scan    = scan_loss, unless = not_training,
  samples = with { step = "step", loss = "loss" }, states = { phase = "train" },
}
parser "statistics" { generic = "lines",
  about   = "a JSON object or a Python dictionary of a step, or of an epoch",
  line    = [[(?i)\{.*["'](?:train(?:ing)?[_/]|step_|total_|lm_|mean_|average_|avg_|batch_)?loss(?:/(?:out|train))?["']\s*:\s*\[?["']?(?:np\.float\d+\()?(?P<loss>NUM)]],
  scan    = scan_loss, unless = [=[(?i)["'](?:mode|phase|split|type|stage|subset|event|kind)["']\s*:\s*["'](?:val|valid|eval|test|dev)|["']train_runtime["']]=],
  samples = with { loss = "loss", epoch = { find = [[(?i)["']epoch["']\s*:\s*(INT)\s*(?:,|\})]] }, step = { { find = [[(?i)["'](?:global_|train(?:ing)?[_/]|current_)?(?:steps?|iter|iters|iteration|num_updates|updates?)["']\s*:\s*["']?(INT)]] }, { find = [=[(?i)^[^{]*\[train(?:ing)? (INT)/INT\]]=] } } },
  states  = { phase = "train" },
}
parser "named_loss" { generic = "lines",
  about   = "a loss by a name of its own: seg_loss=0.4, recon_loss: 12.1",
  line    = [[(?i)(?:^|[^\w/])]] .. named_step .. [[["']?\s*(?:[:=#_]|\s)\s*["']?\[?(?P<step>INT)(?:\s?/\s?(?:INT|NUM[kKM]))?(?:[^\w.]|\.\s).*?\b[a-z]{2,16}[_ ]loss["']?\s*[:=| ]\s*["']?(?P<loss>NUM)(?:[^\w.]|\.?$|\.\s)]],
  scan    = scan_loss, unless = not_training .. [[|(?i)\b(?:policy|actor|critic|value|vf|pg|kl|aux\w*|adv\w*|reward)[ _]loss]],
  samples = with { step = { of_all, { "step" } }, loss = "loss" }, states = { phase = "train" },
}
parser "epoch_summary" { generic = "lines",
  about   = "a mean over an epoch, of a training that may print nothing else: Epoch 3/10, Train Loss: 0.51, Val Loss: 0.55; or without the epoch: Train Loss: 0.51, Acc: 0.9",
  line    = { [[(?i)]] .. epoch .. [[\b.*?\btr(?:ain(?:ing)?)?(?:[\W_]{0,3}(?:(?:avg|average|mean|total|running|epoch)[ _])?loss|[_ ][a-z][a-z\d]{1,9}[_ ]loss|[\W_]{0,3}(?:r?mse|mae|bce|nll)(?:_\w{1,12})?)["']?\s*[:=|]?\s*["']?(?P<labelled>NUM)(?:[^\w.]|\.?$|\.\s)]],
              [[(?i)]] .. epoch .. [[\b.*?\b(?:avg|ave|average|mean|running|epoch)[ _](?:train(?:ing)?[ _])?loss["']?\s*[:=|]?\s*["']?(?P<average>NUM)(?:[^\w.]|\.?$|\.\s)]],
              lead .. [[(?:train(?:ing)?\W{1,4}|finish(?:ed)? train(?:ing)? )?(?:\w+:)*\s?(?:epochs?[ :#=\[(]*|train )(?P<epoch>INT)(?:\s?(?:/|of)\s?INT)?\W{1,6}(?:(?:is )?(?:finished|completed?|done|ended|over)\W{1,4})?(?:train[_ ])?(?:loss|cost)["']?(?: is)?\s*[:=|]?\s*["']?(?P<loss>NUM)(?:[^\w.]|\.?$|\.\s)]],
              [[(?i)\bepoch (?P<epoch>INT): (?:[a-z_]+ NUM\s+){1,12}loss (?P<paired>NUM)(?:[^\w.]|\.?$|\.\s)]],
              lead .. [[epochs?[ :#=\[(]*(?P<epoch>INT)(?:\s?(?:/|of)\s?INT)?[\W]{1,6}(?:[a-z][a-z_ ]{0,19}\s?[=:]\s?\[?NUM[\]%s]{0,2}[\s,;|]+){1,6}loss\s?[=:]\s?(?P<after>NUM)(?:[^\w.]|\.?$|\.\s)]],
              [[(?i)^\W*(?:client|worker|node|party|user)[ _#]?\d+[\W_]{1,3}train(?:ing)?\W{1,6}(?:local )?epoch[ :#=]*INT\W{1,6}(?:[a-z][a-z_ ]{0,19}\s?[=:]\s?NUM%?[\s,;|]+){0,4}loss\s?[=:]\s?(?P<local>NUM)(?:[^\w.]|\.?$|\.\s)]],
              lead .. [[(?:train(?:ing)?[_ ])?(?:loss|cost) (?:at|after|for|in|of) (?:the )?epoch[ :#]{1,2}(?P<epoch>INT)\s*[:=]\s*(?P<ended>NUM)(?:[^\w.]|\.?$|\.\s)]],
              lead .. [[(?:train(?:ing)?[_ ](?:(?:mean|avg|average)[_ ])?loss(?:[_ ](?:average|avg|mean))?|训练(?:集)?(?:平均)?损失|train metrics ?: (?:[a-z]\w*: NUM ?[;,] ?){0,6}loss)(?:\s*[:=：]\s*|\s)(?P<begins>NUM)(?:[^\w.]|\.?$|\.\s)]],
              [[(?i)^(?:\[?(?:info|debug)[\W\d]*(?:[ap]m)?)?\W*]]
              .. [[(?:(?:average|avg|mean)[_ ]train(?:ing)?[_ ]loss\s*[:=]|mean loss(?: was|\s*[:=])?)\s*(?P<mean>NUM)\s*$]] },
  scan    = scan_loss .. [[|(?i)r?mse|mae|bce|损失]], unless = [[(?i)\b(?:eval(?:uat\w+)?|valid(?:at\w+)?|val|test|dev)\b[ :\w]{0,16}epoch|epoch(?:[^,|;l]|l[^o]){0,24}\b(?:val|valid|validation|eval|evaluation|test|dev)\b|^\W*(?:\w+\W+){0,4}(?:best|lowest|min|minimum|patience)\b.*epoch|train[_ ](?:val|gen|adv|aux|test|disc)]] .. statement,
  samples = { loss = { { "labelled" }, { "average" }, { "loss" }, { "paired" }, { "after" }, { "local" }, { "ended" }, { "begins" }, { "mean" } }, epoch = "epoch" }, states = { phase = "train" },
}
parser "named_loss_of_epoch" { generic = "lines",
  about   = "an epoch, and first a loss by a name of its own: epoch 3/100, seg loss: 0.41; Epoch 003 | CL Loss 4.1; epoch 3 | flow_loss=0.14",
  line    = lead .. [[epochs?[ :#=\[(]*(?P<epoch>INT)(?:\s?(?:/|of)\s?INT)?\W{1,6}[a-z][a-z\d-]{1,15}[_ ]loss["']?\s*[:=|]?\s*(?P<loss>NUM)(?:[^\w.]|\.?$|\.\s)]],
  scan    = scan_loss, unless = not_training .. [[|(?i)\b(?:policy|actor|critic|value|vf|pg|kl|aux\w*|adv\w*|gen|pi|q|reward|(?:mini-?)?batch|step|iteration)[ _]loss]],
  samples = { loss = "loss", epoch = "epoch" }, states = { phase = "train" },
}
parser "epoch_header" { generic = "lines",
  about   = "a line that begins an epoch: Epoch 3/10, EPOCH 3 ..., Starting epoch 3 / 10, epoch 3 lr 1e-3, ======== Epoch 3 / 4 ========",
  line    = lead .. [[(?:(?:start(?:ing)?|begin(?:ning)?|train(?:ing)?|running|new)\W{1,3})?epoch(?: number)?[ :#=\[]{1,3}(?P<epoch>INT)\]?(?:\s?(?:/|of)\s?INT)?\W*(?:lr[ :=]+NUM)?\W*$]],
  scan    = [[(?i)epoch]], samples = { epoch = "epoch" }, states = { phase = "train" },
}
parser "loss_of_a_batch" { generic = "lines",
  about   = "without a count: a line of its own, or after the epoch",
  line    = { [[(?i)^\W*(?:(?:current|mini-?batch|batch|step|iteration|train(?:ing)?)[ _]){1,2}loss\s*[:=]\s*(?P<loss>NUM)\W*$]],
              [[(?i)]] .. epoch .. [[\W{1,6}(?:mini-?batch|batch|step|iteration)[ _]loss["']?\s*[:=]?\s*(?P<loss>NUM)(?:[^\w.]|\.?$|\.\s)]],
              [[(?i)]] .. epoch .. [[\b[^.%]{0,8}\bNUM ?(?:%|percent\b)[^:=\d]{0,16}\bloss(?: of|\s*[:=])\s*(?P<loss>NUM)(?:[^\w.]|\.?$|\.\s)]] },
  scan    = scan_loss, unless = not_training .. statement,
  samples = { loss = "loss" }, states = { phase = "train" },
}
parser "loss_first" { generic = "lines",
  about   = "without a count: the loss begins the line, or short values before it: Loss: 0.41; LR: 0.0002, Acc: 93.1, Loss: 0.41",
  line    = { lead .. [[(?:training[_ ]|total[_ ]|mini-?batch[_ ]|train(?:ing)?:\s)?loss\s*[:=]\s*(?:tensor\()?(?P<loss>NUM)(?:\s*$|, grad_fn=|\s+\[ *INT/INT\]|\s*[,;|]|\s+[a-z][\w ]{0,15}[:=])]],
              lead .. [[(?:[a-z][a-z_ ]{0,23}\d?\s*[:=]\s*NUM%?\s*[,;|]\s*){1,4}(?:train(?:ing)?[_ ])?loss\s*[:=]\s*(?P<after>NUM)(?:[\s:]*$|\s*[,;|])]],
              [[(?i)^<epoch: *INT, *lr: ?NUM> *loss: ?(?P<epochs>NUM)\s*$]] },
  scan    = scan_loss, unless = not_training .. statement .. [[|(?i)(?:\b|_)(?:policy|actor|critic|value|vf|pg|reward|return)s?(?:[ _]loss|\s*[:=])|better|improv]],
  samples = { loss = { { "loss" }, { "after" }, { "epochs" } }, grad_norm = grad_norm, learning_rate = learning_rate }, states = { phase = "train" },
}
parser "batch_of" { generic = "lines",
  about   = "how far it is within an epoch that another line names, and no loss: Batch 120/1650",
  line    = [[(?i)^\W*(?:(?:info|debug)\W+)?(?:mini-?)?batch(?:es)?["']?\s*[:=#]?\s*\[?(?P<step>INT)\s?(?:/|of)\s?(?P<total>\d{2,})(?:[^\w.]|$)]],
  scan    = [[(?i)batch]], unless = not_training .. of_checkpoint, same = "total",
  samples = with { step = "step" }, states = { phase = "train" },
}
parser "step_alone" { generic = "lines",
  about   = "a line of its own: current step: 120, the 120th step, iter = 120; steps: 9000 is how many there will be",
  line    = { [[(?i)^\W*(?:(?:current|global)[ _](?:step|iteration|iter)s?|(?:training|train)[ _](?:step|iteration|iter))\s*[:=#]?\s*(?P<step>INT)(?:st|nd|rd|th)?(?: (?:step|iteration))?\W*$]],
              [[(?i)^\W*(?:the )?(?P<step>INT)(?:st|nd|rd|th) (?:step|iteration)\W*$]],
              [[(?i)^\W*(?:epoch[ :=]{1,2}INT[,;|\s]+)?(?:global_?)?(?:step|iteration|iter)\s*[:=]\s*(?P<step>INT)(?:\s*$|-{4,}\s*$)]],
              [[(?i)^\W*num(?:ber)?[_ ](?:of[_ ])?updates\s*[:=]\s*(?P<step>INT)\s*$]],
              lead .. [[(?:(?:epoch|step|iteration|iter|batch)[ :=]{1,2}INT[,;|\s]+){1,2}global[_ ]?step\s*[:=]\s*(?P<step>INT)\s*$]] },
  scan    = [[(?i)step|iter|updates]], samples = { step = "step" }, states = { phase = "train" },
}
parser "step_of" { generic = "lines",
  about   = "how far it is, and no loss: step 1200/50000, iteration: 30 of 9000; of a total of hundreds, so that stages of a set-up are none",
  line    = [[(?i)(?:^|[^\w/])(?:global[_ ]?step|steps?|iter|iters|iteration|update)["']?\s*(?:[:=#]|\s)\s*\[?(?P<step>INT)\s?(?:/|of)\s?(?P<total>\d{3,})(?:[^\w.]|$)]],
  scan    = [[(?i)step|iter|update]], unless = not_training .. of_checkpoint, same = "total",
  samples = with { step = { of_all, { "step" } } }, states = { phase = "train" },
}
parser "epoch_and_running" { generic = "lines",
  about   = "beside a mean over the epoch so far, which is no loss of its own: Epoch 73, Step 25, 3.1 s, avg loss so far is 0.02",
  line    = [[(?i)^\W*(?:(?:info|debug)\W+)?]] .. epoch .. [[[\])}{,:;|\s\[-]{1,6}(?:batch|mini-?batch|iter(?:ation)?|step)[ :#=\[]*(?P<n>INT)\b.*?\b(?:avg|average|mean|running)[ _-]\w*loss]],
  unless = [[(?i)\b(?:val|valid|validation|validating|eval|evaluation|evaluating|test|testing|dev|best|final)(?:\b|_)]] .. of_checkpoint,
  samples = with { step = { of_all, { "n", epoch = "epoch" } } }, states = { phase = "train" },
}
parser "step_and_values" { generic = "lines",
  about   = "a count that begins the line, and values of which none is a loss by name: iter 120:, hard_loss_metric=0.21, mean_dist=3.6",
  line    = [[(?i)^\W*(?:(?:info|debug)\W+)?]] .. named_step .. [[[ :=#]{1,3}(?P<step>INT)\b[^\w.%]{1,4}(?:[a-z][\w ]{0,24}\s?[=:]\s?-?NUM[,;|\s]*){3}]],
  unless = not_training .. of_checkpoint,
  samples = with { step = { of_all, { "step" } } }, states = { phase = "train" },
}
parser "loss_of_no_number" { generic = "lines",
  about   = "wherever it stands: that a training loss is no number needs no step to be true",
  line    = [=[(?i)(?:^|[^\w/]|total_|train_|training_|train/|avg_|mean_|running_)loss(?:es)?(?:_(?:G|D|net|all|sum|total|train|ce|cls|reg|mse|bbox|l1|l2|kl|rec|recon|gen|disc))?["')\]]*\s*(?:[:=]|\bis\b|\s)\s*["'(]?(?:tensor\()?(?P<loss>-?(?:nan|inf))\b]=],
  scan    = [[(?i)\b(?:nan|inf)\b]],
  unless  = [[(?i)\b(?:val|valid|validation|eval|evaluation|test|dev|patience)(?:\b|_)|\b(?:best|min|minimum|lowest|previous|initial)\b[^|,;]{0,12}loss|improved from|\bif\b|\bwhen\b|\bexpected\b|^e\s{3}]],
  samples = { loss = "loss" },
}
