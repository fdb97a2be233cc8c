"""Recipes: users, packages, mounts, the definition language, durations."""

import time

from cases import case, shared_host, shared_run
from harness import ApiError, Run, expect, in_background


def refused(host, text, *names, name="refused"):
    """Deploys `text`, expects a refusal whose findings name all of `names`; returns the findings."""
    try:
        host.deploy(**{name: text})
    except ApiError as error:
        expect((error.status, error.code), (400, "definition-invalid"), text)
        told = str(error.body)
        for part in names:
            assert part in told, f"{part!r} is not named in {told}"
        return error.body["errors"]
    raise AssertionError(f"accepted: {text!r}")


@case("O-17", "unknown and reserved users")
def reserved_users():
    host = shared_host()
    for user in ("root", "maitento", "../etc", "daemon", "nobody", "-rf", "Upper", "a b", ""):
        refused(host, f'users = [ {{ name = "{user}" }} ]\n', "users")
    try:
        host.deploy(operator='users = [ { name = "operator" } ]\n')
    except ApiError as error:
        assert "operator" in str(error.body)
    else:
        run = host.wait_run(host.start_run("operator")["id"], "started")
        assert run["status"] == "Running" or len(run["failureDetails"].split()) > 5, run
        host.terminate(run["id"])


@case("O-18a", "a package that does not exist fails the start and names it; commands sent meanwhile are aborted")
def missing_package():
    host = shared_host()
    host.deploy(nopkg='packages = ["jq", "no-such-pkg-xyz"]\n')
    run = Run(host, host.start_run("nopkg")["id"])
    command = run.send("jq --version")
    ended = host.wait_run(run.id)
    expect(ended["status"], "Error")
    assert "no-such-pkg-xyz" in ended["failureDetails"], ended
    result = run.wait(command)
    expect((result["status"], result["endReason"]), ("Aborted", "capsuleEnded"))
    assert result["reason"], "aborted without a reason"


@case("O-18b", "several capsules install packages at once; no lock is in the way", long=True)
def packages_at_once():
    host = shared_host()
    host.deploy(withjq='packages = ["jq"]\nmaxDuration = "00:20:00"\n')
    runs = [host.start_run("withjq")["id"] for _ in range(10)]
    for run_id in runs:
        run = host.wait_run(run_id, "started", 1200)
        expect(run["status"], "Running", run.get("failureDetails", ""))
        assert Run(host, run_id).ok("jq --version").startswith("jq")
        host.terminate(run_id)


@case("O-18c", "packages that apt would read as something else are refused")
def odd_packages():
    host = shared_host()
    for package in ("-o=x", "jq-", "jq+", "./x.deb", "/x.deb", "jq=1", "Jq", "a b", "", "jq/sid"):
        refused(host, f'packages = ["{package}"]\n', "packages")


@case("tutorial", "sqlite3 is missing, then it is a package")
def tutorial_package():
    host, run = shared_host(), shared_run()
    expect(run.exec("sqlite3 -version")["exitCode"], 127)
    other = host.up("withsqlite", 'packages = ["sqlite3"]\nmaxDuration = "00:20:00"\n')
    expect(other.ok('sqlite3 :memory: "select 40+2"'), "42\n")
    other.terminate()


@case("O-19", "mountName as a path")
def mount_names():
    host = shared_host()
    host.vfs("shared-data")
    for name in ("../etc", "a/b", "..", ".", "", "/abs", "x\\u0000y", "secrets", "Data"):
        refused(host, f'vfs = [ {{ vfs = @ref("shared-data") mountName = "{name}" }} ]\n', "mountName")
    refused(host, 'vfs = [ { vfs = @ref("shared-data") mountName = "data" }\n'
            '{ vfs = @ref("shared-data") mountName = "data" } ]\n', "mountName", "data")


