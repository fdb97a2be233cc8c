# shellcheck shell=bash
# Progress, errors, locks, scratch folders and publishing: what every artefact build shares.
# Sourced by build.sh, which sets IMAGES, STORE and CACHE.

PHASE=""
LOG=""
CHILD=""
FOLLOW=""
SCRATCH=()

# phase WHAT TEXT: one progress line with the seconds since the start.
phase() {
    PHASE="$1: $2"
    printf '[%3d s] %s\n' "$SECONDS" "$PHASE"
}

# fail WHAT WHERE FIX: the three things a reader needs, then the end.
fail() {
    {
        printf 'error: %s\n' "$1"
        [ -z "${2:-}" ] || printf '  where: %s\n' "$2"
        [ -z "${3:-}" ] || printf '  what to do: %s\n' "$3"
    } >&2
    exit 1
}

# log_to FILE: output of the tools that follow goes there (see run).
log_to() {
    LOG=$1
    mkdir -p "$(dirname "$LOG")"
    : >"$LOG"
}

# run COMMAND...: quiet while it works; when it fails, the end of its output explains why.
# In a session of its own and waited for by the shell, so that a signal to the build ends it at once; with
# `pdeathsig`, so that it does not go on when the build is killed.
run() {
    local status=0 begin
    printf '+ %s\n' "$*" >>"$LOG"
    begin=$(stat -c %s "$LOG")
    setsid setpriv --pdeathsig KILL -- "$@" >>"$LOG" 2>&1 </dev/null &
    CHILD=$!
    [ -z "$FOLLOW" ] || follow "$begin"
    wait "$CHILD" || status=$?
    CHILD=""
    [ "$status" -eq 0 ] || explain_failure "$status" "$1"
}

# run_apart COMMAND...: in process and mount namespaces of its own, so that none of its processes and mounts stays.
run_apart() {
    run unshare --mount --pid --fork --kill-child --mount-proc --propagation private -- "$@"
}

# follow OFFSET: while FOLLOW names an artefact, the steps that its tool writes to the log are progress lines too.
follow() {
    local steps shown=0 step
    while kill -0 "$CHILD" 2>/dev/null; do
        sleep 1
        mapfile -t steps < <(tail -c "+$(($1 + 1))" "$LOG" | sed -n 's/^I: \(.*\)\.\.\.$/\1/p')
        for step in "${steps[@]:$shown}"; do
            phase "$FOLLOW" "$step"
        done
        shown=${#steps[@]}
    done
}

explain_failure() {
    local status=$1 tool=$2 fix="read the log, then run the same command again"
    if grep -qiE 'no space left on device|not enough free space|disk full' "$LOG"; then
        fix="free some disk space, or give --store or --cache on another file system; then run the same command again"
    fi
    [ "$tool" != unshare ] || tool="a tool"
    tail -n 15 "$LOG" | sed 's/^/    /' >&2
    fail "$tool failed (exit code $status) while: $PHASE" "$LOG" "$fix"
}

# clean_up: at every end, also by a signal: what was started ends, what is half made goes.
clean_up() {
    if [ -n "$CHILD" ]; then
        kill -KILL -- "-$CHILD" 2>/dev/null || true
        wait "$CHILD" 2>/dev/null || true
    fi
    remove_scratch
}

require_root() {
    [ "$(id -u)" -eq 0 ] || fail "images are built by root: their files have owners, groups and device nodes" \
        "user id $(id -u)" "run the same command with sudo"
}

# require_tools TOOL:PACKAGE...: all missing ones in one message.
require_tools() {
    local pair packages=() tools=()
    for pair in "$@"; do
        command -v "${pair%%:*}" >/dev/null && continue
        tools+=("${pair%%:*}")
        packages+=("${pair##*:}")
    done
    [ ${#tools[@]} -eq 0 ] && return 0
    fail "missing tools: ${tools[*]}" "PATH=$PATH" \
        "apt-get install --no-install-recommends $(printf '%s\n' "${packages[@]}" | sort -u | paste -sd' ')"
}

# require_space DIR MIB WHAT: refuses at the start, not in the middle.
require_space() {
    local free
    free=$(df --output=avail -m "$1" | tail -n 1 | tr -d ' ')
    [ "$free" -ge "$2" ] || fail "not enough disk space for $3: $free MiB free, $2 MiB needed" "$1" \
        "free some space, or give --store or --cache on another file system"
}

# lock NAME FILE: one build of each artefact at a time; waits for the other one. What a build starts holds the lock
# too, so that a build is not taken for dead while a tool of it still writes.
declare -A LOCKS
lock() {
    local descriptor
    exec {descriptor}>"$2"
    if ! flock --nonblock "$descriptor"; then
        phase "$1" "waiting for another build ($2)"
        flock "$descriptor"
    fi
    LOCKS[$1]=$descriptor
}

unlock() {
    local descriptor=${LOCKS[$1]}
    exec {descriptor}>&-
}

# scratch DIR: an empty folder that is gone when this program ends. What a killed build left there goes first.
scratch() {
    rm -rf --one-file-system -- "$1"
    mkdir -p "$1"
    SCRATCH+=("$1")
}

remove_scratch() {
    local folder
    for folder in "${SCRATCH[@]}"; do
        rm -rf --one-file-system -- "$folder"
    done
    SCRATCH=()
}

# hash_of_inputs TEXT FILE...: a text, and names, executable bits and contents of files below images/.
hash_of_inputs() {
    local text=$1 file bit
    shift
    {
        printf '%s\n' "$text"
        printf '%s\n' "$@" | LC_ALL=C sort | while IFS= read -r file; do
            bit=-
            [ ! -x "$IMAGES/$file" ] || bit=x
            printf '%s %s ' "$bit" "$file"
            sha256sum <"$IMAGES/$file"
        done
    } | digest
}

# digest: of the standard input, as 64 hexadecimal digits.
digest() {
    sha256sum | cut -c1-64
}

# published NAME INPUTS: the current folder of an artefact, if it was built from these inputs.
published() {
    local folder
    folder=$(readlink -f "$STORE/$1") || return 1
    [ -f "$folder/manifest.json" ] || return 1
    [ "$(manifest_value "$folder/manifest.json" inputs)" = "$2" ] || return 1
    printf '%s\n' "$folder"
}

# manifest_value FILE KEY: a top-level string; manifests have one member a line.
manifest_value() {
    sed -n 's/^  "'"$2"'": "\(.*\)",\{0,1\}$/\1/p' "$1" | head -n 1
}

# publish NAME FOLDER HASH: gives a finished folder its name, then points the symlink at it; each by a rename.
publish() {
    local name=$1 folder=$2 final=$STORE/$1-${3:0:12}
    chown -R 0:0 "$folder"
    find "$folder" -type f -exec chmod 0444 {} +
    find "$folder" -type d -exec chmod 0755 {} +
    sync -f "$folder"
    if [ -e "$final" ]; then
        rm -rf --one-file-system -- "$folder"
    else
        mv -T "$folder" "$final"
    fi
    point_at "$name" "$final"
    phase "$name" "done: $STORE/$name -> ${final##*/}"
}

point_at() {
    ln -sfn "${2##*/}" "$STORE/.link-$1"
    mv -T "$STORE/.link-$1" "$STORE/$1"
}
