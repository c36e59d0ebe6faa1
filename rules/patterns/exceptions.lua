-- Exceptions, as Python prints them.

-- What a rank reports of another one's end, or of its loader's worker, whose own traceback comes behind: it is no
-- failure of its own.
local consequence = [[(?m)^ ?(?:\w+\.)*[A-Z]\w*: .*(]] .. either {
  [[Caught \w+ in (?:DataLoader worker|pin memory thread|replica)\b]],
  [[DataLoader worker \(pid(?:\(s\))? [\d, ]+\) is killed by signal]], "CheckpointException ranks:",
  [[Connection (?:closed|reset) by peer]], [[[Bb]roken pipe]], [[handle is closed *$]], "Socket closed",
  "recvValue failed", "sendBytes failed", "failed to recv",
  [[Timed out (?:initializing process group|waiting \d+ms for)]], "timed out in init_process_group",
  [[[Tt]imed out after \d+ seconds waiting for clients]], [[wait timeout after \d+ms]], "Timeout waiting for key",
  [[store (?:may have|might have) (?:crashed|exited)]], "terminated by signal SIGTERM",
  [[Process group .* (?:aborted|terminated)]], [[NCCL (?:[Ee]rror|communicator)]], "NCCL: unhandled",
  [[nccl[A-Z]\w+Error]], "monitoredBarrier", [[Hccl[A-Z]\w+]], "Application timeout caused pair closure",
  [[\bKeyboardInterrupt:? *$]],
} .. [[)]]
-- The driver itself (PyTorch's allocator says how much it tried to get) has no memory where a process first uses its
-- GPU: another holds it.
local no_room = [[(?m)^\s+File "[^"]+", line \d+, in ]] .. either {
  "barrier", "init_process_group", "set_device", "_lazy_init", "_cuda_init", "current_device", [[manual_seed(?:_all)?]],
  "set_rng_state", "get_rng_state", "mem_get_info", [[get_device_(?:properties|capability|name)]],
} .. [[\s*\n(?:[ \t].*\n)* ?(?:\w+\.)*[A-Z]\w*: (CUDA error: out of memory)]]
-- A part of a path that is no library's: none begins with lib, site- or dist-.
local short = either {
  [[l(?:[^i/"][^/"]*)?]], [[li(?:[^b/"][^/"]*)?]], [[s(?:[^i/"][^/"]*)?]], [[si(?:[^t/"][^/"]*)?]],
  [[sit(?:[^e/"][^/"]*)?]], [[site[^-/"][^/"]*]], [[d(?:[^i/"][^/"]*)?]], [[di(?:[^s/"][^/"]*)?]],
  [[dis(?:[^t/"][^/"]*)?]], [[dist[^-/"][^/"]*]],
}
local part = either { [[[^lsd/"<][^/"]*]], short }
-- Nor is a folder called lib a library's, unless Python's own stands in it.
local folder = either { [[lib/]] .. either { [[[^lsdp/"<][^/"]*]], [[p(?:[^y/"][^/"]*)?]], short }, part }
local place = [[(?m)^\s+File ("/?]] .. folder .. [[(?:/]] .. folder .. [[)*", line \d+, in \S+)]]
local boxed = [[(?m)^\s*│ ((?:[A-Z]:)?[/\\]?]] .. [[(?:]] .. folder .. [[/)*[^"<>/│ ]+\.py:\d+ in \S+)]]

-- The line that a traceback ends in. Where two processes print theirs at once, their names stand one behind the other,
-- and then both messages.
local ends = [[^ ?]] .. either {
  [[(?:[a-z_]\w*\.)+[A-Z]\w*]],
  [[(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Iteration|Timeout|Failure|Empty|Full)]],
} .. [[(?::(?:\s|$)|\s*$)]]
local twice = [[(?:(?:\w+\.)*[A-Z]\w*(?:Error|Exception))+(?:[A-Z][^:]*)?: ?:]]
local texts = {
  exception = {
    { find = [[(?m)^ ?(?:\w+\.)*([A-Z]\w*?(?:Error|Exception)):? ?]] .. twice, last = true },
    { find = [[(?m)^ ?(?:\w+\.)*([A-Z]\w*)(?::(?:\s|$)|\s*$)]], last = true }, { text = "cut off" },
  },
  message = { { find = [[(?m)^ ?(?:\w+\.)*[A-Z]\w*(?:: ?)+(\S.*)$]], last = true }, { text = "no message" } },
  frame = { find = [[(?m)^\s+File ("[^"]+", line \d+, in \S+)]], last = true },
  place = { { find = place, last = true }, { find = [[(?m)^\s+File ("[^"]+", line \d+, in \S+)]], last = true } },
  code = { { find = place, text = "own" }, { find = [[(?m)^\s+(File ")]], text = "library" } },
  part = { { find = consequence, text = "consequence" }, { find = no_room, text = "no room" } },
  loading = {
    {
      find = [[(?m)^\s+File "[^"]+", line \d+, in (]] .. either {
        [[\w*load_(?:checkpoint|ckpt|state_dict|model_checkpoint|from_checkpoint)]], "_legacy_load",
        "restore_checkpoint",
      } .. [[)\s*$]],
      text = "yes",
    },
  },
  link = {
    { find = [[^(During handling of the above exception)]], text = "handling" },
    { find = [[^(The above exception was the direct cause)]], text = "cause" },
  },
}

pattern "traceback" {
  about     = "one that a logger prints as a warning was caught",
  line      = [[Traceback \(most recent call last\):]],
  unless    = [[\b(?:WARN(?:ING)?|DEBUG)\b[^"\n]{0,80}Traceback ]],
  continues = [[^(?:\s|$|\S+ File "|During handling|The above exception)]],
  ends      = ends,
  event     = "traceback", also = "exception_raised",
  texts     = texts,
}
pattern "traceback_linked" {
  about = "what was raised while another exception was handled, or because of it: this one ends the program",
  line = [[^]] .. either {
    "During handling of the above exception, another exception occurred",
    "The above exception was the direct cause of the following exception",
  } .. ":",
  continues = [[^(?:\s|$|\S+ File "|Traceback )]],
  ends = ends,
  event = "traceback", also = "exception_raised",
  texts = texts,
}
pattern "traceback_in_a_box" {
  about = "as rich draws it, for Accelerate, Typer and others; the exception stands below the box, which cuts long "
    .. "paths in two",
  line = [[ Traceback \(most recent call last\) ─]],
  continues = [[^\s*(?:$|[│╰])]], ends = ends, lines = 400,
  event = "traceback", also = "exception_raised",
  texts = {
    exception = texts.exception, message = texts.message, part = { { find = consequence, text = "consequence" } },
    place = { { find = boxed, last = true }, { find = [[(?m)^\s*│ (\S+\.py:\d+ in \S+)]], last = true } },
    code = { { find = boxed, text = "own" }, { find = [[(?m)^\s*│ (\S+\.py:\d+ in)]], text = "library" } },
    loading = {
      {
        find = [[(?m)^\s*│ \S+\.py:\d+ in (\w*load_]] .. either {
          "checkpoint", "ckpt", "state", "state_dict", "model_checkpoint", "from_checkpoint",
        } .. [[)\b]],
        text = "yes",
      },
    },
  },
}
pattern "traceback_of_process" {
  about     = "torch.multiprocessing shows what a process raised, under its number",
  line      = [[^-- Process (?P<rank>\d+) terminated with the following error:]],
  continues = [[^(?:\s|$|\S+ File "|Traceback |During handling|The above exception)]],
  ends      = ends,
  event     = "traceback", also = "exception_raised", rank = "rank",
  texts     = texts,
}
pattern "traceback_unheeded" {
  about     = "Python prints these of a destructor, and of a handler of its logging, and goes on",
  line      = [[^(?:Exception ignored in|--- Logging error ---)]],
  continues = [[^(?:\s|$|\S+ File "|Traceback |During handling|The above exception|Call stack:|Message: |Arguments: )]],
  ends      = ends,
  event     = "traceback", texts = { exception = { text = "unheeded" } },
}
pattern "traceback_of_thread" {
  about = "Python goes on without the thread",
  line = [=[^Exception in thread [^"\s]]=],
  continues = [[^(?:\s|$|\S+ File "|Traceback |During handling|The above exception)]],
  ends = ends,
  event = "traceback", also = "exception_raised",
  texts = {
    exception = texts.exception, message = texts.message, frame = texts.frame, place = texts.place, code = texts.code,
    part = { { find = consequence, text = "consequence" }, { find = [[^(Exception in thread)]], text = "thread" } },
  },
}
pattern "exception" {
  about = "the last line of a traceback whose beginning was not seen",
  line = [[^ ?(?:\w+\.)*(?P<exception>]] .. either {
    [[[A-Z]\w*(?:Error|Exception|NotFound)]], "BadZipFile", "BrokenProcessPool", "KeyboardInterrupt",
  } .. [[):(?: (?P<message>.+))?$]],
  unless = [[(?:^| )(?:[Ii]gnor|[Rr]etry|[Ff]alling back)|^ ?LustreError: ]],      -- that is the kernel's
  event = "traceback", also = "exception_raised",
  texts = { exception = "exception", message = "message", part = { { find = consequence, text = "consequence" } } },
}
