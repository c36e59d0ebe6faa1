-- C1: a start in which the ranks never come together. What the log says of such a start is in hang_lines.lua.

-- Where each rank waits: for a message (1), a lock (2) or anything else (3).
rule "rank_waits_alone" {
  severity = "none", per = "rank", every = "5s",
  summary = "Rank waits at another place than the others, which wait for other processes",
  needs = { call = signal "wait_syscall" { over = "attempt" }, channel = signal "wait_channel" { over = "attempt" } },
  params = { few = 0.25 },
  evaluate = function(job, p)
    local call, channel = job.call:last(), job.channel:last()
    local message = call:is("poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "recvfrom", "recvmsg",
                            "accept", "accept4", "connect")
    local sleeps  = channel:is("poll_schedule_timeout", "poll_schedule_timeout.constprop.0", "do_poll.constprop.0",
                               "ep_poll", "sk_wait_data", "wait_woken", "inet_csk_accept")
    local futex   = channel:is("futex_do_wait", "futex_wait_queue", "futex_wait_queue_me")
    local called  = job.call:seen()
    local place   = called:choose(
      message:choose(1, call:is("futex"):choose(2, 3)), sleeps:choose(1, futex:choose(2, 3)))
    local most    = place:median("job"):fill(place:min("job"))
    local off     = ~place:is(most)
    return off & off:at_most((p.few * place:count("job")):clamp(1), "job") & most:below(2.5)
  end,
}

rule "rendezvous_hang" {
  family = "C1", severity = "critical", per = "job", every = "5s",
  summary = "Hung during initialization: rendezvous incomplete",
  needs = {
    stalled  = finding { "stalled", "no_first_step" },
    alone    = finding "rank_waits_alone",
    step     = signal "step"                { over = "attempt" },
    loss     = signal "loss"                { over = "attempt" },
    process  = signal "process_cpu"         { over = "attempt" },
    pid      = signal "process_pid"         { over = "attempt" },
    launched = signal "collective_launched" { over = "attempt" },
    met      = signal "rendezvous"          { over = "attempt" },
    phase    = signal "phase"               { over = "attempt" },
    cpu      = signal "process_cpu"         { over = "45s" },
    gr       = signal "gr_engine_active"    { over = "30s" },
  },
  -- A rank that no record shows for `unseen` counts as missing if the others' processes use less than `idle` cores: no
  -- log is needed. A GPU that is busy for more than `working` of the time is at work.
  params = { unseen = "60s", idle = 0.02, working = 0.05 },
  yields_to = { "rendezvous_failed", "rank_stopped", "job_stopped", "rank_unreaped", "rank_killed", "node_down" },
  shows = "no step since the attempt began, and no rank is in a collective[; not with the others: {who}]",
  causes = {
    missing = "the named ranks were never started, or run where no collector is; the others wait for them",
    waiting = "the rendezvous still waits for ranks to join",
    odd     = "the named ranks wait at another place than the rest, which waits for other processes: see what they "
      .. "do (py-spy dump)",
    init    = "no rank is known to be missing: the initialization itself hangs",
  },
  actions = {
    missing   = "check the launcher of {who}: was it started, on which node, can it reach MASTER_ADDR?",
    waiting   = "see which ranks have not joined (the launcher's log on each node), and start them",
    odd       = "see what rank {rank} does[ on {node}] (py-spy dump[ --pid {pid:.0f}]), then restart the job",
    init      = "see where the ranks wait (py-spy dump on each), usually in the first collective over a network "
      .. "interface that cannot reach the others (NCCL_SOCKET_IFNAME)",
  },
  evaluate = function(job, p)
    local met     = job.met:last()
    -- No record of the rank's process, while others have some: it was not started, or runs where no collector is.
    local sampled  = job.process:seen():any("job")
    local missing  = ~job.process:seen() & sampled
    local launched = job.launched:last():above(0):any("job"):surely()
    local working  = job.gr:mean():above(p.working):any("job"):surely()
    -- Without samples of processes, a log that says "training" and shows no steps is one that is not understood.
    local training = job.phase:last():is("train", "eval"):surely() & ~sampled
    local never    = job.step:count():max("job"):is(0) & ~job.loss:seen() & ~training
    local odd      = job.alone:now():surely() & ~missing:any("job")
    local unseen   = (missing & job.process:age():above(p.unseen)):any("job")
                   & job.cpu:mean():max("job"):below(p.idle)
    local waiting  = met:is("waiting"):surely() & ~missing:any("job")
    -- An unseen rank suffices where steps are unknown. A rank that was never seen has the age of the attempt.
    return ((job.stalled:now() & never) | (unseen & never:maybe())):surely() & ~launched & ~working,
      {
        who = missing | odd, pid = job.pid:last(), missing = missing:any("job"), odd = odd:any("job"),
        waiting = waiting, init = ~missing:any("job") & ~odd:any("job") & ~waiting,
      }
  end,
}

-- ---- cases --------------------------------------------------------------------------------------

case "one rank of four is never started" {
  ranks = 4,
  { lasting = "2m", phase = "starting",
    rank = { [0] = {
      process_cpu = 0.01, collective_launched = 0,
    }, [1] = { process_cpu = 0.01, collective_launched = 0 },
             [2] = { process_cpu = 0.01, collective_launched = 0 } } },
  fires = { { "rendezvous_hang", who = { 3 }, cause = "missing", within = "90s" } },
}
case "the first step takes ten minutes: compilation" {
  ranks = 4,
  { lasting = "10m", phase = "starting", process_cpu = 0.9, collective_launched = 3, collective_done = 3 },
  {
    lasting = "1m", phase = "train", step = steps(0.5), collective_launched = ramp(4, 200),
    collective_done = ramp(4, 200),
  },
}
case "one rank prepares for ten minutes, the others wait for it" {
  ranks = 4,
  { lasting = "10m", phase = "starting", process_cpu = 0.01, collective_launched = 1, collective_done = 0,
    rank = { [0] = { process_cpu = 0.8, collective_launched = 0 } } },
  {
    lasting = "1m", phase = "train", step = steps(0.5), process_cpu = 0.3, collective_launched = ramp(4, 200),
    collective_done = ramp(4, 200),
  },
}
case "all ranks are there, and one waits for a clock while the rest waits for messages" {
  ranks = 4, { lasting = "20s", phase = "starting", process_cpu = 0.9 },
  { lasting = "3m", process_cpu = 0.005, wait_syscall = "poll", rank = { [2] = { wait_syscall = "clock_nanosleep" } } },
  fires = { { "rendezvous_hang", who = { 2 }, cause = "odd" } },
}
case "one of two reads a file without an end, and the other waits for it" {
  ranks = 2, { lasting = "20s", phase = "starting", process_cpu = 0.9 },
  {
    lasting = "3m", process_cpu = 0.005, wait_channel = "futex_do_wait",
    rank = { [0] = { wait_channel = "locks_lock_inode_wait" } },
  },
  fires = { { "rendezvous_hang", who = { 0 }, cause = "odd" } },
}
case "all wait for messages: no rank is named" {
  ranks = 4, { lasting = "20s", phase = "starting", process_cpu = 0.9 },
  { lasting = "3m", process_cpu = 0.005, wait_syscall = "poll" },
  fires = { { "rendezvous_hang", cause = "init" } },
}
