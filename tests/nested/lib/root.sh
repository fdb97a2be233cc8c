# shellcheck shell=bash
# Debian 13 roots made from the machine's own mirror. Sourced after images/lib/common.sh and archive.sh.

# root_inputs PACKAGES: what decides how a root looks like.
root_inputs() {
    archive_sources "$SUITE"
    apt_settings 'Check-'
    printf '%s\n' "$1"
}

# make_root VARIANT FOLDER PACKAGES [MMDEBSTRAP-OPTION...]: a root that keeps its apt lists and the mirror.
make_root() {
    local variant=$1 folder=$2 packages=$3
    shift 3
    archive_sources "$SUITE" >"$WORK/archive.sources"
    apt_settings 'http|https|Check-|Allow' >"$WORK/apt.conf"
    run_apart mmdebstrap --mode=root --format=directory --architectures=amd64 --variant="$variant" \
        --include="$packages" --skip=cleanup/apt/lists --aptopt="$WORK/apt.conf" \
        --aptopt='Acquire::Languages "none"' --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Retries "2"' \
        "$@" "$SUITE" "$folder" "$WORK/archive.sources"
}
