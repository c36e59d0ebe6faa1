-- Which family a verdict names when several are in: causes before consequences, what is proven before what is inferred.
verdict {
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
}
