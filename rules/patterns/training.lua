-- Lines of the training other than its progress.

pattern "skipped_step" {
  about  = "the loss scale is being found (or the gradients overflow): no step was made",
  line   = [[OVERFLOW! (?:Rank (?P<rank>\d+) )?Skipping step]], event = "overflow_skip", rank_if_unknown = "rank",
  fields = { scale = { find = [[Attempted loss scale: (NUM)]] } },
}
pattern "fairseq_overflow"   { line = [[gradient overflow detected]], event = "overflow_skip" }
pattern "apex_overflow" {
  line = [[Gradient overflow\.\s+Skipping step]], event = "overflow_skip",
  fields = { scale = { find = [[loss scale to (NUM)]] } },
}
pattern "megatron_skipped" {
  line = [[number of skipped iterations:\s*(?P<count>[1-9]\d*)]], event = "overflow_skip", fields = { count = "count" },
}
pattern "megatron_nan" {
  line = [[number of nan iterations:\s*(?P<count>[1-9]\d*)]], event = "nan_iterations", fields = { count = "count" },
}
pattern "loss_scale_minimum" {
  line = [[Minimum loss scale reached \(|Current loss scale already at minimum]], event = "loss_scale_exhausted",
}

pattern "tocsin_saved" {
  line = [[^saved checkpoint at step (?P<step>INT) to (?P<path>\S+) in (?P<time>NUM) s]], event = "checkpoint_saved",
  fields = { step = "step" }, texts = { path = "path" }, samples = { checkpoint_time = "time" },
  states = { phase = "train" },
}
pattern "megatron_saving" {
  line = [[\bsaving checkpoint at iteration\s+INT to ]], event = "checkpoint_begun", states = { phase = "checkpoint" },
}
pattern "megatron_saved" {
  line = [[successfully saved checkpoint (?:at|from) iteration\s+(?P<step>INT) to (?P<path>\S+)]],
  event = "checkpoint_saved",
  fields = { step = "step" }, texts = { path = "path" }, states = { phase = "train" },
}
pattern "megatron_save_time" {
  line = [[\| save-checkpoint: (?P<ms>NUM)]], samples = { checkpoint_time = { "ms", scale = 0.001 } },
}
pattern "nanogpt_saving" {
  line = [[^saving checkpoint to (?P<path>\S+)\s*$]], event = "checkpoint_saved", texts = { path = "path" },
  states = { phase = "checkpoint" },
}
pattern "llmc_saving" {
  line = [[^Writing (?:checkpoint|model) (?:at step|to) ?(?P<step>INT)?]], event = "checkpoint_saved",
  fields = { step = "step" },
}
pattern "huggingface_saving" {
  line   = [[\bSaving model checkpoint to (?P<path>\S+)]], event = "checkpoint_saved",
  fields = { step = { find = [[checkpoint-(\d+)]] } }, texts = { path = "path" }, states = { phase = "checkpoint" },
}
pattern "deepspeed_saved" {
  line = [[\[Torch\] Saved (?P<path>\S+?)\.?(?:\s|$)|Saving model checkpoint: (?P<path2>\S+)]],
  event = "checkpoint_saved",
  fields = { step = { find = [[global_step(\d+)]] } }, texts = { path = { { "path" }, { "path2" } } },
}
pattern "lightning_saved" {
  line   = [[\bEpoch INT, global step (?P<step>INT): .* saving model to '(?P<path>[^']*)']], event = "checkpoint_saved",
  fields = { step = "step" }, texts = { path = "path" },
}
pattern "fairseq_saved" {
  line =
    [[\bSaved checkpoint (?P<path>\S+) \(epoch INT @ (?P<step>INT) updates.*\(writing took (?P<time>NUM) seconds\)]],
  event = "checkpoint_saved", fields = { step = "step" }, texts = { path = "path" },
  samples = { checkpoint_time = "time" },
}
pattern "olmo_saved" {
  line = [[\bCheckpoint saved to (?P<path>\S+)]], event = "checkpoint_saved",
  fields = { step = { find = [[step(\d+)]] } }, texts = { path = "path" },
}
pattern "maxtext_saved"{
  line = [[Started an asynchronous checkpoint save for step (?P<step>INT)]], event = "checkpoint_saved",
  fields = { step = "step" },
}
pattern "nemo_saved" {
  line = [[Async checkpoint save for step (?P<step>INT) finalized]], event = "checkpoint_saved",
  fields = { step = "step" },
}
pattern "torchtitan_saving" {
  line = [[Saving the checkpoint|Saving a (?:full )?checkpoint]], event = "checkpoint_begun",
  states = { phase = "checkpoint" },
}
pattern "torchtitan_saved" {
  line   = [[Finished saving the checkpoint.*\bin (?P<time>NUM) seconds]], event = "checkpoint_saved",
  fields = { step = { find = [[step (INT)]] } }, samples = { checkpoint_time = "time" }, states = { phase = "train" },
}
pattern "keras_saved" {
  line = [[\bEpoch INT: \S+ (?:improved|reached) .*saving model to (?P<path>\S+)]], event = "checkpoint_saved",
  texts = { path = "path" },
}
pattern "named_save" {
  about = "frameworks of no known name: it says that it has saved, and a step",
  line = [[(?i)^\W*]] .. either { "checkpoint saved", [[saved (?:model )?checkpoint]], "saved model" }
    .. [[\b.*\b(?:step|iter|iteration|update)[ =:_-]{0,2}(?P<step>INT)]],
  unless = [[^saved checkpoint at step INT to \S+ in |\(epoch INT @|successfully saved|[Cc]heckpoint saved to ]],
  event = "checkpoint_saved", fields = { step = "step" },
}

pattern "named_saving" {
  about = "it says that it begins to save; the next line of progress ends that",
  line = [=[(?i)^\W*(?:(?:info|debug)\W+)?(?:\[[^\]]*\]\W*)?(?:\S+:)?\s?(?:now )?(?:saving|writing) ]=] .. either {
    "the ", "a ", "final ", "full ", "latest ", "best ", "current ",
  } .. [[*(?:model|checkpoint|ckpt|training state|state|weights|optimizer|snapshot)\b]],
  unless = [[(?i)]] .. either {
    [[\bevery\b]], [[\bdirectory\b]], [[\bpolicy\b]], [[\bstrategy\b]], [[\bfinished\b]], [[\bdone\b]],
    "saving model checkpoint", "saving checkpoint at iteration", [[^saving checkpoint to]],
    [[^writing (?:checkpoint|model) ]], [[saving (?:the|a) checkpoint]],
  },
  states = { phase = "checkpoint" },
}

-- A resume: what was asked for, and what was found.
pattern "tocsin_loaded" {
  line = [[(?i)]] .. either {
    [[^(?:loaded|resumed from|resuming from) checkpoint (?:at|of|from) step (?P<step>INT)\b]],
    [[^(?:loaded checkpoint|resumed|resuming) (?:from )?\S+ at step (?P<step2>INT)\b]],
  },
  event = "checkpoint_loaded", fields = { step = { { "step" }, { "step2" } } },
}
pattern "megatron_loaded" {
  line = [[successfully loaded checkpoint from (?P<path>\S+).* at iteration\s+(?P<step>INT)]],
  event = "checkpoint_loaded",
  fields = { step = "step" }, texts = { path = "path" },
}
pattern "megatron_loading" {
  line = [[\bloading (?:release |distributed )?checkpoint from (?P<path>\S+)]], event = "checkpoint_loading",
  texts = { path = "path" }, states = { resume_asked = "yes" },
}
pattern "megatron_no_load" {
  line = [[will not load any checkpoints and will start from random|could not find the metadata file]],
  event = "checkpoint_missing",
}
pattern "huggingface_loaded" {
  line = [[Continuing training from global step (?P<step>INT)]], event = "checkpoint_loaded",
  fields = { step = "step" }, states = { resume_asked = "yes" },
}
pattern "huggingface_resume" {
  line = [[Continuing training from checkpoint, will skip to saved global_step|Loading model from \S*checkpoint-\d+]],
  event = "checkpoint_loading", states = { resume_asked = "yes" },
}
pattern "lightning_loaded" {
  line = [[Restored all states from the checkpoint at (?P<path>\S+)]], event = "checkpoint_loaded",
  fields = { step = { find = [[step=(\d+)]] } }, texts = { path = "path" }, states = { resume_asked = "yes" },
}
pattern "lightning_loading" {
  line = [[Restoring states from the checkpoint (?:path )?at]], event = "checkpoint_loading",
  states = { resume_asked = "yes" },
}
pattern "nanogpt_loaded" {
  line = [[^Resuming training from (?P<path>\S+)]], event = "checkpoint_loaded", texts = { path = "path" },
  states = { resume_asked = "yes" },
}
pattern "nanogpt_fresh"      { line = [[^Initializing a new model from scratch]], event = "started_from_scratch" }
pattern "named_fresh" {
  line = [[(?i)\b(?:start|begin|train|initiali[sz])(?:ing|ning|ed|s)?\b[^.:]{0,40}\bfrom (?:scratch|random)\b]],
  unless = [[^Initializing a new model from scratch|will not load any checkpoints]], event = "started_from_scratch",
}
pattern "named_weights" {
  about = "by the number in the file's name they are of a training that wrote them in passing: Loading model weights "
    .. "from runs/a/weights_7.pth",
  line = [[(?i)\bload(?:ing|ed)?\b.{0,24}\b]] .. either { [[param(?:eter)?s]], "weights", "model", "state" }
    .. [[\b.{0,12}\bfrom:? \S*[a-z][_-]?\d+\.(?:pt|pth|pkl|ckpt|npz|params|hdf5|h5)\b]],
  event = "weights_loaded",
}
pattern "incompatible_keys" {
  line = either {
    [[_IncompatibleKeys\(missing_keys=]], [[^There were missing keys in the checkpoint model loaded: ]],
  } .. [[\['(?P<weight>[^']+)']],
  event = "checkpoint_mismatch", texts = { weight = "weight" },
}
pattern "layers_not_loaded" {
  about = "Hugging Face: layers of the model, which have numbers, and not only a new head, are not in the checkpoint",
  unless = [[masked_bias|position_ids]],
  line =
    [[were not initialized from the model checkpoint at .* newly initialized: \[.*?'(?P<weight>[^',]*\.\d+\.[^',]+)']],
  event = "checkpoint_mismatch", texts = { weight = "weight" },
}
pattern "fairseq_loaded" {
  line = [[\bLoaded checkpoint (?P<path>\S+) \(epoch INT @ (?P<step>INT) updates]], event = "checkpoint_loaded",
  fields = { step = "step" }, texts = { path = "path" },
}
pattern "fairseq_missing"    { line = [[No existing checkpoint found]], event = "checkpoint_missing" }
pattern "deepspeed_loaded" {
  line = [[\[Torch\] Loaded checkpoint from (?P<path>\S+?)\.*(?:\s|$)]], event = "checkpoint_loaded",
  fields = { step = { find = [[global_step(\d+)]] } }, texts = { path = "path" },
}
pattern "deepspeed_missing"  { line = [[Unable to find latest file at]], event = "checkpoint_missing" }
pattern "maxtext_loaded" {
  line = [[restoring from this run's directory step (?P<step>INT)]], event = "checkpoint_loaded",
  fields = { step = "step" },
}
pattern "torchtitan_loaded" {
  line = [[Loading the checkpoint (?:at step|from) (?P<step>INT)?]], event = "checkpoint_loading",
  states = { resume_asked = "yes" },
}
pattern "torchtitan_loaded_in" {
  line = [[Finished loading the checkpoint in (?P<time>NUM) seconds]], event = "checkpoint_loaded",
}
pattern "olmo_loading" {
  line = [[\bLoading checkpoint from (?P<path>\S+?)\.*(?:\s|$)]], unless = [=[\[Torch\]]=],
  event = "checkpoint_loading", texts = { path = "path" }, states = { resume_asked = "yes" },
}
pattern "olmo_loaded" {
  line = [[^Checkpoint (?:successfully )?loaded|Trainer state loaded]], event = "checkpoint_loaded",
}
pattern "checkpoint_corrupt" {
  about =
    "damaged, or of another model or layout: PyTorch, safetensors, pickle, HDF5, TensorFlow, DeepSpeed, Hugging Face",
  line = {
    "PytorchStreamReader failed", "failed finding central directory", "invalid header or archive is corrupted",
    [[unexpected EOF, expected \d+ more bytes]], "The file might be corrupted", [[storage has wrong (?:byte )?size]],
    "Invalid magic number; corrupt file",
    [[Error\(s\) in loading state_dict for]], [[(?:Missing|Unexpected) key\(s\) in state_dict]],
    "Missing key in checkpoint state_dict",
    [[loaded state dict (?:contains a parameter group|has a different number)]],
    [[Error while deserializing header: ]], [[UnpicklingError: |: invalid load key, |EOFError: Ran out of input]],
    [[Unable to (?:synchronously )?open file \((?:truncated file|file signature not found|bad object header)]],
    [[DataLossError|Data loss: not an sstable]],
    [[restore item and on-disk value metadata tree structures do not match]],
    [[Requested shape: .* is not compatible with the stored shape]],
    [[Assignment requires shapes of both tensors to match]], [[Key \S+ not found in checkpoint]],
    [[Restoring from checkpoint failed]],
    [[CheckpointingException: (?:Global )?[Ss]hape mismatch]],
    [[CheckpointingException: .*(?:[Uu]nexpected|[Mm]issing) key]],
    [[Unable to load weights from \w+ checkpoint file]], [[checkpoint being loaded used a DP world size of]],
    [[\bExpected \d+ entries in state dict, but got \d+]],
    [[No valid checkpoint found in output directory|Can't find a valid checkpoint at]],
    [[FileNotFoundError: .*]] .. either {
      [[\bcheckpoint-\d+/]], [[\bglobal_step\d+/]], [[\biter_\d+/]], [[\bmp_rank_\d]], [[_(?:model|optim)_states\.pt]],
      [[\btrainer_state\.json]], [[\.distcp\b]],
    },
    [[CheckpointException ranks:]], [[KeyError: '\w*(?:state_dict|optimizer)\w*']],
    [[(?i)\b]] .. either { "cannot", "can't", "could not", "unable to", "failed to", "error while", "error" }
      .. [[ load(?:ing)? (?:the |a )?(?:\w+ )?(?:checkpoint|ckpt|state_dict|model weights|optimizer state)\b]],
  },
  unless = [[(?i)\b(?:ignor|skip|falling back|from scratch|instead|retry|warn)]],
  event = "checkpoint_unreadable", texts = { message = { find = [[^(.*)$]] } },
}

pattern "checkpoint_mismatch" {
  about = "a weight of another shape: the body of an error, or a warning of a program that leaves it out and goes on",
  line = [[size mismatch for (?P<weight>\S+?): copying a param with shape]], event = "checkpoint_mismatch",
  texts = { weight = "weight" },
}

pattern "loss_is_nan" {
  about = "programs that look for it themselves, and as a rule stop",
  line = {
    [[(?i)\bloss(?:es)? (?:is|are|became|becomes|has become|went|turned|returned in \S+ is)]]
      .. [[(?: to)? (?:nan|inf|infinite|not finite|non-?finite|not a number)\b]],
    [[(?i)\bnon-?finite (?:loss|grad)]],
    [[(?i)\bgrad(?:ient)?s?(?:[_ ]norm)? (?:is|are) (?:not finite|non-?finite)\b]],
    [[(?i)\bnan loss\b]], [[(?i)\bloss is (?:probably )?exploding\b]],
    [[(?i)\b(?:loss|model|training) (?:has )?(?:diverged|exploded)\b]], [[Invalid loss, terminating training]],
    [[returned nan values in its \d+th output]],
    [[(?i)\b(?:found|detected) (?:nans?|infs?)\b.{0,24}\b(?:grad|loss|weight|param)]],
    [[\bUnexpected result (?:nan|inf)\b]],
    [[contains either `inf`, `nan` or element < 0]], [[FloatingPointError: invalid value \(nan\)]],
    [[(?i)\b(?:nan|infs?)(?: or infs?| or nans?|s)? (?:was |were )?(?:detected|encountered|found)]]
      .. [[ in (?:the )?]] .. either { "loss", "grad", "weight", "param", "model" },
  },
  unless = [[(?i)]] .. either {
    "skip", "ignor", [[\bif\b]], [[\bwhen\b]], [[\bwhether\b]], [[check(?:s|ing)?\b]], [[\bwill\b]], [[\bno nan]],
    [[\b0 nan]], [[val(?:idation)?[ _]loss]], [[eval[ _]loss]],
  },
  event = "loss_is_nan", texts = { message = { find = [[^(.*)$]] } },
}

-- The end, by the program's own word: what follows (an upload, a last evaluation, a finalizer that fails) is no
-- training.
pattern "lightning_cut_short" {
  line = {
    [[`Trainer\.fit` stopped: (?P<none>No training batches)]],
    [[`Trainer\.fit` stopped: `max_steps=(?P<steps>INT)` reached]],
  },
  event = "training_cut_short", fields = { steps = { { "steps" }, { find = [[(No training batches)]], number = 0 } } },
}
pattern "estimator_cut_short" {
  about = "TensorFlow's Estimator: the checkpoint of its folder has all the steps that the configuration wants",
  line = [[\bSkipping training since max_steps has already saved\b]],
  event = "training_cut_short", fields = { steps = 0 },
}
pattern "input_bound" {
  about = "TensorFlow's and XLA's profiler",
  line = [[\bprogram is HIGHLY input-bound because (?P<share>NUM) ?% of the total step time]], event = "input_bound",
  fields = { share = "share" },
}
pattern "training_ended" {
  line = {
    [[['"]train_runtime['"]: ]], [[Training completed\. Do not forget to share your model]],
    [[`Trainer\.fit` stopped: ]], [=[\[after training is done\]]=],
    [[:::MLL(?:OG)? .*"key": "run_stop"]], [[:::MLL(?:OG)? .*"key": "status", "value": "success"]],
  },
  event = "training_ended",
}

pattern "named_over" {
  line = [[(?i)]] .. either {
    [=[^\W*(?:(?:info|debug)\W+)?(?:\[[^\]]*\]\W*)*(?:[\w.]+ \| )?]=] .. either {
      [[(?:the )?training (?:run )?(?:is |has )?(?:now )?(?:finished|completed?|done|ended)\b]],
      [[(?:the )?training is (?:now )?over\b]],
      [[(?:finish(?:ed)?|completed|done|end(?:ed)?(?: of)?) (?:with )?training\b]],
      [[(?:\S+ info: )?total training time: \d]], [[training time \d+(?: days?, \d+)?:\d\d:\d\d\s*$]],
      [[stopping[ _]early:]], [[early[ -]?stopping (?:triggered|at epoch|at step|after epoch)]],
      "loss for final step: NUM", [[optimi[sz]ation (?:is |has )?(?:finished|completed?|done)\b]],
      [[saved (?:the )?final model\b]], [[(?:the )?(?:final|fine-?tuned|trained) model (?:is |was |has been )?saved\b]],
      [[accuracy of the (?:network|model) on the (?:INT )?test (?:images|set|data)\b]],
    },
    [[训练(?:已经|已|全部)?(?:完成|结束|完毕)]], [[(?:学習|トレーニング)が?(?:完了|終了)]],
  },
  unless = [[(?i)Do not forget to share your model|^\W*finish(?:ed)? training (?:step|batch|iteration)\b]],
  event = "training_over",
}

pattern "lightning_tests" {
  about = "the loop of a test or of a prediction: it comes after the training",
  line = [[^\s*(?:Testing|Predicting)(?: DataLoader INT)?:\s[^|]*\|]], event = "training_over",
}
pattern "nothing_left" {
  about = "the time that is left for the whole training, of less than half a minute; not that of an epoch or of an "
    .. "evaluation, which stands right behind their count",
  line = {
    [[(?i)\beta[:=]? ?(?:0 days?,? )?0?0:00:[0-2]\d\b]], [["total_steps": INT, .*"remaining_time": "0?0:00:[0-2]\d"]],
    [[^\s*(?i:]] .. either { [[(?:train(?:ing)?|total|overall) (?:steps|progress)]], "iterations" }
      .. [[):\s+100%\|[^|]*\|\s*INT/INT \[\d[\d:]*<0?0:00\b]],
  },
  unless = [=[(?i)\]\s+eta\b|\b(?:eval\w*|test\w*|val|valid\w*|infer\w*|predict\w*)\b]=], event = "training_due",
}
pattern "counted_out" {
  about = "of all epochs the last, and of its steps the last, where they are counted: epoch 50/50, batch 2501/2501, "
    .. "loss 0.01; Epoch 3 of 3: 100%|###| 400/400 [..",
  line = [[(?i)\bepochs?\b[\s:=#\[(]{0,4}(?P<epoch>\d+)\s*(?:/|of\b)\s*(?P<epochs>[2-9]|\d{2,})\b(?:.*?]] .. either {
    [[\b(?:step|iter(?:ation)?|batch)s?\b[\s:=#\[(]{0,4}]], [[\|\s*]], [[\]\s*\[\s*]],
  } .. [[(?P<step>\d+)\s*/\s*(?P<steps>\d+)\b)?]],
  scan = [[(?i)\bepochs?\b[\s:=#\[(]{0,4}\d+\s*(?:/|of\b)\s*\d]], equal = { "epoch", "epochs", "step", "steps" },
  event = "training_due",
}
pattern "counted_out_of_all" {
  about = "the last of all steps: Megatron, ms-swift, LLaMA-Factory, modded-nanogpt, bars of diffusers",
  line = {
    [[\biteration\s+(?P<step>INT)/\s*(?P<steps>INT) \|]], [['global_step/max_steps': '(?P<step>INT)/(?P<steps>INT)']],
    [["current_steps": (?P<step>INT), "total_steps": (?P<steps>INT)\b]],
    [[\bstep:(?P<step>INT)/(?P<steps>INT) (?:(?:train_loss|val_loss|val_bpb):NUM )*train_time:]],
    [[^\s*[Ss]teps: 100%\|[^|]*\|\s*(?P<step>INT)/(?P<steps>INT) \[]],
  },
  equal = { "step", "steps" }, event = "training_due",
}

-- Phases that have no progress line of their own.
pattern "huggingface_begins" {
  line = [[\*{5} Running training \*{5}]], event = "training_begun", states = { phase = "train" },
}
pattern "huggingface_eval" {
  line = [[\*{5} Running (?:Evaluation|Prediction|evaluation|prediction) \*{5}]], states = { phase = "eval" },
}
pattern "huggingface_total"  { line = [[Total optimization steps = (?P<total>INT)]], remembers = "total" }
pattern "huggingface_eval_time" {
  line = [['eval_runtime': '?(?P<time>NUM)]], samples = { eval_time = "time" }, states = { phase = "train" },
}
pattern "megatron_eval" {
  line = [[^\s*(?:Evaluating on INT samples|Evaluating iter INT/INT)]], states = { phase = "eval" },
}
pattern "megatron_eval_time" {
  line = [[\| evaluate\s?\.*: ?\(?(?P<ms>NUM)]], samples = { eval_time = { "ms", scale = 0.001 } },
}
pattern "deepspeed_chat_eval" { line = [[\*{5} Evaluating \w+, Epoch INT/INT \*{5}]], states = { phase = "eval" } }
pattern "named_evaluation" {
  about = "frameworks of no known name: it says that it begins to evaluate; the next line of progress ends that",
  line = [[(?i)(?:^\W*|[-|\]:]\s+)(?:now )?]] .. either {
    either { "running", "starting", "start", [[begin(?:ning)?]], "performing", "doing" }
      .. [[ (?:the |an? |final |full |periodic )*(?:evaluation|validation|eval)\b]],
    [[(?:evaluating|validating)(?: (?:the )?(?:model|policy|agent|checkpoint|on|at|after)\b|\s*\.{2,}|\s*$)]],
  },
  unless = [[(?i)]] .. either {
    [[\*{5} Running]], [[\bevery\b]], [[\bstrategy\b]],
    [[\b(?:finished|done|complete[d]?|skip\w*|disabled|failed|error)\b]], [[%\|]], [[:\s*(?:\d|true|false)]],
    [[\b(?:start|from) (?:step|epoch)s?\b]],
  },
  states = { phase = "eval" },
}
