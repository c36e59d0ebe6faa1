-- Which family a verdict names when several are in. Of two families of which one explains the other, the one that began later is a
-- consequence; precedence decides what time leaves open: causes before consequences, what is proven before what is inferred.
verdict {
  -- What people read beside the code.
  families = {
    A1 = "a failure of the program",     A2 = "a process that was killed",
    B1 = "a GPU out of memory",          B2 = "a broken GPU",                    B3 = "a GPU that is slowed down",
    C1 = "ranks that do not meet",       C2 = "a hang in a collective",          C3 = "a hang outside of collectives",
    C  = "a standstill of unknown kind",
    D1 = "GPUs without enough work",     D2 = "steps that something else holds up", D3 = "a slow rank",
    E1 = "a loss that goes wrong",       E2 = "a resume that went wrong",        E3 = "a training that ended too early",
    F1 = "a lost node",                  F2 = "a preemption or a requeue",       F3 = "the time limit",
    G1 = "a healthy run",
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
  passes = { "A2", "B1", "C" },  -- what the job came through: it cleared, and the job completed, or ended by something that had not cleared
}
