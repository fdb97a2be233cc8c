#!/usr/bin/env python3
"""Looks for co_await expressions that g++ 12.2 compiles wrongly: an aggregate or capturing lambda made inside the
full-expression is destroyed twice. Name it first, then move it in (docs/contributing.md)."""

import re
import sys

from sources import sources, without_comments_and_strings


def statements(text):
    """(line, statement) for every piece between ; { } at brace depth of the statement itself that has a co_await."""
    for found in re.finditer(r"co_await\b", text):
        depth, end = 0, found.end()
        while end < len(text) and not (text[end] == ";" and depth <= 0):
            depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(text[end], 0)
            if depth < 0 and text[end] in "})":
                break
            end += 1
        yield text.count("\n", 0, found.start()) + 1, text[found.start():end]


def main(root):
    wrong = []
    for path, text in sources(root):
        if "co_await" not in text:
            continue
        for line, statement in statements(without_comments_and_strings(text)):
            if re.search(r"\[[^\]\s][^\]]*\]\s*(\([^)]*\)\s*)?(mutable\s*)?(->[^{]+)?\{", statement):
                wrong.append(f"{path}:{line}: capturing lambda inside a co_await expression")
            elif re.search(r"[\w>]\s*\{", statement):
                wrong.append(f"{path}:{line}: braced temporary inside a co_await expression")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
