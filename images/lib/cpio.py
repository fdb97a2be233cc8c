#!/usr/bin/env python3
"""Writes the initrd: an uncompressed newc cpio that is the same bytes for the same contents."""

import argparse
import os
import stat

FOLDERS = ["dev", "modules", "newroot", "proc", "sys"]
CONSOLE = ("dev/console", 5, 1)


def pad(size):
    return b"\0" * (-size % 4)


class Archive:
    def __init__(self, file):
        self.file = file
        self.inode = 0

    def add(self, name, mode, data=b"", device=(0, 0)):
        self.inode += 1
        encoded = name.encode() + b"\0"
        fields = [self.inode, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(encoded), 0]
        header = b"070701" + b"".join(b"%08x" % field for field in fields)
        self.file.write(header + encoded + pad(len(header) + len(encoded)) + data + pad(len(data)))

    def finish(self):
        self.add("TRAILER!!!", 0)
        self.file.write(b"\0" * (-self.file.tell() % 512))


def read(path):
    with open(path, "rb") as file:
        return file.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--init", required=True, help="program that becomes /init")
    parser.add_argument("--mt", help="program that becomes /mt")
    parser.add_argument("--modules", required=True, help="folder with *.ko and order")
    parser.add_argument("--output", required=True)
    arguments = parser.parse_args()
    entries = {name: (stat.S_IFDIR | 0o755, b"", (0, 0)) for name in FOLDERS}
    entries[CONSOLE[0]] = (stat.S_IFCHR | 0o600, b"", CONSOLE[1:])
    entries["init"] = (stat.S_IFREG | 0o755, read(arguments.init), (0, 0))
    if arguments.mt:
        entries["mt"] = (stat.S_IFREG | 0o755, read(arguments.mt), (0, 0))
    for name in os.listdir(arguments.modules):
        entries["modules/" + name] = (stat.S_IFREG | 0o444, read(os.path.join(arguments.modules, name)), (0, 0))
    with open(arguments.output, "wb") as file:
        archive = Archive(file)
        for name in sorted(entries):
            archive.add(name, *entries[name])
        archive.finish()


if __name__ == "__main__":
    main()
