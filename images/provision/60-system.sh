# shellcheck shell=bash
# What an init system or an installer would have set up. No DNS: a look-up of any name but the machine's own fails at
# once (see overlay/etc/resolv.conf for programs that do not ask the name service switch).
sed -i 's/^hosts:.*/hosts:          files/' /etc/nsswitch.conf
ln -sf capsule/environment /etc/environment
ln -sf ../proc/self/mounts /etc/mtab
