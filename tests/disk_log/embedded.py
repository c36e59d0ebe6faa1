"""What the tests of the embedded log share: `tocsin run` without Kafka, and what is pushed to it."""

import ctypes
import ctypes.util
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import shutil
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "service"))
from service import TOCSIN, Instance, small_rules, tocsin  # noqa: E402,F401
from tests.servers.process import wait_for  # noqa: E402

TELEMETRY = "application/vnd.tocsin.telemetry"


class Embedded(Instance):
    """`tocsin run` without a word about Kafka."""

    def __init__(self, state, rules, more=(), listen="127.0.0.1:0"):
        self.directory = pathlib.Path(state, "tocsin", "log")
        self.arguments = ["env", "-u", "STATE_DIRECTORY", f"XDG_STATE_HOME={state}", TOCSIN, "run", "--rules", str(rules), "--listen", listen, *more]
        self.start()

    def with_configuration(self, file):
        self.arguments = [TOCSIN, "run", "--config", str(file)]
        self.start()

    def ready(self, partitions=4):
        wait_for(lambda: len(self.partitions()) == partitions, 20, "partitions")
        return self

    def port(self):
        return wait_for(lambda: next((found[1] for line in list(self.log) if (found := re.search(r"serving on port (\d+)", line))), None), 20, "a port")

    def post(self, body, query="", headers=None, path="/api/v1/push"):
        """The answer's status, and its data or error. Without a body it is a GET."""
        method = "GET" if body is None else "POST"
        request = urllib.request.Request(f"http://127.0.0.1:{self.port()}{path}{query}", data=body, headers=headers or {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                answer = answer.status, json.loads(answer.read())
                return answer[0], answer[1].get("data", answer[1])
        except urllib.error.HTTPError as error:
            with error:
                text = error.read().decode()
                return error.code, json.loads(text)["error"] if text.startswith("{") else text

    def push(self, records, query=""):
        return self.post("".join(json.dumps(record) + "\n" for record in records).encode(), query)

    def push_messages(self, messages, compressed=False):
        body = b"".join(struct.pack("<I", len(one)) + one for one in messages)
        headers = {"Content-Type": TELEMETRY}
        if compressed:
            body, headers["Content-Encoding"] = zstd(body), "zstd"
        return self.post(body, headers=headers)

    def history(self):
        """Alerts and verdicts, as they were published, partition by partition."""
        return [line for path in sorted(self.directory.glob("partition-*/alerts.jsonl")) for line in path.read_text().splitlines()]

    def replayed(self):
        """The same of an undisturbed engine that reads the log from its beginning."""
        lines = []
        for partition in sorted(self.directory.glob("partition-*")):
            done = tocsin("replay", partition, "--quiet", "--alerts", "-")
            if done.returncode != 0:
                raise AssertionError(done.stderr)
            lines += [line for line in done.stdout.splitlines() if line.startswith("{")]
        return lines


def zstd_library():
    return ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")


def zstd(data):
    library = zstd_library()
    library.ZSTD_compressBound.restype = library.ZSTD_compress.restype = ctypes.c_size_t
    out = ctypes.create_string_buffer(library.ZSTD_compressBound(ctypes.c_size_t(len(data))))
    size = library.ZSTD_compress(out, ctypes.c_size_t(len(out)), data, ctypes.c_size_t(len(data)), 3)
    return out.raw[:size]


def frames(journal):
    """The messages of a journal."""
    for path in sorted(pathlib.Path(journal).glob("*.journal")):
        content, at = path.read_bytes(), 0
        while at < len(content):
            length = struct.unpack_from("<I", content, at + 4)[0]
            yield content[at + 24:at + 24 + length]
            at += 24 + length


def messages_of(job):
    """The messages of a job under `wrap`, with their producer and numbers."""
    with tempfile.TemporaryDirectory() as folder:
        journal = pathlib.Path(folder, "journal")
        done = tocsin("wrap", "--job", job, "--journal", journal, "--", "echo", "iter 1: loss 2.0000, time 300.00ms, mfu 10.00%")
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        # Beats, packs and the seal are the journal's own, and name no job.
        return [one for one in frames(journal) if job.encode() in one]


class Place:
    """A folder with rules and a state directory; instances in it end with it."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="tocsin-embedded-")
        self.rules = small_rules(self.folder)
        self.state = pathlib.Path(self.folder, "state")
        self.started = []

    def start(self, *more, **options):
        self.started.append(Embedded(self.state, self.rules, more, **options))
        return self.started[-1]

    def close(self):
        for one in self.started:
            if one.process.poll() is None:
                one.process.kill()
                one.process.wait()
        subprocess.run(["umount", "-l", self.state], stderr=subprocess.DEVNULL)
        shutil.rmtree(self.folder, ignore_errors=True)
