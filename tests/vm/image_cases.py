"""Images: which one a capsule starts from, what is in `full`, damage, deletion."""

import contextlib
import json
import pathlib
import shutil
import tempfile

from cases import Skip, case, shared_host
from harness import IMAGES, SLOW, ApiError, Host, Run, eventually, expect

# What `full` must have, and how each tool says its version.
TOOLS = {
    "python3": "python3 --version",
    "pip": "pip --version",
    "venv": "python3 -m venv /tmp/venv && /tmp/venv/bin/python --version",
    "node": "node --version",
    "npm": "npm --version",
    "dotnet": "dotnet --version",
    "java": "java --version 2>/dev/null | head -n 1",
    "javac": "javac --version 2>/dev/null",
    "git": "git --version",
    "gcc": "gcc --version | head -n 1",
    "g++": "g++ --version | head -n 1",
    "make": "make --version | head -n 1",
    "pandoc": "pandoc --version | head -n 1",
    "ffmpeg": "ffmpeg -version | head -n 1",
    "curl": "curl --version | head -n 1",
    "jq": "jq --version",
    "unzip": "unzip -v | head -n 1",
}
STARTS = {"python3": "Python 3.", "node": "v22.", "dotnet": "8.", "java": "openjdk 17", "javac": "javac 17"}


