"""Two ranks of NCCL on one GPU with the profiler plugin: what the rings and RAS show of late, busy, stopped and mismatched
ranks, and what the plugin costs a step. Results in docs: bench/RESULTS.md.

    on_gpu.py FOLDER [stages] [steady] [own]    all parts, or some; seconds at most: LIMIT (240)

FOLDER has libnccl-profiler-tocsin.so, nccl_look (linked statically) and, where they are there, py-spy and libnccl.so.2.xz,
an NCCL of 2.30 or later, which lets two ranks share a GPU.
"""

import ctypes
import json
import lzma
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

tools = Path(sys.argv[1]).resolve()
parts = sys.argv[2:] or ["stages", "steady", "own"]
most = float(os.environ.get("LIMIT", "240"))
here = Path(__file__).resolve().parent
out = Path(os.environ.get("OUT", "/tmp/nccl-on-gpu"))
out.mkdir(parents=True, exist_ok=True)
log = open(out / "log.txt", "w")
scratch = Path("/tmp/nccl-scratch")
shutil.rmtree(scratch, ignore_errors=True)
scratch.mkdir()
begun = time.monotonic()


def say(*what):
    text = f"[{time.monotonic() - begun:7.2f}] " + " ".join(map(str, what))
    print(text, flush=True)
    print(text, file=log, flush=True)


def run(*command, limit=20):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        return (done.stdout + done.stderr).strip()
    except (OSError, subprocess.TimeoutExpired) as error:
        return repr(error)


def kernel_facts():
    """Whether uprobes with BPF programs could work here."""
    libc = ctypes.CDLL(None, use_errno=True)
    say(run("uname", "-a"))
    say("uprobe PMU:", run("cat", "/sys/bus/event_source/devices/uprobe/type"), "BTF:", os.path.exists("/sys/kernel/btf/vmlinux"))
    for name in ("kernel/perf_event_paranoid", "kernel/unprivileged_bpf_disabled", "kernel/yama/ptrace_scope"):
        say(name, run("cat", "/proc/sys/" + name))
    say("capabilities", run("grep", "CapEff", "/proc/self/status"))
    instructions = struct.pack("<BBhi", 0xb7, 0, 0, 0) + struct.pack("<BBhi", 0x95, 0, 0, 0)
    code, license = ctypes.create_string_buffer(instructions), ctypes.create_string_buffer(b"GPL")
    attributes = struct.pack("<IIQQIIQII", 2, 2, ctypes.addressof(code), ctypes.addressof(license), 0, 0, 0, 0, 0).ljust(128, b"\0")
    program = libc.syscall(321, 5, attributes, 128)
    say("bpf(PROG_LOAD):", program, os.strerror(ctypes.get_errno()) if program < 0 else "")
    try:
        kind = int(Path("/sys/bus/event_source/devices/uprobe/type").read_text())
    except OSError as error:
        return say("no uprobes:", error)
    program_file = shutil.copy(tools / "nccl_look", scratch / "probed")  # which nobody runs
    entry, = struct.unpack_from("<Q", Path(program_file).read_bytes(), 24)
    path = ctypes.create_string_buffer(str(program_file).encode())
    event = struct.pack("<IIQQQQQIIQQ", kind, 112, 0, 1, 0, 0, 1, 0, 0, ctypes.addressof(path), entry - 0x400000).ljust(112, b"\0")
    opened = libc.syscall(298, event, -1, 0, -1, 8)
    say("perf_event_open(uprobe):", opened, os.strerror(ctypes.get_errno()) if opened < 0 else "")


