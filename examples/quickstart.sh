#!/usr/bin/env bash
# From a fresh Debian 12 or 13 to a report written by a throwaway machine: installs, builds, makes the
# image, starts what must run, deploys examples/sales-report and runs it. As root or with sudo; systemd
# is not needed. What is up to date is left alone, so a second call takes seconds.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

usage() {
    cat <<'HELP'
Usage: examples/quickstart.sh [--stop]

  --stop   stop live runs, end the daemon that this script started and the services it started
HELP
}

began=$SECONDS
phase_began=$SECONDS
phase() {
    printf '[%4d s] %s\n' "$((SECONDS - began))" "$*"
    phase_began=$SECONDS
}
done_in() { printf '         %s (%d s)\n' "$1" "$((SECONDS - phase_began))"; }
fail() { echo "quickstart: $*" >&2; exit 1; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

bin=$root/build/bin
build_log=$root/build/quickstart.log
daemon_log=/var/log/capsuled.log
daemon_record=/run/capsule-quickstart.daemon # one line: PID START-TIME
unset MAITENTO_URL MAITENTO_API_KEY MAITENTO_NAMESPACE

start_time() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }
mt() { as_root "$bin/mt" "$@"; }
daemon_answers() { mt version --json 2>/dev/null | grep -q '"capsuled": "'; }

# The pid of the daemon that this script started, if it still is that process.
our_daemon() {
    local pid started
    read -r pid started 2>/dev/null <"$daemon_record" || return 1
    [ -n "$started" ] && [ "$(start_time "$pid")" = "$started" ] && echo "$pid"
}

# end_process PID SECONDS
end_process() {
    local tries
    as_root kill "$1"
    for ((tries = 0; tries < $2 * 10; ++tries)); do
        [ -d "/proc/$1" ] || return 0
        sleep 0.1
    done
    fail "process $1 did not end in $2 s"
}

# ---- phases ---------------------------------------------------------------------------------

# Shows a line of the build now and then: not hundreds, and not none for minutes.
show_progress() {
    local line shown=-10
    while IFS= read -r line; do
        printf '%s\n' "$line" >>"$build_log"
        case $line in
            "["*/*"]"*)
                if [ $((SECONDS - shown)) -ge 10 ]; then
                    printf '         %s\n' "${line%%]*}]"
                    shown=$SECONDS
                fi
                ;;
        esac
    done
}

# A compiler takes up to 1.2 GiB here; small machines build with fewer at a time.
build_jobs() {
    local by_memory by_processors
    by_memory=$(awk '/^MemAvailable:/ { print int($2 / 1250000) }' /proc/meminfo)
    by_processors=$(nproc)
    local jobs=$((by_memory < by_processors ? by_memory : by_processors))
    echo $((jobs > 0 ? jobs : 1))
}

build_programs() {
    mkdir -p "$root/build"
    : >"$build_log"
    (cd "$root" && cmake --preset release) >>"$build_log" 2>&1 ||
        { tail -n 30 "$build_log" >&2; fail "configuring failed, see $build_log"; }
    cmake --build "$root/build" --target capsuled mt capsule-agent -j "$(build_jobs)" 2>&1 | show_progress ||
        { tail -n 40 "$build_log" >&2; fail "the build failed, see $build_log"; }
}

start_daemon() {
    local pid
    if pid=$(our_daemon); then
        if [[ $(as_root readlink "/proc/$pid/exe") != *" (deleted)" ]] && daemon_answers; then
            done_in "it runs already (pid $pid)"
            return 0
        fi
        # A newer build takes over from the old one; live runs go on.
        end_process "$pid" 20
    elif daemon_answers; then
        done_in "a daemon answers already that this script has not started; using it"
        return 0
    fi
    pid=$(as_root sh -c 'setsid "$1" --image base </dev/null >>"$2" 2>&1 & echo $!' sh "$bin/capsuled" "$daemon_log")
    echo "$pid $(start_time "$pid")" | as_root tee "$daemon_record" >/dev/null
    # Its first start tries out whether KVM really runs a guest here, which may take some seconds.
    local tries
    for ((tries = 0; tries < 600; ++tries)); do
        if daemon_answers; then
            done_in "pid $pid, log $daemon_log"
            return 0
        fi
        [ -d "/proc/$pid" ] || break
        sleep 0.1
    done
    as_root tail -n 20 "$daemon_log" >&2
    fail "capsuled did not start, see $daemon_log"
}

run_example() {
    local example=$root/examples/sales-report
    mt vfs create sales-data --if-missing
    mt vfs rm sales-data /report.md 2>/dev/null || true # so that the report read below is a new one
    mt vfs put sales-data "$example/data/" /
    mt deploy "$example"
    phase "Running the capsule sales-report"
    mt capsule run sales-report
    done_in "the machine is gone"
}

print_report() {
    phase "The report it left in the file system sales-data"
    echo
    mt vfs get sales-data /report.md -
    echo
    mt host | grep -E '^(accelerator|transport)' || true
    echo "What else this host can do: $bin/mt doctor"
}

print_how_to_go_on() {
    local sudo=""
    [ "$(id -u)" = 0 ] || sudo="sudo "
    cat <<HINTS

The daemon still runs (log: $daemon_log). Go on by hand:

  run=\$(${sudo}$bin/mt capsule start workbench)      # a machine that stays up
  ${sudo}$bin/mt exec \$run -- 'cat /etc/os-release'   # any command, with its exit code
  ${sudo}$bin/mt exec -it \$run -- bash                # a terminal in it
  ${sudo}$bin/mt runs stop \$run
  ${sudo}$bin/mt --help
  $root/examples/quickstart.sh --stop              # ends the daemon
HINTS
}

stop_everything() {
    local pid run
    if pid=$(our_daemon); then
        phase "Stopping live runs"
        for run in $(mt runs list --all --live --json | sed -n 's/^ *"id": "\(.*\)",*$/\1/p'); do
            mt runs stop "$run" >/dev/null || true
        done
        phase "Ending capsuled (pid $pid)"
        end_process "$pid" 20
        as_root rm -f "$daemon_record"
    else
        phase "No daemon of this script runs"
    fi
    as_root "$root/scripts/start-services.sh" --stop
    phase "Done; images, file systems and definitions stay in /var/lib/capsuled"
}

case ${1:-} in
    "") ;;
    --stop) stop_everything; exit 0 ;;
    -h | --help) usage; exit 0 ;;
    *) echo "quickstart: unknown argument $1" >&2; usage >&2; exit 2 ;;
esac
[ "$(id -u)" = 0 ] || command -v sudo >/dev/null || fail "run it as root, or install sudo"

phase "Installing packages"
"$root/scripts/install-dependencies.sh"
done_in "packages are there"
phase "Building capsuled, mt and capsule-agent (some minutes the first time)"
build_programs
done_in "built into $bin"
phase "Making what capsules boot from: kernel, initrd, base disk (some minutes the first time)"
as_root "$root/images/build.sh" all --agent "$bin/capsule-agent" --mt "$bin/mt"
done_in "images are in /var/lib/capsuled/images"
phase "Starting libvirt"
as_root "$root/scripts/start-services.sh"
phase "Starting capsuled"
start_daemon
phase "Uploading the data and deploying the definitions"
run_example
print_report
print_how_to_go_on
phase "Done"
