"""What people use the network for, with the programs they use: curl, git, pip and npm through the capsule's proxy,
against a server at a public address (public_server.py), and by name where this machine reaches the outside."""

import functools
import hashlib
import ipaddress
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import urllib.parse

from cases import Skip, case, shared_host
from harness import IMAGES, ROOT, Host, Run, expect
from public_server import PublicServer

sys.path.insert(0, str(ROOT / "images" / "lib"))
import archives

# What this machine trusts: its way to the outside may have an authority of its own.
AUTHORITIES = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")
FULL = (IMAGES / "full").exists()
PACKAGES = ("curl", "git", "python3-pip")


def allowances(*names):
    """Options of a daemon that may connect to these hosts. Where a name of the outside has an address that is not public,
    the operator has to allow it, as for any mirror of one's own."""
    for name in names:
        try:
            found = {entry[4][0] for entry in socket.getaddrinfo(name, 443, type=socket.SOCK_STREAM)}
        except OSError:
            continue
        for address in found:
            if not ipaddress.ip_address(address).is_global:
                yield from ("--egress-allow", address)


def up(host, name, network, more):
    host.deploy(**{name: f'maxDuration = "01:00:00"\nresources = {{ memory = "1G" }}\nnetwork = "{network}"\n{more}'})
    run = host.wait_run(host.start_run(name)["id"], "started", limit=1200)
    expect(run["status"], "Running", str(run))
    return Run(host, run["id"])


def trust(run):
    # What update-ca-certificates comes to, which takes minutes under software emulation.
    run.ok("cat /mnt/tools/ca.pem >> /etc/ssl/certs/ca-certificates.crt", user="root")


def fetched(command):
    assert command.get("exitCode") == 0, command
    return command["outputStandard"]


def refused(command, *reasons):
    """It failed, and said why in words that have all of `reasons` in them."""
    assert command.get("exitCode") not in (0, None), command
    text = command["outputStandard"] + command["outputError"]
    assert all(reason in text for reason in reasons), (reasons, command)


TOOLS = 'vfs = [ { vfs = @ref("tools") mountName = "tools" } ]\n'
# The files of every package that the image does not have, for machines that may not fetch any.
PACK = """
dpkg-query -W -f '${Package}\\n' | sort -u > /tmp/all
sort -u /mnt/tools/packages | comm -13 - /tmp/all | xargs dpkg -L | sort -u | while read -r path; do
    if [ -L "$path" ] || [ -f "$path" ]; then echo "$path"; fi
done | tar -C / -cf /mnt/tools/tools.tar -P -T -
"""


@case("internet-tools", "curl, git and pip: through the proxy under internet, refused with a reason under none and packages",
      long=True)
def internet_tools():
    manifest = json.loads((IMAGES / "base" / "manifest.json").read_text())
    source = next(source for source in manifest["aptSources"] if source["scheme"] == "http" and source["port"] == 80)
    mirror = f"{source['host']}{source['path']}dists/{source['suite']}/Release"
    with PublicServer() as server:
        host = Host(*allowances(source["host"])).start()
        try:
            host.vfs("tools", {"/ca.pem": server.authority, "/outside.pem": AUTHORITIES.read_bytes(),
                               "/packages": "\n".join(package["name"] for package in manifest["packages"])})
            image = 'image = "full"\n' if FULL else f"packages = {json.dumps(PACKAGES)}\n"
            run = up(host, "tools", "internet", TOOLS + image)
            uses_curl(server, run)
            uses_git_and_pip(server, run)
            for line in (f"allowed run={run.id} method=GET host={server.address} port=80",
                         f"allowed run={run.id} method=CONNECT host={server.address} port=443"):
                assert line in host.log_text(), f"the daemon's log lacks {line!r}"
            # By name, which the proxy looks up: the Debian mirror, where this machine itself reaches it.
            for scheme, bundle in (("http", []), ("https", ["--cacert", "/mnt/tools/outside.pem"])):
                if subprocess.run(["curl", "-sSf", "-m", "20", "-o", "/dev/null", f"{scheme}://{mirror}"],
                                  capture_output=True).returncode != 0:
                    print(f"     the Debian mirror was left out: it does not serve {scheme} to this machine")
                    continue
                run.ok("curl", ["-sSf", *bundle, "-o", "/tmp/release", f"{scheme}://{mirror}"])
                assert "Debian" in run.ok("grep ^Origin: /tmp/release; rm /tmp/release"), scheme
            if not FULL:
                run.ok(PACK, user="root", wait=300)
            run.terminate()
            before = len(server.requests())
            for network in ("none", "packages"):
                more = TOOLS + ('image = "full"\n' if FULL else "")
                refuses_tools(server, up(host, f"closed-{network}", network, more), network)
            expect(len(server.requests()), before, "requests that came through a closed network")
        finally:
            host.close()


