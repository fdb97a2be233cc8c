#!/bin/bash
# One capsule from definition to report, and what its machine really is.
# shellcheck source=tests/nested/inside/checks.sh
. /media/data/inside/checks.sh

deploy() {
    mt vfs create sales-data --if-missing
    mt vfs put sales-data "$data/sales-report/data/" /
    # The same workbench as in the example, only longer-lived, and with a second, read-only mount.
    mkdir -p /tmp/definitions/capsules
    cp "$data"/sales-report/capsules/*.mtr /tmp/definitions/capsules/
    sed -i 's/^maxDuration = "00:30:00"/maxDuration = "02:00:00"/
        s/^vfs = .*/vfs = [ { vfs = @ref("sales-data") mountName = "data" }, { vfs = @ref("sales-data") mountName = "look" readOnly = true } ]/' \
        /tmp/definitions/capsules/workbench.mtr
    grep -q readOnly /tmp/definitions/capsules/workbench.mtr
    mt deploy /tmp/definitions
}

sales_report() {
    local began=$SECONDS
    mt capsule run sales-report | has '^Capsule finished: Finished$'
    echo "took $((SECONDS - began)) s" >/tmp/sales-report.took
    mt vfs get sales-data /report.md - | has '^| Product | Sold | Revenue |$'
    mt vfs get sales-data /report.md - | has '^\*\*Total revenue: [0-9.]*\*\*$'
    expect "$(virsh -q list --name | grep -c capsule- || true)" 0
}

run_stays() {
    start_workbench >/tmp/run
    expect "$(run_field "$(cat /tmp/run)" status)" Running
    expect "$(run_field "$(cat /tmp/run)" accelerator)" kvm
    expect "$(run_field "$(cat /tmp/run)" transport)" vsock
    virsh -q dumpxml "$(domain_of "$(cat /tmp/run)")" >/tmp/domain.xml
}

machine_is_kvm() {
    grep -q "<domain type='kvm'" /tmp/domain.xml
    virsh -q qemu-monitor-command "$(domain_of "$(cat /tmp/run)")" --hmp info kvm | has 'kvm support: enabled'
}

machine_has_vsock() {
    local cid
    grep -q '<vsock model=' /tmp/domain.xml
    cid=$(sed -n "s/.*<cid auto='yes' address='\([0-9]*\)'.*/\1/p" /tmp/domain.xml)
    [ "${cid:-0}" -ge 3 ]
    refused grep -q '<channel ' /tmp/domain.xml
    # The daemon's own connection goes there.
    ss --vsock --numeric | has "[^0-9]$cid:"
}

virtiofsd_is_rust() {
    grep -q "<driver type='virtiofs'" /tmp/domain.xml
    expect "$(readlink -f "/proc/$(pgrep -x virtiofsd | head -n 1)/exe")" /usr/libexec/virtiofsd
    /usr/libexec/virtiofsd --version | has '^virtiofsd 1\.'
    expect "$(dpkg-query --search /usr/libexec/virtiofsd | cut -d: -f1)" virtiofsd
}

qemu_is_confined() {
    local pid uid
    pid=$(machine_pid "$(cat /tmp/run)")
    uid=$(awk '$1 == "Uid:" { print $2 }' "/proc/$pid/status")
    [ "$uid" -ge 1900000000 ]
    grep -q '^libvirt-.* (enforce)$' "/proc/$pid/attr/current"
}

read_only_mount() {
    local run
    run=$(cat /tmp/run)
    mt exec "$run" -- 'cat /mnt/look/report.md' | has Product
    refused mt exec --user root "$run" -- 'touch /mnt/look/x'
    refused mt exec --user root "$run" -- 'mount -o remount,rw /mnt/look; touch /mnt/look/x'
    mt exec "$run" -- 'touch /mnt/data/x && ls /mnt/look/x && rm /mnt/data/x'
    grep -q " $state/runs/$run/" /proc/1/mountinfo
}

check "a definition is deployed" deploy
check "the sales report is written by a machine that is gone" sales_report
check "a workbench starts" run_stays
check "its machine runs on KVM" machine_is_kvm
check "its machine has vsock and no serial port" machine_has_vsock
check "its file systems are served by the Rust virtiofsd" virtiofsd_is_rust
check "its QEMU has a uid and an AppArmor profile of its own" qemu_is_confined
check "a read-only mount is one, also for root" read_only_mount
echo "  sales-report $(cat /tmp/sales-report.took 2>/dev/null)"
finish_group capsule
