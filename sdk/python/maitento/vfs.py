"""File systems that outlive the machines that mount them, and the files in them."""

from __future__ import annotations

import os
import urllib.parse
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from maitento.errors import ConflictError, MaitentoError, NotFoundError
from maitento.reading import Members, parse_json
from maitento.records import FileEntry, Named, read_file_entry, read_named
from maitento.transport import DOCUMENT_LIMIT, PIECE_BYTES, Answer, Transport, part, with_query

READ_LIMIT = 64 << 20  # bytes that read_bytes() takes into memory unless told otherwise
_BINARY = {"Content-Type": "application/octet-stream"}


class Vfs:
    """The file systems of the client's namespace."""

    def __init__(self, transport: Transport, namespace: str) -> None:
        self._transport = transport
        self._target = f"/v1/namespaces/{part(namespace)}/vfs"

    def find_by_name(self, name: str) -> Named | None:
        """None when there is none of that name."""
        try:
            return read_named(self._transport.get(f"{self._target}/{part(name)}"))
        except NotFoundError:
            return None

    def list(self) -> Sequence[Named]:
        return Members(self._transport.get(self._target), "the answer").each("items", read_named)

    def create(self, name: str) -> Named:
        """ConflictError ("already-exists") when the name is taken."""
        return read_named(self._transport.post(self._target, {"name": name}))

    def delete(self, name: str) -> None:
        """With all its files. ConflictError ("in-use") while a live run mounts it."""
        self._transport.delete(f"{self._target}/{part(name)}")

    def open(self, name: str) -> FileSystem:
        """Asks the daemon nothing: that it is not there is found out by the first use."""
        return FileSystem(self._transport, f"{self._target}/{part(name)}/files")


class FileSystem:
    """The files of one file system. Paths begin at its root, with or without "/"; parts of a name that are not UTF-8
    are surrogate escapes (os.fsdecode()). Links are never followed: ConflictError ("is-a-link")."""

    def __init__(self, transport: Transport, target: str) -> None:
        self._transport = transport
        self._target = target

    # ---- writing: replaces a file when its last byte has arrived, and makes the folders above it ----
    def write_text(self, path: str, text: str) -> None:
        """As UTF-8, line ends as they are."""
        self.write_bytes(path, text.encode())

    def write_bytes(self, path: str, data: bytes) -> None:
        self._transport.put(self._file(path), data)

    def write_file(self, path: str, source: str | os.PathLike[str] | BinaryIO) -> None:
        """Streams a file of this machine, by its path, or whatever an open binary file still has, of any size. It is
        sent once: after a lost connection the file in the VFS is what it was before."""
        if not isinstance(source, (str, os.PathLike)):
            self._transport.open("PUT", self._file(path), _pieces(source), _BINARY).close()
            return
        with open(source, "rb") as file:
            self.write_file(path, file)

    # ---- reading ----
    def read_text(self, path: str) -> str:
        """UnicodeDecodeError for what is not UTF-8."""
        return self.read_bytes(path).decode()

    def read_bytes(self, path: str, *, limit: int = READ_LIMIT) -> bytes:
        """MaitentoError ("too-large") for a file above `limit` bytes; a capsule can make files of any size."""
        def read() -> bytes:
            pieces, size = [], 0
            for piece in self._content(path):
                size += len(piece)
                if size > limit:
                    raise MaitentoError(f"{path} is larger than {limit} bytes", kind="too-large")
                pieces.append(piece)
            return b"".join(pieces)

        return self._transport.repeated(read)

    def read_file(self, path: str, target: BinaryIO) -> int:
        """Streams a file of any size into an open binary file; how many bytes there were."""
        size = 0
        for piece in self._content(path):
            target.write(piece)
            size += len(piece)
        return size

    def list(self, path: str = "/") -> Sequence[FileEntry]:
        """What is in a folder; ConflictError ("not-a-folder") for anything else."""
        def read() -> object:
            with self._transport.open("GET", self._file(path)) as answer:
                if not _is_listing(answer):
                    raise ConflictError(f"{path} is not a folder", kind="not-a-folder")
                return parse_json(answer.read_all(DOCUMENT_LIMIT))

        return Members(self._transport.repeated(read), "the answer").each("entries", read_file_entry)

    def stat(self, path: str) -> FileEntry:
        return read_file_entry(self._transport.get(with_query(self._file(path), stat=True)))

    # ---- changing ----
    def make_folder(self, path: str) -> None:
        """With those above it; no error when it is there."""
        self._transport.post(self._file(path), {"operation": "makeFolder"})

    def move(self, path: str, to: str) -> None:
        """Within this file system."""
        self._transport.post(self._file(path), {"operation": "move", "to": to})

    def delete(self, path: str, *, recursive: bool = False) -> None:
        """ConflictError ("not-empty") for a folder that is not empty, unless `recursive`."""
        self._transport.delete(with_query(self._file(path), recursive=recursive))

    def _file(self, path: str) -> str:
        return f"{self._target}/{urllib.parse.quote(path.lstrip('/'), safe='/', errors='surrogateescape')}"

    def _content(self, path: str) -> Iterator[bytes]:
        with self._transport.open("GET", self._file(path)) as answer:
            if _is_listing(answer):
                raise ConflictError(f"{path} is a folder", kind="is-a-folder")
            while data := answer.read_some():
                yield data


def _is_listing(answer: Answer) -> bool:
    # Content is application/octet-stream whatever is in it.
    return answer.content_type == "application/json"


def _pieces(source: BinaryIO) -> Iterator[bytes]:
    while data := source.read(PIECE_BYTES):
        yield data
