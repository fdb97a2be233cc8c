# shellcheck shell=bash
# The profile's packages, where the machine does not have them yet.
missing=()
for package in $(sed 's/#.*//' "$BUILD/profiles/$PROFILE/packages"); do
    dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] || apt-get install -y --no-install-recommends "${missing[@]}"
