-- Lines of launchers and schedulers about ranks and jobs.

pattern "torchrun_summary" {
  about     = "each failure of torchrun's table, the root cause among them",
  line      = [[^\s*rank\s*: (?P<rank>\d+) \(local_rank: \d+\)]],
  continues = [[^\s*\w+\s*: ]], ends = [[^\s*traceback\s*: ]], lines = 6,
  event     = "rank_failed", rank = "rank",
  fields    = { rank = "rank", exitcode = { find = [[exitcode\s*: (-?\d+)]] }, pid = { find = [[pid: (\d+)]] }, signal = { find = [[Signal (\d+) \(]] } },
  texts     = { launcher = { text = "torchrun" } },
}
pattern "torchrun_failed" {
  line   = [[failed \(exitcode: (?P<code>-?\d+)\) local_rank: (?P<local>\d+) \(pid: (?P<pid>\d+)\) of binary]],
  event  = "rank_failed", fields = { exitcode = "code", local_rank = "local", pid = "pid", signal = { find = [[exitcode: -(\d+)]] } },
  texts  = { launcher = { text = "torchrun" } },
}
pattern "torchelastic_child" {
  about  = "the elastic launcher of PyTorch 1.9 and 1.10, before its table",
  line   = [[^Child process (?P<pid>\d+) \(local_rank (?P<local>\d+)\) FAILED \(exitcode (?P<code>-?\d+)\)]],
  event  = "rank_failed", fields = { exitcode = "code", local_rank = "local", pid = "pid", signal = { find = [[exitcode -(\d+)]] } },
  texts  = { launcher = { text = "torchrun" } },
}
pattern "tocsin_rank_failed" {
  line   = [[^launch: rank (?P<rank>\d+) failed: exitcode: (?P<code>-?\d+)]], event = "rank_failed", rank = "rank",
  fields = { rank = "rank", exitcode = "code", signal = { { find = [[[Ss]ignal (\d+)]] }, { find = [[exitcode: -(\d+)]] } } },
  texts  = { launcher = { text = "launch" } },
}
pattern "srun_signal" {
  line   = [[srun: error: (?P<node>\S+): tasks? (?P<rank>\d+): (?P<how>Killed|Out Of Memory|Segmentation fault|Aborted|Bus error|Illegal instruction|Floating point exception)]],
  event  = "rank_failed", rank = "rank", fields = { rank = "rank", signal = { { find = [[: (Killed)]], number = 9 }, { find = [[: (Segm)]], number = 11 }, { find = [[: (Abort)]], number = 6 },
                              { find = [[: (Bus)]], number = 7 } } },
  texts  = { how = "how", node = "node", launcher = { text = "srun" } },
}
pattern "srun_exit" {
  line   = [[srun: error: (?P<node>\S+): tasks? (?P<rank>\d+): Exited with exit code (?P<code>\d+)]],
  event  = "rank_failed", rank = "rank", fields = { rank = "rank", exitcode = "code" }, texts = { node = "node", launcher = { text = "srun" } },
}
pattern "srun_list" {
  about  = "several tasks at once: the ranks are not one",
  line   = [[srun: error: (?P<node>\S+): tasks (?P<tasks>\d+[-,][\d,-]+): (?P<how>Killed|Out Of Memory|Segmentation fault|Aborted|Bus error|Exited with exit code (?P<code>\d+))]],
  event  = "rank_failed", fields = { exitcode = "code" }, texts = { how = "how", tasks = "tasks", node = "node", launcher = { text = "srun" } },
}
pattern "mpirun_signal" {
  line   = [[process rank (?P<rank>\d+) with PID (?P<pid>\d+) on node (?P<node>\S+) exited on signal (?P<signal>\d+)]], event = "rank_failed", rank = "rank",
  fields = { rank = "rank", pid = "pid", signal = "signal" }, texts = { node = "node", launcher = { text = "mpirun" } },
}
pattern "mpirun_exit" {
  about = "Open MPI and PRRTE, over two lines",
  line  = [=[^\s*Process name: \[\[\w+,\d+\],(?P<rank>\d+)\]]=], continues = [[^\s*Exit code:]], ends = [[^\s*Exit code:]], lines = 2,
  event = "rank_failed", rank = "rank", fields = { rank = "rank", exitcode = { find = [[Exit code: +(\d+)]] } }, texts = { launcher = { text = "mpirun" } },
}
pattern "mpirun_primary" {
  about = "it does not name the rank, and what follows does not always",
  line  = [[^Primary job +terminated normally, but \d+ process(?:es)? returned]], event = "rank_failed",
  fields = { exitcode = { number = 1 } }, texts = { launcher = { text = "mpirun" } },
}
pattern "mpi_abort" {
  about = "a rank that ended its job by itself, as an exception in mpi4py does",
  line  = { [[\bMPI_ABORT was invoked on rank (?P<rank>\d+) in communicator]], [[application called MPI_Abort\(.*\) - process (?P<rank>\d+)]] }, event = "rank_failed", rank = "rank",
  fields = { rank = "rank", exitcode = { { find = [[MPI_Abort\(\w+, (\d+)\)]] }, { number = 1 } } }, texts = { launcher = { text = "mpirun" } },
}
pattern "hydra_signal" {
  about = "mpiexec of MPICH and Intel MPI",
  line  = [[^=\s+KILLED BY SIGNAL: (?P<signal>\d+)|APPLICATION TERMINATED WITH THE EXIT STRING: .*\(signal (?P<named>\d+)\)]], event = "rank_failed",
  fields = { signal = { { "signal" }, { "named" } } }, texts = { launcher = { text = "mpiexec" } },
}
pattern "deepspeed_exit" {
  line   = [[exits with return code = (?P<code>-?\d+)]], event = "rank_failed",
  fields = { exitcode = "code", signal = { find = [[code = -(\d+)]] }, local_rank = { find = [[--local[_-]rank=(\d+)]] } }, texts = { launcher = { text = "deepspeed" } },
}
pattern "composer_exit" {
  line   = [[(?:^Rank|\bGlobal rank) (?P<rank>\d+) (?:\(PID \d+\) )?(?:crashed|exited) with (?:exit )?code (?P<code>-?[1-9]\d*)]], rank = "rank", event = "rank_failed",
  fields = { rank = "rank", exitcode = "code", signal = { find = [[code -(\d+)]] } }, texts = { launcher = { text = "composer" } },
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
  line   = [[\bExecuteUserScriptError:|\bFailed\. Reason: AlgorithmError:]], event = "rank_failed",
  fields = { exitcode = { { find = [[\b[Ee]xit ?[Cc]ode:? (\d+)]] }, { number = 1 } } }, texts = { launcher = { text = "sagemaker" } },
}
pattern "paddle_exit" {
  about  = "Paddle's launchers: the first names the processes that ended by themselves, the second one of them",
  line   = { [[ABORT!!! Out of all \d+ trainers, the trainer process with rank=\[(?P<rank>\d+)]], [[\bContainer rank (?P<rank>\d+) status failed cmd .*\bcode (?P<code>-?\d+)\b]] },
  rank   = "rank", event = "rank_failed", fields = { rank = "rank", exitcode = { { "code" }, { number = 1 } }, signal = { find = [[\bcode -(\d+)]] } },
  texts  = { launcher = { text = "paddle" } },
}
-- The number of a signal that is given by its name, or by its word.
local by_name = { { find = [[\b(SIGKILL)\b]], number = 9 }, { find = [[\b(SIGSEGV)\b]], number = 11 }, { find = [[\b(SIGBUS)\b]], number = 7 }, { find = [[\b(SIGABRT)\b]], number = 6 },
                  { find = [[\b(SIGFPE)\b]], number = 8 }, { find = [[\b(SIGILL)\b]], number = 4 }, { find = [[\b(SIGTERM)\b]], number = 15 } }
pattern "subprocess_signal" {
  about  = "Python's own word, as the launchers of Accelerate and of old PyTorch pass it on",
  line   = [[died with <Signals\.SIG\w+: (?P<signal>\d+)>]], event = "rank_failed",
  fields = { signal = "signal", local_rank = { find = [[--local[_-]rank=(\d+)]] } }, texts = { launcher = { text = "subprocess" } },
}
pattern "subprocess_exit" {
  line   = [[CalledProcessError: .*returned non-zero exit status (?P<code>\d+)]], event = "rank_failed",
  fields = { exitcode = "code", local_rank = { find = [[--local[_-]rank=(\d+)]] } }, texts = { launcher = { text = "subprocess" } },
}
pattern "spawned_process" {
  about  = "torch.multiprocessing: the number is that of the process on its node",
  line   = [[\bprocess (?P<local>\d+) terminated with (?:signal SIG\w+|exit code (?P<code>\d+))]], event = "rank_failed", rank = "local",
  fields = { local_rank = "local", exitcode = "code", signal = by_name }, texts = { launcher = { text = "spawn" } },
}
pattern "torchrun_sigkill" { line = [[Signal (?P<signal>\d+) \((?P<name>SIG[A-Z]+)\) received by PID (?P<pid>\d+)]], event = "signal_received",
                             fields = { signal = "signal", pid = "pid" }, texts = { name = "name" } }
pattern "worker_group_failed" { line = [[Worker group FAILED\. (?P<left>\d+)/\d+ attempts left]], event = "worker_group_restart", fields = { left = "left" } }
pattern "launcher_signal" {
  about = "in its name, I[N]T keeps the letters from being read as a number",
  line  = { [[Received (?P<signal>\d+) death signal, shutting down workers]], [[got signal: (?P<other>\d+)]], [[Received Signals\.SIG(?:TERM|I[N]T|HUP) death signal]], [[Main process received SIG(?:TERM|I[N]T|HUP), exiting]] },
  event = "launcher_stopped", fields = { signal = { { "signal" }, { "other" }, { find = [[\b(SIGTERM)\b]], number = 15 }, { find = [[\b(SIGI[N]T)\b]], number = 2 }, { find = [[\b(SIGHUP)\b]], number = 1 } } },
}

-- Processes whose rank no line names.
local endings = [[(?i:killed|segmentation fault|abort(?:ed)?|bus error|illegal (?:hardware )?instruction|floating point exception)]]
local by_word = { { find = [[(?i)\b(killed)]], number = 9 }, { find = [[(?i)\b(segm)]], number = 11 }, { find = [[(?i)\b(bus error)]], number = 7 },
                  { find = [[(?i)\b(illegal)]], number = 4 }, { find = [[(?i)\b(floating point)]], number = 8 }, { find = [[(?i)\b(abort)]], number = 6 } }
pattern "shell_killed" {
  about  = "bash, zsh and make; the word alone, or at the end of a progress bar",
  line   = { [[line \d+:\s+(?P<pid>\d+) (?P<how>]] .. endings .. [[)]], [[^\[\d+\]\s*[-+]?\s+(?:(?P<job>\d+) )?(?:exit \d+ )?]] .. endings .. [[(?: \(core dumped\))?\s{2,}\S]],
             [[^zsh: ]] .. endings, [[\bmake(?:\[\d+\])?: \*\*\* .*\b(?:Killed|Segmentation fault|Aborted)]], [[(?:^|[\]*%>)])\s*Killed(?:: 9)?\W*$]],
             [[^\S*sh: (?:line )?\d+: Killed\s*$]] },
  event  = "process_killed", fields = { pid = { { "pid" }, { "job" } }, signal = by_word }, texts = { how = { { find = "(" .. endings .. ")" } } },
}
pattern "shell_killed_translated" {
  about  = "the word `Killed`, as bash prints it in other languages",
  line   = [[(?:^|line \d+: |行 ?\d+[:：] |Zeile \d+: |ligne \d+ ?: )\s*(?:(?P<pid>\d+)\s+)?(?:已杀死|已殺死|被杀死|强行终止|強制終了|Getötet|Processus arrêté|Terminado \(killed\)|Matado|Ucciso|Убито|Morto)(?:\s{2,}|\s*$)]],
  event  = "process_killed", fields = { pid = "pid", signal = 9 }, texts = { how = { text = "Killed" } },
}
pattern "exit_code_of_signal" {
  about  = "128 and the number of the signal, as shells, containers and batch systems report it",
  line   = { [[(?i)\b(?:exit(?:ed)?|return(?:ed)?|finished)\b[^.;]{0,24}?(?:code|status)(?: of)?[ :=]*\(?(?:13[25679])\b|\bExited \(13[25679]\)]], [[(?i)\bexit ?code[ :=]+-(?:4|7|8|9|11)\b]] },
  unless = [[srun: error: |CalledProcessError|exit_?codes?.*,|^\s*exitcode\s*:|failed \(exitcode|^launch: |crashed with exit code]],
  event  = "process_killed",
  fields = { signal = { { find = [[\b(132)\b]], number = 4 }, { find = [[\b(135)\b]], number = 7 }, { find = [[\b(136)\b]], number = 8 }, { find = [[\b(137)\b]], number = 9 },
                        { find = [[\b(139)\b]], number = 11 }, { find = [[(?i)code[ :=]+-(\d+)]] } } },
  texts  = { how = { find = [[(?i)(exit.*13\d)]] } },
}
pattern "ended_by_signal" {
  line   = { [[(?i)\b(?:killed|terminated|exited|ended|died|interrupted|crashed|uncaught)(?:\s(?:by|on|with|due to|from|after))?\s\(?(?:(?:a|an|exit|fatal)\s)?signal:?\s#?\(?(?:(?P<signal>\d{1,2})\b|SIG[A-Z])]], [[systemd\[1\]: .* code=(?:killed|dumped), status=(?P<systemd>\d+)/]] },
  unless = [[DataLoader worker|process rank \d+|EXIT STRING|KILLED BY|\bprocess \d+ terminated]],
  event  = "process_killed", fields = { signal = { { "signal" }, { "systemd" }, by_name[1], by_name[2], by_name[3], by_name[4], by_name[5], by_name[6], by_name[7] } },
}
pattern "ray_worker_died" {
  line   = [[The (?:worker|actor) died unexpectedly|A worker died or was killed while executing|Worker unexpectedly exits with a connection error]],
  event  = "process_killed", texts = { how = { text = "a worker of Ray died" } },
}
pattern "pool_worker_died" {
  line   = [[A process in the process pool was terminated abruptly|subprocesses has abruptly died during map operation]],
  event  = "process_killed", texts = { how = { text = "a worker of a process pool died" } },
}

-- The scheduler's reasons: Slurm's daemons, `scontrol show job`, `seff` and `sacct`, LSF, PBS, Grid Engine, HTCondor, Flux, Kubernetes, and the
-- notices of clouds that take their machines back.
local conditional = [[(?i)\b(?:if|when|before|until|once|unless|whether|handlers?|hook)\b]]
pattern "time_limit" {
  line  = { [[DUE TO TIME LIMIT]], [[has exceeded its time limit and its allocation]], [[Time limit exhausted for JobId]], [[\bTERM_RUNLIMIT\b]], [[PBS: job killed: walltime]],
            [[\bJobState=TIMEOUT\b]], [[^State: TIMEOUT\b]], [[\sTIMEOUT\s+\d+:\d+\s*$]], [[(?i)\bexceed(?:ed|s) (?:(?:its|the|hard|soft|allowed|max|maximum) ){0,3}wall[- ]?(?:time|clock)\b]],
            [[(?i)\bwall[- ]?(?:time|clock)(?: time)?(?: limit)? (?:was |has been |is )?(?:exceeded|reached|expired)\b]], [[longer than specified deadline]], [[\bresource allocation expired\b]],
            [[\bMaxRuntimeExceeded\b]] },
  unless = conditional, event = "time_limit",
}
pattern "preempted" {
  line  = { [[DUE TO PREEMPTION]], [[(?i)\b(?:job|task|pod|node|instance|jobid=\S+|cluster \S+)\s[^.,;]{0,40}?\b(?:was|has been|is being|got|is) preempted\b]], [[\bpreempted (?:JobId=|job )\S+]],
            [[\bRequeuing JobId=\S+ due to preemption]], [[\bJobState=PREEMPTED\b]], [[^State: PREEMPTED\b]], [[\sPREEMPTED\s+\d+:\d+\s*$]], [[\bTERM_PREEMPT\b]], [[\bpreempting job\b]],
            [[\bPreempted by (?:a )?(?:pod\b|\S+/\S+)]], [[\bcompute\.instances\.preempted\b]], [["EventType": ?"Preempt"]], [[^(?:004 \([\d.]+\) .*)?Job was evicted\.]],
            [[(?i)\bspot (?:instance )?(?:interruption|termination) (?:notice|warning|payload|signal) (?:was |has been |is )?(?:received|detected|triggered|issued)\b]],
            [[(?i)\binstance (?:is going to be|will be) (?:interrupted|reclaimed|preempted)\b]], [[\bMarking for deletion Pod\b]], [[\bterminated in response to imminent node shutdown\b]],
            [[(?i)\b(?:terminated|killed|stopped|evicted|cancell?ed|lost|interrupted|requeued),?\s(?:because of|due to|by) (?:\w+ )?preempt(?:ion)?\b]],
            [[\breason: MPIJobEvicted\b|\b[1-9]\d*/\d+ workers are evicted]], [[\bHost EC2 \(instance i-\w+\) (?:was )?terminated]], [[\bago\b.*\sRECOVERING\s*$]],
            [[\bEvent:PodEvicted\b]], [[\b(?:Workload)?EvictedDueToPreempted\b|\bPreempted to accommodate a (?:higher priority )?[Ww]orkload\b]] },
  unless = [[(?i)\b(?:if|when|before|until|once|unless|whether|handlers?|hook|resum\w+|restored|0 \w+ preempted|not preempted)\b|\bCancelling deletion\b]], event = "preempted",
}
pattern "node_failure" {
  line  = { [[DUE TO NODE FAIL]], [[(?:srun|salloc|sbatch): error: Node failure on (?P<node>\S+)]], [[Killing JobId=\S+ on failed node (?P<failed>\S+)]],
            [[\bJobId=\S+ due to failure of node (?P<requeued>\S+)]], [[\bJobState=NODE_FAIL\b]], [[^State: NODE_FAIL\b]], [[\sNODE_FAIL\s+\d+:\d+\s*$]], [[\(node failure\)]],
            [[\bnode name: (?P<ray>[^\s,]+) has been marked dead\b]], [[\bThe node with .{0,120}has been marked dead because\b]], [[\bthis node manager has (?:mistakenly )?been marked (?:as )?dead\b|\b(?:died|dead) because its node has died\b|\bOwner's node has crashed\b|\bNodeDiedError: ]], [[\bNode (?P<unready>\S+) status is now: NodeNotReady\b]],
            [[\bthe node it was running on (?:is|was) (?:dead|unavailable)\b]], [[\s\d+/\d+\s+NodeLost\s]],
            [[\bNode (?P<lost>\S+) which was running pod \S+ is unresponsive]], [[\bCan not reconnect to \S+, rescheduling job]],
            [[\bunable to reach the execution host]] },
  event = "node_failure", texts = { node = { { "node" }, { "failed" }, { "requeued" }, { "ray" }, { "unready" }, { "lost" } } },
}
pattern "mpi_daemon_lost" {
  about     = "Open MPI and PRRTE, over some lines: the daemon of a node no longer answers",
  line      = [[\b(?:ORTE|PRRTE|PRTE) has lost communication with (?:a remote|its) daemon]], continues = [[^\s*(?:$|(?:HNP|PRTE|Remote) daemon ?:|hostname:)]], ends = [[^\s*(?:Remote daemon ?:|hostname:)]], lines = 5,
  event     = "node_failure", texts = { node = { { find = [[Remote daemon ?:.* on node (\S+)]] }, { find = [[hostname:\s+(\S+)]] } } },
}
pattern "requeued"     { line = [[DUE TO JOB REQUEUE]], event = "requeued" }
pattern "task_failure" { line = [[DUE TO TASK FAILURE]], event = "task_failure" }
pattern "slurm_cancelled" {
  line   = [[\*\*\* (?P<what>STEP|JOB) (?P<id>\S+) ON (?P<node>\S+) CANCELLED AT (?P<at>[^* ]+)(?: DUE (?:TO|to) (?P<reason>[A-Z][^*,]+))?]],
  event  = "slurm_cancelled", texts = { what = "what", node = "node", reason = { { "reason" }, { text = "none given" } } },
}
pattern "slurm_kill_signal" { line = [[_job_complete: JobId=\S+ WTERMSIG (?P<signal>\d+)]], event = "process_killed", fields = { signal = "signal" } }
pattern "slurm_node_down"   { line = { [[(?:nodes? |Nodes )(?P<node>\S+) not responding, setting DOWN]], [[error: Nodes (?P<nodes>\S+) not responding]] }, event = "node_failure",
                              texts = { node = { { "node" }, { "nodes" } } } }

pattern "host_oom_slurm" {
  line   = { [[Detected (?P<count>\d+) oom[-_ ]kill event]], [[task (?P<rank>\d+): Out Of Memory]], [[(?i)\bexceeded (?:job |step |virtual )?memory limit\b]], [[\bJobState=OUT_OF_MEMORY\b]], [[^State: OUT_OF_MEMORY\b]] },
  event  = "host_oom", fields = { count = "count" }, texts = { step = { find = [[StepId=(\S+?)[. ]*(?:cgroup|Some|$)]] } },
}
pattern "host_oom_batch" { line = { [[\bTERM_MEMLIMIT\b]], [[PBS: job killed: \w*mem ]], [[\bJob has gone over memory limit of \d+]], [[\sOUT_OF_MEMORY\s+\d+:\d+\s*$]] }, event = "host_oom" }
pattern "host_oom_kubernetes" {
  line  = { [[\bOOMKilled\b]], [[The node was low on resource: memory]], [[The node had condition: \[MemoryPressure]] }, unless = [[(?i)oomkilled["']?\s*[:=]\s*["']?(?:false|0)]], event = "host_oom",
}
pattern "host_oom_ray" {
  line = [[Task was killed due to the node running low on memory|killed due to memory pressure \(OOM\)]], unless = [[\b0 Workers \(tasks / actors\) killed]], event = "host_oom",
}
pattern "host_oom_daemon" { about = "oomd and earlyoom end processes before the kernel has to", line = [[systemd-oomd\S* Killed |systemd\[1\]: .*\b(?:Failed with result 'oom-kill'|killed by the OOM killer)|earlyoom\S* sending SIG(?:KILL|TERM) to process (?P<pid>\d+)]], event = "host_oom", fields = { pid = "pid" } }

-- The rendezvous.
pattern "rendezvous_timeout" {
  line   = { [[Timed out after (?P<s>\d+) seconds waiting for clients\. (?P<joined>\d+)/(?P<wanted>\d+) clients joined]], [[RendezvousTimeout(?:Error|Exception)]],
             [[Timed out initializing process group in store based barrier.*world_size=(?P<world>\d+), worker_count=(?P<there>\d+)]],
             [[(?:Socket|socket) Timeout.*(?:TCPStore|rendezvous)|(?:TCPStore|DistStoreError).*(?:[Tt]imed out|[Tt]imeout)]],
             [[is setting up NCCL communicator and retr\w+ ncclUniqueId from .* got error]], [[gloo/rendezvous/\S+\] Wait timeout for key]], [[connect\(\) timed out\. Original timeout was]],
             [[DEADLINE_EXCEEDED: .*(?:Barrier timed out|coordination service|RegisterTask)]], [[Timed out waiting for tasks to start]], [[\bbootstrap\.cc:\d+ CCOM WARN Timeout waiting for incoming connection]] },
  event  = "rendezvous_timeout", fields = { joined = { { "joined" }, { "there" } }, wanted = { { "wanted" }, { "world" } }, waited = "s" }, states = { rendezvous = "waiting" },
}
pattern "rendezvous_failed" {
  line   = { [[RendezvousClosedError]], [[RendezvousConnectionError]], [[The client socket has timed out]], [[rendezvous.*(?:Connection refused|[Cc]losed)]], [[The connection to the C10d store has failed]],
             [[\bDistNetworkError\b]], [[Gloo connectFullMesh failed]], [[gloo/transport/\S+\] (?:connect|Connect timeout) \[]], [[This may indicate a possible application crash on rank 0 or a network set ?up issue]],
             [[Stop_waiting response is expected]], [[\bhost not found: ]], [[EtcdConnectionFailed]] },
  unless = [[EADDRINUSE|Address already in use]], event = "rendezvous_failed",
}
pattern "rendezvous_trouble" {
  about  = "PyTorch tries again after these, and most often with success",
  line   = { [[The client socket has failed to connect]], [[network addresses of .* cannot be retrieved]], [[Waiting in store based barrier to initialize process group]],
             [[server socket on \S+ has timed out, will retry]], [[\bCCOM WARN Timeout waiting for RX .*retrying]] },
  event  = "rendezvous_trouble", states = { rendezvous = "waiting" },
}
pattern "port_in_use" {
  line   = [[(?:errno: 98|EADDRINUSE|Address already in use|Tried to launch distributed communication on port)]],
  event  = "port_in_use", fields = { port = { find = [[(?:\]|[\d.*?]|localhost|port:?) ?[:`]?(\d{2,5})\b]] } },
}
pattern "rendezvous_waits"  { line = { [[Rendezvous'ing worker group]], [[waiting for (?:all )?(?:\d+ )?clients]], [[^(?:launch|rendezvous): waiting for]] }, states = { rendezvous = "waiting" },
                              unless = [[Timed out]] }
pattern "rendezvous_joined" { line = { [[Rendezvous complete for workers]], [[init_process_group (?:done|succeeded)|process group (?:is )?initiali[sz]ed]], [[All distributed processes registered]] },
                              states = { rendezvous = "joined" } }

-- What launchers and trainers print once, when they start: what a log held before the last of them is another start's.
pattern "run_started" {
  line  = { [[Setting OMP_NUM_THREADS environment variable for each process to be]], [[The following values were not passed to `accelerate launch`]], [[^wandb: (?:Tracking run with|Syncing run)\b]],
            [[\bcmd = .{0,120}\bdeepspeed\.launcher\.launch\b]], [[^GPU available: (?:True|False)\b]], [[^(?:\[rank: \d+\] )?(?:Seed|Global seed) set to \d]], [[^nohup: ignoring input]], [[\*{5} Running training \*{5}]],
            [[\bStart(?:ing)? training from iteration \d]], [[\bStart running, host: ]], [[\bStarted a local Ray instance]], [[\bSetting ds_accelerator to \w]], [[^Using \S+ as PyTorch extensions root\.\.\.]], [[^[^#]{0,80}[\w\])~/] ?[#$] (?:nohup |srun |CUDA_VISIBLE_DEVICES=\S+ )*(?:python[\d.]*|torchrun|accelerate launch|deepspeed) \S]] },
  event = "run_started",
}
