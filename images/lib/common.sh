# shellcheck shell=bash
# Progress, errors, locks, scratch folders and publishing: what every artefact build shares.
# Sourced by build.sh and prune.sh; expects STORE and CACHE to be set before the functions run.

PHASE=""
LOG=""
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
run() {
    printf '+ %s\n' "$*" >>"$LOG"
    local status=0
    "$@" >>"$LOG" 2>&1 </dev/null || status=$?
    [ "$status" -eq 0 ] && return 0
    explain_failure "$status" "$1"
}

explain_failure() {
    local status=$1 tool=$2 fix="read the log"
    if grep -qi 'no space left on device' "$LOG"; then
        fix="free some disk space, or give --store or --cache on another file system; then run the same command again"
    fi
    tail -n 15 "$LOG" | sed 's/^/    /' >&2
    fail "$tool failed (exit code $status) while: $PHASE" "$LOG" "$fix"
}

require_root() {
    [ "$(id -u)" -eq 0 ] || fail "must run as root" "uid $(id -u)" "run it with sudo"
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
        "apt-get install --no-install-recommends $(printf '%s\n' "${packages[@]}" | sort -u | tr '\n' ' ')"
}

# require_space DIR MIB WHAT: refuses before an hour is lost, not after.
require_space() {
    local free
    free=$(df --output=avail -m "$1" | tail -n 1 | tr -d ' ')
    [ "$free" -ge "$2" ] && return 0
    fail "not enough disk space to build $3: $free MiB free, $2 MiB needed" "$1" \
        "free some space, or give --store or --cache on another file system"
}

# lock NAME: one build of each artefact at a time; waits for the other one.
lock() {
    mkdir -p "$STORE"
    exec {LOCK_FD}>"$STORE/.lock-$1"
    if ! flock --nonblock "$LOCK_FD"; then
        phase "$1" "waiting for another build in $STORE"
        flock "$LOCK_FD"
    fi
}

unlock() {
    exec {LOCK_FD}>&-
}

# scratch DIR: an empty folder that is gone when this program ends. A killed build's is emptied by the next.
scratch() {
    rm -rf --one-file-system "$1"
    mkdir -p "$1"
    SCRATCH+=("$1")
}

remove_scratch() {
    local folder
    for folder in "${SCRATCH[@]}"; do
        rm -rf --one-file-system "$folder"
    done
    SCRATCH=()
}

# hash_of_inputs TEXT FILE...: names, executable bits and contents of files below images/, and a text.
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
    } | sha256sum | cut -c1-64
}

# files_below FOLDER...: relative names of all files of a folder below images/.
files_below() {
    (cd "$IMAGES" && find "$@" -type f ! -name '*.pyc')
}

# published NAME INPUTS: the current folder of an artefact if it was built from these inputs.
published() {
    local folder
    folder=$(readlink -f "$STORE/$1") || return 1
    [ -f "$folder/manifest.json" ] || return 1
    [ "$(manifest_value "$folder/manifest.json" inputs)" = "$2" ] || return 1
    printf '%s\n' "$folder"
}

# manifest_value FILE KEY: a top-level string. Manifests are written with one member per line.
manifest_value() {
    sed -n 's/^  "'"$2"'": "\(.*\)",\{0,1\}$/\1/p' "$1" | head -n 1
}

# publish NAME FOLDER HASH: gives a finished folder its name and points the symlink at it, atomically.
publish() {
    local name=$1 folder=$2 final="$STORE/$1-${3:0:12}"
    find "$folder" -type f -exec chmod 0444 {} +
    find "$folder" -type d -exec chmod 0755 {} +
    chown -R 0:0 "$folder"
    sync -f "$folder"
    if [ -e "$final" ]; then
        rm -rf --one-file-system "$folder"
    else
        mv -T "$folder" "$final"
    fi
    point_at "$name" "$final"
}

point_at() {
    ln -sfn "$(basename "$2")" "$STORE/.link-$1"
    mv -T "$STORE/.link-$1" "$STORE/$1"
}
