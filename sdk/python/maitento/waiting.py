"""Time: deadlines of calls, pauses while a daemon is away, and checking what callers give in seconds."""

from __future__ import annotations

import math
import time

from maitento.errors import MaitentoTimeoutError

LONGEST_TIMEOUT = 366 * 24 * 3600.0  # a year; more is taken for a mistake in the unit


class Clock:
    """The system's; tests put one in its place that only moves when they say so."""

    def now(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def checked_seconds(name: str, value: float, lowest: float, highest: float) -> float:
    """`value`, or a ValueError that names the argument and its range."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) \
            or not lowest <= value <= highest:
        raise ValueError(f"{name} is {value!r}; it must be a number of seconds from {lowest:g} to {highest:g}")
    return float(value)


class Deadline:
    """When a call gives up. `timeout` in seconds from now, 0 to a year; None: never."""

    def __init__(self, clock: Clock, timeout: float | None) -> None:
        self._clock = clock
        self._end = None if timeout is None else \
            clock.now() + checked_seconds("timeout", timeout, 0, LONGEST_TIMEOUT)

    def left(self) -> float | None:
        return None if self._end is None else max(0.0, self._end - self._clock.now())

    def has_passed(self) -> bool:
        return self.left() == 0.0

    def check(self, what: str) -> None:
        """MaitentoTimeoutError, saying what did not happen, once it has passed."""
        if self.has_passed():
            raise MaitentoTimeoutError(what, kind="timed-out")

    def at_most(self, seconds: float) -> float:
        """`seconds`, or less where the deadline comes before."""
        left = self.left()
        return seconds if left is None else min(seconds, left)


class Patience:
    """How long a lost daemon is still waited for: pauses that grow, `limit` seconds altogether."""

    FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0

    def __init__(self, clock: Clock, limit: float) -> None:
        self._clock, self._limit = clock, limit
        self._pause = self.FIRST_PAUSE
        self._since: float | None = None  # when it was first away

    def renew(self) -> None:
        """Something went well again."""
        self._pause, self._since = self.FIRST_PAUSE, None

    def pause(self, deadline: Deadline) -> bool:
        """Sleeps a little; False, at once, when it is time to give up."""
        now = self._clock.now()
        if self._since is None:
            self._since = now
        if now + self._pause - self._since > self._limit or deadline.has_passed():
            return False
        self._clock.sleep(deadline.at_most(self._pause))
        self._pause = min(2 * self._pause, self.LONGEST_PAUSE)
        return True
