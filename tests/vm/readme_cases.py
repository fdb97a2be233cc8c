"""The README's commands, taken from the file and run as they stand, so that they stay true."""

import json
import os
import re
import subprocess
import tempfile

from cases import case
from harness import ROOT, Host, expect

SOCKET = "/run/capsuled/api.sock"


def code_blocks(section):
    """The fenced blocks of README.md below the heading `## section`."""
    text = (ROOT / "README.md").read_text()
    body = re.search(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    assert body, f"README.md has no section {section!r}"
    return re.findall(r"^```sh\n(.*?)^```$", body[1], re.M | re.S)


@case("readme-api", "the README's commands of the API alone: curl and jq, word for word")
def readme_api():
    blocks = code_blocks("The API alone")
    expect(len(blocks), 1, "code blocks")
    assert SOCKET in blocks[0], "the README's socket is another one than this test replaces"
    report = "product,units\nKettle,3\nPan,5\n"
    host = Host().start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/report.csv", "w") as file:
                file.write(report)
            # curl says of each request what it was and how it was answered, beside the block's own output.
            with open(f"{folder}/.curlrc", "w") as settings:
                settings.write('write-out = "%{stderr}request %{http_code} %{method} %{url_effective}\\n"\n')
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", blocks[0].replace(SOCKET, str(host.socket))],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, cwd=folder,
                                  env={**os.environ, "CURL_HOME": folder})
        assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}\n{host.log_tail()}"
        requests = re.findall(r"^request (\d+) (\w+) http://localhost/v1/(\S+)$", done.stderr, re.M)
        expect(len(requests), len(done.stderr.splitlines()), f"curl had something to say\n{done.stderr}")
        identity = "[0-9a-f-]{36}"
        for request, (status, method, target) in zip(requests, expected := (
                ("201", "POST", "namespaces/default/vfs"),
                ("201", "PUT", "namespaces/default/vfs/inbox/files/report.csv"),
                ("200", "POST", "namespaces/default/deploy"),
                ("201", "POST", "namespaces/default/capsules/look/runs"),
                ("201", "POST", f"runs/{identity}/commands"),
                ("200", "GET", rf"runs/{identity}/commands/{identity}\?wait=60s"),
                ("200", "POST", f"runs/{identity}/terminate"),
                ("200", "GET", "namespaces/default/vfs/inbox/files/"))):
            expect(request[:2], (status, method), str(request))
            assert re.fullmatch(target, request[2]), (request, target)
        expect(len(requests), len(expected), "requests")
        # What it prints: four answers as JSON, and one word that jq -r took out of another.
        decoder, rest, printed = json.JSONDecoder(), done.stdout.strip(), []
        while rest:
            if rest.startswith("Terminated"):
                value, end = "Terminated", len("Terminated")
            else:
                value, end = decoder.raw_decode(rest)
            printed.append(value)
            rest = rest[end:].lstrip()
        expect(len(printed), 5, done.stdout)
        made, deployed, command, status, listing = printed
        expect((made["name"], made["namespace"]), ("inbox", "default"))
        assert "look" in json.dumps(deployed["created"]), deployed
        expect(command, {"status": "Finished", "exitCode": 0, "outputStandard": "3 /mnt/in/report.csv\n"})
        expect(status, "Terminated")
        expect([(entry["name"], entry["type"], entry["size"]) for entry in listing["entries"]],
               [("report.csv", "file", len(report))])
    finally:
        host.close()
