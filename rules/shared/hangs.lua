-- Shared by the rules that a hang in a collective explains.
local hangs = {}

local function with(rules, more)
  local all = {}
  for _, rule in ipairs(rules) do all[#all + 1] = rule end
  for _, rule in ipairs(more) do all[#all + 1] = rule end
  return all
end

-- These rules, and those that know which collective each rank has entered.
function hangs.or_entered(rules)
  return with(rules, {
    "collective_not_entered", "collective_mismatch", "collective_deadlock", "collective_not_started",
    "collective_incomplete",
  })
end

-- These rules, and all that find a hang in a collective.
function hangs.or_collective(rules) return with(hangs.or_entered(rules), { "collective_hang" }) end

return hangs
