# shellcheck shell=bash disable=SC2016
# Runs as root in a machine booted from the base image. One line for each probe: `guest: ok NAME` or `guest: FAIL NAME`.
exec 2>&1

probe() {
    local name=$1 output
    shift
    if output=$("$@" 2>&1 </dev/null); then
        echo "guest: ok $name"
    else
        printf 'guest: FAIL %s\n%s\n' "$name" "$output"
    fi
}

look_up_fails_at_once() {
    local before after
    before=$(date +%s%N)
    ! getent hosts example.org || return 1
    ! python3 -c 'import socket; socket.getaddrinfo("example.org", 80)' || return 1
    after=$(date +%s%N)
    [ $(((after - before) / 1000000)) -lt 8000 ]
}

user_is_ready() {
    [ "$(su - maitento -c 'id -un; id -u; id -g; pwd; echo $SHELL; umask' | paste -sd' ')" = "maitento 1000 1000 /home/maitento /bin/bash 0022" ] &&
        [ -O /root ] && su - maitento -c 'test -w . && test -f .bashrc && test -f .profile'
}

environment_is_set() {
    [ "$(su - maitento -c 'echo $LANG $http_proxy $https_proxy $NODE_USE_ENV_PROXY')" = "C.UTF-8 http://127.0.0.1:3128 http://127.0.0.1:3128 1" ] &&
        [ -n "$JAVA_TOOL_OPTIONS" ] && ! cat /etc/capsule/*environment | grep -qvE '^[A-Za-z_]+=.'
}

proxy_is_used() {
    ! apt-get -o Acquire::Retries=0 install -y --reinstall netbase >/tmp/apt || return 1
    grep -q 'connect to 127.0.0.1:3128' /tmp/apt
}

owners_and_modes() {
    [ "$(stat -c '%U %a' /usr/bin/su /tmp /root / /etc/shadow | paste -sd' ')" = "root 4755 root 1777 root 700 root 755 root 640" ] &&
        [ "$(stat -c %U:%G /home/maitento /var/mail)" = $'maitento:maitento\nroot:mail' ]
}

disk_is_plain() {
    dumpe2fs -h /dev/vda >/tmp/e2 2>/dev/null
    grep -q 'volume name: *capsule-root' /tmp/e2 && ! grep -q has_journal /tmp/e2 && ! pgrep ext4lazyinit
}

grows() {
    resize2fs /dev/vda
}

no_services() {
    [ -z "$(find /etc/systemd/system -path '*.wants/*')" ] && [ "$(readlink /etc/systemd/system/apt-daily.timer)" = /dev/null ] &&
        ! command -v systemctl && ! /usr/sbin/policy-rc.d && [ -f /etc/machine-id ] && [ ! -s /etc/machine-id ]
}

users_can_be_made() {
    useradd --create-home --shell /bin/bash analyst && su - analyst -c true && [ "$(id -u analyst)" -ge 1001 ]
}

probe "python3 with sqlite3" python3 -c 'import sqlite3, ssl, venv, zoneinfo; sqlite3.connect(":memory:").execute("select 1")'
probe "apt" apt-get --version
probe "apt knows its packages without an update" apt-cache show jq
probe "apt goes through the proxy" proxy_is_used
probe "the user maitento" user_is_ready
probe "the environment of commands" environment_is_set
probe "names do not resolve, at once" look_up_fails_at_once
probe "localhost resolves" getent hosts localhost
probe "owners, modes and set-uid bits" owners_and_modes
probe "the file system has a label and no background work" disk_is_plain
probe "the file system can be grown" grows
probe "no services" no_services
probe "users can be made" users_can_be_made
probe "ps and sysctl" ps aux
probe "poweroff is for root only" su - maitento -c '! poweroff && ! /usr/sbin/reboot -f'
echo "guest: end"
poweroff
