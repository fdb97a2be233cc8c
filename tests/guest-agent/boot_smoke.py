#!/usr/bin/env python3
"""Boots a real agent in QEMU with the images of a store and runs it through what only a real machine shows.

    tests/guest-agent/boot_smoke.py --agent build/bin/capsule-agent [--store /var/lib/capsuled/images] [--only NAME]

Needs qemu-system-x86_64, qemu-img and the store's `kernel` and `base`. Software emulation, one CPU. Prints one line per
check and ends with 1 when one failed.
"""

import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agent_client import ERROR, OUTPUT, AgentClient, LinkError  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


class Machine:
    """One QEMU with the agent, and a connection to it."""

    def __init__(self, options, folder, disk_gib=None, words=""):
        self.folder = folder
        self.console_path = os.path.join(folder, "console.log")
        link = os.path.join(folder, "link.sock")
        overlay = os.path.join(folder, "overlay.qcow2")
        base = os.path.realpath(os.path.join(options.store, "base/disk.qcow2"))
        kernel = os.path.realpath(os.path.join(options.store, "kernel/vmlinux"))
        size = [f"{disk_gib}G"] if disk_gib else []
        subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", base, overlay] + size, check=True)
        command = [
            "qemu-system-x86_64", "-accel", "tcg", "-machine", "q35,hpet=off", "-cpu", "qemu64", "-smp", "1", "-m", str(options.memory),
            "-nodefaults", "-display", "none", "-no-reboot", "-kernel", kernel, "-initrd", options.initrd,
            "-append", f"console=ttyS0 quiet panic=-1 capsule.transport=serial {words}",
            "-serial", f"file:{self.console_path}",
            "-drive", f"file={overlay},if=none,id=root,cache=unsafe", "-device", "virtio-blk-pci,drive=root",
            "-device", "virtio-serial-pci", "-chardev", f"socket,id=link,path={link},server=on,wait=off",
            "-device", "virtserialport,chardev=link,name=org.capsule.agent.0", "-device", "virtio-rng-pci",
        ]
        command += options.qemu
        self.started = time.monotonic()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        self.link = link
        self.client = None

    def connect(self):
        while True:
            try:
                sock = socket.socket(socket.AF_UNIX)
                sock.connect(self.link)
                break
            except OSError:
                sock.close()
                if self.process.poll() is not None:
                    raise LinkError("QEMU has ended") from None
                time.sleep(0.005)
        self.client = AgentClient(sock)
        self.client.connect()
        return time.monotonic() - self.started

    def configure(self, **members):
        members.setdefault("hostname", "capsule-smoke")
        members.setdefault("clock_unix_ns", time.time_ns())
        members.setdefault("deadline_ms", 600_000)
        self.client.call("machine.configure", commands_memory_max=0, commands_pids_max=members.pop("pids", 4096),
                         environment=[], proxy=members.pop("proxy", ""), run_id=members.pop("run_id", ""),
                         namespace_name="", **members)

    def console(self):
        with open(self.console_path, errors="replace") as file:
            return file.read()

    def wait_end(self, limit=30):
        self.process.wait(limit)

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def expect(found, wanted, what):
    if found != wanted:
        raise AssertionError(f"{what}: expected {wanted!r}, found {found!r}")


def output(report):
    return report["output"]["window"]


def error(report):
    return report["error"]["window"]


# ---- checks on one running machine ----------------------------------------------------------------


@check
def exit_codes(vm):
    run = vm.client.run
    expect([run("kill -9 $$")["code"], run("bash", "-c", "kill -SEGV $$")["code"], run("bash", "-c", "kill -TERM $$")["code"],
            run("sh", "-c", "exit 300")["code"], run("bash", "-c", "bash -c 'kill -SEGV $$'; exit $?")["code"],
            run("true")["code"], run("false")["code"]], [137, 139, 143, 44, 139, 0, 1], "codes")
    report = run("frobnicate-x1")
    expect((report["code"], error(report)), (127, "-bash: line 1: frobnicate-x1: command not found\n"), "not found")
    run("printf x > /tmp/plain.txt; chmod 644 /tmp/plain.txt")
    expect(run("/tmp/plain.txt")["code"], 126, "not executable")
    expect(run("/tmp")["code"], 126, "a folder")


