#!/bin/bash
# Makes a disk of a profile with Packer: packer/build.sh PROFILE [OPTIONS]. See README.md here.
set -euo pipefail
export LC_ALL=C.UTF-8
umask 022
PATH=$PATH:/usr/sbin:/sbin

PACKER=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
IMAGES=$(cd "$PACKER/../images" && pwd)
ACCELERATOR=tcg
OUTPUT=""
PROFILE=""

usage() {
    cat <<TEXT
Usage: packer/build.sh PROFILE [OPTIONS]

Makes a disk with Packer's QEMU builder, from the same scripts as images/build.sh.

  --output DIR       folder that is made, with disk.qcow2 and manifest.json (required)
  --accelerator A    tcg (default) or kvm
  --cache DIR        downloads and scratch folders (default $CACHE)
  --apt-sources DIR  where apt sources are read instead of $APT_SOURCES
  --source, --sources
                     as of images/build.sh
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
# shellcheck source=images/lib/profile.sh
. "$IMAGES/lib/profile.sh"

parse_arguments() {
    while [ $# -gt 0 ]; do
        case $1 in
        --help | -h) usage && exit 0 ;;
        --output) take_path OUTPUT "$@" && shift ;;
        --accelerator)
            [[ ${2:-} =~ ^(tcg|kvm)$ ]] || refuse "$1 is tcg or kvm"
            ACCELERATOR=$2
            shift
            ;;
        -*) shared_option "$@" || refuse "unknown option $1"; shift ;;
        *) [ -z "$PROFILE" ] || refuse "one profile at a time"; PROFILE=$1 ;;
        esac
        shift
    done
    [ -f "$IMAGES/profiles/$PROFILE/profile.conf" ] || refuse "say which profile to build: $(cd "$IMAGES/profiles" && echo *)"
    [ -n "$OUTPUT" ] || refuse "say where to put it: --output DIR"
    [ ! -e "$OUTPUT" ] || fail "the output folder is there already" "$OUTPUT" "name one that does not exist"
}

# start_disk WORK: Debian as mmdebstrap makes it, with the sshd that Packer speaks to. The profile's packages come later.
start_disk() {
    local work=$1
    bootstrap_root "$PROFILE" "$work" openssh-server
    install -m 0644 "$IMAGES/overlay/etc/dpkg/dpkg.cfg.d/capsule" "$work/root/etc/dpkg/dpkg.cfg.d/capsule"
    install -m 0755 "$IMAGES/overlay/usr/sbin/policy-rc.d" "$work/root/usr/sbin/policy-rc.d"
    rm -f "$work"/root/etc/ssh/ssh_host_*
    phase "$PROFILE" "making the disk to start from"
    truncate -s "$DISK_SIZE" "$work/start.raw"
    run mke2fs -q -t ext4 -O '^has_journal' -E lazy_itable_init=0 -m 1 -L capsule-root -d "$work/root" "$work/start.raw"
    run qemu-img convert -f raw -O qcow2 "$work/start.raw" "$work/inputs/start.qcow2"
    rm -rf --one-file-system "$work/start.raw" "$work/root"
}

# boot_files WORK: kernel and initrd for the builder's machine, unpacked from packages.
boot_files() {
    local work=$1 version settings=$CACHE/apt/$KERNEL_SUITE/apt.conf
    fetch_kernel_package "$PROFILE"
    phase "$PROFILE" "unpacking kernel and busybox for the builder's machine"
    unpack_kernel "$(kernel_package)" "$work/kernel"
    version=$(kernel_version "$work/kernel")
    mkdir -p "$work/busybox" "$work/initrd/bin" "$work/initrd/dev" "$work/initrd/proc" "$work/initrd/sys" "$work/initrd/newroot"
    run env --chdir="$work/busybox" apt-get -c "$settings" download busybox-static
    run dpkg-deb -x "$work"/busybox/*.deb "$work/busybox/root"
    cp "$(find "$work/busybox/root" -path '*/bin/busybox' -type f)" "$work/initrd/bin/busybox"
    ln -s bin "$work/initrd/sbin"
    install -m 0755 "$PACKER/initrd/init" "$work/initrd/init"
    run python3 "$IMAGES/lib/vmlinux.py" extract "$work/kernel/boot/vmlinuz-$version" "$work/inputs/vmlinux"
    run python3 "$IMAGES/lib/modules.py" --list "$PACKER/modules" --from "$work/kernel/usr/lib/modules/$version" \
        --to "$work/initrd/modules"
    builder_folder "$work"
    (cd "$work/initrd" && find . | cpio -o -H newc --quiet) >"$work/inputs/initrd.cpio"
}