@case("O-31", "definition text: BOM, CRLF, typos, commas, comments in strings")
def definition_text():
    host = shared_host()
    plain = 'autoTerminate = true\nstartup = [ { command = "true" } ]\n'
    host.deploy(lf=plain, bom="\ufeff" + plain.replace("\n", "\r\n"))
    definitions = [host.api.get(f"/v1/namespaces/default/capsules/{name}")["definition"] for name in ("lf", "bom")]
    expect(definitions[0], definitions[1])
    (typo,) = refused(host, 'autoTerminate = true\nmaxDuraton = "00:05:00"\n', "maxDuraton")
    expect(typo["line"], 2)
    (comma,) = refused(host, 'packages = ["jq" "sqlite3"]\n')
    expect((comma["line"], comma["column"]), (1, 18))
    host.deploy(trailing='packages = ["jq", ]\n')
    host.vfs("shared-data")
    run = host.up("urls", 'startup = [ { command = "sh" arguments = ["-c", "echo http://x // y > /tmp/u"] } ]\n')
    expect(run.ok("cat /tmp/u"), "http://x // y\n")
    run.terminate()


@case("O-32", "durations: zero, negative, odd shapes")
def durations():
    host, run = shared_host(), shared_run()
    for text in ('"00:00:00"', '"-00:05:00"', '"00:60:00"', '"5m"', "300", '""', '"00:05:00 "'):
        refused(host, f"maxDuration = {text}\n", "maxDuration")
    host.deploy(day='maxDuration = "24:00:00"\n')
    expect(host.api.get("/v1/namespaces/default/capsules/day")["definition"]["maxDuration"], "24:00:00")
    for limit in (0, -1):
        try:
            host.api.post(f"{run.target}/commands", {"command": "true", "maxDuration": limit})
        except ApiError as error:
            expect(error.status, 400)
        else:
            raise AssertionError(f"limit {limit} accepted")


@case("O-34", "commands sent while starting run in order, once ready")
def queue_while_starting():
    host = shared_host()
    host.deploy(queued='packages = ["jq"]\nmaxDuration = "00:20:00"\n')
    run = Run(host, host.start_run("queued")["id"])
    slow = run.send("sleep 40", **{"async": True})
    middle = [run.send(f"echo {i} >> /tmp/o") for i in range(2, 7)]
    last = run.send("cat /tmp/o")
    expect(run.status()["status"], "Starting")
    result = run.wait(last, 600)
    expect(result["outputStandard"], "2\n3\n4\n5\n6\n")
    expect(host.api.get(f"{run.target}/commands/{slow}")["status"], "Running")
    expect([run.wait(i)["exitCode"] for i in middle], [0] * 5)
    expect(run.wait(slow)["exitCode"], 0)
    run.terminate()


@case("O-37", "a startup command fails loudly, in bounded text")
def loud_failure():
    host = shared_host()
    host.deploy(loud='startup = [ { command = "bash" arguments = ["-c", "sleep 3; yes E | head -c 5000000 >&2; '
                     'echo LAST >&2; exit 3"] wait = true } ]\n')
    run = Run(host, host.start_run("loud")["id"])
    commands = [run.send("echo a"), run.send("echo b")]
    ended = host.wait_run(run.id)
    expect(ended["status"], "Error")
    details = ended["failureDetails"]
    assert details.startswith("Startup command failed: bash -c"), details[:80]
    assert details.rstrip().endswith("LAST") and len(details) < 128 << 10, len(details)
    for command in commands:
        result = run.wait(command, 5)
        expect(result["status"], "Aborted")
        assert "Startup command failed" in result["reason"], result["reason"]


@case("startup-wait", "entries without wait run beside the others; autoTerminate waits for them")
def startup_wait():
    host = shared_host()
    host.vfs("shared-data")
    began = time.monotonic()
    host.deploy(waits='autoTerminate = true\nvfs = [ { vfs = @ref("shared-data") mountName = "data" } ]\nstartup = [\n'
                '{ command = "sh" arguments = ["-c", "sleep 6; echo late > /mnt/data/late"] wait = false }\n'
                '{ command = "sh" arguments = ["-c", "test ! -e /mnt/data/late && echo first > /mnt/data/first"] } ]\n')
    host.api.raw("DELETE", host.file_target("shared-data", "/late"))
    expect(host.wait_run(host.start_run("waits")["id"])["status"], "Finished")
    assert time.monotonic() - began > 6
    expect((host.read("shared-data", "/first"), host.read("shared-data", "/late")), (b"first\n", b"late\n"))


