-- Lines of no framework that frameworks.lua knows: careful, and after all others (the file's name sorts last).

-- An unlabelled bar: Hugging Face's Trainer prints its loss without a step, and the step in this bar.
parser "bar" {
  line    = [[^\s*INT%\|[^|]*\|\s*(?P<step>INT)/(?P<total>INT) \[\d]],
  same    = "total",
  samples = { step = "step", loss = { find = [=[[ ,\[](?:train_|step_)?loss=(NUM)]=] } },
  states  = { phase = "train" },
}
parser "named_bar" {
  line    = [[^\s*(?:[Ss]teps|[Tt]rain|[Tt]raining|[Ii]terations)[^|:%]*:\s+INT%\|[^|]*\|\s*(?P<step>INT)/(?P<total>INT) \[\d]],
  same    = "total",
  samples = { step = "step", loss = { find = [=[[ ,\[](?:train_|step_)?loss=(NUM)]=] }, learning_rate = { find = [[\blr=(NUM)]] } },
  states  = { phase = "train" },
}

-- "key value" pairs with a step and a loss, in this order or the other. A line that speaks of validation, of an average or of a sum
-- over something else is not taken, whatever else it says.
local not_training = [[(?i)\b(?:val|valid|validation|eval|evaluation|test|dev|average|avg|mean|best|total|summary|final|patience|target)(?:\b|_)|loss[ _]?(?:scale|scaler|fn|func|function|weight|type)|\bif\b|\bwhen\b]]
local grad_norm     = { find = [[(?i)\b(?:grad[_ ]?norm|gnorm|grad)["']?\s*[:= ]\s*["']?(NUM)]] }
local learning_rate = { find = [[(?i)\b(?:lr|learning[_ ]rate)["']?\s*[:= ]\s*["']?(NUM)]] }
local step_time     = { { find = [[(?i)\b(?:step[_ ]time|time[_ ]per[_ ]step|iter[_ ]time|dt)["']?\s*[:= ]\s*["']?(NUM)\s?(?:s|sec|seconds)?(?:[,;|\s]|$)]] },
                        { find = [[(?i)\b(?:step[_ ]time|time[_ ]per[_ ]step|iter[_ ]time|dt)["']?\s*[:= ]\s*["']?(NUM)\s?ms\b]], scale = 0.001 } }
local tokens_per_s  = { find = [[(?i)\b(?:tokens?(?:/s(?:ec)?|[_ ]per[_ ]s(?:ec(?:ond)?)?)|tok/s|tps)["']?\s*[:= ]\s*["']?(NUM)]] }

parser "step_and_loss" {
  line    = { [[(?i)\b(?:global[_ ]?step|steps?|iter|iteration|update|batch)["']?\s*(?:[:=#]|\s)\s*["']?\[?(?P<step>INT)(?:\s?/\s?INT)?\b.*?\b(?:train(?:ing)?[_ /]|per_token_|lm[_ ]|step[_ ]|ce[_ ])?loss["']?\s*(?:[:=]|\bis\b|\s)\s*["']?(?P<loss>NUM)(?:[^\w.]|$)]],
              [[(?i)\b(?:train(?:ing)?[_ /]|per_token_|lm[_ ]|step[_ ]|ce[_ ])?loss["']?\s*(?:[:=]|\bis\b|\s)\s*["']?(?P<loss>NUM)[^\w.].*?\b(?:global[_ ]?step|steps?|iter|iteration|update)["']?\s*[:=#]\s*["']?(?P<step>INT)\b]] },
  scan    = [[(?i)loss]],
  unless  = not_training,
  samples = { step = "step", loss = "loss", grad_norm = grad_norm, learning_rate = learning_rate, step_time = step_time, tokens_per_s = tokens_per_s },
  states  = { phase = "train" },
}
