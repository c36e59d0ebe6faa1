-- The scheduler's reasons for the end of a job: Slurm's daemons, `scontrol show job`, `seff` and `sacct`, LSF, PBS,
-- Grid Engine, HTCondor, Flux, Kubernetes, and the notices of clouds that take their machines back.

local conditional = [[(?i)\b(?:if|when|before|until|once|unless|whether|handlers?|hook)\b]]
pattern "time_limit" {
  line = {
    [[DUE TO TIME LIMIT]], [[has exceeded its time limit and its allocation]], [[Time limit exhausted for JobId]],
    [[\bTERM_RUNLIMIT\b]], [[PBS: job killed: walltime]],
    [[\bJobState=TIMEOUT\b]], [[^State: TIMEOUT\b]], [[\sTIMEOUT\s+\d+:\d+\s*$]],
    [[(?i)\bexceed(?:ed|s) (?:(?:its|the|hard|soft|allowed|max|maximum) ){0,3}wall[- ]?(?:time|clock)\b]],
    [[(?i)\bwall[- ]?(?:time|clock)(?: time)?(?: limit)? (?:was |has been |is )?(?:exceeded|reached|expired)\b]],
    [[longer than specified deadline]], [[\bresource allocation expired\b]],
    [[\bMaxRuntimeExceeded\b]],
  },
  unless = conditional, event = "time_limit",
}
pattern "preempted" {
  line = {
    [[DUE TO PREEMPTION]],
    [[(?i)\b]] .. either { "job", "task", "pod", "node", "instance", [[jobid=\S+]], [[cluster \S+]] }
      .. [[\s[^.,;]{0,40}?\b(?:was|has been|is being|got|is) preempted\b]],
    [[\bpreempted (?:JobId=|job )\S+]],
    [[\bRequeuing JobId=\S+ due to preemption]], [[\bJobState=PREEMPTED\b]], [[^State: PREEMPTED\b]],
    [[\sPREEMPTED\s+\d+:\d+\s*$]], [[\bTERM_PREEMPT\b]], [[\bpreempting job\b]],
    [[\bPreempted by (?:a )?(?:pod\b|\S+/\S+)]], [[\bcompute\.instances\.preempted\b]], [["EventType": ?"Preempt"]],
    [[^(?:004 \([\d.]+\) .*)?Job was evicted\.]],
    [[(?i)\bspot (?:instance )?(?:interruption|termination) (?:notice|warning|payload|signal)]]
      .. [[ (?:was |has been |is )?]] .. either { "received", "detected", "triggered", "issued" } .. [[\b]],
    [[(?i)\binstance (?:is going to be|will be) (?:interrupted|reclaimed|preempted)\b]],
    [[\bMarking for deletion Pod\b]], [[\bterminated in response to imminent node shutdown\b]],
    [[(?i)\b(?:terminated|killed|stopped|evicted|cancell?ed|lost|interrupted|requeued)]]
      .. [[,?\s(?:because of|due to|by) (?:\w+ )?preempt(?:ion)?\b]],
    [[\breason: MPIJobEvicted\b|\b[1-9]\d*/\d+ workers are evicted]],
    [[\bHost EC2 \(instance i-\w+\) (?:was )?terminated]], [[\bago\b.*\sRECOVERING\s*$]],
    [[\bEvent:PodEvicted\b]],
    [[\b(?:Workload)?EvictedDueToPreempted\b|\bPreempted to accommodate a (?:higher priority )?[Ww]orkload\b]],
  },
  unless = [[(?i)]] .. either {
    [[\b(?:if|when|before|until|once|unless|whether|handlers?|hook|resum\w+|restored|0 \w+ preempted|not preempted)\b]],
    [[\bCancelling deletion\b]],
  },
  event = "preempted",
}
pattern "node_failure" {
  line = {
    [[DUE TO NODE FAIL]], [[(?:srun|salloc|sbatch): error: Node failure on (?P<node>\S+)]],
    [[Killing JobId=\S+ on failed node (?P<failed>\S+)]],
    [[\bJobId=\S+ due to failure of node (?P<requeued>\S+)]], [[\bJobState=NODE_FAIL\b]], [[^State: NODE_FAIL\b]],
    [[\sNODE_FAIL\s+\d+:\d+\s*$]], [[\(node failure\)]],
    [[\bnode name: (?P<ray>[^\s,]+) has been marked dead\b]],
    [[\bThe node with .{0,120}has been marked dead because\b]],
    [[\bthis node manager has (?:mistakenly )?been marked (?:as )?dead\b]],
    [[\b(?:died|dead) because its node has died\b]], [[\bOwner's node has crashed\b]], [[\bNodeDiedError: ]],
    [[\bNode (?P<unready>\S+) status is now: NodeNotReady\b]],
    [[\bthe node it was running on (?:is|was) (?:dead|unavailable)\b]], [[\s\d+/\d+\s+NodeLost\s]],
    [[\bNode (?P<lost>\S+) which was running pod \S+ is unresponsive]],
    [[\bCan not reconnect to \S+, rescheduling job]],
    [[\bunable to reach the execution host]],
  },
  event = "node_failure",
  texts = { node = { { "node" }, { "failed" }, { "requeued" }, { "ray" }, { "unready" }, { "lost" } } },
}
pattern "mpi_daemon_lost" {
  about = "Open MPI and PRRTE, over some lines: the daemon of a node no longer answers",
  line = [[\b(?:ORTE|PRRTE|PRTE) has lost communication with (?:a remote|its) daemon]],
  continues = [[^\s*(?:$|(?:HNP|PRTE|Remote) daemon ?:|hostname:)]], ends = [[^\s*(?:Remote daemon ?:|hostname:)]],
  lines = 5,
  event = "node_failure",
  texts = { node = { { find = [[Remote daemon ?:.* on node (\S+)]] }, { find = [[hostname:\s+(\S+)]] } } },
}
pattern "requeued"     { line = [[DUE TO JOB REQUEUE]], event = "requeued" }
pattern "task_failure" { line = [[DUE TO TASK FAILURE]], event = "task_failure" }
pattern "slurm_cancelled" {
  line =
    [[\*\*\* (?P<what>STEP|JOB) (?P<id>\S+) ON (?P<node>\S+) CANCELLED AT (?P<at>[^* ]+)]]
    .. [[(?: DUE (?:TO|to) (?P<reason>[A-Z][^*,]+))?]],
  event = "slurm_cancelled",
  texts = { what = "what", node = "node", reason = { { "reason" }, { text = "none given" } } },
}
pattern "slurm_kill_signal" {
  line = [[_job_complete: JobId=\S+ WTERMSIG (?P<signal>\d+)]], event = "process_killed",
  fields = { signal = "signal" },
}
pattern "slurm_node_down" {
  line = {
    [[(?:nodes? |Nodes )(?P<node>\S+) not responding, setting DOWN]], [[error: Nodes (?P<nodes>\S+) not responding]],
  },
  event = "node_failure",
  texts = { node = { { "node" }, { "nodes" } } },
}

pattern "host_oom_slurm" {
  line = {
    [[Detected (?P<count>\d+) oom[-_ ]kill event]], [[task (?P<rank>\d+): Out Of Memory]],
    [[(?i)\bexceeded (?:job |step |virtual )?memory limit\b]], [[\bJobState=OUT_OF_MEMORY\b]],
    [[^State: OUT_OF_MEMORY\b]],
  },
  event = "host_oom", fields = { count = "count" },
  texts = { step = { find = [[StepId=(\S+?)[. ]*(?:cgroup|Some|$)]] } },
}
pattern "host_oom_batch" {
  line = {
    [[\bTERM_MEMLIMIT\b]], [[PBS: job killed: \w*mem ]], [[\bJob has gone over memory limit of \d+]],
    [[\sOUT_OF_MEMORY\s+\d+:\d+\s*$]],
  },
  event = "host_oom",
}
pattern "host_oom_kubernetes" {
  line = { [[\bOOMKilled\b]], [[The node was low on resource: memory]], [[The node had condition: \[MemoryPressure]] },
  unless = [[(?i)oomkilled["']?\s*[:=]\s*["']?(?:false|0)]], event = "host_oom",
}
pattern "host_oom_ray" {
  line = [[Task was killed due to the node running low on memory|killed due to memory pressure \(OOM\)]],
  unless = [[\b0 Workers \(tasks / actors\) killed]], event = "host_oom",
}
pattern "host_oom_daemon" {
  about = "oomd and earlyoom end processes before the kernel has to",
  line = either {
    [[systemd-oomd\S* Killed ]], [[systemd\[1\]: .*\b(?:Failed with result 'oom-kill'|killed by the OOM killer)]],
    [[earlyoom\S* sending SIG(?:KILL|TERM) to process (?P<pid>\d+)]],
  },
  event = "host_oom", fields = { pid = "pid" },
}
