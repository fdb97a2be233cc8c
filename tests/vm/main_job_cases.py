"""The straight line: a definition is deployed, a machine boots, works on shared files, ends, leaves nothing."""

import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

from cases import case, shared_host, shared_run
from harness import BIN, ROOT, SLOW, ApiError, Host, eventually, expect, resident_kib

EXAMPLE = ROOT / "examples" / "sales-report"


@case("report", "the sales report is written by a real machine and outlives it")
def sales_report():
    host = Host().start()
    try:
        host.mt("vfs", "create", "sales-data")
        for name in sorted(os.listdir(EXAMPLE / "data")):
            host.mt("vfs", "put", "sales-data", EXAMPLE / "data" / name, f"/{name}")
        host.mt("deploy", EXAMPLE)
        done = host.mt("capsule", "run", "sales-report")
        assert b"Capsule finished: Finished" in done.stdout, done.stdout
        expect(host.leftovers(), [])
        report = host.mt("vfs", "get", "sales-data", "/report.md", "-").stdout.decode()
        rows = [line for line in report.splitlines() if line.startswith("|")]
        expect(len(rows), 2 + 3, "rows of the report")
        assert re.search(r"[Tt]otal.*\d+\.\d\d", report), report
        assert b"report.md" in host.mt("vfs", "ls", "sales-data").stdout
    finally:
        host.close()


@case("exec", "mt exec: exit codes")
def exec_codes():
    run = shared_run()

    def code(*words):
        return run.host.mt("exec", run.id, "--", *words, check=False).returncode

    expect([code("true"), code("false"), code("sh", "-c", "exit 300"), code("kill -9 $$"), code("no-such-command-x")],
           [0, 1, 44, 137, 127])


@case("exec-words", "mt exec: arguments arrive intact")
def exec_words():
    run = shared_run()
    words = ["", "a b", "$HOME", "x'y\"z", "two\nlines", "*", "\\", "-n", "\u00e9", "`id`"]
    done = run.host.mt("exec", run.id, "--", "python3", "-c", "import sys,json;print(json.dumps(sys.argv[1:]))", *words)
    expect(json.loads(done.stdout), words)


