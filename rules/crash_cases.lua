-- Cases of crash.lua.

case "a module is missing" {
  ranks = 2,
  {
    lasting = "5s", phase = "starting",
    events = {
      { "startup_error", kind = "package", rank = 0, at = "1s" }, {
        "startup_failed", kind = "package", message = "No module named 'flash_attn'", at = "1s",
      },
      { "traceback", rank = 0, exception = "ModuleNotFoundError", at = "1s" },
    },
    ends = "failed",
  },
  fires = { { "startup_blocked", who = { 0 }, cause = "package" } },
}
case "the first barrier finds no memory on a GPU" {
  ranks = 2, { lasting = "5s", phase = "starting", events = {
    { "traceback", rank = 1, exception = "RuntimeError", part = "no room", at = "1s" },
    { "exception_raised", exception = "RuntimeError", part = "no room", at = "1s" },
    { "cuda_oom", rank = 1, at = "1s" } },
    ends = "failed" },
  fires = { { "startup_blocked", who = { 1 }, cause = "gpu" } },
}
case "the disk is full before the first step" {
  ranks = 2,
  {
    lasting = "8s", phase = "starting",
    events = { { "disk_full", rank = 0, at = "6s" }, { "traceback", rank = 0, at = "6s" } }, ends = "failed",
  },
  fires = { { "storage_lost", who = { 0 }, cause = "full" } },
}
case "a traceback that the job survives" {
  ranks = 2,
  {
    lasting = "4m", phase = "train", step = steps(1), loss = ramp(5, 4),
    events = { { "traceback", rank = 0, at = "5s" } }, ends = "completed",
  },
  fires = { { "healthy" } },
}
case "one rank raises at step 300, the others lose it" {
  ranks = 4, { lasting = "150s", phase = "train", step = steps(0.5) },
  { lasting = "5s", step = silent, events = {
    { "traceback", rank = 2, exception = "ValueError" },
    {
      "exception_raised", exception = "ValueError", message = "expected 4 columns, got 3", place = "train.py",
      code = "own",
    },
    { "traceback", rank = 0, exception = "RuntimeError", part = "consequence", at = "1s" },
    { "exception_raised", exception = "RuntimeError", part = "consequence", at = "1s" },
    { "rank_failed", rank = 2, exitcode = 1, at = "2s" } }, ends = "failed" },
  fires = { { "exception", who = { 2 }, cause = "own" } },
}
case "an exception that is caught and printed, and steps go on" {
  ranks = 2,
  {
    lasting = "3m", phase = "train", step = steps(0.5), loss = ramp(4, 3),
    events = {
      { "traceback", rank = 1, exception = "OSError", at = "1m" },
      { "exception_raised", exception = "OSError", at = "1m" },
    },
  },
}
case "the export after the training fails, and srun says so" {
  ranks = 1,
  {
    lasting = "2m", phase = "train", step = steps(0.5), loss = ramp(4, 3),
    events = { { "training_ended", at = "119s" } },
  },
  { lasting = "10s", step = silent, events = { {
    "exception_raised", exception = "RuntimeError", message = "no quantizer", place = "export.py", at = "8s",
  }, { "traceback", rank = 0, exception = "RuntimeError", at = "8s" },
    { "rank_failed", rank = 0, exitcode = 1, at = "9s" } }, ends = "unknown" },
  fires = { { "exception", who = { 0 } } },
}
case "a thread raises once the training is over, and nobody says that a rank failed" {
  ranks = 1,
  {
    lasting = "2m", phase = "train", step = steps(0.5), loss = ramp(4, 3),
    events = { { "training_ended", at = "119s" } },
  },
  {
    lasting = "10s", step = silent,
    events = {
      { "exception_raised", exception = "OSError", part = "thread", code = "own", at = "8s" },
      { "traceback", rank = 0, exception = "OSError", part = "thread", at = "8s" },
    },
    ends = "unknown",
  },
}
case "the last test fails once the training is over" {
  ranks = 1,
  {
    lasting = "2m", phase = "train", step = steps(0.5), loss = ramp(4, 3),
    events = { { "training_ended", at = "119s" } },
  },
  {
    lasting = "10s", step = silent,
    events = {
      {
        "exception_raised", exception = "ValueError", message = "no label", place = "test.py", code = "own", at = "8s",
      },
      { "traceback", rank = 0, exception = "ValueError", code = "own", at = "8s" },
    },
    ends = "unknown",
  },
  fires = { { "exception", who = { 0 } } },
}
case "a command line was refused, and a person interrupted the next start" {
  ranks = 1,
  {
    lasting = "3m", phase = "starting",
    events = {
      { "startup_error", kind = "arguments", rank = 0, at = "1s" },
      { "startup_failed", kind = "arguments", at = "1s" },
      { "traceback", rank = 0, exception = "KeyboardInterrupt", at = "2m" },
      { "exception_raised", exception = "KeyboardInterrupt", at = "2m" },
    },
    ends = "unknown",
  },
}
case "a person's interrupt, and then a command line that is refused" {
  ranks = 1,
  {
    lasting = "3m", phase = "starting",
    events = {
      { "traceback", rank = 0, exception = "KeyboardInterrupt", at = "1m" },
      { "exception_raised", exception = "KeyboardInterrupt", at = "1m" },
      { "startup_error", kind = "arguments", rank = 0, at = "2m" },
      { "startup_failed", kind = "arguments", at = "2m" },
    },
    ends = "unknown",
  },
  fires = { { "startup_blocked", who = { 0 }, cause = "arguments" } },
}
case "a file was missing at the first start, and the second runs out of GPU memory" {
  ranks = 1,
  {
    lasting = "3m", phase = "starting",
    events = {
      { "startup_error", kind = "file", rank = 0, at = "1s" }, { "startup_failed", kind = "file", at = "1s" },
      { "traceback", rank = 0, exception = "FileNotFoundError", at = "1s" },
      { "exception_raised", exception = "FileNotFoundError", at = "1s" },
      { "run_started", at = "30s" }, { "cuda_oom", rank = 0, at = "2m" },
      { "traceback", rank = 0, exception = "OutOfMemoryError", at = "2m" },
      { "exception_raised", exception = "OutOfMemoryError", at = "2m" },
    },
    ends = "unknown",
  },
  fires = { { "cuda_out_of_memory", who = { 0 } } },
}
case "code on trial raises in every step of minutes, and the log breaks off" {
  ranks = 1,
  { lasting = "40m", phase = "train", step = steps(200), events = { {
    "exception_raised", exception = "IndexError", at = "60s",
  }, {
    "exception_raised", exception = "IndexError", at = "200s",
  }, { "exception_raised", exception = "IndexError", at = "300s" },
    { "exception_raised", exception = "IndexError", at = "400s" },
    { "exception_raised", exception = "IndexError", at = "500s" },
    { "exception_raised", exception = "IndexError", at = "600s" },
    { "exception_raised", exception = "IndexError", at = "700s" },
    { "exception_raised", exception = "IndexError", at = "800s" },
    { "exception_raised", exception = "IndexError", at = "900s" },
    { "exception_raised", exception = "IndexError", at = "2395s" },
    { "traceback", rank = 0, exception = "IndexError", at = "2395s" } },
    ends = "unknown" },
}
case "a person interrupts the training" {
  ranks = 1, { lasting = "1m", phase = "train", step = steps(0.5) },
  {
    lasting = "2s", step = silent,
    events = {
      { "traceback", rank = 0, exception = "KeyboardInterrupt" },
      { "exception_raised", exception = "KeyboardInterrupt" },
    },
  },
}
case "Paddle's launcher says which processes ended" {
  ranks = 2,
  {
    lasting = "20s", phase = "starting",
    events = { { "rank_failed", rank = 1, exitcode = 1, launcher = "paddle", at = "15s" } }, ends = "failed",
  },
  fires = { { "startup_crash", who = { 1 } } },
}
case "all ranks refuse the same file" {
  ranks = 4, { lasting = "10s", phase = "starting", events = {
    { "traceback", rank = 0, exception = "KeyError", at = "5s" },
    { "traceback", rank = 1, exception = "KeyError", at = "6s" },
    { "traceback", rank = 2, exception = "KeyError", at = "7s" },
    { "traceback", rank = 3, exception = "KeyError", at = "7s" },
    { "exception_raised", exception = "KeyError", message = "'lr'", place = "train.py", code = "own", at = "5s" } },
    ends = "failed" },
  fires = { { "exception", who = { 0, 1, 2, 3 }, cause = "startup" } },
}
case "what was raised while another exception was handled ended the program" {
  ranks = 1, { lasting = "10s", phase = "starting", events = {
    { "traceback", rank = 0, exception = "KeyError", code = "own", at = "5s" },
    { "exception_raised", exception = "KeyError", message = "'a'", place = "load.py", code = "own", at = "5s" },
    { "traceback", rank = 0, exception = "ValueError", link = "handling", code = "own", at = "5s" },
    {
      "exception_raised", exception = "ValueError", message = "no a", place = "train.py", link = "handling",
      code = "own", at = "5s",
    } },
    ends = "failed" },
  fires = { { "exception", who = { 0 }, cause = "linked" } },
}
case "a chain of another rank is not that of the first" {
  ranks = 4, { lasting = "10s", phase = "starting", events = {
    { "traceback", rank = 1, exception = "KeyError", code = "own", at = "2s" },
    { "exception_raised", exception = "KeyError", message = "'a'", place = "load.py", code = "own", at = "2s" },
    { "traceback", rank = 0, exception = "OSError", link = "handling", at = "8s" },
    { "exception_raised", exception = "OSError", link = "handling", at = "8s" } },
    ends = "failed" },
  fires = { { "exception", who = { 1 }, cause = "startup" } },
}
case "a loader's worker shows only frames of libraries, and who waits for it the program's" {
  ranks = 1, { lasting = "10s", phase = "starting", events = {
    { "traceback", rank = 0, exception = "OSError", part = "consequence", code = "own", at = "5s" },
    { "exception_raised", exception = "OSError", part = "consequence", place = "train.py", code = "own", at = "5s" },
    { "traceback", rank = 0, exception = "OSError", code = "library", at = "5s" },
    {
      "exception_raised", exception = "OSError", message = "no image", place = "Image.py", code = "library", at = "5s",
    } },
    ends = "failed" },
  fires = { { "exception", cause = "reached" } },
}
case "a line about GPUs at the start of a log that goes on for long, and of which nothing is understood" {
  ranks = 1,
  {
    lasting = "20m", phase = "starting", process_rss = 1e9,
    events = { { "startup_error", kind = "gpu", rank = 0, at = "1m" }, { "startup_failed", kind = "gpu", at = "1m" } },
  },
  { lasting = "1m" }, fires = { { "progress_not_understood" } },
}
case "an exception that was caught, in a log of which nothing is understood" {
  ranks = 1,
  {
    lasting = "20m", phase = "starting", process_rss = 1e9,
    events = {
      { "traceback", rank = 0, exception = "OSError", at = "1m" },
      { "exception_raised", exception = "OSError", at = "1m" },
    },
  },
  { lasting = "1m" }, fires = { { "progress_not_understood" } },
}
case "code on trial raises again and again, and the job goes on to the end of its log" {
  ranks = 1,
  { lasting = "6m", phase = "train", step = steps(5), events = { {
    "exception_raised", exception = "IndexError", at = "60s",
  }, {
    "traceback", rank = 0, exception = "IndexError", at = "60s",
  },
    { "exception_raised", exception = "IndexError", at = "120s" },
    { "traceback", rank = 0, exception = "IndexError", at = "120s" },
    { "exception_raised", exception = "KeyError", at = "180s" },
    { "traceback", rank = 0, exception = "KeyError", at = "180s" },
    { "exception_raised", exception = "IndexError", at = "350s" },
    { "traceback", rank = 0, exception = "IndexError", at = "350s" } },
    ends = "unknown" },
}
case "code on trial raised again and again, and then the job itself" {
  ranks = 1,
  { lasting = "6m", phase = "train", step = steps(5), events = { {
    "exception_raised", exception = "IndexError", at = "60s",
  }, {
    "traceback", rank = 0, exception = "IndexError", at = "60s",
  },
    { "exception_raised", exception = "IndexError", at = "120s" },
    { "traceback", rank = 0, exception = "IndexError", at = "120s" },
    { "exception_raised", exception = "KeyError", at = "180s" },
    { "traceback", rank = 0, exception = "KeyError", at = "180s" } } },
  {
    lasting = "5s", step = silent,
    events = {
      { "exception_raised", exception = "IndexError", at = "2s" },
      { "traceback", rank = 0, exception = "IndexError", at = "2s" },
    },
    ends = "unknown",
  },
  fires = { { "exception" } },
}
case "an exception that was caught on the first day of three" {
  ranks = 1,
  {
    lasting = "5m", phase = "train", step = steps(5), loss = ramp(5, 4.9),
    events = {
      { "traceback", rank = 0, exception = "OSError", at = "1m" },
      { "exception_raised", exception = "OSError", at = "1m" },
    },
  },
  { lasting = "30h", step = steps(5), loss = ramp(4.9, 3), ends = "unknown" },
}
case "a traceback without an end is the last of a job" {
  ranks = 2, { lasting = "2m", phase = "train", step = steps(0.5) },
  {
    lasting = "2s", step = silent,
    events = { { "traceback", rank = 1, exception = "cut off" }, { "exception_raised", exception = "cut off" } },
    ends = "unknown",
  },
  fires = { { "exception_cut", who = { 1 } } },
}
case "a person interrupts the training, and the traceback is in pieces" {
  ranks = 1, { lasting = "2m", phase = "train", step = steps(0.5) },
  {
    lasting = "2s", step = silent,
    events = {
      { "traceback", rank = 0, exception = "cut off" }, { "exception_raised", exception = "cut off" },
      { "exception_raised", exception = "KeyboardInterrupt", at = "1s" },
    },
    ends = "unknown",
  },
}
case "a library is reported missing, and the job runs on for minutes and then fails" {
  ranks = 2,
  {
    lasting = "1s", phase = "starting", process_cpu = 0.9,
    events = { { "startup_error", kind = "package", rank = 0 }, { "startup_failed", kind = "package" } },
  },
  { lasting = "4m", phase = silent, process_cpu = 0.9, ends = "failed" },
}
case "a rank is stopped and continued before steps are read, and the other fails with a code" {
  ranks = 2, { lasting = "1m", phase = "starting", process_cpu = 0.9, process_state = "running" },
  { lasting = "30s", phase = silent, rank = { [1] = { process_cpu = 0, process_state = "stopped" } } },
  {
    lasting = "1m", process_cpu = 0.9, process_state = "running",
    events = { { "rank_failed", rank = 0, exitcode = 1, launcher = "deepspeed", at = "59s" } }, ends = "failed",
  },
  fires = { { "rank_stopped", who = { 1 } } },
}
