#!/usr/bin/env python3
"""Copies kernel modules and what they depend on, uncompressed, and writes the order to load them in.

Their signatures are cut off: the kernel accepts modules without one, the initrd they travel in is the host's own,
and under software emulation checking them costs a capsule's start a fifth of a second.
"""

import argparse
import lzma
import os
import struct

SIGNATURE_MARK = b"~Module signature appended~\n"
SIGNATURE_INFO_SIZE = 12


def read_list(path):
    """Names in the file, each with True if the guest loads it at boot (`optional NAME` only travels along)."""
    names = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split("#")[0].split()
            if words:
                names[canonical(words[-1])] = words[0] != "optional"
    return names


def canonical(name):
    return os.path.basename(name).split(".ko")[0].replace("-", "_")


def read_dependencies(modules_folder):
    """modules.dep: `file: dependency dependency`, the ones that must be loaded first at the end."""
    files, needs = {}, {}
    with open(os.path.join(modules_folder, "modules.dep"), encoding="utf-8") as file:
        for line in file:
            path, _, dependencies = line.partition(":")
            files[canonical(path)] = path
            needs[canonical(path)] = [canonical(d) for d in reversed(dependencies.split())]
    return files, needs


def built_in(modules_folder):
    with open(os.path.join(modules_folder, "modules.builtin"), encoding="utf-8") as file:
        return {canonical(line.strip()) for line in file}


def load_order(names, needs, builtin):
    order = []
    for name in names:
        if name in builtin:
            continue
        if name not in needs:
            raise SystemExit(f"error: this kernel has no module {name}")
        order += [n for n in needs[name] + [name] if n not in order]
    return order


def without_signature(module):
    """A signed module ends with the signature, its description (length last, big endian) and a mark."""
    if not module.endswith(SIGNATURE_MARK):
        return module
    signed = module[:-len(SIGNATURE_MARK)]
    length, = struct.unpack(">I", signed[-4:])
    return signed[:-SIGNATURE_INFO_SIZE - length]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", required=True, help="file with module names")
    parser.add_argument("--from", dest="source", required=True, help="folder lib/modules/VERSION")
    parser.add_argument("--to", required=True, help="new folder for the modules and their order")
    arguments = parser.parse_args()
    names = read_list(arguments.list)
    files, needs = read_dependencies(arguments.source)
    builtin = built_in(arguments.source)
    at_boot = load_order([n for n, boot in names.items() if boot], needs, builtin)
    os.makedirs(arguments.to)
    for name in load_order(names, needs, builtin):
        path = os.path.join(arguments.source, files[name])
        with (lzma.open if path.endswith(".xz") else open)(path, "rb") as file:
            module = file.read()
        with open(os.path.join(arguments.to, name + ".ko"), "wb") as file:
            file.write(without_signature(module))
    with open(os.path.join(arguments.to, "order"), "w", encoding="utf-8") as file:
        file.writelines(name + ".ko\n" for name in at_boot)


if __name__ == "__main__":
    main()
