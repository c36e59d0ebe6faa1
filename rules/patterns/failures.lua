-- Failures of processes: GPUs and their memory, signals, storage, and what is missing at a start.

pattern "usage_error" {
  about = "argparse, click and hydra refuse the command line",
  line = {
    [[\.py: error: (?P<message>.+)]],
    [[^[\w.-]+: error: (?P<message>]] .. either {
      "unrecognized arguments", "the following arguments are required", [[argument \S+: ]], "ambiguous option",
      "one of the arguments",
    } .. [[.*)]],
    [[^Could not override '(?P<key>[^']+)']],
    [[^(?:error|Error): ]] .. either {
      "No such option", "Got unexpected extra argument", [[Missing (?:option|argument|command)]], "Invalid value for",
    },
    [[^(?:Error: )?Extra inputs are not permitted|ValidationError: \d+ validation errors? for \w]],
  },
  event = "startup_error", also = "startup_failed",
  texts = { kind = { text = "arguments" }, message = { { "message" }, { find = [[^(.{1,200})]] } } },
}
pattern "cannot_open" {
  about = "the program, or the launcher, was never started",
  line = {
    [[: can't open file ']], [[execve\(\): \S+: (?:No such file|Permission denied)]],
    [[\b]] .. either {
      [[python[\d.]*]], "torchrun", "accelerate", "deepspeed", "srun", "mpirun", "mpiexec", "horovodrun", "singularity",
      "apptainer", "conda",
    } .. [[: (?:command )?not found]],
    [[\bsrun: error: ]] .. either {
      [[task \d+ launch failed]], [[Task launch for \S+ failed on node]], "Application launch failed",
      [[Unable to (?:create (?:step for job|job step)|allocate resources)]],
    },
    [[\bsrun: fatal: ]],
    [[\b(?:ORTE|PRRTE|PRTE) was unable to reliably start one or more daemons]],
    [[\berror: ]] .. either {
      [[pyxis: (?:container start failed|couldn't start container|failed to (?:import|create|pull))]],
      [[spank: required plugin \S+ \w+\(\) failed]], "container_p_join: open failed",
    },
  },
  event = "startup_error", also = "startup_failed",
  texts = { kind = { text = "launch" }, message = { find = [[^(.{1,200})]] } },
}

pattern "cuda_oom" {
  about = "of every allocator; a process that continues with less has not failed",
  line = {
    [[\b(?:CUDA|HIP|XPU|NPU|MLU|MPS backend) out of memory]], [[\bOutOfMemoryError\b]],
    [[C(?:UBLAS|UDNN)_STATUS_ALLOC_FAILED]], [[\b(?:CUDA|HIP|CUDA driver) error: out of memory]],
    [[CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|hipErrorOutOfMemory|HIP_ERROR_OutOfMemory]],
    [[\bHSA_STATUS_ERROR_OUT_OF_RESOURCES\b]],
    [[\b(?:UR_RESULT|PI|ZE_RESULT)_ERROR_OUT_OF_(?:RESOURCES|DEVICE_MEMORY)\b]],
    [[\b[Rr]an out of memory in memory space\b]],
    [[(?:RESOURCE_EXHAUSTED|Resource exhausted): ]] .. either {
      "Out of memory", "Attempting to", "Failed to allocate", "XLA", "Error allocating", "OOM when",
    },
    [[OOM when allocating tensor]], [[\bINTERNAL: Failed to allocate \d+ bytes]],
    [[ran out of memory trying to allocate]],
    [[cuda runtime error \(2\)|error=2 : out of memory|cudaSuccess \(2 vs\. 0\)]],
    [[cudaMalloc (?:retry )?failed: out of memory]],
    [[[Oo]ut of memory (?:error )?on (?:GPU|device)]], [[Cuda failure (?:\d+ )?'out of memory']],
    [[\bOut of GPU memory\b]], [[^\s*what\(\): .*\bout of memory\b]],
    [[(?i)\bcu(?:da|dnn|blas) (?:execution )?(?:error|failed|failure)\b[^;,]{0,120}?(?:code ?=|with error|error:?)]]
      .. [[ ?2(?:\(|\s*$)]],
    [[(?i)\bCUDA error: '?out of memory]],
    [[Error while calling cu(?:da|dnn|blas)\w+\(.*\bout of memory\b]],
    [[(?i)(?:cuda|\bgpu|\bdevice)\w*\b[^.:]{0,40}\bfail(?:ed|s)? to allocate\b]],
  },
  unless = [[(?i)]] .. either {
    "this is not a failure", [[ray\.exceptions]], [[java\.lang]], "retrying", "will retry", "trying again",
    "try again with", "skipping", "skipped", "decreas", [[reducing (?:the )?(?:micro|batch)]],
    [[\b(?:if|when|on)\b[^.]*out of memory]], [[\bWARN(?:ING)?\b[^(].{0,80}(?:out of memory|OutOfMemory)]],
    [[\bWARN.{0,80}failed to allocate]], [[(?:pinned|host) memory]],
  },
  event = "cuda_oom",
  fields = {
    tried = {
      { find = [[[Tt]ried to allocate (NUM) ?GiB]], scale = 1073741824 },
      { find = [[[Tt]ried to allocate (NUM) ?MiB]], scale = 1048576 },
      { find = [[[Tt]ried to allocate (NUM) ?KiB]], scale = 1024 }, { find = [[allocate (NUM) bytes]] },
      { find = [[allocate (NUM)GiB]], scale = 1073741824 },
      { find = [[Cannot allocate (NUM)MB]], scale = 1048576 },
    },
    total = {
      { find = [[total capacity of (NUM) GiB]], scale = 1073741824 },
      { find = [[(NUM) GiB total capacity]], scale = 1073741824 },
      { find = [[total capacity of (NUM) MiB]], scale = 1048576 },
    },
    gpu = { find = [[(?:GPU|NPU|device ordinal) (\d+)]] },
  },
}
pattern "engine_memory" {
  about =
    "engines that generate, beside or within a training, want their share of a GPU's memory at once (vLLM, SGLang)",
  line = {
    [[\bNo available memory for the cache blocks]],
    [[\bFree memory on device .{0,60} is less than desired GPU memory utilization]],
    [[\blarger than the available KV cache memory\b]],
    [[\bNot enough memory\. Please try to increase --mem-fraction-static]],
  },
  unless = [[\bWARN|\braise \w+\(]], event = "cuda_oom",
}
pattern "cuda_error" {
  line = {
    [[\b(?:CUDA|HIP) error: (?P<error>[^;(]+)]], [[CUDA_ERROR_(?P<name>[A-Z_]+)]],
    [[CUDA driver error: (?P<driver>[^;(]+)]], [[device-side assert triggered]],
    [[CUBLAS_STATUS_(?:EXECUTION_FAILED|INTERNAL_ERROR|NOT_INITIALIZED)]],
    [[CUDNN_STATUS_(?:EXECUTION_FAILED|INTERNAL_ERROR|MAPPING_ERROR)]],
    [[cuda runtime error \(\d+\) ?: (?P<old>.+?)(?: at /|$)]], [[THCudaCheck FAIL .*error=\d+ : (?P<check>.+)]],
    [[Triton Error \[CUDA\]: (?P<triton>.+)]],
    [[(?:cu[A-Z]\w+|hip[A-Z]\w+) failed: (?P<call>an illegal .*|misaligned .*|unspecified launch .*)]],
    [[\bMemory access fault by GPU node-\d+]], [[amdgpu: \[\w*hub\w*\] (?:no-retry )?page fault]],
    [=[amdgpu: \w*VM_L2_PROTECTION_FAULT_STATUS: ?0x0*[1-9a-fA-F]]=],
    [[cudaError_t \d+ : "(?P<returned>[^"]+)"]], [[Check failed: \w+ == cudaSuccess \(\d+ vs\. 0\)\s+(?P<checked>.+)]],
    [=[block: \[\d+,\d+,\d+\], thread: \[\d+,\d+,\d+\] Assertion .* failed]=],
    [[(?i)\bcu(?:da|dnn|blas|fft|solver|sparse|rand) error (?:at|in) \S+:\d+ code ?= ?\d+ ?\((?P<coded>[^)]*)]],
    [[\bCUDA failure \d+: (?P<failure>[^;]+)]],
    [[(?i)\bcu(?:da|dnn|blas|fft|solver|sparse|rand) error\s?(?:[(\[]|: ?(?:code )?[1-9]\d*\b)]],
    [[(?i)\bcuda execution failed with error (?P<numbered>\d+)]], [[CUDA exception happened]],
    [[\bcuBLAS Error: (?:the function failed to launch on the GPU|an internal operation failed)]],
    [[\b(?P<phrase>]] .. either {
      "an illegal memory access was encountered", "unspecified launch failure",
      "an illegal instruction was encountered", "the launch timed out and was terminated",
    } .. [[)]],
    [[\bcudaError(?P<symbol>]] .. either {
      "IllegalAddress", "IllegalInstruction", "LaunchFailure", "LaunchTimeout", "MisalignedAddress",
      "HardwareStackError", "InvalidPc", "Assert",
    } .. [[)\b]],
    [[\baborting with error ?: HSA_STATUS_ERROR]], [[\b(?:UR_RESULT|PI|ZE_RESULT)_ERROR_DEVICE_LOST\b]],
    [[Error while calling (?P<called>cu(?:da|dnn|blas)\w+)\(]],
    [[unexpected error occurred (?:during CUDA execution|trying to launch a kernel)]],
    [[Check failed: \w+ == CU(?:DNN|BLAS)_STATUS_SUCCESS \(\d+ vs\. \d+\)\s+(?P<status>\w+)]],
  },
  unless = either {
    [[(?i:]] .. either {
      "unhandled cuda error", "HSA_STATUS_ERROR_OUT_OF_RESOURCES",
      [[cu(?:da|dnn|blas) (?:execution )?(?:error|failed|failure)\b[^;,]{0,120}?(?:code ?=|with error|error:?)]]
        .. [[ ?2(?:\(|\s*$)]],
    } .. [[)]],
    "out of memory", "OUT_OF_MEMORY", "ALLOC_FAILED", "no kernel image", "invalid device ordinal", "no CUDA-capable",
    "NO_DEVICE", "busy or unavailable", "not yet initialized", "NOT_SUPPORTED", "insufficient", "MISMATCH",
  },
  event = "cuda_error",
  texts = {
    error = {
      { "error" }, { "name" }, { "driver" }, { "old" }, { "check" }, { "triton" }, { "call" }, { "returned" },
      { "checked" }, { "coded" }, { "failure" }, { "numbered" }, { "phrase" }, { "symbol" }, { "called" },
      { "status" },
      {
        find = [[(]] .. either {
          [[(?:UR_RESULT|PI|ZE_RESULT)_ERROR_DEVICE_LOST]], [[HSA_STATUS_ERROR\w*]], "device-side assert",
          [[cuBLAS Error: \w[\w ]+]], [[CU\w+_STATUS_[^S\W]\w+]], "Memory access fault", [[Assertion .* failed]],
        } .. [[)]],
      },
    },
  },
}
pattern "gpu_ecc" {
  line = {
    [[(?i)uncorrectable (?:NVLink |ECC |hardware )?(?:ECC )?error]],
    [[ERROR_ECC_UNCORRECTABLE|cudaErrorECCUncorrectable]], [[(?i)\bdouble[- ]bit (?:ECC )?error]],
    [[amdgpu: .*\b(?:uncorrectable hardware errors? detected|poison (?:is )?(?:consumed|consumption))]],
    [[\bRAS (?:event|error).{0,40}\b(?:fatal|uncorrectable)]],
  },
  unless = [[(?i)(?:uncorrectable|double[- ]bit) (?:ecc )?errors?\s*[:=|]?\s*0\b|NVRM: |threshold]], event = "gpu_ecc",
}
pattern "gpu_lost" {
  about = "a program asks for a GPU that no longer answers: nvidia-smi, NVML, and the driver when it starts",
  line = {
    [[GPU is lost]], [[NVMLError_GpuIsLost]],
    [[Unable to determine the device handle for [Gg][Pp][Uu] ?(?P<pci>[0-9A-Fa-f:.]*)]], [[RmInitAdapter failed]],
    [[NVRM: .*(?:\* GSP Timeout \*|GSP RPC timeout detected|_kgspIsHeartbeatTimedOut: Heartbeat timed out)]],
    [[^NVRM: fallen off the bus and is not responding]],
    [[\b(?:nvidia|amdgpu) (?P<pci>[0-9A-Fa-f:.]+): Unable to change power state from D3(?:hot|cold) to D0, device ]]
      .. [[inaccessible]],
    [[amdgpu: GPU (?:reset begin|recovery disabled|hang detected)]], [[amdgpu_job_timedout\S* \*ERROR\* ring]],
    [[amdgpu: MES failed to respond to msg=]],
    [[HW Exception by GPU node-\d+ .*(?:GPU Hang|reset)]], [[^\|\s*(?:ERR!|N/A|\d+%)\s+ERR!]],
  },
  event = "gpu_lost", texts = { pci = "pci" },
}

pattern "host_memory_refused" {
  about = "the process was not killed, but refused: the host, or the job's share of it, has no more to give",
  line = {
    [[Unable to allocate NUM [KMGTPE]i?B for an array]], [[DefaultCPUAllocator: (?:can't|not enough memory)]],
    [[^(?:\w+\.)*MemoryError\s*$]], [[Errno 12\] Cannot allocate memory]],
    [[^fork: retry: Resource|: fork: Cannot allocate memory]],
  },
  unless = [[(?i)warning]], event = "host_oom", texts = { process = { text = "refused" } },
}
pattern "dataloader_killed" {
  line = [[DataLoader (?:worker|process) \(pid(?:\(s\))? (?P<pid>\d+)[^)]*\) (?:exited )?]] .. either {
    [[is killed by signal: ?(?P<signal>[^.]*)]], "exited unexpectedly",
  },
  unless = [[exited unexpectedly with exit code \d]],
  event = "dataloader_killed", fields = { pid = "pid" }, texts = { signal = "signal" },
}
pattern "dataloader_ended" {
  about = "by an unhandled exception, which is printed elsewhere; the loader reports the same worker once more, "
    .. "without the code",
  line = [[DataLoader (?:worker|process) \(pid(?:\(s\))? (?P<pid>\d+)[^)]*\) exited unexpectedly with exit code \d]],
  event = "dataloader_killed", fields = { pid = "pid" }, texts = { signal = { text = "none" } },
}
pattern "bus_error" {
  line = {
    [[Unexpected bus error encountered in worker]], [[(?:^|[^\w])Bus error(?: |:|$|\()]], [[SIGBUS]],
    [[^Fatal Python error: Bus error]], [[(?i)^bus error \(core dumped\)|(?:^|\s)总线错误(?:\W|$)]],
    [[unable to (?:write to file|open shared memory object|mmap \d+ bytes from file) </torch_]],
    [[insufficient shared memory \(shm\)]],
  },
  event = "bus_error",
  unless = [[traceback :|received by PID|Too many open files|handlers?\b]],
}
pattern "segfault" {
  line = {
    [[\bsegfault at [0-9a-f]+ ip]], [[Segmentation fault|(?i)\bsegmentation fault \(core dumped\)]],
    [[Unexpected segmentation fault encountered in worker]], [[Caught signal 11 \(Segmentation fault]],
    [[(?:^|\s)]] .. either {
      [[段错误]], "Speicherzugriffsfehler", "Erreur de segmentation", [[Violación de segmento]],
      [[Ошибка сегментирования]],
    } .. [[(?:\W|$)]],
    [[^Fatal Python error: Segmentation fault]], [[Segfault encountered]], [[\btraps: .* general protection fault]],
    [[received signal SIGSEGV]], [[\*\*\* SIGSEGV \(@]],
  },
  unless = [[DataLoader worker]],
  event = "segfault",
  texts = {
    process = { find = [[(\S+)\[\d+\]:? (?:segfault|general)]] }, library = { find = [[ in (\S+?)\[]] },
    whose = {
      { find = [[\b((?:python|pt_|ray|torch)\S*\[\d+\]:? (?:segfault|general))]], text = "python" },
      { find = [[(segfault at [0-9a-f]+ ip|\btraps: )]], text = "other" },
    },
  },
}
pattern "illegal_instruction" {
  line =
    [[^Illegal instruction(?: \(core|\s*$)|\btraps: .* trap invalid opcode|^Floating point exception \(core dumped\)]],
  event = "process_killed",
  fields = { signal = { { find = [[(Floating)]], number = 8 }, { number = 4 } } },
  texts = { how = { find = [[(Illegal instruction|invalid opcode|Floating point exception)]] } },
}
pattern "abort_signal" {
  line = {
    [[^terminate called after throwing an instance of]],
    [[^]] .. either {
      "double free or corruption", [[free\(\): (?:invalid|corrupted|double free)]], "Fatal glibc error: ",
      [[malloc(?:_consolidate)?\(\): ]], [[realloc\(\): ]], [[munmap_chunk\(\): ]],
      [[corrupted (?:size|double-linked)]],
    },
    [[^\*\*\* (?:Error in `|stack smashing detected)]], [[^Aborted \(core dumped\)]], [[\*\*\* SIGABRT \(@]],
    [[^Fatal Python error: (?:Aborted|[A-Z_]\w+: )]], [[^[\w.+-]+: \S+\.c(?:pp|c)?:\d+: .*\bAssertion .*failed\.$]],
    [[\bSignal: Aborted \(6\)]],
  },
  event = "aborted", texts = { exception = { find = [[instance of '([^']+)']] } },
}
pattern "disk_full" {
  line = {
    [[No space left on device]], [[Disk quota exceeded]], [[\bStorageFull\b|OutOfDiskError: ]], [=[Errno 28\]]=],
    [[PytorchStreamWriter failed writing file]], [[inline_container\.cc:\d+\] \. unexpected pos \d+ vs \d+]],
  },
  event = "disk_full", unless = [[[Ww]arning]],
}
pattern "disk_full_evicted" {
  about = "Kubernetes ends a pod for its node's disk, or for what the pod itself may hold",
  line = {
    [[The node was low on resource: (?:ephemeral-storage|inodes)]], [[The node had condition: \[DiskPressure]],
    [[\bPod ephemeral local storage usage exceeds the total limit of containers]],
    [[\bContainer \S+ exceeded its local ephemeral storage limit]],
    [[\bUsage of EmptyDir volume "[^"]+" exceeds the limit]],
  },
  event = "disk_full",
}
pattern "storage_failed" {
  about = "a file system of the network that went away, as Python reports it; if steps follow, a retry succeeded",
  line = either { [[^\s*(?:\w+\.)*\w*]], [[(?i:\b(?:encountered|raised|got|with) an? (?:\w+ )?)]] }
    .. [[[Ee]rror: \[Errno (?P<errno>5|107|108|110|112|116|121)\] ]] .. either {
    "Input/output error", "Transport endpoint", "Cannot send after transport", "Host is down",
    [[Stale (?:NFS )?file handle]], "Remote I/O error", [[Connection timed out: ['"]/]],
  },
  event = "storage_failed", fields = { errno = "errno" },
}
pattern "permission_denied" {
  line = { [=[PermissionError: \[Errno 13\]]=], [[Errno 30\] Read-only file system]], [[: Permission denied\s*$]] },
  unless = [[\bssh|publickey]], event = "permission_denied", texts = { path = { find = [['([^']+)'\s*$]] } },
}
pattern "missing_module" {
  line = { [[(?:ModuleNotFoundError|ImportError): (?P<message>.+)]], [[python[\d.]*: (?P<python>No module named .+)]] },
  unless = [[\b(?:WARN(?:ING)?|DEBUG)\b.{0,80}\w+Error: ]],
  event = "startup_error", also = "startup_failed",
  texts = { kind = { text = "package" }, message = { { "message" }, { "python" } } },
}
pattern "missing_file" {
  line = [[FileNotFoundError: (?P<message>.+)]],
  event = "startup_error", also = "startup_failed",
  texts = { kind = { text = "file" }, message = "message" },
}
pattern "hub_access" {
  line = {
    [[GatedRepoError]], [[RepositoryNotFoundError]], [[(?:401|403) Client Error]], [[Cannot access gated repo]],
    [[LocalEntryNotFoundError]],
  },
  event = "startup_error", also = "startup_failed",
  texts = { kind = { text = "file" }, message = { find = [[^(.{1,200})]] } },
}
pattern "library_missing" {
  line = {
    [[error while loading shared libraries: \S+?:]],
    [[OSError: \S+\.so[.\d]*: cannot open shared object file]],
    [[libcudart\S* (?:not found|cannot open)]], [[CUDA Setup failed despite GPU being available]],
    [[version `\w+_[\d.]+' not found \(required by]],
    [[CUDA SETUP: (?:Required library version not found|Setup failed)]], [[: undefined symbol: \w]],
  },
  unless = [[\bNCCL INFO\b]],      -- NCCL looks for functions that an older library does not have, and does without
  event = "startup_error", also = "startup_failed",
  texts = { kind = { text = "package" }, message = { find = [[^(.{1,200})]] } },
}
pattern "no_gpu" {
  about = "none, or none that this program can use",
  line = {
    [[No CUDA GPUs are available]], [[CUDA driver initialization failed]], [[Found no NVIDIA driver on your system]],
    [[NVIDIA-SMI has failed because]], [[Failed to initialize NVML]], [[(?i)\bdriver/library version mismatch]],
    [[Unexpected error from cudaGetDeviceCount]], [[Unable to initialize backend '(?:tpu|cuda|rocm|gpu)']],
    [[No visible (?:TPU|GPU) devices]], [[could not select device driver "]],
    "CUDA error: " .. either {
      "invalid device ordinal", "no CUDA-capable",
      [[(?:all )?CUDA-capable device\S* (?:is/)?are busy]], "system not yet initialized",
    },
  },
  event = "startup_error", also = "startup_failed",
  texts = { kind = { text = "gpu" }, message = { find = [[^(.{1,200})]] } },
}
pattern "wrong_build" {
  about = "packages that were built without CUDA, or not for the GPUs of this node",
  line = {
    [[Torch not compiled with CUDA enabled]], [[CUDA error: no kernel image]],
    [[bitsandbytes was compiled without GPU support]],
  },
  event = "startup_error", also = "startup_failed",
  texts = { kind = { text = "build" }, message = { find = [[^(.{1,200})]] } },
}
pattern "bad_data" {
  line = {
    either {
      "UnicodeDecodeError", "JSONDecodeError", "ArrowInvalid", "DatasetGenerationError", "CastError",
      "EmptyDatasetError", "DataFilesNotFoundError", "UnidentifiedImageError", "ParserError", "BadZipFile",
    } .. [[\b]],
    [[image file is truncated \(]], "num_samples should be a positive integer",
    [[Caught \w+Error in DataLoader worker process]],
  },
  event = "startup_error", also = "startup_failed",
  texts = { kind = { text = "file" }, message = { find = [[^(.{1,200})]] } },
}
