# shellcheck shell=bash
# Boots a disk with a process 1 that runs a script; sourced by the tests of disks. Expects ROOT, STORE and WORK.

# boot NAME SCRIPT [DISK]: in the base image, or another one; the console goes to WORK/NAME.log, and to WORK/NAME.txt
# without carriage returns.
# no_timer_check: on a busy host an emulated timer comes too late for the kernel's check, which then panics.
boot() {
    local name=$1 folder=$WORK/boot-$1 disk=${3:-$(readlink -f "$STORE/base")/disk.qcow2}
    mkdir -p "$folder"
    [ -x "$WORK/probe" ] || gcc -O2 -static -o "$WORK/probe" "$ROOT/tests/images/guest_probe.c"
    cp "$2" "$folder/script"
    python3 "$ROOT/images/lib/cpio.py" --init "$WORK/probe" --mt "$folder/script" --modules "$(readlink -f "$STORE/kernel")/modules" \
        --output "$folder/initrd"
    qemu-img create -q -f qcow2 -F qcow2 -b "$disk" "$folder/overlay"
    timeout 300 qemu-system-x86_64 -accel tcg -machine q35,hpet=off -m 512 -nodefaults -no-user-config -display none \
        -serial "file:$WORK/$name.log" -kernel "$STORE/kernel/vmlinux" -initrd "$folder/initrd" \
        -drive "file=$folder/overlay,if=none,id=root,cache=unsafe" -device virtio-blk-pci,drive=root \
        -device virtio-rng-pci -no-reboot -append "console=ttyS0 quiet panic=-1 no_timer_check" || return 1
    tr -d '\r' <"$WORK/$name.log" >"$WORK/$name.txt"
    rm -rf "$folder"
}
