"""A real SMTP server for tests: Debian's package python3-aiosmtpd, with STARTTLS or TLS from the start, and a login.

As a program (of the system's Python, which has the package) it keeps each mail that it takes as a file: `mail.py PORT FOLDER [OPTION...]`.
"""

import email
import email.policy
import pathlib
import subprocess
import sys

PYTHON = "/usr/bin/python3"


def needed():
    """Ends a test program with 77 (skipped) where the package is not installed: scripts/test --quick installs no servers."""
    if subprocess.run([PYTHON, "-c", "import aiosmtpd"], capture_output=True).returncode != 0:
        print("skipped: apt-get install python3-aiosmtpd, or run scripts/test")
        sys.exit(77)


def certificate(folder, name="localhost"):
    """A certificate for the name and 127.0.0.1, signed by itself, and its key."""
    folder = pathlib.Path(folder)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name},IP:127.0.0.1",
                    "-keyout", folder / "key.pem", "-out", folder / "cert.pem"], check=True, capture_output=True)
    return folder / "cert.pem", folder / "key.pem"


def serve(port, folder, options):
    import asyncio
    import ssl

    from aiosmtpd.controller import Controller
    from aiosmtpd.smtp import AuthResult

    class Keep:
        count = 0

        async def handle_RCPT(self, server, session, envelope, address, rcpt_options):
            if address.startswith("nobody@"):
                return "550 5.1.1 no such user"
            if address.startswith("later@"):
                return "451 4.3.0 try again later"
            envelope.rcpt_tos.append(address)
            return "250 OK"

        async def handle_DATA(self, server, session, envelope):
            if "slow" in options:
                (folder / "slow").touch()
                await asyncio.sleep(3600)
            Keep.count += 1
            encrypted = server.transport.get_extra_info("ssl_object") is not None
            head = f"X-From: {envelope.mail_from}\r\nX-To: {','.join(envelope.rcpt_tos)}\r\nX-TLS: {encrypted}\r\n"
            part = folder / f"{Keep.count:04}.part"
            part.write_bytes(head.encode() + envelope.content)
            part.rename(folder / f"{Keep.count:04}.eml")
            return "250 OK"

    def login(server, session, envelope, mechanism, data):
        return AuthResult(handled=False, success=(data.login, data.password) == (b"ada@site.example", b"a secret"))

    context = None
    if "tls" in options or "starttls" in options:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    arguments = {"hostname": "127.0.0.1", "port": port, "data_size_limit": 100 << 20}
    if "login" in options:
        arguments.update(authenticator=login, auth_required=True, auth_require_tls="plain" not in options)
    if "tls" in options:
        arguments.update(ssl_context=context)
        arguments.update(auth_require_tls=False)    # it is there already
    elif "starttls" in options:
        arguments.update(tls_context=context, require_starttls=True)
    controller = Controller(Keep(), **arguments)
    controller.start()
    import signal
    signal.pause()


def mails(folder):
    """What came, oldest first: messages of Python's email, with what was in the envelope as X-From, X-To and X-TLS."""
    return [email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
            for path in sorted(pathlib.Path(folder).glob("*.eml"))]


if __name__ == "__main__":
    serve(int(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:])
else:
    from tests.servers.process import Server

    class MailServer(Server):
        """Options: tls (from the start), starttls, login (ada@site.example, "a secret"), plain (a login without TLS), slow."""

        title = "SMTP server"

        def __init__(self, *options, port=None):
            super().__init__(port)
            self.options = options

        def command(self):
            if not (self.folder / "cert.pem").exists():
                certificate(self.folder)
            return [PYTHON, __file__, str(self.port), str(self.folder), *self.options]

        @property
        def ca(self):
            return self.folder / "cert.pem"

        def mails(self):
            return mails(self.folder)
