#!/usr/bin/env bash
# Installs what building, making images and running need, by apt, and only what is missing.
# Debian 12 and 13; as root or with sudo. A second call takes a moment.
set -euo pipefail

usage() {
    cat <<'HELP'
Usage: scripts/install-dependencies.sh [--tests | --build] [--list]

  --tests   also what only the tests need
  --build   only what compiling and packing need
  --list    print the packages and install nothing
HELP
}

tests=no
only_build=no
list=no
while [ $# -gt 0 ]; do
    case $1 in
        --tests) tests=yes ;;
        --build) only_build=yes ;;
        --list) list=yes ;;
        -h | --help) usage; exit 0 ;;
        *) echo "install-dependencies.sh: unknown argument $1" >&2; usage >&2; exit 2 ;;
    esac
    shift
done

fail() { echo "install-dependencies.sh: $*" >&2; exit 1; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

[ -r /etc/os-release ] || fail "this is not Debian: there is no /etc/os-release"
# shellcheck source=/dev/null
. /etc/os-release
case ${ID:-}-${VERSION_ID:-} in
    debian-12)
        # The default Boost of Debian 12 is older than 1.81; both cannot be installed for development.
        release=(libboost1.81-dev libboost-json1.81-dev libboost-program-options1.81-dev)
        ;;
    debian-13)
        # From here on virtiofsd is a package of its own; in Debian 12 it is part of QEMU.
        release=(libboost-dev libboost-json-dev libboost-program-options-dev virtiofsd)
        ;;
    *) fail "made for Debian 12 and 13, this is ${PRETTY_NAME:-something else}" ;;
esac

# The configure step looks for GoogleTest and Python also when only the programs are built.
build=(g++ cmake ninja-build pkg-config libexpected-dev libspdlog-dev libfmt-dev libsqlite3-dev libsodium-dev libgnutls28-dev
    libvirt-dev libxml2-dev libgtest-dev libgmock-dev python3)
images=(mmdebstrap libguestfs-tools qemu-utils zstd cpio kmod e2fsprogs)
running=(qemu-system-x86 libvirt-daemon-system libvirt-clients procps)
testing=(curl git iproute2 jq openssh-client openssl)
# Compile and run the TypeScript SDK: 67 MB installed, with a Node.js that is not there yet 170 MB.
typescript=(node-typescript nodejs)

packages=("${release[@]}" "${build[@]}" "${images[@]}" "${running[@]}")
[ "$tests" = no ] || packages+=("${testing[@]}" "${typescript[@]}")
# dpkg-dev and file: find out which packages the programs need.
[ "$only_build" = no ] || packages=("${release[@]}" "${build[@]}" "${typescript[@]}" dpkg-dev file)
if [ "$list" = yes ]; then
    printf '%s\n' "${packages[@]}"
    exit 0
fi

is_installed() {
    [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}
missing=()
for package in "${packages[@]}"; do
    is_installed "$package" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
    echo "All ${#packages[@]} packages are installed."
    exit 0
fi

[ "$(id -u)" = 0 ] || command -v sudo >/dev/null || fail "run it as root, or install sudo"
echo "Installing: ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# --no-install-recommends: libguestfs alone would otherwise bring a desktop's worth of packages.
{
    as_root apt-get update -q &&
        as_root env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -q --no-install-recommends -o DPkg::Lock::Timeout=120 "${missing[@]}"
} >"$log" 2>&1 || {
    tail -n 30 "$log" >&2
    fail "apt-get failed, see above; are the apt sources of this machine right?"
}
echo "Installed ${#missing[@]} packages."
