-- Failures of processes: what Python, CUDA and the allocators say.

pattern "traceback" {
  line      = [[Traceback \(most recent call last\):]],
  continues = [[^(?:\s|\S+ File "|During handling|The above exception)]],
  ends      = [[^ ?(?:(?:[a-z_]\w*\.)+[A-Z]\w*|[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Iteration|Timeout|Failure|Empty|Full))(?::(?:\s|$)|\s*$)]],
  event     = "traceback",
  texts     = { exception = { find = [[(?m)^ ?(?:\w+\.)*([A-Z]\w*)(?::(?:\s|$)|\s*$)]], last = true },
                message   = { find = [[(?m)^ ?(?:\w+\.)*[A-Z]\w*: (.+)$]], last = true },
                frame     = { find = [[(?m)^\s+File ("[^"]+", line \d+, in \S+)]], last = true } },
}
pattern "exception" {
  about  = "the last line of a traceback whose beginning was not seen",
  line   = [[^ ?(?:\w+\.)*(?P<exception>[A-Z]\w*(?:Error|Exception)):(?: (?P<message>.+))?$]],
  unless = [[(?:^| )(?:[Ii]gnor|[Rr]etry|[Ff]alling back)]],
  event  = "traceback", texts = { exception = "exception", message = "message" },
}
pattern "usage_error" {
  about = "argparse, click and hydra refuse the command line",
  line  = { [[\.py: error: (?P<message>.+)]], [[^Could not override '(?P<key>[^']+)']], [[^(?:error|Error): (?:No such option|Got unexpected extra argument|Missing option)]] },
  event = "usage_error", texts = { message = { { "message" }, { find = [[^(.*)$]] } } },
}
pattern "cannot_open" { line = [[: can't open file ']], event = "usage_error", texts = { message = { find = [[^(.*)$]] } } }

pattern "cuda_oom" {
  line   = { [[CUDA out of memory]], [[torch\.(?:cuda\.)?OutOfMemoryError]], [[CUBLAS_STATUS_ALLOC_FAILED]], [[CUDA error: out of memory]],
             [[RESOURCE_EXHAUSTED: (?:Out of memory|Attempting to)]], [[cudaErrorMemoryAllocation]] },
  event  = "cuda_oom",
  fields = { tried = { { find = [[[Tt]ried to allocate (NUM) GiB]], scale = 1073741824 }, { find = [[[Tt]ried to allocate (NUM) MiB]], scale = 1048576 },
                       { find = [[[Tt]ried to allocate (NUM) KiB]], scale = 1024 } },
             total = { { find = [[total capacity of (NUM) GiB]], scale = 1073741824 }, { find = [[(NUM) GiB total capacity]], scale = 1073741824 },
                       { find = [[total capacity of (NUM) MiB]], scale = 1048576 } },
             gpu   = { find = [[GPU (\d+)]] } },
}
pattern "cuda_error" {
  line   = { [[CUDA error: (?P<error>[^;(]+)]], [[CUDA_ERROR_(?P<name>[A-Z_]+)]], [[CUDA driver error: (?P<driver>[^;(]+)]], [[device-side assert triggered]],
             [[CUBLAS_STATUS_(?:EXECUTION_FAILED|INTERNAL_ERROR|NOT_INITIALIZED)]], [[CUDNN_STATUS_(?:EXECUTION_FAILED|INTERNAL_ERROR|MAPPING_ERROR)]] },
  unless = [[out of memory|OUT_OF_MEMORY]],
  event  = "cuda_error", texts = { error = { { "error" }, { "name" }, { "driver" }, { find = [[(device-side assert|CU\w+_STATUS_\w+)]] } } },
}
pattern "gpu_ecc" {
  line  = { [[(?i)uncorrectable (?:NVLink |ECC )?(?:ECC )?error]], [[ERROR_ECC_UNCORRECTABLE|cudaErrorECCUncorrectable]] },
  unless = [[(?i)uncorrectable (?:ecc )?errors?\s*[:=|]?\s*0\b]], event = "gpu_ecc",
}

pattern "dataloader_killed" {
  line   = [[DataLoader worker \(pid(?:\(s\))? (?P<pid>\d+)[^)]*\) (?:is killed by signal: (?P<signal>[^.]+)|exited unexpectedly)]],
  event  = "dataloader_killed", fields = { pid = "pid" }, texts = { signal = "signal" },
}
pattern "bus_error"    { line = { [[Unexpected bus error encountered in worker]], [[(?:^|[^\w])Bus error(?: |$|\()]], [[SIGBUS]] }, event = "bus_error",
                         unless = [[traceback :|received by PID]] }
pattern "segfault" {
  line   = { [[\bsegfault at [0-9a-f]+ ip]], [[Segmentation fault]], [[Unexpected segmentation fault encountered in worker]], [[Caught signal 11 \(Segmentation fault]],
             [[^Fatal Python error: Segmentation fault]] },
  unless = [[DataLoader worker]],
  event  = "segfault", texts = { process = { find = [[(\S+)\[\d+\]: segfault]] }, library = { find = [[ in (\S+?)\[]] } },
}
pattern "abort_signal" { line = [[^terminate called after throwing an instance of]], event = "aborted", texts = { exception = { find = [[instance of '([^']+)']] } } }
pattern "disk_full"    { line = { [[No space left on device]], [[Disk quota exceeded]], [[\bStorageFull\b]], [=[Errno 28\]]=] }, event = "disk_full",
                         unless = [[[Ww]arning]] }
pattern "permission_denied" { line = { [=[PermissionError: \[Errno 13\]]=], [[Errno 30\] Read-only file system]] }, event = "permission_denied", texts = { path = { find = [['([^']+)'\s*$]] } } }
pattern "missing_module"  { line = [[(?:ModuleNotFoundError|ImportError): (?P<message>.+)]], event = "missing_module",
                            texts = { message = "message", module = { find = [[No module named '([^']+)']] } } }
pattern "missing_file"    { line = [[FileNotFoundError: (?P<message>.+)]], event = "missing_file", texts = { message = "message" } }
pattern "hub_access"      { line = { [[GatedRepoError]], [[RepositoryNotFoundError]], [[(?:401|403) Client Error]], [[Cannot access gated repo]], [[LocalEntryNotFoundError]] },
                            event = "hub_access" }
pattern "library_missing" { line = { [[error while loading shared libraries: (?P<library>\S+?):]], [[OSError: (?P<object>\S+\.so[.\d]*): cannot open shared object file]],
                                     [[libcudart\S* (?:not found|cannot open)]], [[CUDA Setup failed despite GPU being available]] },
                            event = "library_missing", texts = { library = { { "library" }, { "object" } } } }
pattern "no_gpu"          { line = { [[No CUDA GPUs are available]], [[CUDA driver initialization failed]], [[Found no NVIDIA driver on your system]] }, event = "no_gpu" }
pattern "bad_data"        { line = [[(?:UnicodeDecodeError|JSONDecodeError|ArrowInvalid|DatasetGenerationError|CastError|EmptyDatasetError|DataFilesNotFoundError)\b]], event = "bad_data" }
