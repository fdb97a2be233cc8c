# shellcheck shell=bash
# Files of overlay/ (and of the profile's own overlay/) over those of the packages, root-owned, 0644 or 0755.
for overlay in "$BUILD/overlay" "$BUILD/profiles/$PROFILE/overlay"; do
    [ -d "$overlay" ] || continue
    find "$overlay" -type f -printf '%P\n' | while IFS= read -r file; do
        mode=0644
        [ ! -x "$overlay/$file" ] || mode=0755
        install -D -o root -g root -m "$mode" "$overlay/$file" "/$file"
    done
done
