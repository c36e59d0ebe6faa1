-- NCCL, gloo and PyTorch's watchdog.

pattern "watchdog_timeout" {
  about  = "a collective did not end in time; the rank is the one that waited",
  line   = [[(?:Rank (?P<rank_of_group>\d+)\] )?Watchdog caught collective operation timeout: Work\w+\(SeqNum=(?P<seq>\d+), OpType=(?P<op>\w+)]],
  event  = "collective_timeout", rank_if_unknown = "rank_of_group",
  fields = { seq = "seq", timeout_ms = { find = [[Timeout\(ms\)=(\d+)]] }, ran_ms = { find = [[ran for (\d+) milliseconds]] } },
  texts  = { op = "op" },
}
pattern "watchdog_work" {
  about  = "the numbers are those of one process group: two ranks' may be of two groups, so they are no counts of the rank",
  line   = [[(?:Rank (?P<rank_of_group>\d+)\] )?(?:[\w() ]+)?(?:detected by watchdog at work(?: sequence id)?|Timeout at \w+ work): (?P<seq>\d+).*\blast enqueued (?:\w+ )?work: (?P<enqueued>-?\d+), last completed (?:\w+ )?work: (?P<completed>-?\d+)]],
  event  = "collective_timeout", rank_if_unknown = "rank_of_group",
  fields = { seq = "seq", last_enqueued = "enqueued", last_completed = "completed" },
}
pattern "watchdog_stuck" {
  line   = [[watchdog got stuck for (?P<s>\d+) seconds]], event = "watchdog_stuck", fields = { seconds = "s" },
}
pattern "heartbeat_lost" { line = [[(?:terminating the process after attempting to dump debug info|Heartbeat monitor timed out)]], event = "watchdog_stuck", unless = [[got stuck for]] }
pattern "monitored_barrier" {
  about  = "it names the rank that did not come",
  line   = [[\bRanks? (?P<missing>\d+)[\d, ]* failed to pass monitoredBarrier]],
  event  = "barrier_missed", rank = "missing", fields = { missing = "missing" },
}
pattern "nccl_warn" {
  line   = [[NCCL WARN (?P<message>.+)]], event = "nccl_error", unless = [[NCCL WARN (?:NET/(?:IB|OFI)|MNNVL|Missing |GPU Direct|NVLS|Cuda failure 'the provided PTX)[^:]*: ?(?:No |Unable to|disabled|not )]],
  texts  = { message = "message", place = { find = [[(\S+\.(?:cc|cu|h):?[: ]\d+) NCCL WARN]] }, node = { find = [=[(\S+?):\d+:\d+ \[\d+\]]=] } },
  fields = { device = { find = [=[:\d+:\d+ \[(\d+)\]]=] } },
}
pattern "nccl_error" {
  line   = { [[NCCL error in: (?P<where>\S+)]], [[ncclUnhandledCudaError|ncclSystemError|ncclInternalError|ncclRemoteError|ncclInvalidUsage|ncclInvalidArgument]], [[NCCL communicator was aborted on rank (?P<rank>\d+)]],
             [[NCCL Error \d+: (?P<what>.+)]] },
  event  = "nccl_error", rank_if_unknown = "rank", texts = { message = { find = [[((?:nccl[A-Z]\w+|unhandled \w+ error|NCCL Error \d+: [^,]+|was aborted)[^,.]*)]] } },
}
pattern "nccl_retry" { line = [[NCCL (?:INFO|WARN).*(?:timeout|Timeout|retry|Connection (?:reset|refused|closed))]], event = "nccl_trouble" }
pattern "nccl_sockets" { about = "no fast transport: everything goes over TCP", line = [[NCCL INFO Using network Socket]], event = "nccl_sockets" }
pattern "gloo_closed" {
  line   = { [[gloo/transport/tcp/\S+\] (?:Connection closed by peer|Read error)]], [[\[\S*gloo\S*\] (?:Connection (?:closed|reset) by peer|Socket closed)]] }, event = "peer_lost", texts = { peer = { find = [=[peer \[([^\]]+)\]]=] } },
}
pattern "gloo_timeout" {
  about  = "gloo's own watchdog: this rank waited",
  line   = [[\[\S*gloo/transport/\S+\] Timed out waiting (?P<ms>\d+)ms for (?P<op>send|recv)]],
  event  = "collective_timeout", fields = { timeout_ms = "ms" }, texts = { op = "op" },
}
pattern "peer_connection" { line = [[Broken pipe.*(?:TCPStore|recvValue|sendBytes)|(?:recvValue|sendBytes|TCPStore).*(?:Broken pipe|failed|Connection (?:reset|closed))]], event = "peer_lost" }

pattern "flight_recorder_dump" { line = { [[(?:Dumping|dumped?|Finished writing) (?:NCCL )?(?:Flight Recorder|debug info|Flight recorder)(?: \w+)* to (?P<path>\S+)]],
                                          [[Received a (?:dump|timeout) signal (?:due to a collective timeout )?from (?:this local |remote )?rank(?: (?P<rank>\d+))?]] },
                                 event = "flight_recorder", texts = { path = "path" } }

pattern "stack_in_collective" {
  about  = "a sampler of stacks (py-spy, pystack) prints its frames so: somebody looks into a process that waits in a collective",
  line   = [[^\s+(?P<call>barrier|monitored_barrier|broadcast|all_reduce|all_gather\w*|reduce_scatter\w*|all_to_all\w*|recv|wait_for_everyone) \((?:torch/distributed|accelerate)/\S+\.py:\d+\)]],
  event  = "stack_in_collective", texts = { call = "call" },
}
