# shellcheck shell=bash
# Nothing of the build stays, and apt starts without having to parse its lists first.
apt-get clean
rm -rf /var/log/* /var/cache/debconf/*-old /var/lib/dpkg/*-old /tmp/* /var/tmp/* /etc/passwd- /etc/group- \
    /etc/shadow- /etc/gshadow- /var/lib/systemd /var/lib/dbus/machine-id /etc/ssh/ssh_host_*
mkdir -p /var/log/apt
: >/etc/machine-id
find /usr/share/doc -mindepth 1 ! -type d ! -name copyright -delete
find /usr/share/doc -mindepth 1 -type d -empty -delete
find /usr/share/man /usr/share/info /usr/share/locale /var/cache/man -mindepth 1 ! -type d -delete 2>/dev/null || true
find / -xdev -name __pycache__ -path '/usr/lib/python3*' -prune -false -o -xdev -newermt "@$SOURCE_DATE_EPOCH" \
    -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +
apt-cache gencaches
