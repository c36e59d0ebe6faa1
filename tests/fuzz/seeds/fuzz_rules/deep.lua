local function f(n) return f(n + 1) + 1 end
local t = {} for i = 1, 1e9 do t[i] = f end error(nil)
