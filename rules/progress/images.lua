-- Progress lines of frameworks and programs that learn from images. What the words mean, frameworks.lua says; its
-- parsers come before these.

local function training(about) about.states = { phase = "train" } return about end

parser "stylegan" (training {
  about   = "a tick is some thousand images",
  line    = [[^tick (?P<step>INT)\s+kimg NUM\s+time .*\bsec/tick (?P<time>NUM)]],
  samples = { step = "step", step_time = "time" },
})
parser "mmengine" (training {
  line = [[\bEpoch\(train\)\s+\[(?P<epoch>INT)\]\[\s*(?P<n>INT)/(?P<total>INT)\].*\bloss: (?P<loss>NUM)]],
  samples = {
    step = { "n", epoch = "epoch", per_epoch = "total", first_epoch = 1 }, loss = "loss",
    grad_norm = { find = [[grad_norm: (NUM)]] },
    learning_rate = { find = [[\blr: (NUM)]] }, step_time = { find = [[\btime: (NUM)]] },
    data_time = { find = [[data_time: (NUM)]] },
  },
})
parser "mmengine_iterations" (training {
  line = [[\bIter\(train\)\s+\[\s*(?P<n>INT)/INT\].*\bloss: (?P<loss>NUM)]],
  samples = {
    step = "n", loss = "loss", grad_norm = { find = [[grad_norm: (NUM)]] }, learning_rate = { find = [[\blr: (NUM)]] },
    step_time = { find = [[\btime: (NUM)]] }, data_time = { find = [[data_time: (NUM)]] },
  },
})
parser "mmcv" (training {
  about = "the OpenMMLab tool boxes before MMEngine",
  line = [[\bEpoch \[(?P<epoch>INT)\]\[(?P<n>INT)/(?P<total>INT)\]\s.*\bloss: (?P<loss>NUM)]],
  samples = {
    step = { "n", epoch = "epoch", per_epoch = "total", first_epoch = 1 }, loss = "loss",
    grad_norm = { find = [[grad_norm: (NUM)]] },
    learning_rate = { find = [[\blr: (NUM)]] }, step_time = { find = [[\btime: (NUM)]] },
    data_time = { find = [[data_time: (NUM)]] },
  },
})
parser "mmcv_iterations" (training {
  line = [[\bIter \[(?P<n>INT)/INT\]\s.*\bloss: (?P<loss>NUM)]],
  samples = {
    step = "n", loss = "loss", grad_norm = { find = [[grad_norm: (NUM)]] }, learning_rate = { find = [[\blr: (NUM)]] },
    step_time = { find = [[\btime: (NUM)]] }, data_time = { find = [[data_time: (NUM)]] },
  },
})
parser "detectron2" (training {
  line = [[\biter: (?P<step>INT)\s+total_loss: (?P<loss>NUM)]],
  samples = {
    step = "step", loss = "loss", learning_rate = { find = [[\blr: (NUM)]] }, step_time = { find = [[\btime: (NUM)]] },
    data_time = { find = [[data_time: (NUM)]] },
  },
})
parser "timm" (training {
  line = [[\bTrain: +(?P<epoch>INT)(?:/INT \(\s*INT%\))? \[\s*(?P<n>INT)/(?P<total>INT) \(.*\bLoss: +(?P<loss>NUM)]],
  samples = {
    step = { "n", epoch = "epoch", per_epoch = "total" }, loss = "loss", learning_rate = { find = [[\bLR: (NUM)]] },
    step_time = { find = [[\bTime: +(NUM)s]] }, data_time = { find = [[\bData: +(NUM)]] },
  },
})
parser "swin" (training {
  line = [[\bTrain: \[(?P<epoch>INT)/INT\]\[(?P<n>INT)/(?P<total>INT)\]\s.*\bloss (?P<loss>NUM)]],
  samples = {
    step = { "n", epoch = "epoch", per_epoch = "total" }, loss = "loss", grad_norm = { find = [[\bgrad_norm (NUM)]] },
    learning_rate = { find = [[\blr (NUM)]] },
    step_time = { find = [[\btime (NUM)]] },
  },
})
parser "metric_logger" (training {
  about = "the meters of torchvision's references, as DETR, MAE and DINO print them: value (average); some leave out "
    .. "the loss",
  line = [[\bEpoch: \[(?P<epoch>INT)(?:/INT)?\]\s+\[\s*(?P<n>INT)/(?P<total>INT)\]\s+eta: ]],
  unless = [[(?i)\b(?:test|val|valid\w*|eval\w*)\b.{0,12}\bepoch: ]],
  samples = {
    step = { "n", epoch = "epoch", per_epoch = "total" },
    loss = { { find = [[\b(?:total_|train_)?loss: (NUM)]] }, { find = [[\b[a-z]{4,16}_loss: (NUM) \(]] } },
    learning_rate = { find = [[\blr: (NUM)]] }, step_time = { find = [[\btime: (NUM)]] },
    data_time = { find = [[\bdata: (NUM)]] },
  },
})
parser "ultralytics" (training {
  about = "YOLO: the bar of an epoch, and the parts of the loss before it; a narrow terminal cuts the bar off",
  line = {
    [[^\s*(?P<epoch>INT)/INT\s+\d\S*\s+(?P<loss>NUM)\s.*%\|[^|]*\|\s*(?P<n>INT)/(?P<total>INT) ]],
    [[^\s*INT/INT\s+\d\S*G\s+(?P<cut>NUM)\s+(?:NUM\s+){1,6}\d+:\s*\d{0,3}%?\s*$]],
  },
  samples = { step = { "n", epoch = "epoch", per_epoch = "total" }, loss = { { "loss" }, { "cut" } } },
})
parser "ultralytics_thin" (training {
  about   = "its bar since 2025 has no ends",
  line    = [[^\s*(?P<epoch>INT)/INT\s+\d\S*\s+(?P<loss>NUM)\s.*% \S+ (?P<n>INT)/(?P<total>INT) ]],
  samples = { step = { "n", epoch = "epoch", per_epoch = "total" }, loss = "loss" },
})
parser "darknet" (training {
  about   = "its step stands first, and reads as the task of an srun",
  line    = [[^(?P<loss>NUM), NUM avg(?: loss)?, NUM rate, (?P<time>NUM) seconds]],
  samples = { loss = "loss", step_time = "time" },
})
parser "pytorch_examples" (training {
  about = "the meters of PyTorch's ImageNet example: value (average)",
  line = [[^\s*Epoch: ?\[(?P<epoch>INT)\]\s?\[\s*(?P<n>INT)/\s*(?P<total>INT)\]\s.*\bLoss:?\s+(?P<loss>NUM)]],
  samples = {
    step = { "n", epoch = "epoch", per_epoch = "total" }, loss = "loss", step_time = { find = [[\bTime:?\s+(NUM)]] },
    data_time = { find = [[\bData:?\s+(NUM)]] },
  },
})
parser "pytorch_basic" (training {
  about   = "PyTorch's first example, and OpenCLIP, which counts samples behind the columns of its logger",
  line    = [[(?:^|\| )Train Epoch: (?P<epoch>INT) \[\s*(?P<n>INT)/(?P<total>INT) .*\bLoss: (?P<loss>NUM)]],
  samples = { step = { "n", epoch = "epoch", per_epoch = "total", first_epoch = 1 }, loss = "loss" },
})
parser "basicsr" (training {
  about   = "super-resolution: many losses, and none of the whole",
  line    = [[[\[<]epoch:\s*INT, iter:\s*(?P<step>INT), lr:\(?(?P<lr>NUM)]],
  samples = { step = "step", learning_rate = "lr", step_time = { find = [[time \(data\): (NUM)]] } },
})
parser "gluefactory" (training {
  about = "learned matching: a dictionary of losses without quotes",
  line = [[\[E (?P<epoch>INT) \| it (?P<n>INT)\] loss \{total (?P<loss>NUM)]],
  samples = { step = { "n", epoch = "epoch" }, loss = "loss" },
})
