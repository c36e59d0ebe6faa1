"""Debian's Chromium without a window, driven over the pipe of its DevTools protocol.

    with Chromium() as browser:
        browser.open("http://127.0.0.1:9464/")
        browser.value("document.title")
"""

import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

from tests.servers.process import program, wait_for

ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--disable-extensions", "--hide-scrollbars", "--remote-debugging-pipe", "about:blank"]
KEYS = {"Tab": 9, "Enter": 13, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39}


class Chromium:
    """One tab. `complaints`: what its console has of errors, exceptions, and what the page's policy forbade; `dialogs`: what it popped up."""

    def __init__(self, width=1400, height=900):
        self.width, self.height = width, height
        self.complaints, self.dialogs, self.requests = [], [], []
        self.number, self.waiting, self.session = 0, b"", None

    def start(self):
        browser = program("chromium", "chromium")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tocsin-chromium-"))
        low_in, self.to = os.pipe()
        self.out, low_out = os.pipe()
        its_in, its_out = (fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, 20) for one in (low_in, low_out))    # neither is 3 or 4
        with open(self.folder / "log", "wb") as log:    # it reads commands at 3, and answers at 4
            self.process = subprocess.Popen(["bash", "-c", f'exec "$@" 3<&{its_in} 4>&{its_out} {its_in}<&- {its_out}>&-', "bash", browser, *ARGUMENTS,
                                             f"--user-data-dir={self.folder}/profile", f"--window-size={self.width},{self.height}"],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=(its_in, its_out))
        for one in (low_in, low_out, its_in, its_out):
            os.close(one)
        try:
            return self.attached()
        except BaseException:
            self.stop()
            raise

    def attached(self):
        target = wait_for(lambda: next((one for one in self.ask("Target.getTargets")["targetInfos"] if one["type"] == "page"), None), 30)
        self.session = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.resize(self.width, self.height)
        return self

    def stop(self):
        for end in (self.to, self.out):
            os.close(end)
        try:
            self.process.wait(10)      # it ends with its pipe
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    # ---- the protocol: messages of JSON, each ended by a byte 0
    def ask(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters, **({"sessionId": self.session} if self.session else {})}
        os.write(self.to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + 30
        while time.monotonic() < end:
            message = self.next(end)
            if message.get("id") == self.number:
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']}")
                return message["result"]
            self.note(message)
        raise AssertionError(f"{method} has no answer within 30 s")

    def next(self, end):
        while b"\0" not in self.waiting:
            if not select.select([self.out], [], [], max(0, end - time.monotonic()))[0]:
                return {}
            part = os.read(self.out, 1 << 20)
            if not part:
                raise AssertionError("Chromium has ended:\n" + (self.folder / "log").read_text(errors="replace")[-4000:])
            self.waiting += part
        message, self.waiting = self.waiting.split(b"\0", 1)
        return json.loads(message)

    def note(self, message):
        method, given = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(given["exceptionDetails"].get("exception", {}).get("description") or given["exceptionDetails"]["text"])
        elif method == "Log.entryAdded" and given["entry"]["level"] == "error":
            self.complaints.append(given["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and given["type"] in ("error", "warning", "assert"):
            self.complaints.append(str([one.get("value", one.get("description")) for one in given["args"]]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(given["request"]["url"])
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(given["message"])
            self.number += 1
            os.write(self.to, json.dumps({"id": self.number, "method": "Page.handleJavaScriptDialog", "params": {"accept": True},
                                          "sessionId": self.session}).encode() + b"\0")

    # ---- what a reader does
    def open(self, address):
        self.ask("Page.navigate", url=address)

    def value(self, expression):
        """What JavaScript makes of it, promises resolved."""
        done = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            raise AssertionError(f"{expression}: {done['exceptionDetails']['exception'].get('description')}")
        return done["result"].get("value")

    def wait(self, expression, seconds=20):
        """Its first true value; until what it looks at is there, it has none."""
        try:
            return wait_for(lambda: self.value(f"(() => {{ try {{ return {expression}; }} catch {{ return false; }} }})()"), seconds, expression)
        except AssertionError as late:
            raise AssertionError(f"{late}; the page has: {self.value('document.body.innerText')[:2000]}; {self.complaints}") from None

    def texts(self, selector):
        return self.value(f"[...document.querySelectorAll({json.dumps(selector)})].map(one => one.textContent)")

    def click(self, selector, containing=""):
        """The first that has this text."""
        found = (f"[...document.querySelectorAll({json.dumps(selector)})].find(one => one.textContent.includes({json.dumps(containing)}))")
        self.wait(f"!!{found}")
        self.value(f"{found}.click()")

    def type(self, text):
        self.ask("Input.insertText", text=text)

    def press(self, key):
        for kind in ("rawKeyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=KEYS[key])

    def resize(self, width, height):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, scheme):
        """light, dark"""
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, file, whole=False):
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        pathlib.Path(file).write_bytes(base64.b64decode(shot["data"]))
