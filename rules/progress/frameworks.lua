-- Progress lines of training frameworks: the first parser that matches a record applies. Words: line, unless, samples,
-- states. NUM stands for a number as frameworks print it (nan, inf, thousands separators), INT for a whole one. Times
-- are in seconds. What learns from images is in images.lua.

local function training(about) about.states = { phase = "train" } return about end

-- adapters/python/tocsin.py and tests/training of this repository, and jobs that print as they do.
parser "tocsin_training" (training {
  line = {
    [[^step (?P<step>INT) \| .*\bstep_time (?P<time>NUM) \| compute NUM]],
    [[\[rank (?P<rank>\d+)\] step (?P<step>INT) \| step_time (?P<time>NUM) \| compute NUM]],
  },
  rank_if_unknown = "rank",      -- behind what the program printed without a line break
  samples = {
    step = "step", step_time = "time", loss = { find = [[\| loss (NUM)]] },
    grad_norm = { find = [[\| grad_norm (NUM)]] },
    learning_rate = { find = [[\| lr (NUM)]] }, compute_time = { find = [[\| compute (NUM)]] },
    data_time = { find = [[\| data (NUM)]] }, comm_time = { find = [[\| comm (NUM)]] },
    loader_busy = { find = [[\| workers (NUM)]] },
  },
})
parser "tocsin_times" (training {
  about = "adapters/python/tocsin.py, where it does not know the number of the step",
  line =
    [[(?:^|\[rank (?P<rank>\d+)\] )step_time (?P<time>NUM) \| ]]
    .. [[compute (?P<compute>NUM) \| data (?P<data>NUM) \| comm (?P<comm>NUM)]],
  rank_if_unknown = "rank",
  samples = {
    step_time = "time", compute_time = "compute", data_time = "data", comm_time = "comm",
    loader_busy = { find = [[\| workers (NUM)]] },
  },
})
parser "tocsin_collectives" {
  line = [[(?:^|\[rank (?P<rank>\d+)\] )collectives launched (?P<launched>INT) done (?P<done>INT)]],
  rank_if_unknown = "rank",
  samples = { collective_launched = "launched", collective_done = "done" },
}
parser "tocsin_phase_train"      { line = [[^phase train\s*$]],      states = { phase = "train" } }
parser "tocsin_phase_eval"       { line = [[^phase eval\s*$]],       states = { phase = "eval" } }
parser "tocsin_phase_checkpoint" { line = [[^phase checkpoint\s*$]], states = { phase = "checkpoint" } }
parser "tocsin_phase_starting"   { line = [[^phase starting\s*$]],   states = { phase = "starting" } }

parser "nemo" (training {
  line    = [[\bTraining epoch INT, iteration INT/INT \| lr: (?P<lr>NUM) .*\bglobal_step: (?P<step>INT)]],
  samples = { step = "step", learning_rate = "lr", loss = { find = [[reduced_train_loss: (NUM)]] },
              step_time = { find = [[train_step_timing in s: (NUM)]] } },
})
parser "megatron" (training {
  about = "Megatron-LM, Megatron-DeepSpeed and GPT-NeoX, of all ages; pasted lines may be wrapped",
  line = [[\biteration\s+(?P<step>INT)/\s*INT \|]],
  ends = [[\|\s*$]], continues = [[\|]], wrapped = true, lines = 5,
  samples = {
    step = "step", loss = { find = [[\| (?:lm |lm_|lm-|mlm |total |reduced_train_)?loss: (NUM)]] },
    grad_norm = { find = [[grad norm: (NUM)]] }, learning_rate = { find = [[learning rate: (NUM)]] },
    step_time = { { find = [[iteration \(ms\): (NUM)]], scale = 0.001 }, { find = [[iteration \(s\): (NUM)]] } },
    tokens_per_s = { find = [[tokens per second: (NUM)]] },
  },
})

