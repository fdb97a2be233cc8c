#!/usr/bin/env python3
"""Fetches what a profile takes from elsewhere than Debian (its file `archives`) into a folder, checked.

Writes FOLDER/NAME.tgz, and FOLDER/archives.json: what is there, and what is missing and why. Addresses are not in the
profile: npm packages come by this machine's npm settings, other archives from where the operator says, in lines
`NAME = ADDRESS#sha512=HEX` of a settings file, or with --source. ADDRESS is http(s)://... or an absolute path.
"""

import argparse
import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

ADDRESS = re.compile(r"(https?://\S+|/\S+)#sha512=([0-9a-fA-F]{128})")


class OutOfReach(Exception):
    """Says why; the image can do without if the archive is optional."""


def fail(what, where, fix):
    sys.exit(f"error: {what}\n  where: {where}\n  what to do: {fix}")


def wanted(path):
    """(name, where, need, what) of each line."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                yield line.split(None, 3)


def operator_sources(path, given):
    sources = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                add_source(sources, line.split("# ")[0].strip(), f"{path}:{number}")
    for text in given:
        add_source(sources, text, f"--source {text}")
    return sources


def add_source(sources, text, where):
    if not text or text.startswith("#"):
        return
    name, _, address = (part.strip() for part in text.partition("="))
    found = ADDRESS.fullmatch(address)
    if not found:
        fail("not the source of an archive", where, "write NAME = ADDRESS#sha512=HEX, with https://... or an absolute "
             "path and the 128 digits that the publisher gives for the file")
    sources[name] = (found[1], found[2].lower())


def digest(path, algorithm):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, algorithm)


def from_npm(spec, target):
    """npm checks what it fetches against the registry's digest; the file is checked once more here."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(target)) as folder:
        done = subprocess.run(["npm", "pack", spec, "--json", "--ignore-scripts", "--pack-destination", folder],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, check=False)
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if "error" in line.lower()]
            raise OutOfReach("npm: " + "; ".join(lines[:4]))
        about = json.loads(done.stdout)[0]
        packed = os.path.join(folder, about["filename"])
        checksum = "sha512-" + base64.b64encode(digest(packed, "sha512").digest()).decode()
        if checksum != about["integrity"]:
            fail(f"{spec} is not what the registry describes", packed, "run the same command again")
        os.rename(packed, target)
    return about["version"]


def from_operator(source, target, cache):
    address, expected = source
    kept = os.path.join(cache, expected[:32])
    if not (os.path.exists(kept) and digest(kept, "sha512").hexdigest() == expected):
        fetch(address, kept)
        found = digest(kept, "sha512").hexdigest()
        if found != expected:
            os.remove(kept)
            fail("an archive is not the one that its source names", f"{address}\n    expected sha512 {expected}\n"
                 f"    found    sha512 {found}", "compare the digest with the publisher's; do not use the file if they differ")
    shutil.copyfile(kept, target)
    return os.path.basename(address)


def fetch(address, path):
    try:
        if address.startswith("/"):
            shutil.copyfile(address, path + ".part")
        else:
            with urllib.request.urlopen(address, timeout=30) as response, open(path + ".part", "wb") as file:
                shutil.copyfileobj(response, file, 1 << 20)
    except (OSError, urllib.error.URLError) as error:
        raise OutOfReach(f"{address}: {error}") from error
    os.rename(path + ".part", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", required=True, help="the profile's file `archives`")
    parser.add_argument("--folder", required=True)
    parser.add_argument("--cache", required=True)
    parser.add_argument("--settings", required=True, help="the operator's file of sources")
    parser.add_argument("--source", action="append", default=[], metavar="NAME=ADDRESS#sha512=HEX")
    arguments = parser.parse_args()
    os.makedirs(arguments.cache, exist_ok=True)
    sources = operator_sources(arguments.settings, arguments.source)
    present, missing = [], []
    for name, where, need, what in wanted(arguments.list):
        what = what.strip()
        target = os.path.join(arguments.folder, name + ".tgz")
        print(f"I: fetching {name} ({what})...", flush=True)
        try:
            if where == "npm":
                version = from_npm(what, target)
            elif name in sources:
                version = from_operator(sources[name], target, arguments.cache)
            else:
                raise OutOfReach(f"no source is set for it; write {name} = ADDRESS#sha512=HEX to {arguments.settings}")
            present.append({"name": name, "what": what, "version": version,
                            "sha512": digest(target, "sha512").hexdigest()})
        except OutOfReach as reason:
            if need == "required":
                fail(f"{name} ({what}) cannot be fetched", str(reason),
                     "check the network, and the settings that `npm config list` shows; then run the same command again")
            missing.append({"name": name, "what": what, "reason": str(reason)})
    with open(os.path.join(arguments.folder, "archives.json"), "w", encoding="utf-8") as file:
        json.dump({"archives": present, "missing": missing}, file, indent=2, sort_keys=True)


if __name__ == "__main__":
    main()
