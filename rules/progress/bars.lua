-- Bars of no framework that frameworks.lua and images.lua know, of which the first here reads a bar; lines.lua has what
-- is no bar.

-- An unlabelled count within a bar: 12/400 [00:
local n_of_total = [[INT%\|[^|]*\|\s*(?P<n>INT)/(?P<total>INT) \[]]
-- A rate of few digits is 0 for what can be seen, and no rate: lr=0.0000.
local shown_rate = [[\blr=((?:\d*\.?\d*[1-9]\d*(?:\.\d+)?(?:[eE][+-]?\d+)?)|0(?:\.0)?)(?:[^\w.]|$)]]

parser "epoch_bar" {
  generic = "bars",
  about = "it counts within the epoch that it names: Train epoch [1/3], Epoch #4, Training Epoch 2 of 5, Epoch 1/3 "
    .. "train, Epoch 2 [fast]",
  line =
    [[(?i)^[\s\[]*(?:train(?:ing)?\b[\s:|]*)?(?:step of )?epoch[ :#\[]*(?P<epoch>INT)(?:\s?(?:/|of)\s?INT)?[\]\s:-]*]]
    .. either { [[\[?train(?:ing)?[\]\s:]*]], [[[\[(]\w{1,16}[\])][\s:]*]] }
    .. [[?INT%(?:\|[^|]*\|)?\s*(?P<n>INT)/(?P<total>INT) \[\d]],
  unless = [[(?i)^[^|]*\b(?:val|valid\w*|eval\w*|test\w*|dev|infer\w*|predict\w*)\b[^|]*\|]],
  samples = {
    step = { "n", epoch = "epoch", per_epoch = "total" },
    loss = {
      { find = [=[(?i)[ ,\[(](?:train_|step_|gpt_|batch_|curr?(?:ent)?_?)?loss(?: \(batch\))?=(NUM)]=] },
      { find = [=[[ ,\[](?:CE|ce)=(NUM)]=] },
    },
    learning_rate = { find = shown_rate },
  },
  states = { phase = "train" },
}

-- An unlabelled bar: Hugging Face's Trainer prints its loss without a step, and the step in this bar.
parser "bar" { generic = "bars",
  line    = [[^\s*INT%\|[^|]*\|\s*(?P<step>INT)/(?P<total>INT) \[\d]],
  same    = "total",
  samples = { step = "step", loss = { find = [=[(?i)[ ,\[](?:train_|step_|avr_)?loss[=:] ?(NUM)]=] } },
  states  = { phase = "train" },
}
parser "inner_bar" { generic = "bars",
  about   = "one that counts to less, drawn while the training's own is open: an evaluation of Hugging Face's Trainer",
  line    = [[^\s*INT%\|[^|]*\|\s*INT/INT \[\d]], states = { phase = "eval" },
}
parser "bar_of_an_epoch" {
  generic = "bars",
  about = "the epoch stands behind the bar: Train:  54%|#  | 38/71 [.., Epoch=Epoch 3/1024, loss=0.641]",
  line = [=[^\s*[Tt]rain(?:ing)?[^|:%]*:\s+]=] .. n_of_total
    .. [=[[^\]]*[ ,][Ee]poch[=:] ?(?:Epoch )?(?P<epoch>INT)\b]=],
  samples = {
    step = { "n", epoch = "epoch", per_epoch = "total" },
    loss = { find = [=[(?i)[ ,\[](?:train_|step_|avr_)?loss[=:] ?(NUM)]=] }, learning_rate = { find = shown_rate },
  },
  states = { phase = "train" },
}
parser "named_bar" {
  generic = "bars",
  line =
    [[^\s*(?:[Ss]teps|[Tt]rain|[Tt]raining|[Ii]terations)[^|:%]*:\s+INT%\|[^|]*\|\s*(?P<step>INT)/(?P<total>INT) \[\d]],
  same = "total",
  samples = {
    step = "step", loss = { find = [=[(?i)[ ,\[](?:train_|step_|avr_)?loss[=:] ?(NUM)]=] },
    learning_rate = { find = shown_rate },
  },
  states = { phase = "train" },
}

parser "bar_with_loss" {
  generic = "bars",
  about = "a bar of any name that shows a loss: SFT: 12/375 [.., loss 6.05]; not those of evaluations",
  line = [=[^\s*[^|%]{1,60}:\s+INT%\|[^|]*\|\s*(?P<step>INT)/(?P<total>INT) \[[^\]]*[ ,]loss[ =:] ?(?P<loss>NUM)]=],
  unless = [[(?i)^\W*\S*(?:eval|valid|test|predict|infer|generat|sampl|\bval\b)|epoch|^\s*[^|%]*\d+/\d+[^|%]*INT%]],
  same = "total",
  samples = { step = "step", loss = "loss", learning_rate = { find = shown_rate } },
  states = { phase = "train" },
}
parser "described_bar" {
  generic = "bars",
  about = "a bar that shows its values before it: d: -0.41;gen: 0.12:  50%|#  | 1200/20000 [..",
  line = [=[^\s*(?:[\w ]{1,16}[=:] ?-?NUM[ ,;|/]*){1,8}:\s+INT%\|[^|]*\|\s*(?P<step>INT)/(?P<total>INT) \[\d]=],
  unless = [[(?i)\b(?:eval|valid|test|predict|infer|generat|sampl|val|dev|epoch)]], same = "total",
  samples = { step = "step", loss = { find = [[(?i)^[^|]*\b(?:train_)?loss[=:] ?(NUM)]] } },
  states = { phase = "train" },
}
parser "bar_of_epochs" {
  generic = "bars",
  about = "the epoch stands before the bar, without the word: [fold 0] 012/200:  25%| 1/4 [.., loss=0.5]",
  line = [=[^[^|%]{0,40}?\b(?P<epoch>INT)/INT\]?:\s+]=] .. n_of_total .. [=[[^\]]*[ ,]loss[ =:] ?(?P<loss>NUM)]=],
  unless = [[(?i)eval|valid|test|\bval\b]],
  samples = { step = { "n", epoch = "epoch", per_epoch = "total" }, loss = "loss" },
  states = { phase = "train" },
}

parser "bar_of_all_epochs" {
  generic = "bars",
  about = "it counts epochs, and shows the loss of the last batch: epochs:  10%|#  | 8/80 [.., loss=0.512, "
    .. "lr=0.003]; another bar counts the batches",
  line = [=[^\s*(?:[Tt]rain(?:ing)? )?[Ee]pochs?:\s+INT%\|[^|]*\|\s*INT/INT \[[^\]]*]=]
    .. [=[[ ,](?:train_)?loss[=:] ?(?P<loss>NUM)]=],
  samples = { loss = "loss", learning_rate = { find = shown_rate } }, states = { phase = "train" },
}

parser "evaluation_bar" { generic = "bars",
  about  = "of an evaluation within the training: no step is made, and none is missed",
  line   = [[^\s*(?:[Ee]val|[Vv]alid|[Tt]est|[Pp]redict|[Ii]nferenc|[Gg]enerat|[Ss]ampl)\w*\b[^|:%]{0,40}:?\s+INT%\|]],
  unless = [[(?:train|test|validation) split]], states = { phase = "eval" },
}
