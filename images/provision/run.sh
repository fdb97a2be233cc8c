#!/bin/bash
# Runs the provisioning scripts inside the image, in the order of their numbers: run.sh PROFILE.
# A profile adds its own in profiles/PROFILE/provision/. The folder that holds provision/ may be anywhere;
# $ARCHIVES holds what the profile takes from elsewhere than Debian (lib/archives.py).
set -euo pipefail
export PROFILE=$1
BUILD=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export BUILD ARCHIVES=${ARCHIVES:-$BUILD/archives} SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(date +%s)} DEBIAN_FRONTEND=noninteractive

find "$BUILD/provision" "$BUILD/profiles/$PROFILE" -name '[0-9][0-9]-*.sh' -printf '%f %p\n' | LC_ALL=C sort |
    while read -r name path; do
        echo "provision: $name"
        bash -euo pipefail "$path" </dev/null
    done
