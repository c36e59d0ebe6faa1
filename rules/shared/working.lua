-- Shared by the rules about hangs: what a process does that makes no progress in the log.
local working = {}

-- Whether the process writes: a slow file system keeps it in these calls.
function working.writing(call, state)
  return (call:last():is("write", "pwrite64", "writev", "fsync", "fdatasync", "close", "msync", "munmap", "sync")
          | state:last():is("disk_sleep")):surely()
end

return working
