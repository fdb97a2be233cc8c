"""Taking apart what a daemon sends, trusting nothing of it: sizes, depth, types."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

from maitento.errors import InvalidAnswerError

T = TypeVar("T")
_DURATION = re.compile(r"(\d{1,9}):([0-5]\d):([0-5]\d)")


def invalid_answer(why: str) -> InvalidAnswerError:
    return InvalidAnswerError(f"the daemon's answer is not as expected: {why}; is it another version?",
                              kind="invalid-answer")


def parse_json(text: bytes) -> object:
    """InvalidAnswerError for what is not JSON; NaN and its like are not."""
    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not JSON")

    try:
        value: object = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise invalid_answer(f"it is not JSON ({error})") from None
    return value


class Members:
    """The members of a JSON object. One that is absent, or has another type than asked for, is empty; what must be
    there is named when this is made, and is a string then."""

    def __init__(self, value: object, what: str, *required: str) -> None:
        if not isinstance(value, dict):
            raise invalid_answer(f"{what} is not an object")
        self.document: Mapping[str, Any] = value
        for name in required:
            if not self.text(name):
                raise invalid_answer(f"{what} has no {name}")

    def text(self, name: str) -> str:
        value = self.document.get(name)
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> int | None:
        value = self.document.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def flag(self, name: str) -> bool:
        return self.document.get(name) is True

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.document.get(name)
        return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()

    def time(self, name: str) -> datetime.datetime | None:
        """Aware, in UTC."""
        try:
            value = datetime.datetime.fromisoformat(self.text(name))
            return value.astimezone(datetime.timezone.utc) if value.tzinfo else None
        except (ValueError, OverflowError):
            return None

    def seconds(self, name: str) -> float | None:
        """A duration "hh:mm:ss"."""
        found = _DURATION.fullmatch(self.text(name))
        if not found:
            return None
        hours, minutes, seconds = map(int, found.groups())
        return float(3600 * hours + 60 * minutes + seconds)

    def each(self, name: str, read: Callable[[object], T]) -> list[T]:
        """The elements of a list that must be there."""
        value = self.document.get(name)
        if not isinstance(value, list):
            raise invalid_answer(f"it has no list {name}")
        return [read(item) for item in value]
