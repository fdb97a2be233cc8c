"""Where a daemon listens, as MAITENTO_URL writes it: `unix:///run/capsuled/api.sock` or `http://host:port`."""

from __future__ import annotations

import os
import urllib.parse
from dataclasses import dataclass

DEFAULT_URL = "unix:///run/capsuled/api.sock"
DEFAULT_NAMESPACE = "default"
LONGEST_SOCKET_PATH = 107  # bytes: what the kernel's sockaddr_un can hold


@dataclass(frozen=True)
class Endpoint:
    """Exactly one of `path` (a Unix socket) and `host` is set. `url` is for messages."""

    url: str
    path: str = ""
    host: str = ""
    port: int = 80


def parse_endpoint(url: str) -> Endpoint:
    """ValueError with what to write instead."""
    def bad(why: str) -> ValueError:
        return ValueError(f"{url!r} is not an address: {why}; write unix:///path/to/socket or http://host:port")

    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in ("unix", "http"):
        https = scheme == "https"
        raise bad("https is not spoken here, put a TLS proxy in front" if https else "it has no known scheme")
    if scheme == "unix":
        if not rest.startswith("/") or "\0" in rest:
            raise bad("the path must be absolute")
        if len(os.fsencode(rest)) > LONGEST_SOCKET_PATH:
            raise bad(f"a socket's path has at most {LONGEST_SOCKET_PATH} bytes")
        return Endpoint(url, path=rest)

    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise bad(str(error)) from None
    if not host or port == 0:
        raise bad("the host or the port is missing")
    if parts.path not in ("", "/") or parts.query or parts.fragment or parts.username is not None:
        raise bad("only a host and a port may be given")
    return Endpoint(url, host=host, port=80 if port is None else port)


def from_environment(name: str, otherwise: str) -> str:
    """An empty variable counts as one that is not set."""
    return os.environ.get(name) or otherwise
