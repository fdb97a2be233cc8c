#!/usr/bin/env python3
"""Reads apt's own source files and derives the sources of an image from them.

The machine's sources name the operator's mirror; the image uses the same one for its own suite. Both
formats (one line, deb822) and mirror list files are understood. Network is never used here.
"""

import argparse
import json
import os
import re
import sys
from dataclasses import dataclass
from urllib.parse import urlsplit

CODENAMES = {"bullseye", "bookworm", "trixie", "forky", "sid", "stable", "oldstable", "testing", "unstable"}
DEFAULT_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


@dataclass(frozen=True)
class Source:
    uri: str
    suite: str
    components: tuple
    signed_by: str = ""
    trusted: bool = False


def read_sources(etc_apt):
    """All enabled binary sources of a folder like /etc/apt, in apt's order of reading."""
    sources = []
    main_list = os.path.join(etc_apt, "sources.list")
    if os.path.isfile(main_list):
        sources += read_one_line_file(main_list)
    parts = os.path.join(etc_apt, "sources.list.d")
    for name in sorted(os.listdir(parts)) if os.path.isdir(parts) else []:
        path = os.path.join(parts, name)
        if name.endswith(".list"):
            sources += read_one_line_file(path)
        elif name.endswith(".sources"):
            sources += read_deb822_file(path)
    return sources


def read_one_line_file(path):
    sources = []
    for line in read_text(path).splitlines():
        match = re.match(r"\s*deb\s+(?:\[([^\]]*)\]\s*)?(\S+)\s+(\S+)\s*([^#]*)", line)
        if not match:
            continue
        options = dict(word.partition("=")[::2] for word in (match[1] or "").split())
        sources += expand([match[2]], [match[3]], match[4].split(),
                          options.get("signed-by", ""), options.get("trusted", ""))
    return sources


def read_deb822_file(path):
    sources = []
    for stanza in re.split(r"\n\s*\n", read_text(path)):
        fields, last = {}, None
        for line in stanza.splitlines():
            if line.startswith("#") or not line.strip():
                continue
            if line[0] in " \t" and last:
                fields[last] += "\n" + line.strip()
            elif ":" in line:
                last, value = line.split(":", 1)
                last = last.strip().lower()
                fields[last] = value.strip()
        if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").lower() in ("no", "false"):
            continue
        sources += expand(fields.get("uris", "").split(), fields.get("suites", "").split(),
                          fields.get("components", "").split(), fields.get("signed-by", ""),
                          fields.get("trusted", ""))
    return sources


def expand(uris, suites, components, signed_by, trusted):
    if not signed_by.startswith("/"):  # an embedded key or a fingerprint: apt's default keys apply
        signed_by = ""
    return [Source(uri.rstrip("/"), suite, tuple(components), signed_by, trusted.lower() == "yes")
            for listed in uris for uri in resolve_mirror_list(listed) for suite in suites]


def resolve_mirror_list(uri):
    """`mirror+file:/path` names a file with one mirror per line, best first: cloud images use that."""
    if not uri.startswith("mirror+file:"):
        return [uri]
    path = "/" + uri[len("mirror+file:"):].lstrip("/")
    lines = [line.split("#")[0].split() for line in read_text(path).splitlines()]
    return [words[0] for words in lines if words][:1]


def read_text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as error:
        raise SystemExit(f"error: cannot read apt sources\n  where: {path}\n  what to do: {error.strerror}") from error


def image_sources(etc_apt, suite):
    """The archive, its updates and its security suite for an image, as far as this machine uses them."""
    usable = [s for s in read_sources(etc_apt)
              if urlsplit(s.uri).scheme in ("http", "https") and "main" in s.components]
    archive = next((s for s in usable if s.suite in CODENAMES), None)
    if archive is None:
        raise SystemExit(
            "error: no Debian archive found in the apt sources of this machine\n"
            f"  where: {etc_apt}/sources.list and {etc_apt}/sources.list.d/*.{{list,sources}}\n"
            "  what to do: add an enabled `deb` source with an http or https mirror, a Debian suite and component main")
    found = [Source(archive.uri, suite, ("main",), archive.signed_by, archive.trusted)]
    if any(s.uri == archive.uri and s.suite.endswith("-updates") for s in usable):
        found.append(Source(archive.uri, suite + "-updates", ("main",), archive.signed_by, archive.trusted))
    security = next((s for s in usable if s.suite.endswith("-security") or s.suite.endswith("/updates")), None)
    if security:
        found.append(Source(security.uri, suite + "-security", ("main",), security.signed_by, security.trusted))
    return found


def render(sources):
    """deb822 text, one stanza per mirror."""
    stanzas = {}
    for source in sources:
        key = (source.uri, source.components, source.signed_by or DEFAULT_KEYRING, source.trusted)
        stanzas.setdefault(key, []).append(source.suite)
    texts = []
    for (uri, components, signed_by, trusted), suites in stanzas.items():
        text = (f"Types: deb\nURIs: {uri}\nSuites: {' '.join(suites)}\nComponents: {' '.join(components)}\n"
                f"Architectures: amd64\nSigned-By: {signed_by}\n")
        texts.append(text + ("Trusted: yes\n" if trusted else ""))
    return "\n".join(texts)


def allowed_entries(sources):
    """What a guest may fetch from: scheme, host, port and path of each source."""
    entries = []
    for source in sources:
        parts = urlsplit(source.uri)
        entries.append({
            "scheme": parts.scheme,
            "host": parts.hostname,
            "port": parts.port or {"http": 80, "https": 443}[parts.scheme],
            "path": (parts.path or "") + "/",
            "suite": source.suite,
            "components": list(source.components),
        })
    return entries


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("render", "releases"):
        command = commands.add_parser(name)
        command.add_argument("--etc-apt", required=True)
        command.add_argument("--suite", required=True)
    command = commands.add_parser("entries")
    command.add_argument("--etc-apt", required=True)
    arguments = parser.parse_args()
    if arguments.command == "render":
        sys.stdout.write(render(image_sources(arguments.etc_apt, arguments.suite)))
    elif arguments.command == "releases":
        for source in image_sources(arguments.etc_apt, arguments.suite):
            print(f"{source.uri}/dists/{source.suite}/InRelease")
    else:
        print(json.dumps(allowed_entries(read_sources(arguments.etc_apt)), indent=2))


if __name__ == "__main__":
    main()
