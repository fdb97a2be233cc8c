#!/usr/bin/env python3
"""Reads a ctest report (JUnit XML). Prints each failed test with its output, each skipped one with its reason, and the
closing line `N passed, N failed, N skipped`."""

import re
import sys
import xml.etree.ElementTree

try:
    cases = xml.etree.ElementTree.parse(sys.argv[1]).getroot().findall("testcase")
except (OSError, xml.etree.ElementTree.ParseError) as error:
    cases = []
    print(f"FAIL no report of the tests: {error}")
passed = failed = skipped = 0
for case in cases:
    name, output, skip = case.get("name"), case.findtext("system-out") or "", case.find("skipped")
    reason = re.search(r": Skipped\n(.*)", output)
    if case.get("status") == "run":
        passed += 1
    elif skip is not None and reason:
        print(f"SKIP {name}: {reason[1]}")
        skipped += 1
    else:  # also one that could not be run, or skips without a reason
        print(f"FAIL {name}: {skip.get('message') if skip is not None else case.get('status')}\n{output}")
        failed += 1
if not cases:
    print("FAIL no test was run")
    failed = 1
print(f"{passed} passed, {failed} failed, {skipped} skipped")
