"""The Python client against a daemon and real machines, and the code of its guide as it stands there."""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from cases import case
from harness import ROOT, Host, expect, in_background

PACKAGE = ROOT / "sdk" / "python"
EXAMPLE = ROOT / "examples" / "sales-report"
sys.path.insert(0, str(PACKAGE))
import maitento


@contextlib.contextmanager
def raises(kind, error=maitento.MaitentoError):
    """Fails unless `error` of this kind is raised; gives a list that has it afterwards."""
    caught = []
    try:
        yield caught
    except error as found:
        expect(found.kind, kind, str(found))
        caught.append(found)
    assert caught, f"no {error.__name__} ({kind})"


def local_report():
    """What the example's script makes of its data on this machine."""
    with tempfile.TemporaryDirectory() as folder:
        for name in os.listdir(EXAMPLE / "data"):
            shutil.copy(EXAMPLE / "data" / name, folder)
        subprocess.run([sys.executable, f"{folder}/report.py"], check=True, timeout=60)
        return pathlib.Path(folder, "report.md").read_text()


def keep_files(mt):
    """Everything the client can do with files; leaves the example's data and this package there."""
    expect(mt.vfs.find_by_name("sales-data"), None)
    expect(mt.vfs.create("sales-data").namespace, mt.namespace)
    with raises("already-exists", maitento.ConflictError):
        mt.vfs.create("sales-data")
    files = mt.vfs.open("sales-data")
    for path in (EXAMPLE / "data").iterdir():
        files.write_file(f"/{path.name}", path)
    for path in (PACKAGE / "maitento").glob("*.py"):
        files.write_text(f"/sdk/maitento/{path.name}", path.read_text())
    data = os.urandom(1 << 20)
    files.make_folder("/a/b")
    files.write_bytes("/a/b/ü \udcff?.bin", data)
    entry, = files.list("/a/b")
    expect((entry.name, entry.type, entry.size), ("ü \udcff?.bin", "file", len(data)))
    files.move(f"/a/b/{entry.name}", "/moved")
    assert files.read_bytes("/moved") == data
    expect(files.stat("/moved").mode, "0664")
    with raises("too-large"):
        files.read_bytes("/moved", limit=len(data) - 1)
    with raises("is-a-folder", maitento.ConflictError):
        files.read_text("/a")
    with raises("not-a-folder", maitento.ConflictError):
        files.list("/moved")
    with raises("not-empty", maitento.ConflictError):
        files.delete("/a")
    files.delete("/a", recursive=True)
    files.delete("/moved")
    with raises("not-found", maitento.NotFoundError):
        files.read_text("/moved")
    return files


def send_commands(mt, run):
    runs = mt.capsule_runs
    # Sent while the machine still starts.
    listing = runs.exec_and_wait(run.id, "ls", ["-1", "/tmp/data"], run_as_user="sandbox")
    expect((listing.exit_code, listing.status), (0, "Finished"))
    assert {"report.md", "report.py", "sales.csv"} <= set(listing.output_standard.split()), listing
    denied = runs.exec_and_wait(run.id, "cat", ["/mnt/data/sales.csv"], run_as_user="sandbox")
    expect((denied.exit_code, denied.status), (1, "Error"))
    assert "Permission denied" in denied.output_error, denied
    missing = runs.exec_and_wait(run.id, "cd /tmp/data && sqlite3 :memory: .tables", run_as_user="sandbox")
    expect(missing.exit_code, 127)
    assert "sqlite3: command not found" in missing.output_error, missing
    words = ["two words", "$HOME", "", "'\"\\", "ä\n"]
    result = runs.exec_and_wait(run.id, "printf '<%s>' \"$LABEL\"; pwd; cat; printf '<%s>'", words, working_directory="/tmp",
                                environment={"LABEL": "here"}, stdin="from outside\n")
    expect(result.output_standard, "<here>/tmp\nfrom outside\n" + "".join(f"<{word}>" for word in words))
    late = runs.exec_and_wait(run.id, "sleep 60", max_duration=0.3)
    expect((late.exit_code, late.end_reason), (124, "timedOut"))
    long = runs.exec_and_wait(run.id, "yes | head -c 100000")
    expect((len(long.output_standard), long.output_standard_full_length), (65_536, 100_000))
    # From inside, signed in as whoever started the run.
    inside = "from maitento import Maitento; mt = Maitento(); print(mt.namespace, mt.vfs.find_by_name('sales-data').name)"
    result = runs.exec_and_wait(run.id, "PYTHONPATH=/mnt/data/sdk python3", ["-c", inside])
    expect((result.output_standard, result.output_error), ("sdk-lab sales-data\n", ""))


def follow_and_kill(mt, run):
    script = "printf out; printf err >&2; sleep 0.2; printf more; sleep 600"
    command = mt.capsule_runs.exec(run.id, script, hold_output=True, asynchronous=True)
    texts = {"standard": b"", "error": b""}
    with mt.capsule_runs.follow_output(run.id, command.id) as follower:
        for piece in follower:
            expect(piece.offset, len(texts[piece.stream]), "offset")
            texts[piece.stream] += piece.data
            if texts == {"standard": b"outmore", "error": b"err"}:
                mt.capsule_runs.kill_command(run.id, command.id)
        expect((follower.command.exit_code, follower.command.end_reason), (137, "killed"))
    expect([known.id for known in mt.capsule_runs.list_commands(run.id)][0], command.id)


