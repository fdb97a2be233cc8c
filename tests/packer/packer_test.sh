#!/usr/bin/env bash
# Checks that Packer makes the same disk as images/build.sh: builds profile base both ways, compares, boots the result.
# Needs root, the Debian mirror and some minutes. Prints a line for each check; the last line counts them.
set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$HERE/../.." && pwd)
STORE=/var/lib/capsuled/images
CACHE=/var/cache/capsuled

while [ $# -gt 0 ]; do
    case $1 in
    --store) STORE=${2:?--store needs a folder} && shift 2 ;;
    --cache) CACHE=${2:?--cache needs a folder} && shift 2 ;;
    --help) echo "Usage: packer_test.sh [--store DIR] [--cache DIR]   (defaults: $STORE $CACHE)" && exit 0 ;;
    *) echo "packer_test.sh: unknown argument $1" >&2 && exit 2 ;;
    esac
done

WORK=$(mktemp -d /var/tmp/packer-test.XXXXXX)
trap 'rm -rf "$WORK"' EXIT
# shellcheck source=tests/images/boot.sh
. "$ROOT/tests/images/boot.sh"

# shellcheck source=tests/images/check.sh
. "$ROOT/tests/images/check.sh"

finish() {
    echo "$PASSED passed, $FAILED failed, $1 skipped"
    [ "$FAILED" -eq 0 ]
    exit
}

for tool in packer qemu-system-x86_64 mmdebstrap gcc cpio; do
    if ! command -v "$tool" >/dev/null; then
        echo "skip  packer: $tool is not installed (apt-get install packer qemu-system-x86 mmdebstrap gcc cpio)"
        finish 1
    fi
done
[ "$(id -u)" -eq 0 ] || { echo "must run as root" >&2 && exit 2; }

native() {
    "$ROOT/images/build.sh" base --refresh --store "$STORE" --cache "$CACHE"
}

packed() {
    "$ROOT/packer/build.sh" base --output "$WORK/packed" --cache "$CACHE"
}

# same MEMBER: the two manifests agree in it.
same() {
    python3 - "$STORE/base/manifest.json" "$WORK/packed/manifest.json" "$1" <<'PYTHON'
import json
import sys

one, other = (json.load(open(path, encoding="utf-8"))[sys.argv[3]] for path in sys.argv[1:3])
if one != other:
    for text, left, right in (("only natively", one, other), ("only with packer", other, one)):
        print(text, [entry for entry in left if entry not in right] if isinstance(left, list) else left)
    sys.exit(1)
print(len(one), "entries")
PYTHON
}

# list_files DISK: types, modes, owners and targets of all files; not of apt's and dpkg's own records, which are compared above.
list_files() {
    qemu-img convert -f qcow2 -O raw "$1" "$WORK/listed.raw" || return 1
    mkdir -p "$WORK/mounted"
    # shellcheck disable=SC2016  # the inner shell expands it
    unshare --mount bash -c 'mount -o loop,ro "$1" "$2" && cd "$2" && find . \( -path ./var/cache -o -path ./var/lib/apt -o \
        -path ./var/lib/dpkg -o -path ./lost+found \) -prune -o -printf "%M %U %G %p %l\n" | LC_ALL=C sort' - \
        "$WORK/listed.raw" "$WORK/mounted"
    rm -f "$WORK/listed.raw"
}

same_files() {
    list_files "$(readlink -f "$STORE/base/disk.qcow2")" >"$WORK/native.files"
    list_files "$WORK/packed/disk.qcow2" >"$WORK/packed.files"
    [ "$(wc -l <"$WORK/native.files")" -gt 1000 ] || { echo "the disk cannot be read through a loop device"; return 1; }
    diff "$WORK/native.files" "$WORK/packed.files"
}

boots_and_ends() {
    boot userland "$ROOT/tests/images/guest_checks.sh" "$WORK/packed/disk.qcow2" || { cat "$WORK/userland.log"; return 1; }
    grep -q '^guest: end' "$WORK/userland.txt"
}

guest_says() {
    grep -qx "guest: ok $1" "$WORK/userland.txt" || { grep -A 5 "$1" "$WORK/userland.txt"; return 1; }
}

check "kernel builds, or is there" "$ROOT/images/build.sh" kernel --store "$STORE" --cache "$CACHE"
check "base builds in a folder" native
check "base builds with packer" packed
if [ -f "$WORK/packed/manifest.json" ]; then
    check "the same packages in the same versions" same packages
    check "the same apt sources" same aptSources
    check "the same user" same user
    check "the same files" same_files
    check "the disk boots, poweroff ends it" boots_and_ends
    while read -r name; do
        check "guest: $name" guest_says "$name"
    done < <(sed -n 's/^probe "\([^"]*\)".*/\1/p' "$ROOT/tests/images/guest_checks.sh")
fi
finish 0
