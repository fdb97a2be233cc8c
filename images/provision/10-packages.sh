# shellcheck shell=bash
# The profile's packages, those that the disk does not have yet.
missing=()
wanted=$(sed 's/#.*//' "$BUILD/profiles/$PROFILE/packages")
for package in $wanted; do
    dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
    apt-get install -y --no-install-recommends "${missing[@]}"
fi
# Not only because another package needs it: that one may go.
# shellcheck disable=SC2086  # names
[ -z "$wanted" ] || apt-mark manual $wanted >/dev/null
