"""A web server at a public address that leads nowhere else: it lives in a network namespace of its own, and this
machine has a route to that one address. http and https, with a certificate authority of its own. As a program: the server."""

import base64
import contextlib
import hashlib
import http.server
import io
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import zipfile

from cases import Skip

# Public to every rule, and nobody's web site: it belongs to the name servers that answer for empty zones (RFC 7535).
NETWORK = "192.31.196"
BLOB = 3 << 20


def tool(*words, cwd=None):
    done = subprocess.run(words, capture_output=True, text=True, cwd=cwd, timeout=60,
                          env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"})
    if done.returncode != 0:
        raise OSError(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


class PublicServer:
    """`with PublicServer() as server`: gone afterwards, with its namespace, link and route."""

    def __init__(self):
        for name in ("ip", "openssl", "git"):
            if not shutil.which(name):
                raise Skip(f"there is no {name} on this machine")
        if os.geteuid() != 0:
            raise Skip("only root can make a network namespace")
        self.address = f"{NETWORK}.{random.randrange(1, 255)}"
        self.space = f"capsule-test-{os.getpid()}"
        self.link = f"ct{os.getpid()}"
        self.process = None

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="capsule-web-")))
            self.files = self.folder / "files"
            self.files.mkdir()
            self.certificates()
            self.content()
            self.network(stack)
            self.start(stack)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *error):
        self.stack.close()

    def url(self, path, scheme="https"):
        return f"{scheme}://{self.address}/{path}"

    def requests(self):
        """What was asked for so far, oldest first."""
        return [json.loads(line) for line in (self.folder / "log").read_text().splitlines()]

    def network(self, stack):
        try:
            tool("ip", "netns", "add", self.space)
            stack.callback(tool, "ip", "netns", "del", self.space)
            inside = ("ip", "-n", self.space)
            tool("ip", "link", "add", self.link, "type", "veth", "peer", "name", "out", "netns", self.space)
            # The other end may outlive its namespace for a moment.
            stack.callback(subprocess.run, ["ip", "link", "del", self.link], capture_output=True)
            near = f"169.254.{random.randrange(1, 100)}"
            tool("ip", "address", "add", f"{near}.1/30", "dev", self.link)
            tool(*inside, "address", "add", f"{near}.2/30", "dev", "out")
            tool(*inside, "address", "add", f"{self.address}/32", "dev", "out")
            tool(*inside, "link", "set", "lo", "up")
            tool(*inside, "link", "set", "out", "up")
            tool("ip", "link", "set", self.link, "up")
            tool("ip", "route", "add", f"{self.address}/32", "dev", self.link)
        except OSError as error:
            raise Skip(f"this machine does not make network namespaces: {error}") from error

    def start(self, stack):
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", self.space, sys.executable, __file__, self.address, self.folder],
            stdin=subprocess.DEVNULL)
        stack.callback(self.stop)
        deadline = time.monotonic() + 30
        while True:
            with contextlib.suppress(OSError), socket.create_connection((self.address, 443), 2):
                return
            assert time.monotonic() < deadline and self.process.poll() is None, "the web server does not start"
            time.sleep(0.1)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)

    def certificates(self):
        request = ("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        tool(*request, "-x509", "-days", "2", "-subj", "/CN=capsule test authority", "-keyout", "ca.key", "-out", "ca.pem",
             cwd=self.folder)
        tool(*request, "-subj", "/CN=capsule test server", "-keyout", "server.key", "-out", "server.csr", cwd=self.folder)
        # npm names no server when it reaches an address through a proxy, and then looks for "localhost" in the certificate.
        (self.folder / "names").write_text(f"subjectAltName = IP:{self.address}, DNS:localhost\n")
        tool("openssl", "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
             "-days", "2", "-extfile", "names", "-out", "server.pem", cwd=self.folder)
        self.authority = (self.folder / "ca.pem").read_bytes()

    def content(self):
        self.blob = random.randbytes(BLOB)
        (self.files / "blob").write_bytes(self.blob)
        self.git_repository()
        self.python_index()
        self.npm_registry()

    def git_repository(self):
        """Served as plain files, which git calls the dumb protocol."""
        work = self.folder / "work"
        tool("git", "init", "-q", "-b", "main", work)
        (work / "hello.txt").write_text("hello from git\n")
        (work / "blob").write_bytes(self.blob)
        tool("git", "add", ".", cwd=work)
        tool("git", "-c", "user.name=test", "-c", "user.email=test@localhost", "commit", "-q", "-m", "Say hello", cwd=work)
        tool("git", "clone", "-q", "--bare", work, self.files / "hello.git")
        tool("git", "update-server-info", cwd=self.files / "hello.git")

    def python_index(self):
        """A simple index (PEP 503) with one wheel."""
        wheel, about = "capsule_hello-1.0-py3-none-any.whl", "capsule_hello-1.0.dist-info"
        entries = {"capsule_hello.py": "TEXT = 'hello from pip'\n",
                   f"{about}/METADATA": "Metadata-Version: 2.1\nName: capsule-hello\nVersion: 1.0\n",
                   f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
        record = "".join(f"{name},,\n" for name in (*entries, f"{about}/RECORD"))
        with zipfile.ZipFile(self.files / wheel, "w") as archive:
            for name, text in {**entries, f"{about}/RECORD": record}.items():
                archive.writestr(name, text)
        digest = hashlib.sha256((self.files / wheel).read_bytes()).hexdigest()
        page = self.files / "simple" / "capsule-hello"
        page.mkdir(parents=True)
        (page / "index.html").write_text(f'<!DOCTYPE html><a href="/{wheel}#sha256={digest}">{wheel}</a>\n')

    def npm_registry(self):
        """A registry with one package."""
        about = {"name": "capsule-hello", "version": "1.0.0", "main": "index.js"}
        archive = "capsule-hello-1.0.0.tgz"
        with tarfile.open(self.files / archive, "w:gz") as packed:
            for name, text in (("package.json", json.dumps(about)), ("index.js", "module.exports = 'hello from npm'\n")):
                entry = tarfile.TarInfo(f"package/{name}")
                entry.size = len(text)
                packed.addfile(entry, io.BytesIO(text.encode()))
        integrity = base64.b64encode(hashlib.sha512((self.files / archive).read_bytes()).digest()).decode()
        version = {**about, "dist": {"tarball": self.url(archive), "integrity": f"sha512-{integrity}"}}
        (self.files / "npm").mkdir()
        (self.files / "npm" / "capsule-hello").write_text(json.dumps(
            {"name": "capsule-hello", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}))


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def log_request(self, code="-", size="-"):
        secure = isinstance(self.connection, ssl.SSLSocket)
        with open("../log", "a") as log:
            log.write(json.dumps({"scheme": "https" if secure else "http", "method": self.command, "path": self.path,
                                  "status": int(code), "via": self.headers.get("Via", "")}) + "\n")

    def do_POST(self):
        """Answers with the digest of what came."""
        digest = hashlib.sha256(self.rfile.read(int(self.headers["Content-Length"]))).hexdigest().encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(digest)))
        self.end_headers()
        self.wfile.write(digest)


class SecureServer(http.server.ThreadingHTTPServer):
    def finish_request(self, request, client_address):
        # Here and not in the listening socket: a slow handshake then holds up nobody else.
        with self.context.wrap_socket(request, server_side=True) as secure:
            super().finish_request(secure, client_address)

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):  # a client that went away, or does not trust the certificate
            super().handle_error(request, client_address)


def serve(address, folder):
    os.chdir(pathlib.Path(folder, "files"))
    plain = http.server.ThreadingHTTPServer((address, 80), Handler)
    secure = SecureServer((address, 443), Handler)
    secure.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secure.context.load_cert_chain("../server.pem", "../server.key")
    threading.Thread(target=plain.serve_forever, daemon=True).start()
    secure.serve_forever()


if __name__ == "__main__":
    serve(*sys.argv[1:])
