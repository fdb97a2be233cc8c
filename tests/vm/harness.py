"""What the VM tests stand on: one daemon with folders of its own, its HTTP API, its `mt`, and a look
at everything a run could leave behind on this machine. Python standard library only."""

import base64
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("CAPSULE_BIN", ROOT / "build" / "bin"))
IMAGES = pathlib.Path(os.environ.get("CAPSULE_IMAGES", "/var/lib/capsuled/images"))
# Bounds in the cases are meant for KVM; emulation gets three times as much.
SLOW = 3


class ApiError(Exception):
    def __init__(self, status, body):
        self.status, self.body = status, body
        super().__init__(f"HTTP {status}: {body}")

    @property
    def code(self):
        return self.body.get("code") if isinstance(self.body, dict) else None

    @property
    def detail(self):
        return self.body.get("detail", "") if isinstance(self.body, dict) else str(self.body)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Api:
    """The HTTP API, one connection a request: slow for the daemon, simple to reason about."""

    def __init__(self, path):
        self.path = path

    def raw(self, method, target, body=None, headers=None, timeout=120):
        connection = UnixConnection(self.path, timeout)
        try:
            connection.request(method, target, body=body, headers=headers or {})
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()
        finally:
            connection.close()

    def call(self, method, target, body=None, headers=None, timeout=120):
        data = None
        headers = dict(headers or {})
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        status, _, answer = self.raw(method, target, data, headers, timeout)
        # Strict: whatever a guest printed, the answer is well-formed UTF-8 JSON.
        value = json.loads(answer.decode("utf-8", "strict")) if answer else None
        if status >= 400:
            raise ApiError(status, value)
        return value

    def get(self, target, **kw):
        return self.call("GET", target, **kw)

    def post(self, target, body=None, **kw):
        return self.call("POST", target, {} if body is None else body, **kw)


def definition_path(space, name=""):
    return f"/v1/namespaces/{space}/capsules" + (f"/{name}" if name else "")


