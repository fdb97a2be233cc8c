#!/usr/bin/env python3
"""Benchmarks: the product's own numbers as ratios against baselines measured in the same run, on the same
machine, under the same accelerator. Prints a table; `--json FILE` writes it too. Asserts nothing.

  boot    `mt capsule start` + `mt exec RUN -- true` on an empty capsule, against QEMU by hand with the same
          kernel, machine type and memory and an /init that prints one line
  exec    round trip of a command on a warm run, against the link's ping and fork+exec of bash in that guest
  output  bytes a second, captured as a result and followed live, against `cat FILE` straight into a virtio port
          of the same kind of guest
  idle    the daemon's CPU while 100 clients wait for results, its memory with one run
"""

import argparse
import datetime
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "vm"))
from harness import BIN, IMAGES, Host, UnixConnection, eventually, in_background, resident_kib


def quantiles(values):
    ordered = sorted(values)
    return {"p50": statistics.median(ordered), "p99": ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))],
            "min": ordered[0], "max": ordered[-1], "n": len(ordered)}


def newc(name, mode, data, inode):
    """One entry of a cpio archive in the newc format (kernel documentation, initramfs buffer format)."""
    fields = [inode, mode, 0, 0, 1, 0, len(data), 0, 0, 5 if mode >> 12 == 2 else 0, 1 if mode >> 12 == 2 else 0,
              len(name) + 1, 0]
    header = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    return header + b"\0" * (-len(header) % 4) + data + b"\0" * (-len(data) % 4)


def write_initrd(path, program):
    path.write_bytes(newc("dev", 0o040755, b"", 1) + newc("dev/console", 0o020600, b"", 2)
                     + newc("init", 0o100755, (BIN / program).read_bytes(), 3) + newc("TRAILER!!!", 0, b"", 0))


def by_hand(accelerator, initrd, memory_mib, *more):
    """The command of a machine like the product's, with nothing of the product in it."""
    machine = "q35,hpet=off" if accelerator == "tcg" else "q35"
    return ["qemu-system-x86_64", "-nodefaults", "-display", "none", "-no-reboot", "-m", str(memory_mib),
            "-accel", accelerator, "-machine", machine, "-kernel", str(IMAGES / "kernel/vmlinux"),
            "-initrd", str(initrd), "-append", "console=ttyS0 quiet", *more]


def floor_once(accelerator, initrd, memory_mib):
    command = by_hand(accelerator, initrd, memory_mib, "-serial", "stdio")
    began = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    text = b""
    while b"floor-reached" not in text:
        piece = os.read(process.stdout.fileno(), 4096)
        if not piece:
            raise RuntimeError("the floor machine ended without its line")
        text += piece
    took = time.monotonic() - began
    process.kill()
    process.wait()
    return took


def bench_boot(host, count):
    host.deploy(empty='maxDuration = "00:10:00"\n')
    accelerator = eventually(lambda: host.api.get("/v1/host").get("accelerator"), 60, "the accelerator is known")
    floors, starts, parts = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        initrd = pathlib.Path(folder, "floor.cpio")
        write_initrd(initrd, "floor_init")
        for _ in range(count):  # interleaved, so that both see the same machine
            floors.append(floor_once(accelerator, initrd, 512))
            began = time.monotonic()
            run_id = host.mt("capsule", "start", "empty").stdout.decode().split()[-1]
            called = time.monotonic()
            host.mt("exec", run_id, "--", "true")
            starts.append(time.monotonic() - began)
            stopping = time.monotonic()
            host.terminate(run_id)
            parts.append({"start call": called - began, "stop": time.monotonic() - stopping})
    floor, start = statistics.median(floors), statistics.median(starts)
    return {"accelerator": accelerator, "floor_s": quantiles(floors), "start_and_exec_s": quantiles(starts),
            "ratio": start / floor, "target_ratio": 1.5,
            "parts_s": {name: statistics.median(part[name] for part in parts) for name in parts[0]},
            "timeline_ms": timeline(host, run_id)}


def timeline(host, run_id):
    """Where a start's time goes, from the run's own events."""
    connection = UnixConnection(str(host.socket), 20)
    connection.request("GET", "/v1/events?after=0")
    response = connection.getresponse()
    steps, first, kind = [], None, None
    while True:
        line = response.readline().decode().rstrip("\n")
        if line.startswith("event:"):
            kind = line.split(":", 1)[1].strip()
        elif line.startswith("data:") and run_id in line:
            data = json.loads(line.split(":", 1)[1])
            at = datetime.datetime.fromisoformat(data["at"].replace("Z", "+00:00")).timestamp()
            first = first if first is not None else at
            steps.append([kind + (":" + data["phase"] if data.get("phase") else ""), round((at - first) * 1000)])
            if kind == "run.ended":
                connection.close()
                return steps


class Persistent:
    """One kept-alive connection, as an SDK would hold."""

    def __init__(self, path):
        self.connection = UnixConnection(path, 60)

    def call(self, method, target, body=None):
        data = json.dumps(body).encode() if body is not None else None
        self.connection.request(method, target, data, {"Content-Type": "application/json"} if data else {})
        response = self.connection.getresponse()
        return json.loads(response.read())


BASH_COST = """
import os, time
values = []
for _ in range(60):
    began = time.perf_counter()
    pid = os.posix_spawn('/bin/bash', ['-bash', '-c', 'true'], os.environ)
    os.waitpid(pid, 0)
    values.append(time.perf_counter() - began)
values.sort()
print(values[len(values) // 2])
"""


