# shellcheck shell=bash
# What only the builder needed goes, with what came along for it: after that the disk has the same packages as one that
# was provisioned in a folder. The shell that runs this lives on: its connection needs no new process of the package's.
# Recommended by something that stays is no reason to stay: recommendations are not installed either.
apt-get purge -y --autoremove -o APT::AutoRemove::RecommendsImportant=false -o APT::AutoRemove::SuggestsImportant=false openssh-server
rm -rf /etc/ssh/sshd_config.d /var/lib/capsule-builder
[ -n "$(ls -A /etc/ssh 2>/dev/null)" ] || rm -rf /etc/ssh
