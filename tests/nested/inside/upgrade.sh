#!/bin/bash
# A newer package while a run lives.
# shellcheck source=tests/nested/inside/checks.sh
. /media/data/inside/checks.sh
run=$(cat /tmp/run)

upgrade() {
    local machine before
    before=$(pid_of_service)
    machine=$(machine_pid "$run")
    echo 'live-runs = 50' >>/etc/capsuled/capsuled.conf
    # Longer than the upgrade takes, and its result is asked for afterwards.
    mt exec --detach "$run" -- 'sleep 45; echo survived; exit 3' | tail -n 1 >/tmp/command
    apt-get install -y -q --no-install-recommends "$data"/packages/capsule-host_*-2_amd64.deb >/var/log/upgrade-capsule-host.log 2>&1 || {
        tail -n 25 /var/log/upgrade-capsule-host.log
        return 1
    }
    [[ $(dpkg-query --show --showformat='${Version}' capsule-host) == *-2 ]]
    until_true 60 systemctl --quiet is-active capsuled.service
    [ "$(pid_of_service)" != "$before" ]
    expect "$(machine_pid "$run")" "$machine"
    expect "$(run_field "$run" status)" Running
    grep -qx 'live-runs = 50' /etc/capsuled/capsuled.conf
    mt host --json >/tmp/host.json
    grep -q '"accelerator": "kvm"' /tmp/host.json
}
command_ended() { [ "$(mt commands show "$run" "$(cat /tmp/command)" --json | json 'd["status"]')" = Error ]; }
live_command() {
    until_true 90 command_ended
    mt commands show "$run" "$(cat /tmp/command)" --json >/tmp/command.json
    expect "$(json 'd["exitCode"]' </tmp/command.json)" 3
    expect "$(json 'd["outputStandard"]' </tmp/command.json | head -n 1)" survived
}
still_usable() {
    expect "$(mt exec "$run" -- echo after)" after
}

check "the upgrade leaves the run alive and the configuration as it was" upgrade
check "a command from before ends with its result" live_command
check "the run takes commands of the new daemon" still_usable
finish_group upgrade
