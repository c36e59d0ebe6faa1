"""Mistakes that people make in a configuration: each is one line that names its place and the remedy, `config check` ends with 1 and
`run` with 2, before it looks for a broker. Those that only a broker shows are in tests/service/test_mistakes.py."""

import os
import pathlib
import subprocess
import tempfile
import unittest

TOCSIN = os.environ.get("TOCSIN", "build/release/adapters/cli/tocsin")
ROOT = pathlib.Path(__file__).resolve().parents[2]
BROKERS = "kafka: {brokers: [b:9092]}\n"    # so that the mistake begins in line 2

# Name: (what is written, what is printed behind FILE:; DIR is the folder of the test).
MISTAKES = {
    "a tab": ("kafka:\n\tbrokers: [b:9092]\n", "2:9: not valid YAML: illegal map value; YAML is indented with spaces, not tabs"),
    "a bracket that is not closed": ("kafka: {brokers: [b:9092}\n", "1:25: not valid YAML: illegal flow end"),
    "a section twice": (BROKERS + "log: {level: info}\nlog: {level: error}\n", "3:1: log is given twice, first in line 2"),
    "an option twice": (BROKERS + "log:\n  level: info\n  level: error\n", "4:3: log.level is given twice, first in line 3"),
    "an unknown option": ("kafka: {brokers: [b:9092], broker: b}\n", "1:28: there is no option kafka.broker (brokers?)"),
    "an option of another section": (BROKERS + "log: {listen: '127.0.0.1:1'}\n", "2:7: there is no option log.listen (http.listen?)"),
    "an option that was taken out": (BROKERS + "limits: {shard_threads: 4}\n", "2:10: there is no option limits.shard_threads"),
    "the limit that one of bytes replaced": (BROKERS + "limits: {subjects: 1000}\n",
                                             "2:10: there is no option limits.subjects: limit the jobs' state by "
                                             "limits.state_size instead, 250KiB for each small job"),
    "a text for a list": ("kafka: {brokers: b:9092}\n", "1:18: kafka.brokers is a list: write [b:9092]"),
    "yes for true": (BROKERS + "alertmanager: {canary: yes}\n", "2:24: alertmanager.canary is true or false, and not 'yes'"),
    "a duration without unit": (BROKERS + "alertmanager: {resend: 60}\n",
                                "2:24: alertmanager.resend: 60 has no unit: write 250ms, 45s, 5m or 1h"),
    "a size in MB": (BROKERS + "limits: {queue_size: 64MB}\n",
                     "2:22: limits.queue_size: 'MB' is none of the units: write 512B, 64KiB, 16MiB or 1GiB"),
    "a negative limit": (BROKERS + "http: {connections: -1}\n", "2:21: http.connections is a whole number, and not '-1'"),
    "a limit beyond what it may be": (BROKERS + "limits: {save_every: 1h}\n", "2:22: limits.save_every is 10s to 4m, and not 1h"),
    "a broker without port": ("kafka: {brokers: [b]}\n", "1:19: kafka.brokers has 'b', which is not HOST:PORT: write broker1.example:9092"),
    "a name with a space": ("kafka: {brokers: [b:1], group: my group}\n",
                            "1:32: kafka.group is a name of letters, digits, '.', '_' and '-', and not 'my group'"),
    "a group without a name": ("kafka: {brokers: [b:1], group: ''}\n", "1:32: kafka.group is empty: write a name of letters, digits, '.', '_' and '-'"),
    "a prefix without a name": ("kafka: {brokers: [b:1], prefix: ''}\n", "1:33: kafka.prefix is empty: write a name of letters, digits, '.', '_' and '-'"),
    "a group of the sources without a name": (BROKERS + "ingest: {group: ''}\n",
                                              "2:17: ingest.group is empty: write a name of letters, digits, '.', '_' and '-'"),
    "a port alone to listen on": (BROKERS + "http: {listen: '9464'}\n",
                                  "2:16: http.listen: '9464' is nothing to listen on: it has no port; write ADDRESS:PORT, as 127.0.0.1:9464"),
    "a host's name to listen on": (BROKERS + "http: {listen: 'myhost:9464'}\n",
                                   "2:16: http.listen: 'myhost:9464' is nothing to listen on: its address is not an IP address (0.0.0.0 is every "
                                   "one); write ADDRESS:PORT, as 127.0.0.1:9464"),
    "an Alertmanager without scheme": (BROKERS + "alertmanager: {instances: [{url: 'am:9093'}]}\n",
                                       "2:34: alertmanager.instances.url: 'am:9093' is not an address: it begins with neither http:// nor "
                                       "https://; write http://HOST:PORT or https://HOST:PORT"),
    "a label that Prometheus refuses": (BROKERS + "alertmanager: {labels: {data-center: west}}\n",
                                        "2:25: 'data-center' cannot name a label: write letters, digits and '_', and begin with no digit"),
    "a label that alerts have": (BROKERS + "alertmanager: {labels: {severity: page}}\n",
                                 "2:25: alertmanager.labels.severity is a label that alerts have of their own: choose another name"),
    "a receiver without an address": (BROKERS + "notify: {receivers: [{severity: critical}]}\n",
                                      "2:22: a receiver of notify.receivers has neither to nor command"),
    "a receiver's address of no known form": (BROKERS + "notify: {receivers: [{to: 'irc://x'}]}\n",
                                              "2:22: notify.receivers: 'irc://x' is not an address of a receiver: write mailto:NAME@HOST"),
    "a severity that is none": (BROKERS + "notify: {receivers: [{to: 'mailto:a@b', severity: high}]}\n",
                                "2:51: notify.receivers.severity is info, warning or critical, and not 'high'"),
    "a receiver's secret that is not there": (BROKERS + "notify: {receivers: [{to: 'slack:', url_file: DIR/none}]}\n",
                                              "2:47: notify.receivers.url_file: cannot read DIR/none: No such file or directory"),
    "a password in an address": (BROKERS + "notify: {receivers: [{to: 'smtp://a:b@c/?to=a@b'}]}\n",
                                 "2:22: notify.receivers: the user of a mail server stands in front of @ without a password: name a "
                                 "password_file"),
    "two receivers of one name": (BROKERS + "notify: {receivers: [{to: 'mailto:a@b', name: x}, {to: 'mailto:c@d', name: x}]}\n",
                                  "2:51: two of notify.receivers have the name x: give each its own"),
    "no rules": (BROKERS + "rules: []\n", "2:8: rules is empty, and nothing would be judged: write [shipped]"),
    "rules that are not there": (BROKERS + "rules: [shipped, DIR/rules.d]\n",
                                 "2:18: rules: DIR/rules.d is not a directory; shipped is the program's own"),
    "a secret that is not there": (BROKERS + "http: {token_file: DIR/token}\n",
                                   "2:20: http.token_file: cannot read DIR/token: No such file or directory"),
    "a secret that is empty": (BROKERS + "http: {token_file: DIR/empty}\n",
                               "2:20: http.token_file: DIR/empty holds no secret: its first line is empty"),
    "a user without a password": (BROKERS + "http: {user: op}\n",
                                  "2:14: http.user and http.password_file need each other: set both or none"),
    "a password in the file itself": ("kafka: {brokers: [b:1], properties: {sasl.password: hunter2}}\n",
                                      "1:38: sasl.password is a secret: put it into a file, and name that in kafka.property_files"),
    "a certificate that is none": (BROKERS + "http: {certificate_file: DIR/garbage, key_file: DIR/garbage}\n",
                                   "2:26: http: DIR/garbage holds no certificate that can be used: it must be PEM (no start line)"),
    "the key of another certificate": (BROKERS + "http: {certificate_file: DIR/one.pem, key_file: DIR/two.key}\n",
                                       "2:26: http: DIR/two.key is not the key of DIR/one.pem: they must be a pair (key values mismatch)"),
    "a key with a passphrase": (BROKERS + "http: {certificate_file: DIR/one.pem, key_file: DIR/locked.key}\n",
                                "2:26: http: DIR/locked.key holds no private key that can be used: it must be PEM, without a passphrase"),
    "authorities that are none": (BROKERS + "alertmanager: {instances: [{url: 'https://a:1', ca_file: DIR/garbage}]}\n",
                                  "2:28: an instance of alertmanager.instances: DIR/garbage holds no certificates of authorities that can "
                                  "be used: it must be PEM"),
    "authorities of the brokers that are none": ("kafka: {brokers: [b:1], properties: {ssl.ca.location: DIR/garbage}}\n",
                                                 "1:55: kafka.properties: DIR/garbage holds no certificates of authorities that can be "
                                                 "used: it must be PEM"),
    "a property that there is not": ("kafka: {brokers: [b:1], properties: {securty.protocol: SSL}}\n",
                                     "1:38: librdkafka has no property securty.protocol (security.protocol?)"),
    "a property with a wrong value": ("kafka: {brokers: [b:1], properties: {security.protocol: TLS}}\n",
                                      "1:38: kafka.properties: Invalid value \"TLS\" for configuration property \"security.protocol\""),
    "a property that is an option": ("kafka: {brokers: [b:1], properties: {group.id: mine}}\n",
                                     "1:38: group.id is set by the option kafka.group"),
    "a property in a file that is no secret": ("kafka: {brokers: [b:1], property_files: {sasl.mechanism: DIR/one.key}}\n",
                                               "1:42: sasl.mechanism is not a secret: write its value in kafka.properties"),
    "a format of logs that there is not": (BROKERS + "log: {format: text}\n", "2:15: log.format is logfmt or json, and not 'text'"),
    "a source without a topic": (BROKERS + "ingest: {sources: [{name: a, format: influx}]}\n",
                                 "2:20: the source a needs one of topic, scrape, files and post: true"),
    "a source that reads our own topic": (BROKERS + "ingest: {sources: [{name: a, topic: tocsin.alerts, format: influx}]}\n",
                                          "2:19: ingest.sources reads tocsin.alerts, which is one of tocsin's own topics: name one of "
                                          "another program"),
}


