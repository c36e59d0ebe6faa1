-- Shared by the rules about hangs.
local gpus = {}

-- Whether the samples of the GPUs show the standstill. One sample, or one from before the last step, does not. Unknown
-- counts as yes.
function gpus.sampled_since(samples, step)
  return (samples:age():below(step:age():min("job")) & samples:count():above(1)):maybe()
end

return gpus
