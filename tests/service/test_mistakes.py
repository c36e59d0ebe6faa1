"""Mistakes in the configuration that only a broker, another program or a second instance shows: one line that names the place and the
remedy, and an exit status that says whether starting again helps (3) or not (2). Those of the file itself are in tests/config."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from service import HERE, ROOT, TOCSIN, Instance, tocsin, topic  # noqa: E402
from tests.servers.kafka import SecuredKafka, java  # noqa: E402
from tests.servers.process import free_port, wait_for  # noqa: E402

SECRET = "pl4nted-s3cret"
USERS = {"tocsin": f"{SECRET}-1", "nobody": f"{SECRET}-2"}
kafka = folder = None


def setUpModule():
    global kafka, folder
    kafka = SecuredKafka(USERS, **{"group.min.session.timeout.ms": "6000", "auto.create.topics.enable": "true", "num.partitions": "3"}).start()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tocsin-mistakes-"))
    rules = folder / "rules"     # few, so that they load fast
    rules.mkdir()
    shutil.copy(ROOT / "rules" / "signals.lua", rules)
    shutil.copy(HERE / "quiet.lua", rules)
    shutil.copytree(ROOT / "rules" / "progress", rules / "progress")     # steps come from lines
    for name, password in USERS.items():
        (folder / name).write_text(password + "\n")
    (folder / "wrong").write_text(f"{SECRET}-3\n")
    for prefix in ("tocsin", "times"):
        made = tocsin("topics", "create", "--kafka", f"{kafka.address}/{prefix}", "--partitions", 2)
        if made.returncode != 0:
            raise AssertionError(made.stderr)


def tearDownModule():
    kafka.stop()
    shutil.rmtree(folder)


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def answer(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answered:
        return answered.read().decode()


def configuration(broker=None, user=None, password=None, name="tocsin.yml", kafka_more="", http="listen: 127.0.0.1:0", more=""):
    """A configuration: of a user at the secured port, or of anybody at the open one."""
    if user:
        kafka_more += (f"  properties: {{security.protocol: SASL_PLAINTEXT, sasl.mechanism: PLAIN, sasl.username: {user}}}\n"
                       f"  property_files: {{sasl.password: {folder}/{password or user}}}\n")
    file = folder / name
    port = kafka.secured if user else kafka.port
    file.write_text(f"kafka:\n  brokers: ['{broker or f'127.0.0.1:{port}'}']\n{kafka_more}rules: [{folder}/rules]\nhttp: {{{http}}}\n{more}")
    return file


class Mistakes(unittest.TestCase):
    def refused(self, file, code, *parts):
        """`run` ends by itself within seconds, with this status, and its last line is the one that says why."""
        begin = time.monotonic()
        done = tocsin("run", "--config", file)
        took = time.monotonic() - begin
        last = done.stderr.splitlines()[-1] if done.stderr else ""
        self.assertEqual(done.returncode, code, done.stderr)
        for part in parts:
            self.assertIn(part, last, done.stderr)
        self.assertNotIn(SECRET, done.stderr + done.stdout)
        return took

    def test_a_wrong_password_is_named_at_once(self):
        took = self.refused(configuration(user="tocsin", password="wrong"), 2, f"no Kafka broker answers at 127.0.0.1:{kafka.secured}: ",
                            "Authentication failed: Invalid username or password", "the password in kafka.property_files")
        self.assertLess(took, 14)    # and not after the fifteen seconds that a broker may take to come up

    def test_a_mechanism_that_the_broker_does_not_have_is_named(self):
        file = configuration(user="tocsin")
        file.write_text(file.read_text().replace("mechanism: PLAIN", "mechanism: SCRAM-SHA-512"))
        self.refused(file, 2, "SCRAM-SHA-512", "PLAIN", "check sasl.mechanism")

    def test_a_client_without_credentials_where_they_are_needed_is_pointed_to_the_protocol(self):
        self.refused(configuration(f"127.0.0.1:{kafka.secured}"), 3, "security.protocol")

    def test_tls_where_the_broker_has_none_is_pointed_to_the_port(self):
        self.refused(configuration(kafka_more="  properties: {security.protocol: SSL}\n"), 3, "SSL handshake failed", "security.protocol")

    def test_a_broker_of_an_authority_that_is_not_trusted_is_refused(self):
        certificate, key = folder / "broker.pem", folder / "broker.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-subj", "/CN=broker", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                       check=True, capture_output=True)
        port = free_port()     # a TLS server is enough: the handshake comes before Kafka
        server = subprocess.Popen(["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-cert", certificate, "-key", key, "-quiet"],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: listens(port), 10, "a TLS server")
            self.refused(configuration(f"127.0.0.1:{port}", kafka_more="  properties: {security.protocol: SSL}\n"), 2,
                         "certificate verify failed", "ssl.ca.location")
        finally:
            server.kill()
            server.wait()

    def test_a_broker_that_is_not_there_is_named_with_the_reason(self):
        self.refused(configuration("127.0.0.1:1"), 3, "no Kafka broker answers at 127.0.0.1:1 (", "Connection refused", "is it running")
        self.refused(configuration("broker.invalid:9092"), 3, "Failed to resolve 'broker.invalid:9092'")

    def test_a_log_that_cannot_be_written_ends_nothing(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([TOCSIN, "run", "--config", configuration("127.0.0.1:1")], stdin=subprocess.DEVNULL, stderr=full, timeout=60)
        self.assertEqual(done.returncode, 3)
        # Its log is a pipe that nobody reads.
        port = free_port()
        reader, writer = os.pipe()
        os.close(reader)
        process = subprocess.Popen([TOCSIN, "run", "--config", configuration(http=f"listen: '127.0.0.1:{port}'")],
                                   stdin=subprocess.DEVNULL, stderr=writer)
        os.close(writer)
        try:
            wait_for(lambda: listens(port) or process.poll() is not None, 30, "its server")
            process.send_signal(signal.SIGHUP)
            wait_for(lambda: "tocsin_reloads_total{result=\"success\"} 1" in answer(port, "/metrics") or process.poll() is not None, 60, "a reload")
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(60), 0)
        finally:
            process.kill()
            process.wait()

    def test_a_user_without_permissions_learns_which_are_missing(self):
        self.refused(configuration(user="nobody"), 2, "topic tocsin.", "the user needs Describe and DescribeConfigs on it", "docs/operate.md")

    def test_topics_with_other_times_or_numbers_of_partitions_are_named_with_the_command(self):
        alter = ("kafka.admin.ConfigCommand", "--bootstrap-server", f"127.0.0.1:{kafka.port}", "--alter", "--entity-type", "topics",
                 "--entity-name", "times.telemetry", "--add-config", "message.timestamp.type=CreateTime")
        kafka.java(*alter)
        self.refused(configuration(kafka_more="  prefix: times\n"), 2, "topic times.telemetry: message.timestamp.type is CreateTime, it must be "
                     "LogAppendTime; fix it: kafka-configs.sh ")
        # A topic that somebody's client made by asking for it, with the broker's own number of partitions and settings.
        made = subprocess.run(java("kafka.tools.ConsoleProducer", "--bootstrap-server", f"127.0.0.1:{kafka.port}", "--topic", "parts.state"),
                              input="x\n", capture_output=True, text=True)
        self.assertEqual(made.returncode, 0, made.stderr)
        created = tocsin("topics", "create", "--kafka", f"{kafka.address}/parts", "--partitions", 2)
        self.assertEqual(created.returncode, 1, created.stderr)
        self.assertIn("topic parts.state: the number of partitions is 3, it must be 2, as of parts.telemetry; fix it: use another prefix: "
                      "tocsin topics create ", created.stderr)
        self.refused(configuration(kafka_more="  prefix: parts\n"), 2, "topic parts.state: ", "see `tocsin topics check`")
        self.refused(configuration(kafka_more="  prefix: none\n"), 2, "topic none.telemetry does not exist; make it: tocsin topics create ")

    def test_a_port_that_is_taken_or_an_address_that_is_not_ours_is_named(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            address = f"127.0.0.1:{other.getsockname()[1]}"
            self.refused(configuration(http=f"listen: '{address}'"), 3, f"cannot listen on {address}: Address already in use",
                         "another program has this port")
        self.refused(configuration(http="listen: '192.0.2.1:9464', open: true"), 3, "this machine has no such address")

    def test_a_session_that_the_brokers_do_not_take_is_named(self):
        done = tocsin("run", "--kafka", kafka.address, "--rules", folder / "rules", "--listen", "127.0.0.1:0", "--session-timeout", 2)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("the brokers do not take this session time-out (kafka.session_timeout, --session-timeout)", done.stderr.splitlines()[-1])

    def test_a_source_whose_topic_is_not_there_is_named(self):
        self.refused(configuration(more="ingest: {sources: [{name: a, topic: nowhere, format: influx}]}\n"), 2,
                     "ingest.sources: there is no topic nowhere")


class Permissions(unittest.TestCase):
    def test_the_permissions_on_the_page_are_all_that_it_needs_and_it_needs_each(self):
        commands = [line.split() for line in (ROOT / "docs" / "operate.md").read_text().splitlines() if line.startswith("    kafka-acls.sh ")]
        commands = [command[3:] for command in commands if command[:2] == ["kafka-acls.sh", "--bootstrap-server"]]
        self.assertEqual(len(commands), 3, commands)
        topics, group, transactions = commands
        file = configuration(user="tocsin", name="permitted.yml", kafka_more="  session_timeout: 6s\n  instance_id: one\n",
                             more="log: {level: debug}\n")
        run = lambda: tocsin("run", "--config", file)  # noqa: E731
        missing = []
        for command in commands:
            done = run()
            self.assertEqual(done.returncode, 2, done.stderr)
            missing.append(done.stderr.splitlines()[-1])
            kafka.permit(*command)
        self.assertIn("DescribeConfigs", missing[0])
        self.assertIn("the user needs", missing[1])
        self.assertIn("the user needs", missing[2])
        service = Instance(None, None, config=file)
        try:
            wait_for(lambda: len(service.partitions()) == 2 or service.process.poll() is not None, 60, "partitions")
            self.assertIsNone(service.process.poll(), "\n".join(service.log))
            source = subprocess.run([*tocsin_wrap(), "--to", kafka.address, "--rules", folder / "rules", "--", sys.executable, HERE / "job.py",
                                     "8", "0.2", "6"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                                    env=environment())
            self.assertEqual(source.returncode, 0, source.stderr)
            alerts = wait_for(lambda: topic(file, "alerts"), 40, "an alert")
            self.assertEqual(json.loads(alerts[0])["rule"], "quiet")
            self.assertEqual(service.stop(), 0)
        finally:
            service.kill()
        self.assertNotIn("authorization", "\n".join(service.log).lower())
        self.assertNotIn(SECRET, "\n".join(service.log))


def tocsin_wrap():
    from service import TOCSIN
    return [TOCSIN, "wrap", "--job", "permitted", "--journal", folder / "journal"]


def environment():
    import os
    return dict(os.environ, RANK="0", WORLD_SIZE="1")


if __name__ == "__main__":
    unittest.main()
