"""Maitento: the way in. Everything hangs on one object that says where the daemon is, and as whom to ask."""

from __future__ import annotations

import os

from maitento.capsule_runs import CapsuleRuns
from maitento.capsules import Capsules
from maitento.catalogue import Images, Namespaces, Secrets
from maitento.endpoint import DEFAULT_NAMESPACE, DEFAULT_URL, from_environment, parse_endpoint
from maitento.event_stream import EventStream
from maitento.reading import Members
from maitento.records import DeployReport
from maitento.transport import Transport
from maitento.vfs import Vfs
from maitento.waiting import Deadline, checked_seconds


class Maitento:
    """A client of one daemon, in one namespace.

    What is not given comes from the environment, as for `mt`: MAITENTO_URL (unix:///run/capsuled/api.sock unless it is
    set), MAITENTO_API_KEY (needed over TCP), MAITENTO_NAMESPACE (`default`). Inside a capsule these are set for the
    default user.

    `timeout`: seconds, 1 to 3600, that a single read or write may take before the daemon counts as silent; time that
    a call itself waits comes on top. `reconnect_limit`: seconds, 0 to 3600, that a daemon which was there and is gone
    (it restarts without ending runs) is waited for.

    Making one asks the daemon nothing. Any number of threads may use one; there is nothing to close.
    """

    def __init__(self, url: str | None = None, *, api_key: str | None = None, namespace: str | None = None,
                 timeout: float = 60.0, reconnect_limit: float = 30.0) -> None:
        self.namespace = namespace or from_environment("MAITENTO_NAMESPACE", DEFAULT_NAMESPACE)
        endpoint = parse_endpoint(url or from_environment("MAITENTO_URL", DEFAULT_URL))
        key = from_environment("MAITENTO_API_KEY", "") if api_key is None else api_key
        self._transport = Transport(endpoint, key, checked_seconds("timeout", timeout, 1, 3600),
                                    checked_seconds("reconnect_limit", reconnect_limit, 0, 3600))
        self.namespaces = Namespaces(self._transport)
        self.images = Images(self._transport)
        self.vfs = Vfs(self._transport, self.namespace)
        self.secrets = Secrets(self._transport, self.namespace)
        self.capsule_runs = CapsuleRuns(self._transport)
        self.capsules = Capsules(self._transport, self.namespace, self.capsule_runs)

    def deploy(self, folder: str | os.PathLike[str]) -> DeployReport:
        """Capsules.deploy()."""
        return self.capsules.deploy(folder)

    def events(self, *, after: int | None = None, timeout: float | None = None) -> EventStream:
        """What happens from now on, or after the event with the id `after`. `timeout`: seconds, 0 to a year, until
        iterating over it ends with MaitentoTimeoutError; None: never."""
        return EventStream(self._transport, after, Deadline(self._transport.clock, timeout))

    def version(self) -> str:
        """That of the daemon. Needs no key, so it tells an absent daemon from a wrong key."""
        return Members(self._transport.get("/health"), "the answer", "version").text("version")
