# shellcheck shell=bash
# Artefact `initrd`: the agent, the program `mt` and the modules the guest needs. Sourced by build.sh.

build_initrd() {
    local kernel inputs current
    [ -n "$AGENT" ] || fail "the initrd needs the agent" "" "give its static binary with --agent FILE"
    require_static_program --agent "$AGENT"
    [ -z "$MT" ] || require_static_program --mt "$MT"
    kernel=$(readlink -f "$STORE/kernel") || true
    [ -f "$kernel/manifest.json" ] || fail "there is no kernel in the image store" "$STORE/kernel" \
        "build it first: images/build.sh kernel --store $STORE"
    inputs=$(hash_of_inputs "$(initrd_contents "$kernel")" lib/initrd.sh lib/cpio.py lib/manifest.py)
    lock initrd "$STORE/.lock-initrd"
    if current=$(published initrd "$inputs"); then
        phase initrd "up to date: $current"
    else
        make_initrd "$kernel" "$inputs"
    fi
    unlock initrd
}

initrd_contents() {
    basename "$1"
    digest <"$AGENT"
    [ -z "$MT" ] || digest <"$MT"
}

make_initrd() {
    local kernel=$1 inputs=$2 new=$STORE/.building-initrd
    require_space "$STORE" 50 "the initrd"
    log_to "$CACHE/log/initrd.log"
    scratch "$new"
    phase initrd "packing the agent${MT:+, mt} and the modules of $(basename "$kernel")"
    run python3 "$IMAGES/lib/cpio.py" --init "$AGENT" ${MT:+--mt "$MT"} --modules "$kernel/modules" --output "$new/initrd.cpio"
    run python3 "$IMAGES/lib/manifest.py" initrd --folder "$new" --inputs "$inputs" --hash "$inputs" --kernel "$kernel/manifest.json"
    publish initrd "$new" "$inputs"
    remove_scratch
}

# require_static_program OPTION FILE: the initrd has no libraries and no loader.
require_static_program() {
    [ -f "$2" ] || fail "no such file" "$1 $2" "build it first, or give another path"
    python3 "$IMAGES/lib/elf.py" "$2" || fail "not a static x86-64 program: it could not start in the initrd" "$1 $2" \
        "link it with -static or -static-pie"
}
