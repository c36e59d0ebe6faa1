-- Lines of launchers and shells about ranks and processes that ended.

-- The number of the signal that ended a process, by the word for it, or by an exit code of 128 and the number.
local by_word = {
  { find = [[(?i)\b(killed|out of memory)]], number = 9 }, { find = [[(?i)\b(segm)]], number = 11 },
  { find = [[(?i)\b(bus error)]], number = 7 },
  { find = [[(?i)\b(illegal)]], number = 4 }, { find = [[(?i)\b(floating point)]], number = 8 },
  { find = [[(?i)\b(abort)]], number = 6 },
}
local by_exit_code = {
  { find = [[(?i)(?:code|status)(?: of)?[ :=(]+(132)\b]], number = 4 },
  { find = [[(?i)(?:code|status)(?: of)?[ :=(]+(135)\b]], number = 7 },
  { find = [[(?i)(?:code|status)(?: of)?[ :=(]+(136)\b]], number = 8 },
  { find = [[(?i)(?:code|status)(?: of)?[ :=(]+(137)\b]], number = 9 },
  { find = [[(?i)(?:code|status)(?: of)?[ :=(]+(139)\b]], number = 11 },
}
-- That number, or the one of a source.
local function signal_of(source)
  local all = { source }
  for i, one in ipairs(by_exit_code) do all[i + 1] = one end
  return all
end

pattern "torchrun_summary" {
  about = "each failure of torchrun's table, the root cause among them",
  line = [[^\s*rank\s*: (?P<rank>\d+) \(local_rank: \d+\)]],
  continues = [[^\s*\w+\s*: ]], ends = [[^\s*traceback\s*: ]], lines = 6,
  event = "rank_failed", rank = "rank",
  fields = {
    rank = "rank", exitcode = { find = [[exitcode\s*: (-?\d+)]] }, pid = { find = [[pid: (\d+)]] },
    signal = signal_of { find = [[(?:Signal |exitcode\s*: -)(\d+)]] },
  },
  texts = { launcher = { text = "torchrun" } },
}
pattern "torchrun_failed" {
  line = [[failed \(exitcode: (?P<code>-?\d+)\) local_rank: (?P<local>\d+) \(pid: (?P<pid>\d+)\) of binary]],
  event = "rank_failed",
  fields = { exitcode = "code", local_rank = "local", pid = "pid", signal = signal_of { find = [[exitcode: -(\d+)]] } },
  texts = { launcher = { text = "torchrun" } },
}
pattern "torchelastic_child" {
  about = "the elastic launcher of PyTorch 1.9 and 1.10, before its table",
  line = [[^Child process (?P<pid>\d+) \(local_rank (?P<local>\d+)\) FAILED \(exitcode (?P<code>-?\d+)\)]],
  event = "rank_failed",
  fields = { exitcode = "code", local_rank = "local", pid = "pid", signal = signal_of { find = [[exitcode -(\d+)]] } },
  texts = { launcher = { text = "torchrun" } },
}
pattern "tocsin_rank_failed" {
  line = [[^launch: rank (?P<rank>\d+) failed: exitcode: (?P<code>-?\d+)]], event = "rank_failed", rank = "rank",
  fields = {
    rank = "rank", exitcode = "code", signal = signal_of { find = [[(?:[Ss]ignal |exitcode: -)(\d+)]] },
  },
  texts = { launcher = { text = "launch" } },
}
pattern "srun_signal" {
  line = [[srun: error: (?P<node>\S+): tasks? (?P<rank>\d+): (?P<how>]] .. either {
    "Killed", "Out Of Memory", "Segmentation fault", "Aborted", "Bus error", "Illegal instruction",
    "Floating point exception",
  } .. [[)]],
  event = "rank_failed", rank = "rank",
  fields = {
    rank = "rank",
    signal = by_word,
  },
  texts = { how = "how", node = "node", launcher = { text = "srun" } },
}
pattern "srun_exit" {
  line = [[srun: error: (?P<node>\S+): tasks? (?P<rank>\d+): Exited with exit code (?P<code>\d+)]],
  event = "rank_failed", rank = "rank", fields = { rank = "rank", exitcode = "code", signal = by_exit_code },
  texts = { node = "node", launcher = { text = "srun" } },
}
pattern "srun_list" {
  about = "several tasks at once: the ranks are not one",
  line = [[srun: error: (?P<node>\S+): tasks (?P<tasks>\d+[-,][\d,-]+): (?P<how>]] .. either {
    "Killed", "Out Of Memory", "Segmentation fault", "Aborted", "Bus error", [[Exited with exit code (?P<code>\d+)]],
  } .. [[)]],
  event = "rank_failed", fields = { exitcode = "code", signal = by_word },
  texts = { how = "how", tasks = "tasks", node = "node", launcher = { text = "srun" } },
}
pattern "mpirun_signal" {
  line = [[process rank (?P<rank>\d+) with PID (?P<pid>\d+) on node (?P<node>\S+) exited on signal (?P<signal>\d+)]],
  event = "rank_failed", rank = "rank",
  fields = { rank = "rank", pid = "pid", signal = "signal" }, texts = { node = "node", launcher = { text = "mpirun" } },
}
pattern "mpirun_exit" {
  about = "Open MPI and PRRTE, over two lines",
  line = [=[^\s*Process name: \[\[\w+,\d+\],(?P<rank>\d+)\]]=], continues = [[^\s*Exit code:]],
  ends = [[^\s*Exit code:]], lines = 2,
  event = "rank_failed", rank = "rank", 
  fields = { rank = "rank", exitcode = { find = [[Exit code: +(\d+)]] }, signal = by_exit_code },
  texts = { launcher = { text = "mpirun" } },
}
pattern "mpirun_primary" {
  about = "it does not name the rank, and what follows does not always",
  line  = [[^Primary job +terminated normally, but \d+ process(?:es)? returned]], event = "rank_failed",
  fields = { exitcode = { number = 1 } }, texts = { launcher = { text = "mpirun" } },
}
pattern "mpi_abort" {
  about = "a rank that ended its job by itself, as an exception in mpi4py does",
  line = {
    [[\bMPI_ABORT was invoked on rank (?P<rank>\d+) in communicator]],
    [[application called MPI_Abort\(.*\) - process (?P<rank>\d+)]],
  },
  event = "rank_failed", rank = "rank",
  fields = { rank = "rank", exitcode = { { find = [[MPI_Abort\(\w+, (\d+)\)]] }, { number = 1 } } },
  texts = { launcher = { text = "mpirun" } },
}
pattern "hydra_signal" {
  about = "mpiexec of MPICH and Intel MPI",
  line =
    [[^=\s+KILLED BY SIGNAL: (?P<signal>\d+)|APPLICATION TERMINATED WITH THE EXIT STRING: .*\(signal (?P<named>\d+)\)]],
  event = "rank_failed",
  fields = { signal = { { "signal" }, { "named" } } }, texts = { launcher = { text = "mpiexec" } },
}
pattern "deepspeed_exit" {
  line = [[exits with return code = (?P<code>-?\d+)]], event = "rank_failed",
  fields = {
    exitcode = "code", signal = signal_of { find = [[code = -(\d+)]] },
    local_rank = { find = [[--local[_-]rank=(\d+)]] },
  },
  texts = { launcher = { text = "deepspeed" } },
}
pattern "composer_exit" {
  line =
    [[(?:^Rank|\bGlobal rank) (?P<rank>\d+) (?:\(PID \d+\) )?(?:crashed|exited) with ]]
    .. [[(?:exit )?code (?P<code>-?[1-9]\d*)]],
  rank = "rank", event = "rank_failed",
  fields = { rank = "rank", exitcode = "code", signal = signal_of { find = [[code -(\d+)]] } },
  texts = { launcher = { text = "composer" } },
}
pattern "operator_failed" {
  about  = "Kubeflow's training operator: a pod of the job failed, and its own log says why",
  line   = [[\b\w+Job \S+ (?:has|is) failed because \d+ \w+ replica\(s\) failed]], event = "rank_failed",
  fields = { exitcode = { number = 1 } }, texts = { launcher = { text = "kubeflow" } },
}
pattern "lsf_exit" {
  about  = "LSF's report of a job at its end; a signal has a number above 128, and another pattern",
  line   = [[^Exited with exit code (?P<code>\d{1,2}|1[01]\d|12[0-8])\.\s*$]], event = "rank_failed",
  fields = { exitcode = "code" }, texts = { launcher = { text = "lsf" } },
}
pattern "sagemaker_failed" {
  line = [[\bExecuteUserScriptError:|\bFailed\. Reason: AlgorithmError:]], event = "rank_failed",
  fields = { exitcode = { { find = [[\b[Ee]xit ?[Cc]ode:? (\d+)]] }, { number = 1 } } },
  texts = { launcher = { text = "sagemaker" } },
}
pattern "paddle_exit" {
  about = "Paddle's launchers: the first names the processes that ended by themselves, the second one of them",
  line = {
    [[ABORT!!! Out of all \d+ trainers, the trainer process with rank=\[(?P<rank>\d+)]],
    [[\bContainer rank (?P<rank>\d+) status failed cmd .*\bcode (?P<code>-?\d+)\b]],
  },
  rank = "rank", event = "rank_failed",
  fields = { rank = "rank", exitcode = { { "code" }, { number = 1 } }, signal = { find = [[\bcode -(\d+)]] } },
  texts = { launcher = { text = "paddle" } },
}
-- The number of a signal that is given by its name, or by its word.
local by_name = {
  { find = [[\b(SIGKILL)\b]], number = 9 }, { find = [[\b(SIGSEGV)\b]], number = 11 },
  { find = [[\b(SIGBUS)\b]], number = 7 }, { find = [[\b(SIGABRT)\b]], number = 6 },
  { find = [[\b(SIGFPE)\b]], number = 8 }, { find = [[\b(SIGILL)\b]], number = 4 },
  { find = [[\b(SIGTERM)\b]], number = 15 },
}
pattern "subprocess_signal" {
  about = "Python's own word, as the launchers of Accelerate and of old PyTorch pass it on",
  line = [[died with <Signals\.SIG\w+: (?P<signal>\d+)>]], event = "rank_failed",
  fields = { signal = "signal", local_rank = { find = [[--local[_-]rank=(\d+)]] } },
  texts = { launcher = { text = "subprocess" } },
}
pattern "subprocess_exit" {
  line = [[CalledProcessError: .*returned non-zero exit status (?P<code>\d+)]], event = "rank_failed",
  fields = { exitcode = "code", local_rank = { find = [[--local[_-]rank=(\d+)]] }, signal = by_exit_code },
  texts = { launcher = { text = "subprocess" } },
}
pattern "spawned_process" {
  about = "torch.multiprocessing: the number is that of the process on its node",
  line = [[\bprocess (?P<local>\d+) terminated with (?:signal SIG\w+|exit code (?P<code>\d+))]], event = "rank_failed",
  rank = "local",
  fields = { local_rank = "local", exitcode = "code", signal = by_name }, texts = { launcher = { text = "spawn" } },
}
pattern "lightning_child" {
  line = [[^\[rank: (?P<rank>\d+)\] Child process with PID (?P<pid>\d+) terminated with code (?P<code>-?\d+)]],
  event = "rank_failed", rank = "rank",
  fields = { rank = "rank", exitcode = "code", pid = "pid", signal = signal_of { find = [[code -(\d+)]] } },
  texts = { launcher = { text = "lightning" } },
}
pattern "torchrun_sigkill" {
  line = [[Signal (?P<signal>\d+) \((?P<name>SIG[A-Z]+)\) received by PID (?P<pid>\d+)]], event = "signal_received",
  fields = { signal = "signal", pid = "pid" }, texts = { name = "name" },
}
pattern "worker_group_failed" {
  line = [[Worker group FAILED\. (?P<left>\d+)/\d+ attempts left]], event = "worker_group_restart",
  fields = { left = "left" },
}
pattern "launcher_signal" {
  about = "in its name, I[N]T keeps the letters from being read as a number",
  line = {
    [[Received (?P<signal>\d+) death signal, shutting down workers]], [[got signal: (?P<other>\d+)]],
    [[Received Signals\.SIG(?:TERM|I[N]T|HUP) death signal]], [[Main process received SIG(?:TERM|I[N]T|HUP), exiting]],
  },
  event = "launcher_stopped",
  fields = {
    signal = {
      { "signal" }, { "other" }, { find = [[\b(SIGTERM)\b]], number = 15 }, { find = [[\b(SIGI[N]T)\b]], number = 2 },
      { find = [[\b(SIGHUP)\b]], number = 1 },
    },
  },
}

-- Processes whose rank no line names.
local endings =
  [[(?i:killed|segmentation fault|abort(?:ed)?|bus error|illegal (?:hardware )?instruction|floating point exception)]]
pattern "shell_killed" {
  about = "bash, zsh and make; the word alone, or at the end of a progress bar",
  line = {
    [[line \d+:\s+(?P<pid>\d+) (?P<how>]] .. endings .. [[)]],
    [[^\[\d+\]\s*[-+]?\s+(?:(?P<job>\d+) )?(?:exit \d+ )?]] .. endings .. [[(?: \(core dumped\))?\s{2,}\S]],
    [[^zsh: ]] .. endings, [[\bmake(?:\[\d+\])?: \*\*\* .*\b(?:Killed|Segmentation fault|Aborted)]],
    [[(?:^|[\]*%>)])\s*Killed(?:: 9)?\W*$]],
    [[^\S*sh: (?:line )?\d+: Killed\s*$]],
  },
  event = "process_killed", fields = { pid = { { "pid" }, { "job" } }, signal = by_word },
  texts = { how = { { find = "(" .. endings .. ")" } } },
}
pattern "shell_killed_translated" {
  about = "the word `Killed`, as bash prints it in other languages",
  line = [[(?:^|line \d+: |行 ?\d+[:：] |Zeile \d+: |ligne \d+ ?: )\s*(?:(?P<pid>\d+)\s+)?]] .. either {
    [[已杀死]], [[已殺死]], [[被杀死]], [[强行终止]], [[強制終了]], [[Getötet]], [[Processus arrêté]], [[Terminado \(killed\)]],
    "Matado", "Ucciso", [[Убито]], "Morto",
  } .. [[(?:\s{2,}|\s*$)]],
  event = "process_killed", fields = { pid = "pid", signal = 9 }, texts = { how = { text = "Killed" } },
}
pattern "exit_code_of_signal" {
  about = "128 and the number of the signal, as shells, containers and batch systems report it",
  line = {
    [[(?i)]] .. either {
      [[\b(?:exit(?:ed)?|return(?:ed)?|finished)\b[^.;]{0,24}?(?:code|status)(?: of)?[ :=]*\(?(?:13[25679])\b]],
      [[\bExited \(13[25679]\)]],
    },
    [[(?i)\bexit ?code[ :=]+-(?:4|7|8|9|11)\b]],
  },
  unless = either {
    "srun: error: ", "CalledProcessError", [[exit_?codes?.*,]], [[^\s*exitcode\s*:]], [[failed \(exitcode]],
    [[^launch: ]], "crashed with exit code",
  },
  event = "process_killed",
  fields = {
    signal = {
      { find = [[\b(132)\b]], number = 4 }, { find = [[\b(135)\b]], number = 7 }, { find = [[\b(136)\b]], number = 8 },
      { find = [[\b(137)\b]], number = 9 },
      { find = [[\b(139)\b]], number = 11 }, { find = [[(?i)code[ :=]+-(\d+)]] },
    },
  },
  texts = { how = { find = [[(?i)(exit.*13\d)]] } },
}
pattern "ended_by_signal" {
  line = {
    [[(?i)\b(?:killed|terminated|exited|ended|died|interrupted|crashed|uncaught)]]
      .. [[(?:\s(?:by|on|with|due to|from|after))?\s\(?(?:(?:a|an|exit|fatal)\s)?signal:?\s#?\(?]] .. either {
      [[(?P<signal>\d{1,2})\b]], [=[SIG[A-Z]]=],
    },
    [[systemd\[1\]: .* code=(?:killed|dumped), status=(?P<systemd>\d+)/]],
  },
  unless = [[DataLoader worker|process rank \d+|EXIT STRING|KILLED BY|\bprocess \d+ terminated]],
  event = "process_killed",
  fields = {
    signal = {
      { "signal" }, { "systemd" }, by_name[1], by_name[2], by_name[3], by_name[4], by_name[5], by_name[6], by_name[7],
    },
  },
}
pattern "ray_worker_died" {
  line = either {
    [[The (?:worker|actor) died unexpectedly]], "A worker died or was killed while executing",
    "Worker unexpectedly exits with a connection error",
  },
  event = "process_killed", texts = { how = { text = "a worker of Ray died" } },
}
pattern "pool_worker_died" {
  line = [[A process in the process pool was terminated abruptly|subprocesses has abruptly died during map operation]],
  event = "process_killed", texts = { how = { text = "a worker of a process pool died" } },
}

-- What launchers and trainers print once, when they start: what a log held before the last of them is another start's.
pattern "run_started" {
  line = {
    [[Setting OMP_NUM_THREADS environment variable for each process to be]],
    [[The following values were not passed to `accelerate launch`]], [[^wandb: (?:Tracking run with|Syncing run)\b]],
    [[\bcmd = .{0,120}\bdeepspeed\.launcher\.launch\b]], [[^GPU available: (?:True|False)\b]],
    [[^(?:\[rank: \d+\] )?(?:Seed|Global seed) set to \d]], [[^nohup: ignoring input]],
    [[\*{5} Running training \*{5}]],
    [[\bStart(?:ing)? training from iteration \d]], [[\bStart running, host: ]], [[\bStarted a local Ray instance]],
    [[\bSetting ds_accelerator to \w]], [[^Using \S+ as PyTorch extensions root\.\.\.]],
    [[^[^#]{0,80}[\w\])~/] ?[#$] (?:nohup |srun |CUDA_VISIBLE_DEVICES=\S+ )*]] .. either {
      [[python[\d.]*]], "torchrun", "accelerate launch", "deepspeed",
    } .. [[ \S]],
  },
  event = "run_started",
}
