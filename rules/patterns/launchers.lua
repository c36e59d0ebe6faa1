-- What launchers and schedulers say about ranks and jobs.

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
  line   = [[srun: error: (?P<node>\S+): tasks (?P<tasks>\d+[-,][\d,-]+): (?P<how>Killed|Segmentation fault|Aborted|Bus error|Exited with exit code (?P<code>\d+))]],
  event  = "rank_failed", fields = { exitcode = "code" }, texts = { how = "how", tasks = "tasks", node = "node", launcher = { text = "srun" } },
}
pattern "mpirun_signal" {
  line   = [[process rank (?P<rank>\d+) with PID (?P<pid>\d+) on node (?P<node>\S+) exited on signal (?P<signal>\d+)]], event = "rank_failed", rank = "rank",
  fields = { rank = "rank", pid = "pid", signal = "signal" }, texts = { node = "node", launcher = { text = "mpirun" } },
}
pattern "torchrun_sigkill" { line = [[Signal (?P<signal>\d+) \((?P<name>SIG[A-Z]+)\) received by PID (?P<pid>\d+)]], event = "signal_received",
                             fields = { signal = "signal", pid = "pid" }, texts = { name = "name" } }
pattern "worker_group_failed" { line = [[Worker group FAILED\. (?P<left>\d+)/\d+ attempts left]], event = "worker_group_restart", fields = { left = "left" } }
pattern "launcher_signal" { line = { [[Received (?P<signal>\d+) death signal, shutting down workers]], [[got signal: (?P<other>\d+)]] },
                            event = "launcher_stopped", fields = { signal = { { "signal" }, { "other" } } } }
pattern "shell_killed"    { line = { [[line \d+:\s+(?P<pid>\d+) (?P<how>Killed|Segmentation fault|Aborted|Bus error)]], [[^(?P<alone>Killed)\s*$]] }, event = "process_killed", fields = { pid = "pid" }, texts = { how = { { "how" }, { "alone" } } } }

pattern "time_limit"   { line = { [[CANCELLED AT \S+ DUE TO TIME LIMIT]], [[DUE TO TIME LIMIT \*\*\*]] }, event = "time_limit" }
pattern "preempted"    { line = [[DUE TO PREEMPTION]], event = "preempted" }
pattern "node_failure" { line = { [[DUE TO NODE FAILURE]], [[srun: error: Node failure on (?P<node>\S+)]] }, event = "node_failure", texts = { node = "node" } }
pattern "requeued"     { line = [[DUE TO JOB REQUEUE]], event = "requeued" }
pattern "task_failure" { line = [[DUE TO TASK FAILURE]], event = "task_failure" }
pattern "slurm_cancelled" {
  line   = [[\*\*\* (?P<what>STEP|JOB) (?P<id>\S+) ON (?P<node>\S+) CANCELLED AT (?P<at>[^* ]+)(?: DUE (?:TO|to) (?P<reason>[A-Z][^*,]+))?]],
  event  = "slurm_cancelled", texts = { what = "what", node = "node", reason = { { "reason" }, { text = "none given" } } },
}
pattern "slurm_kill_signal" { line = [[_job_complete: JobId=\S+ WTERMSIG (?P<signal>\d+)]], event = "process_killed", fields = { signal = "signal" } }
pattern "slurm_node_down"   { line = { [[(?:nodes? |Nodes )(?P<node>\S+) not responding, setting DOWN]], [[error: Nodes (?P<nodes>\S+) not responding]] }, event = "node_failure",
                              texts = { node = { { "node" }, { "nodes" } } } }

pattern "host_oom_slurm" { line = { [[Detected (?P<count>\d+) oom[-_ ]kill event]], [[task (?P<rank>\d+): Out Of Memory]], [[Exceeded (?:job|step) memory limit]] },
                           event = "host_oom", fields = { count = "count" }, texts = { step = { find = [[StepId=(\S+?)[. ]*(?:cgroup|Some|$)]] } } }

-- The rendezvous.
pattern "rendezvous_timeout" {
  line   = { [[Timed out after (?P<s>\d+) seconds waiting for clients\. (?P<joined>\d+)/(?P<wanted>\d+) clients joined]], [[RendezvousTimeoutError]],
             [[(?:Socket|socket) Timeout.*(?:TCPStore|rendezvous)|(?:TCPStore|DistStoreError).*(?:[Tt]imed out|Socket Timeout)]] },
  event  = "rendezvous_timeout", fields = { joined = "joined", wanted = "wanted", waited = "s" }, states = { rendezvous = "waiting" },
}
pattern "rendezvous_failed" { line = { [[RendezvousClosedError]], [[RendezvousConnectionError]], [[The client socket has (?:failed to connect|timed out)]], [[rendezvous.*(?:Connection refused|[Cc]losed)]] },
                              event = "rendezvous_failed" }
pattern "port_in_use"       { line = [[(?:errno: 98|EADDRINUSE|Address already in use)]], event = "port_in_use", fields = { port = { find = [[(?:\]|[\d.*?]|localhost):(\d{2,5})\b]] } } }
pattern "rendezvous_waits"  { line = { [[Rendezvous'ing worker group]], [[waiting for (?:all )?(?:\d+ )?clients]], [[^(?:launch|rendezvous): waiting for]] }, states = { rendezvous = "waiting" },
                              unless = [[Timed out]] }
pattern "rendezvous_joined" { line = { [[Rendezvous complete for workers]], [[init_process_group (?:done|succeeded)|process group (?:is )?initiali[sz]ed]], [[All distributed processes registered]] },
                              states = { rendezvous = "joined" } }
