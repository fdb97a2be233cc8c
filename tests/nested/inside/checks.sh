# shellcheck shell=bash disable=SC2034
# What the groups of checks share. Sourced; run on the test host as root.
set -uo pipefail
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
data=/media/data
state=/var/lib/capsuled
began=$SECONDS

# check NAME FUNCTION: runs it with `set -e` in a shell of its own; one line says how it went.
check() {
    local name=$1 output status start=$SECONDS
    # Not within `||` or `if`: there `set -e` would mean nothing.
    output=$(set -eE; trap 'echo "line $LINENO: $BASH_COMMAND"' ERR; "$2" 2>&1)
    status=$?
    if [ "$status" -eq 0 ]; then
        echo "ok $name ($((SECONDS - start)) s)"
    else
        echo "FAIL $name: $(tail -n 12 <<<"$output" | paste -sd'|')"
    fi
}

expect() {
    [ "$1" = "$2" ] || { echo "expected <$2>, found <$1>"; return 1; }
}

# refused COMMAND...: a leading `!` would not end a check.
refused() {
    if "$@"; then
        echo "this should have failed: $*"
        return 1
    fi
}

# has PATTERN: whether standard input has such a line; reads all of it, so that no writer dies of a closed pipe.
has() { grep -e "$1" >/dev/null; }

finish_group() {
    echo "(took $((SECONDS - began)) s)"
    echo "end of $1"
}

# json EXPRESSION: of the JSON on standard input, as Python sees it: json 'd["status"]'
json() {
    python3 -c 'import json, sys; d = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"
}

# Files whose names are like ours, and all in our folders; systemd itself has a `capsule@.service`.
names_like_ours() {
    find /etc /usr /var /run -xdev \( -iname '*capsule*' -o -iname '*maitento*' -o -path '/var/lib/capsuled/*' -o -path '/etc/capsuled/*' \) \
        -not -path '/var/log/*' -not -path '/var/cache/man/*' -not -path '/var/lib/dpkg/*' -not -path '/var/lib/apt/*' -not -path '/var/cache/debconf/*' \
        -not -path '/var/lib/capsuled/vfs/*' 2>/dev/null | sort
}

# run_field RUN FIELD
run_field() { mt runs show "$1" --json | json "d[\"$2\"]"; }
domain_of() { echo "capsule-$1"; }
pid_of_service() { systemctl show --property MainPID --value capsuled.service; }
machine_pid() { cat "/run/libvirt/qemu/$(domain_of "$1").pid"; }

# A machine that stays up, ready for commands: prints its id.
start_workbench() {
    mt capsule start workbench --wait | tail -n 1
}

# until_true SECONDS COMMAND...
until_true() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$deadline" ] || { echo "not within the time: $*"; return 1; }
        sleep 0.5
    done
}

platform_is_known() { mt host --json | has '"accelerator": "'; }
# The daemon waits for images and then tries out what machines can run on. Here everything is emulated, and a guest
# within the guest slow.
bring_images() {
    echo 'kvm-patience = 120' >>/etc/capsuled/capsuled.conf
    systemctl restart capsuled.service
    mkdir -p "$state/images"
    cp -a "$data"/images/. "$state/images/"
    until_true 300 platform_is_known
}
