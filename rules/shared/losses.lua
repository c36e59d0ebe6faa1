-- Shared by the rules about losses, which compare them as ratios: 0.35 is 1.4 times.
local losses = {}

function losses.ratio(a, b) return (a / b):log() end
-- The standard deviation of one value over the median, from the median distance to the median.
function losses.scatter(values) return 1.4826 * values:mad() / values:median() end

return losses
