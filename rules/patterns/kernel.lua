-- Kernel log: GPUs, memory, tasks that hang.

pattern "xid" {
  about = "45 says which error it cleans up after, since driver 570: that one is meant",
  line = [[NVRM: Xid \((?:PCI:)?(?P<pci>[0-9a-fA-F:.]+)\)[^:]*: (?P<code>\d+)\b]], event = "xid",
  source = "kernel_log", gpu = "pci",
  fields = {
    code = { { find = [[caused by previous Xid (\d+)]] }, { "code" } }, pid = { find = [[pid=(\d+)]] },
    recovery = { find = [[recovery action changed from \S+ \([^)]*\) to 0x(\d)]] },
  },
  texts = { pci = "pci", process = { find = [[name=([^,<]+)]] } },
}
pattern "fallen_off_the_bus" {
  about = "two forms without a code: it is XID 79",
  line = {
    [[NVRM: (?:GPU (?:at )?)?(?:PCI:)?(?P<pci>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.\d)?):? .*]]
      .. [[has fallen off the bus]],
    [[NVRM: (?P<bare>GPU has fallen off the bus)]],
  },
  unless = [[NVRM: Xid]], event = "xid", source = "kernel_log", gpu = "pci", fields = { code = 79 },
  texts = { pci = "pci" },
}
pattern "fallen_off_at_the_probe" {
  about = "over three lines; the same beginning says of old GPUs that the driver does not support them",
  line = [[NVRM: The NVIDIA GPU (?P<pci>[0-9a-fA-F:.]+)]], continues = [[NVRM: ]],
  ends = [[NVRM: .*(?:commands|support|driver|include|release)]], lines = 4,
  unless = [[(?:is|are) not supported|supported by the|does not (?:support|include)]], event = "xid",
  source = "kernel_log", gpu = "pci",
  fields = { code = { find = [[(fallen off the bus)]], number = 79 } }, texts = { pci = "pci" },
}
pattern "xid_reported" {
  about =
    "what agents make of the driver's events for others: the device plugin of Kubernetes, DCGM, watchers of clusters",
  line = {
    [[(?i)\bGPU[ -]?(?P<gpu>\d{1,2}|[0-9a-f-]{6,36})\b.*\bXid(?: error)?s?\b[^\w]{0,3}(?P<code>\d{1,3})\b]],
    [[\bXid=(?P<code>\d{1,3}) on Device=(?:GPU-)?(?P<gpu>[\w-]+)]],
  },
  unless = [[NVRM: Xid|(?i)\b(?:no|ignor\w*|skip\w*|watch\w*)\b[^.]{0,20}xid]], event = "xid", source = "kernel_log",
  gpu = "gpu",
  fields = { code = "code" },
}
pattern "sxid" {
  line = [[SXid \((?:PCI:)?(?P<pci>[0-9a-fA-F:.]+)\): (?P<code>\d+), (?P<fatal>Non-fatal|Fatal)]], event = "sxid",
  source = "kernel_log",
  fields = { code = "code" }, texts = { pci = "pci", class = "fatal" },
}
pattern "kernel_oom" {
  line = {
    either { "Memory cgroup out of memory", "Out of memory" }
      .. [[(?: \([^)]*\))?: Kill(?:ed)? process (?P<pid>\d+),?(?: UID \d+,)? ?\(?(?P<process>[^),]+)\)?]],
    [[oom-kill:constraint=(?P<constraint>\w+)]], [[invoked oom-killer: ]],
    [[^(?:\S+ )*Killed process (?P<pid2>\d+) \((?P<process2>[^)]+)\)]],
  },
  event = "host_oom", source = "kernel_log", fields = { pid = { { "pid" }, { "pid2" }, { find = [[,pid=(\d+)]] } } },
  texts = {
    process = {
      { "process" }, { "process2" }, { find = [[task=([^,]+),pid]] }, { find = [[(\S+) invoked oom-killer]] },
    },
  },
}
pattern "hung_task" {
  line = [[INFO: task (?P<process>.+):(?P<pid>\d+) blocked (?:in I/O wait )?for more than (?P<s>\d+) seconds]],
  event = "hung_task", source = "kernel_log",
  fields = { pid = "pid", seconds = "s" }, texts = { process = "process" },
}
pattern "soft_lockup" {
  line = [[(?:soft|hard) lockup|rcu_sched self-detected stall|rcu: INFO: rcu_\w+ detected stalls]],
  unless = [[soft_lockup|lockup_panic|watchdog_thresh]], event = "cpu_lockup", source = "kernel_log",
}
pattern "machine_check" {
  line = [[\[Hardware Error\]: .*(?:Uncorrected|Machine check|severity: fatal)]], event = "machine_check",
  source = "kernel_log",
}
pattern "pcie_error" {
  line = [[AER: .*(?:Uncorrected|Fatal)|PCIe Bus Error: severity=Uncorrected]], unless = [[Non-Fatal.*Corrected]],
  event = "pcie_error", source = "kernel_log",
}
pattern "link_down" {
  line = {
    [[mlx5_core [0-9a-f:.]+.*[Ll]ink down]], [[NETDEV WATCHDOG: .* transmit queue]],
    [[(?:ib\d|mlx5_\d+)\S*: link (?:is )?down]],
  },
  event = "link_down", source = "kernel_log",
}
pattern "file_system" {
  line = {
    [[(?:EXT4|XFS|BTRFS|LustreError|GPFS)\S*.*(?:error|I/O error|shut ?down)]],
    [[blk_update_request: I/O error|Buffer I/O error]],
  },
  event = "storage_error", source = "kernel_log",
}
pattern "nfs_silent" {
  line = {
    [[nfs: server (?P<server>\S+) not responding]],
    [[\bLustre: \S+: Connection to (?P<lustre>\S+) \(at [^)]*\) was lost; ]]
      .. [[in progress operations using this service will (?:wait|fail)]],
  },
  event = "file_server_silent", source = "kernel_log", texts = { server = { { "server" }, { "lustre" } } },
}
pattern "nfs_back" {
  line = { [[nfs: server (?P<server>\S+) OK\s*$]], [[\bLustre: \S+: Connection restored to (?P<lustre>\S+)]] },
  event = "file_server_back", source = "kernel_log",
  texts = { server = { { "server" }, { "lustre" } } },
}
pattern "throttled_cpu" {
  line = [[CPU\d+: (?:Core|Package) temperature(?:/speed)? (?:is )?above threshold]], event = "cpu_throttled",
  source = "kernel_log",
}
