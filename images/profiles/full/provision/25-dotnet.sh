# shellcheck shell=bash
# The .NET SDK as it is published, if it could be had (manifest.json tells why if not).
if [ -f "$ARCHIVES/dotnet.tgz" ]; then
    mkdir -p /usr/lib/dotnet /etc/dotnet
    tar -xzf "$ARCHIVES/dotnet.tgz" -C /usr/lib/dotnet --no-same-owner
    ln -sf ../lib/dotnet/dotnet /usr/bin/dotnet
    echo /usr/lib/dotnet >/etc/dotnet/install_location
    printf '%s\n' DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 >>/etc/capsule/environment
    DOTNET_CLI_HOME=/tmp DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 dotnet --version
fi
