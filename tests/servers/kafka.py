"""Apache Kafka for tests: one process that is broker and controller. Its jars are those of pom.xml beside this file.

    with Kafka() as kafka:
        tocsin("topics", "create", "--kafka", kafka.address)
"""

import base64
import pathlib
import subprocess
import uuid

from tests.servers.jars import jars
from tests.servers.process import Server, free_port, program

POM = pathlib.Path(__file__).resolve().parent / "pom.xml"
OPTIONS = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.logFile=System.err"]


def java(*arguments, memory="-Xmx128m"):
    """The command line of a program of Kafka's own."""
    return [program("java", "default-jre-headless"), memory, *OPTIONS, "-cp", f"{jars(POM, 'kafka')}/*", *map(str, arguments)]


class Kafka(Server):
    title = "Apache Kafka"

    def __init__(self, **settings):
        super().__init__()
        self.address = f"kafka://127.0.0.1:{self.port}"
        controller = free_port()
        number = bytearray(uuid.uuid4().bytes)
        number[0] &= 0x7F    # no minus in front, which would be taken for an option
        self.cluster = base64.urlsafe_b64encode(number).rstrip(b"=").decode()
        self.settings = {
            "process.roles": "broker,controller", "node.id": "1", "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}", "inter.broker.listener.name": "PLAINTEXT",
            "controller.listener.names": "CONTROLLER", "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "auto.create.topics.enable": "false", "group.initial.rebalance.delay.ms": "0", "group.min.session.timeout.ms": "1000",
            "offsets.topic.num.partitions": "1", "offsets.topic.replication.factor": "1",
            "transaction.state.log.num.partitions": "1", "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1", "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
            **settings,
        }

    def command(self):
        configuration = self.folder / "server.properties"
        if not configuration.exists():    # else it was killed, and goes on with its data
            settings = {**self.settings, "log.dirs": self.folder / "data"}
            configuration.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
            self.java("kafka.tools.StorageTool", "format", "-t", self.cluster, "-c", configuration, memory="-Xmx256m")
        return java("kafka.Kafka", configuration, memory="-Xmx512m")

    def configure(self, topic, *settings):
        """What `kafka-configs.sh --alter` does."""
        self.java("kafka.admin.ConfigCommand", "--bootstrap-server", f"127.0.0.1:{self.port}", "--alter", "--entity-type", "topics",
                  "--entity-name", topic, "--add-config", ",".join(settings))

    @staticmethod
    def java(*arguments, memory="-Xmx128m"):
        """Runs a program of Kafka's own; its output."""
        done = subprocess.run(java(*arguments, memory=memory), stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(f"{arguments[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout


class SecondBroker(Kafka):
    """Another broker of the cluster of `first`, which it needs."""

    title = "a second broker of Apache Kafka"

    def __init__(self, first):
        super().__init__()
        self.cluster = first.cluster
        listener = f"PLAINTEXT://127.0.0.1:{self.port}"
        self.settings = {**first.settings, "process.roles": "broker", "node.id": "2", "listeners": listener, "advertised.listeners": listener}


class SecuredKafka(Kafka):
    """A broker with an authorizer. At `port` everybody may do everything, as with Kafka; at `secured` clients are users with passwords
    (SASL, PLAIN), who may do what they were allowed."""

    def __init__(self, users, **settings):
        super().__init__(**settings)
        self.users, self.secured = users, free_port()
        passwords = " ".join(f'user_{name}="{password}"' for name, password in users.items())
        for key in ("listeners", "advertised.listeners"):
            self.settings[key] += f",SASL_PLAINTEXT://127.0.0.1:{self.secured}"
        self.settings["listener.security.protocol.map"] += ",SASL_PLAINTEXT:SASL_PLAINTEXT"
        self.settings.update({
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer", "super.users": "User:ANONYMOUS",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config":
                f"org.apache.kafka.common.security.plain.PlainLoginModule required {passwords};",
            **settings})

    def permit(self, *arguments):
        """What `kafka-acls.sh` does with these arguments."""
        return self.java("kafka.admin.AclCommand", "--bootstrap-server", f"127.0.0.1:{self.port}", *arguments)


class Producer:
    """Another program that writes a message a line to a topic; `properties` are of its client."""

    def __init__(self, kafka, topic, *properties):
        more = [word for one in properties for word in ("--producer-property", one)]
        self.process = subprocess.Popen(
            java("kafka.tools.ConsoleProducer", "--bootstrap-server", f"127.0.0.1:{kafka.port}", "--topic", topic, "--timeout", 20,
                 "--request-required-acks", "all", *more),
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)

    def write(self, *lines):
        self.process.stdin.write("".join(line + "\n" for line in lines))
        self.process.stdin.flush()

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(30)
