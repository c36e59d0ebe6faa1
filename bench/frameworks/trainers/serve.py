"""A model that all ranks run together for the requests that rank 0 takes over HTTP, under torchrun. It is idle for some time between two."""

import argparse
import http.server
import os
import queue
import threading
import time
import urllib.request

import torch
import torch.distributed as dist
from torch import nn

import faults

REQUESTS, ANSWERS = queue.Queue(), queue.Queue()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        REQUESTS.put(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(ANSWERS.get())

    def log_message(self, *_):
        pass


def ask(port, options):
    """What a client does: some requests, a pause, and some more."""
    for path in ["/more"] * 60 + ["/pause"] + ["/more"] * 60 + ["/end"]:
        if path == "/pause":
            time.sleep(options.idle)
            continue
        urllib.request.urlopen(f"http://127.0.0.1:{port}{path}").read()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--idle", type=float, default=100)
    options = parser.parse_args()
    rank = int(os.environ["RANK"])
    torch.set_num_threads(1)
    faults.started(rank)
    dist.init_process_group("gloo")
    if rank == 0:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        threading.Thread(target=ask, args=(server.server_port, options), daemon=True).start()
    layer, word = nn.Linear(256, 256), [None]
    with torch.no_grad():
        while word[0] != "/end":
            word[0] = REQUESTS.get() if rank == 0 else None
            dist.broadcast_object_list(word, 0)
            value = torch.ones(8, 256)
            for _ in range(8):
                value = torch.tanh(layer(value))
                dist.all_reduce(value)
            if rank == 0:
                ANSWERS.put(b"%.3f" % value.mean().item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
