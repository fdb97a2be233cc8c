#!/bin/bash
# Builds what a capsule boots from: kernel, initrd and the disks of the profiles. See README.md here.
set -euo pipefail
export LC_ALL=C.UTF-8
umask 022
PATH=$PATH:/usr/sbin:/sbin

IMAGES=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
AGENT=""
MT=""
REFRESH=""

usage() {
    cat <<TEXT
Usage: images/build.sh kernel|initrd|PROFILE|all [OPTIONS]

Builds an artefact into the image store, if what it is made from has changed.
Profiles: $(cd "$IMAGES/profiles" && echo *). "all" is the kernel, the initrd and the profile base.

  --store DIR        where artefacts go (default $STORE)
  --cache DIR        downloads and scratch folders (default $CACHE)
  --agent FILE       static agent binary, becomes /init of the initrd
  --mt FILE          static mt binary, becomes /mt of the initrd (optional)
  --refresh          ask the mirror for newer packages; rebuild if there are any
  --apt-sources DIR  where apt sources are read instead of $APT_SOURCES
  --source NAME=ADDRESS#sha512=HEX
                     another place for an archive of the profile that is in no Debian, such as dotnet; https://... or a path
  --sources FILE     lines of the same form; default $ARCHIVE_SETTINGS
  --help             this text
TEXT
}

# shellcheck source=images/lib/options.sh
. "$IMAGES/lib/options.sh"
# shellcheck source=images/lib/common.sh
. "$IMAGES/lib/common.sh"
# shellcheck source=images/lib/archive.sh
. "$IMAGES/lib/archive.sh"
# shellcheck source=images/lib/archives.sh
. "$IMAGES/lib/archives.sh"
# shellcheck source=images/lib/kernel.sh
. "$IMAGES/lib/kernel.sh"
# shellcheck source=images/lib/initrd.sh
. "$IMAGES/lib/initrd.sh"
# shellcheck source=images/lib/disk.sh
. "$IMAGES/lib/disk.sh"
# shellcheck source=images/lib/profile.sh
. "$IMAGES/lib/profile.sh"

parse_arguments() {
    WHAT=""
    while [ $# -gt 0 ]; do
        case $1 in
        --help | -h) usage && exit 0 ;;
        --refresh) REFRESH=yes ;;
        --store) take_path STORE "$@" && shift ;;
        --agent) take_path AGENT "$@" && shift ;;
        --mt) take_path MT "$@" && shift ;;
        -*) shared_option "$@" || refuse "unknown option $1"; shift ;;
        *) [ -z "$WHAT" ] || refuse "one artefact at a time"; WHAT=$1 ;;
        esac
        shift
    done
    [ -n "$WHAT" ] || refuse "say what to build"
}

main() {
    parse_arguments "$@"
    require_root
    mkdir -p "$STORE" "$CACHE"
    trap clean_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    case $WHAT in
    kernel) build_kernel ;;
    initrd) build_initrd ;;
    all)
        [ -n "$AGENT" ] || refuse "all needs --agent"
        build_kernel
        build_initrd
        build_profile base
        ;;
    *)
        [ -f "$IMAGES/profiles/$WHAT/profile.conf" ] || refuse "nothing called $WHAT to build"
        build_profile "$WHAT"
        ;;
    esac
}

main "$@"
