"""What the API speaks of, as plain values that never change. Times are aware, in UTC; durations are seconds.

What a daemon left out is empty or None. `document` is the JSON a record was read from, for members that this version
does not know.
"""

from __future__ import annotations

import base64
import binascii
import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from maitento.reading import Members, invalid_answer


@dataclass(frozen=True)
class Named:
    """A file system, secret or capsule. `updated_at` is None for what does not change."""

    name: str
    namespace: str
    created_at: datetime.datetime | None
    updated_at: datetime.datetime | None
    document: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True)
class Namespace:
    """`image` is what its capsules start from that name none; "" stands for the host's default."""

    name: str
    created_at: datetime.datetime | None
    image: str
    document: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True)
class Image:
    """`problem` says why it cannot be used; then nothing else is known of it."""

    name: str
    version: str
    current: bool
    default: bool
    problem: str
    document: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True)
class FileEntry:
    """`type` is "file", "folder", "link" or "other"; `mode` the permission bits as octal digits. Bytes of a name that
    are not UTF-8 are surrogate escapes, as in os.fsdecode(); such a name can be given back to every method."""

    name: str
    type: str
    size: int
    mode: str
    modified_at: datetime.datetime | None
    document: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True)
class DeployReport:
    """Names of capsules; `skipped` are files of kinds that this daemon does not support."""

    created: tuple[str, ...]
    updated: tuple[str, ...]
    unchanged: tuple[str, ...]
    skipped: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """A capsule that was started. `status`: Starting, Running, Finished, Error or Terminated."""

    id: str
    namespace: str
    capsule: str
    status: str
    phase: str
    failure_details: str
    created_at: datetime.datetime | None
    ready_at: datetime.datetime | None
    ended_at: datetime.datetime | None
    max_duration: float | None
    accelerator: str
    transport: str
    started_by: str
    image: str
    document: Mapping[str, Any] = field(repr=False, compare=False)

    @property
    def has_started(self) -> bool:
        """It is Running, or has ended without."""
        return self.status != "Starting"

    @property
    def has_ended(self) -> bool:
        return self.status in ("Finished", "Error", "Terminated")


@dataclass(frozen=True)
class Command:
    """A command that was sent. `status`: Queued, Running, Finished, Error or Aborted. `exit_code` is None while it has
    not ended, and when it never ran or was aborted. The outputs, there once it has ended by itself, are the last 65,536
    characters of each; when there was more, the full length, in characters, is not None. Lists leave them out."""

    id: str
    run_id: str
    sequence: int
    command: str
    arguments: tuple[str, ...]
    run_as_user: str
    asynchronous: bool
    max_duration: float | None
    status: str
    end_reason: str
    reason: str
    exit_code: int | None
    output_standard: str
    output_error: str
    output_standard_full_length: int | None
    output_error_full_length: int | None
    run_time: float | None
    peak_memory_bytes: int | None
    created_at: datetime.datetime | None
    started_at: datetime.datetime | None
    ended_at: datetime.datetime | None
    document: Mapping[str, Any] = field(repr=False, compare=False)

    @property
    def has_ended(self) -> bool:
        return self.status not in ("Queued", "Running")


@dataclass(frozen=True)
class Event:
    """Something that happened: run.started, run.phase, run.ready, run.ended, command.started, command.ended."""

    id: int
    type: str
    namespace: str
    at: datetime.datetime | None
    data: Mapping[str, Any]


# ---- from JSON: InvalidAnswerError when an answer has not the shape it must have ----

def read_named(value: object) -> Named:
    members = Members(value, "a named thing", "name")
    return Named(members.text("name"), members.text("namespace"), members.time("createdAt"), members.time("updatedAt"),
                 members.document)


def read_namespace(value: object) -> Namespace:
    members = Members(value, "a namespace", "name")
    return Namespace(members.text("name"), members.time("createdAt"), members.text("image"), members.document)


def read_image(value: object) -> Image:
    members = Members(value, "an image", "name", "version")
    return Image(members.text("name"), members.text("version"), members.flag("current"), members.flag("default"),
                 members.text("problem"), members.document)


def read_file_entry(value: object) -> FileEntry:
    members = Members(value, "a file's entry", "type")
    name = members.text("name")
    if encoded := members.text("nameBase64"):
        try:
            name = base64.b64decode(encoded, validate=True).decode("utf-8", "surrogateescape")
        except (binascii.Error, ValueError):
            raise invalid_answer("nameBase64 is not base64") from None
    return FileEntry(name, members.text("type"), members.number("size") or 0, members.text("mode"),
                     members.time("modifiedAt"), members.document)


def read_deploy_report(value: object) -> DeployReport:
    members = Members(value, "the report of a deploy")
    return DeployReport(members.texts("created"), members.texts("updated"), members.texts("unchanged"),
                        members.texts("skipped"))


def read_run(value: object) -> Run:
    members = Members(value, "a run", "id", "status")
    return Run(
        id=members.text("id"), namespace=members.text("namespace"), capsule=members.text("capsule"),
        status=members.text("status"), phase=members.text("phase"), failure_details=members.text("failureDetails"),
        created_at=members.time("createdAt"), ready_at=members.time("readyAt"), ended_at=members.time("endedAt"),
        max_duration=members.seconds("maxDuration"), accelerator=members.text("accelerator"),
        transport=members.text("transport"), started_by=members.text("startedBy"), image=members.text("image"),
        document=members.document)


def read_command(value: object) -> Command:
    members = Members(value, "a command", "id", "status")
    run_time = members.number("runTimeMs")
    return Command(
        id=members.text("id"), run_id=members.text("runId"), sequence=members.number("sequence") or 0,
        command=members.text("command"), arguments=members.texts("arguments"), run_as_user=members.text("runAsUser"),
        asynchronous=members.flag("async"), max_duration=members.seconds("maxDuration"), status=members.text("status"),
        end_reason=members.text("endReason"), reason=members.text("reason"), exit_code=members.number("exitCode"),
        output_standard=members.text("outputStandard"), output_error=members.text("outputError"),
        output_standard_full_length=members.number("outputStandardFullLength"),
        output_error_full_length=members.number("outputErrorFullLength"),
        run_time=None if run_time is None else run_time / 1000, peak_memory_bytes=members.number("peakMemoryBytes"),
        created_at=members.time("createdAt"), started_at=members.time("startedAt"), ended_at=members.time("endedAt"),
        document=members.document)


def read_event(value: object) -> Event:
    members = Members(value, "an event", "type")
    data = members.document.get("data")
    return Event(members.number("id") or 0, members.text("type"), members.text("namespace"), members.time("at"),
                 data if isinstance(data, dict) else {})
