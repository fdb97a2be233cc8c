# Shell functions of the tests of images: sourced, with WORK naming a scratch folder.
# shellcheck shell=bash disable=SC2034,SC2154  # the counters are read, and WORK is set, by who sources it

PASSED=0
FAILED=0

# check NAME COMMAND...: passes if the command succeeds; its output is shown if it does not.
check() {
    local name=$1
    shift
    if "$@" >"$WORK/output" 2>&1; then
        PASSED=$((PASSED + 1))
        echo "ok    $name"
    else
        FAILED=$((FAILED + 1))
        echo "FAIL  $name"
        tail -n 25 "$WORK/output" | sed 's/^/      /'
    fi
}
