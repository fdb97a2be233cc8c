#!/bin/bash
# Builds the disk of a Debian 13 host: host_image.sh fresh|prepared. It is kept in the cache, where the folder
# `host-fresh` or `host-prepared` has `disk.raw`, `vmlinuz`, `initrd.img` and the key to sign in with, `key`.
# What capsule-host depends on is only downloaded in the fresh one, as from a mirror next door, and installed in the
# prepared one: that takes a while in a machine whose processor is emulated.
set -euo pipefail
export LC_ALL=C.UTF-8
umask 022

root=$(cd "$(dirname "$0")/../.." && pwd)
IMAGES=$root/images
APT_SOURCES=/etc/apt
CACHE=${CAPSULE_NESTED_CACHE:-/var/cache/capsuled/nested}
SUITE=trixie
DISK_SIZE=10G
kind=${1:-}
[ "$kind" = fresh ] || [ "$kind" = prepared ] || { echo "Usage: host_image.sh fresh|prepared" >&2; exit 2; }

# shellcheck source=images/lib/common.sh
. "$IMAGES/lib/common.sh"
# shellcheck source=images/lib/archive.sh
. "$IMAGES/lib/archive.sh"
# shellcheck source=tests/nested/lib/root.sh
. "$root/tests/nested/lib/root.sh"

installed=(apparmor apt-utils bash-completion ca-certificates dbus debconf init iproute2 initramfs-tools kmod
    linux-image-cloud-amd64 man-db openssh-server procps python3 systemd systemd-sysv udev zstd)
dependencies=(adduser init-system-helpers libvirt-clients libvirt-daemon-system qemu-system-x86 qemu-utils virtiofsd)

downloaded=()
if [ "$kind" = fresh ]; then downloaded=("${dependencies[@]}"); else installed+=("${dependencies[@]}"); fi

# The disk is mounted by name, the network is QEMU's; nothing starts by itself that holds apt's locks.
configure() {
    local folder=$1
    printf '/dev/vda / ext4 defaults 0 0\n' >"$folder/etc/fstab"
    echo capsule-test-host >"$folder/etc/hostname"
    printf '127.0.0.1 localhost capsule-test-host\n' >"$folder/etc/hosts"
    printf '[Match]\nName=en* eth*\n[Network]\nDHCP=ipv4\n' >"$folder/etc/systemd/network/10-test.network"
    # The name server of QEMU's user-mode network.
    printf 'nameserver 10.0.2.3\n' >"$folder/etc/resolv.conf"
    rm -f "$folder"/etc/apt/sources.list "$folder"/etc/apt/sources.list.d/*
    cp "$WORK/archive.sources" "$folder/etc/apt/sources.list.d/debian.sources"
    printf 'Acquire::Languages "none";\n' >"$folder/etc/apt/apt.conf.d/10test"
    apt_settings 'http|https|Check-|Allow' >>"$folder/etc/apt/apt.conf.d/10test"
    systemctl --root="$folder" enable systemd-networkd ssh 2>/dev/null
    systemctl --root="$folder" mask apt-daily.timer apt-daily-upgrade.timer systemd-networkd-wait-online.service \
        man-db.timer e2scrub_reap.service 2>/dev/null
    # Minutes under emulation, and nothing of what is tested: profiles of programs that are not here, compiled at each
    # boot; an initrd that is not booted; an index of manual pages.
    find "$folder/etc/apparmor.d" -maxdepth 1 -type f -not -name '*virt*' -delete
    echo 'update_initramfs=no' >"$folder/etc/initramfs-tools/update-initramfs.conf"
    echo 'man-db man-db/auto-update boolean false' | chroot "$folder" debconf-set-selections
    rm -f "$folder/var/lib/man-db/auto-update"
    [ "$kind" = fresh ] || touch "$folder/etc/capsule-test-prepared"
    echo force-unsafe-io >"$folder/etc/dpkg/dpkg.cfg.d/test"
    install -d -m 0700 "$folder/root/.ssh"
    cp "$new/key.pub" "$folder/root/.ssh/authorized_keys"
}

make_host() {
    phase host "preparing Debian 13"
    ssh-keygen -q -t ed25519 -N "" -C nested-test -f "$new/key"
    # shellcheck disable=SC2016  # $1 is mmdebstrap's
    FOLLOW=host make_root minbase "$WORK/root" "$(IFS=,; echo "${installed[*]}")" --skip=cleanup/apt/cache \
        --customize-hook='chroot "$1" apt-get install -y --no-install-recommends --download-only '"${downloaded[*]:-apt}"
    phase host "making its disk"
    configure "$WORK/root"
    cp "$WORK"/root/boot/vmlinuz-* "$new/vmlinuz"
    cp "$WORK"/root/boot/initrd.img-* "$new/initrd.img"
    run mke2fs -q -t ext4 -E lazy_itable_init=1 -d "$WORK/root" "$new/disk.raw" "$DISK_SIZE"
}

require_root
require_tools mmdebstrap:mmdebstrap mke2fs:e2fsprogs ssh-keygen:openssh-client systemctl:systemd
mkdir -p "$CACHE"
require_space "$CACHE" 6000 "the test host"
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
lock host "$CACHE/.lock-host"
log_to "$CACHE/host.log"
WORK=$CACHE/work-host
scratch "$WORK"

# What it is made from decides, and so this file, too.
hash=$({ root_inputs "${installed[*]} ${downloaded[*]:-}" && cat "${BASH_SOURCE[0]}" "$root/tests/nested/lib/root.sh"; } | digest)
made=$CACHE/host-$kind-${hash:0:12}
if [ -f "$made/disk.raw" ]; then
    phase host "up to date: $made"
else
    rm -rf --one-file-system "$CACHE/host-$kind"-*
    new=$made.new
    scratch "$new"
    make_host
    mv -T "$new" "$made"
fi
ln -sfnT "${made##*/}" "$CACHE/host-$kind"
