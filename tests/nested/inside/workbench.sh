#!/bin/bash
# Commands in the live machine of the group before.
# shellcheck source=tests/nested/inside/checks.sh
. /media/data/inside/checks.sh
run=$(cat /tmp/run)

who_am_i() {
    expect "$(mt exec "$run" -- id -un)" maitento
    expect "$(mt exec --user sandbox "$run" -- id -un)" sandbox
    expect "$(mt exec --user root "$run" -- id -u)" 0
}
exit_code() {
    local code=0
    mt exec "$run" -- "$@" >/dev/null 2>&1 || code=$?
    echo "$code"
}
exit_codes() {
    expect "$(exit_code 'exit 7')" 7
    expect "$(exit_code true)" 0
    expect "$(exit_code no-such-program)" 127
    expect "$(exit_code 'kill -9 $$')" 137
}
exact_words() {
    expect "$(mt exec "$run" -- printf '<%s>' 'a  b' '$HOME' '' '*')" '<a  b><$HOME><><*>'
}
users_are_apart() {
    mt exec --user sandbox "$run" -- 'test ! -r /mnt/data'
    mt exec --user sandbox "$run" -- 'test -r /tmp/data/sales.csv'
}
time_limit() {
    local code=0
    mt exec --timeout 00:00:02 "$run" -- sleep 60 || code=$?
    expect "$code" 124
}
standard_input() {
    expect "$(printf 'one\ntwo\n' | mt exec -i "$run" -- 'wc -l' | tr -d ' ')" 2
}
group_members_may() {
    getent passwd tester >/dev/null || useradd --create-home --groups capsuled tester
    expect "$(su tester -c "mt exec $run -- echo hello")" hello
    getent passwd stranger >/dev/null || useradd --create-home stranger
    refused su stranger -c "mt runs list"
}
inner_mt() {
    expect "$(mt exec "$run" -- 'mt vfs get sales-data /report.md - | head -n 1')" "# October sales"
}
package_from_the_mirror() {
    mt exec --user root "$run" -- 'apt-get update -q' >/dev/null
}

check "commands run as the user that is asked for" who_am_i
check "exit codes" exit_codes
check "words arrive exactly" exact_words
check "users of a capsule are kept apart" users_are_apart
check "a time limit ends a command" time_limit
check "standard input" standard_input
check "members of the group may, others may not" group_members_may
check "mt inside the capsule" inner_mt
check "apt inside reaches the mirror through the proxy" package_from_the_mirror
finish_group workbench
