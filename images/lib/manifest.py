#!/usr/bin/env python3
"""Writes manifest.json of an artefact: what it is, what it was made from, and how to know that it is whole."""

import argparse
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys

import sources

FORMAT_VERSION = 1
USER = {"name": "maitento", "uid": 1000, "gid": 1000, "home": "/home/maitento", "shell": "/bin/bash"}


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def timestamp(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def described_file(folder, name):
    path = os.path.join(folder, name)
    return {"file": name, "size": os.path.getsize(path), "sha256": sha256(path)}


def files_of(folder):
    names = sorted(os.path.relpath(os.path.join(parent, name), folder)
                   for parent, _, files in os.walk(folder) for name in files)
    return [described_file(folder, name) for name in names if name != "manifest.json"]


def kernel_manifest(arguments):
    with open(os.path.join(arguments.folder, "modules", "order"), encoding="utf-8") as file:
        modules = file.read().split()
    return {
        "kernelVersion": arguments.version,
        "debianSuite": arguments.suite,
        "created": timestamp(arguments.created),
        "package": {"file": os.path.basename(arguments.package), "sha256": sha256(arguments.package)},
        "modules": modules,
        "files": files_of(arguments.folder),
    }


def initrd_manifest(arguments):
    with open(arguments.kernel, encoding="utf-8") as file:
        kernel = json.load(file)
    return {
        "kernelVersion": kernel["kernelVersion"],
        "created": kernel["created"],
        "kernel": kernel["id"],
        "files": files_of(arguments.folder),
    }


def disk_manifest(arguments):
    etc_apt = os.path.join(arguments.root, "etc/apt")
    return {
        "profile": arguments.profile,
        "debianSuite": arguments.suite,
        "debianVersion": read_line(os.path.join(arguments.root, "etc/debian_version")),
        "created": timestamp(arguments.created),
        "user": USER,
        "disk": disk_description(arguments.folder),
        **archives_of(arguments.archives),
        "aptSources": sources.allowed_entries(sources.read_sources(etc_apt)),
        "packages": installed_packages(os.path.join(arguments.root, "var/lib/dpkg/status")),
    }


def disk_description(folder):
    described = described_file(folder, "disk.qcow2")
    path = os.path.join(folder, "disk.qcow2")
    info = json.loads(subprocess.check_output(["qemu-img", "info", "--output=json", path]))
    return {**described, "format": info["format"], "virtualSize": info["virtual-size"],
            "fileSystem": "ext4", "label": "capsule-root"}


def installed_packages(status_file):
    packages = []
    with open(status_file, encoding="utf-8") as file:
        for stanza in file.read().split("\n\n"):
            if "\nStatus: install ok installed" in stanza:
                packages.append({key.lower(): re.search(rf"^{key}: (.*)$", stanza, re.M)[1]
                                 for key in ("Package", "Version")})
    return sorted(({"name": p["package"], "version": p["version"]} for p in packages), key=lambda p: p["name"])


def archives_of(path):
    """What came from elsewhere than Debian, and what should have: lib/archives.py writes it."""
    if path is None:
        return {"archives": [], "missing": []}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def print_missing(path):
    with open(path, encoding="utf-8") as file:
        for entry in json.load(file).get("missing", []):
            print(f"{entry['name']} ({entry['what']}): {entry['reason']}")


def read_line(path):
    with open(path, encoding="utf-8") as file:
        return file.readline().strip()


WRITERS = {"kernel": kernel_manifest, "initrd": initrd_manifest, "disk": disk_manifest}


def main():
    if sys.argv[1:2] == ["missing"]:
        print_missing(sys.argv[2])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=WRITERS)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--inputs", required=True, help="digest of everything in the repository it was made from")
    parser.add_argument("--hash", required=True, help="digest that names the folder")
    parser.add_argument("--created", type=int)
    for option in ("suite", "version", "package", "kernel", "profile", "root", "archives"):
        parser.add_argument("--" + option)
    arguments = parser.parse_args()
    name = arguments.profile or arguments.kind
    manifest = {"formatVersion": FORMAT_VERSION, "kind": arguments.kind, "name": name,
                "id": f"{name}-{arguments.hash[:12]}", "architecture": "amd64",
                "inputs": arguments.inputs, **WRITERS[arguments.kind](arguments)}
    with open(os.path.join(arguments.folder, "manifest.json"), "w", encoding="utf-8") as file:
        json.dump(manifest, file, indent=2, ensure_ascii=False)
        file.write("\n")


if __name__ == "__main__":
    main()
