"""HTTP/1.1 to the daemon: one connection for each exchange, answers of bounded size, failures as MaitentoError.

A connection of its own for every exchange costs some tens of microseconds on a Unix socket. In return no request is
ever sent on a connection that the daemon may just be closing, so that "lost" always means lost on the way, and any
number of threads can use one Transport.
"""

from __future__ import annotations

import http.client
import json
import re
import socket
import struct
import urllib.parse
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from maitento.endpoint import Endpoint
from maitento.errors import MaitentoConnectionError, MaitentoError, MaitentoTimeoutError, NotAllowedError, problem_error
from maitento.reading import invalid_answer, parse_json
from maitento.version import VERSION
from maitento.waiting import Clock, Deadline, Patience

T = TypeVar("T")
PIECE_BYTES = 64 << 10
DOCUMENT_LIMIT = 64 << 20  # bytes of JSON; the longest list of commands with all their arguments is smaller
PROBLEM_LIMIT = 16 << 20  # a refused deploy may name many places
# Nothing was done yet, and it passes: other clients hold the daemon's last places.
_CROWDED = ("too-many-connections", "too-many-waiting")
_VISIBLE = re.compile(r"[!-~]+")
_TIMEVAL = struct.Struct("@ll")  # seconds, microseconds


def part(text: str) -> str:
    """One part of a path, percent-encoded."""
    if not text:
        raise ValueError("a name or id is empty")
    return urllib.parse.quote(text, safe="")


def with_query(target: str, **parameters: str | int | bool | None) -> str:
    """Leaves out what is None, False or empty."""
    pairs = {name: "true" if value is True else str(value) for name, value in parameters.items()
             if value is not None and value is not False and value != ""}
    return f"{target}?{urllib.parse.urlencode(pairs)}" if pairs else target


def visible_text(name: str, value: str) -> str:
    """What may stand in a header field; the error does not repeat it, for it may be a key."""
    if not _VISIBLE.fullmatch(value):
        raise ValueError(f"{name} may have visible ASCII characters only, and at least one")
    return value


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost")
        self.timeout: float = timeout
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # Python's own timeout would make this fail at once where many clients come in the same moment; so the kernel
        # is asked to wait until the daemon has taken one of them.
        limit = _TIMEVAL.pack(*divmod(round(1_000_000 * self.timeout), 1_000_000))
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        self.sock.connect(self._path)


class Answer:
    """An answer whose head has been read. One thread; close it, or use it in a `with`."""

    def __init__(self, connection: http.client.HTTPConnection, sock: socket.socket,
                 response: http.client.HTTPResponse, where: str) -> None:
        self.status = response.status
        self.content_type = (response.getheader("Content-Type") or "").partition(";")[0].strip().lower()
        self._connection, self._socket, self._response, self._where = connection, sock, response, where

    def __enter__(self) -> Answer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._response.close()
        self._connection.close()

    def read_some(self, silence: float | None = None) -> bytes:
        """What has arrived, at most 64 KiB; b"": the body is complete. `silence` in seconds: how long nothing may come
        from now on, else as it was."""
        try:
            if silence is not None:
                self._socket.settimeout(max(silence, 0.001))  # zero would mean: do not wait at all
            data = self._response.read1(PIECE_BYTES)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            raise _failure(error, "reading from", self._where) from error
        # A body that ends before its length is no error to http.client.
        if not data and self._response.length:
            self.close()
            raise _lost("reading from", self._where, "")
        return data

    def read_all(self, limit: int) -> bytes:
        pieces, size = [], 0
        while data := self.read_some():
            size += len(data)
            if size > limit:
                self.close()
                raise invalid_answer(f"it is larger than {limit} bytes")
            pieces.append(data)
        return b"".join(pieces)


