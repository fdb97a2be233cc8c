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
