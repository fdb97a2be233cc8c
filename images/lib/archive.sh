# shellcheck shell=bash
# The Debian archive, reached with this machine's own apt settings (mirror, proxies, credentials).
# Sourced by build.sh; expects APT_SOURCES, CACHE and IMAGES.

sources_py() {
    python3 "$IMAGES/lib/sources.py" "$@"
}

# archive_sources SUITE: deb822 text for an image of that suite.
archive_sources() {
    sources_py render --etc-apt "$APT_SOURCES" --suite "$1"
}

# apt_settings PATTERN: this machine's apt settings below Acquire, as lines of an apt.conf file.
apt_settings() {
    apt-config dump | grep -E "^Acquire::($1)" | grep -v '""' || true
}

# fetch_releases SUITE DIR: the signed index of every source, also the first test that the mirror answers.
fetch_releases() {
    local suite=$1 folder=$2 number=0 url urls
    rm -rf "$folder"
    mkdir -p "$folder"
    urls=$(sources_py releases --etc-apt "$APT_SOURCES" --suite "$suite") || exit 1
    for url in $urls; do
        number=$((number + 1))
        fetch_release "$url" "$folder/$number-InRelease"
    done
}

fetch_release() {
    local cause
    cause=$(/usr/lib/apt/apt-helper -o Acquire::Retries=2 -o Acquire::http::Timeout=20 \
        -o Acquire::https::Timeout=20 download-file "$1" "$2" 2>&1 >/dev/null) && return 0
    cause=$(sed -n 's/^E: Failed to fetch [^ ]* *//p' <<<"$cause" | head -n 1)
    case $cause in
    404*) fail "the Debian mirror does not have this suite: $cause" "$1" \
        "use a mirror that has it: edit the apt sources in $APT_SOURCES, or give others with --apt-sources" ;;
    *) fail "the Debian mirror cannot be reached: ${cause:-no reason given}" "$1" \
        "check the network, and that 'apt-get update' works on this machine; the mirror is taken from $APT_SOURCES" ;;
    esac
}

# release_date FILE...: the newest date in signed indexes, as seconds since 1970.
release_date() {
    sed -n 's/^Date: //p' "$@" | while IFS= read -r date; do date -u -d "$date" +%s; done | sort -n | tail -n 1
}

# private_apt SUITE FILE: settings for apt that keep it apart from the machine's own packages and lists, but not from
# its proxies and credentials.
private_apt() {
    local folder=$CACHE/apt/$1
    mkdir -p "$folder/sources" "$folder/lists/partial" "$folder/archives/partial"
    archive_sources "$1" >"$folder/sources/archive.sources"
    : >"$folder/status"
    cat >"$2" <<SETTINGS
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$folder/sources";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State "$folder";
Dir::State::status "$folder/status";
Dir::Cache "$folder";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "2";
SETTINGS
}