def bench_exec(host, count):
    run = host.up("warm")
    client = Persistent(str(host.socket))
    pings = [client.call("GET", f"{run.target}/ping")["roundTripUs"] / 1e6 for _ in range(count)]
    bash = float(run.ok("python3", ["-c", BASH_COST]))
    trips = []
    for _ in range(count):
        began = time.monotonic()
        command = client.call("POST", f"{run.target}/commands", {"command": "true"})
        client.call("GET", f"{run.target}/commands/{command['id']}?wait=30s")
        trips.append(time.monotonic() - began)
    shells = []
    for _ in range(count):
        began = time.monotonic()
        host.mt("exec", run.id, "--", "true")
        shells.append(time.monotonic() - began)
    run.terminate()
    bound = 5 * statistics.median(pings) + bash
    return {"ping_s": quantiles(pings), "bash_fork_exec_s": bash, "api_round_trip_s": quantiles(trips),
            "mt_exec_s": quantiles(shells), "bound_s": bound, "ratio": statistics.median(trips) / bound,
            "target_ratio": 1.0}


def bench_output(host, mebibytes):
    """`captured`: from the call until the result is there (window, full length), nobody following. `followed`: from
    the first byte to the last at the reader of `mt exec`, as the baseline is measured. Medians of rounds, each with a
    baseline of its own, which alone varies by half."""
    rounds, size = 7, mebibytes << 20
    run = host.up("loud", 'maxDuration = "02:00:00"\nresources = { memory = "1G" }\n')
    accelerator = host.api.get("/v1/host")["accelerator"]
    contents = {"text": "yes 'a line of text'", "binary": "cat /dev/urandom"}
    for name, source in contents.items():
        run.ok(f"{source} | head -c {size} > /tmp/{name}")
    speeds, ratios = {}, {}

    def note(name, seconds):
        speeds.setdefault(name, []).append(mebibytes / seconds)

    for _ in range(rounds):
        note("port", port_baseline(accelerator, mebibytes))
        for name in contents:
            run.ok(f"cat /tmp/{name} > /dev/null")  # into the page cache
            for way in (captured, followed):
                note(f"{name} {way.__name__}", way(host, run, f"/tmp/{name}", size))
    run.terminate()
    for name in speeds:
        ratios[name] = quantiles([speed / port for speed, port in zip(speeds[name], speeds["port"])])
    return {"mib_s": {name: quantiles(values) for name, values in speeds.items()},
            "ratio": {name: values for name, values in ratios.items() if name != "port"}, "target_ratio": 0.5}


def captured(_host, run, path, size):
    began = time.monotonic()
    result = run.exec(f"cat {path}", wait=600)
    took = time.monotonic() - began
    # Of text; U+FFFD makes characters of other bytes fewer.
    assert result["exitCode"] == 0 and size // 2 < result["outputStandardFullLength"] <= size, result
    return took


def followed(host, run, path, size):
    with subprocess.Popen([BIN / "mt", "exec", run.id, "--", f"cat {path}"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, env={**os.environ, "MAITENTO_URL": f"unix://{host.socket}"}) as mt:
        received, buffer = len(os.read(mt.stdout.fileno(), 1)), bytearray(1 << 18)
        began = time.monotonic()
        while count := os.readv(mt.stdout.fileno(), [buffer]):
            received += count
    took = time.monotonic() - began
    assert received == size and mt.returncode == 0, f"{received} of {size} bytes, exit {mt.returncode}"
    return took


def port_baseline(accelerator, mebibytes):
    """Seconds of `cat FILE` straight into a virtio-serial port, in a machine by hand with the same kernel. (The
    product's own machines cannot have a second port plugged in.)"""
    with tempfile.TemporaryDirectory() as folder:
        initrd = pathlib.Path(folder, "port.cpio")
        write_initrd(initrd, "port_init")
        process = subprocess.Popen(
            by_hand(accelerator, initrd, 768, "-chardev", f"socket,id=bench,path={folder}/port.sock,server=on,wait=off",
                    "-device", "virtio-serial-pci", "-device", "virtserialport,chardev=bench,name=bench.0"),
            stdin=subprocess.DEVNULL)
        try:
            eventually(lambda: os.path.exists(f"{folder}/port.sock"), 10, "QEMU listens")
            with socket.socket(socket.AF_UNIX) as port:
                port.settimeout(120)
                port.connect(f"{folder}/port.sock")
                received, buffer = len(port.recv(1)), bytearray(1 << 18)
                began = time.monotonic()
                while received < mebibytes << 20:
                    received += port.recv_into(buffer)
                return time.monotonic() - began
        finally:
            process.kill()
            process.wait()


def bench_idle(host, waiting):
    run = host.up("idle")
    resident = resident_kib(host.process.pid)
    commands = [run.send("sleep 60", **{"async": True}) for _ in range(waiting)]
    tasks = [in_background(run.wait, command) for command in commands]
    time.sleep(3)

    def cpu():
        fields = open(f"/proc/{host.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    before = cpu()
    time.sleep(10)
    used = cpu() - before
    for task in tasks:
        task.result()
    run.terminate()
    return {"waiting_clients": waiting, "daemon_cpu_percent": used * 10, "daemon_rss_kib": resident}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="boot,exec,output,idle", help="comma-separated names (default: all)")
    parser.add_argument("--count", type=int, default=10, help="boots (default 10); execs are ten times as many")
    parser.add_argument("--json", help="also write the results to this file")
    options = parser.parse_args()
    host = Host(log_level="info").start()
    results = {}
    try:
        for name in options.only.split(","):
            function, argument = {"boot": (bench_boot, options.count), "exec": (bench_exec, options.count * 10),
                                  "output": (bench_output, 256), "idle": (bench_idle, 100)}[name]
            results[name] = function(host, argument)
            print(json.dumps({name: results[name]}, indent=2), flush=True)
    finally:
        host.close()
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
