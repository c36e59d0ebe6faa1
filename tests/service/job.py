"""A job of one process for the tests: steps, and silences between them. job.py STEPS GAP SILENCE [STEPS GAP SILENCE ...]"""

import sys
import time

step = 0
for steps, gap, silence in zip(*[iter(sys.argv[1:])] * 3):
    for _ in range(int(steps)):
        step += 1
        print(f"iter {step}: loss {3 - step / 1000:.4f}, time {float(gap) * 1000:.2f}ms, mfu 10.00%", flush=True)
        time.sleep(float(gap))
    time.sleep(float(silence))
