# shellcheck shell=bash disable=SC2153
# Artefact of a profile: a Debian disk made by mmdebstrap, the provisioning scripts and libguestfs.
# Sourced by build.sh. SUITE, DISK_SIZE and BUILD_SPACE_MIB come from the profile's profile.conf.

profile_inputs() {
    local profile=$1 sources files settings
    sources=$(archive_sources "$SUITE") || exit 1
    settings=$(archive_settings "$profile")
    mapfile -t files < <(cd "$IMAGES" && find overlay provision "profiles/$profile" -type f)
    hash_of_inputs "$sources$(apt_settings 'Check-')$settings" lib/profile.sh lib/archives.sh lib/archives.py lib/disk.sh lib/enter.sh lib/manifest.py lib/sources.py "${files[@]}"
}

build_profile() {
    local profile=$1 inputs current
    # shellcheck source=images/profiles/base/profile.conf
    . "$IMAGES/profiles/$profile/profile.conf"
    inputs=$(profile_inputs "$profile") || exit 1
    lock "$profile" "$STORE/.lock-$profile"
    # What was missing last time may be there now.
    if [ -z "$REFRESH" ] && current=$(published "$profile" "$inputs") && ! has_missing "$current/manifest.json"; then
        phase "$profile" "up to date: $current"
    else
        make_profile "$profile" "$inputs"
    fi
    unlock "$profile"
    report_missing "$profile" "$STORE/$profile/manifest.json"
}

make_profile() {
    local profile=$1 inputs=$2 work=$CACHE/build-$1 new=$STORE/.building-$1 hash
    require_tools mmdebstrap:mmdebstrap guestfish:libguestfs-tools qemu-img:qemu-utils qemu-system-x86_64:qemu-system-x86 \
        depmod:kmod dpkg-deb:dpkg apt-get:apt e2fsck:e2fsprogs tar:tar
    require_space "$STORE" "$BUILD_SPACE_MIB" "profile $profile"
    require_space "$CACHE" "$BUILD_SPACE_MIB" "profile $profile"
    log_to "$CACHE/log/$profile.log"
    lock work "$CACHE/.lock-$profile"
    scratch "$work"
    scratch "$new"
    phase "$profile" "asking the mirror for $SUITE"
    fetch_releases "$SUITE" "$work/releases"
    fetch_archives "$profile" "$work/archives"
    hash=$(state_hash "$inputs" "$work/releases" "$work/archives")
    if [ -f "$STORE/$profile-${hash:0:12}/manifest.json" ]; then
        point_at "$profile" "$STORE/$profile-${hash:0:12}"
        phase "$profile" "up to date: $(readlink -f "$STORE/$profile")"
    else
        SOURCE_DATE_EPOCH=$(release_date "$work"/releases/*)
        export SOURCE_DATE_EPOCH
        bootstrap_root "$profile" "$work"
        provision_root "$profile" "$work"
        hash=$(state_hash "$inputs" "$work/root/var/lib/apt/lists" "$work/archives")
        make_disk "$profile" "$work" "$new/disk.qcow2" "$hash"
        phase "$profile" "writing the manifest"
        run python3 "$IMAGES/lib/manifest.py" disk --folder "$new" --inputs "$inputs" --hash "$hash" --profile "$profile" \
            --suite "$SUITE" --root "$work/root" --archives "$work/archives/archives.json" --created "$SOURCE_DATE_EPOCH"
        publish "$profile" "$new" "$hash"
    fi
    remove_scratch
    unlock work
}

# state_hash INPUTS FOLDER ARCHIVES: what names an artefact: all that is in the repository, the state of the archive as
# the signed indexes in the folder say, and what came from elsewhere.
state_hash() {
    {
        echo "$1"
        cat "$3/archives.json"
        find "$2" -maxdepth 1 -name '*InRelease' -exec sha256sum {} + | cut -c1-64 | LC_ALL=C sort
    } | digest
}

# bootstrap_root PROFILE WORK [PACKAGES]: Debian in WORK/root, with the profile's packages or others.
bootstrap_root() {
    local profile=$1 work=$2 packages=${3:-$(package_list "$1")}
    archive_sources "$SUITE" >"$work/archive.sources"
    {
        apt_settings 'http|https|Check-|Allow'
        printf 'Dir::Etc::netrc "/etc/apt/auth.conf";\nDir::Etc::netrcparts "/etc/apt/auth.conf.d";\n'
    } >"$work/apt.conf"
    phase "$profile" "preparing Debian $SUITE"
    FOLLOW=$profile run_apart mmdebstrap --mode=root --variant=minbase --format=directory --architectures=amd64 \
        --include="$packages" --skip=cleanup/apt/lists \
        --aptopt="$work/apt.conf" --aptopt='Acquire::Languages "none"' --aptopt='APT::Install-Recommends "false"' \
        --aptopt='Acquire::Retries "2"' --dpkgopt="$IMAGES/overlay/etc/dpkg/dpkg.cfg.d/capsule" \
        "$SUITE" "$work/root" "$work/archive.sources"
    keep_archive_settings "$work"
}

# keep_archive_settings WORK: the image keeps the mirror and its keys, and no other trace of how it was made.
keep_archive_settings() {
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
    sed 's/#.*//' "$IMAGES/profiles/$1/packages" | xargs -n 1 | paste -sd,
}

# provision_root PROFILE WORK: runs the provisioning scripts inside WORK/root.
provision_root() {
    phase "$1" "provisioning"
    run_apart bash "$IMAGES/lib/enter.sh" "$2/root" "$IMAGES" "$2/archives" "$1"
}
