"""Apache Kafka for tests: one process that is broker and controller, on free ports of the loopback interface, with its data in a folder
of its own. The jars come once, by Maven, from pom.xml beside this file, into build/servers/kafka (or $TOCSIN_SERVERS/kafka).

    with Kafka() as kafka:
        tocsin("topics", "create", "--kafka", kafka.address)
"""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CACHE = pathlib.Path(os.environ.get("TOCSIN_SERVERS", ROOT / "build" / "servers"))
QUIET = ["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.logFile=System.err"]


class Unavailable(Exception):
    """What is missing, and how to get it."""


def jars():
    """The folder with the broker's jars; fetched if they are not there."""
    if not shutil.which("java"):
        raise Unavailable("there is no Java runtime: install default-jre-headless")
    folder = CACHE / "kafka" / str(int((HERE / "pom.xml").stat().st_size))
    if (folder / "complete").exists():
        return folder
    if not shutil.which("mvn"):
        raise Unavailable("there is no Maven to fetch the broker with: install maven")
    folder.mkdir(parents=True, exist_ok=True)
    fetched = subprocess.run(["mvn", "-B", "-q", "-f", HERE / "pom.xml", "dependency:copy-dependencies", "-DincludeScope=runtime",
                              f"-DoutputDirectory={folder}"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if fetched.returncode != 0:
        raise Unavailable("Maven could not fetch the broker:\n" + fetched.stdout[-2000:] + fetched.stderr[-2000:])
    (folder / "complete").touch()
    return folder


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Kafka:
    def __init__(self, **settings):
        self.settings = settings
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tocsin-kafka-"))
        self.port, controller = free_port(), free_port()
        self.address = f"kafka://127.0.0.1:{self.port}"
        settings = {
            "process.roles": "broker,controller", "node.id": "1", "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}", "inter.broker.listener.name": "PLAINTEXT",
            "controller.listener.names": "CONTROLLER", "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(self.folder / "data"), "auto.create.topics.enable": "false",
            "group.initial.rebalance.delay.ms": "0", "group.min.session.timeout.ms": "1000",
            "offsets.topic.num.partitions": "1", "offsets.topic.replication.factor": "1",
            "transaction.state.log.num.partitions": "1", "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1", "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
            **self.settings,
        }
        self.configuration = self.folder / "server.properties"
        self.configuration.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        self.java("-Xmx256m", "kafka.tools.StorageTool", "format", "-t", self.cluster_id(), "-c", self.configuration)
        self.start_process()

    @staticmethod
    def cluster_id():
        import base64
        return base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()

    def start_process(self):
        """The broker on its data; also after kill()."""
        self.log = open(self.folder / "broker.log", "ab")
        self.process = subprocess.Popen(
            ["java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *QUIET, "-cp", f"{jars()}/*", "kafka.Kafka", str(self.configuration)],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            if self.process.poll() is not None:
                break
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise AssertionError("the broker did not start:\n" + (self.folder / "broker.log").read_text()[-4000:])

    def kill(self):
        self.end(signal.SIGKILL)

    def stop(self):
        if self.process:
            self.end(signal.SIGTERM)
            shutil.rmtree(self.folder, ignore_errors=True)

    def end(self, number):
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process = None
        self.log.close()

    @staticmethod
    def java(*arguments):
        """Runs a program of Kafka's own; its output."""
        flags = [str(argument) for argument in arguments if str(argument).startswith("-X")]
        rest = [str(argument) for argument in arguments if not str(argument).startswith("-X")]
        done = subprocess.run(["java", *(flags or ["-Xmx128m"]), "-XX:TieredStopAtLevel=1", *QUIET, "-cp", f"{jars()}/*", *rest],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(f"{rest[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout
