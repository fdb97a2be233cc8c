"""Shared file systems: what stays inside, who may read, odd names, scale, mmap and databases."""

import json
import os
import subprocess

from cases import Skip, case, shared_host, shared_run
from harness import ApiError, Run, expect, processes


def virtiofsd_of(host):
    return [pid for pid, command in processes() if "virtiofsd" in command and str(host.folder) in command]


@case("O-20", "links planted in the share lead nowhere")
def planted_links():
    host = shared_host()
    host.vfs("planted")
    run = host.up("planter", 'vfs = [ { vfs = @ref("planted") mountName = "s" } ]\n')
    canary = host.state / "vfs" / "canary.txt"
    canary.write_text("CANARY-HOST\n")
    # What a broken implementation would write or remove is the test's own, never the machine's.
    bait = host.folder / "bait"
    bait.mkdir()
    (bait / "kept").write_text("CANARY-HOST\n")
    run.ok("cd /mnt/s; ln -s ../canary.txt up; ln -s /etc/passwd pw; ln -s / root; mkdir d; ln -s .. d/back; "
           f"ln -s {bait} bait; ln /etc/hostname hard 2>/dev/null; mkfifo fifo; echo plain > plain")
    for method, path in (("GET", "/up"), ("GET", "/pw"), ("GET", "/root"), ("GET", "/root/etc/passwd"),
                         ("GET", "/bait/kept"), ("PUT", "/bait/new"), ("GET", "/d/back/plain"), ("GET", "/fifo"),
                         ("GET", "/../canary.txt"), ("PUT", "/../x"), ("PUT", "/fifo")):
        status, _, body = host.api.raw(method, host.file_target("planted", path), b"x" if method == "PUT" else None,
                                       timeout=10)
        assert b"CANARY" not in body and b"root:x:" not in body, (method, path, body)
        if path != "/fifo" or method == "GET":
            assert status >= 400, (method, path, status)
    host.api.raw("PUT", host.file_target("planted", "/up"), b"overwritten")
    expect(canary.read_text(), "CANARY-HOST\n")
    host.api.raw("DELETE", host.file_target("planted", "/bait/kept"))
    host.api.raw("DELETE", host.file_target("planted", "/bait") + "?recursive=true")
    host.api.raw("DELETE", host.file_target("planted", "/d") + "?recursive=true")
    expect([path.name for path in bait.iterdir()], ["kept"])
    assert "maitento" in run.ok("cat /mnt/s/pw")
    expect(host.read("planted", "/plain"), b"plain\n")
    canary.unlink()
    run.terminate()


@case("O-21", "mode 770 through virtiofs, and the next machine can write")
def permissions():
    host = shared_host()
    host.vfs("perm", {"/sales.csv": "a,b\n"})
    text = 'vfs = [ { vfs = @ref("perm") mountName = "data" } ]\nusers = [ { name = "sandbox" } ]\n'
    run = host.up("perm", text)
    expect(run.ok("stat -c '%U %a' /mnt/data"), "maitento 770\n")
    denied = run.exec("cat /mnt/data/sales.csv", user="sandbox")
    expect((denied["exitCode"], denied["outputError"]), (1, "cat: /mnt/data/sales.csv: Permission denied\n"))
    run.ok("echo r > /mnt/data/out.txt")
    run.terminate()
    expect(host.read("perm", "/out.txt"), b"r\n")
    run = host.up("perm", text)
    expect(run.ok("echo s >> /mnt/data/out.txt && cat /mnt/data/out.txt"), "r\ns\n")
    expect(run.exec("echo x >> /mnt/data/sales.csv")["exitCode"], 0, "a file made by the API is writable")
    run.terminate()


@case("O-21b", "readOnly is enforced on the host")
def read_only():
    host = shared_host()
    host.vfs("frozen", {"/kept.txt": "kept\n"})
    run = host.up("frozen", 'vfs = [ { vfs = @ref("frozen") mountName = "data" readOnly = true } ]\n')
    expect(run.ok("cat /mnt/data/kept.txt"), "kept\n")
    for text in ("echo x > /mnt/data/new", "rm /mnt/data/kept.txt", "echo x >> /mnt/data/kept.txt"):
        assert run.exec(text)["exitCode"] != 0, text
    run.exec("mount -o remount,rw /mnt/data; echo x > /mnt/data/new", user="root")
    expect([entry["name"] for entry in host.listing("frozen")], ["kept.txt"])
    run.terminate()


@case("O-22", "awkward but legal names")
def names():
    host = shared_host()
    host.vfs("names")
    run = host.up("names", 'vfs = [ { vfs = @ref("names") mountName = "data" } ]\n')
    wanted = ["a b.txt", "na\u00efve-\u65e5\u672c.txt", "new\nline.txt", "-rf", " lead", "tab\tx", "n" * 255]
    run.ok("python3", ["-c", "import sys,os\nos.chdir('/mnt/data')\n"
                       "for n in sys.argv[1:]: open(n,'w').write(n)\nopen(b'raw\\xff','w').write('raw')", *wanted])
    entries = {entry["raw"] for entry in host.listing("names")}
    expect(entries, {name.encode() for name in wanted} | {b"raw\xff"})
    for name in wanted:
        expect(host.read("names", "/" + name), name.encode())
    status, _, body = host.api.raw("GET", host.file_target("names", "/") + "raw%FF")
    expect((status, body), (200, b"raw"))
    run.ok("rm -- /mnt/data/-rf")
    run.terminate()


@case("O-23", "very many small files", long=True)
def many_files():
    host = shared_host()
    host.vfs("many")
    run = host.up("many", 'vfs = [ { vfs = @ref("many") mountName = "data" } ]\nmaxDuration = "00:30:00"\n')
    daemon = virtiofsd_of(host)[-1]
    limit = int([line for line in open(f"/proc/{daemon}/limits") if line.startswith("Max open files")][0].split()[3])
    count = 15_000 if limit <= 20_000 else 200_000
    print(f"     virtiofsd may have {limit} descriptors: {count} files")
    script = (f"import os\nfor d in range(200): os.makedirs(f'/mnt/data/many/{{d}}')\n"
              f"for i in range({count}): open(f'/mnt/data/many/{{i%200}}/{{i}}','w').close()")
    result = run.exec("python3", ["-c", script], wait=900)
    expect((result["exitCode"], result["outputError"]), (0, ""))
    expect(run.ok("find /mnt/data -type f | wc -l", wait=600), f"{count}\n")
    expect(run.ok("rm -rf /mnt/data/many && echo gone", wait=900), "gone\n")
    assert len(os.listdir(f"/proc/{daemon}/fd")) < limit
    assert "sales.csv" in shared_run().ok("ls /mnt/data")
    run.terminate()


@case("O-24", "SQLite in WAL mode, shared mmap and git on the share", long=True)
def databases():
    host = shared_host()
    host.vfs("mapped")
    run = host.up("mapped", 'packages = ["sqlite3", "git"]\nmaxDuration = "00:30:00"\n'
                  'vfs = [ { vfs = @ref("mapped") mountName = "data" } ]\n')
    expect(run.ok('sqlite3 /mnt/data/t.db "pragma journal_mode=wal; create table t(x); insert into t values(1); '
                  'select count(*) from t;"'), "wal\n1\n")
    run.ok("python3", ["-c", "import mmap\nf=open('/mnt/data/m.bin','w+b'); f.truncate(4096)\n"
                       "m=mmap.mmap(f.fileno(),4096); m[0:5]=b'HELLO'; m.flush(); m.close(); f.close()"])
    expect(run.ok("head -c 5 /mnt/data/m.bin"), "HELLO")
    run.ok("git init -q /mnt/data/r && cd /mnt/data/r && git -c user.name=t -c user.email=t@example.org "
           "commit -q --allow-empty -m x")
    run.terminate()


@case("vfs-api", "files through the API: ranges, folders, move, replace, large")
def file_api():
    host = shared_host()
    host.vfs("files", {"/a/b/c.txt": "0123456789"})
    status, headers, body = host.api.raw("GET", host.file_target("files", "/a/b/c.txt"),
                                         headers={"Range": "bytes=2-4"})
    expect((status, body), (206, b"234"))
    expect([(entry["name"], entry["type"]) for entry in host.listing("files", "/a")], [("b", "folder")])
    host.api.post(host.file_target("files", "/a/b/c.txt"), {"operation": "move", "to": "/moved.txt"})
    expect(host.read("files", "/moved.txt"), b"0123456789")
    large = os.urandom(40 << 20)
    host.write("files", "/large.bin", large)
    assert host.read("files", "/large.bin") == large
    host.api.post(host.file_target("files", "/made/deep"), {"operation": "makeFolder"})
    status, _, _ = host.api.raw("DELETE", host.file_target("files", "/made"))
    expect(status, 409, "a folder that is not empty needs recursive")
    status, _, _ = host.api.raw("DELETE", host.file_target("files", "/made") + "?recursive=true")
    expect(status, 204)
    expect(host.api.raw("GET", host.file_target("files", "/made"))[0], 404)


@case("vfs-two", "two runs share one VFS at the same time")
def two_runs():
    host = shared_host()
    host.vfs("both")
    text = 'vfs = [ { vfs = @ref("both") mountName = "data" } ]\n'
    one, two = host.up("both-one", text), host.up("both-two", text)
    one.ok("echo from-one > /mnt/data/f")
    expect(two.ok("cat /mnt/data/f"), "from-one\n")
    host.write("both", "/g", "from-host\n")
    expect(one.ok("cat /mnt/data/g"), "from-host\n")
    try:
        host.api.call("DELETE", "/v1/namespaces/default/vfs/both")
    except ApiError as error:
        expect(error.status, 409)
    else:
        raise AssertionError("a mounted VFS was deleted")
    one.terminate(), two.terminate()
