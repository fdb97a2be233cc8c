"""Capsules: recipes that were deployed, and starting them."""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence

from maitento.capsule_runs import CapsuleRuns
from maitento.definitions import collect_definitions
from maitento.reading import Members
from maitento.records import DeployReport, Named, Run, read_deploy_report, read_named, read_run
from maitento.transport import Transport, part, visible_text
from maitento.waiting import Deadline


class Capsules:
    """The capsules of the client's namespace."""

    def __init__(self, transport: Transport, namespace: str, runs: CapsuleRuns) -> None:
        self._transport = transport
        self._runs = runs
        self._target = f"/v1/namespaces/{part(namespace)}"

    def deploy(self, folder: str | os.PathLike[str]) -> DeployReport:
        """Sends the definitions below `folder`, which has the folder capsules in it. All of them are stored or, with
        DefinitionInvalidError, none. A deploy deletes nothing."""
        answer = self._transport.post(f"{self._target}/deploy", {"files": collect_definitions(folder)})
        return read_deploy_report(answer)

    def list(self) -> Sequence[Named]:
        return Members(self._transport.get(f"{self._target}/capsules"), "the answer").each("items", read_named)

    def get(self, name: str) -> Named:
        """Its `definition` and `source` are in `document`."""
        return read_named(self._transport.get(f"{self._target}/capsules/{part(name)}"))

    def delete(self, name: str) -> None:
        """Its runs go on."""
        self._transport.delete(f"{self._target}/capsules/{part(name)}")

    def start(self, name: str, *, idempotency_key: str | None = None) -> Run:
        """Starts a machine and returns at once: the run is Starting, and takes commands already. UnavailableError
        ("no-room") when the host has no room for it.

        Repeated safely when the connection is lost. The same `idempotency_key` (1 to 200 visible ASCII characters)
        gives the same run again, also from another process."""
        key = str(uuid.uuid4()) if idempotency_key is None else visible_text("idempotency_key", idempotency_key)
        return read_run(self._transport.post_repeatable(f"{self._target}/capsules/{part(name)}/runs", {}, key))

    def run(self, name: str, *, timeout: float | None = None) -> Run:
        """start(), then waits for the end, as CapsuleRuns.wait() does. However it ended is in `status` and
        `failure_details`: a run that failed is a result."""
        deadline = Deadline(self._transport.clock, timeout)
        return self._runs.wait_before(deadline, self.start(name).id)