class Host:
    """A daemon with its own state, runtime and key; any number can live side by side."""

    def __init__(self, *options, log_level="debug", images=IMAGES, image="base"):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="capsule-test-"))
        self.folder.chmod(0o711)  # a run's uid must be able to pass
        self.state, self.runtime = self.folder / "state", self.folder / "run"
        self.socket = self.runtime / "api.sock"
        self.log_path = self.folder / "capsuled.log"
        self.options = ["--log-level", log_level, *options]
        self.images, self.image = images, image
        self.process = None
        self.api = Api(str(self.socket))
        self.space = "default"

    # ---- the process ----
    def start(self, limit=40):
        log = open(self.log_path, "ab")
        self.process = subprocess.Popen(
            [BIN / "capsuled", "--state", self.state, "--runtime", self.runtime, "--images", self.images,
             "--image", self.image, "--key", self.folder / "secret.key", "--config", self.folder / "capsuled.conf",
             *self.options],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.close()
        deadline = time.monotonic() + limit
        while True:
            try:
                self.api.get("/health", timeout=5)
                return self
            except (OSError, http.client.HTTPException):
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise AssertionError(f"capsuled did not start:\n{self.log_tail()}")
                time.sleep(0.05)

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        self.process.wait(timeout=30)

    def restart(self, number=signal.SIGKILL, pause=0.0):
        self.kill(number)
        time.sleep(pause)
        return self.start()

    def close(self):
        """Ends every live run, the daemon, and removes its folders; what is left over is an error."""
        left = []
        if self.process and self.process.poll() is None:
            with contextlib.suppress(Exception):
                for run in self.api.get("/v1/runs?live=true&limit=1000")["items"]:
                    self.terminate(run["id"])
            left = self.leftovers()
            self.kill(signal.SIGTERM)
        if os.environ.get("CAPSULE_KEEP_LOGS"):
            shutil.copy(self.log_path, os.environ["CAPSULE_KEEP_LOGS"] + f"/{self.folder.name}.log")
        if not left:
            shutil.rmtree(self.folder, ignore_errors=True)
        assert not left, f"left behind: {left} (folder {self.folder} kept)"

    def log_text(self):
        return self.log_path.read_text(errors="replace")

    def log_tail(self, lines=25):
        return "\n".join(self.log_text().splitlines()[-lines:])

    def resident_kib(self):
        return resident_kib(self.process.pid)

    # ---- what a user does ----
    def mt(self, *arguments, input=None, check=True, timeout=300, env=None):
        """Runs mt; returns the CompletedProcess with bytes in stdout and stderr."""
        environment = {**os.environ, "MAITENTO_URL": f"unix://{self.socket}", **(env or {})}
        done = subprocess.run([BIN / "mt", *map(str, arguments)], input=input or b"",
                              capture_output=True, timeout=timeout, env=environment)
        if check and done.returncode != 0:
            raise AssertionError(f"mt {arguments}: exit {done.returncode}\n{done.stdout!r}\n{done.stderr!r}")
        return done

    def deploy(self, space=None, **definitions):
        files = [{"path": f"capsules/{name.replace('_', '-')}.mtr", "content": text}
                 for name, text in definitions.items()]
        return self.api.post(f"/v1/namespaces/{space or self.space}/deploy", {"files": files})

    def vfs(self, name, files=None):
        with contextlib.suppress(ApiError):
            self.api.post(f"/v1/namespaces/{self.space}/vfs", {"name": name})
        for path, content in (files or {}).items():
            self.write(name, path, content)

    def file_target(self, vfs, path):
        return f"/v1/namespaces/{self.space}/vfs/{vfs}/files/" + urllib.parse.quote_from_bytes(
            os.fsencode(path.lstrip("/")))

    def write(self, vfs, path, content):
        data = content.encode() if isinstance(content, str) else content
        status, _, body = self.api.raw("PUT", self.file_target(vfs, path), data)
        if status >= 400:
            raise ApiError(status, json.loads(body))

    def read(self, vfs, path):
        status, _, body = self.api.raw("GET", self.file_target(vfs, path))
        if status >= 400:
            raise ApiError(status, json.loads(body))
        return body

    def listing(self, vfs, path="/"):
        entries = json.loads(self.api.raw("GET", self.file_target(vfs, path))[2])["entries"]
        for entry in entries:
            entry["raw"] = (base64.b64decode(entry["nameBase64"]) if "nameBase64" in entry
                            else entry["name"].encode())
        return entries

    def secret(self, name, value):
        status, _, body = self.api.raw("PUT", f"/v1/namespaces/{self.space}/secrets/{name}", value)
        if status >= 400:
            raise ApiError(status, json.loads(body))

    def start_run(self, capsule, space=None):
        return self.api.post(f"/v1/namespaces/{space or self.space}/capsules/{capsule}/runs")

    def run(self, run_id):
        return self.api.get(f"/v1/runs/{run_id}")

    def wait_run(self, run_id, until="ended", limit=300):
        deadline = time.monotonic() + limit
        while True:
            run = self.api.get(f"/v1/runs/{run_id}?wait=20s&until={until}")
            over = run["status"] in ("Finished", "Error", "Terminated")
            if over or (until == "started" and run["status"] == "Running"):
                return run
            assert time.monotonic() < deadline, f"run still {run}\n{self.log_tail()}"

    def up(self, capsule="plain", text='maxDuration = "00:30:00"\n'):
        """Deploys `text` as `capsule`, starts it and waits until it is Running."""
        self.deploy(**{capsule: text})
        run = self.wait_run(self.start_run(capsule)["id"], "started")
        assert run["status"] == "Running", f"{run}\n{self.log_tail(60)}"
        return Run(self, run["id"])

    def terminate(self, run_id):
        return self.api.post(f"/v1/runs/{run_id}/terminate")

    # ---- what must not be left ----
    def leftovers(self):
        """Everything of this daemon's ended runs that still exists, as text."""
        live = {run["id"] for run in self.api.get("/v1/runs?live=true&limit=1000")["items"]}
        return self.leftovers_except(live)

    def leftovers_except(self, live):
        def is_live(text):
            return any(run in text for run in live)

        found = [f"domain {line}" for line in domains() if self.owns_domain(line) and not is_live(line)]
        marker = str(self.folder)
        for pid, command in processes():
            if pid == self.process.pid or marker not in command or is_live(command):
                continue
            # A virtiofsd's command line names the VFS, not the run: with live runs it may be one of theirs.
            if "qemu-system" in command or ("virtiofsd" in command and not live):
                found.append(f"process {pid} {command[:120]}")
        runs = self.state / "runs"
        if runs.exists():
            found += [f"folder {entry}" for entry in runs.iterdir() if not is_live(entry.name)]
        for path in self.runtime.rglob("*") if self.runtime.exists() else []:
            if any(part.count("-") == 4 and len(part) == 36 for part in path.parts) and not is_live(str(path)):
                found.append(f"runtime file {path}")
        found += [f"mount {line}" for line in open("/proc/self/mountinfo")
                  if marker in line and not is_live(line)]
        return found

    def owns_domain(self, name):
        text = subprocess.run(["virsh", "-c", "qemu:///system", "dumpxml", name],
                              capture_output=True, text=True).stdout
        return str(self.folder) in text


class Run:
    """A running capsule and the commands one sends to it."""

    def __init__(self, host, run_id):
        self.host, self.id = host, run_id
        self.target = f"/v1/runs/{run_id}"

    def send(self, command, arguments=(), user=None, limit=None, **more):
        request = {"command": command, "arguments": list(arguments), **more}
        if user:
            request["runAsUser"] = user
        if limit is not None:
            request["maxDuration"] = int(limit * 1000)
        return self.host.api.post(f"{self.target}/commands", request)["id"]

    def wait(self, command_id, limit=120):
        deadline = time.monotonic() + limit
        while True:
            command = self.host.api.get(f"{self.target}/commands/{command_id}?wait=20s")
            if command["status"] not in ("Queued", "Running"):
                return command
            assert time.monotonic() < deadline, f"command still {command}"

    def exec(self, command, arguments=(), wait=120, **more):
        return self.wait(self.send(command, arguments, **more), wait)

    def ok(self, command, arguments=(), **more):
        """Runs it, expects exit code 0, returns standard output."""
        result = self.exec(command, arguments, **more)
        assert result.get("exitCode") == 0, f"{command} {list(arguments)}: {result}"
        return result["outputStandard"]

    def status(self):
        return self.host.run(self.id)

    def live(self):
        """The standing check after a case: this capsule still answers."""
        began = time.monotonic()
        result = self.exec("echo ok")
        assert (result["exitCode"], result["outputStandard"]) == (0, "ok\n"), result
        assert time.monotonic() - began < 5 * SLOW, "the capsule answers too slowly"

    def terminate(self):
        return self.host.terminate(self.id)


def domains():
    done = subprocess.run(["virsh", "-c", "qemu:///system", "list", "--all", "--name"],
                          capture_output=True, text=True, timeout=30)
    return [line for line in done.stdout.split() if line]


def processes():
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                text = pathlib.Path("/proc", entry, "cmdline").read_bytes().replace(b"\0", b" ")
                yield int(entry), text.decode(errors="replace")


def resident_kib(pid):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def in_background(function, *arguments):
    """Runs function in a thread; .result() returns its value or raises what it raised."""
    class Task(threading.Thread):
        def run(self):
            try:
                self.value, self.error = function(*arguments), None
            except BaseException as error:  # handed to the caller below
                self.value, self.error = None, error

        def result(self, timeout=300):
            self.join(timeout)
            assert not self.is_alive(), "still running"
            if self.error:
                raise self.error
            return self.value

    task = Task(daemon=True)
    task.start()
    return task


def eventually(check, limit, what):
    deadline = time.monotonic() + limit
    while not (value := check()):
        assert time.monotonic() < deadline, f"not within {limit} s: {what}"
        time.sleep(0.1)
    return value


def expect(actual, expected, what=""):
    assert actual == expected, f"{what + ': ' if what else ''}expected {expected!r}, got {actual!r}"
