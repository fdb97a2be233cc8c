#!/bin/bash
# Builds the Debian package in a Debian 13 userland: package.sh OUTPUT-FOLDER. Leaves two files there, of which the
# second differs in nothing but its higher version. Both userland and build are kept in the cache; what has not
# changed is not compiled again. CAPSULE_CCACHE names a folder for ccache, if that is wanted.
set -euo pipefail
export LC_ALL=C.UTF-8
umask 022

root=$(cd "$(dirname "$0")/../.." && pwd)
IMAGES=$root/images
APT_SOURCES=/etc/apt
CACHE=${CAPSULE_NESTED_CACHE:-/var/cache/capsuled/nested}
SUITE=trixie
output=$(realpath -m -- "${1:?package.sh OUTPUT-FOLDER}")

# shellcheck source=images/lib/common.sh
. "$IMAGES/lib/common.sh"
# shellcheck source=images/lib/archive.sh
. "$IMAGES/lib/archive.sh"
# shellcheck source=tests/nested/lib/root.sh
. "$root/tests/nested/lib/root.sh"

# All that the package is made from: what git knows, as it is in the work tree.
source_files() {
    (cd "$root" && git ls-files --cached --others --exclude-standard -- \
        CMakeLists.txt CMakePresets.json LICENSE README.md docs examples guest-agent host images packaging protocol sdk)
}

source_hash() {
    (cd "$root" && source_files | LC_ALL=C sort | while IFS= read -r file; do
        [ ! -f "$file" ] || sha256sum "$file"
    done) | digest
}

# The packages named by the script that a user calls, for the release they are for.
build_packages() {
    # shellcheck disable=SC2016  # to be expanded in the shell below
    unshare --mount --propagation private bash -c '
        mount --bind "$1" /etc/os-release && "$2" --build --list' bash "$WORK/os-release" \
        "$root/scripts/install-dependencies.sh"
}

make_userland() {
    local packages
    printf 'ID=debian\nVERSION_ID="13"\n' >"$WORK/os-release"
    packages=$(build_packages | LC_ALL=C sort | paste -sd,)
    [ -z "${CAPSULE_CCACHE:-}" ] || packages+=,ccache
    userland=$CACHE/userland-$(root_inputs "$packages" | digest | cut -c1-12)
    [ ! -e "$userland/etc/os-release" ] || return 0
    phase package "preparing a Debian 13 userland with compiler"
    rm -rf --one-file-system "$CACHE"/userland-*
    scratch "$userland.new"
    FOLLOW=package make_root apt "$userland.new" "$packages"
    mkdir -p "$userland.new/source" "$userland.new/build"
    mv -T "$userland.new" "$userland"
}

build() {
    phase package "compiling and packing in Debian 13 (10 minutes of two processors the first time)"
    mkdir -p "$CACHE/build"
    run_apart nice -n 10 bash "$root/tests/nested/lib/build_inside.sh" "$userland" "$root" "$CACHE/build" "${CAPSULE_CCACHE:-}"
}

require_root
require_tools mmdebstrap:mmdebstrap git:git
mkdir -p "$CACHE" "$output"
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
lock package "$CACHE/.lock-package"
log_to "$CACHE/package.log"
WORK=$CACHE/work-package
scratch "$WORK"

hash=$(source_hash)
packed=$CACHE/packed-${hash:0:12}
if [ -d "$packed" ]; then
    phase package "up to date: $packed"
else
    make_userland
    build
    rm -rf --one-file-system "$CACHE"/packed-*
    mkdir "$packed.new"
    cp "$CACHE"/build/*.deb "$packed.new/"
    mv -T "$packed.new" "$packed"
fi
cp "$packed"/*.deb "$output/"
