# shellcheck shell=bash
# Artefact `kernel`: vmlinux and modules out of Debian's cloud kernel package. Nothing is installed here.
# Sourced by build.sh.

# shellcheck source=images/kernel/kernel.conf
. "$IMAGES/kernel/kernel.conf"

kernel_inputs() {
    hash_of_inputs "$(archive_sources "$KERNEL_SUITE")" lib/kernel.sh lib/vmlinux.py lib/modules.py lib/manifest.py \
        kernel/modules kernel/kernel.conf
}

build_kernel() {
    local inputs current
    require_tools depmod:kmod zstd:zstd dpkg-deb:dpkg python3:python3-minimal flock:util-linux
    inputs=$(kernel_inputs) || exit 1
    lock kernel
    if [ -z "$REFRESH" ] && current=$(published kernel "$inputs"); then
        phase kernel "up to date: $current"
    else
        make_kernel "$inputs"
    fi
    unlock
}

make_kernel() {
    local inputs=$1 work=$CACHE/build-kernel new=$STORE/.building-kernel package hash version
    require_space "$STORE" 300 "the kernel"
    require_space "$CACHE" 500 "the kernel"
    log_to "$CACHE/log/kernel.log"
    scratch "$work"
    scratch "$new"
    fetch_kernel_package
    package=$(kernel_package)
    hash=$(cat <(echo "$inputs") "$package" | sha256sum | cut -c1-64)
    phase kernel "unpacking $(basename "$package")"
    unpack_kernel "$package" "$work/root"
    version=$(kernel_version "$work/root")
    phase kernel "extracting vmlinux and modules of $version"
    run python3 "$IMAGES/lib/vmlinux.py" extract "$work/root/boot/vmlinuz-$version" "$new/vmlinux"
    run python3 "$IMAGES/lib/modules.py" --list "$IMAGES/kernel/modules" \
        --from "$work/root/usr/lib/modules/$version" --to "$new/modules"
    run python3 "$IMAGES/lib/manifest.py" kernel --folder "$new" --inputs "$inputs" --hash "$hash" \
        --suite "$KERNEL_SUITE" --version "$version" --package "$package" \
        --created "$(stat -c %Y "$work/root/boot/vmlinuz-$version")"
    publish kernel "$new" "$hash"
    remove_scratch
    phase kernel "done: $STORE/kernel -> $(readlink "$STORE/kernel")"
}

# fetch_kernel_package: the package the metapackage stands for, verified by apt, into the cache.
fetch_kernel_package() {
    local folder=$CACHE/kernel name
    require_tools apt-get:apt
    lock kernel-package
    fetch_releases "$KERNEL_SUITE" "$CACHE/apt/$KERNEL_SUITE/releases"
    phase kernel "reading the package lists of $KERNEL_SUITE"
    mkdir -p "$CACHE/apt/$KERNEL_SUITE/sources" "$folder"
    archive_sources "$KERNEL_SUITE" >"$CACHE/apt/$KERNEL_SUITE/sources/archive.sources"
    run private_apt "$KERNEL_SUITE" apt-get update --error-on=any
    name=$(private_apt "$KERNEL_SUITE" apt-cache show --no-all-versions "$KERNEL_METAPACKAGE" |
        sed -n 's/^Depends: \([^ ,]*\).*/\1/p')
    [ -n "$name" ] || fail "no package $KERNEL_METAPACKAGE in $KERNEL_SUITE" "$CACHE/apt/$KERNEL_SUITE" \
        "use a mirror that has the whole archive"
    if ! [ -f "$folder/name" ] || [ "$(cat "$folder/name")" != "$(kernel_candidate "$name")" ] || ! kernel_package >/dev/null; then
        phase kernel "downloading $name"
        rm -f "$folder"/*
        (cd "$folder" && run private_apt "$KERNEL_SUITE" apt-get download "$name")
        kernel_candidate "$name" >"$folder/name"
    fi
    unlock
}

# kernel_candidate NAME: name and checksum of the version apt would take.
kernel_candidate() {
    private_apt "$KERNEL_SUITE" apt-cache show --no-all-versions "$1" | grep -E '^(Package|Version|SHA256):'
}

# kernel_package: the downloaded package, if there is one.
kernel_package() {
    local file
    for file in "$CACHE"/kernel/*.deb; do
        [ -f "$file" ] && printf '%s\n' "$file" && return 0
    done
    return 1
}

unpack_kernel() {
    mkdir -p "$2"
    run dpkg-deb -x "$1" "$2"
    if [ -d "$2/lib/modules" ]; then
        mkdir -p "$2/usr/lib"
        mv "$2/lib/modules" "$2/usr/lib/"
    fi
    run depmod -b "$2/usr" "$(kernel_version "$2")"
}

kernel_version() {
    (cd "$1/usr/lib/modules" && echo *)
}
