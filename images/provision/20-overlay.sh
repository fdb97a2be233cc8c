# shellcheck shell=bash
# Files of overlay/ (and of the profile's own overlay/) over those of the packages, root-owned, 0644 or 0755.
for overlay in "$BUILD/overlay" "$BUILD/profiles/$PROFILE/overlay"; do
    [ -d "$overlay" ] || continue
    cd "$overlay"
    find . -type f | LC_ALL=C sort | while IFS= read -r file; do
        mode=0644
        [ ! -x "$file" ] || mode=0755
        install -D -o root -g root -m "$mode" "$file" "/$file"
    done
done
cd /