@case("startup-nowait-fails", "a failing entry without wait is an Error under autoTerminate, else the run goes on")
def startup_nowait_fails():
    host = shared_host()
    entry = 'startup = [ { command = "sh" arguments = ["-c", "sleep 3; exit 4"] wait = false } ]\n'
    host.deploy(auto="autoTerminate = true\n" + entry, stays=entry)
    expect(host.wait_run(host.start_run("auto")["id"])["status"], "Error")
    run = host.up("stays", entry)
    time.sleep(5)
    expect(run.status()["status"], "Running")
    run.terminate()


@case("auto-abort", "autoTerminate: commands sent from outside and still open are aborted")
def auto_abort():
    host = shared_host()
    host.deploy(brief='autoTerminate = true\nstartup = [ { command = "sleep" arguments = ["2"] } ]\n')
    run = Run(host, host.start_run("brief")["id"])
    command = run.send("sleep 60")
    expect(host.wait_run(run.id)["status"], "Finished")
    expect(run.wait(command)["status"], "Aborted")


@case("workbench", "the workbench flow: a user of its own, a copy it can read, no way to the share")
def workbench():
    host = shared_host()
    host.vfs("bench-data", {"/sales.csv": "product,units\nKettle,3\n"})
    run = host.up("bench", 'vfs = [ { vfs = @ref("bench-data") mountName = "data" } ]\n'
                  'users = [ { name = "sandbox" } ]\nstartup = [ { command = "bash"\narguments = ["-c", '
                  '"rm -rf /tmp/data && cp -r /mnt/data /tmp/data && chmod -R a+rwX /tmp/data"] } ]\n')
    assert "sales.csv" in run.ok("ls", ["-l", "/tmp/data"], user="sandbox")
    denied = run.exec("cat", ["/mnt/data/sales.csv"], user="sandbox")
    expect((denied["exitCode"], denied["outputError"]), (1, "cat: /mnt/data/sales.csv: Permission denied\n"))
    run.terminate()


@case("namespaces", "the same name in two namespaces is two things")
def namespaces():
    host = shared_host()
    for space in ("team-a", "team-b"):
        host.api.post("/v1/namespaces", {"name": space})
        host.deploy(space=space, same=f'environment = {{ WHERE = "{space}" }}\n')
    runs = {space: Run(host, host.wait_run(host.start_run("same", space)["id"], "started")["id"])
            for space in ("team-a", "team-b")}
    for space, run in runs.items():
        expect(run.ok("echo $WHERE"), space + "\n")
        run.terminate()
    refused(host, 'vfs = [ { vfs = @ref("team-a.nothing-here") mountName = "data" } ]\n', "nothing-here")


@case("keeps-definition", "a run keeps the definition it started with, whatever is deployed later")
def keeps_definition():
    host = shared_host()
    run = host.up("kept", 'environment = { V = "old" }\n')
    host.deploy(kept='environment = { V = "new" }\n')
    expect(run.ok("echo $V"), "old\n")
    run.terminate()


@case("own-additions", "environment, workingDirectory and resources of the recipe")
def additions():
    host = shared_host()
    run = host.up("additions", 'environment = { COLOUR = "dark blue" }\nworkingDirectory = "/tmp"\n'
                  'resources = { memory = "768M" disk = "6G" }\n')
    expect(run.ok("echo $COLOUR; pwd"), "dark blue\n/tmp\n")
    total = int(run.ok("awk '/MemTotal/ {print $2}' /proc/meminfo"))
    assert 640 << 10 < total <= 768 << 10, total
    size = int(run.ok("df --output=size -B1 / | tail -1"))
    assert 5 << 30 < size <= 6 << 30, size
    run.terminate()
