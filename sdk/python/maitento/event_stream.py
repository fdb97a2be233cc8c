"""What happens to runs and commands, as it happens (server-sent events), over lost connections."""

from __future__ import annotations

from collections.abc import Iterator

from maitento.errors import MaitentoConnectionError, MaitentoError, MaitentoTimeoutError
from maitento.following import Following
from maitento.reading import invalid_answer, parse_json
from maitento.records import Event, read_event
from maitento.transport import Answer, Transport
from maitento.waiting import Deadline

_EVENT_LIMIT = 1 << 20  # bytes
_SILENCE = 45.0  # seconds; the daemon sends a comment every 10


class EventParser:
    """Takes text/event-stream apart, whatever the pieces. `last_id` is the id that a new stream goes on after: never
    that of an event of which only a part has arrived."""

    def __init__(self, last_id: str = "") -> None:
        self.last_id = self._next_id = last_id
        self._line = bytearray()
        self._data: list[bytes] = []
        self._size = 0  # of _data, in bytes, with its line ends
        self._after_return = False  # the last byte was CR: an LF that follows belongs to it

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The data of each event that is complete. InvalidAnswerError for one above 1 MiB."""
        for piece in data.splitlines(keepends=True):
            if self._after_return and piece.startswith(b"\n"):
                piece = piece[1:]
            self._after_return = False
            text = piece.rstrip(b"\r\n")
            self._line += text
            if len(self._line) + self._size > _EVENT_LIMIT:
                raise invalid_answer("an event is larger than 1 MiB")
            if len(piece) == len(text):
                continue
            self._after_return = piece.endswith(b"\r")
            line = bytes(self._line)
            self._line.clear()
            if not line:
                self.last_id = self._next_id
            if not line and self._data:
                yield b"\n".join(self._data)
            self._take_line(line)

    def _take_line(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not line:
            self._data, self._size = [], 0
        elif name == b"data":
            self._data.append(value)
            self._size += len(value) + 1
        elif name == b"id" and value.isdigit() and len(value) <= 20:
            self._next_id = value.decode()  # goes back to the daemon in a header field: digits only


class EventStream(Following[Event]):
    """Iterates over Event, without end. It is open when you have it: what happens from then on is not missed.

    When the connection is lost it goes on after the last event, as all waits go on. Lost before the daemon has said
    where it begins, and without `after`, it cannot know where to go on: MaitentoConnectionError. The `id` of an event
    can be given as `after` to another stream, also later and elsewhere. One thread; close it, or use it in a `with`.
    """

    def __init__(self, transport: Transport, after: int | None, deadline: Deadline) -> None:
        if after is not None and after < 0:
            raise ValueError("after is negative")
        super().__init__()
        self._transport, self._deadline = transport, deadline
        self._last_id = "" if after is None else str(after)
        self._patience = transport.patience()
        self._answer = transport.repeated(self._connect, deadline)

    def __next__(self) -> Event:
        while not self._ready:
            if self._closed:
                raise StopIteration
            self._advance()
        return self._ready.popleft()

    def _advance(self) -> None:
        try:
            self._deadline.check("no further event in time")
            if self._answer is None:
                self._answer = self._connect()
            data = self._answer.read_some(self._deadline.at_most(_SILENCE))
            if not data:
                raise MaitentoConnectionError("the daemon ended the stream of events", kind="connection-lost")
            self._patience.renew()
            for text in self._parser.feed(data):
                self._ready.append(read_event(parse_json(text)))
            self._last_id = self._parser.last_id
        except MaitentoError as error:
            self._disconnect()
            self._get_over(error)

    def _connect(self) -> Answer:
        self._parser = EventParser(self._last_id)
        headers = {"Accept": "text/event-stream"}
        if self._last_id:
            headers["Last-Event-ID"] = self._last_id
        return self._transport.open("GET", "/v1/events", headers=headers)

    def _get_over(self, error: MaitentoError) -> None:
        self._deadline.check("no further event in time")
        # Silence for so long is a connection that nobody told us is lost.
        if not isinstance(error, MaitentoTimeoutError) and not self._transport.may_pass(error):
            raise error
        if not self._last_id:
            raise MaitentoConnectionError("the stream of events was lost before it was known where it begins; what "
                                          "happened since then is not known", kind="connection-lost") from error
        if not self._patience.pause(self._deadline):
            raise error
