-- Which family a verdict names when several are in. Of two families of which one explains the other, the one that began
-- later is a consequence; precedence decides what time leaves open: causes before consequences, what is proven before
-- what is inferred.
verdict {
  -- What people read beside the code.
  families = {
    A1 = "application error", A2 = "process killed",
    B1 = "GPU out of memory", B2 = "GPU hardware failure", B3 = "GPU slowdown",
    C1 = "rendezvous failure", C2 = "collective hang", C3 = "hang outside collectives", C = "hang of unknown cause",
    D1 = "slow data loading", D2 = "slow steps", D3 = "straggler",
    E1 = "abnormal loss", E2 = "failed resume", E3 = "premature end of training",
    F1 = "node failure", F2 = "preempted or requeued", F3 = "time limit",
    G1 = "healthy run",
  },
  precedence = {
    "F1",                    -- a lost node explains everything on it
    "B2", "B1",              -- so does a GPU
    "A2",                    -- survivors of a killed rank hang, and report errors of NCCL
    "C2", "C1", "C3", "C",   -- a hang is the cause of the time limit or the cancel that ends it
    "E2", "E1",
    "F2", "F3",
    "A1",                    -- most failures end in a traceback: it names the family only where nothing else does
    "E3", "B3", "D3", "D1", "D2",
    "G1",
  },
  explains = {
    C2 = { "A2" },           -- a launcher kills the ranks of a hang that timed out
    A2 = { "C2" },           -- survivors of a killed rank hang
  },
  -- What the job came through: it cleared, and the job completed, or ended by something that had not cleared
  passes = { "A2", "B1", "C" },
}
