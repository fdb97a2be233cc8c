# shellcheck shell=bash
# The test host as a machine: plain QEMU with AMD-V emulated in software, so that it has a working /dev/kvm, and its
# control channel, ssh over QEMU's user-mode network. Sourced by run.sh, which sets CACHE, kind, work and results.

# One processor: a second one under emulation is not safe. `no_timer_check`: see images/README.md.
# `norandmaps`: docs/decisions/0005-devices-of-a-machine.md.
start_machine() {
    local host=$CACHE/host-$kind port
    # Offered by the kernel a moment ago; QEMU fails, and says so, if somebody else has taken it since.
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    qemu-img create -q -f qcow2 -F raw -b "$(readlink -f "$host/disk.raw")" "$work/disk.qcow2"
    setpriv --pdeathsig KILL -- qemu-system-x86_64 -name capsule-nested -nodefaults -no-user-config -display none \
        -machine q35 -accel tcg -cpu EPYC -smp 1 -m 4096 -no-reboot \
        -kernel "$host/vmlinuz" -initrd "$host/initrd.img" \
        -append "root=/dev/vda rw console=ttyS0 no_timer_check norandmaps quiet systemd.mask=serial-getty@ttyS0.service systemd.default_timeout_start_sec=300" \
        -drive "file=$work/disk.qcow2,if=virtio,format=qcow2,cache=unsafe" \
        -drive "file=$work/data.raw,if=virtio,format=raw,readonly=on" \
        -netdev "user,id=net,hostfwd=tcp:127.0.0.1:$port-:22" -device virtio-net-pci,netdev=net \
        -device virtio-rng-pci -serial "file:$results/console.log" >"$results/qemu.log" 2>&1 </dev/null &
    machine=$!
    ssh_options=(-p "$port" -i "$work/key" -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null
        -o LogLevel=ERROR -o ConnectTimeout=20 -o ServerAliveInterval=30 -o ServerAliveCountMax=10
        -o ControlMaster=auto -o ControlPersist=yes -o "ControlPath=$work/ssh")
    install -m 0600 "$host/key" "$work/key"
    wait_for_machine
}

wait_for_machine() {
    local deadline=$((SECONDS + 900))
    until inside true 2>/dev/null; do
        kill -0 "$machine" 2>/dev/null || broken "QEMU has ended: $(tail -n 3 "$results/qemu.log")"
        [ "$SECONDS" -lt "$deadline" ] || broken "the test host did not answer within 900 s, see $results/console.log"
        sleep 2
    done
}

# inside COMMAND...: runs it on the test host.
inside() {
    ssh "${ssh_options[@]}" root@127.0.0.1 "$@" </dev/null
}

end_machine() {
    [ -n "${machine:-}" ] || return 0
    ssh "${ssh_options[@]}" -O exit root@127.0.0.1 2>/dev/null || true
    kill "$machine" 2>/dev/null || true
    wait "$machine" 2>/dev/null || true
    machine=""
}