@contextlib.contextmanager
def own_store(*versions, start=True):
    """A daemon, and its image store with the kernel and initrd of the real one and copies of base under other versions,
    the first of them current."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="capsule-images-"))
    folder.chmod(0o755)
    try:
        for name in ("kernel", "initrd"):
            version = (IMAGES / name).resolve()
            shutil.copytree(version, folder / version.name)
            (folder / name).symlink_to(version.name)
        manifest = json.loads((IMAGES / "base/manifest.json").read_text())
        for version in versions:
            (folder / version).mkdir()
            shutil.copy(IMAGES / "base/disk.qcow2", folder / version)
            (folder / version / "manifest.json").write_text(json.dumps({**manifest, "id": version}))
        (folder / "base").symlink_to(versions[0])
        host = Host(images=folder)
        try:
            if start:
                host.start()
            yield host, folder
        finally:
            host.close()
    finally:
        shutil.rmtree(folder)


def refusal(call, *arguments):
    try:
        call(*arguments)
    except ApiError as error:
        return error
    raise AssertionError(f"accepted: {arguments}")


@case("image-full", "full has every tool it promises, or says that it is missing and why; no sqlite3", long=True)
def full_tools():
    if not (IMAGES / "full").exists():
        raise Skip(f"the image full is not built in {IMAGES} (mt image build full)")
    host = shared_host()
    image = host.api.get("/v1/images/full")
    missing = {gap["name"]: gap["reason"] for gap in image["missing"]}
    run = host.up("everything", 'image = "full"\nresources = { memory = "1G" }\nmaxDuration = "01:00:00"\n')
    expect(run.status()["image"], image["version"])
    for tool, command in TOOLS.items():
        result = run.exec(command, wait=600)
        if tool in missing:
            assert len(missing[tool]) > 10, missing
            expect(result["exitCode"], 127, f"{tool} is said to be missing")
            print(f"     {tool:8} MISSING: {missing[tool]}", flush=True)
            continue
        said = result["outputStandard"].strip()
        assert result["exitCode"] == 0 and said, f"{tool}: {result}"
        assert said.startswith(STARTS.get(tool, "")), f"{tool}: {said}"
        print(f"     {tool:8} {said}", flush=True)
    expect(run.exec("sqlite3 -version")["exitCode"], 127)
    run.terminate()


@case("image-work", "in full a program is compiled and run in C, Java and JavaScript, and a page is converted", long=True)
def full_works():
    if not (IMAGES / "full").exists():
        raise Skip(f"the image full is not built in {IMAGES} (mt image build full)")
    host = shared_host()
    run = host.up("working", 'image = "full"\nresources = { memory = "1G" }\nmaxDuration = "01:00:00"\n')
    expect(run.ok("printf '#include <stdio.h>\\nint main(void) { puts(\"c\"); }\\n' > a.c && gcc a.c -o a && ./a",
                  wait=600), "c\n")
    expect(run.ok("printf 'class A { public static void main(String[] a) { System.out.println(\"java\"); } }' > A.java "
                  "&& java A.java", wait=900), "java\n")
    expect(run.ok("""node -e 'console.log([1, 2].map(n => n * 2).join())'""", wait=600), "2,4\n")
    assert "<h1" in run.ok("printf '# Title' | pandoc -f markdown -t html", wait=600)
    run.terminate()


@case("image-arrives", "a kernel that is still being copied is no verdict about the host; machines start when it is whole")
def image_arrives():
    with own_store("base-aaaaaaaaaaaa", start=False) as (host, folder):
        kernel = folder / "kernel" / "vmlinux"
        content = kernel.read_bytes()
        kernel.unlink()
        kernel.write_bytes(content[:len(content) // 2])
        host.start()
        reason = eventually(lambda: refused_for(host), 30 * SLOW, "a reason why no machine can be started")
        assert "vmlinux" in reason and "mt image build kernel" in reason, reason
        host.deploy(early='maxDuration = "00:05:00"\n')
        ended = host.wait_run(host.start_run("early")["id"])
        assert ended["status"] == "Error" and "vmlinux" in ended["failureDetails"], ended
        with kernel.open("ab") as file:
            file.write(content[len(content) // 2:])
        eventually(lambda: host.api.get("/v1/host")["accelerator"], 60 * SLOW, "an accelerator")
        run = host.up("late")
        run.live()
        run.terminate()
        expect(host.leftovers(), [])


def refused_for(host):
    """Why the daemon can start no machine; "" while it does not know."""
    report = host.api.get("/v1/host")
    return "" if "still being" in report["acceleratorReason"] else report["acceleratorReason"]


@case("image-default", "a capsule starts from its own image, else its namespace's, else the host's")
def defaults():
    with own_store("base-aaaaaaaaaaaa", "base-bbbbbbbbbbbb") as (host, _):
        plain, pinned = "", 'image = "base-bbbbbbbbbbbb"\n'
        host.deploy(plain=plain, pinned=pinned)

        def image_of(capsule):
            run = host.start_run(capsule)
            host.terminate(run["id"])
            return run["image"]

        expect((image_of("plain"), image_of("pinned")), ("base-aaaaaaaaaaaa", "base-bbbbbbbbbbbb"))
        expect(host.mt("image", "use", "base-bbbbbbbbbbbb").stdout, b"namespace default: base-bbbbbbbbbbbb\n")
        expect(image_of("plain"), "base-bbbbbbbbbbbb")
        expect(host.mt("image", "use", "--reset").stdout, b"namespace default: the host's default image\n")
        expect(image_of("plain"), "base-aaaaaaaaaaaa")
        expect(host.mt("image", "use", "nothing-here", check=False).returncode, 3)
        listed = host.mt("image", "list").stdout.decode().splitlines()
        expect([line.split()[1:3] for line in listed[1:]],
               [["base-aaaaaaaaaaaa", "default"], ["base-bbbbbbbbbbbb", "old"]])
        host.deploy(lost='image = "studio"\n')
        error = refusal(host.start_run, "lost")
        expect((error.status, error.code), (503, "image-missing"))
        assert "mt image build studio" in error.detail, error.detail


@case("image-delete", "an image is deleted when no live run uses it, and not before")
def deletion():
    with own_store("base-aaaaaaaaaaaa", "base-bbbbbbbbbbbb") as (host, folder):
        run = host.up("pinned", 'image = "base-aaaaaaaaaaaa"\n')
        error = refusal(host.api.call, "DELETE", "/v1/images/base-aaaaaaaaaaaa")
        expect((error.status, error.code), (409, "in-use"))
        assert run.id in error.detail, error.detail
        host.restart()
        expect(refusal(host.api.call, "DELETE", "/v1/images/base").code, "in-use")
        run.live()
        run.terminate()
        expect(host.mt("image", "delete", "base").stdout, b"Deleted base-aaaaaaaaaaaa\n")
        assert not (folder / "base-aaaaaaaaaaaa").exists()
        # The name stands for what is left, and that still works.
        other = host.up("plain", "")
        expect(other.status()["image"], "base-bbbbbbbbbbbb")
        # Not even a run's own mt may do it.
        denied = other.exec("mt image delete base")
        expect(denied["exitCode"], 1)
        assert "administrator" in denied["outputError"], denied
        other.terminate()


@case("image-damaged", "a damaged image starts no machine and is named")
def damaged():
    with own_store("base-aaaaaaaaaaaa") as (host, folder):
        host.up("plain", "").terminate()
        disk = folder / "base-aaaaaaaaaaaa/disk.qcow2"
        disk.chmod(0o644)
        with open(disk, "r+b") as file:
            file.seek(disk.stat().st_size // 2)
            byte = file.read(1)[0]
            file.seek(-1, 1)
            file.write(bytes([byte ^ 1]))
        run = host.wait_run(host.start_run("plain")["id"])
        expect(run["status"], "Error")
        for part in (str(disk), "digest", "mt image build base"):
            assert part in run["failureDetails"], run
        host.mt("image", "delete", "base")
        expect(refusal(host.start_run, "plain").code, "image-missing")
