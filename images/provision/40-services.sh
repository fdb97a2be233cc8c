# shellcheck shell=bash
# No init system runs in a capsule: nothing is enabled, and packages that would start a service are told no.
rm -rf /etc/systemd/system/*.wants
mkdir -p /etc/systemd/system
for timer in apt-daily apt-daily-upgrade dpkg-db-backup e2scrub_all fstrim; do
    ln -sf /dev/null "/etc/systemd/system/$timer.timer"
done
