# shellcheck shell=bash
# From a root folder to a checked qcow2, by libguestfs with a kernel that is only unpacked. Sourced by build.sh.

# make_disk PROFILE WORK QCOW2 HASH
make_disk() {
    local profile=$1 work=$2 disk=$3 hash=$4 package
    [ -n "$(kernel_package)" ] || fetch_kernel_package "$profile"
    package=$(kernel_package)
    phase "$profile" "unpacking the kernel libguestfs works with"
    unpack_kernel "$package" "$work/kernel"
    phase "$profile" "packing the root file system"
    tar_root "$work/root" "$work/root.tar"
    phase "$profile" "starting libguestfs (software emulation: a minute or two)"
    truncate -s "$DISK_SIZE" "$work/disk.raw"
    guestfish_script "$work" "$hash" >"$work/disk.guestfish"
    prepare_guestfs "$work"
    FOLLOW=$profile run_apart guestfish --format=raw -a "$work/disk.raw" -f "$work/disk.guestfish"
    run e2fsck -fn "$work/disk.raw"
    phase "$profile" "converting to qcow2"
    run qemu-img convert -f raw -O qcow2 -o lazy_refcounts=off "$work/disk.raw" "$disk"
    run qemu-img check -q "$disk"
}

# prepare_guestfs WORK: libguestfs must neither pick KVM by itself nor look for a kernel of the machine.
prepare_guestfs() {
    local work=$1 version
    version=$(kernel_version "$work/kernel")
    mkdir -p "$work/guestfs" /lib/modules # supermin wants that folder on the machine, be it empty
    export LIBGUESTFS_BACKEND=direct LIBGUESTFS_BACKEND_SETTINGS=force_tcg LIBGUESTFS_MEMSIZE=1024
    export LIBGUESTFS_CACHEDIR=$work/guestfs LIBGUESTFS_TMPDIR=$work/guestfs
    export SUPERMIN_KERNEL=$work/kernel/boot/vmlinuz-$version SUPERMIN_KERNEL_VERSION=$version
    export SUPERMIN_MODULES=$work/kernel/usr/lib/modules/$version
}

# tar_root ROOT TAR: the same bytes for the same files; owners by number, with extended attributes.
tar_root() {
    run tar --create --file="$2" --directory="$1" --numeric-owner --xattrs --xattrs-include='*' --acls --format=pax \
        --pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime --sort=name \
        --mtime="@$SOURCE_DATE_EPOCH" --clamp-mtime --one-file-system .
}

# guestfish_script WORK HASH: every command stops the script when it fails.
# No journal and no lazy initialisation: a run's disk is a throwaway overlay, where both are only more writes.
guestfish_script() {
    local uuid=${2:0:8}-${2:8:4}-${2:12:4}-${2:16:4}-${2:20:12} file
    cat <<SCRIPT
run
echo "I: making the file system..."
mke2fs /dev/sda fstype:ext4 label:capsule-root uuid:$uuid hasjournal:false lazyitableinit:false reservedblockspercentage:1
mount /dev/sda /
echo "I: filling the disk..."
tar-in $1/root.tar / xattrs:true acls:true
umount /
echo "I: checking the disk..."
e2fsck /dev/sda correct:true
mount-ro /dev/sda /
SCRIPT
    for file in bin/bash usr/bin/python3 usr/bin/apt-get usr/sbin/poweroff etc/capsule/environment etc/capsule/proxy-environment home/maitento/.bashrc; do
        printf 'stat /%s\n' "$file"
    done
    printf 'umount /\n'
}
