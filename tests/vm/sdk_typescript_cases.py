"""The TypeScript SDK against a real daemon and real machines: everything it does once, and its guide."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from cases import Skip, case, shared_host
from harness import ROOT, Host, expect

sys.path.insert(0, str(ROOT / "tests" / "sdk" / "typescript"))
import project

PROGRAM = "sdk_typescript_program"
BENCH = '''
maxDuration = "00:10:00"
vfs = [ { vfs = @ref("notes") mountName = "notes" } ]
secrets = [ { secret = @ref("token") mountName = "token" } ]
users = [ { name = "sandbox" } ]
'''


@contextlib.contextmanager
def compiled(programs):
    """A folder with the programs (name -> text), compiled against the SDK as it is installed."""
    if reason := project.missing_tools():
        raise Skip(reason)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        package = project.compile_package(folder / "package")
        (folder / "programs").mkdir()
        project.compile_programs(folder / "programs", package, programs)
        yield folder / "programs"


def node(folder, program, host, namespace):
    environment = {**os.environ, "MAITENTO_URL": f"unix://{host.socket}", "MAITENTO_NAMESPACE": namespace}
    environment.pop("MAITENTO_API_KEY", None)
    command = ["timeout", "--kill-after", "5", "240", "node", folder / f"{program}.mjs"]
    return subprocess.Popen(command, cwd=folder, env=environment, text=True, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process, host):
    """What it printed until now and until its end, which must be a good one."""
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, f"exit {process.returncode}\n{output}\n{errors}\n{host.log_tail()}"
    return output


def definitions(folder, **texts):
    (folder / "capsules").mkdir(parents=True)
    for name, text in texts.items():
        (folder / "capsules" / f"{name}.mtr").write_text(text)


@case("sdk-typescript", "the TypeScript SDK: files, commands, input, output, a killed daemon, an aborted command, events")
def everything():
    source = (pathlib.Path(__file__).parent / f"{PROGRAM}.mts").read_text()
    with compiled({PROGRAM: source}) as folder:
        definitions(folder / "definitions", bench=BENCH)
        host = Host().start()
        host.space = "notebook"
        process = node(folder, PROGRAM, host, host.space)
        seen = {}
        try:
            for line in process.stdout:
                entry = json.loads(line)
                seen[entry["step"]] = entry["value"]
                if entry["step"] == "restart":
                    host.restart()
                    host.write("notes", "/go", "")
            finish(process, host)
        finally:
            process.terminate()
            process.wait()
            host.close()
    refused, missing, late = seen.pop("refused"), seen.pop("missing"), seen.pop("too-late")
    expect((refused["class"], refused["kind"], refused["status"]), ("NotFoundError", "not-found", 404))
    expect(missing["kind"], "not-found")
    assert "missing" in missing["message"], missing
    expect(late["kind"], "run-ended")
    aborted = seen.pop("aborted")
    expect(aborted[:3], ["command-aborted", "Aborted", "capsuleEnded"])
    assert aborted[3].startswith("the command was aborted: "), aborted
    del seen["restart"]
    expect(seen.pop("absent")[:3], ["Error", 127, ""])
    expect(seen, {
        "health": "ok",
        "namespace": "notebook",
        "no-vfs": None,
        "text": "ä\n",
        "bytes": [0, 255],
        "stream": 20_001,
        "stat": 2,
        "not-empty": "not-empty",
        "list": ["file lines", "folder deep"],
        "secrets": ["token"],
        "arguments": ["Finished", 0, "<a b><$HOME><>", ""],
        "denied": ["Error", 1, "", "cat: /mnt/notes/lines: Permission denied\n"],
        "secret": ["Finished", 0, "not to be seen\n", ""],
        "late": ["Error", 124, "", ""],
        "input": ["Finished", 0, "3\n", ""],
        "followed": {"standard": "LINE 0\nLINE 1\n", "error": "end\n", "status": "Finished"},
        "killed": ["Error", 137, "", ""],
        "survived": ["Finished", 0, "gone\n", ""],
        "started": list(range(1, 11)),
        "terminated": "Terminated",
        "live": 0,
    })


@case("sdk-typescript-guide", "the programs of docs/sdk-typescript.md, one after another, as they stand")
def guide():
    examples = project.guide_examples()
    host = shared_host()
    with compiled(examples) as folder:
        (folder / "sales-report").symlink_to(ROOT / "examples" / "sales-report")
        definitions(folder / "broken", broken='maxDuration = "00:05:00"\npackges = ["jq"]\n')
        printed = {name: finish(node(folder, name, host, "typescript-guide"), host) for name in examples}
    expect(list(printed), ["a-report-from-a-throwaway-machine", "commands", "events", "errors"])
    report, commands, events, errors = printed.values()
    assert report.startswith("Capsule finished: Finished\n") and "| Notebook | 210 |" in report, report
    expect(commands.splitlines(), ["0 report.md", "report.py", "sales.csv", "",
                                   "1 cat: /mnt/data/sales.csv: Permission denied", "",
                                   *commands.splitlines()[6:-1], "Finished"])
    pieces = [line.split() for line in commands.splitlines()[6:-1]]
    expect(sum(int(length) for _, _, length in pieces), len("1\n2\n3\n"))
    expect((events.splitlines()[0], events.splitlines()[-1]), ("run.started Starting", "run.ended Finished"))
    assert errors.startswith("capsules/broken.mtr:2:1: ") and "packges" in errors, errors
