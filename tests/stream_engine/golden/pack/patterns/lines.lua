pattern "traceback" { line = [[^Traceback \(most recent]], ends = [[^\w+Error: ]], continues = [[^ ]], lines = 20, event = "failure", texts = { message = { find = [[(\w+Error): ]] } } }
parser "iteration" { line = [[\biter (?P<step>INT): loss (?P<loss>NUM)]], samples = { loss = "loss" } }
