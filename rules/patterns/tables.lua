-- Tables of GPUs that were made for people, as they are printed into logs: by a script before the training, by cron, by
-- a person who looks for the cause of a hang. Each row is one look at one GPU.

pattern "nvidia_smi" {
  about = "two lines a GPU; Usage/Cap and GPU-Util are on the second",
  line = [[^\s*\|\s+\d+\s+\S.*\|\s+(?P<pci>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d) +O(?:ff|n)\s]],
  scan = [[\.\d +O(?:ff|n)]], continues = [[^\s*\|\s*(?:N/A|ERR!|\d+%)\s]], ends = [[^\s*\|\s*(?:N/A|ERR!|\d+%)\s]],
  lines = 2,
  gpu = "pci",
  samples = {
    gr_engine_active = { find = [[(?m)iB \|\s+(NUM)%]], scale = 0.01 }, gpu_power = { find = [[ (NUM)W /]] },
    gpu_power_limit = { find = [[W /\s*(NUM)W]] },
    gpu_temperature = { find = [[ (NUM)C ]] }, gpu_memory_used = { find = [[\| *(NUM)MiB /]], scale = 1048576 },
  },
}
pattern "nvidia_smi_query" {
  about = "rows of --format=csv that begin with an index, a bus address or a UUID; columns without a unit cannot be "
    .. "distinguished",
  line = [[^[,\s]*(?:[A-Z][\w .-]*, )?(?P<gpu>]] .. either {
    [[\d{1,2}]], [[[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d]], [[GPU-[0-9a-f-]+]],
  } .. [[), .*\d (?:%|W|MiB),.*\d (?:%|W|MiB)]],
  gpu = "gpu",
  samples = { gr_engine_active = { find = [[(NUM) %]], scale = 0.01 }, gpu_power = { find = [[(NUM) W]] } },
}
pattern "nvidia_smi_unnamed" {
  about = "the same without a column that names the GPU: rows cannot be distinguished, but one at rest beside busy "
    .. "ones shows",
  line = [=[\bpower\.draw \[W\], utilization\.gpu \[%\]|\butilization\.gpu \[%\], power\.draw \[W\]]=],
  unless = [[\b(?:index|uuid|pci\.bus|gpu_bus_id|serial)\b]],
  continues = [[^\s*\[?(?:\d|N/A).* (?:%|W)\b]], lines = 40,
  event = "gpus_compared",
  fields = {
    idle = { { find = [[(NUM) W, 0 %]] }, { find = [[(?m)\b0 %, (NUM) W]] } },
    busy = { { find = [[(NUM) W, 100 %]] }, { find = [[\b100 %, (NUM) W]] } },
  },
}
pattern "gpustat" {
  line = [[^\[(?P<gpu>\d{1,2})\] [^|]*\|\s*\d+.C,\s*\d+ %]], gpu = "gpu",
  samples = {
    gr_engine_active = { find = [[C,\s*(NUM) %]], scale = 0.01 }, gpu_power = { find = [[%,\s*(NUM) / NUM W]] },
    gpu_power_limit = { find = [[/ (NUM) W]] },
    gpu_temperature = { find = [[\|\s*(NUM).C]] },
    gpu_memory_used = { find = [[\|\s*(NUM) / NUM MB]], scale = 1048576 },
  },
}

-- Reasons of low clocks: nvidia-smi -q names a reason a line. A software power cap is normal under load, and HW
-- Slowdown alone flickers.
pattern "throttle_reported" {
  line = {
    [[^\s*(?P<smi>HW (?:Thermal Slowdown|Power Brak(?:e Slowdown|ing)))\s*:\s*Active\b]],
    [[\b(?P<gpud>hw slowdown) events frequency per minute NUM \(.*\) exceeded threshold]],
    [[\b(?P<code>GPU_TEMP_HW_SLOWDOWN_VIOLATION)\b]],
    [[\b[Cc]lock(?:s event|s? throttling) due to (?P<dcgm>\w+) violation\b]],
  },
  event = "throttle_reported", texts = { reason = { { "smi" }, { "gpud" }, { "code" }, { "dcgm" } } },
}
