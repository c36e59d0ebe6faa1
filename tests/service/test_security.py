"""The service as others may reach it: it listens where the configuration says and nowhere else, lets nobody in without credentials, and shows
no secret: not in its log at any level, nor in /metrics, the API, the topics, or an alert."""

import base64
import http.client
import http.server
import json
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from service import HERE, ROOT, TOCSIN, Instance, tocsin, topic  # noqa: E402
from tests.servers.kafka import SecuredKafka  # noqa: E402
from tests.servers.process import wait_for  # noqa: E402

SECRET = "pl4nted"     # a part of each secret
SECRETS = {"broker": f"{SECRET}-broker-7f3a", "password": f"{SECRET}-password-91c2", "token": f"{SECRET}-token-55e0", "manager": f"{SECRET}-manager-0d4b"}
kafka = folder = None


def setUpModule():
    global kafka, folder
    kafka = SecuredKafka({"tocsin": SECRETS["broker"]}, **{"super.users": "User:ANONYMOUS;User:tocsin"}).start()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tocsin-security-"))
    rules = folder / "rules"
    rules.mkdir()
    shutil.copy(ROOT / "rules" / "signals.lua", rules)
    shutil.copy(HERE / "quiet.lua", rules)
    shutil.copytree(ROOT / "rules" / "progress", rules / "progress")     # steps come from lines
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=tocsin", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "http.key", "-out", folder / "http.pem"],
                   check=True, capture_output=True)


def tearDownModule():
    kafka.stop()
    shutil.rmtree(folder)


class Echo(http.server.BaseHTTPRequestHandler):
    """An Alertmanager behind a proxy that takes nothing, and repeats what it was sent."""

    asked = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.asked.append((self.headers["Authorization"], body.decode()))
        answer = f"not authorized: {self.headers['Authorization']}".encode()
        self.send_response(401)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def listening(pid):
    """(address, port) of the sockets of a process that listen, as hex of /proc/net."""
    inodes = set()
    for descriptor in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        if found := re.match(r"socket:\[(\d+)\]", os.readlink(descriptor)):
            inodes.add(found[1])
    found = []
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            part = line.split()
            if part[3] == "0A" and part[9] in inodes:
                found.append(tuple(part[1].split(":")))
    return found


