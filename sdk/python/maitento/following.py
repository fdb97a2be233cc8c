"""What the iterators over a connection that stays open have in common."""

from __future__ import annotations

from collections import deque
from typing import Generic, Self, TypeVar

from maitento.transport import Answer

Item = TypeVar("Item")


class Following(Generic[Item]):
    """An iterator over what a connection brings, which can be closed."""

    def __init__(self) -> None:
        self._ready: deque[Item] = deque()
        self._answer: Answer | None = None
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def close(self) -> None:
        self._closed = True
        self._disconnect()

    def _disconnect(self) -> None:
        if self._answer is not None:
            self._answer.close()
            self._answer = None