@check
def users(vm):
    run = vm.client.run
    report = run("id -un; pwd; echo $HOME $USER $LOGNAME $SHELL; umask; nice; cat /proc/self/oom_score_adj; ulimit -n; cut -d' ' -f41 /proc/self/stat")
    expect(output(report), "maitento\n/home/maitento\n/home/maitento maitento maitento /bin/bash\n0022\n0\n0\n1024\n0\n", "maitento")
    expect(output(run("id -un; pwd; echo $PATH", user="root")),
           "root\n/root\n/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n", "root")
    report = run("id", user="nobody-here")
    expect((report["kind"], report["code"], error(report)),
           ("failedToStart", 126, "capsule: user 'nobody-here' does not exist\n"), "unknown user")
    expect(run("useradd -m -s /bin/bash builder", user="root")["code"], 0, "useradd")
    report = run("printf '%s|%s|%s|%s\\n' \"$HOME\" \"$USER\" \"$LOGNAME\" \"$(id -un)\"", user="builder")
    expect(output(report), "/home/builder|builder|builder|builder\n", "builder")
    report = run('echo a >&2; echo b > /dev/stderr; echo "rc $?" > /dev/stdout', user="builder")
    expect((output(report), error(report)), ("rc 0\n", "a\nb\n"), "reopened outputs")
    run('chmod 000 "$HOME"', user="builder")
    report = run("echo ok; pwd", user="builder")
    expect((report["code"], output(report)), (0, "ok\n/\n"), "closed home")
    expect(error(report), "capsule: /home/builder: Permission denied; starting in /\n", "warning")