def environment(rank, port, own):
    it = dict(os.environ, RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
              NCCL_P2P_DISABLE="1", NCCL_SHM_DISABLE="1", NCCL_IB_DISABLE="1", NCCL_SOCKET_IFNAME="lo", NCCL_MAX_CTAS="4",
              NCCL_NET_GDR_LEVEL="LOC", NCCL_CUMEM_HOST_ENABLE="0", NCCL_RAS_ADDR="127.0.0.1:28028", NCCL_DEBUG="INFO",
              NCCL_DEBUG_SUBSYS="INIT,ENV,RAS,PROFILE", STOP_FILE=str(scratch / "stop"), OMP_NUM_THREADS="4",
              CUDA_DEVICE_MAX_CONNECTIONS="8", EAGER="1")
    it.update(own)
    if "HOSTS" in own:
        it["NCCL_HOSTID"] = f"host{rank}"  # two machines to NCCL: works before 2.30, too
    return it


port = 29600


class Job:
    def __init__(self, name, arguments, own):
        global port
        port += 1
        self.name = name
        self.ring = scratch / f"rings-{name}"
        self.ring.mkdir()
        if own.get("NCCL_PROFILER_PLUGIN"):
            own = dict(own, TOCSIN_NCCL_DIR=str(self.ring))
        self.files = [open(out / f"ranks-{i}.txt", "a") for i in range(2)]
        self.marks = [f.tell() for f in self.files]
        self.ranks = [subprocess.Popen([sys.executable, str(here / "ranks.py"), *arguments], stdout=f, stderr=f,
                                       env=environment(i, port, own)) for i, f in enumerate(self.files)]

    def lines(self, rank=0):
        with open(out / f"ranks-{rank}.txt") as file:
            file.seek(self.marks[rank])
            return [json.loads(line) for line in file if line.startswith('{"t"')]

    def stage(self, name, limit, rank=0):
        """The line of a stage; None: it was not reached."""
        end = time.monotonic() + limit
        while time.monotonic() < end and all(it.poll() is None for it in self.ranks):
            for line in self.lines(rank):
                if line["stage"] == name:
                    return line
            time.sleep(0.1)
        return next((line for line in self.lines(rank) if line["stage"] == name), None)

    def look(self, title, ras=False):
        say(f"--- {self.name}: {title}\n" + run(str(tools / "nccl_look"), str(self.ring), *(["ras"] if ras else []), limit=30))

    def end(self, limit=20):
        for it in self.ranks:
            try:
                it.wait(limit)
            except subprocess.TimeoutExpired:
                it.kill()
        say(self.name, "ended", [it.wait() for it in self.ranks])


def raw_ras(form, title, limit=12):
    try:
        with socket.create_connection(("127.0.0.1", 28028), 2) as it:
            it.settimeout(limit)
            it.sendall(f"CLIENT PROTOCOL 2\nTIMEOUT 5\nSET FORMAT {form}\nVERBOSE STATUS\n".encode())
            data = b""
            while part := it.recv(65536):
                data += part
    except OSError as error:
        data = repr(error).encode()
    (out / "ras.txt").open("ab").write(f"=== {title}, {form}\n".encode() + data + b"\n")


def stages(name, own):
    job = Job(name, ["stages"], own)
    ready = job.stage("ready", 60)
    say(name, "ready:", ready)
    if ready is None:
        job.end(1)
        return False
    job.look("ready", ras=True)
    for stage in ("late", "busy", "graph", "point-to-point"):
        if job.stage(stage, 30) is None:
            break
        time.sleep(1)
        job.look(stage)
        if stage == "late":
            raw_ras("json", name + " late"), raw_ras("text", name + " late")
    if job.stage("steady", 30) is not None:
        time.sleep(1)
        job.look("steady", ras=True)
        os.kill(job.ranks[1].pid, signal.SIGSTOP)
        say("rank 1 is stopped")
        for i in range(2):
            time.sleep(1.5)
            job.look("stopped")
        if (tools / "py-spy").exists():
            for it in job.ranks:
                before = time.monotonic()
                say("py-spy", it.pid, run(str(tools / "py-spy"), "dump", "--pid", str(it.pid), limit=15), f"{time.monotonic() - before:.2f} s")
        job.look("stopped", ras=True)
        raw_ras("json", name + " stopped"), raw_ras("text", name + " stopped")
        for ring in sorted(job.ring.iterdir()):
            shutil.copy(ring, out / f"{name}-{'waits' if str(job.ranks[0].pid) in ring.name else 'stopped'}.ring")
        time.sleep(max(0, 4))
        os.kill(job.ranks[1].pid, signal.SIGCONT)
        time.sleep(2)
        job.look("continued")
        (scratch / "stop").touch()
        if job.stage("mismatch", 15) is not None:
            time.sleep(2.5)
            job.look("mismatch", ras=True)
        (scratch / "stop").unlink()
    for it in job.ranks:
        it.kill()
    job.end()
    job.look("killed")
    return True


