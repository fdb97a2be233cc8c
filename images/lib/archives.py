#!/usr/bin/env python3
"""Fetches what a profile takes from elsewhere than Debian (its file `archives`) into a folder, checked.

Writes FOLDER/NAME.tgz, and FOLDER/archives.json: what is there, and what is missing and why. npm packages come by this
machine's npm settings. Other archives come from where the operator says, in lines `NAME = ADDRESS#sha512=HEX` of a
settings file, or with --source; ADDRESS is http(s)://... or an absolute path. If the operator says nothing, the profile
can name .NET's release metadata, `releases:ADDRESS`: it tells the latest SDK, where that is, and its digest.
"""

import argparse
import base64
import contextlib
import hashlib
import http.client
import io
import json
import os
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

SHA512 = re.compile(r"[0-9a-fA-F]{128}")
ADDRESS = re.compile(rf"(https?://\S+|/\S+)#sha512=({SHA512.pattern})")
# Metadata and what it names come by https; from this machine itself, as in tests, also by http.
HTTPS = re.compile(r"https://\S{1,500}")
LOOPBACK = re.compile(r"http://127\.0\.0\.1:\d+/\S{,500}")
VERSION = re.compile(r"[0-9A-Za-z.+-]{1,64}")

ANSWER_WITHIN = 20  # seconds, from looking the name up to the head of the answer
PROGRESS_WITHIN = 30  # seconds without any byte more
COMPLETE_WITHIN = 3600  # seconds; a server that drips must not hold a build for days
METADATA_LIMIT = 8 << 20  # .NET's is 1.5 MB
ARCHIVE_LIMIT = 4 << 30


class OutOfReach(Exception):
    """Says why; the image can do without if the archive is optional."""


class WrongDigest(OutOfReach):
    """There is an archive, and it is another one."""


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


