#!/usr/bin/env python3
"""House rules a machine can check: own header first, #pragma once, no bare system paths of a build machine, file length."""

import re
import sys

from sources import sources

LONGEST = 500


def main(root):
    wrong = []
    for path, text in sources(root):
        lines = text.splitlines()
        if len(lines) > LONGEST and path.parts[0] != "tests":
            wrong.append(f"{path}: {len(lines)} lines (at most {LONGEST})")
        if path.suffix == ".hpp":
            if not text.startswith("#pragma once"):
                wrong.append(f"{path}:1: starts without #pragma once")
        else:
            includes = re.findall(r'^#include ["<]([^">]+)[">]', text, re.M)
            own = str(path.with_suffix(".hpp"))
            if own in includes and includes[0] != own:
                wrong.append(f"{path}: its own header is not the first include")
        for number, line in enumerate(lines, 1):
            if re.search(r"\b(TODO|FIXME|XXX|HACK)\b", line):
                wrong.append(f"{path}:{number}: unfinished: {line.strip()[:80]}")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
