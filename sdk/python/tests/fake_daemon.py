"""A daemon for unit tests: an HTTP server in this process whose every answer the test decides; and a clock for it."""

import contextlib
import dataclasses
import http.server
import json
import os
import pathlib
import shutil
import socket
import socketserver
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from maitento import Maitento
from maitento.waiting import Clock


@dataclasses.dataclass
class Request:
    method: str
    target: str
    headers: dict  # names in lower case
    body: bytes

    @property
    def document(self):
        return json.loads(self.body)


@dataclasses.dataclass
class Reply:
    """`body`: JSON, bytes, or a list of pieces, which are sent in chunks. `cut`: the connection is lost after it."""

    status: int = 200
    body: object = b""
    content_type: str = "application/json"
    cut: bool = False


LOST = object()  # instead of a Reply: the request is read, and the connection lost


def problem(status, code, detail="", **more):
    return Reply(status, {"title": "No", "status": status, "code": code, "detail": detail, **more},
                 "application/problem+json")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_any(self):
        request = Request(self.command, self.path, {name.lower(): value for name, value in self.headers.items()},
                          self.read_body())
        self.server.daemon.requests.append(request)
        reply = self.server.daemon.answer(request)
        self.close_connection = True
        if reply is not LOST:
            self.send(reply)

    do_GET = do_PUT = do_POST = do_DELETE = handle_any

    def read_body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline() or b"0", 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        return body

    def send(self, reply):
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.content_type)
        if isinstance(reply.body, list):
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for piece in reply.body:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            if not reply.cut:
                self.wfile.write(b"0\r\n\r\n")
            return
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        self.send_header("Content-Length", str(len(body) + reply.cut))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    block_on_close = False
    daemon_threads = True

    def handle_error(self, request, address):
        """A client that hangs up early is part of several tests."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, address)


class FakeClock(Clock):
    """Moves only when somebody sleeps. `on_sleep` is called after each pause with their number so far."""

    def __init__(self):
        self.time, self.sleeps, self.on_sleep = 0.0, 0, lambda count: None

    def now(self):
        return self.time

    def sleep(self, seconds):
        self.time += seconds
        self.sleeps += 1
        self.on_sleep(self.sleeps)


class DaemonTest(unittest.TestCase):
    """Gives each test a running fake daemon (answer by assigning `answer` or calling `script`) and a client `mt`."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="maitento-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.requests = []
        self.answer = lambda request: Reply(404, {"code": "not-found", "detail": "nothing here"})
        self.server = None
        self.addCleanup(self.stop)
        self.start()
        self.mt = self.client()

    def client(self, **settings):
        client = Maitento(f"unix://{self.folder}/api.sock", **{"namespace": "lab", "api_key": "", **settings})
        client._transport.clock = FakeClock()
        return client

    @property
    def clock(self):
        return self.mt._transport.clock

    def start(self):
        self.server = Server(str(self.folder / "api.sock"), Handler)
        self.server.daemon = self
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self):
        if self.server:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.folder / "api.sock")
            self.server.shutdown()
            self.server.server_close()
            self.server = None

    def script(self, *replies):
        """One reply after the other; more requests than that are an error of the client."""
        left = list(replies)
        self.answer = lambda request: left.pop(0) if left else problem(500, "internal", "not in the script")

    @property
    def lines(self):
        return [f"{request.method} {request.target}" for request in self.requests]


def tcp_server(handler_class=Handler):
    """The same over TCP, on a free port of the loopback address."""
    class TcpServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
        daemon_threads = True
        block_on_close = False

    return TcpServer(("127.0.0.1", 0), handler_class)


def raw_server(folder, text):
    """A Unix socket that answers its first connection with these bytes, whatever they are."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{folder}/raw.sock")
    listener.listen()

    def serve():
        connection, _ = listener.accept()
        with connection, listener:
            connection.recv(65536)
            connection.sendall(text)

    threading.Thread(target=serve, daemon=True).start()
    return f"unix://{folder}/raw.sock"


RUN = {"id": "0a", "namespace": "lab", "capsule": "bench", "status": "Starting", "phase": "booting",
       "createdAt": "2026-10-01T08:30:00.250Z", "maxDuration": "00:10:00", "accelerator": "", "transport": "",
       "startedBy": "local"}
COMMAND = {"id": "0c", "runId": "0a", "sequence": 1, "command": "ls", "arguments": ["-l"], "runAsUser": "sandbox",
           "async": False, "status": "Queued", "createdAt": "2026-10-01T08:30:01Z"}


def run_record(**changes):
    return {**RUN, **changes}


def command_record(**changes):
    return {**COMMAND, **changes}
