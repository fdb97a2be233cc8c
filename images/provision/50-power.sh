# shellcheck shell=bash
# The commands that end the machine stay ours even when an init system's package is installed later.
for name in poweroff reboot halt shutdown; do
    dpkg-divert --quiet --local --no-rename --add --divert "/sbin/$name.packaged" "/sbin/$name"
done
for name in reboot halt shutdown; do
    ln -sf poweroff "/usr/sbin/$name"
done
