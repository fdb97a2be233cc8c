#!/bin/bash
# What mt doctor finds on a host that has everything.
# shellcheck source=tests/nested/inside/checks.sh
. /media/data/inside/checks.sh

doctor_runs() {
    mt doctor --json >/tmp/doctor.json || { cat /tmp/doctor.json; return 1; }
    cat /tmp/doctor.json >&2
}
verdict() { json "[c['verdict'] + ': ' + c['detail'] for c in d['checks'] if c['name'] == '$1'][0]" </tmp/doctor.json; }
starts_with() { [[ $(verdict "$1") == "$2"* ]] || { echo "$1: $(verdict "$1")"; return 1; }; }
kvm() { starts_with kvm "ok: " && starts_with accelerator "ok: KVM"; }
vsock() { starts_with transport "ok: vsock"; }
virtiofsd_found() { starts_with virtiofsd "ok: "; }
network_proxy() { starts_with "network proxy" "ok: "; }
apparmor() { starts_with apparmor "ok: "; }
capsule() { starts_with capsule "ok: "; }
daemon_agrees() {
    mt host --json >/tmp/host.json
    grep -q '"accelerator": "kvm"' /tmp/host.json
    grep -q '"transport": "vsock"' /tmp/host.json
}

check "mt doctor finds nothing that fails" doctor_runs
check "KVM is found, by booting a guest" kvm
check "vsock is found" vsock
check "virtiofsd is found" virtiofsd_found
check "the network proxy is found" network_proxy
check "AppArmor is on" apparmor
check "a capsule boots through libvirt" capsule
check "the daemon has chosen KVM and vsock" daemon_agrees
mt doctor -- --no-boot 2>/dev/null | sed 's/^/  /'
finish_group doctor
