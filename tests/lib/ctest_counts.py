#!/usr/bin/env python3
"""Reads a ctest log and prints the reasons of skips and the closing line `N passed, N failed, N skipped`."""

import re
import sys

text = open(sys.argv[1], errors="replace").read()
results = re.findall(r"^ *\d+/\d+ Test +#\d+: (.+?) \.+ *(\*\*\*\S+|Passed)", text, re.M)
skips = [name for name, result in results if result.startswith("***Skipped")]
passed = sum(result == "Passed" for _, result in results)
failed = len(results) - passed - len(skips)
for name in skips:
    print(f"SKIP {name}")
if not results:
    print("FAIL no unit test was run")
    failed = 1
print(f"{passed} passed, {failed} failed, {len(skips)} skipped")