@check
def surroundings(vm):
    run = vm.client.run
    expect(output(run("grep -E '^Sig(Blk|Ign)' /proc/self/status")), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n", "signals")
    expect(output(run("ls /proc/self/fd | tr '\\n' ' '")), "0 1 2 3 ", "descriptors")
    expect(output(run("cat /proc/self/cgroup")).startswith("0::/commands/"), True, "cgroup")
    report = run("python3", "-c", "import sys; print(sys.version_info[0], sys.stdin.read() == '')")
    expect((report["code"], output(report)), (0, "3 True\n"), "python")
    expect(output(run("hostname; getent hosts capsule-smoke | wc -l")), "capsule-smoke\n1\n", "host name")
    report = run("bash", "-c", "yes | head -n 1; echo ${PIPESTATUS[0]}")
    expect((output(report), error(report)), ("y\n141\n", ""), "SIGPIPE")
    report = run("mount | grep -c ' on /mnt/secrets '; stat -c %a /run /dev/shm /tmp; ip link show lo 2>/dev/null | head -1; cat /sys/class/net/lo/flags")
    expect(output(report).splitlines()[:4], ["1", "755", "1777", "1777"], "mounts")
    expect(output(report).splitlines()[-1], "0x9", "lo is up")
    report = run("python3", "-c", "import pty,os; m,s=pty.openpty(); print(os.ttyname(s).startswith('/dev/pts/'))")
    expect(output(report), "True\n", "pseudo-terminals")


@check
def outputs(vm):
    run = vm.client.run
    report = run("printf 'a\\xff\\xfeb\\x00c'")
    expect(output(report), "a\ufffd\ufffdb\0c", "binary")
    report = run("head -c 300000 /dev/urandom")
    expect((report["code"], len(output(report)), report["output"]["bytes"]), (0, 65536, 300000), "random")
    report = run("python3", "-c", "import sys; sys.stdout.write('\u20ac'*70000+'END')")
    expect((len(output(report)), report["output"]["characters"], output(report)[-4:]), (65536, 70003, "\u20acEND"), "characters")
    command = "3b6e2f6c-6f1f-4a7e-9b7e-000000000001"
    text = "head -c 3000000 /dev/zero | tr '\\0' x; echo fin >&2"
    stream = vm.client.start(text, id=command, hold_output=True)
    follow = vm.client.open("command.follow", id=command, output_from=0, error_from=0, lossless=True)
    vm.client.answer(follow)
    expect((len(follow.data[OUTPUT]), bytes(follow.data[ERROR]), follow.event("gap")), (3000000, b"fin\n", None), "followed")
    expect("ok" in vm.client.answer(stream), True, "ended")
    vm.client.call("command.forget", id=command)


@check
def limits(vm):
    run = vm.client.run
    begin = time.monotonic()
    report = run("bash", "-c", "trap '' TERM; (trap '' TERM; while :; do date >> /tmp/beat; sleep 1; done) & sleep 300", limit_ms=3000)
    took = time.monotonic() - begin
    expect((report["kind"], report["code"]), ("timedOut", 124), "limit")
    expect(2.9 < took < 9, True, f"limit after {took:.1f} s")
    first = output(run("wc -l < /tmp/beat"))
    time.sleep(2.5)
    expect(output(run("wc -l < /tmp/beat")), first, "the whole tree is gone")
    report = run("sh", "-c", "sleep 600 & echo started")
    expect((report["code"], output(report), report["output_open"]), (0, "started\n", True), "background child")
    stream = vm.client.start("sleep 300", id="3b6e2f6c-6f1f-4a7e-9b7e-000000000002")
    vm.client.call("command.signal", id="3b6e2f6c-6f1f-4a7e-9b7e-000000000002", number=9, tree=True)
    expect(vm.client.answer(stream)["ok"]["kind"], "killed", "killed")
    vm.client.call("command.forget", id="3b6e2f6c-6f1f-4a7e-9b7e-000000000002")
    report = run("python3", "-c", "pass", "A" * 200_000)
    expect((report["code"], "Argument list too long" in error(report)), (126, True), "one long argument")


@check
def memory(vm):
    report = vm.client.run("python3", "-c", "a=[]\nwhile True: a.append(b'x'*(16<<20))", limit_ms=120_000, limit=150)
    expect((report["kind"], report["code"]), ("outOfMemory", 137), "out of memory")
    expect(report["peak_memory_bytes"] > 64 << 20, True, f"peak {report.get('peak_memory_bytes')}")
    expect(output(vm.client.run("echo ok")), "ok\n", "after it")


@check
def fork_bomb(vm):
    vm.client.run("id sandbox || useradd -m -s /bin/bash sandbox", user="root")
    bomb = vm.client.start("python3", "-c", "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass", user="sandbox", limit_ms=10_000)
    begin = time.monotonic()
    vm.client.pump(lambda: bomb.event("exited"), 40)
    took = time.monotonic() - begin
    expect(bomb.event("exited")["kind"], "timedOut", "bomb")
    expect(took < 20, True, f"bomb took {took:.1f} s")
    begin = time.monotonic()
    expect(output(vm.client.run("echo ok")), "ok\n", "after it")
    print(f"    bomb ended after {took:.1f} s, next command {time.monotonic() - begin:.2f} s")
    expect(output(vm.client.run("pgrep -c python3 || true", user="root")), "0\n", "no python left")
    vm.client.answer(bomb)


@check
def zombies(vm):
    run = vm.client.run
    for _ in range(40):
        expect(run("bash", "-c", "(sleep 0.2 &) ; exit 0")["code"], 0, "orphan maker")
    time.sleep(2)
    expect(output(run("ps -eo stat= | grep -c '^Z' || true", user="root")), "0\n", "zombies")
    expect(output(run("ls /sys/fs/cgroup/commands | grep -c - ", user="root")), "1\n", "groups")


@check
def secrets_and_input(vm):
    stream = vm.client.open("secret.write", name="token", size=7)
    vm.client.data(stream, b"s3cret\n", last=True)
    vm.client.answer(stream)
    report = vm.client.run("cat /mnt/secrets/token; stat -c '%a %U' /mnt/secrets/token")
    expect(output(report), "s3cret\n400 maitento\n", "secret")
    command = "3b6e2f6c-6f1f-4a7e-9b7e-000000000003"
    start = vm.client.start("md5sum", id=command, input=True)
    feed = vm.client.open("command.input", id=command)
    vm.client.data(feed, b"x" * 1_000_000, last=True)
    report = vm.client.answer(start)["ok"]
    expect(output(report), "0d0c9c4db6953fee9e03f528cafd7d3e  -\n", "a megabyte of input")
    vm.client.call("command.forget", id=command)


@check
def terminal(vm):
    command = "3b6e2f6c-6f1f-4a7e-9b7e-000000000004"
    start = vm.client.start("tty; stty size; read line; echo got $line; sleep 100", id=command, terminal={"rows": 30, "columns": 100})
    follow = vm.client.open("command.follow", id=command, lossless=True)
    feed = vm.client.open("command.input", id=command)
    vm.client.pump(lambda: b"30 100" in follow.data[OUTPUT])
    vm.client.data(feed, b"hello\n")
    vm.client.pump(lambda: b"got hello" in follow.data[OUTPUT])
    vm.client.data(feed, b"\x03")
    report = vm.client.answer(start)["ok"]
    expect(report["code"], 130, "Ctrl-C")
    expect(output(report).startswith("/dev/pts/"), True, "tty")
    vm.client.call("command.forget", id=command)


@check
def numbers(vm):
    """No judgement but on size and memory: prints what the agent costs."""
    run = vm.client.run
    for name, members in (("shell, maitento", {"text": "true"}), ("program, maitento", {"text": None, "program": "true"}),
                          ("shell, root", {"text": "true", "user": "root"})):
        times = []
        for _ in range(15):
            begin = time.monotonic()
            run(**members)
            times.append((time.monotonic() - begin) * 1000)
        print(f"    round trip of true ({name}): median {statistics.median(times):.1f} ms, least {min(times):.1f} ms")
    times = []
    for _ in range(50):
        begin = time.monotonic()
        try:
            vm.client.call("command.state", id="none")
        except LinkError:
            pass
        times.append((time.monotonic() - begin) * 1000)
    print(f"    round trip of a call: median {statistics.median(times):.2f} ms, least {min(times):.2f} ms")
    begin = time.monotonic()
    report = run("head -c 67108864 /dev/zero", limit=200)
    took = time.monotonic() - begin
    expect(report["output"]["bytes"], 67108864, "64 MiB")
    print(f"    64 MiB of output, nobody follows: {took:.1f} s, {64 / took:.0f} MiB/s")
    status = output(run("grep -E '^(VmRSS|RssAnon|RssFile|VmHWM)' /proc/1/status; ls /proc/1/fd | wc -l", user="root"))
    print("    agent: " + status.replace("\n", "; ").replace("\t", " "))
    rss = int(status.split("VmRSS:")[1].split()[0])
    expect(rss < 8192, True, f"resident {rss} KiB")


@check
def settle(vm):
    vm.client.start("sleep 1000")
    begin = time.monotonic()
    vm.client.call("machine.settle", keep_commands=False)
    print(f"    settled in {time.monotonic() - begin:.2f} s")
    end = vm.client.answer(vm.client.start("true"))
    expect("failure" in end, True, "no new commands")


# ---- whole machines ---------------------------------------------------------------------------------


def in_machine(options, body, **members):
    with tempfile.TemporaryDirectory(dir=options.tmp) as folder:
        vm = Machine(options, folder, **members)
        try:
            return body(vm)
        except BaseException:
            print(vm.console()[-3000:])
            raise
        finally:
            vm.stop()


def probe(vm):
    vm.wait_end(60)
    took = time.monotonic() - vm.started
    expect("capsule-probe-ok" in vm.console(), True, "the line")
    print(f"    probe: QEMU start to its end {took:.2f} s")


def power_off(vm):
    print(f"    hello after {vm.connect():.2f} s")
    vm.configure()
    vm.client.start("poweroff", user="root")
    vm.client.pump(lambda: vm.client.notices)
    expect(vm.client.notices[0], {"event": "power", "action": "poweroff"}, "notice")
    vm.wait_end()


def deadline(vm):
    vm.connect()
    vm.configure(deadline_ms=1500)
    stream = vm.client.start("sleep 100")
    expect(vm.client.answer(stream)["ok"]["kind"], "killed", "command at the deadline")
    vm.client.pump(lambda: vm.client.notices)
    expect(vm.client.notices[0]["action"], "deadline", "notice")
    expect(vm.process.poll(), None, "the machine waits for its host")


def larger_disk(vm):
    print(f"    hello after {vm.connect():.2f} s")
    begin = time.monotonic()
    vm.configure()
    print(f"    configured after {time.monotonic() - begin:.2f} s")
    report = vm.client.run("df --output=size -BM / | tail -1", user="root")
    expect(int(output(report).strip("M \n")) > 9000, True, "size " + output(report))


def reconnect(vm):
    vm.connect()
    boot = vm.client.hello["boot_id"]
    vm.configure()
    command = "3b6e2f6c-6f1f-4a7e-9b7e-000000000005"
    vm.client.start("sleep 2; echo later", id=command)
    vm.client.sock.close()
    time.sleep(0.3)
    vm.connect()
    expect(vm.client.hello["boot_id"], boot, "same agent")
    expect(output(vm.client.answer(vm.client.start("sleep 2; echo later", id=command))["ok"]), "later\n", "resumed")


def shared_machine(options, failed):
    def body(vm):
        print(f"    hello after {vm.connect():.2f} s")
        begin = time.monotonic()
        vm.configure()
        vm.client.run("true")
        print(f"    configured and first command after {time.monotonic() - begin:.2f} s more")
        for function in CHECKS:
            if options.only and function.__name__ not in options.only.split(","):
                continue
            attempt(function.__name__, lambda f=function: f(vm), failed)
        if failed:
            print(vm.console()[-2000:])
    in_machine(options, body)


def attempt(name, function, failed):
    begin = time.monotonic()
    try:
        function()
        print(f"ok    {name} ({time.monotonic() - begin:.1f} s)", flush=True)
    except Exception:  # one broken check must not hide the others
        traceback.print_exc()
        print(f"FAIL  {name}", flush=True)
        failed.append(name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--agent", required=True)
    parser.add_argument("--store", default="/var/lib/capsuled/images")
    parser.add_argument("--memory", type=int, default=512)
    parser.add_argument("--only", help="names of checks, with commas")
    parser.add_argument("--qemu", default="", type=str.split,
                        help="more arguments for QEMU; '-icount shift=0' makes times inside independent of the load outside")
    options = parser.parse_args()
    options.initrd = None
    failed = []
    with tempfile.TemporaryDirectory(prefix="capsule-smoke-") as tmp:
        options.tmp = tmp
        options.initrd = os.path.join(tmp, "initrd.cpio")
        subprocess.run([sys.executable, os.path.join(ROOT, "images/lib/cpio.py"), "--init", options.agent, "--modules",
                        os.path.join(options.store, "kernel/modules"), "--output", options.initrd], check=True)
        print(f"agent: {os.path.getsize(options.agent)} bytes")
        attempt("shared machine", lambda: shared_machine(options, failed), failed)
        whole = [(probe, {"words": "capsule.probe"}), (power_off, {}), (deadline, {}), (reconnect, {}), (larger_disk, {"disk_gib": 10})]
        for function, members in whole:
            if not options.only or function.__name__ in options.only.split(","):
                attempt(function.__name__, lambda f=function, m=members: in_machine(options, f, **m), failed)
    print("failed: " + ", ".join(failed) if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
