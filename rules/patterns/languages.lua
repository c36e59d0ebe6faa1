-- Ends of programs that are not written in Python, as their languages print them.

pattern "julia_error" {
  about = "a script that was loaded, or a prompt; the stack follows",
  line = {
    [[^ERROR: (?:LoadError: )+(?:(?P<exception>\w+(?:Error|Exception|Mismatch)): )?(?P<message>.*)]],
    [[^ERROR: (?P<named>]] .. either {
      either {
        "Method", "UndefVar", "UndefRef", "UndefKeyword", "Bounds", "Argument", "Inexact", "Domain", "Key", "Init",
        "StackOverflow", "OutOfGPUMemory", "Assertion", [[GPUCompiler\.InvalidIR]], "InvalidIR", "CuErr",
      } .. "Error",
      "DimensionMismatch", "TaskFailedException", "CompositeException", "CUDA error", "Out of GPU memory",
      "Scalar indexing is disallowed",
    } .. [[)\b:?(?: (?P<text>.*))?$]],
  },
  event = "traceback", also = "exception_raised",
  texts = {
    exception = { { "exception" }, { "named" }, { text = "LoadError" } }, message = { { "message" }, { "text" } },
  },
}
pattern "r_error" {
  about = "Rscript's last word, in the languages that R knows",
  line = [[^]] .. either {
    "Execution halted", [[Ausführung angehalten]], [[Exécution arrêtée]], [[Ejecución interrumpida]],
    "Esecuzione interrotta", [[Execução interrompida]], [[停止执行]], [[実行が停止されました]],
  } .. [[\.?\s*$]],
  event = "traceback", also = "exception_raised", texts = { exception = { text = "an error in R" } },
}
pattern "matlab_error" {
  about = "the stack below an error of MATLAB: Error in train>step (line 12)",
  line = [[^Error in (?P<place>[A-Za-z][\w>/.@(),= ]*) \(line \d+\)\s*$]],
  unless = [[\.(?:txt|jsonl?|csv|tsv|py|ya?ml|xml|log|dat|gz)\b]],
  event = "traceback", also = "exception_raised",
  texts = { exception = { text = "an error in MATLAB" }, place = "place" },
}
pattern "java_exception" {
  about = "a thread of a JVM that ended by an exception; the main thread is the program",
  line = [[^Exception in thread "(?P<thread>[^"]*)"]],
  continues = [[^(?:\s+at |\s+\.\.\. \d+ (?:more|common)|Caused by: |\s+Suppressed: )]],
  event = "traceback", also = "exception_raised",
  texts = {
    exception = { find = [[" ?(?:Exception in thread "[^"]*" )*(?:[a-z_]\w*\.)*([A-Z]\w*)]] },
    message = { find = [[(?m)^Exception in thread .*?[A-Z]\w*: (.+)$]] },
    place = { find = [[(?m)^\s+at (\S+\(\w+\.\w+:\d+\))]] },
  },
}
pattern "dotnet_exception" {
  line  = [[^Unhandled [Ee]xception[.:] (?:[A-Z]\w*\.)+(?P<exception>[A-Z]\w*): ?(?P<message>.*)]],
  event = "traceback", also = "exception_raised", texts = { exception = "exception", message = "message" },
}
pattern "lua_error" {
  about = "Torch 7; the stack follows",
  line = [[^\S*\b(?:luajit|lua[\d.]*|qlua|th): .*?(?P<place>[^\s/]+\.lua:\d+): ?(?P<message>.*)]],
  event = "traceback", also = "exception_raised",
  texts = { exception = { text = "an error in Lua" }, message = "message", place = "place" },
}
pattern "panic" {
  about = "Rust and Go; a library of Rust that Python calls prints it, too",
  line = {
    [[^thread '[^']*'(?: \(\d+\))? panicked at (?P<message>.+)]], [[^panic: (?P<go>.+)]],
    [[^fatal error: (?P<runtime>all goroutines are asleep.*|runtime: .*|stack overflow)]],
  },
  event = "traceback", also = "exception_raised",
  texts = { exception = { text = "a panic" }, message = { { "message" }, { "go" }, { "runtime" } } },
}
pattern "fatal_check" {
  about = "a check of a library in C++ that failed, after which it ends the process: glog and Abseil, and "
    .. "TensorFlow, which marks such a line by F",
  line = {
    [[^Check failed: (?P<message>.+)]], [[^\*\*\* Check failure stack trace: \*\*\*]],
    [[^(?:\S+ \S+: |: )?F (?P<place>(?:\S*/)?\S+\.(?:cc|cpp|cu|h):\d+)\] (?P<message>.+)]],
  },
  unless =
    [[(?i)NCCL|rendezvous|heartbeat|watchdog|coordination|consistent program state|terminating the process|SIGTERM]],
  event = "traceback", also = "exception_raised",
  texts = { exception = { text = "a check that failed" }, message = "message", place = "place" },
}
pattern "kaldi_error" {
  line = [[^(?:ERROR|ASSERTION_FAILED) \([\w-]+\[[\w.~-]+\]:\w+\(\):(?P<place>\S+:\d+)\) ?(?P<message>.*)]],
  event = "traceback", also = "exception_raised",
  texts = { exception = { text = "an error of Kaldi" }, message = "message", place = "place" },
}
pattern "kaldi_job_failed" {
  about = "its scripts start each program by one of these",
  line = [[^(?:run|queue|slurm|ssh|pbs|retry)\.pl: (?:job failed|(?:\d+ of )?\d+(?: / \d+)? (?:jobs? )?failed)]]
    .. [[, log is in (?P<log>\S+)]],
  event = "rank_failed", fields = { exitcode = { number = 1 } },
  texts = { how = { find = [[log is in (\S+)]] }, launcher = { text = "kaldi" } },
}
