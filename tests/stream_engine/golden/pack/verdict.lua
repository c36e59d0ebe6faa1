verdict { precedence = { "B2", "C2", "E1", "A1", "D3", "D1", "G1" } }