class Security(unittest.TestCase):
    def service(self, prefix, http, more="", properties=""):
        made = tocsin("topics", "create", "--kafka", f"{kafka.address}/{prefix}", "--partitions", 1)
        self.assertEqual(made.returncode, 0, made.stderr)
        file = folder / f"{prefix}.yml"
        file.write_text(f"""kafka:
  brokers: ['127.0.0.1:{kafka.secured}']
  prefix: {prefix}
  group: {prefix}
  instance_id: one
  session_timeout: 6s
  properties: {{security.protocol: SASL_PLAINTEXT, sasl.mechanism: PLAIN, sasl.username: tocsin{properties}}}
  property_files: {{sasl.password: {folder}/broker}}
rules: [{folder}/rules]
http: {{{http}}}
log: {{level: debug}}
{more}""")
        service = Instance(None, None, config=file)
        self.addCleanup(service.kill)
        wait_for(lambda: len(service.partitions()) == 1 or service.process.poll() is not None, 60, "a partition")
        self.assertIsNone(service.process.poll(), "\n".join(service.log))
        return file, service

    def setUp(self):
        for name, secret in SECRETS.items():
            (folder / name).write_text(secret + "\n")

    def test_it_listens_on_loopback_alone_and_once(self):
        self.assertIn('listen: 127.0.0.1:9464', tocsin("config", "show", "--defaults").stdout)
        _, service = self.service("listens", "listen: 127.0.0.1:0")
        self.assertEqual([address for address, _ in listening(service.process.pid)], ["0100007F"])
        self.assertEqual(service.stop(), 0)

    def test_tls_and_credentials_with_real_clients(self):
        _, service = self.service("credentials", f"listen: 127.0.0.1:0, certificate_file: {folder}/http.pem, key_file: {folder}/http.key, "
                                  f"user: op, password_file: {folder}/password, token_file: {folder}/token")
        port = int(wait_for(lambda: next((found[1] for line in list(service.log) if (found := re.search(r"serving on port (\d+)", line))), None)))

        def curl(path, *arguments):
            return subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--cacert", folder / "http.pem", *arguments,
                                   f"https://127.0.0.1:{port}{path}"], capture_output=True, text=True, timeout=60).stdout

        for path in ("/metrics", "/api/v1/jobs", "/api/v1/alerts", "/api/v1/rules", "/api/v1/verdicts", "/api/v1/status", "/nowhere"):
            self.assertEqual(curl(path), "401", path)
            self.assertEqual(curl(path, "-u", "op:wrong"), "401", path)
            self.assertEqual(curl(path, "-H", "Authorization: Bearer wrong"), "401", path)
            self.assertEqual(curl(path, "-u", f"op:{SECRETS['token']}"), "401", path)      # the token is no password
        self.assertEqual(curl("/-/reload", "-X", "POST"), "401")
        self.assertEqual(curl("/-/healthy"), "200")
        self.assertEqual(curl("/metrics", "-u", f"op:{SECRETS['password']}"), "200")
        self.assertEqual(curl("/api/v1/status", "-H", f"Authorization: Bearer {SECRETS['token']}"), "200")
        self.assertEqual(curl("/-/reload", "-X", "POST", "-H", f"Authorization: Bearer {SECRETS['token']}"), "200")
        plain = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        with self.assertRaises((http.client.HTTPException, OSError)):
            plain.request("GET", "/-/healthy")
            plain.getresponse()
        plain.close()
        with self.assertRaises(ssl.SSLError):     # of an authority that the client does not know
            client = http.client.HTTPSConnection("127.0.0.1", port, timeout=20)
            client.request("GET", "/-/healthy")
        self.assertEqual(service.stop(), 0)

    def test_secrets_are_shown_nowhere(self):
        Echo.asked.clear()
        manager = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
        threading.Thread(target=manager.serve_forever, daemon=True).start()
        self.addCleanup(manager.server_close)
        self.addCleanup(manager.shutdown)
        file, service = self.service(
            "secrets", f"listen: 127.0.0.1:0, user: op, password_file: {folder}/password, token_file: {folder}/token",
            f"alertmanager: {{instances: [{{url: 'http://127.0.0.1:{manager.server_port}', token_file: {folder}/manager}}], resend: 1s}}\nlimits: {{queue_size: 3MiB}}\n",
            ", debug: 'broker,topic,security,conf,eos'")
        port = int(wait_for(lambda: next((found[1] for line in list(service.log) if (found := re.search(r"serving on port (\d+)", line))), None)))
        credentials = {"Authorization": "Basic " + base64.b64encode(f"op:{SECRETS['password']}".encode()).decode()}
        # A job whose environment, command line and lines hold secrets. (Lines that alerts quote are masked: tests/text.)
        job = subprocess.run(
            [TOCSIN, "wrap", "--job", "secrets", "--journal", folder / "journal", "--to", file, "--rules", folder / "rules", "--", sys.executable,
             "-c", f"import runpy, sys; print('Authorization: Bearer {SECRET}-line', flush=True); sys.argv = ['job', '8', '0.2', '6']; "
             f"runpy.run_path({str(HERE / 'job.py')!r}, run_name='__main__')"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180,
            env=dict(os.environ, RANK="0", WORLD_SIZE="1", API_TOKEN=f"{SECRET}-environment"))
        self.assertEqual(job.returncode, 0, job.stderr)
        alerts = wait_for(lambda: topic(file, "alerts"), 60, "an alert")
        wait_for(lambda: Echo.asked, 30, "a post")
        self.assertEqual(Echo.asked[0][0], f"Bearer {SECRETS['manager']}")     # it is sent, to whom it is for

        def get(path, headers):
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            try:
                client.request("GET", path, headers=headers)
                answer = client.getresponse()
                return answer.status, answer.read().decode()
            finally:
                client.close()

        shown = {"alerts": "\n".join(alerts), "wrap's messages": job.stderr, "posts": "\n".join(body for _, body in Echo.asked)}
        for path in ("/metrics", "/api/v1/jobs", "/api/v1/alerts", "/api/v1/rules", "/api/v1/verdicts", "/api/v1/status"):
            status, shown[path] = get(path, credentials)
            self.assertEqual(status, 200, path)
            status, shown[f"{path} with wrong credentials"] = get(path, {"Authorization": f"Bearer {SECRET}-guessed"})
            self.assertEqual(status, 401)
        self.assertIn("quiet", shown["/api/v1/alerts"])
        (folder / "password").write_text(f"{SECRET}-changed\n")     # secrets are read again, and one that is gone is reported without the last
        (folder / "token").unlink()
        shown["after a change"] = get("/metrics", {"Authorization": f"Bearer {SECRET}-guessed"})[1]
        self.assertEqual(service.stop(), 0)
        shown["the log"] = "\n".join(service.log)
        self.assertIn("level=debug", shown["the log"])
        self.assertIn("sasl", shown["the log"].lower())
        self.assertIn("queued.max.messages.kbytes = 3072", shown["the log"])     # limits.queue_size
        shown["config show"] = tocsin("config", "show", file).stdout
        for where, text in shown.items():
            for line in text.splitlines():
                self.assertNotIn(SECRET, line, where)
                for secret in SECRETS.values():
                    self.assertNotIn(base64.b64encode(secret.encode()).decode().rstrip("="), line, where)

    def test_a_secret_at_the_wrong_place_is_refused_without_being_repeated(self):
        for text in (f"kafka: {{brokers: ['me:{SECRET}@b:9092']}}\n",
                     f"kafka: {{brokers: [b:1], properties: {{sasl.password: {SECRET}}}}}\n",
                     f"kafka: {{brokers: [b:1], property_files: {{sasl.mechanism: {folder}/password}}}}\n",
                     f"kafka: {{brokers: [b:1], property_files: {{sasl.password: {folder}/none}}}}\n",
                     f"kafka: {{brokers: [b:1]}}\nalertmanager: {{instances: [{{url: 'http://me:{SECRET}@a:9093'}}]}}\n",
                     f"kafka: {{brokers: [b:1]}}\nalertmanager: {{instances: [{{url: 'http://a:9093?token={SECRET}'}}]}}\n",
                     f"kafka: {{brokers: [b:1]}}\nhttp: {{password: {SECRET}}}\n",
                     f"kafka: {{brokers: [b:1]}}\nhttp: {{external_url: 'https://me:{SECRET}@x'}}\n"):
            file = folder / "wrong.yml"
            file.write_text(text)
            for command in (("config", "check", file), ("config", "show", file), ("run", "--config", file)):
                done = tocsin(*command)
                self.assertNotEqual(done.returncode, 0, text)
                self.assertTrue(done.stderr, text)
                self.assertNotIn(SECRET, done.stderr + done.stdout, text)
        for command in (("run", "--kafka", f"kafka://me:{SECRET}@b:9092"), ("run", "--kafka", kafka.address, "--alertmanager", f"http://me:{SECRET}@a:9093"),
                        ("topics", "check", "--kafka", f"me:{SECRET}@b:9092/x"), ("wrap", "--to", f"kafka://me:{SECRET}@b", "--", "true")):
            done = tocsin(*command)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertNotIn(SECRET, done.stderr + done.stdout)


if __name__ == "__main__":
    unittest.main()
