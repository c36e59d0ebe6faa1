"""Nodes of a small cluster on this machine: network namespaces on one bridge, each with a host name of its own."""

import os
import pathlib
import subprocess

ADDRESS = "10.213.7.{}"     # of node N, from 1; the service's is 254


def run(*words, check=True):
    return subprocess.run([str(word) for word in words], check=check, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def possible():
    """Whether this user may make namespaces and a bridge here."""
    if os.geteuid() != 0:
        return False
    name = f"tocsin-try-{os.getpid()}"
    made = run("ip", "netns", "add", name, check=False).returncode == 0
    if made:
        made = run("ip", "-n", name, "link", "add", "x0", "type", "veth", "peer", "name", "x1", check=False).returncode == 0
        run("ip", "netns", "delete", name, check=False)
    return made


class Cluster:
    """The bridge is in a namespace of its own, so that nothing of the machine's network is touched; the service runs there."""

    def __init__(self, nodes):
        self.prefix = f"tocsin{os.getpid()}"
        self.service = f"{self.prefix}-s"
        self.names = [f"node{number}" for number in range(nodes)]
        self.add_namespace(self.service)
        self.ip(self.service, "link", "add", "bridge", "type", "bridge")
        self.ip(self.service, "link", "set", "bridge", "up")
        self.ip(self.service, "address", "add", ADDRESS.format(254) + "/24", "dev", "bridge")
        for number in range(nodes):
            space = self.space(number)
            self.add_namespace(space)
            self.ip(self.service, "link", "add", f"to{number}", "type", "veth", "peer", "name", "eth0", "netns", space)
            self.ip(self.service, "link", "set", f"to{number}", "master", "bridge", "up")
            self.ip(space, "address", "add", ADDRESS.format(number + 1) + "/24", "dev", "eth0")
            self.ip(space, "link", "set", "eth0", "up")

    def add_namespace(self, name):
        run("ip", "netns", "add", name)
        self.ip(name, "link", "set", "lo", "up")

    @staticmethod
    def ip(space, *words):
        run("ip", "-n", space, *words)

    def space(self, number):
        return f"{self.prefix}-{number}"

    def on_service(self, *command):
        return ["ip", "netns", "exec", self.service, *map(str, command)]

    def on(self, number, *command):
        """The command line that runs this one on a node."""
        script = f'hostname {self.names[number]}; exec "$@"'
        return ["ip", "netns", "exec", self.space(number), "unshare", "--uts", "sh", "-c", script, "sh", *map(str, command)]

    def cut_off(self, number):
        """The node reaches its peers as before, and not the service."""
        self.ip(self.space(number), "route", "add", "blackhole", ADDRESS.format(254))
        self.ip(self.service, "route", "add", "blackhole", ADDRESS.format(number + 1))

    def join_again(self, number):
        self.ip(self.space(number), "route", "delete", "blackhole", ADDRESS.format(254))
        self.ip(self.service, "route", "delete", "blackhole", ADDRESS.format(number + 1))

    def close(self):
        for name in [self.service, *map(self.space, range(len(self.names)))]:
            for pid in run("ip", "netns", "pids", name, check=False).stdout.split():
                run("kill", "-KILL", pid, check=False)
            run("ip", "netns", "delete", name, check=False)


def certificate(folder, address=ADDRESS.format(254)):
    """A certificate for the service's address that signs itself, and its key."""
    cert, key = pathlib.Path(folder, "cert.pem"), pathlib.Path(folder, "key.pem")
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=service", "-addext",
        f"subjectAltName=IP:{address}", "-out", cert, "-keyout", key)
    return cert, key
