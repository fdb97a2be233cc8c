"""What a capsule must not reach, what must not leak, and who may ask for what."""

import http.client
import json
import os
import pathlib
import socket
import subprocess
import threading
import time

from cases import Skip, case, shared_host, shared_run
from harness import ApiError, Host, Run, UnixConnection, expect, processes


@case("O-28", "what the guest may reach: nothing of the host, directly or through the proxy")
def network():
    host = shared_host()
    listener = socket.create_server(("", 0))
    port = listener.getsockname()[1]
    own = subprocess.run(["hostname", "-I"], capture_output=True, text=True).stdout.split()
    addresses = ["127.0.0.1", "169.254.169.254", *[a for a in own if ":" not in a]]
    run = host.up("reach", 'network = "internet"\n')
    expect(run.ok("ls /sys/class/net"), "lo\n")
    probe = ("import socket,sys\ntry:\n  socket.create_connection((sys.argv[1],int(sys.argv[2])),3); print('open')\n"
             "except OSError: print('refused')")
    for address in addresses:
        expect(run.ok("python3", ["-c", probe, address, str(port)]), "refused\n", address)
    fetch = ("import urllib.request,sys\ntry:\n  r=urllib.request.urlopen(sys.argv[1],timeout=10); print(r.status)\n"
             "except urllib.error.HTTPError as e: print(e.code)\nexcept OSError as e: print('failed')")
    spellings = [f"http://{a}:80/" for a in addresses] + [
        "http://localhost/", "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://2130706433/", "http://0x7f000001/",
        "http://0.0.0.0/", "http://10.0.0.1/", "http://192.168.0.1/"]
    for url in spellings:
        answer = run.ok("python3", ["-c", "import urllib.error\n" + fetch, url]).strip()
        assert answer in ("403", "400", "failed"), (url, answer)
    began = time.monotonic()
    assert run.exec("getent hosts example.org")["exitCode"] != 0
    assert time.monotonic() - began < 5, "a look-up does not fail at once"
    run.terminate()
    listener.close()


@case("O-28b", "apt works under the default network, other hosts do not")
def packages_network():
    host = shared_host()
    run = host.up("apt-only", 'maxDuration = "00:20:00"\n')
    run.ok("apt-get update -q", user="root", wait=600)
    fetch = ("import urllib.request,urllib.error\ntry:\n  print(urllib.request.urlopen('http://example.org/',timeout=20).status)\n"
             "except urllib.error.HTTPError as e: print(e.code, e.read().decode())")
    answer = run.ok("python3", ["-c", fetch])
    assert answer.startswith("403") and "network" in answer, answer
    run.terminate()
    none = host.up("no-network", 'network = "none"\n')
    # By default apt takes a source that cannot be reached for a passing trouble: exit code 0.
    update = none.exec("apt-get update -q -o APT::Update::Error-Mode=any", user="root", wait=300)
    assert update["exitCode"] != 0 and "Connection refused" in update["outputError"], update
    none.terminate()


@case("O-29", "where a secret may appear: in its file, nowhere else")
def secret_leaks():
    host = Host().start()
    try:
        canary = "CANARY-71c4e0"
        host.secret("s1", canary.encode())
        run = host.up("secretive", 'secrets = [ { secret = @ref("s1") mountName = "s1" } ]\n'
                      'users = [ { name = "sandbox" } ]\n')
        import hashlib
        expect(run.ok("sha256sum < /mnt/secrets/s1").split()[0], hashlib.sha256(canary.encode()).hexdigest())
        expect(run.ok("stat -c '%U %a' /mnt/secrets/s1"), "maitento 400\n")
        denied = run.exec("cat /mnt/secrets/s1", user="sandbox")
        assert denied["exitCode"] == 1 and "Permission denied" in denied["outputError"], denied
        inside = run.ok("cat /proc/*/environ /proc/*/cmdline /proc/cmdline 2>/dev/null | tr '\\0' '\\n'; ps auxww; mount",
                        user="root")
        assert canary not in inside
        for pid, command in processes():
            if "qemu" in command or "virtiofsd" in command or "capsuled" in command:
                assert canary not in command
                assert canary.encode() not in pathlib.Path(f"/proc/{pid}/environ").read_bytes()
        assert canary not in subprocess.run(["virsh", "-c", "qemu:///system", "dumpxml", f"capsule-{run.id}"],
                                            capture_output=True, text=True).stdout
        run.terminate()
        found = subprocess.run(["grep", "-rlaF", canary, str(host.folder), "/var/log/libvirt"], capture_output=True,
                               text=True).stdout
        expect(found, "", "files with the secret in clear")
    finally:
        host.close()


