"""Runs of capsules and the commands one sends to them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, TypeVar

from maitento.errors import CapsuleCommandAbortedError
from maitento.output import OutputFollower
from maitento.reading import Members
from maitento.records import Command, Run, read_command, read_run
from maitento.transport import Transport, part, visible_text, with_query
from maitento.waiting import Deadline, checked_seconds

POLL_SECONDS = 30.0  # one long poll: the daemon answers when it has happened, or after this
LONGEST_COMMAND = 24 * 3600.0  # seconds

T = TypeVar("T", Run, Command)


class CapsuleRuns:
    """Runs of every namespace that may be seen.

    `timeout` is in seconds, 0 to a year, and None, the default, for ever; it ends the waiting with
    MaitentoTimeoutError, and nothing else. Waiting is the daemon's own: it answers when the thing happens. All waits,
    and what has an idempotency key, go on over a daemon that restarts (docs/sdk-python.md).
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    # ---- runs ----
    def get(self, run_id: str) -> Run:
        return read_run(self._transport.get(_run(run_id)))

    def list(self, *, namespace: str = "", status: str = "", live: bool = False) -> Iterator[Run]:
        """Newest first, fetched page by page as they are asked for. `live`: only those that have not ended."""
        return self._pages(with_query("/v1/runs", namespace=namespace, status=status, live=live), read_run)

    def wait(self, run_id: str, *, until: Literal["started", "ended"] = "ended", timeout: float | None = None) -> Run:
        """Returns when it has ended; with "started" also as soon as it is Running."""
        if until not in ("started", "ended"):
            raise ValueError(f"until is {until!r}; it must be 'started' or 'ended'")

        return self.wait_before(Deadline(self._transport.clock, timeout), run_id, until)

    def wait_before(self, deadline: Deadline, run_id: str, until: str = "ended") -> Run:
        """wait(), for a call whose time began earlier."""
        def over(run: Run) -> bool:
            return run.has_ended or until == "started" and run.has_started

        return self._await(_run(run_id), read_run, over, f"run {run_id}", deadline, until=until)

    def terminate(self, run_id: str) -> Run:
        """Stops it, and returns once it has ended. No error when it had ended before."""
        return read_run(self._transport.post_repeatable(f"{_run(run_id)}/terminate", {}))

    # ---- commands ----
    def exec(self, run_id: str, command: str, arguments: Sequence[str] = (), *, run_as_user: str = "",
             max_duration: float | None = None, asynchronous: bool = False,
             environment: Mapping[str, str] | None = None, working_directory: str = "", stdin: str | None = None,
             hold_output: bool = False, idempotency_key: str | None = None) -> Command:
        """Sends a command and returns at once. It runs when the capsule is ready and the commands before it are over.

        `command` is shell text; each of `arguments` reaches the program as exactly one word, whatever is in it.
        `run_as_user`: else the default user, who is signed in. `max_duration`: seconds, 0.001 to 86,400, counted from
        its own start. `asynchronous`: the next command does not wait for this one. `stdin`: text, then end of file;
        else nothing. `hold_output`: nothing is lost before follow_output() is there (held for 30 s at most).

        Repeated safely when the connection is lost; the same `idempotency_key` (1 to 200 visible ASCII characters)
        gives the same command again. ConflictError ("run-ended") when the capsule has ended already."""
        if isinstance(arguments, (str, bytes)):
            raise ValueError("arguments is a text; it must be a list of words")  # else each letter became a word
        request: dict[str, object] = {"command": command}
        if arguments:
            request["arguments"] = [*arguments]
        if run_as_user:
            request["runAsUser"] = run_as_user
        if max_duration is not None:
            request["maxDuration"] = round(1000 * checked_seconds("max_duration", max_duration, 0.001, LONGEST_COMMAND))
        if asynchronous:
            request["async"] = True
        if environment:
            request["environment"] = dict(environment)
        if working_directory:
            request["workingDirectory"] = working_directory
        if stdin is not None:
            request["stdin"] = {"text": stdin}
        if hold_output:
            request["holdOutput"] = True
        key = str(uuid.uuid4()) if idempotency_key is None else visible_text("idempotency_key", idempotency_key)
        return read_command(self._transport.post_repeatable(f"{_run(run_id)}/commands", request, key))

    def exec_and_wait(self, run_id: str, command: str, arguments: Sequence[str] = (), *, run_as_user: str = "",
                      max_duration: float | None = None, environment: Mapping[str, str] | None = None,
                      working_directory: str = "", stdin: str | None = None,
                      timeout: float | None = None) -> Command:
        """exec(), then wait_command(): the command with its exit code and outputs. One that fails is a result too, with
        `status` Error. After a timeout the command goes on; `max_duration` is what ends it."""
        deadline = Deadline(self._transport.clock, timeout)
        sent = self.exec(run_id, command, arguments, run_as_user=run_as_user, max_duration=max_duration,
                         environment=environment, working_directory=working_directory, stdin=stdin)
        return self._wait_command(deadline, run_id, sent.id)

    def wait_command(self, run_id: str, command_id: str, *, timeout: float | None = None) -> Command:
        """Returns when it has ended. CapsuleCommandAbortedError when the capsule ended before it did."""
        return self._wait_command(Deadline(self._transport.clock, timeout), run_id, command_id)

    def _wait_command(self, deadline: Deadline, run_id: str, command_id: str) -> Command:
        def over(command: Command) -> bool:
            return command.has_ended

        command = self._await(_command(run_id, command_id), read_command, over,
                              f"command {command_id} of run {run_id}", deadline)
        if command.status == "Aborted":
            raise CapsuleCommandAbortedError(command)
        return command

    def get_command(self, run_id: str, command_id: str) -> Command:
        """As it is now. Its outputs are there when it has ended; follow_output() gives them before that."""
        return read_command(self._transport.get(_command(run_id, command_id)))

    def list_commands(self, run_id: str) -> Iterator[Command]:
        """Newest first, without outputs, fetched page by page as they are asked for."""
        return self._pages(f"{_run(run_id)}/commands", read_command)

    def kill_command(self, run_id: str, command_id: str, *, signal: int = 9) -> Command:
        """Sends a signal, 1 to 64; 9 ends the command with everything it started. ConflictError ("command-ended") when
        it has ended."""
        return read_command(self._transport.post(f"{_command(run_id, command_id)}/kill", {"signal": int(signal)}))

    def follow_output(self, run_id: str, command_id: str, *, output_from: int = 0, error_from: int = 0,
                      lossless: bool = True, timeout: float | None = None) -> OutputFollower:
        """What it prints, as it comes, to iterate over: see OutputFollower. Begins at these offsets, in bytes.
        `lossless`: the command is rather held back, for 30 s at most, than something lost."""
        return OutputFollower(self._transport, _command(run_id, command_id), output_from, error_from, lossless,
                              Deadline(self._transport.clock, timeout))

    # ---- both ----
    def _await(self, target: str, read: Callable[[object], T], over: Callable[[T], bool], what: str,
               deadline: Deadline, **query: str) -> T:
        while True:
            # Rounded up, so that the last poll does not end a moment before the deadline.
            wait = int(deadline.at_most(POLL_SECONDS) * 1000) + 1
            answer = self._transport.get(with_query(target, wait=f"{wait}ms", **query), deadline, wait / 1000)
            if over(record := read(answer)):
                return record
            deadline.check(f"{what} is still {record.status}; it goes on")

    def _pages(self, target: str, read: Callable[[object], T]) -> Iterator[T]:
        separator, cursor = "&" if "?" in target else "?", ""
        while True:
            page = Members(self._transport.get(f"{target}{separator}after={part(cursor)}" if cursor else target),
                           "the answer")
            items = page.each("items", read)
            yield from items
            # An empty page ends the list, too, so that a daemon cannot keep a client turning pages for ever.
            cursor = page.text("next") if items else ""
            if not cursor:
                return


def _run(run_id: str) -> str:
    return f"/v1/runs/{part(run_id)}"


def _command(run_id: str, command_id: str) -> str:
    return f"{_run(run_id)}/commands/{part(command_id)}"
