"""A command's live output: the binary records of docs/api.md, taken apart and followed over lost connections."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from maitento.errors import CapsuleCommandAbortedError, ConflictError, MaitentoConnectionError, MaitentoError, \
    MaitentoTimeoutError
from maitento.following import Following
from maitento.reading import invalid_answer, parse_json
from maitento.records import Command, read_command
from maitento.transport import Answer, Transport, with_query
from maitento.waiting import Deadline

Stream = Literal["standard", "error"]
_STREAMS: dict[int, Stream] = {1: "standard", 2: "error"}
_HEAD = struct.Struct(">BBHIQ")
_OFFSET = struct.Struct(">Q")
_PAYLOAD_LIMIT = 64 << 20  # bytes; a command with all its arguments is the largest payload there is
_SILENCE = 45.0  # seconds; the daemon sends something every 10
_NOT_ENDED = "the command has not ended in time; it goes on"


@dataclass(frozen=True)
class OutputChunk:
    """Bytes of one stream, from `offset` on. They may end in the middle of a character."""

    stream: Stream
    offset: int
    data: bytes


@dataclass(frozen=True)
class OutputGap:
    """Bytes that are lost: from `start` up to `end`, or None where it is not known how many."""

    stream: Stream
    start: int
    end: int | None


@dataclass(frozen=True)
class Ended:
    """The command has ended; all it printed came before."""

    command: Command


class OutputRecords:
    """Bytes in, records out, whatever the pieces. Kinds that are not known are left out."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[OutputChunk | OutputGap | Ended]:
        """InvalidAnswerError for a record that cannot be right; nothing can be read after it."""
        self._buffer += data
        while len(self._buffer) >= _HEAD.size:
            kind, stream, _, length, offset = _HEAD.unpack_from(self._buffer)
            if length > _PAYLOAD_LIMIT:
                raise invalid_answer(f"a record of the live output claims {length} bytes")
            end = _HEAD.size + length
            if len(self._buffer) < end:
                return
            payload = bytes(self._buffer[_HEAD.size:end])
            del self._buffer[:end]
            if kind == 1:
                yield OutputChunk(_stream(stream), offset, payload)
            elif kind == 2:
                if length != _OFFSET.size or _OFFSET.unpack(payload)[0] < offset:
                    raise invalid_answer("a gap in the live output has no end")
                yield OutputGap(_stream(stream), offset, _OFFSET.unpack(payload)[0])
            elif kind == 3:
                yield Ended(read_command(parse_json(payload)))


def _stream(number: int) -> Stream:
    if number not in _STREAMS:
        raise invalid_answer(f"a record of the live output names stream {number}")
    return _STREAMS[number]


class OutputFollower(Following[OutputChunk | OutputGap]):
    """Iterates over OutputChunk and OutputGap until the command has ended; nothing comes twice. After that `command` is
    its last record, without outputs. CapsuleCommandAbortedError, after the last chunk, when the capsule ended first.

    A lost connection, and a daemon that restarts, are got over as all waits are. One thread; close it, or use it in a
    `with`, when it is not read to its end: with `lossless` the command would be held back.
    """

    def __init__(self, transport: Transport, target: str, output_from: int, error_from: int, lossless: bool,
                 deadline: Deadline) -> None:
        if min(output_from, error_from) < 0:
            raise ValueError("an offset is negative")
        super().__init__()
        self.command: Command | None = None
        self._transport, self._target = transport, target
        self._lossless, self._deadline = lossless, deadline
        self._offsets: dict[Stream, int] = {"standard": output_from, "error": error_from}
        self._patience = transport.patience()
        self._records = OutputRecords()

    def __next__(self) -> OutputChunk | OutputGap:
        while not self._ready:
            if self.command is not None:
                self._disconnect()
                if self.command.status == "Aborted" and not self._closed:
                    self._closed = True
                    raise CapsuleCommandAbortedError(self.command)
                self._closed = True
            if self._closed:
                raise StopIteration
            self._advance()
        return self._ready.popleft()

    def _advance(self) -> None:
        """One thing that happens; what it brings is in `_ready` and `command`."""
        try:
            self._deadline.check(_NOT_ENDED)
            if self._answer is None:
                self._answer = self._connect()
            data = self._answer.read_some(self._deadline.at_most(_SILENCE))
            if not data:
                raise MaitentoConnectionError("the live output broke off", kind="connection-lost")
            self._patience.renew()
            for record in self._records.feed(data):
                self._take(record)
        except MaitentoError as error:
            self._disconnect()
            if error.kind == "command-ended":
                self._complete()
            else:
                self._get_over(error)

    def _connect(self) -> Answer:
        self._records = OutputRecords()
        target = with_query(f"{self._target}/output", outputFrom=self._offsets["standard"],
                            errorFrom=self._offsets["error"], lossless=self._lossless)
        # A queued command waits for its turn, which may take any time: no limit but the caller's.
        left = self._deadline.left()
        return self._transport.open("GET", target, silence=0.0 if left is None else max(left, 0.001))

    def _take(self, record: OutputChunk | OutputGap | Ended) -> None:
        if isinstance(record, Ended):
            self.command = record.command
            return
        stream = record.stream
        known = self._offsets[stream]
        if isinstance(record, OutputGap):
            if record.end is not None and record.end > known:
                self._ready.append(OutputGap(stream, known, record.end))
                self._offsets[stream] = record.end
            return
        if record.offset > known:
            self._ready.append(OutputGap(stream, known, record.offset))
            known = record.offset
        if fresh := record.data[known - record.offset:]:
            self._ready.append(OutputChunk(stream, known, fresh))
            self._offsets[stream] = known + len(fresh)

    def _get_over(self, error: MaitentoError) -> None:
        self._deadline.check(_NOT_ENDED)
        # Silence for so long is a connection that nobody told us is lost; and a daemon that has just started may not
        # have reached the machine yet.
        passes = isinstance(error, MaitentoTimeoutError) or error.kind == "guest-unavailable"
        if not passes and not self._transport.may_pass(error):
            raise error
        if not self._patience.pause(self._deadline):
            raise error

    def _complete(self) -> None:
        """The command ended while nobody followed, and its live output is gone: its record has what was kept."""
        command = read_command(self._transport.get(self._target, self._deadline))
        if not command.has_ended:
            raise ConflictError("the daemon says that the command has ended, and that it has not", kind="command-ended")
        self._complete_stream("standard", command.output_standard, command.output_standard_full_length is None)
        self._complete_stream("error", command.output_error, command.output_error_full_length is None)
        self.command = command

    def _complete_stream(self, stream: Stream, kept: str, is_all: bool) -> None:
        known, data = self._offsets[stream], kept.encode("utf-8", "surrogatepass")
        if is_all and len(data) == known:
            return
        # Text without a replacement character is the output byte for byte, so that offsets mean the same.
        if not is_all or "\N{REPLACEMENT CHARACTER}" in kept:
            self._ready.append(OutputGap(stream, known, None))
        elif len(data) > known:
            self._ready.append(OutputChunk(stream, known, data[known:]))
            self._offsets[stream] = len(data)
