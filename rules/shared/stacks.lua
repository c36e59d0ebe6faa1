-- Shared by the rules that say where ranks are.
local stacks = {}

-- Where most of the ranks are that wait in a collective, or in a step of training for one.
function stacks.in_collectives(stack)
  return stack:where { doing = { "collective", "syncing", "computing" } }:last("where"):mode("job")
end

return stacks