@case("sdk-python", "the Python client: files, deploy, runs, commands, output, events, a daemon that is killed meanwhile")
def sdk_python():
    host = Host().start()
    try:
        mt = maitento.Maitento(f"unix://{host.socket}", namespace="sdk-lab", api_key="")
        expect(mt.namespaces.find("sdk-lab"), None)
        mt.namespaces.create("sdk-lab")
        with raises("definition-invalid", maitento.DefinitionInvalidError) as refused:
            mt.deploy(EXAMPLE)  # before its file system is there
        text = (EXAMPLE / "capsules" / "sales-report.mtr").read_text().splitlines()
        place = next(error for error in refused[0].errors if error.file == "capsules/sales-report.mtr")
        assert "@ref" in text[place.line - 1][place.column - 1:] and place.name == "sales-data", refused[0]
        assert f"capsules/sales-report.mtr:{place.line}:{place.column}: " in str(refused[0]), refused[0]
        files = keep_files(mt)
        mt.secrets.set("token", "s3cret")
        expect([secret.name for secret in mt.secrets.list()], ["token"])
        mt.secrets.delete("token")
        assert any(image.current and image.default for image in mt.images.list()), mt.images.list()
        events = mt.events(timeout=240)

        expect(mt.deploy(EXAMPLE).created, ("sales-report", "workbench"))
        finished = mt.capsules.run("sales-report", timeout=120)
        expect((finished.status, finished.failure_details), ("Finished", ""))
        expect(files.read_text("/report.md"), local_report())

        run = mt.capsules.start("workbench", idempotency_key="only-once")
        send_commands(mt, run)
        expect(mt.capsules.start("workbench", idempotency_key="only-once").id, run.id)
        follow_and_kill(mt, run)

        surviving = in_background(mt.capsule_runs.exec_and_wait, run.id, "sleep 2; echo survived")
        began = next(event for event in events if event.type == "command.started"
                     and "sleep 2" in mt.capsule_runs.get_command(run.id, event.data["commandId"]).command)
        host.restart()
        expect(surviving.result().output_standard, "survived\n")
        ended = next(event for event in events if event.type == "command.ended"
                     and event.data["commandId"] == began.data["commandId"])
        assert ended.id > began.id, (began, ended)

        sleeping = mt.capsule_runs.exec(run.id, "echo up; sleep 600", hold_output=True)
        waiting = in_background(mt.capsule_runs.wait_command, run.id, sleeping.id)
        expect(next(mt.capsule_runs.follow_output(run.id, sleeping.id)).data, b"up\n")
        with raises("timed-out", maitento.MaitentoTimeoutError):
            mt.capsule_runs.wait_command(run.id, sleeping.id, timeout=0.1)
        expect(mt.capsule_runs.terminate(run.id).status, "Terminated")
        with raises("command-aborted", maitento.CapsuleCommandAbortedError) as aborted:
            waiting.result()
        expect((aborted[0].command.status, aborted[0].command.end_reason), ("Aborted", "capsuleEnded"))
        assert "stopped" in aborted[0].detail, aborted[0]
        with raises("run-ended", maitento.ConflictError):
            mt.capsule_runs.exec_and_wait(run.id, "true")
        end = next(event for event in events if event.type == "run.ended")
        expect((end.namespace, end.data["runId"]), ("sdk-lab", run.id))
        events.close()
        expect([known.status for known in mt.capsule_runs.list(namespace="sdk-lab")], ["Terminated", "Finished"])
        expect(host.leftovers(), [])
    finally:
        host.close()


@case("sdk-python-guide", "the code of docs/sdk-python.md, as it stands there")
def sdk_python_guide():
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "sdk-python.md").read_text(), re.M | re.S)
    host = Host().start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(ROOT / "examples", f"{folder}/examples")
            broken = pathlib.Path(folder, "my-capsules", "capsules", "look.mtr")
            broken.parent.mkdir(parents=True)
            broken.write_text('maxDuration = "00:05:00"\npackage = ["jq"]\n')
            done = subprocess.run([sys.executable, "-B", "-W", "error", "-c", "\n".join(blocks)], cwd=folder, text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=300,
                                  env={**os.environ, "PYTHONPATH": str(PACKAGE), "MAITENTO_URL": f"unix://{host.socket}"})
        assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}\n{host.log_tail()}"
        for expected in (r"^Capsule finished: Finished $", r"^# October sales$", r"^0 13 /tmp/data/sales\.csv$",
                         r"^1 cat: /mnt/data/sales\.csv: Permission denied$", r"^127$",
                         r"^OutputChunk\(stream='standard', offset=4, data=b'3\\n'\)$", r"^run\.ended$",
                         r"^Aborted - command .* was aborted: .+$", r"^capsules/look\.mtr:2:1: .*package.*$"):
            assert re.search(expected, done.stdout, re.M), f"{expected} is not in\n{done.stdout}\n{done.stderr}"
        expect(done.stderr, "")
        expect(host.leftovers(), [])
    finally:
        host.close()
