"""Jars from Maven, which come once for each pom.xml, into build/servers (or $TOCSIN_SERVERS)."""

import fcntl
import hashlib
import os
import pathlib
import subprocess

from tests.servers.process import Missing, program

CACHE = pathlib.Path(os.environ.get("TOCSIN_SERVERS", pathlib.Path(__file__).resolve().parents[2] / "build" / "servers"))


def jars(pom, name):
    """The folder with the jars that `pom` lists; fetched if they are not there, by one of the programs that run at once."""
    folder = CACHE / name / hashlib.sha256(pom.read_bytes()).hexdigest()[:16]
    if (folder / "complete").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            fetch(pom, folder, name)
    return folder


def fetch(pom, folder, name):
    fetched = subprocess.run([program("mvn", "maven"), "-B", "-q", "-f", pom, "dependency:copy-dependencies", "-DincludeScope=runtime",
                              f"-DoutputDirectory={folder}"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if fetched.returncode != 0:
        raise Missing(f"Maven could not fetch {name}:\n" + fetched.stdout[-2000:] + fetched.stderr[-2000:])
    (folder / "complete").touch()
