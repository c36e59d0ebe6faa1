"""What the servers that tests start have in common: a process on free ports of the loopback interface, its files in a folder of its own,
ended by its id."""

import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time


class Missing(AssertionError):
    """A program is not installed; says how to get it."""


def program(name, package):
    """Its path."""
    found = shutil.which(name)
    if not found:
        raise Missing(f"{name} is not installed: apt-get install {package}, or run scripts/test")
    return found


held = []    # what keeps other tests from the ports of this process, until it ends


def free_port():
    """A port that no other test takes as long as this process lives: below those that the kernel gives out, and held by a name."""
    first_given = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.randrange(max(first_given - 16384, 1024), max(first_given, 17408))
        name = socket.socket(socket.AF_UNIX)
        try:
            name.bind(f"\0tocsin-test-port-{port}")
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            name.close()
            continue
        held.append(name)
        return port


def wait_for(condition, seconds=20, what="what is waited for"):
    """Returns the first true answer of `condition`, asked again until the time is over."""
    end = time.monotonic() + seconds
    while True:
        if answer := condition():
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come within {seconds} s")
        time.sleep(0.05)


class Server:
    """One process. `with X() as server:` starts it and ends it. A kind of server has `command()` and `title`, and may have `ready()`."""

    title = ""
    patience = 180    # seconds until it answers; a second or ten, where nothing else runs

    def __init__(self, port=None):
        self.port = port or free_port()
        self.process = self.folder = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def command(self):
        """The command line that starts it; writes its files into self.folder first."""
        raise NotImplementedError

    def ready(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def start(self):
        """With an empty folder, unless it was only killed."""
        if not self.folder:
            self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"tocsin-{self.title.split()[-1].lower()}-"))
        try:
            with open(self.folder / "log", "ab") as log:
                self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            wait_for(self.lives_and_is_ready, self.patience, f"{self.title} on port {self.port}")
        except BaseException:
            self.stop()
            raise
        return self

    def lives_and_is_ready(self):
        if self.process.poll() is not None:
            log = (self.folder / "log").read_text(errors="replace")
            raise AssertionError(f"{self.title} ended with {self.process.returncode}:\n{log[-4000:]}")
        return self.ready()

    def pause(self):
        """Stops all of its threads; they stand when this returns, which a signal alone does not promise on a busy machine."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)

    def resume(self):
        if self.process:
            self.process.send_signal(signal.SIGCONT)

    def end(self, number):
        """Ends the process and keeps its folder."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process = None

    def kill(self):
        self.end(signal.SIGKILL)

    def stop(self):
        self.end(signal.SIGTERM)
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.folder = None

    def restart(self):
        """It keeps its port and nothing else."""
        self.stop()
        self.start()

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()
