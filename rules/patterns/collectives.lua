-- NCCL, gloo and PyTorch's watchdog.

pattern "watchdog_timeout" {
  about = "a collective did not end in time; the rank is the one that waited",
  line =
    [[(?:Rank (?P<rank_of_group>\d+)\] )?Watchdog caught collective operation timeout\b]]
    .. [[(?:: Work\w+\((?:SeqNum=(?P<seq>\d+), )?OpType=(?P<op>\w+))?]],
  event = "collective_timeout", rank_if_unknown = "rank_of_group",
  fields = {
    seq = "seq", timeout_ms = { find = [[Timeout\(ms\)=(\d+)]] }, ran_ms = { find = [[ran for (\d+) milliseconds]] },
  },
  texts = { op = "op" },
}
pattern "watchdog_work" {
  about =
    "the numbers are those of one process group: two ranks' may be of two groups, so they are not counts of the rank",
  line = [[(?:Rank (?P<rank_of_group>\d+)\] )?(?:[\w() ]+)?]] .. either {
    [[detected by watchdog at work(?: sequence id)?]], [[Timeout at \w+ work]],
  }
    .. [[: (?P<seq>\d+).*\blast enqueued (?:\w+ )?work: (?P<enqueued>-?\d+), ]]
    .. [[last completed (?:\w+ )?work: (?P<completed>-?\d+)]],
  event = "collective_timeout", rank_if_unknown = "rank_of_group",
  fields = { seq = "seq", last_enqueued = "enqueued", last_completed = "completed" },
}
pattern "watchdog_stuck" {
  line   = [[watchdog got stuck for (?P<s>\d+) seconds]], event = "watchdog_stuck", fields = { seconds = "s" },
}
pattern "engine_unanswered" {
  about = "engines that generate, beside or within a training: their workers, which compute as one group, no longer "
    .. "answer (vLLM, SGLang)",
  line = { [[\bRPC call to \w+ timed out\b]], [[(?i)\bwatchdog timeout \(self\.watchdog_timeout=(?P<s>\d+)]] },
  unless = [[self\.soft=True]],
  event = "watchdog_stuck", fields = { seconds = "s" },
}
pattern "heartbeat_lost" {
  line = either {
    [[[Tt]erminating the process after attempting to dump debug info]], "Heartbeat monitor timed out",
    "possible GIL induced hang",
  },
  unless = [[got stuck for]], event = "watchdog_stuck",
}
pattern "watchdog_elsewhere" {
  about = "another rank's watchdog gave up and notified all: the line does not show whether this rank waited, or was "
    .. "waited for",
  line = either {
    [[Received a (?:dump|timeout) signal due to a collective timeout]],
    [[Received a (?:global )?timeout (?:signal )?from another rank]],
    "Observed flight recorder dump signal from another rank",
  },
  event = "collective_timeout_reported",
  fields = {
    last_enqueued = { find = [[ast enqueued (?:\w+ )?work: (-?\d+)]] },
    last_completed = { find = [[last completed (?:\w+ )?work: (-?\d+)]] },
  },
}
pattern "monitored_barrier" {
  about  = "it names the rank that did not come",
  line   = [[\bRanks? (?P<missing>\d+)[\d, ]* failed to pass monitoredBarrier]],
  event  = "barrier_missed", rank = "missing", fields = { missing = "missing" },
}
pattern "barrier_waited" {
  about  = "this rank came to the barrier, and waited",
  line   = [[(?:Rank (?P<came>\d+)\]?:? )?successfully reached monitoredBarrier, but received errors]],
  event  = "collective_timeout", rank_if_unknown = "came",
}
pattern "horovod_stall" {
  about = "Horovod says after a minute that some ranks have not asked for a collective that others have",
  line = {
    [[submitted to be reduced, gathered or broadcasted by subset of ranks]], [[\[missing ranks: (?P<missing>\d+)]],
  },
  event = "collective_stalled", fields = { missing = "missing" },
}
pattern "horovod_missing" {
  about = "where it is one, and the same for all: which one",
  line = [=[\[missing ranks: (?P<missing>\d+)\]]=], event = "collective_unasked", rank = "missing",
  fields = { missing = "missing" },
}
pattern "horovod_missing_ranks" {
  about = "newer versions list a rank a line, with what it has not asked for",
  line = [[^(?:\[\d+,\d+\]<std(?:err|out)>:)?\s*(?P<missing>\d{1,6}): \[[\w./-]*(?i:]] .. either {
    "horovod", "allreduce", "allgather", "broadcast", "alltoall",
  } .. [[)]],
  event = "collective_unasked", rank = "missing", fields = { missing = "missing" },
}
pattern "nccl_warn" {
  about = "what steps survive is information; of its own end NCCL warns as well",
  line = [[NCCL WARN (?P<message>.+)]], event = "nccl_warning",
  unless = "NCCL WARN " .. either {
    [[(?:[^:]*: ?)?]] .. either {
      "SHARP", "CollNet", [[Call to ibv_(?:open_device|query_device|get_device_list)\b]], [[NCCL_\w+ (?:is |set )]],
      [[.*\b]] .. either {
        "not supported", "not found", "not available", "unsupported", "deprecated", "falling back", "ignored",
        "ignoring", [[using [\w -]+ instead]],
      } .. [[\b]],
    },
    [[(?:NET/\w+|MNNVL|GPU Direct|NVLS)[^:]*: ?(?:No |Unable to|disabled|not )]], "Missing ",
    [[Failed to (?:open|find) ]], [[Could not (?:open|find|load|enable) ]], "Cuda failure 'the provided PTX",
    [[\w+ set by environment]], [[\[Service thread\] (?:Accept failed|Could not receive type)]],
    [[.*\b]] .. either {
      [[[Gg]ot non-fatal async event\b]],
      [[Got async event ?: (?:client reregistration|GID table change|P_Key table change|SM change|port active)]],
    },
    [[.*\boperation (?:Close|Stop)\b]],
  },
  texts = {
    message = "message", place = { find = [[(\S+\.(?:cc|cu|h):?[: ]\d+) NCCL WARN]] },
    node = { find = [=[(\S+?):\d+:\d+ \[\d+\]]=] },
  },
  fields = { device = { find = [=[:\d+:\d+ \[(\d+)\]]=] } },
}
pattern "nccl_error" {
  line = {
    [[NCCL error in: (?P<where>\S+)]],
    [[ncclUnhandledCudaError|ncclSystemError|ncclInternalError|ncclRemoteError|ncclInvalidUsage|ncclInvalidArgument]],
    [[NCCL communicator was aborted(?: on rank (?P<rank>\d+))?]],
    [[NCCL Error \d+: (?P<what>.+)]], [[\bNCCL: (?:unhandled|internal|invalid|remote)]],
    [[NCCL communicator encountered error]], [[\basync(?:hronous)? NCCL error: (?P<async>\w.*)]],
    [[Detected mismatch between collectives on ranks]],
    [[Some \w+ operations have failed or timed out]], [[\bNCCL operation nccl\w+\(.*\) failed: (?P<jax>\w[\w ]*)]],
  },
  event = "nccl_error", rank_if_unknown = "rank",
  texts = {
    message = {
      { "jax" }, { "async" },
      {
        find = [[(]] .. either {
          [[nccl[A-Z]\w+]], [[(?:NCCL: )?unhandled \w+ error]], [[NCCL Error \d+: [^,]+]], "was aborted",
          "encountered error", "mismatch between collectives", "failed or timed out",
        } .. [[[^,.]*)]],
      },
    },
  },
}
pattern "hccl_timeout" {
  about = "Huawei's library: a record from another rank did not come",
  line = {
    [[wait execution of the Notify register times out]], [[(?i)\bhccl \w+ task timeout]],
    [[\breason=\[(?:stream sync|task|event wait|notify wait) ?timeout]],
  },
  event = "collective_timeout", fields = { missing = { find = [=[remote rank:? ?\[(\d{1,6})\]]=] } },
  texts = { op = { find = [=[tag\[(\w+?)_]=] } },
}
pattern "hccl_error" {
  line = {
    [[\bHCCL (?:function )?error\b]], [[\bHccl[A-Z]\w+, error code is \d+]], [[\bEI0006: .*(?:times? out|timed out)]],
  },
  event = "nccl_error",
  texts = { message = { find = [[(HCCL (?:function )?error[^,]*|Hccl[A-Z]\w+, error code is \d+|EI0006)]] } },
}
pattern "deepep_timeout" {
  about = "DeepEP, which carries tokens to experts: this rank waited for one that did not send",
  line = [[\bDeepEP (?:timeout check failed(?:: rank = (?P<rank_of_group>\d+))?|error: timeout|[\w ]{1,40} timeout, )]],
  event = "collective_timeout", rank_if_unknown = "rank_of_group",
}
pattern "jax_barrier" {
  about = "JAX's coordination service names the tasks that did not come to a barrier of steps; the one of the start "
    .. "is a rendezvous",
  line = [[Barrier timed out\..*]] .. either {
    [[[Tt]imed out task names]], [[tasks? (?:that )?(?:have )?(?:not|never) (?:arrived|reached|joined)[^:]*]],
  } .. [[:? *\S*/task:(?P<missing>\d+)]],
  unless = [[PjRT_Client_Connect|[Ss]tart|Connect]], event = "barrier_missed", rank = "missing",
  fields = { missing = "missing" },
}
pattern "jax_never_came" {
  about = "the barrier of the start",
  line = [[Barrier timed out\..*]] .. either { "PjRT_Client_Connect", [[[Ss]tart]], "Connect" }
    .. [[.*[Tt]imed out task names:? *\S*/task:(?P<missing>\d+)]],
  event = "rendezvous_missed", rank = "missing", fields = { missing = "missing" },
}
pattern "jax_never_came_either" {
  about = "where several tasks did not come, their names stand on lines of their own",
  line = [[^/job:\w+/replica:\d+/task:(?P<missing>\d+)$]], event = "rendezvous_missed", rank = "missing",
  fields = { missing = "missing" },
}
pattern "jax_task_lost" {
  about = "other tasks learn that one is gone",
  line = {
    [[tasks? (?:is|are) unhealthy \(stopped sending heartbeats\)]], [[JAX distributed service detected fatal errors]],
    [[[Pp]olled an error from (?:the )?coordination service]],
    [[coordination (?:service|agent).*\b(?:heartbeat timeout|task has failed|is in error)\b]],
  },
  unless = [[/task:\d+ heartbeat timeout\b]],
  event = "peer_lost", texts = { peer = { find = [[(/job:\S+?/task:\d+)]] } },
}
pattern "jax_heartbeat" {
  about = "JAX's coordination service names the task that no longer answers",
  line = [[/task:(?P<missing>\d+) heartbeat timeout\b]], event = "barrier_missed", rank = "missing",
  fields = { missing = "missing" },
}
pattern "tpu_worker_lame" {
  about = "TensorFlow's client of a TPU: a worker that no longer sends heartbeats, as where it is preempted",
  line = [[\blame workers found: HeartbeatManager\(\S*/task:(?P<missing>\d+)]], event = "barrier_missed",
  rank = "missing", fields = { missing = "missing" },
}
pattern "xla_rendezvous_waits" {
  about = "XLA: some of a program's devices have not come to a collective",
  line = either {
    [[This thread has been waiting for .* and may be stuck]],
    [[Expected \d+ threads to join the rendezvous, but (?:not all|only)]],
  },
  event = "collective_stalled",
}
pattern "xla_rendezvous_failed" {
  line = [[Termination timeout for .*rendezvous.* exceeded|Exiting to ensure a consistent program state]],
  event = "collective_timeout",
}
pattern "megascale_hang" {
  about = "libtpu, across slices: its own watch over collectives", line = [[\bMegascale detect(?:s|ed) a hang\b]],
  event = "collective_timeout",
}
pattern "nccl_retry" {
  line = [[NCCL (?:INFO|WARN).*(?:timeout|Timeout|retry|Connection (?:reset|refused|closed))]],
  scan = [[timeout|Timeout|retry|Connection (?:reset|refused|closed)]], event = "nccl_trouble",
}
pattern "nccl_sockets" {
  about = "no fast transport: everything goes over TCP", line = [[NCCL INFO Using network Socket]],
  event = "nccl_sockets",
}
pattern "gloo_closed" {
  line = {
    [[gloo/transport/tcp/\S+\] (?:Connection closed by peer|Read error)]],
    [[\[\S*gloo\S*\] (?:Connection (?:closed|reset) by peer|Socket closed)]],
  },
  event = "peer_lost", texts = { peer = { find = [=[peer \[([^\]]+)\]]=] } },
}
pattern "horovod_shut_down" {
  about = "a rank learns that another one has ended, or that none asks for what it asks for",
  line = [[Horovod has been shut down]], event = "peer_lost",
}
pattern "gloo_timeout" {
  about = "gloo's own watchdog: this rank waited",
  line = {
    [[\bTimed out waiting (?P<ms>\d+)ms for (?P<op>send|recv) operation]], [[Application timeout caused pair closure]],
  },
  event = "collective_timeout", fields = { timeout_ms = "ms" }, texts = { op = "op" },
}
pattern "peer_connection" {
  line = either {
    [[Broken pipe.*(?:TCPStore|recvValue|sendBytes)]],
    [[(?:recvValue|sendBytes|TCPStore).*(?:Broken pipe|failed|Connection (?:reset|closed))]],
  },
  event = "peer_lost",
}

pattern "flight_recorder_dump" {
  line = {
    [[(?:Dumping|dumped?|Finished writing) (?:NCCL )?(?:Flight Recorder|debug info|Flight recorder)]]
      .. [[(?: \w+)* to (?P<path>\S+)]],
    [[Received a (?:dump|timeout) signal (?:due to a collective timeout )?]]
      .. [[from (?:this local |remote )?rank(?: (?P<rank>\d+))?]],
  },
  event = "flight_recorder", texts = { path = "path" },
}

local calls = either {
  "barrier", "monitored_barrier", [[broadcast\w*]], [[all_reduce\w*]], "reduce", [[all_gather\w*]],
  [[reduce_scatter\w*]], [[all_to_all\w*]], [[gather\w*]], [[scatter\w*]], [[i?send]], [[i?recv]], "wait_for_everyone",
}
local place = [[\S*\b(?:torch/distributed|deepspeed/comm|accelerate|horovod)/\S+\.py]]
pattern "stack_in_collective" {
  about = "a stack of a living process, as py-spy, pystack or faulthandler print it: a person inspects one that "
    .. "waits in a collective",
  line = {
    [[^\s+(?P<call>]] .. calls .. [[) \(]] .. place .. [[:\d+\)]],
    [[^\s+\(Python\) File "]] .. place .. [[", line \d+, in (?P<pystack>]] .. calls .. [[)\s*$]],
    [[^\s+File "]] .. place .. [[", line \d+ in (?P<faulthandler>]] .. calls .. [[)\s*$]],
  },
  event = "stack_in_collective", texts = { call = { { "call" }, { "pystack" }, { "faulthandler" } } },
}
