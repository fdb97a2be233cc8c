#!/usr/bin/env bash
# Makes sure that libvirt answers at qemu:///system: uses the one that runs, else starts it (systemctl
# where process 1 is systemd, else as daemons). Remembers what it started, so that --stop ends that and
# nothing else. As root or with sudo.
set -euo pipefail

usage() {
    cat <<'HELP'
Usage: scripts/start-services.sh [--stop]

  --stop   end the services that this script started, unless a machine still runs
HELP
}

stop=no
case ${1:-} in
    "") ;;
    --stop) stop=yes ;;
    -h | --help) usage; exit 0 ;;
    *) echo "start-services.sh: unknown argument $1" >&2; usage >&2; exit 2 ;;
esac

fail() { echo "start-services.sh: $*" >&2; exit 1; }
if [ "$(id -u)" != 0 ]; then exec sudo "$0" "$@"; fi

started_list=/run/capsule-services.started  # lines: NAME PID START-TIME
answers() { timeout 20 virsh -q -c qemu:///system version >/dev/null 2>&1; }
# The time a process began (clock ticks since boot): with the pid it names one process for ever.
start_time() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

wait_until_it_answers() {
    local tries
    for tries in $(seq 50); do
        answers && return 0
        sleep 0.2
    done
    fail "libvirt does not answer at qemu:///system after $tries tries; see /var/log/libvirt"
}

# start_daemon PROGRAM: it detaches itself; its pid file tells which process it is.
start_daemon() {
    local name=$1 pid
    if pid=$(cat "/run/$name.pid" 2>/dev/null) && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$name" ]; then
        return 0
    fi
    "$name" -d || fail "$name did not start"
    pid=$(cat "/run/$name.pid" 2>/dev/null) || return 0
    echo "$name $pid $(start_time "$pid")" >>"$started_list"
    echo "Started $name (pid $pid)."
}

start() {
    if answers; then
        echo "libvirt answers."
        return 0
    fi
    command -v libvirtd >/dev/null || fail "libvirtd is not installed; run scripts/install-dependencies.sh"
    if [ "$(cat /proc/1/comm)" = systemd ]; then
        systemctl start libvirtd
        echo "Started libvirtd (systemd)."
    else
        start_daemon virtlogd
        start_daemon libvirtd
    fi
    wait_until_it_answers
}

stop() {
    [ -s "$started_list" ] || return 0
    if [ -n "$(timeout 20 virsh -q -c qemu:///system list --name 2>/dev/null)" ]; then
        echo "Machines still run: libvirt stays up."
        return 0
    fi
    local name pid began
    # libvirtd before virtlogd, which it uses.
    while read -r name pid began; do
        if [ -n "$began" ] && [ "$(start_time "$pid")" = "$began" ]; then
            kill "$pid"
            echo "Ended $name (pid $pid)."
        fi
    done < <(tac "$started_list")
    rm -f "$started_list"
}

if [ "$stop" = yes ]; then stop; else start; fi