class Transport:
    """What every call goes through. `silence` in seconds: how long a single read or write may take.

    Threads: any number. Nothing changes after construction but `_reached`, which only ever becomes true.
    """

    def __init__(self, endpoint: Endpoint, api_key: str, silence: float, reconnect_limit: float) -> None:
        self.endpoint = endpoint
        self.silence = silence
        self.reconnect_limit = reconnect_limit
        self.clock = Clock()
        self._headers = {"User-Agent": f"capsule-client-python/{VERSION}"}
        if api_key:
            self._headers["Authorization"] = "Bearer " + visible_text("the API key", api_key)
        self._reached = False

    # ---- calls with JSON ----
    def get(self, target: str, deadline: Deadline | None = None, wait: float = 0.0) -> object:
        """Repeated while the daemon is away. `wait`: seconds that the daemon itself may let pass before it answers."""
        return self.repeated(lambda: self._ask("GET", target, silence=self.silence + wait), deadline)

    def put(self, target: str, body: bytes) -> None:
        """Replaces something by the same bytes, however often, so it may be repeated."""
        headers = {"Content-Type": "application/octet-stream"}
        self.repeated(lambda: self._ask("PUT", target, body, headers))

    def put_document(self, target: str, document: object) -> object:
        return self._ask("PUT", target, _encode(document), _JSON)

    def post(self, target: str, document: object) -> object:
        """Never repeated: whether a lost one was done is not known."""
        return self._ask("POST", target, _encode(document), _JSON)

    def post_repeatable(self, target: str, document: object, key: str | None = None,
                        deadline: Deadline | None = None) -> object:
        """For what may arrive twice: with an idempotency key, or because the second time changes nothing."""
        body = _encode(document)
        headers = _JSON if key is None else {**_JSON, "Idempotency-Key": key}
        return self.repeated(lambda: self._ask("POST", target, body, headers), deadline)

    def delete(self, target: str) -> object:
        return self._ask("DELETE", target)

    def repeated(self, call: Callable[[], T], deadline: Deadline | None = None) -> T:
        """Repeats `call` while it fails for the connection's sake, `reconnect_limit` seconds at most. A daemon that was
        never reached is not waited for: most likely its address is wrong."""
        deadline = deadline or Deadline(self.clock, None)
        patience = self.patience()
        while True:
            try:
                return call()
            except MaitentoError as error:
                if not self.may_pass(error) or not patience.pause(deadline):
                    raise

    def patience(self) -> Patience:
        return Patience(self.clock, self.reconnect_limit)

    def may_pass(self, error: MaitentoError) -> bool:
        """Another try, a little later, may succeed."""
        if isinstance(error, MaitentoConnectionError):
            return self._reached
        return error.kind in _CROWDED

    # ---- exchanges ----
    def _ask(self, method: str, target: str, body: bytes = b"", headers: Mapping[str, str] | None = None,
             silence: float | None = None) -> object:
        with self.open(method, target, body, headers, silence) as answer:
            text = answer.read_all(DOCUMENT_LIMIT)
        return parse_json(text) if text else None

    def open(self, method: str, target: str, body: bytes | Iterable[bytes] = b"",
             headers: Mapping[str, str] | None = None, silence: float | None = None) -> Answer:
        """Sends, and reads the head of the answer; an answer of status 400 or more is raised. A body that is not bytes
        is sent piece by piece; what its iterator raises comes through, and then nothing has been stored.
        `silence`: seconds, else the transport's own; 0 = none.
        """
        limit = self.silence if silence is None else silence
        connection = self._connect(limit)
        sock = connection.sock
        try:
            self._send(connection, method, target, body, headers or {})
            try:
                response = connection.getresponse()
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise _failure(error, "waiting for", self.endpoint.url) from error
            return self._checked(Answer(connection, sock, response, self.endpoint.url), response)
        except BaseException:
            connection.close()
            raise

    def _connect(self, silence: float) -> http.client.HTTPConnection:
        endpoint = self.endpoint
        timeout = silence or self.silence
        connection = _UnixConnection(endpoint.path, timeout) if endpoint.path else \
            http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=timeout)
        try:
            connection.connect()
            connection.sock.settimeout(silence or None)
            if not endpoint.path:
                # A wait without limit must notice that the other machine is gone.
                connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        except OSError as error:
            connection.close()
            if endpoint.path and isinstance(error, PermissionError):
                raise NotAllowedError(f"{endpoint.url} may not be opened: {error}; its users are root and the members "
                                      "of the group capsuled", kind="forbidden") from error
            raise MaitentoConnectionError(f"nobody answers at {endpoint.url}: {error}", kind="unreachable") from error
        self._reached = True
        return connection

    def _send(self, connection: http.client.HTTPConnection, method: str, target: str, body: bytes | Iterable[bytes],
              headers: Mapping[str, str]) -> None:
        pieces = iter((body,) if isinstance(body, bytes) else body)
        framed = not isinstance(body, bytes)
        connection.putrequest(method, target, skip_accept_encoding=True)
        for name, value in {**self._headers, **headers}.items():
            connection.putheader(name, value)
        if framed:
            connection.putheader("Transfer-Encoding", "chunked")
        elif body or method in ("POST", "PUT"):
            connection.putheader("Content-Length", str(len(body)))  # type: ignore[arg-type]
        # Only what the socket says is caught here: an error of the caller's own iterator comes through.
        sent = self._pass_on(lambda: connection.endheaders())
        while sent and (piece := next(pieces, None)) is not None:
            data = b"%x\r\n%b\r\n" % (len(piece), piece) if framed else piece
            # An empty chunk would be the end of the body.
            sent = not piece or self._pass_on(lambda data=data: connection.send(data))  # type: ignore[misc]
        if framed and sent:
            self._pass_on(lambda: connection.send(b"0\r\n\r\n"))

    def _pass_on(self, send: Callable[[], None]) -> bool:
        """False when the daemon takes no more. One that refuses a body answers and closes: its reason is still there
        to be read."""
        try:
            send()
        except (BrokenPipeError, ConnectionResetError):
            return False
        except OSError as error:
            raise _failure(error, "sending to", self.endpoint.url) from error
        return True

    def _checked(self, answer: Answer, response: http.client.HTTPResponse) -> Answer:
        if answer.status >= 400:
            # A problem that breaks off is a lost connection, not that problem.
            raise problem_error(answer.status, answer.read_all(PROBLEM_LIMIT))
        if not 200 <= answer.status < 300:
            raise invalid_answer(f"status {answer.status}")
        if response.length is None and not response.chunked:
            # Nobody could tell its end from a lost connection.
            raise invalid_answer("its body has neither a length nor chunks")
        return answer


_JSON = {"Content-Type": "application/json"}


def _encode(document: object) -> bytes:
    """ValueError for text that UTF-8 cannot say, such as a file's name that is not UTF-8."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False).encode()


def _failure(error: Exception, doing: str, where: str) -> MaitentoError:
    if isinstance(error, TimeoutError):
        return MaitentoTimeoutError(f"no answer while {doing} {where}", kind="timed-out")
    gone = (OSError, http.client.IncompleteRead, http.client.RemoteDisconnected)
    if isinstance(error, gone):
        return _lost(doing, where, str(error))
    return invalid_answer(f"it is not HTTP ({error!r})")


def _lost(doing: str, where: str, why: str) -> MaitentoConnectionError:
    return MaitentoConnectionError(f"the connection was lost while {doing} {where}" + (f" ({why})" if why else ""),
                                   kind="connection-lost")