def uses_curl(server, run):
    digest = hashlib.sha256(server.blob).hexdigest()
    untrusted = run.exec("curl", ["-sS", server.url("blob")])
    expect(untrusted["exitCode"], 60, f"a certificate that nobody vouches for: {untrusted}")
    trust(run)
    for scheme in ("http", "https"):
        expect(run.ok("sh", ["-c", 'curl -sSf "$1" | sha256sum', "-", server.url("blob", scheme)]).split()[0], digest, scheme)
        asked = server.requests()[-1]
        expect((asked["scheme"], asked["path"], asked["status"]), (scheme, "/blob", 200))
        # What is plain goes through the proxy's hands; inside TLS it is between the two ends.
        expect(asked["via"], "1.1 capsule-egress" if scheme == "http" else "")
        sent = run.ok("sh", ["-c", 'curl -sSf "$1" -o /tmp/blob && curl -sSf --data-binary @/tmp/blob "$1"', "-",
                             server.url("blob", scheme)])
        expect(sent, digest, f"upload by {scheme}")
        missing = run.exec("curl", ["-sSf", server.url("no-such-file", scheme)])
        refused(missing, "404")
    # Without the proxy there is no way at all.
    expect(run.exec("curl", ["-sS", "--noproxy", "*", server.url("blob", "http")])["exitCode"], 7)


def uses_git_and_pip(server, run):
    run.ok("git", ["clone", "-q", server.url("hello.git"), "/tmp/hello"], wait=300)
    expect(run.ok("cat /tmp/hello/hello.txt; git -C /tmp/hello log --format=%s; sha256sum < /tmp/hello/blob"),
           f"hello from git\nSay hello\n{hashlib.sha256(server.blob).hexdigest()}  -\n")
    run.ok("pip", ["install", "-q", "--break-system-packages", "--index-url", server.url("simple/"), "capsule-hello"],
           wait=300)
    expect(run.ok("python3", ["-c", "import capsule_hello; print(capsule_hello.TEXT)"]), "hello from pip\n")


def refuses_tools(server, run, network):
    if not FULL:
        run.ok("tar -C / -xPf /mnt/tools/tools.tar", user="root", wait=300)
    if network == "none":
        # There is no proxy, and the settings that would name it are not made.
        refused(run.exec("curl", ["-sS", "-x", "http://127.0.0.1:3128", server.url("blob")]), "127.0.0.1 port 3128")
        tunnel, reason = f"Failed to connect to {server.address} port 443", "Network is unreachable"
    else:
        refused(run.exec("curl", ["-sS", "--fail-with-body", server.url("blob", "http")]),
                "403 Forbidden (capsule-egress)", 'network = "packages"', 'network = "internet"')
        tunnel, reason = "CONNECT tunnel failed, response 403", "403 Forbidden"
    refused(run.exec("curl", ["-sS", server.url("blob")]), tunnel)
    refused(run.exec("git", ["clone", server.url("hello.git"), "/tmp/hello"]), tunnel)
    # pip says why when it tries again, and only then.
    refused(run.exec("pip", ["install", "--break-system-packages", "--retries", "1", "--index-url", server.url("simple/"),
                             "capsule-hello"], wait=300), reason)
    run.terminate()


