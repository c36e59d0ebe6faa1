rule "r" { per = "rank", every = "10s", needs = {}, evaluate = function(job) while true do end end }