@case("O-30", "secrets keep their exact bytes")
def secret_bytes():
    host = shared_host()
    values = {"newlines": b"line\n\n", "bare": b"abc", "spaces": b" x ", "binary": bytes(range(256))}
    for name, value in values.items():
        host.secret(name, value)
    mounts = "\n".join(f'{{ secret = @ref("{n}") mountName = "{n}" }}' for n in values)
    run = host.up("bytes", f"secrets = [\n{mounts}\n]\n")
    for name, value in values.items():
        expect(bytes.fromhex(run.ok("python3", ["-c", f"print(open('/mnt/secrets/{name}','rb').read().hex())"])), value)
    listed = host.api.get("/v1/namespaces/default/secrets")
    assert "abc" not in json.dumps(listed) and {"bare", "spaces"} <= {s["name"] for s in listed["items"]}
    run.terminate()


@case("O-33", "ending twice, using afterwards")
def ending_twice():
    host = shared_host()
    run = host.up("twice")
    command = run.send("echo kept; exit 3")
    run.wait(command)
    expect([run.terminate()["status"], run.terminate()["status"]], ["Terminated"] * 2)
    other = host.up("twenty")
    from harness import in_background
    tasks = [in_background(other.terminate) for _ in range(20)]
    expect({task.result()["status"] for task in tasks}, {"Terminated"})
    try:
        run.send("echo late")
    except ApiError as error:
        expect((error.status, error.code), (409, "run-ended"))
    else:
        raise AssertionError("a command was taken by an ended run")
    result = run.wait(command)
    expect((result["exitCode"], result["outputStandard"]), (3, "kept\n"))


@case("O-35", "odd requests are refused early and hurt nobody")
def odd_requests():
    host, run = shared_host(), shared_run()
    target = f"{run.target}/commands"
    resident = host.resident_kib()
    json_type = {"Content-Type": "application/json"}

    def status(method, path, body=None, headers=None):
        return host.api.raw(method, path, body, headers)[0]

    connection = UnixConnection(host.api.path, 30)
    connection.putrequest("POST", target)
    connection.putheader("Content-Length", str(200 << 20))
    connection.putheader("Content-Type", "application/json")
    connection.endheaders()
    expect(connection.getresponse().status, 413)
    connection.close()
    connection = UnixConnection(host.api.path, 30)
    connection.putrequest("POST", target)
    connection.putheader("Transfer-Encoding", "chunked")
    connection.putheader("Content-Type", "application/json")
    connection.endheaders()
    try:
        for _ in range(200):
            connection.send(b"100000\r\n" + b"x" * 0x100000 + b"\r\n")
    except OSError:
        pass  # cut off, as it should be
    try:
        expect(connection.getresponse().status, 413)
    except (OSError, http.client.HTTPException):
        pass  # the refusal was lost with the connection
    connection.close()
    assert host.resident_kib() - resident < 16 << 10, "the daemon buffered the body"
    expect(status("POST", target, b'{"command":', json_type), 400)
    expect(status("POST", target, b"[" * 100_000, json_type), 400)
    expect(status("POST", target, b'{"command":"true","runAsUsr":"sandbox"}', json_type), 400)
    expect(status("POST", target, b'{"command":"true","command":"false"}', json_type), 400)
    expect(status("GET", run.target, b"{}", json_type), 200)
    expect(status("GET", "/v1/no-such-thing"), 404)
    expect(status("PATCH", run.target), 405)
    run.live()


@case("O-35b", "over TCP every route needs a key, and a key sees its namespaces only")
def keys():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    host = Host("--listen", f"127.0.0.1:{port}").start()
    try:
        host.api.post("/v1/namespaces", {"name": "mine"})
        key = host.api.post("/v1/keys", {"label": "ci", "namespaces": ["mine"]})["key"]

        def status(method, path, token=None, body=None):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            if body is not None:
                headers["Content-Type"] = "application/json"
            connection.request(method, path, body=json.dumps(body) if body is not None else None, headers=headers)
            answer = connection.getresponse()
            answer.read()
            connection.close()
            return answer.status

        document = host.api.get("/openapi.json")
        some = "00000000-0000-4000-8000-000000000000"
        for path, methods in document["paths"].items():
            concrete = path
            for part in ("ns", "vfs", "name"):
                concrete = concrete.replace("{%s}" % part, "mine")
            concrete = concrete.replace("{run}", some).replace("{command}", some).replace("{id}", some)
            concrete = concrete.replace("{path}", "x")
            if path in ("/health", "/openapi.json"):
                continue
            for method in methods:
                if method.upper() in ("GET", "POST", "PUT", "DELETE", "HEAD"):
                    expect(status(method.upper(), concrete), 401, f"{method} {path} without a key")
                    expect(status(method.upper(), concrete, "wrong"), 401, f"{method} {path} with a wrong key")
        expect(status("GET", "/v1/namespaces/mine/capsules", key), 200)
        assert status("GET", "/v1/namespaces/default/capsules", key) in (403, 404)
        expect(status("POST", "/v1/keys", key, {"label": "more", "namespaces": ["mine"]}), 403)
    finally:
        host.close()


