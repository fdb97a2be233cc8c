#!/bin/bash
# Compiles and packs in the root folder USERLAND: build_inside.sh USERLAND SOURCE BUILD CCACHE-FOLDER-OR-NOTHING.
# Started in mount and process namespaces of its own, so that none of its mounts stays.
set -euo pipefail
userland=$1 source=$2 build=$3 ccache=$4

mount -t proc proc "$userland/proc"
mount -t tmpfs tmpfs "$userland/tmp"
mount --bind "$source" "$userland/source"
mount -o remount,bind,ro "$userland/source"
mount --bind "$build" "$userland/build"
launcher=""
if [ -n "$ccache" ]; then
    mkdir -p "$ccache" "$userland/ccache"
    mount --bind "$ccache" "$userland/ccache"
    launcher=ccache
fi
rm -f "$build"/*.deb
# shellcheck disable=SC2016  # to be expanded in the shell inside
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/tmp CMAKE_CXX_COMPILER_LAUNCHER=$launcher \
    CCACHE_DIR=/ccache JOBS="${CAPSULE_JOBS:-2}" chroot "$userland" /bin/bash -euc '
    cd /source
    cmake --preset release -B /build -DBUILD_TESTS=OFF
    cmake --build /build -j "$JOBS"
    cd /build
    cpack -G DEB
    cpack -G DEB -D CPACK_DEBIAN_PACKAGE_RELEASE=2
'