def tocsin(*arguments, **more):
    return subprocess.run([TOCSIN, *map(str, arguments)], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, **more)


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


class Mistakes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = folder = pathlib.Path(cls.temporary.name)
        (folder / "empty").write_text("\n")
        (folder / "garbage").write_text("garbage\n")
        for name in ("one", "two"):
            openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", 2, "-subj", f"/CN={name}",
                    "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem")
        openssl("ec", "-in", folder / "one.key", "-aes256", "-passout", "pass:x", "-out", folder / "locked.key")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def write(self, text):
        file = self.folder / "tocsin.yml"
        file.write_text(text.replace("DIR", str(self.folder)))
        return file

    def test_each_mistake_is_one_line_with_its_place_and_the_remedy(self):
        self.assertGreaterEqual(len(MISTAKES), 30)
        for name, (text, expected) in MISTAKES.items():
            with self.subTest(name):
                file = self.write(text)
                expected = f"{file}:" + expected.replace("DIR", str(self.folder))
                checked, ran = tocsin("config", "check", file), tocsin("run", "--config", file)
                self.assertEqual(len(checked.stderr.splitlines()), 1, checked.stderr)
                self.assertTrue(checked.stderr.startswith(expected), f"\n{checked.stderr}\n{expected}")
                self.assertEqual((checked.returncode, checked.stdout), (1, ""))
                self.assertEqual((ran.returncode, ran.stderr), (2, "tocsin: " + checked.stderr))

    def test_names_that_the_command_has_are_looked_at_too(self):
        for option, name, why in (("--group", "", "is empty: write a name of letters, digits, '.', '_' and '-'"),
                                  ("--instance", "a b", "is a name of letters, digits, '.', '_' and '-', and not 'a b'")):
            done = tocsin("run", "--kafka", "127.0.0.1:1", option, name)
            self.assertEqual((done.returncode, done.stderr), (2, f"tocsin: {option} {why}\n"))

    def test_pairs_that_fit_are_in_order(self):
        file = self.write(BROKERS + "http: {certificate_file: DIR/one.pem, key_file: DIR/one.key, client_ca_file: DIR/two.pem}\n"
                          "alertmanager: {instances: [{url: 'https://a:1', ca_file: DIR/one.pem, certificate_file: DIR/two.pem, key_file: DIR/two.key}]}\n")
        done = tocsin("config", "check", file)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_map_of_nodes_is_read_with_the_configuration(self):
        (self.folder / "nodes.yml").write_text("node07: {rak: r1}\n")
        done = tocsin("config", "check", self.write(BROKERS + "ingest: {nodes: DIR/nodes.yml}\n"))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertTrue(done.stderr.startswith(f"{self.folder}/nodes.yml:1:10: "), done.stderr)

    def test_rules_that_do_not_load_are_named_with_file_and_line(self):
        rules = self.folder / "bad"
        rules.mkdir()
        (rules / "signals.lua").write_text((ROOT / "rules" / "signals.lua").read_text())
        (rules / "mine.lua").write_text('rule "mine" {\n  famly = "C",\n}\n')
        done = tocsin("run", "--config", self.write(BROKERS + "rules: [DIR/bad]\n"))
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, rf"^tocsin: the rules in {rules} do not load:\s(.*\n)*.*mine\.lua:\d: .*famly.*family")
        (rules / "mine.lua").write_text('rule "mine" {\n')
        done = tocsin("run", "--config", self.write(BROKERS + "rules: [DIR/bad]\n"))
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
        self.assertRegex(done.stderr, r"mine\.lua:2: ")

    def test_a_file_that_cannot_be_read_is_named(self):
        for file, why in ((self.folder / "none.yml", "cannot read {}: No such file or directory"), (self.folder, "{} is a directory, and not a file")):
            done = tocsin("run", "--config", file)
            self.assertEqual((done.returncode, done.stderr), (2, f"tocsin: {why.format(file)}\n"))
            done = tocsin("config", "check", file)
            self.assertEqual((done.returncode, done.stderr), (2, f"{why.format(file)}\n"))

    def test_a_cluster_without_a_port_is_refused(self):
        done = tocsin("run", "--kafka", "kafka://b")
        self.assertEqual(done.returncode, 2)
        self.assertIn("'kafka://b': 'b' is not HOST:PORT; write kafka://HOST:PORT", done.stderr)


if __name__ == "__main__":
    unittest.main()
