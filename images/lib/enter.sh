#!/bin/bash
# Runs the provisioning scripts in a root folder: enter.sh ROOT IMAGES ARCHIVES PROFILE.
# Started in mount and process namespaces of its own.
set -euo pipefail
root=$1 images=$2 archives=$3 profile=$4

mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/run"
mkdir "$root/run/provision" "$root/run/archives"
mount --bind "$images" "$root/run/provision"
mount -o remount,bind,ro "$root/run/provision"
mount --bind "$archives" "$root/run/archives"
mount -o remount,bind,ro "$root/run/archives"
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root \
    SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" ARCHIVES=/run/archives \
    chroot "$root" /bin/bash /run/provision/provision/run.sh "$profile"
