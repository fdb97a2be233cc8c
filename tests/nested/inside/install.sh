#!/bin/bash
# The package, installed with apt on a host that has never seen it.
# shellcheck source=tests/nested/inside/checks.sh
. /media/data/inside/checks.sh

host_is_fresh() {
    expect "$(cat /proc/1/comm)" systemd
    expect "$(. /etc/os-release; echo "$VERSION_ID")" 13
    refused command -v capsuled
    [ ! -e /etc/capsuled ]
    names_like_ours >/root/names.before
}

apt_installs() {
    apt-get install -y -q --no-install-recommends "$data"/packages/capsule-host_*-1_amd64.deb >/var/log/install-capsule-host.log 2>&1 || {
        tail -n 25 /var/log/install-capsule-host.log
        return 1
    }
    expect "$(dpkg-query --show --showformat='${db:Status-Status}' capsule-host)" installed
}

service_runs() {
    until_true 60 systemctl --quiet is-active capsuled.service
    expect "$(systemctl is-enabled capsuled.service)" enabled
    expect "$(systemctl show --property NRestarts --value capsuled.service)" 0
    mt version --json | json 'd["capsuled"]' | has '^0\.'
}

# A namespace of its own would hide read-only file systems from virtiofsd.
sees_the_hosts_mounts() {
    expect "$(readlink "/proc/$(pid_of_service)/ns/mnt")" "$(readlink /proc/1/ns/mnt)"
}

service_is_confined() {
    local status
    status=/proc/$(pid_of_service)/status
    grep -q '^NoNewPrivs:[[:space:]]*1$' "$status"
    grep -q '^Seccomp:[[:space:]]*2$' "$status"
    # chown dac_override fowner kill setgid setuid setpcap net_bind_service sys_admin
    expect "$(awk '$1 == "CapBnd:" { print $2 }' "$status")" 00000000002005eb
}

proxy_is_unprivileged() {
    local proxy
    proxy=$(pgrep -x capsule-egress)
    expect "$(readlink "/proc/$proxy/exe")" /usr/lib/capsule-host/capsule-egress
    expect "$(awk '$1 == "CapBnd:" || $1 == "CapEff:" { print $2 }' "/proc/$proxy/status" | sort -u)" 0000000000000000
    [ "$(awk '$1 == "Uid:" { print $2 }' "/proc/$proxy/status")" -ne 0 ]
}

socket_belongs_to_group() {
    expect "$(stat -c '%U:%G %a' /run/capsuled/api.sock)" "root:capsuled 660"
}

key_is_roots_alone() {
    expect "$(stat -c '%U %a' /etc/capsuled/secret.key)" "root 400"
}

configuration_is_commented() {
    capsuled --config /etc/capsuled/capsuled.conf --version
    expect "$(grep -cvE '^(#|$)' /etc/capsuled/capsuled.conf || true)" 0
    # Each option of the program is there.
    local option
    for option in state listen socket-group memory uid-first egress-allow; do
        grep -q "^#$option =" /etc/capsuled/capsuled.conf
        capsuled --help | has "--$option "
    done
    # And every line can be switched on.
    sed 's/^#\([a-z-]* = .\)/\1/' /etc/capsuled/capsuled.conf >/tmp/all.conf
    grep -q '^memory = ' /tmp/all.conf
    capsuled --config /tmp/all.conf --help >/dev/null
}

# cpio has a program of that name for magnetic tapes.
mt_is_ours() {
    expect "$(readlink -f "$(command -v mt)")" /usr/bin/capsule-mt
    update-alternatives --query mt | has '^Status: auto$'
}

manuals_and_completion() {
    man --warnings --pager=cat mt | has 'mt vfs put'
    man --pager=cat capsuled | has '--memory-reserve'
    bash -c '. /usr/share/bash-completion/completions/mt; COMP_WORDS=(mt vfs cr); COMP_CWORD=2; _mt; echo "${COMPREPLY[*]}"' |
        has '^create$'
}

# As root, so that the interpreter leaves compiled files there, which removing the package has to find.
python_has_its_client() {
    expect "$(cd / && python3 -c 'from maitento import Maitento; print(Maitento().version())')" "$(mt version --json | json 'd["capsuled"]')"
    [ -d /usr/lib/python3/dist-packages/maitento/__pycache__ ]
}

typescript_sdk_is_there() {
    test -f /usr/share/nodejs/@maitento/sdk/package.json
    test -f /usr/share/nodejs/@maitento/sdk/dist/index.js
}

# Files a guest can have in use through virtiofs.
libvirt_may_open_enough() {
    [ "$(awk '/^Max open files/ { print $5 }' "/proc/$(systemctl show --property MainPID --value libvirtd.service)/limits")" -ge 100000 ]
}

images_are_brought() {
    bring_images
}

# libvirt and QEMU come with the package, unless this is the host that has them already.
has_no_libvirt() { refused command -v virsh; }

check "the host is fresh" host_is_fresh
if [ -e /etc/capsule-test-prepared ]; then
    echo "skip the host has no libvirt: it was prepared (--short)"
else
    check "the host has no libvirt" has_no_libvirt
fi
check "apt installs the package" apt_installs
check "systemd has started the service" service_runs
check "the service sees the host's mounts" sees_the_hosts_mounts
check "the service is confined" service_is_confined
check "the proxy has no rights at all" proxy_is_unprivileged
check "the socket belongs to the group" socket_belongs_to_group
check "the key belongs to root alone" key_is_roots_alone
check "the configuration file says everything and sets nothing" configuration_is_commented
check "the name mt is an alternative" mt_is_ours
check "manual pages and completion" manuals_and_completion
check "Python has its client" python_has_its_client
check "the TypeScript SDK is there" typescript_sdk_is_there
check "libvirtd may open enough files" libvirt_may_open_enough
check "the daemon takes images that appear" images_are_brought
finish_group install
