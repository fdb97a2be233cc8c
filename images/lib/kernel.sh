# shellcheck shell=bash
# Artefact `kernel`: vmlinux and modules out of Debian's cloud kernel package. Nothing is installed here.
# Sourced by build.sh.

# shellcheck source=images/kernel/kernel.conf
. "$IMAGES/kernel/kernel.conf"

kernel_inputs() {
    local sources
    sources=$(archive_sources "$KERNEL_SUITE") || exit 1
    hash_of_inputs "$sources" lib/kernel.sh lib/vmlinux.py lib/modules.py lib/manifest.py kernel/modules kernel/kernel.conf
}

build_kernel() {
    local inputs current
    inputs=$(kernel_inputs) || exit 1
    lock kernel "$STORE/.lock-kernel"
    if [ -z "$REFRESH" ] && current=$(published kernel "$inputs"); then
        phase kernel "up to date: $current"
    else
        make_kernel "$inputs"
    fi
    unlock kernel
}

make_kernel() {
    local inputs=$1 work=$CACHE/build-kernel new=$STORE/.building-kernel package hash version
    require_tools depmod:kmod zstd:zstd dpkg-deb:dpkg apt-get:apt
    require_space "$STORE" 200 "the kernel"
    require_space "$CACHE" 400 "the kernel"
    log_to "$CACHE/log/kernel.log"
    scratch "$work"
    scratch "$new"
    fetch_kernel_package kernel
    package=$(kernel_package)
    hash=$({ echo "$inputs"; cat "$package"; } | digest)
    if [ -f "$STORE/kernel-${hash:0:12}/manifest.json" ]; then
        point_at kernel "$STORE/kernel-${hash:0:12}"
        phase kernel "up to date: $(readlink -f "$STORE/kernel")"
    else
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
    fi
    remove_scratch
}

# fetch_kernel_package FOR: the package that the metapackage stands for, verified by apt, into the cache.
fetch_kernel_package() {
    local folder=$CACHE/kernel apt=$CACHE/apt/$KERNEL_SUITE name wanted
    mkdir -p "$folder"
    lock kernel-package "$CACHE/.lock-kernel-package"
    phase "$1" "asking the mirror for $KERNEL_SUITE"
    fetch_releases "$KERNEL_SUITE" "$apt/releases"
    private_apt "$KERNEL_SUITE" "$apt/apt.conf"
    run apt-get -c "$apt/apt.conf" update --error-on=any
    name=$(package_field "$apt/apt.conf" "$KERNEL_METAPACKAGE" Depends | sed 's/[ ,].*//')
    wanted=$(package_field "$apt/apt.conf" "$name" SHA256)
    [ -n "$wanted" ] || fail "the mirror has no package $KERNEL_METAPACKAGE in $KERNEL_SUITE" "$apt/sources/archive.sources" \
        "use a mirror with the whole archive: other apt sources can be given with --apt-sources"
    if [ "$(kernel_package | xargs -r cat | digest)" != "$wanted" ]; then
        phase "$1" "downloading $name"
        rm -f "$folder"/*
        run env --chdir="$folder" apt-get -c "$apt/apt.conf" download "$name"
    fi
    unlock kernel-package
}

# package_field SETTINGS NAME FIELD: of the version that apt would take.
package_field() {
    apt-cache -c "$1" show --no-all-versions "$2" | sed -n "s/^$3: //p"
}

# kernel_package: the downloaded package, if there is one.
kernel_package() {
    find "$CACHE/kernel" -name '*.deb' 2>/dev/null | head -n 1
}

# unpack_kernel PACKAGE FOLDER: `FOLDER/boot` and `FOLDER/usr/lib/modules`, with the dependencies worked out.
unpack_kernel() {
    mkdir -p "$2"
    run dpkg-deb -x "$1" "$2"
    run depmod -b "$2/usr" "$(kernel_version "$2")"
}

kernel_version() {
    (cd "$1/usr/lib/modules" && echo *)
}