@case("exec-live", "mt exec: output arrives while the command runs, byte for byte, both streams apart")
def exec_live():
    run = shared_run()
    environment = dict(os.environ, MAITENTO_URL=f"unix://{run.host.socket}")
    process = subprocess.Popen([BIN / "mt", "exec", run.id, "--", "echo first; sleep 6; echo last; echo oops >&2"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=environment)
    began = time.monotonic()
    expect(process.stdout.readline(), b"first\n")
    assert time.monotonic() - began < 5, "the first line came only with the end"
    out, err = process.communicate(timeout=60)
    expect((out, err, process.returncode), (b"last\n", b"oops\n", 0))
    raw = bytes(range(256)) * 700
    run.ok("python3", ["-c", "open('/tmp/raw','wb').write(bytes(range(256))*700)"])
    expect(run.host.mt("exec", run.id, "--", "cat /tmp/raw; cat /tmp/raw >&2").stdout, raw)


@case("exec-big", "mt exec: 64 MiB of output, nothing lost and nothing doubled")
def exec_big():
    run = shared_run()
    script = "import sys\nfor i in range(1 << 16): sys.stdout.buffer.write(b'%08d' % i * 128)"
    done = run.host.mt("exec", run.id, "--", "python3", "-c", script)
    expected = b"".join(b"%08d" % i * 128 for i in range(1 << 16))
    assert done.stdout == expected, f"{len(done.stdout)} of {len(expected)} bytes"


@case("exec-root-pipe", "mt exec: what is lost of a pipe of 8 MiB, which only root can make, is told to the byte")
def exec_root_pipe():
    run = shared_run()
    script = ("import fcntl, os\nfcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 8 << 20)\n"
              "rest = 8 << 20\nwhile rest: rest -= os.write(1, b'x' * rest)\nopen('/tmp/written', 'w')")
    process = subprocess.Popen([BIN / "mt", "exec", "--user", "root", run.id, "--", "python3", "-c", script],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=dict(os.environ, MAITENTO_URL=f"unix://{run.host.socket}"))
    run.ok("until [ -e /tmp/written ]; do sleep 0.1; done; sleep 1", **{"async": True})
    out, err = process.communicate(timeout=120)
    lost = re.fullmatch(rb"mt: (\d+) bytes of standard output were lost: they were not read in time\n", err)
    expect((len(out) + int(lost[1] if lost else 0), process.returncode), (8 << 20, 0))


@case("exec-stdin", "mt exec -i: standard input is given byte for byte, else it is empty")
def exec_stdin():
    run = shared_run()
    data = os.urandom(3 << 20)
    done = run.host.mt("exec", "-i", run.id, "--", "sha256sum", input=data)
    import hashlib
    expect(done.stdout.split()[0].decode(), hashlib.sha256(data).hexdigest())
    expect(run.host.mt("exec", run.id, "--", "wc -c", input=b"ignored").stdout.strip(), b"0")


@case("startup-fails", "a startup command that fails ends the run with its error output")
def startup_fails():
    host = shared_host()
    host.deploy(fails='startup = [ { command = "sh" arguments = ["-c", "echo why >&2; exit 3"] } ]\n',
                silent='startup = [ { command = "sh" arguments = ["-c", "exit 3"] } ]\n',
                crash='startup = [ { command = "sh" arguments = ["-c", "kill -SEGV $$"] } ]\n',
                slow='startup = [ { command = "sleep" arguments = ["60"] maxDuration = "00:00:03" } ]\n')
    ends = {name: host.start_run(name)["id"] for name in ("fails", "silent", "crash", "slow")}
    details = {name: host.wait_run(run) for name, run in ends.items()}
    expect({run["status"] for run in details.values()}, {"Error"})
    expect(details["fails"]["failureDetails"].rstrip(), "Startup command failed: sh -c echo why >&2; exit 3 - why")
    expect(details["silent"]["failureDetails"], "Startup command failed: sh -c exit 3 - exit code 3")
    expect(details["crash"]["failureDetails"],
           "Startup command failed: sh -c kill -SEGV $$ - killed by SIGSEGV (139)")
    expect(details["slow"]["failureDetails"], "Startup command failed: sleep 60 - did not end within 00:00:03")
    expect(host.leftovers(), [])


@case("deadline", "maxDuration of a run and of a command end them on time, tree and all")
def deadline():
    host = shared_host()
    host.deploy(short='maxDuration = "00:00:30"\n')
    began = time.monotonic()
    run_id = host.start_run("short")["id"]
    expect(host.wait_run(run_id, "started")["status"], "Running")
    from harness import Run
    run = Run(host, run_id)
    command = run.send("echo begun; sleep 500", **{"async": True})
    queued = [run.send("sleep 501"), run.send("echo never")]
    ended = host.wait_run(run_id)
    took = time.monotonic() - began
    expect(ended["status"], "Finished")
    assert 30 <= took <= 30 + 6, f"ended after {took:.1f} s"
    for one in [command, *queued]:
        result = run.wait(one)
        expect((result["status"], result["endReason"]), ("Aborted", "capsuleEnded"))
        assert "00:00:30" in result["reason"], result["reason"]
        expect(result["outputStandard"], "begun\n" if one == command else "")
    expect(host.leftovers(), [])


@case("deadline-starting", "a capsule still starting at its deadline is an Error that names the phase")
def deadline_while_starting():
    host = shared_host()
    host.deploy(stuck='maxDuration = "00:00:20"\nstartup = [ { command = "sleep" arguments = ["300"] } ]\n')
    ended = host.wait_run(host.start_run("stuck")["id"])
    expect(ended["status"], "Error")
    assert "did not finish starting within 00:00:20" in ended["failureDetails"], ended
    assert "startup" in ended["failureDetails"], ended
    expect(host.leftovers(), [])


@case("stop", "a stopped run is Terminated, its commands Aborted with what they had printed, and nothing is left")
def stop():
    host = shared_host()
    run = host.up("stopped")
    command = run.send("echo so far; echo trouble >&2; sleep 500")
    target = f"{run.target}/commands/{command}"
    eventually(lambda: "trouble" in host.api.get(target)["outputError"], 20 * SLOW, "the command's output")
    began = time.monotonic()
    expect(json.loads(host.mt("runs", "stop", run.id, "--json").stdout)["status"], "Terminated")
    assert time.monotonic() - began <= 6, "stop took too long"
    result = run.wait(command)
    expect((result["status"], result["outputStandard"], result["outputError"]), ("Aborted", "so far\n", "trouble\n"))
    expect(host.leftovers(), [])


@case("kill-daemon", "a killed daemon: live runs are adopted, commands go on, and they still end as asked")
def kill_daemon():
    host = Host().start()
    try:
        run = host.up("adopted")
        command = run.send("echo before; sleep 15; echo after; exit 7")
        time.sleep(1)
        host.restart(pause=2)
        expect(run.status()["status"], "Running")
        result = run.wait(command)
        expect((result["outputStandard"], result["exitCode"]), ("before\nafter\n", 7))
        expect(run.ok("echo still here"), "still here\n")
        host.restart(signal.SIGTERM)
        expect(run.ok("echo again"), "again\n")
        expect(run.terminate()["status"], "Terminated")
        expect(host.leftovers(), [])
    finally:
        host.close()


@case("kill-daemon-gap", "a command that ends while no daemon runs keeps its result")
def ends_without_daemon():
    host = Host().start()
    try:
        run = host.up("gap")
        command = run.send("sleep 3; echo kept; exit 9")
        queued = run.send("echo then")
        time.sleep(0.5)
        host.kill()
        time.sleep(5)
        host.start()
        result = run.wait(command)
        expect((result["outputStandard"], result["exitCode"]), ("kept\n", 9))
        expect(run.wait(queued)["outputStandard"], "then\n")
    finally:
        host.close()


@case("doctor", "mt doctor says what this host can do, and what to do about what it cannot")
def doctor():
    from harness import BIN, IMAGES
    done = subprocess.run([BIN / "mt", "doctor", "--json"], capture_output=True, timeout=120,
                          env=dict(os.environ, CAPSULE_IMAGES=str(IMAGES)))
    report = json.loads(done.stdout)
    checks = {check["name"]: check for check in report["checks"]}
    assert "kvm" in checks, checks.keys()
    expect(checks["network proxy"]["verdict"], "ok")
    for check in checks.values():
        assert check["verdict"] == "ok" or check["fix"], f"no fix named: {check}"
    text = subprocess.run([BIN / "mt", "doctor"], capture_output=True, timeout=120,
                          env=dict(os.environ, CAPSULE_IMAGES=str(IMAGES))).stdout.decode()
    assert "transport" in text.lower() and "accelerat" in text.lower(), text
    if os.path.exists("/dev/kvm") and checks["kvm"]["verdict"] != "ok":
        assert "/dev/kvm" in checks["kvm"]["detail"], checks["kvm"]


@case("definition", "a bad definition is refused with file, line, column and name; nothing is deployed")
def bad_definitions():
    host = shared_host()
    for text, line, name in (('autoTerminate = true\nmaxDuraton = "00:05:00"\n', 2, "maxDuraton"),
                             ('maxDuration = "5m"\n', 1, "maxDuration"),
                             ('vfs = [\n  { vfs = @ref("not-there") mountName = "data" }\n]\n', 2, "not-there")):
        with tempfile.TemporaryDirectory() as folder:
            capsules = pathlib.Path(folder, "capsules")
            capsules.mkdir()
            (capsules / "good-one.mtr").write_text("autoTerminate = true\n")
            (capsules / "bad-one.mtr").write_text(text)
            done = host.mt("deploy", folder, check=False)
            expect(done.returncode, 2)
            assert re.search(rf"capsules/bad-one\.mtr:{line}:\d+: .*{re.escape(name)}", done.stderr.decode()), done.stderr
        names = [capsule["name"] for capsule in host.api.get("/v1/namespaces/default/capsules")["items"]]
        assert "good-one" not in names and "bad-one" not in names, names


@case("cli", "every command has help, bad usage is exit code 2, a missing daemon is explained")
def command_line():
    host = shared_host()
    for words in (["doctor"], ["vfs", "put"], ["deploy"], ["capsule", "run"], ["runs", "list"], ["exec"]):
        done = host.mt(*words, "--help")
        assert b"sage" in done.stdout, words
    expect(host.mt("no-such-noun", check=False).returncode, 2)
    done = host.mt("runs", "list", env={"MAITENTO_URL": "unix:///nonexistent/api.sock"}, check=False)
    assert done.returncode not in (0, 2) and b"/nonexistent/api.sock" in done.stderr, done


@case("daemon-size", "the daemon stays small with one run")
def daemon_size():
    host = Host().start()
    try:
        run = host.up("small")
        run.ok("true")
        resident = resident_kib(host.process.pid)
        print(f"     daemon with one run: {resident} KiB resident")
        assert resident <= 30 << 10, resident
        # It must not interrupt QEMU, see main.cpp.
        assert os.sched_getscheduler(host.process.pid) == os.SCHED_BATCH
    finally:
        host.close()
