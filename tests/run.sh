#!/usr/bin/env bash
# Passes the tests: installs what is missing, builds, makes the images, runs the tiers asked for.
# The last line is `N passed, N failed, N skipped`; every skip prints its reason.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/tests/lib/tiers.sh"

usage() {
    cat <<'HELP'
Usage: tests/run.sh [--tier unit|vm|nested|soak|images|all]... [--only PATTERN] [--build DIR] [--sanitize] [--strict] [--quick]

  --tier TIER    run this tier; may be given several times (default: unit and vm)
                   unit    logic, no root and no machine needed
                   vm      the product: real machines through libvirt and QEMU
                   nested  a fresh Debian 13 host with KVM and vsock inside a machine
                   soak    long fault tests
                   images  the image full, and disks made with Packer (half an hour)
                   all     every tier
  --only PATTERN run the VM cases whose id or name matches (shell patterns, comma-separated)
  --build DIR    build folder (default: build)
  --sanitize     build and run the unit tier with the address and undefined-behaviour sanitizers
  --quick        leave out the VM cases that take minutes, and most of the tier nested
  --strict       a compiler's warning is an error
HELP
}

tiers=()
only='*'
build=$root/build
sanitize=no
strict=OFF
quick=()
while [ $# -gt 0 ]; do
    case $1 in
        --tier) tiers+=("${2:?--tier needs a name}"); shift 2 ;;
        --only) only=${2:?--only needs a pattern}; shift 2 ;;
        --build) build=${2:?--build needs a folder}; shift 2 ;;
        --sanitize) sanitize=yes; shift ;;
        --strict) strict=ON; shift ;;
        --quick) quick=(--quick); shift ;;
        -h | --help) usage; exit 0 ;;
        *) echo "tests/run.sh: unknown argument $1" >&2; usage >&2; exit 2 ;;
    esac
done
[ ${#tiers[@]} -gt 0 ] || tiers=(unit vm)
[ "${tiers[*]}" != all ] || tiers=(unit vm nested soak images)

for tier in "${tiers[@]}"; do
    case $tier in
        unit | vm | nested | soak | images) ;;
        *) echo "tests/run.sh: unknown tier $tier" >&2; usage >&2; exit 2 ;;
    esac
done

"$root/scripts/install-dependencies.sh" --tests
build_programs
for tier in "${tiers[@]}"; do
    "run_$tier"
done
finish
