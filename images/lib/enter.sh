#!/bin/bash
# Runs the provisioning scripts in a root folder: enter.sh ROOT IMAGES PROFILE.
# Started in mount and process namespaces of its own.
set -euo pipefail
root=$1 images=$2 profile=$3

mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/run"
mkdir "$root/run/provision"
mount --bind "$images" "$root/run/provision"
mount -o remount,bind,ro "$root/run/provision"
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root \
    SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" \
    chroot "$root" /bin/bash /run/provision/provision/run.sh "$profile"