@case("O-36", "the control channel cannot be used from inside")
def control_channel():
    run = shared_run()
    probe = ("import socket,sys\nfor cid in (1,2,3):\n for port in (1000,1023,5000):\n  try:\n"
             "   s=socket.socket(socket.AF_VSOCK,socket.SOCK_STREAM); s.settimeout(3); s.connect((cid,port))\n"
             "   s.sendall(b'x'*1024); d=s.recv(16); print('answer' if d else 'closed')\n"
             "  except OSError as e: print('refused')\n")
    command = run.send("sleep 5; echo right", **{"async": True})
    assert "answer" not in run.ok("python3", ["-c", probe], user="sandbox")
    ports = run.exec("cat /dev/vport* > /dev/null; echo x > /dev/vport0p1; ls -l /dev/vport*", user="sandbox")
    assert "Permission denied" in ports["outputError"] or "No such file" in ports["outputError"], ports
    result = run.wait(command)
    expect((result["exitCode"], result["outputStandard"]), (0, "right\n"))


@case("mt-inside", "mt inside: signed in for the default user only, with no token anywhere")
def mt_inside():
    host = shared_host()
    host.vfs("inner", {"/hello.txt": "hello from the host\n"})
    host.deploy(child='autoTerminate = true\nstartup = [ { command = "true" } ]\n')
    run = host.up("signed-in", 'users = [ { name = "sandbox" } ]\n')
    expect(run.ok("mt vfs get inner /hello.txt -"), "hello from the host\n")
    assert "Capsule finished: Finished" in run.ok("mt capsule run child", wait=300)
    expect(run.ok("mt runs list --live --json >/dev/null && echo yes"), "yes\n")
    for attempt in ("mt vfs get inner /hello.txt -", "python3 -c \"import socket; s=socket.socket(socket.AF_UNIX); "
                    "s.connect('/run/capsule/api.sock')\"", "cat /proc/1/environ", "sudo -n mt runs list"):
        result = run.exec(attempt, user="sandbox")
        assert result["exitCode"] != 0, (attempt, result)
    key = run.exec("mt key create stolen")
    assert key["exitCode"] != 0, "a lasting credential was made from inside"
    run.terminate()


@case("events", "events arrive in order and resume where they stopped")
def events():
    host = shared_host()

    def read(after, until):
        connection = UnixConnection(host.api.path, 60)
        headers = {"Accept": "text/event-stream"}
        if after is not None:
            headers["Last-Event-ID"] = str(after)
        connection.request("GET", "/v1/events", headers=headers)
        response = connection.getresponse()
        seen, event = [], {}
        while True:
            line = response.readline().decode().rstrip("\n")
            if line.startswith(":"):
                continue
            if not line and "data" not in event:
                event = {}  # the pause before reconnecting, or a sign of life
            elif not line:
                seen.append(event)
                if until(event):
                    connection.close()
                    return seen
                event = {}
            elif ":" in line:
                name, _, value = line.partition(":")
                event[name] = value.strip()

    from harness import in_background
    host.deploy(eventful='autoTerminate = true\nstartup = [ { command = "true" } ]\n')
    started = []
    watching = in_background(read, None, lambda e: e["event"] == "run.ended" and started and started[0] in e["data"])
    time.sleep(0.5)
    started.append(host.start_run("eventful")["id"])
    mine = [event for event in watching.result(120) if started[0] in event["data"]]
    expect(mine[0]["event"], "run.started")
    expect(mine[-1]["event"], "run.ended")
    ids = [int(event["id"]) for event in mine]
    expect(ids, sorted(set(ids)))
    again = read(ids[0], lambda e: int(e["id"]) >= ids[-1])
    assert [int(e["id"]) for e in again if started[0] in e["data"]] == ids[1:]


@case("idempotency", "a repeated create with the same key makes one thing")
def idempotency():
    host, run = shared_host(), shared_run()
    headers = {"Idempotency-Key": "once-" + run.id}
    body = {"command": "echo once >> /tmp/once"}
    first = host.api.post(f"{run.target}/commands", body, headers=headers)
    second = host.api.post(f"{run.target}/commands", body, headers=headers)
    expect(first["id"], second["id"])
    run.wait(first["id"])
    expect(run.ok("wc -l < /tmp/once"), "1\n")
    try:
        host.api.post(f"{run.target}/commands", {"command": "true"}, headers=headers)
    except ApiError as error:
        expect(error.code, "idempotency-mismatch")
    else:
        raise AssertionError("another request under the same key was taken")


@case("openapi", "the OpenAPI document names every route the server has")
def openapi():
    host = shared_host()
    document = host.api.get("/openapi.json")
    assert document["openapi"].startswith("3.1"), document["openapi"]
    for path in ("/v1/runs/{run}", "/v1/runs/{run}/commands", "/v1/namespaces/{ns}/deploy"):
        assert any(path == p for p in document["paths"]), (path, sorted(document["paths"]))