def sha512(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha512")


def take(name, where, what, target, sources, cache):
    """Puts the archive there and returns its version."""
    kept = os.path.join(cache, name)
    if where == "npm":
        return from_npm(what, target)
    if name in sources:
        return from_operator(sources[name], target, kept)
    if where.startswith("releases:"):
        return from_releases(where.removeprefix("releases:"), target, kept)
    raise OutOfReach("no source is set for it")


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
        checksum = "sha512-" + base64.b64encode(sha512(packed).digest()).decode()
        if checksum != about["integrity"]:
            fail(f"{spec} is not what the registry describes", packed, "run the same command again")
        os.rename(packed, target)
    return about["version"]


def from_operator(source, target, kept):
    try:
        copy_archive(*source, target, kept)
    except WrongDigest as error:
        fail("an archive is not the one that its source names", str(error),
             "compare the digest with the publisher's; do not use the file if they differ")
    return os.path.basename(source[0])


def from_releases(address, target, kept):
    with reaching(address):
        if not (HTTPS.fullmatch(address) or LOOPBACK.fullmatch(address)):
            raise ValueError("release metadata is read by https only")
        text = io.BytesIO()
        download(address, text, METADATA_LIMIT)
        version, archive, expected = latest_sdk(json.loads(text.getvalue()))
        if not (HTTPS.fullmatch(archive) or LOOPBACK.fullmatch(address) and LOOPBACK.fullmatch(archive)):
            raise ValueError(f"SDK {version} is not at an https address: {archive}")
    copy_archive(archive, expected, target, kept)
    return version


def latest_sdk(metadata):
    """(version, address, sha512) of .NET's release metadata, which can be anything in any of its parts."""
    version = metadata.get("latest-sdk") if isinstance(metadata, dict) else None
    if not is_text(version, VERSION):
        raise ValueError("this is no release metadata: it has no `latest-sdk`")
    sdks = [sdk for release in objects(metadata.get("releases"))
            for sdk in objects([release.get("sdk")]) + objects(release.get("sdks"))]
    files = [file for sdk in sdks if sdk.get("version") == version for file in objects(sdk.get("files"))
             if file.get("rid") == "linux-x64" and str(file.get("name")).endswith(".tar.gz")]
    if not files:
        raise ValueError(f"it lists no .tar.gz for linux-x64 of SDK {version}")
    if not is_text(files[0].get("hash"), SHA512):
        raise ValueError(f"it has no SHA-512 digest of SDK {version}")
    return version, str(files[0].get("url")), files[0]["hash"].lower()


def objects(value):
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def is_text(value, pattern):
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def copy_archive(address, expected, target, kept):
    """`kept` is what the build before took, mostly the same; it is of no use if it is not."""
    with reaching(address):
        if not (os.path.exists(kept) and sha512(kept).hexdigest() == expected):
            fetch(address, kept)
        shutil.copyfile(kept, target + ".part")
        found = sha512(target + ".part").hexdigest()
        if found != expected:
            os.remove(kept)
            os.remove(target + ".part")
            raise WrongDigest(f"{address}: expected sha512 {expected}, found {found}")
        os.rename(target + ".part", target)


def fetch(address, path):
    try:
        if address.startswith("/"):
            shutil.copyfile(address, path + ".part")
        else:
            with open(path + ".part", "wb") as file:
                download(address, file, ARCHIVE_LIMIT)
        os.rename(path + ".part", path)
    except BaseException:
        pathlib.Path(path + ".part").unlink(missing_ok=True)
        raise


def download(address, file, limit):
    until = time.monotonic() + COMPLETE_WITHIN
    with opened(address) as response:
        size = response.length
        while data := response.read1(1 << 16):  # what has come; read() would wait for all of it
            if file.tell() + len(data) > limit:
                raise OSError(f"it is larger than {limit >> 20} MiB")
            if time.monotonic() > until:
                raise OSError(f"it was not complete after {COMPLETE_WITHIN} seconds")
            file.write(data)
        if size is not None and file.tell() < size:
            raise OSError("the connection ended before the file did")


def opened(address):
    """The answer of an address. In a thread, because a timeout of urllib begins anew with each address that a host has,
    and does not count while its name is looked up."""
    answers = queue.SimpleQueue()

    def ask():
        try:
            answers.put(urllib.request.build_opener(HttpsStays).open(address, timeout=PROGRESS_WITHIN))
        except Exception as error:  # raised below
            answers.put(error)

    threading.Thread(target=ask, daemon=True).start()
    try:
        answer = answers.get(timeout=ANSWER_WITHIN)
    except queue.Empty:
        raise TimeoutError(f"no answer within {ANSWER_WITHIN} seconds") from None
    if isinstance(answer, Exception):
        raise answer
    return answer


class HttpsStays(urllib.request.HTTPRedirectHandler):
    """Follows redirects, but from https to nothing else."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        if not newurl.startswith("https:" if req.full_url.startswith("https:") else ("http:", "https:")):
            raise OSError(f"it redirects to {newurl}, where it is not followed")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


@contextlib.contextmanager
def reaching(address):
    """Whatever keeps an archive from coming from there becomes the reason why it is missing."""
    try:
        yield
    except (OSError, http.client.HTTPException, ValueError, RecursionError) as error:
        raise OutOfReach(f"{address}: {error}") from error


def one_line(text):
    """Servers have a say in reasons: none is endless, or has characters that a terminal acts on."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text[:1000])


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
            version = take(name, where, what, target, sources, arguments.cache)
            present.append({"name": name, "what": what, "version": version, "sha512": sha512(target).hexdigest()})
        except OutOfReach as error:
            reason = one_line(str(error))
            if where != "npm" and name not in sources:
                reason += f"; to set a source, write {name} = ADDRESS#sha512=HEX to {arguments.settings}"
            if need == "required":
                fail(f"{name} ({what}) cannot be fetched", reason,
                     "check the network, and the settings that `npm config list` shows; then run the same command again")
            missing.append({"name": name, "what": what, "reason": reason})
    with open(os.path.join(arguments.folder, "archives.json"), "w", encoding="utf-8") as file:
        json.dump({"archives": present, "missing": missing}, file, indent=2, sort_keys=True)


if __name__ == "__main__":
    main()
