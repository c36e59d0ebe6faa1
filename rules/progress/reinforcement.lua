-- Reinforcement learning: its losses are not a measure of what is learnt. What the words mean, frameworks.lua says.

local function training(head) head.states = { phase = "train" } return head end

parser "verl" (training {
  about   = "reinforcement learning; with NumPy 2 the numbers of an actor are np.float64(0.5)",
  line = [[\bstep:(?P<step>INT) - .*\btiming_s/step:(?:np\.float\d+\()?(?P<time>NUM)]],
  samples = {
    step = "step", step_time = "time", grad_norm = { find = [[\bactor/grad_norm:(?:np\.float\d+\()?(NUM)]] },
    learning_rate = { find = [[\bactor/lr:(?:np\.float\d+\()?(NUM)]] },
  },
})
parser "stable_baselines" (training {
  about   = "Stable Baselines and its kin: a table of statistics; its losses are not a measure of what is learnt",
  line    = [[^\| +(?:total_)?timesteps +\| +(?P<step>INT) +\|]], samples = { step = "step" },
})
parser "logged_table" {
  about =
    "the table of OpenAI's logger, as improved diffusion and Baselines print it: a row for each value, sorted by name",
  line = [[^\| +(?:global_)?step +\| +(?P<step>NUM) +\|]], samples = { step = "step" }, states = { phase = "train" },
}
parser "logged_loss" {
  about   = "its row of the loss; the table of Stable Baselines indents the row, and has titles above: train/",
  line    = [[^\| (?:train_)?loss +\| +(?P<loss>NUM) +\|]], samples = { loss = "loss" }, states = { phase = "train" },
}
parser "episodes_returned" (training {
  about = "CleanRL: global_step=1024, episodic_return=[21.]; self-play: batch i:12, episode_len:30",
  line = {
    [[\bglobal[_ ]step=(?P<step>INT), episodic[_ ](?:return|length)=]], [[\bbatch i:\s?(?P<batch>INT), ?episode_len:]],
  },
  samples = { step = { { "step" }, { "batch" } } },
})
