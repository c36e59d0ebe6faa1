"""The test program serve_examples as an object."""

import http.client
import json
import os
import socket
import ssl
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

PROGRAM = os.environ.get("SERVE_EXAMPLES", "build/release/tests/http/serve_examples")


class Server:
    def __init__(self, *arguments):
        self.process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def status(self, command="status"):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def request(self, method, path, body=None, headers=None, tls=None):
        """(status, headers, text)"""
        if tls:
            client = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=20, context=tls)
        else:
            client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            client.request(method, path, body, headers or {})
            answer = client.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            client.close()

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def raw(self, *parts, ends=False, timeout=20):
        """Sends bytes, each part by itself, and returns what is answered until the end. ends: the client closes its side."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            answer = b""
            try:
                for part in parts:
                    client.sendall(part)
                if ends:
                    client.shutdown(socket.SHUT_WR)
                while part := client.recv(65536):
                    answer += part
            except (ConnectionResetError, BrokenPipeError):
                pass
            return answer.decode(errors="replace")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            assert self.process.wait(20) == 0, f"the server ended with {self.process.returncode}"
        finally:
            self.process.kill()
            self.process.stdout.close()


def refusal(*arguments):
    """What a server that cannot start prints."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=20)
    assert done.returncode == 2, done
    return done.stderr.strip()


def certificate(folder, name="server"):
    """A self-signed certificate for 127.0.0.1 and its key."""
    key, cert = folder / f"{name}.key", folder / f"{name}.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert],
                   check=True, capture_output=True)
    return cert, key


def trusting(cert, client=None):
    context = ssl.create_default_context(cafile=str(cert))
    if client:
        context.load_cert_chain(*map(str, client))
    return context
