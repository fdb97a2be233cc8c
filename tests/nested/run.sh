#!/bin/bash
# The test tier `nested`: a fresh Debian 13 host with KVM and vsock inside a machine. Builds the package and the host,
# installs the one on the other with apt, and checks there what a user's server does. As root; the first run takes
# 20 to 30 minutes on two processors, most of it compiling. The last line is `N passed, N failed, N skipped`.
set -euo pipefail
export LC_ALL=C.UTF-8
umask 022
root=$(cd "$(dirname "$0")/../.." && pwd)

usage() {
    cat <<'HELP'
Usage: tests/nested/run.sh [--short] [--build DIR] [--keep]

  --short      only: install, doctor, one capsule over KVM and vsock; on a host that has libvirt and QEMU already
  --build DIR  results and logs go to DIR/nested (default: build)
  --keep       leave the test host running at the end, until Enter is pressed, and say how to enter it
HELP
}

build=$root/build
short=no
keep=no
while [ $# -gt 0 ]; do
    case $1 in
        --build) build=$(realpath -m -- "${2:?--build needs a folder}"); shift 2 ;;
        --short) short=yes; shift ;;
        --keep) keep=yes; shift ;;
        -h | --help) usage; exit 0 ;;
        *) echo "tests/nested/run.sh: unknown argument $1" >&2; usage >&2; exit 2 ;;
    esac
done

CACHE=${CAPSULE_NESTED_CACHE:-/var/cache/capsuled/nested}
IMAGE_STORE=/var/lib/capsuled/images
results=$build/nested
work=$CACHE/work-run
passed=0 failed=0 skipped=0
machine=""
say() { printf '[%4d s] %s\n' "$SECONDS" "$*"; }

# shellcheck source=tests/nested/lib/machine.sh
. "$root/tests/nested/lib/machine.sh"

finish() {
    trap - EXIT
    end_machine
    rm -rf --one-file-system "$work"
    say "results and logs: $results"
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ] || exit 1
    exit 0
}

# broken WHY: nothing more can be checked.
broken() {
    echo "FAIL the test host: $1"
    failed=$((failed + 1))
    finish
}

# What goes in: packages, programs of the checks, and an image store whose initrd has the package's own agent.
make_data_disk() {
    local data=$work/data unpacked=$work/unpacked store=$work/data/images name folder
    mkdir -p "$data/packages" "$store" "$unpacked"
    cp "$work"/packages/*.deb "$data/packages/"
    cp -r "$root/tests/nested/inside" "$root/examples/sales-report" "$data/"
    for name in kernel base; do
        folder=$(readlink -e "$IMAGE_STORE/$name") || broken "no $name in $IMAGE_STORE; make it: images/build.sh $name"
        cp -r "$folder" "$store/"
        ln -s "${folder##*/}" "$store/$name"
    done
    dpkg-deb -x "$(first_package)" "$unpacked"
    "$unpacked/usr/share/capsule-host/images/build.sh" initrd --store "$store" --cache "$work/image-cache" \
        --agent "$unpacked/usr/lib/capsule-host/capsule-agent" --mt "$unpacked/usr/bin/capsule-mt"
    mke2fs -q -t ext4 -d "$data" "$work/data.raw" 2G
}

first_package() {
    printf '%s\n' "$work"/packages/*.deb | LC_ALL=C sort | head -n 1
}

# group NAME SECONDS: runs inside/NAME.sh on the test host; each line `ok`, `FAIL` or `skip` of it is a check.
group() {
    local log=$results/$1.log status=0
    say "$1"
    # In the background, so that a signal to this script ends it at once.
    { timeout "$2" ssh "${ssh_options[@]}" root@127.0.0.1 "bash /media/data/inside/$1.sh" </dev/null 2>&1 |
        tee "$log" | sed 's/^/    /'; } &
    wait $! || status=$?
    passed=$((passed + $(grep -c '^ok ' "$log" || true)))
    skipped=$((skipped + $(grep -c '^skip ' "$log" || true)))
    failed=$((failed + $(grep -c '^FAIL ' "$log" || true)))
    if ! grep -qx "end of $1" "$log"; then
        echo "FAIL $1 broke off (exit code $status, at most $2 s)"
        failed=$((failed + 1))
    fi
}

collect() {
    inside 'journalctl --no-pager -b -o short-monotonic' >"$results/journal.log" 2>&1 || true
    inside 'tar -C / -cf - var/log/libvirt var/log/apt 2>/dev/null' >"$results/logs.tar" 2>/dev/null || true
}

[ "$(id -u)" = 0 ] || { echo "tests/nested/run.sh: run it as root" >&2; exit 2; }
mkdir -p "$results" "$CACHE"
rm -f "$results"/*.log "$results"/*.tar
exec 9>"$CACHE/.lock-run"
flock 9
rm -rf --one-file-system "$work"
mkdir -p "$work/packages"
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'end_machine; rm -rf --one-file-system "$work"' EXIT

say "the package and the test host"
kind=fresh
[ "$short" = no ] || kind=prepared
"$root/tests/nested/host_image.sh" "$kind" || broken "its disk could not be made"
"$root/tests/nested/package.sh" "$work/packages" || broken "the package could not be built"
say "the data disk"
make_data_disk
say "starting the test host"
start_machine
say "it answers"
inside 'mkdir -p /media/data && mount -o ro /dev/vdb /media/data' || broken "its data disk cannot be mounted"
group install 1800
group doctor 900
group capsule 1200
if [ "$short" = no ]; then
    for name in workbench restart upgrade remove; do group "$name" 1200; done
fi
collect
if [ "$keep" = yes ]; then
    echo "Enter it: ssh ${ssh_options[*]} root@127.0.0.1"
    read -r -p "Enter ends it. " _ || true
fi
finish
