#!/usr/bin/env python3
"""Compares an artefact with its manifest: every file, its size and digest; for a disk also what the image claims."""

import hashlib
import json
import os
import re
import subprocess
import sys


DISK_SIZES = {"base": 4 << 30, "full": 10 << 30}
TOOLS = {"build-essential", "curl", "ffmpeg", "git", "jq", "openjdk-17-jdk-headless", "pandoc", "python3-pip", "python3-venv",
         "unzip"}


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_file(folder, entry):
    path = os.path.join(folder, entry["file"])
    assert os.path.getsize(path) == entry["size"], f"{path}: size differs"
    assert sha256(path) == entry["sha256"], f"{path}: digest differs"


def check_disk(folder, manifest):
    disk = manifest["disk"]
    check_file(folder, disk)
    info = json.loads(subprocess.check_output(
        ["qemu-img", "info", "--output=json", os.path.join(folder, disk["file"])]))
    assert info["format"] == disk["format"] == "qcow2"
    assert info["virtual-size"] == disk["virtualSize"] == DISK_SIZES[manifest["profile"]]
    assert "backing-filename" not in info
    names = {package["name"] for package in manifest["packages"]}
    assert {"apt", "bash", "python3", "procps", "ca-certificates", "e2fsprogs"} <= names, "packages are missing"
    if manifest["profile"] == "full":
        check_full(manifest, names)
    assert "systemd" not in names and "sqlite3" not in names, "packages too many"
    assert manifest["user"] == {"name": "maitento", "uid": 1000, "gid": 1000,
                                "home": "/home/maitento", "shell": "/bin/bash"}
    for source in manifest["aptSources"]:
        assert source["scheme"] in ("http", "https") and source["host"] and source["port"] > 0
        assert source["path"].startswith("/") and source["suite"].startswith(manifest["debianSuite"])
    assert manifest["aptSources"], "no apt sources"


def check_full(manifest, names):
    """Every tool is there or said to be missing, with a reason."""
    assert TOOLS <= names, f"packages are missing: {TOOLS - names}"
    archives = {entry["name"]: entry["version"] for entry in manifest["archives"]}
    missing = {entry["name"]: entry["reason"] for entry in manifest["missing"]}
    assert archives["node"].startswith("22.") and "npm" in archives
    assert archives.keys() | missing.keys() == {"node", "npm", "dotnet"}
    assert all(missing.values())


def main(folder):
    folder = os.path.realpath(folder)
    with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    assert manifest["id"] == os.path.basename(folder), "the folder has another name than the manifest"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", manifest["created"])
    listed = {entry["file"] for entry in manifest.get("files", [manifest.get("disk")])} | {"manifest.json"}
    present = {os.path.relpath(os.path.join(parent, name), folder) for parent, _, names in os.walk(folder) for name in names}
    assert listed == present, f"differs: {listed ^ present}"
    if manifest["kind"] == "disk":
        check_disk(folder, manifest)
    for entry in manifest.get("files", []):
        check_file(folder, entry)


if __name__ == "__main__":
    main(sys.argv[1])
