#!/usr/bin/env python3
"""Fails when an include goes against the arrows of docs/architecture.md."""

import re
import sys

from sources import sources

# layer -> layers it may include (itself always)
ARROWS = {
    "protocol/base": [],
    "protocol/text": ["protocol/base", "protocol/wire/limits.hpp"],  # numbers only
    "protocol/wire": ["protocol/base", "protocol/text"],
    "protocol/session": ["protocol/base", "protocol/text", "protocol/wire"],
    "protocol/channel": ["protocol/base", "protocol/text", "protocol/wire", "protocol/session"],
    "guest-agent": ["protocol"],
    "sdk/cpp": ["protocol/base", "protocol/text", "protocol/wire"],
    "sdk/mt": ["sdk/cpp", "protocol/base", "protocol/text", "protocol/wire"],
    "host/model": ["protocol"],
    "host/definition": ["protocol", "host/model", "host/sandbox"],
    "host/journal": ["protocol", "host/model"],
    "host/sandbox": ["protocol", "host/model", "host/journal", "host/definition", "host/storage"],
    "host/libvirt": ["protocol", "host/model", "host/sandbox"],
    "host/storage": ["protocol", "host/model", "host/sandbox"],
    "host/guest": ["protocol", "host/model", "host/sandbox"],
    "host/egress": ["protocol", "host/model", "host/sandbox"],
    "host/machine": ["protocol", "host/model", "host/sandbox", "host/storage", "host/libvirt"],
    "host/config": ["protocol", "host/model", "host/machine"],
    "host/api": ["protocol", "host/model", "host/sandbox", "host/storage"],
}
ONLY_IN = {"<libvirt/": "host/libvirt", "<sqlite3.h>": "host/journal", "<sodium": "host/storage"}


def layer_of(path):
    return max((layer for layer in ARROWS if path.startswith(layer + "/")), key=len, default=None)


def main(root):
    wrong = []
    for path, text in sources(root):
        layer = layer_of(str(path))
        if layer is None:
            continue  # tests and the mains may use everything of their side
        for number, line in enumerate(text.splitlines(), 1):
            for start, home in ONLY_IN.items():
                if line.startswith(f"#include {start}") and layer != home:
                    wrong.append(f"{path}:{number}: {start[1:]} belongs to {home}")
            found = re.match(r'#include "([^"]+)"', line)
            target = layer_of(found.group(1)) if found else None
            if target is None or target == layer:
                continue
            included = found.group(1)
            if not any(included == allowed or included.startswith(allowed + "/") for allowed in ARROWS[layer]):
                wrong.append(f"{path}:{number}: {layer} must not include {target}")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