@functools.cache
def node_archives():
    """Node.js and npm as the image full takes them, for a machine that has only base."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, where, _, what in archives.wanted(ROOT / "images" / "profiles" / "full" / "archives"):
            if where == "npm":
                try:
                    archives.from_npm(what.strip(), f"{folder}/{name}.tgz")
                except (OSError, archives.OutOfReach) as error:
                    raise Skip(f"there is no image full here, and npm cannot be fetched: {error}") from error
                found[f"/{name}.tgz"] = pathlib.Path(folder, f"{name}.tgz").read_bytes()
    return found


def up_with_npm(host, name, network):
    if FULL:
        return up(host, name, network, TOOLS + 'image = "full"\n')
    host.vfs("tools", node_archives())
    run = up(host, name, network, TOOLS)
    run.ok("cd /usr/local && tar -xzf /mnt/tools/node.tgz --strip-components=1 --no-same-owner package/bin && mkdir npm && "
           "tar -xzf /mnt/tools/npm.tgz -C npm --strip-components=1 --no-same-owner package && chmod 755 bin/node && "
           "ln -s ../npm/bin/npm-cli.js bin/npm && chmod 755 npm/bin/npm-cli.js", user="root", wait=300)
    return run


@case("internet-npm", "npm: through the proxy under internet, refused with a reason under none and packages", long=True)
def internet_npm():
    host = shared_host()
    with PublicServer() as server:
        host.vfs("tools", {"/ca.pem": server.authority})
        install = ["install", "--no-audit", "--no-fund", "--fetch-retries=0", "--registry", server.url("npm/"), "capsule-hello"]
        settings = {"environment": {"npm_config_cafile": "/mnt/tools/ca.pem"}, "wait": 300}
        run = up_with_npm(host, "npm", "internet")
        fetched(run.exec("npm", install, **settings))
        expect(run.ok("node", ["-p", "require('capsule-hello')"]), "hello from npm\n")
        # Node.js's own fetch takes the proxy too.
        expect(run.ok("node", ["-e", "fetch(process.argv[1]).then(a => a.text()).then(t => console.log(t.length))",
                               server.url("blob", "http")]).strip().isdigit(), True)
        expect(server.requests()[-1]["path"], "/blob")
        run.terminate()
        before = len(server.requests())
        for network, why in (("none", "ENETUNREACH"), ("packages", "403")):
            run = up_with_npm(host, f"npm-{network}", network)
            refused(run.exec("npm", install, **settings), why)
            run.terminate()
        expect(len(server.requests()), before, "requests that came through a closed network")


@case("internet-registry", "npm installs a package from the registry this machine itself uses, by its name", long=True)
def internet_registry():
    try:
        registry = subprocess.run(["npm", "config", "get", "registry"], capture_output=True, text=True, timeout=60).stdout.strip()
        probe = subprocess.run(["npm", "view", "is-number@7.0.0", "version", "--fetch-retries=0"], capture_output=True,
                               text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Skip(f"npm does not work on this machine: {error}") from error
    if probe.stdout.strip() != "7.0.0":
        raise Skip(f"this machine does not reach its npm registry: {probe.stderr.strip()[-200:]}")
    host = Host(*allowances(urllib.parse.urlsplit(registry).hostname)).start()
    try:
        host.vfs("tools", {"/outside.pem": AUTHORITIES.read_bytes()})
        run = up_with_npm(host, "registry", "internet")
        fetched(run.exec("npm", ["install", "--no-audit", "--no-fund", "--registry", registry, "is-number@7.0.0"], wait=300,
                         environment={"npm_config_cafile": "/mnt/tools/outside.pem"}))
        expect(run.ok("node", ["-p", "require('is-number')('5')"]), "true\n")
    finally:
        host.close()
