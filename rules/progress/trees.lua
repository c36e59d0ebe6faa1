-- Boosted trees. What the words mean, frameworks.lua says.

local function training(head) head.states = { phase = "train" } return head end

parser "xgboost" (training {
  about = "a round, and a metric of each set of data; the one of the training is read where it falls",
  line = [[^\[(?P<step>INT)\]\s+[\w.-]+-[a-z]\w*(?:@\w+-?)?:NUM]],
  samples = {
    step = "step",
    loss = { find = [[\b\w*train\w*-(?:rmse|rmsle|mae|mape|m?logloss|m?error|mphe|\w+-nloglik|\w+-deviance):(NUM)]] },
  },
})
parser "lightgbm" (training {
  line = {
    [[^\[(?P<step>INT)\]\s+[\w.-]+'s [a-z]\w*(?:@\d+)?: NUM]], [[^\[LightGBM\] \[Info\] Iteration:(?P<counted>INT), ]],
  },
  samples = {
    step = { { "step" }, { "counted" } },
    loss = {
      {
        find = [[\btrain(?:ing)?'s ]] .. either {
          "rmse", "l1", "l2", "mape", "huber", "fair", "poisson", "quantile", [[\w*logloss]], [[\w*error]],
          "cross_entropy",
        } .. [[: (NUM)]],
      },
      {
        find = [[, training (?:rmse|l1|l2|mape|huber|fair|poisson|quantile|\w*logloss|\w*error|cross_entropy) : (NUM)]],
      },
    },
  },
})
parser "catboost" (training {
  line    = [[^(?P<step>INT):\s+learn: NUM\s.*\btotal: ]], samples = { step = "step" },
})
