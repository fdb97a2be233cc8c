# shellcheck shell=bash
# Artefact of a profile: a Debian disk made by mmdebstrap, the provisioning scripts and libguestfs.
# Sourced by build.sh.

profile_inputs() {
    local files
    mapfile -t files < <(files_below overlay provision "profiles/$1")
    hash_of_inputs "$(archive_sources "$SUITE"; apt_settings 'Check-')" lib/profile.sh lib/disk.sh lib/manifest.py lib/sources.py "${files[@]}"
}

build_profile() {
    local profile=$1 inputs current
    require_tools mmdebstrap:mmdebstrap guestfish:libguestfs-tools qemu-img:qemu-utils qemu-system-x86_64:qemu-system-x86 \
        depmod:kmod dpkg-deb:dpkg python3:python3-minimal unshare:util-linux
    # shellcheck source=images/profiles/base/profile.conf
    . "$IMAGES/profiles/$profile/profile.conf"
    inputs=$(profile_inputs "$profile") || exit 1
    lock "$profile"
    if [ -z "$REFRESH" ] && current=$(published "$profile" "$inputs"); then
        phase "$profile" "up to date: $current"
    else
        make_profile "$profile" "$inputs"
    fi
    unlock
}

make_profile() {
    local profile=$1 inputs=$2 work=$CACHE/build-$1 new=$STORE/.building-$1 hash
    require_space "$STORE" "$BUILD_SPACE_MIB" "the profile $profile"
    require_space "$CACHE" "$BUILD_SPACE_MIB" "the profile $profile"
    log_to "$CACHE/log/$profile.log"
    scratch "$work"
    scratch "$new"
    phase "$profile" "asking the mirror for $SUITE"
    fetch_releases "$SUITE" "$work/releases"
    hash=$(state_hash "$inputs" "$work"/releases/*)
    if [ -f "$STORE/$profile-${hash:0:12}/manifest.json" ]; then
        point_at "$profile" "$STORE/$profile-${hash:0:12}"
        remove_scratch
        phase "$profile" "up to date: $(readlink -f "$STORE/$profile")"
        return 0
    fi
    SOURCE_DATE_EPOCH=$(release_date "$work"/releases/*)
    export SOURCE_DATE_EPOCH
    bootstrap_root "$profile" "$work"
    provision_root "$profile" "$work/root"
    hash=$(state_hash "$inputs" $(image_releases "$work/root"))
    make_disk "$profile" "$work" "$new/disk.qcow2" "$hash"
    phase "$profile" "writing the manifest"
    run python3 "$IMAGES/lib/manifest.py" disk --folder "$new" --inputs "$inputs" --hash "$hash" --profile "$profile" \
        --suite "$SUITE" --root "$work/root" --created "$SOURCE_DATE_EPOCH"
    publish "$profile" "$new" "$hash"
    remove_scratch
    phase "$profile" "done: $STORE/$profile -> $(readlink "$STORE/$profile")"
}

# state_hash INPUTS RELEASE...: what names the folder: everything in the repository plus the state of the archive.
state_hash() {
    local inputs=$1
    shift
    { echo "$inputs"; sha256sum -- "$@" | cut -c1-64 | LC_ALL=C sort; } | sha256sum | cut -c1-64
}

image_releases() {
    find "$1/var/lib/apt/lists" -maxdepth 1 -name '*InRelease' | LC_ALL=C sort
}

# bootstrap_root PROFILE WORK: Debian with the profile's packages in WORK/root.
bootstrap_root() {
    local profile=$1 work=$2 packages
    packages=$(package_list "$profile" | paste -sd,)
    archive_sources "$SUITE" >"$work/archive.sources"
    apt_settings 'http|https|Check-|Allow' >"$work/apt.conf"
    phase "$profile" "downloading and unpacking Debian $SUITE"
    run mmdebstrap --mode=root --variant=minbase --format=directory --architectures=amd64 \
        --include="$packages" --aptopt="$work/apt.conf" --aptopt='Acquire::Languages "none"' \
        --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Retries "2"' \
        --dpkgopt="$IMAGES/overlay/etc/dpkg/dpkg.cfg.d/capsule" --skip=cleanup/apt/lists \
        "$SUITE" "$work/root" "$work/archive.sources"
    install_archive_settings "$work"
}

# install_archive_settings WORK: the image keeps the mirror, and no other trace of how it was made.
install_archive_settings() {
    local root=$1/root apt=$1/root/etc/apt keyring
    rm -f "$apt/sources.list" "$apt"/sources.list.d/* "$apt/apt.conf.d/99mmdebstrap" "$root/etc/dpkg/dpkg.cfg.d/99mmdebstrap"
    install -m 0644 "$1/archive.sources" "$apt/sources.list.d/debian.sources"
    apt_settings 'Check-' >"$apt/apt.conf.d/10archive"
    [ -s "$apt/apt.conf.d/10archive" ] || rm "$apt/apt.conf.d/10archive"
    sed -n 's/^Signed-By: //p' "$1/archive.sources" | sort -u | while IFS= read -r keyring; do
        [ -e "$root$keyring" ] || install -D -m 0644 "$keyring" "$root$keyring"
    done
}

package_list() {
    sed 's/#.*//' "$IMAGES/profiles/$1/packages" | xargs -n 1
}

# provision_root PROFILE ROOT: runs the provisioning scripts inside, in namespaces of their own,
# so that no mount and no process outlives an interrupted build.
provision_root() {
    phase "$1" "provisioning"
    run unshare --mount --pid --fork --kill-child --propagation private \
        bash "$IMAGES/lib/enter.sh" "$2" "$IMAGES" "$1"
}
