#!/usr/bin/env python3
"""Takes the uncompressed kernel out of a bzImage, and checks that it can be booted by PVH."""

import argparse
import struct
import subprocess

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
PT_NOTE = 4
XEN_PHYS32_ENTRY = 18


def extract(bzimage):
    """Offsets as in the x86 boot protocol: the payload lies behind the real-mode sectors."""
    if bzimage[0x202:0x206] != b"HdrS":
        raise SystemExit("error: not a Linux bzImage: setup header not found")
    sectors = bzimage[0x1F1] or 4
    offset, length = struct.unpack_from("<II", bzimage, 0x248)
    start = (sectors + 1) * 512 + offset
    payload = bzimage[start:start + length]
    if not payload.startswith(ZSTD_MAGIC):
        raise SystemExit("error: the kernel's payload is not zstd: this kernel package is not supported")
    payload = payload[:-4]  # the build appends the uncompressed size
    return subprocess.run(["zstd", "-dcq"], input=payload, stdout=subprocess.PIPE, check=True).stdout


def has_pvh_note(elf):
    if elf[:5] != b"\x7fELF\x02":
        return False
    table, = struct.unpack_from("<Q", elf, 0x20)
    size, count = struct.unpack_from("<HH", elf, 0x36)
    for index in range(count):
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", elf, table + index * size)
        if kind == PT_NOTE and note_in_segment(elf[offset:offset + length]):
            return True
    return False


def note_in_segment(segment):
    position = 0
    while position + 12 <= len(segment):
        name_size, value_size, kind = struct.unpack_from("<III", segment, position)
        name = segment[position + 12:position + 12 + name_size]
        if kind == XEN_PHYS32_ENTRY and name.rstrip(b"\0") == b"Xen":
            return True
        position += 12 + (name_size + 3) // 4 * 4 + (value_size + 3) // 4 * 4
    return False


def read(path):
    with open(path, "rb") as file:
        return file.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("extract")
    command.add_argument("bzimage")
    command.add_argument("vmlinux")
    command = commands.add_parser("check")
    command.add_argument("vmlinux")
    arguments = parser.parse_args()
    kernel = extract(read(arguments.bzimage)) if arguments.command == "extract" else read(arguments.vmlinux)
    if not has_pvh_note(kernel):
        raise SystemExit("error: the kernel has no PVH entry note (CONFIG_PVH): it cannot be booted uncompressed")
    if arguments.command == "extract":
        with open(arguments.vmlinux, "wb") as file:
            file.write(kernel)


if __name__ == "__main__":
    main()
