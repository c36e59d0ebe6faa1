-- The rendezvous: how ranks meet at the start.

pattern "rendezvous_timeout" {
  line = {
    [[Timed out after (?P<s>\d+) seconds waiting for clients\. (?P<joined>\d+)/(?P<wanted>\d+) clients joined]],
    [[RendezvousTimeout(?:Error|Exception)]],
    [[Timed out initializing process group in store based barrier]]
      .. [[.*world_size=(?P<world>\d+), worker_count=(?P<there>\d+)]],
    [[(?:Socket|socket) Timeout.*(?:TCPStore|rendezvous)|(?:TCPStore|DistStoreError).*(?:[Tt]imed out|[Tt]imeout)]],
    [[is setting up NCCL communicator and retr\w+ ncclUniqueId from .* got error]],
    [[gloo/rendezvous/\S+\] Wait timeout for key]], [[connect\(\) timed out\. Original timeout was]],
    [[DEADLINE_EXCEEDED: .*(?:Barrier timed out|coordination service|RegisterTask)]],
    [[Timed out waiting for tasks to start]],
    [[\bbootstrap\.cc:\d+ CCOM WARN Timeout waiting for incoming connection]],
  },
  event = "rendezvous_timeout",
  fields = { joined = { { "joined" }, { "there" } }, wanted = { { "wanted" }, { "world" } }, waited = "s" },
  states = { rendezvous = "waiting" },
}
pattern "rendezvous_failed" {
  line = {
    [[RendezvousClosedError]], [[RendezvousConnectionError]], [[The client socket has timed out]],
    [[while calling /tensorflow\.CoordinationService/RegisterTask:]],
    [[rendezvous.*(?:Connection refused|[Cc]losed)]], [[The connection to the C10d store has failed]],
    [[\bDistNetworkError\b]], [[Gloo connectFullMesh failed]], [[gloo/transport/\S+\] (?:connect|Connect timeout) \[]],
    [[This may indicate a possible application crash on rank 0 or a network set ?up issue]],
    [[Stop_waiting response is expected]], [[\bhost not found: ]], [[EtcdConnectionFailed]],
  },
  unless = [[EADDRINUSE|Address already in use]], event = "rendezvous_failed",
}
pattern "rendezvous_trouble" {
  about = "PyTorch tries again after these, and most often with success",
  line = {
    [[The client socket has failed to connect]], [[network addresses of .* cannot be retrieved]],
    [[Waiting in store based barrier to initialize process group]],
    [[server socket on \S+ has timed out, will retry]], [[\bCCOM WARN Timeout waiting for RX .*retrying]],
  },
  event = "rendezvous_trouble", states = { rendezvous = "waiting" },
}
pattern "port_in_use" {
  line   = [[(?:errno: 98|EADDRINUSE|Address already in use|Tried to launch distributed communication on port)]],
  event  = "port_in_use", fields = { port = { find = [[(?:\]|[\d.*?]|localhost|port:?) ?[:`]?(\d{2,5})\b]] } },
}
pattern "rendezvous_waits" {
  line = {
    [[Rendezvous'ing worker group]], [[waiting for (?:all )?(?:\d+ )?clients]], [[^(?:launch|rendezvous): waiting for]],
  },
  states = { rendezvous = "waiting" },
  unless = [[Timed out]],
}
pattern "rendezvous_joined" {
  line = {
    [[Rendezvous complete for workers]],
    [[init_process_group (?:done|succeeded)|process group (?:is )?initiali[sz]ed]],
    [[All distributed processes registered]],
  },
  states = { rendezvous = "joined" },
}
