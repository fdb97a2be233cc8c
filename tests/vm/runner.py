#!/usr/bin/env python3
"""Runs the VM tests: every function marked @case in tests/vm/*_cases.py, in file order. Prints one line a
case with its id, then `N passed, N failed, N skipped`. `runner.py [--list] [--only PATTERN,...] [--tier NAME] [--quick]`."""

import argparse
import fnmatch
import importlib
import pathlib
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cases


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the cases and stop")
    parser.add_argument("--only", default="*", help="run the cases whose id, name or file matches one of these patterns, comma-separated")
    parser.add_argument("--tier", default="vm", help="vm (default) or soak")
    parser.add_argument("--quick", action="store_true", help="leave out the cases that take minutes")
    options = parser.parse_args()
    for path in sorted(pathlib.Path(__file__).parent.glob("*_cases.py")):
        importlib.import_module(path.stem)
    chosen = [case for case in cases.registered
              if case.tier == options.tier
              and any(fnmatch.fnmatch(text, pattern) for text in (case.id, case.name, case.module)
                     for pattern in options.only.split(","))]
    if options.list:
        for case in chosen:
            print(f"{case.id:12} {case.title}")
        return 0
    passed, failed, skipped = 0, [], 0
    for number, case in enumerate(chosen, 1):
        began = time.monotonic()
        try:
            if case.long and options.quick:
                raise cases.Skip("takes minutes, and this is a quick run")
            case.function()
            passed += 1
            print(f"ok   {case.id:12} {case.title} ({time.monotonic() - began:.1f} s)", flush=True)
        except cases.Skip as reason:
            skipped += 1
            print(f"SKIP {case.id:12} {case.title}: {reason}", flush=True)
        except Exception:
            failed.append(case)
            print(f"FAIL {case.id:12} {case.title} ({time.monotonic() - began:.1f} s)", flush=True)
            print("     " + traceback.format_exc().replace("\n", "\n     "), flush=True)
            cases.after_failure()
    for problem in cases.close_all():
        failed.append(None)
        print(f"FAIL cleanup      {problem}", flush=True)
    print(f"{passed} passed, {len(failed)} failed, {skipped} skipped", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
