#!/usr/bin/env python3
"""Succeeds if a file is a program for x86-64 Linux that needs no loader and no libraries."""

import struct
import sys

PT_INTERP = 3
MACHINE_X86_64 = 62


def is_static_program(data):
    if data[:5] != b"\x7fELF\x02" or struct.unpack_from("<H", data, 0x12)[0] != MACHINE_X86_64:
        return False
    table, = struct.unpack_from("<Q", data, 0x20)
    size, count = struct.unpack_from("<HH", data, 0x36)
    return all(struct.unpack_from("<I", data, table + index * size)[0] != PT_INTERP for index in range(count))


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as program:
        sys.exit(0 if is_static_program(program.read(65536)) else 1)
