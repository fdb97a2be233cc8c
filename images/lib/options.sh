# shellcheck shell=bash
# What images/build.sh and packer/build.sh take alike from the command line. Sourced by both, which define `usage`.

# shellcheck disable=SC2034
STORE=/var/lib/capsuled/images
CACHE=/var/cache/capsuled
APT_SOURCES=/etc/apt
ARCHIVE_SETTINGS=/etc/capsuled/image-sources
SOURCES=()

refuse() {
    printf 'error: %s\n\n' "$1" >&2
    usage >&2
    exit 2
}

# take_path VARIABLE OPTION [VALUE]: an absolute path of the value, which has to be there.
take_path() {
    [ -n "${3:-}" ] || refuse "$2 needs a value"
    printf -v "$1" '%s' "$(realpath -m -- "$3")"
}

# shared_option OPTION [VALUE]: takes one of both builders' options; 1 if it is none of them.
shared_option() {
    case $1 in
    --cache) take_path CACHE "$@" ;;
    --apt-sources) take_path APT_SOURCES "$@" ;;
    --sources) take_path ARCHIVE_SETTINGS "$@" ;;
    --source)
        [[ ${2:-} == ?*=* ]] || refuse "$1 needs NAME=ADDRESS#sha512=HEX"
        SOURCES+=("$2")
        ;;
    *) return 1 ;;
    esac
}
