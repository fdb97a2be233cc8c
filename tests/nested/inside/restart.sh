#!/bin/bash
# The daemon goes and comes back while a command runs.
# shellcheck source=tests/nested/inside/checks.sh
. /media/data/inside/checks.sh
run=$(cat /tmp/run)

# follow_over ACTION: what a client sees that waits all the time.
follow_over() {
    local before machine code=0
    before=$(pid_of_service)
    machine=$(machine_pid "$run")
    mt exec "$run" -- 'for i in $(seq 20); do echo $i; sleep 1; done; exit 7' >/tmp/followed 2>/tmp/followed.err &
    sleep 4
    "$@"
    wait $! || code=$?
    expect "$code" 7
    expect "$(paste -sd' ' /tmp/followed)" "$(seq 20 | paste -sd' ')"
    [ "$(pid_of_service)" != "$before" ]
    expect "$(machine_pid "$run")" "$machine"
    expect "$(run_field "$run" status)" Running
}
restart() { follow_over systemctl restart capsuled.service; }
killed() { follow_over kill -KILL "$(pid_of_service)"; }
libvirtd_restart() { follow_over_libvirt; }
follow_over_libvirt() {
    local code=0
    mt exec "$run" -- 'sleep 12; exit 9' &
    sleep 3
    systemctl restart libvirtd.service
    wait $! || code=$?
    expect "$code" 9
    expect "$(run_field "$run" status)" Running
}
# The run may last two hours, its command a minute.
clock_step() {
    local code=0
    mt exec --timeout 00:01:00 "$run" -- 'sleep 8; exit 9' &
    sleep 3
    date --set '+3 hours'
    wait $! || code=$?
    date --set '-3 hours'
    expect "$code" 9
    mt exec "$run" -- true
    expect "$(run_field "$run" status)" Running
}
one_proxy() { expect "$(pgrep -xc capsule-egress)" 1; }

check "a restart loses nothing of a live command" restart
check "so does a kill -9: systemd starts the daemon again" killed
check "so does a restart of libvirtd" libvirtd_restart
check "a step of the host's clock ends nothing" clock_step
check "each daemon takes its proxy with it" one_proxy
finish_group restart
