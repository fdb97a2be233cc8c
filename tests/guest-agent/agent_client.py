"""A small client of the host link (docs/protocol.md) for tests that speak to a real agent: one connection, blocking,
standard library only."""

import json
import os
import socket
import struct
import time
import uuid

HELLO, OPEN, EVENT, DATA, CREDIT, END, RESET, PING, PONG, BYE = range(1, 11)
CONTROL, INPUT, OUTPUT, ERROR = range(4)
MAGIC = b"\xcaPSLINK1"
WINDOW = 256 << 10


class LinkError(Exception):
    pass


class Stream:
    def __init__(self, number):
        self.number = number
        self.events = []
        self.data = {OUTPUT: bytearray(), ERROR: bytearray(), INPUT: bytearray()}
        self.received = {OUTPUT: 0, ERROR: 0, INPUT: 0}
        self.closed = set()
        self.end = None
        self.credit = WINDOW

    def event(self, name):
        return next((e for e in self.events if e["event"] == name), None)


class AgentClient:
    def __init__(self, sock):
        self.sock = sock
        self.sock.settimeout(60)
        self.buffer = bytearray()
        self.streams = {}
        self.opened = []  # by the guest: (stream, request)
        self.notices = []
        self.next = 2
        self.hello = None
        self.keep_data = True
        self.give_credit = True

    # ---- bytes ----
    def _read(self, count):
        while len(self.buffer) < count:
            piece = self.sock.recv(1 << 18)
            if not piece:
                raise LinkError("the link is closed")
            self.buffer += piece
        taken = bytes(self.buffer[:count])
        del self.buffer[:count]
        return taken

    def send(self, kind, stream, payload=b"", channel=0, flags=0):
        self.sock.sendall(struct.pack(">IBIBBB", len(payload), kind, stream, channel, flags, 0) + payload)

    # ---- connection ----
    def connect(self):
        nonce = os.urandom(8)
        hello = {
            "generation_min": 1, "generation_max": 1, "features": [], "software": "smoke",
            "limits": {"control_payload_bytes": 1 << 20, "data_payload_bytes": 64 << 10, "window_bytes": WINDOW},
        }
        self.sock.sendall(MAGIC + nonce)
        self.send(HELLO, 0, json.dumps(hello).encode())
        seen = b""
        while not seen.endswith(MAGIC + nonce):
            seen += self._read(1)
        self.pump(lambda: self.hello is not None)
        return self.hello

    def pump(self, done, limit=60):
        deadline = time.monotonic() + limit
        while not done():
            self.sock.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                self._frame()
            except socket.timeout:
                raise LinkError("time-out") from None

    def _frame(self):
        length, kind, number, channel, flags, _ = struct.unpack(">IBIBBB", self._read(12))
        payload = self._read(length)
        stream = self.streams.get(number)
        if kind == HELLO:
            self.hello = json.loads(payload)
        elif kind == PING:
            self.send(PONG, 0, payload)
        elif kind == EVENT and number == 0:
            self.notices.append(json.loads(payload))
        elif kind == OPEN:
            self.streams[number] = Stream(number)
            self.opened.append((self.streams[number], json.loads(payload)))
        elif kind == BYE:
            raise LinkError("bye: " + payload.decode())
        elif stream is None:
            return
        elif kind == EVENT:
            stream.events.append(json.loads(payload))
        elif kind == DATA:
            stream.received[channel] += len(payload)
            if self.keep_data:
                stream.data[channel] += payload
            if flags & 1:
                stream.closed.add(channel)
            elif payload and self.give_credit:
                self.send(CREDIT, number, struct.pack(">I", len(payload)), channel)
        elif kind == CREDIT:
            stream.credit += struct.unpack(">I", payload)[0]
        elif kind == END:
            stream.end = json.loads(payload) if payload else {}

    # ---- streams ----
    def open(self, operation, **members):
        stream = Stream(self.next)
        self.next += 2
        self.streams[stream.number] = stream
        self.send(OPEN, stream.number, json.dumps({"operation": operation, **members}).encode())
        return stream

    def data(self, stream, payload, last=False, channel=INPUT):
        at = 0
        while True:
            piece = payload[at:at + min(65536, stream.credit)]
            if payload and not piece:
                self.pump(lambda: stream.credit > 0 or stream.end is not None)
                if stream.end is not None:
                    return
                continue
            at += len(piece)
            stream.credit -= len(piece)
            over = at >= len(payload)
            self.send(DATA, stream.number, piece, channel, 1 if last and over else 0)
            if over:
                return

    def answer(self, stream, limit=60):
        self.pump(lambda: stream.end is not None, limit)
        return stream.end

    def call(self, operation, limit=60, **members):
        end = self.answer(self.open(operation, **members), limit)
        if "failure" in end:
            raise LinkError(f"{operation}: {end['failure']}")
        return end["ok"]

    def start(self, text=None, *arguments, user="maitento", **members):
        members.setdefault("id", str(uuid.uuid4()))
        if text is not None:
            members["shell"] = text
        return self.open("command.start", arguments=list(arguments), user=user,
                         environment=members.pop("environment", []), input=members.pop("input", False),
                         hold_output=members.pop("hold_output", False), **members)

    def run(self, text=None, *arguments, limit=60, **members):
        """Runs one command to its end, forgets it, returns its report."""
        command = members.setdefault("id", str(uuid.uuid4()))
        stream = self.start(text, *arguments, **members)
        self.pump(lambda: stream.event("exited") or stream.end is not None, limit)
        if stream.event("exited") is None:
            raise LinkError(str(stream.end))
        report = stream.event("exited")
        self.call("command.forget", id=command)
        return report