parser "nanogpt" (training {
  line    = [[\biter (?P<step>INT): loss (?P<loss>NUM), time (?P<ms>NUM)ms]],
  samples = { step = "step", loss = "loss", step_time = { "ms", scale = 0.001 } },
})
parser "litgpt" (training {
  about   = "an iteration is a micro batch",
  line    = [[\biter (?P<step>INT) (?:\| )?step INT ?[|:] loss train(?: \(curr\))?: (?P<loss>NUM)]],
  samples = { step = "step", loss = "loss", step_time = { find = [[iter time: (NUM) ?ms]], scale = 0.001 } },
})
parser "modded_nanogpt" (training {
  about   = "newer ones print no training loss",
  line    = [[\bstep:(?P<step>INT)/INT (?:train_loss:(?P<loss>NUM) )?train_time:]],
  samples = { step = "step", loss = "loss", step_time = { find = [[step_avg:(NUM)ms]], scale = 0.001 } },
})

parser "huggingface_rewarded" (training {
  about = "GRPO and RLOO of TRL: the loss begins at 0 and follows the distance to the first policy; only "
    .. "non-finite values are read",
  line = [=[\{.*'loss': '?NUM'?, .*'reward(?:_std)?': ]=],
  samples = {
    loss = { find = [['loss': '?(nan|-?inf)]] }, grad_norm = { find = [['grad_norm': '?(NUM)]] },
    learning_rate = { find = [['learning_rate': '?(NUM)]] },
    step = {
      { find = [['(?:global_)?step': '?(INT)]] }, { find = [['global_step/max_steps': '(INT)/]] },
      { find = [[%\|[^|]*\|\s*(INT)/INT \[\d]] },
    },
  },
})
parser "huggingface" (training {
  about = "Trainer, TRL, Axolotl: a Python dict with floats, or with strings since version 5",
  line = [=[\{.*'loss': '?(?P<loss>NUM)'?[,}]]=],
  samples = {
    loss = "loss", grad_norm = { find = [['grad_norm': '?(NUM)]] },
    learning_rate = { find = [['learning_rate': '?(NUM)]] },
    step = {
      { find = [['(?:global_)?step': '?(INT)]] }, { find = [['global_step/max_steps': '(INT)/]] },
      { find = [[%\|[^|]*\|\s*(INT)/INT \[\d]] },
    },
  },
})
parser "llama_factory" (training {
  about = "trainer_log.jsonl; some versions count in it, and write no loss",
  line = [["current_steps": (?P<step>INT), "total_steps": INT,(?: "loss": (?P<loss>NUM))?]],
  unless = [["(?:eval|predict)_\w+":]],
  samples = { step = "step", loss = "loss", learning_rate = { find = [["(?:lr|learning_rate)": (NUM)]] } },
})

parser "deepspeed_pipeline" (training {
  line    = [[\bsteps: (?P<step>INT) loss: (?P<loss>NUM) .*\biter time \(s\): (?P<time>NUM)]],
  samples = { step = "step", loss = "loss", step_time = "time" },
})
parser "deepspeed" (training {
  line    = [[\bstep=(?P<step>INT), skipped=INT, lr=\[(?P<lr>NUM)]],
  samples = { step = "step", learning_rate = "lr" },
})
parser "deepspeed_timer" {
  line    = [[/global_step=(?P<step>INT), RunningAvgSamplesPerSec=]],
  samples = { step = "step" },
}
parser "deepspeed_chat" (training {
  about   = "reinforcement learning prints losses of two models and no loss of its own",
  line    = [[\bepoch: INT\|step: (?P<step>INT)\|ppo_ep: INT\|]],
  samples = { step = "step" },
})

parser "torchtitan" (training {
  line = [[\bstep:\s*(?P<step>INT)\s+loss:\s*(?P<loss>NUM)\s+(?:grad_norm|memory):]],
  samples = {
    step = "step", loss = "loss", grad_norm = { find = [[grad_norm:\s*(NUM)]] },
    tokens_per_s = { find = [[\btps:\s*(NUM)]] },
  },
})

parser "lightning" (training {
  about = "the bar of Lightning and of NeMo on it: it counts within the epoch",
  line = {
    [[\bEpoch (?P<epoch>INT):\s[^|]*\|[^|]*\|\s*(?P<n>INT)/(?P<total>INT) \[]],
    [[\bEpoch (?P<epoch>INT):\s[^|]*\|[^|]*\|\s*(?P<n>INT)/\? \[]],
  },
  unless = [[(?i)^[^|]*\b(?:val|valid|validat\w*|eval\w*|test|testing|dev)\b[^|]*\|]],
  samples = {
    step = { { find = [[\bglobal_step=(NUM)]] }, { "n", epoch = "epoch", per_epoch = "total" } },
    loss = {
      { find = [[reduced_train_loss=(NUM)]] }, { find = [[train_loss_step=(NUM)]] }, { find = [[train_loss=(NUM)]] },
      { find = [[(?i)[ ,](?:train_total_|total_)?loss=(NUM)]] },
      { find = [[[ ,]train/loss(?:_total)?(?:_step)?=(NUM)]] },
      { find = [[[ ,\[](?:CE|ce)=(NUM)]] },
    },
    step_time = { find = [[train_step_timing in s=(NUM)]] }, grad_norm = { find = [[grad_norm=(NUM)]] },
  },
})
parser "lightning_unbounded" {
  about = "the same of data whose length is not known, where the count of batches may never be shown: Epoch 12: : "
    .. "0it [52:42, ?it/s, loss=1.7, v_num=0]",
  line = [=[^\s*Epoch (?P<epoch>INT): : \d+it \[[^\]]*[ ,](?:train_)?loss=(?P<loss>NUM)]=],
  samples = { loss = "loss", epoch = "epoch" }, states = { phase = "train" },
}
parser "lightning_checkpoint" {
  about = "what it says at the end of an epoch of the checkpoint that it keeps: of a job whose bar is not in the "
    .. "log, the only step",
  line = [[^\s*(?:\[rank[: ]\d+\] )?Epoch INT, global step (?P<step>INT): ']], samples = { step = "step" },
  states = { phase = "train" },
}
parser "lightning_validation" {
  line = [[^\s*(?:Validat(?:ing|ion)(?: DataLoader INT| sanity check)?|Sanity Checking(?: DataLoader INT)?):\s[^|]*\|]],
  states = { phase = "eval" },
}

parser "fairseq" (training {
  line    = [[\btrain(?:_inner)? \| epoch INT:\s+INT / INT .*\bloss=(?P<loss>NUM)]],
  samples = { step = { find = [[num_updates=(INT)]] }, loss = "loss", grad_norm = { find = [[gnorm=(NUM)]] },
              learning_rate = { find = [[\blr=(NUM)]] }, tokens_per_s = { find = [[wps=(NUM)]] } },
})
parser "fairseq_json" (training {
  about   = "--log-format json, as metaseq prints by default: all values are texts",
  line    = [[\btrain_inner \| \{.*"loss": "(?P<loss>NUM)"]],
  samples = { step = { find = [["num_updates": "(INT)"]] }, loss = "loss", grad_norm = { find = [["gnorm": "(NUM)"]] },
              learning_rate = { find = [["lr": "(NUM)"]] }, tokens_per_s = { find = [["wps": "(NUM)"]] } },
})

parser "espnet" (training {
  about = "means over a part of an epoch, whose length it does not give",
  line = [[\bINFO: \d+epoch:train:\d+-\d+batch: .*\bloss=(?P<loss>NUM)]],
  samples = {
    loss = "loss", learning_rate = { find = [[\b(?:optim0_)?lr_?0=(NUM)]] },
    step_time = { find = [[\btrain_time=(NUM)]] }, data_time = { find = [[\biter_time=(NUM)]] },
    grad_norm = { find = [[\bgrad_norm=(NUM)]] },
  },
})
parser "dora" (training {
  about = "solvers of AudioCraft and Demucs",
  line = [[\bTrain \| Epoch (?P<epoch>INT) \| (?P<n>INT)/(?P<total>INT) \| (?:.*\| )?(?:Loss|ce) (?P<loss>NUM)]],
  samples = {
    step = { "n", epoch = "epoch", per_epoch = "total" }, loss = "loss", grad_norm = { find = [[\| Grad (NUM)]] },
  },
})
parser "levanter" (training {
  about = "its bar without a terminal: counts above a thousand are rounded",
  line = [[\bProgress on:train\S*\s+NUM(?:k|M)?it/\S+ rate:.*\bpostfix:(?:.*\b)?loss=(?P<loss>NUM)]],
  samples = {
    step = { { find = [[on:train\S*\s+(NUM)it/]] }, { find = [[on:train\S*\s+(NUM)kit/]], scale = 1000 } },
    loss = "loss", step_time = { find = [[rate:(NUM)s/it]] },
  },
})
parser "maxtext" (training {
  line    = [[\bcompleted step: (?P<step>INT), seconds: (?P<time>NUM), .*\bloss: (?P<loss>NUM)]],
  samples = { step = "step", step_time = "time", loss = "loss", tokens_per_s = { find = [[Tokens/s/device: (NUM)]] } },
})

parser "composer" (training {
  about = "one record over several lines",
  line = [[\[batch=(?P<step>INT)/INT\]:\s*$]], continues = [[^\s+\S.*: ]], lines = 200,
  samples = {
    step = "step",
    loss = { { find = [[(?m)loss/train/total: (NUM)\s*$]] }, { find = [[(?m)LanguageCrossEntropy: (NUM)\s*$]] } },
    grad_norm = { find = [[l2_norm/grad/global: (NUM)]] }, learning_rate = { find = [[lr-\w+/group0: (NUM)]] },
    tokens_per_s = { find = [[throughput/tokens_per_sec: (NUM)]] },
  },
})
parser "olmo" (training {
  about = "one record over several lines; numbers have thousands separators",
  line = [[\[step=(?P<step>INT)/INT,epoch=INT]], continues = [[^\s+\S.*=]], lines = 200,
  samples = {
    step = "step", loss = { { find = [[train/CrossEntropyLoss=(NUM)]] }, { find = [[train/CE loss=(NUM)]] } },
    grad_norm = { find = [[total[_ ]grad[_ ]norm=(NUM)]] },
    learning_rate = { find = [[optim/(?:learning_rate_group0|LR[^=]*)=(NUM)]] },
    tokens_per_s = { find = [[throughput/device/(?:tokens_per_second|TPS)=(NUM)]] },
  },
})

parser "llmc" (training {
  line = [[\bstep\s+(?P<step>INT)/INT \| (?:train )?loss (?P<loss>NUM)]],
  samples = {
    step = "step", loss = "loss", grad_norm = { find = [[\| norm (NUM)]] }, learning_rate = { find = [[\| lr (NUM)]] },
    step_time = { find = [[\| (NUM) ms\b]], scale = 0.001 }, tokens_per_s = { find = [[\| (NUM) tok/s]] },
  },
})
parser "llmc_cpu" (training {
  line    = [[^step (?P<step>INT): train loss (?P<loss>NUM) \(took (?P<ms>NUM) ms\)]],
  samples = { step = "step", loss = "loss", step_time = { "ms", scale = 0.001 } },
})
parser "llmc_log" (training {
  line = [[^s:(?P<step>INT) trl:(?P<loss>NUM)]],
  samples = {
    step = "step", loss = "loss", grad_norm = { find = [[norm:(NUM)]] }, learning_rate = { find = [[lr:(NUM)]] },
  },
})

parser "mlperf" (training {
  about   = "MLPerf's log: progress is counted in samples",
  line    = [[:::MLLOG \{.*"key": "(?:train_loss|loss)", "value": (?P<loss>NUM)]],
  samples = { step = { { find = [["step(?:_num)?": (INT)]] }, { find = [["samples_count": (INT)]] } }, loss = "loss",
              learning_rate = { find = [["lr": (NUM)]] } },
})
parser "mlperf_starting" { line = [[:::MLLOG \{.*"key": "init_start"]], states = { phase = "starting" } }
parser "mlperf_eval"     { line = [[:::MLLOG \{.*"key": "eval_start"]], states = { phase = "eval" } }
parser "mlperf_train" {
  line = [[:::MLLOG \{.*"key": "(?:run_start|block_start|eval_stop)"]], states = { phase = "train" },
}

parser "mlperf_count" {
  about = "statistics and evaluations tell how far the training is, too",
  line = [[:::MLL(?:OG)? .*"key": "(?:tracked_stats|throughput|eval_accuracy|train_\w+|block_stop)]]
    .. [[".*"(?:samples_count|step_num|step)": (?P<step>INT)]],
  samples = { step = "step" },
}

parser "keras" (training {
  about = "versions 2 and 3; the bar counts within an epoch that another line names, so there is no step",
  line = {
    [[^\s*INT/INT (?:\[[=>.]*\]|\S*━|- (?:ETA|NUM)).*(?:- |\s)loss: (?P<loss>NUM)]],
    [[^\s*- \d+m?s(?: \S+)? - (?:\w+: NUM - ){0,6}loss: (?P<plain>NUM)]],
  },
  samples = {
    loss = { { "loss" }, { "plain" } }, learning_rate = { find = [[ learning_rate: (NUM)]] },
    step_time = { { find = [[ (NUM)ms/step]], scale = 0.001 }, { find = [[ (NUM)s/step]] } },
  },
})

parser "paddle" (training {
  line = {
    [[\bepoch: \[INT/INT\], (?:global_step|iter): (?P<step>INT), .*\bloss: (?P<loss>NUM)]],
    [[\[TRAIN\] epoch: INT, iter: (?P<step>INT)/INT, loss: (?P<loss>NUM)]],
  },
  samples = {
    step = "step", loss = "loss", learning_rate = { find = [[\blr: (NUM)]] },
    step_time = { find = [[batch_cost: (NUM)(?: s|,)]] }, data_time = { find = [[reader_cost: (NUM)(?: s|,)]] },
  },
})
parser "torchtune" (training {
  line = [[^\s*INT\|(?P<step>INT)\|Loss: (?P<loss>NUM)]],
  samples = {
    step = "step", loss = "loss", grad_norm = { find = [[\bgrad_norm=(NUM)]] },
    learning_rate = { find = [[\bcurrent_lr=(NUM)]] },
  },
})
parser "opennmt" (training {
  line    = [[\bStep (?P<step>INT)/\s*INT; acc: .*\bxent: (?P<loss>NUM)]],
  samples = { step = "step", loss = "loss", learning_rate = { find = [[\blr: (NUM)]] } },
})
parser "marian" (training {
  line = [[\bEp\. INT : Up\. (?P<step>INT) : Sen\. .* : Cost (?P<loss>NUM)]],
  samples = {
    step = "step", loss = "loss", grad_norm = { find = [[\bgNorm (NUM)]] },
    learning_rate = { find = [[\bL\.r\. (NUM)]] },
  },
})
parser "clu_metrics" (training {
  about = "the metric writers of JAX's Common Loop Utils: [120] accuracy=0.4, loss=8.1",
  line = [[^\[(?P<step>INT)\] (?:[\w/@.-]+=NUM, )*(?:train[_/])?loss=(?P<loss>NUM)(?:,|\s*$)]],
  unless = [[(?i)\b(?:val|valid|eval|test|dev)[\w@.-]*[_/]\w+=]],
  samples = {
    step = "step", loss = "loss", learning_rate = { find = [[\blearning_rate=(NUM)]] },
    grad_norm = { find = [[\b(?:l2_grads|grad_norm)=(NUM)]] },
  },
})
parser "coqui" (training {
  about = "one record over several lines; value (average)",
  line = [[--> (?:(?:TIME: .* )?-- )?STEP: INT/INT -- GLOBAL_STEP: (?P<step>INT)]], continues = [[^\s*\| > \S+: ]],
  lines = 60,
  samples = {
    step = "step", loss = { find = [[\| > loss: (NUM)]] }, grad_norm = { find = [[\| > grad_norm: (NUM)]] },
    learning_rate = { find = [[\| > current_lr: (NUM)]] },
    step_time = { find = [[\| > step_time: (NUM)]] }, data_time = { find = [[\| > loader_time: (NUM)]] },
  },
})
parser "dllogger" (training {
  about = "NVIDIA's examples",
  line = [[^DLL .* - (?:Training )?Epoch: INT (?:Training )?Iteration: (?P<step>INT)\s.*\b]] .. either {
    "step_loss", [[train[._]loss]], "loss",
  } .. [[\s?: (?P<loss>NUM)]],
  samples = { step = "step", loss = "loss", learning_rate = { find = [[\blearning_rate\s?: (NUM)]] } },
})
parser "tensorflow_estimator" (training {
  line    = [[^loss = (?P<loss>NUM), step = (?P<step>INT)\b]],
  samples = { step = "step", loss = "loss" },
})
parser "mindspore" (training {
  about = "its step counts within the epoch, whose length it does not give",
  line = [[^epoch: (?P<epoch>INT),? step: (?P<n>INT), loss is (?P<loss>NUM)]],
  samples = { step = { "n", epoch = "epoch", first_epoch = 1 }, loss = "loss" },
})
parser "tacotron" (training {
  line    = [[^Train loss (?P<step>INT) (?P<loss>NUM) Grad Norm (?P<norm>NUM) (?P<time>NUM)s/it]],
  samples = { step = "step", loss = "loss", grad_norm = "norm", step_time = "time" },
})
parser "bigdl" (training {
  line    = [[\[Iteration (?P<step>INT)\]\[Wall Clock .*\bLoss is (?P<loss>NUM)]],
  samples = { step = "step", loss = "loss", learning_rate = { find = [[learning rate is (NUM)]] },
              step_time = { find = [[ in (NUM)\s?seconds]] } },
})
parser "deeplearning4j" (training {
  line    = [[\bScore at iteration (?P<step>INT) is (?P<loss>NUM)]], samples = { step = "step", loss = "loss" },
})
parser "lerobot" (training {
  about = "counts above a thousand are rounded, and end in K or M",
  line = [[\bstep:NUM[KM]? smpl:\S+ ep:\S+ epch:\S+ loss:(?P<loss>NUM) grdn:(?P<norm>NUM) lr:(?P<lr>NUM)]],
  samples = {
    step = {
      { find = [[\bstep:(NUM) ]] }, { find = [[\bstep:(NUM)K ]], scale = 1000 },
      { find = [[\bstep:(NUM)M ]], scale = 1000000 },
    },
    loss = "loss", grad_norm = "norm",
    learning_rate = "lr", step_time = { find = [[\bupdt_s:(NUM)]] }, data_time = { find = [[\bdata_s:(NUM)]] },
  },
})
parser "build_nanogpt" (training {
  about   = "a file of steps, without a word: 120 train 3.41; the validations between are not losses of the training",
  line    = [[^(?P<step>INT) train (?P<loss>NUM)\s*$]], samples = { step = "step", loss = "loss" },
})
parser "colbert" (training {
  about = "late interaction: the time, the step, and a running mean of the loss: [May 04, 09:12:33] 120 3.62",
  line = [[^\[\w{3} \d{2}, \d\d:\d\d:\d\d\]\s+(?P<step>INT)\s+(?P<loss>\d+\.\d+)\s*$]],
  samples = { step = "step", loss = "loss" },
})
parser "theano_tutorials" {
  about = "a line at the end of each epoch; the errors are those of a validation",
  line = [[^\s*epoch (?P<epoch>INT), minibatch (?P<n>INT)/(?P<total>INT), validation error ]],
  samples = { step = { "n", epoch = "epoch", per_epoch = "total" } },
}
parser "fastai" (training {
  about = "a table without lines: epoch, losses, metrics and the time of the epoch, all with six digits; the header "
    .. "stands above",
  line = [[^INT\s+(?P<loss>\d+\.\d{6})\s+(?:\d+\.\d{6}\s+){1,9}\d{1,2}(?::\d\d){1,2}\s*$]], samples = { loss = "loss" },
})
