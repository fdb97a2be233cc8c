#!/usr/bin/env python3
"""Lists what the image store no longer needs, and removes it only with --delete.

Kept: what a symlink names, what a process has open (a running capsule's disk), and what a qcow2 file below the folders
of --references is based on (overlays, frozen templates).
"""

import argparse
import glob
import os
import re
import shutil
import struct

ARTEFACT = re.compile(r"[a-z0-9-]+-[0-9a-f]{12}")


def artefacts(store):
    return {name for name in os.listdir(store)
            if ARTEFACT.fullmatch(name) and not os.path.islink(os.path.join(store, name))}


def linked(store):
    return {os.path.basename(os.readlink(entry.path)) for entry in os.scandir(store) if entry.is_symlink()}


def open_files():
    for descriptor in glob.iglob("/proc/[0-9]*/fd/*"):
        try:
            yield os.readlink(descriptor)
        except OSError:
            continue  # the process has ended meanwhile


def backing_files(folder):
    for parent, _, names in os.walk(folder):
        for name in names:
            backing = backing_file(os.path.join(parent, name))
            if backing:
                yield os.path.realpath(os.path.join(parent, backing))


def backing_file(path):
    """The name in a qcow2 header; other files have none."""
    try:
        with open(path, "rb") as file:
            header = file.read(20)
            if len(header) < 20 or header[:4] != b"QFI\xfb":
                return None
            offset, size = struct.unpack(">QI", header[8:20])
            if offset == 0 or size > 1023:
                return None
            file.seek(offset)
            return os.fsdecode(file.read(size))
    except OSError:
        return None


def owner(path, store):
    """The artefact folder a file lies in."""
    relative = os.path.relpath(path, store)
    return None if relative.startswith("..") else relative.split(os.sep)[0]


def size_of(folder):
    return sum(os.lstat(os.path.join(parent, name)).st_blocks * 512
               for parent, _, names in os.walk(folder) for name in names)


def remove(path, doomed):
    """Renamed first: a half-removed folder must not look like an artefact."""
    shutil.rmtree(doomed, ignore_errors=True)
    os.rename(path, doomed)
    shutil.rmtree(doomed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", default="/var/lib/capsuled/images")
    parser.add_argument("--references", action="append", default=[], metavar="DIR",
                        help="folder whose qcow2 files keep what they are based on (default: the one above the store)")
    parser.add_argument("--delete", action="store_true", help="remove them, not only list them")
    arguments = parser.parse_args()
    store = os.path.realpath(arguments.store)
    if not os.path.isdir(store):
        raise SystemExit(f"error: no image store\n  where: {store}\n  what to do: name it with --store")
    used = linked(store) | {owner(path, store) for path in open_files()}
    for folder in arguments.references or [os.path.dirname(store)]:
        used |= {owner(path, store) for path in backing_files(folder)}
    unused = sorted(artefacts(store) - used)
    for name in unused:
        path = os.path.join(store, name)
        print(f"{'removed' if arguments.delete else 'unused'}: {path} ({size_of(path) >> 20} MiB)")
        if arguments.delete:
            remove(path, os.path.join(store, ".removing"))
    if not unused:
        print("nothing unused")


if __name__ == "__main__":
    main()
