# shellcheck shell=bash
# What a profile takes from elsewhere than Debian, and the report of what could not be had. Sourced by build.sh.

# fetch_archives PROFILE FOLDER: NAME.tgz for each, and archives.json, which is always there.
fetch_archives() {
    local profile=$1 folder=$2 list=$IMAGES/profiles/$1/archives source options=()
    mkdir -p "$folder"
    if [ ! -f "$list" ]; then
        echo '{"archives": [], "missing": []}' >"$folder/archives.json"
        return
    fi
    ! grep -qE '^[a-z]+ +npm ' "$list" || require_tools npm:npm
    for source in "${SOURCES[@]}"; do
        options+=(--source "$source")
    done
    FOLLOW=$profile run python3 "$IMAGES/lib/archives.py" --list "$list" --folder "$folder" --cache "$CACHE/archives" \
        --settings "$ARCHIVE_SETTINGS" "${options[@]}"
}

# archive_settings PROFILE: what the operator has set, as far as this profile asks for archives at all.
archive_settings() {
    [ -f "$IMAGES/profiles/$1/archives" ] || return 0
    [ ! -f "$ARCHIVE_SETTINGS" ] || grep -vE '^ *(#|$)' "$ARCHIVE_SETTINGS" || true
    [ ${#SOURCES[@]} -eq 0 ] || printf '%s\n' "${SOURCES[@]}"
}

# report_missing PROFILE MANIFEST: never silently; the manifest and `mt image show` say the same.
report_missing() {
    local line
    python3 "$IMAGES/lib/manifest.py" missing "$2" | while IFS= read -r line; do
        phase "$1" "MISSING $line"
    done
}

has_missing() {
    [ -n "$(python3 "$IMAGES/lib/manifest.py" missing "$1")" ]
}
