# shellcheck shell=bash
# Artefact `initrd`: the agent, the `mt` program and the modules the guest needs. Sourced by build.sh.

build_initrd() {
    local kernel inputs current
    require_tools python3:python3-minimal flock:util-linux
    [ -n "$AGENT" ] || fail "the initrd needs the agent" "" "give its static binary with --agent FILE"
    require_static_program "$AGENT" --agent
    [ -z "$MT" ] || require_static_program "$MT" --mt
    kernel=$(readlink -f "$STORE/kernel") || true
    [ -f "$kernel/modules/order" ] || fail "no kernel in the image store" "$STORE/kernel" "build it first: $0 kernel --store $STORE"
    inputs=$(hash_of_inputs "$(initrd_contents "$kernel")" lib/initrd.sh lib/cpio.py lib/manifest.py)
    lock initrd
    if current=$(published initrd "$inputs"); then
        phase initrd "up to date: $current"
    else
        make_initrd "$kernel" "$inputs"
    fi
    unlock
}

initrd_contents() {
    basename "$1"
    sha256sum <"$AGENT"
    [ -z "$MT" ] || sha256sum <"$MT"
}

make_initrd() {
    local kernel=$1 inputs=$2 new=$STORE/.building-initrd
    require_space "$STORE" 50 "the initrd"
    log_to "$CACHE/log/initrd.log"
    scratch "$new"
    phase initrd "packing $(basename "$AGENT") and modules"
    run python3 "$IMAGES/lib/cpio.py" --init "$AGENT" ${MT:+--mt "$MT"} --modules "$kernel/modules" --output "$new/initrd.cpio"
    run python3 "$IMAGES/lib/manifest.py" initrd --folder "$new" --inputs "$inputs" --hash "$inputs" --kernel "$kernel/manifest.json"
    publish initrd "$new" "$inputs"
    remove_scratch
    phase initrd "done: $STORE/initrd -> $(readlink "$STORE/initrd")"
}

# require_static_program FILE OPTION: the initrd has no libraries and no shell.
require_static_program() {
    [ -f "$1" ] || fail "no such file" "$2 $1" "build it first, or give another path"
    python3 "$IMAGES/lib/elf.py" "$1" || fail "not a static x86-64 program" "$2 $1" "link it with -static or -static-pie"
}
