# shellcheck shell=bash
# The user whose commands run when a capsule names no other.
if ! id maitento >/dev/null 2>&1; then
    groupadd --gid 1000 maitento
    useradd --uid 1000 --gid 1000 --create-home --home-dir /home/maitento --shell /bin/bash maitento
fi
