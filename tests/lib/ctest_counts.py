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
counts = {"run": 0, "fail": 0, "notrun": 0}
for case in cases:
    output = case.findtext("system-out") or ""
    if case.get("status") == "notrun":
        reason = re.search(r": Skipped\n(.*)", output)
        print(f"SKIP {case.get('name')}: {reason.group(1) if reason else output.strip() or 'not built'}")
    elif case.get("status") != "run":
        print(f"FAIL {case.get('name')}\n{output}")
    counts[case.get("status") if case.get("status") in counts else "fail"] += 1
if not cases:
    print("FAIL no test was run")
    counts["fail"] = 1
print(f"{counts['run']} passed, {counts['fail']} failed, {counts['notrun']} skipped")
