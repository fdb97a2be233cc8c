"""Every way a call can fail, as one hierarchy below MaitentoError.

A command that fails is not here: it is a result, with an exit code. Arguments that no daemon could accept (a negative
timeout, an empty name) are a ValueError, raised before anything is sent.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maitento.records import Command


@dataclass(frozen=True)
class Diagnostic:
    """One finding in a definition. `line` and `column` count from 1; 0 means the whole file."""

    file: str
    line: int
    column: int
    name: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{max(self.column, 1)}" if self.line else self.file
        text = self.message if self.name in self.message else f"{self.name}: {self.message}"
        return f"{place}: {text}"


class MaitentoError(Exception):
    """The base of all errors of this package.

    `kind` is stable and meant for programs: the daemon's own code ("not-found", "no-room"...), or "unreachable",
    "connection-lost", "timed-out", "invalid-answer", "command-aborted" where the daemon could not be asked or did not
    say so itself. `status` is the HTTP status, None where there was no answer. `title` and `detail` are for people.
    `errors` are the findings in definitions, where there are any.
    """

    def __init__(self, detail: str, *, kind: str, status: int | None = None, title: str = "",
                 errors: Sequence[Diagnostic] = ()) -> None:
        super().__init__("\n".join([detail or title, *map(str, errors)]))
        self.kind = kind
        self.status = status
        self.title = title
        self.detail = detail
        self.errors = list(errors)


class InvalidRequestError(MaitentoError):
    """The daemon does not accept the request as it is (400, 413, 416): sending it again does not help."""


class DefinitionInvalidError(InvalidRequestError):
    """A deploy was refused, nothing was changed. `errors` has file, line and column of each finding."""


class NotAllowedError(MaitentoError):
    """A key is missing or wrong, or it may not do this (401, 403); or the socket may not be opened."""


class NotFoundError(MaitentoError):
    """There is no such thing (404)."""


class ConflictError(MaitentoError):
    """Not possible in the present state (409): the name is taken, the run has ended, the path is a folder..."""


class UnavailableError(MaitentoError):
    """Not possible now, perhaps later (503, 507): no room for a run, a full disk, too many clients."""


class MaitentoTimeoutError(MaitentoError):
    """What was waited for did not happen in time. It may still happen: nothing is ended by this."""


class MaitentoConnectionError(MaitentoError):
    """Nobody answers ("unreachable"), or the connection was lost in the middle ("connection-lost")."""


class InvalidAnswerError(MaitentoError):
    """The answer is not what the API promises: another version, or something else that answers."""


class CapsuleCommandAbortedError(MaitentoError):
    """The capsule ended before the command did: it was stopped, ran out of time, or failed.

    `command` is its record, with what it had printed by then. `detail` says why.
    """

    def __init__(self, command: Command) -> None:
        reason = command.reason or "the capsule ended first"
        super().__init__(f"command {command.id} was aborted: {reason}", kind="command-aborted")
        self.command = command


_CLASSES: dict[int, type[MaitentoError]] = {
    400: InvalidRequestError, 413: InvalidRequestError, 416: InvalidRequestError,
    401: NotAllowedError, 403: NotAllowedError,
    404: NotFoundError, 409: ConflictError,
    503: UnavailableError, 507: UnavailableError,
    504: MaitentoTimeoutError,
}


def problem_error(status: int, body: bytes) -> MaitentoError:
    """The error that an answer of status 400 or more stands for. The body is problem+json, or nothing usable."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    problem = document if isinstance(document, dict) else {}
    title, detail, kind = (_text(problem, name) for name in ("title", "detail", "code"))
    kind = kind or f"status-{status}"
    found = problem.get("errors")
    errors = [_diagnostic(item) for item in found if isinstance(item, dict)] if isinstance(found, list) else []
    chosen: type[MaitentoError] = _CLASSES.get(status, MaitentoError)
    if kind == "definition-invalid":
        chosen = DefinitionInvalidError
    return chosen(detail or title or f"the daemon answered with status {status}", kind=kind, status=status, title=title,
                  errors=errors)


def _text(members: dict[str, object], name: str) -> str:
    value = members.get(name)
    return value if isinstance(value, str) else ""


def _count(members: dict[str, object], name: str) -> int:
    value = members.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _diagnostic(item: dict[str, object]) -> Diagnostic:
    return Diagnostic(_text(item, "file"), _count(item, "line"), _count(item, "column"), _text(item, "name"),
                      _text(item, "message"))