def steady(name, own, seconds):
    job = Job(name, ["steady", str(seconds)], own)
    job.stage("ready", 60)
    time.sleep(seconds / 2)
    if own.get("NCCL_PROFILER_PLUGIN"):
        job.look("half way")
    done = job.stage("done", 60)
    job.end()
    say(name, done, (job.lines(1) or [None])[-1])
    return done


kernel_facts()
say(run("nvidia-smi", "--query-gpu=name,driver_version,compute_mode", "--format=csv,noheader"))
say(run(sys.executable, "-c", "import torch; print(torch.__version__, torch.cuda.nccl.version())", limit=60))
say("py-spy on this process's parent:", run(str(tools / "py-spy"), "dump", "--pid", str(os.getpid()))[:300])
plugin = {"NCCL_PROFILER_PLUGIN": str(tools / "libnccl-profiler-tocsin.so")}
newer = {}
if (tools / "libnccl.so.2.xz").exists():
    with lzma.open(tools / "libnccl.so.2.xz") as packed, open(scratch / "libnccl.so.2", "wb") as whole:
        shutil.copyfileobj(packed, whole, 1 << 20)
    newer = {"LD_PRELOAD": str(scratch / "libnccl.so.2"), "NCCL_MULTI_RANK_GPU_ENABLE": "1"}
say("prepared")
works = bool(newer)
if "stages" in parts and not (works and stages("newer", {**newer, **plugin})):
    works = False
    stages("hosts", {"HOSTS": "1", **plugin})
how = newer if works else {"HOSTS": "1"}
mps = {}
if control := shutil.which("nvidia-cuda-mps-control"):
    mps = {"CUDA_MPS_PIPE_DIRECTORY": "/tmp/mps", "CUDA_MPS_LOG_DIRECTORY": "/tmp/mps-log"}
    say("MPS", subprocess.run([control, "-d"], env={**os.environ, **mps}, capture_output=True, text=True, timeout=20))
kinds = {"none": {}, "plugin": plugin, "all-kernels": {**plugin, "TOCSIN_NCCL_KERNELS": "all"}}
results = {kind: [] for kind in kinds}
for i, kind in enumerate("none plugin plugin none all-kernels none plugin plugin none".split() * 2):
    if "steady" not in parts or time.monotonic() - begun > most - 20:
        break
    done = steady(f"{kind}-{i}", {**how, **mps, **kinds[kind]}, 5)
    if done is None and not mps:
        break
    if done is None:
        say("without MPS")
        mps = {}
    results[kind].append(done and (round(done["median_ms"], 4), round(done["p10_ms"], 4), round(done["cpu_ms"], 4)))
say("median, 10th percentile of a step and CPU of rank 0 in ms:", json.dumps(results))
if control:
    say("MPS ends", subprocess.run([control], input="quit\n", env={**os.environ, "CUDA_MPS_PIPE_DIRECTORY": "/tmp/mps"},
                                   capture_output=True, text=True, timeout=20).returncode)
if "own" in parts and time.monotonic() - begun < most - 15:
    steady("own-nccl", {"HOSTS": "1", **plugin}, 3)
say("end")
