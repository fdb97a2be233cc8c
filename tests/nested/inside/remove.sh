#!/bin/bash
# Removing the package, then purging it, without and with the data.
# shellcheck source=tests/nested/inside/checks.sh
. /media/data/inside/checks.sh
run=$(cat /tmp/run)

left_files() { names_like_ours | comm -13 /root/names.before -; }
nothing_lives() {
    expect "$(virsh -q list --all --name | grep -c capsule- || true)" 0
    refused pgrep -x 'capsuled|capsule-egress|virtiofsd'
    refused pgrep qemu-system
    refused grep -q " $state/runs/" /proc/1/mountinfo
}

removal() {
    expect "$(run_field "$run" status)" Running
    apt-get remove -y -q capsule-host >/var/log/remove-capsule-host.log 2>&1 || { tail -n 25 /var/log/remove-capsule-host.log; return 1; }
    nothing_lives
    refused systemctl --quiet is-active capsuled.service
    refused command -v capsule-mt
    # Who had the name before has it again.
    expect "$(readlink -f "$(command -v mt)")" /usr/bin/mt-gnu
    [ ! -e /run/capsuled/api.sock ]
    [ -f "$state/state.db" ]
    [ -d "$state/vfs" ]
    [ -f /etc/capsuled/secret.key ]
    grep -qx 'live-runs = 50' /etc/capsuled/capsuled.conf
}

# Nobody can be asked here, so what users have made stays: docs/packaging.md.
purge_keeps_data() {
    apt-get purge -y -q capsule-host >/var/log/purge-capsule-host.log 2>&1 || { tail -n 25 /var/log/purge-capsule-host.log; return 1; }
    grep -rq 'October' "$state"/vfs
    left_files | grep -vE '^/var/lib/capsuled(/state\.db(-wal|-shm)?|/vfs)?$' >/tmp/left || true
    expect "$(paste -sd' ' /tmp/left)" "/etc/capsuled /etc/capsuled/secret.key"
    getent group capsuled >/dev/null
}

reinstall() {
    apt-get install -y -q --no-install-recommends "$data"/packages/capsule-host_*-2_amd64.deb >/var/log/install-again.log 2>&1 || {
        tail -n 25 /var/log/install-again.log
        return 1
    }
    until_true 60 systemctl --quiet is-active capsuled.service
    mt vfs get sales-data /report.md - | has '^# October sales$'
    expect "$(run_field "$run" status)" Terminated
}

# As above, but with a daemon that cannot be asked to end its runs.
removal_without_daemon() {
    bring_images
    start_workbench >/tmp/run
    expect "$(virsh -q list --name | grep -c capsule-)" 1
    systemctl stop capsuled.service
    expect "$(virsh -q list --name | grep -c capsule-)" 1
    echo 'capsule-host capsule-host/remove-data boolean true' | debconf-set-selections
    apt-get purge -y -q capsule-host >/var/log/purge-again.log 2>&1 || { tail -n 25 /var/log/purge-again.log; return 1; }
    nothing_lives
    expect "$(left_files | paste -sd' ')" ""
    refused getent group capsuled
    expect "$(systemctl list-unit-files --no-legend 'capsuled*' || true)" ""  # none found is a failure to it
}

check "removing the package ends the run and the service, and keeps data and configuration" removal
check "purging without an answer keeps file systems, database and key, and nothing else" purge_keeps_data
check "a new installation finds them again" reinstall
check "purging with the answer yes leaves nothing, even if the daemon does not answer" removal_without_daemon
finish_group remove