# builder_folder WORK: becomes /run/builder of the machine. The keys are this build's own.
builder_folder() {
    local builder=$1/initrd/builder
    mkdir -p "$builder/key.d"
    cp "$PACKER/machine/init" "$PACKER/machine/sshd_config" "$PACKER/machine/environment" "$builder"
    echo "export SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH" >>"$builder/environment"
    echo "nameserver 10.0.2.3" >"$builder/resolv.conf"
    apt_settings 'http|https|Check-|Allow' >"$builder/apt.conf"
    run ssh-keygen -q -t ed25519 -N "" -C builder -f "$builder/key.d/host"
    run ssh-keygen -q -t ed25519 -N "" -C packer -f "$1/inputs/key"
    cp "$1/inputs/key.pub" "$builder/key.d/authorized"
}

# provision_tar WORK: the scripts, with the builder's own last step among them.
provision_tar() {
    local tree=$1/tree
    mkdir -p "$tree/profiles"
    cp -r "$IMAGES/provision" "$IMAGES/overlay" "$tree/"
    cp -r "$IMAGES/profiles/$PROFILE" "$tree/profiles/"
    cp "$PACKER"/provision/*.sh "$tree/provision/"
    mv "$1/archives" "$tree/archives"
    run tar -cf "$1/inputs/provision.tar" --owner=0 --group=0 -C "$tree" .
}

# describe_disk WORK: manifest.json from the disk itself, read without starting it.
describe_disk() {
    local work=$1 file
    run qemu-img convert -f qcow2 -O raw "$OUTPUT/disk.qcow2" "$work/result.raw"
    run e2fsck -fn "$work/result.raw"
    mkdir -p "$work/result/var/lib/dpkg" "$work/result/etc"
    run debugfs -R "rdump /etc/apt $work/result/etc" "$work/result.raw"
    for file in /etc/debian_version /var/lib/dpkg/status; do
        run debugfs -R "dump $file $work/result$file" "$work/result.raw"
        [ -s "$work/result$file" ] || fail "the disk has no $file" "$OUTPUT/disk.qcow2" "read $LOG"
    done
    run python3 "$IMAGES/lib/manifest.py" disk --folder "$OUTPUT" --inputs "$INPUTS" --hash "$INPUTS" --profile "$PROFILE" \
        --suite "$SUITE" --root "$work/result" --archives "$work/tree/archives/archives.json" --created "$SOURCE_DATE_EPOCH"
}

main() {
    parse_arguments "$@"
    require_root
    require_tools packer:packer mmdebstrap:mmdebstrap mke2fs:e2fsprogs debugfs:e2fsprogs qemu-img:qemu-utils \
        qemu-system-x86_64:qemu-system-x86 cpio:cpio ssh-keygen:openssh-client depmod:kmod apt-get:apt
    # shellcheck source=images/profiles/base/profile.conf
    . "$IMAGES/profiles/$PROFILE/profile.conf"
    local work=$CACHE/packer-$PROFILE
    mkdir -p "$CACHE" "$(dirname "$OUTPUT")"
    require_space "$CACHE" $((BUILD_SPACE_MIB * 2)) "profile $PROFILE"
    log_to "$CACHE/log/packer-$PROFILE.log"
    trap clean_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    lock packer "$CACHE/.lock-packer-$PROFILE"
    scratch "$work"
    mkdir -p "$work/inputs"
    phase "$PROFILE" "asking the mirror for $SUITE"
    fetch_releases "$SUITE" "$work/releases"
    fetch_archives "$PROFILE" "$work/archives"
    INPUTS=$(state_hash "packer $(profile_inputs "$PROFILE")" "$work/releases" "$work/archives")
    SOURCE_DATE_EPOCH=$(release_date "$work"/releases/*)
    export SOURCE_DATE_EPOCH
    start_disk "$work"
    boot_files "$work"
    provision_tar "$work"
    phase "$PROFILE" "running packer ($ACCELERATOR)"
    FOLLOW=$PROFILE run env PACKER_CACHE_DIR="$work/packer-cache" CHECKPOINT_DISABLE=1 PACKER_CONFIG_DIR="$work" HOME="$work" \
        PACKER_NO_COLOR=1 packer build -color=false -var "profile=$PROFILE" -var "accelerator=$ACCELERATOR" \
        -var "inputs=$work/inputs" -var "output=$OUTPUT" "$PACKER/capsule.pkr.hcl"
    phase "$PROFILE" "writing the manifest"
    describe_disk "$work"
    remove_scratch
    unlock packer
    phase "$PROFILE" "done: $OUTPUT/disk.qcow2"
    report_missing "$PROFILE" "$OUTPUT/manifest.json"
}

main "$@"
