#!/usr/bin/env python3
"""How lib/archives.py takes a .NET SDK from release metadata, and what it says when it cannot. Needs neither root nor a
network: a server on 127.0.0.1 is the publisher. images_test.sh runs each test by its name."""

import contextlib
import hashlib
import http.server
import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

IMAGES = pathlib.Path(__file__).resolve().parents[2] / "images"
sys.path.insert(0, str(IMAGES / "lib"))
sys.dont_write_bytecode = True

import archives  # noqa: E402

METADATA = "/8.0/releases.json"


def sha512(content):
    return hashlib.sha512(content).hexdigest()


class Publisher(http.server.ThreadingHTTPServer):
    """Answers with `pages`: a path's content, or a status, or a function of the request's handler."""

    daemon_threads = True

    def __init__(self, context=None):
        super().__init__(("127.0.0.1", 0), Answer)
        self.pages, self.asked = {}, []
        self.address = f"{'https' if context else 'http'}://127.0.0.1:{self.server_port}"
        if context:
            self.socket = context.wrap_socket(self.socket, server_side=True)
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def publish(self, version="8.0.200", content=b"new", **other):
        """An SDK with a file like .NET's; `other` replaces members of that file."""
        path = f"/Sdk/{version}/sdk-linux-x64.tar.gz"
        self.pages[path] = content
        return {"version": version, "files": [
            {"name": "sdk-linux-arm64.tar.gz", "rid": "linux-arm64", "url": self.address + "/arm64", "hash": sha512(b"arm")},
            {"name": "sdk-linux-x64.deb", "rid": "linux-x64", "url": self.address + "/deb", "hash": sha512(b"deb")},
            {"name": "sdk-linux-x64.tar.gz", "rid": "linux-x64", "url": self.address + path, "hash": sha512(content),
             **other}]}

    def list(self, *sdks, latest="8.0.200"):
        """Release metadata with one release of these, the first in `sdk` too."""
        self.pages[METADATA] = json.dumps({"latest-sdk": latest, "releases": [
            {"release-version": "8.0.1", "sdk": sdks[0], "sdks": sdks}]}).encode()


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        page = self.server.pages.get(self.path, 404)
        if callable(page):
            page(self)
        elif isinstance(page, int):
            self.send_error(page)
        else:
            self.answer(page, len(page))

    def answer(self, content, length):
        self.send_response(200)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        with contextlib.suppress(OSError):  # who asks need not listen to the end
            self.wfile.write(content)

    def redirect(self, address):
        self.send_response(302)
        self.send_header("Location", address)
        self.end_headers()

    def log_message(self, *_):
        pass


class Releases(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="releases-test-"))
        self.addCleanup(shutil.rmtree, self.work)
        self.settings = self.work / "image-sources"
        self.publisher = self.serve()
        self.environment = {**os.environ, "no_proxy": "*"}

    def serve(self, context=None):
        server = Publisher(context)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server

    def tls(self):
        """A server that is trusted, and speaks https."""
        certificate = self.work / "certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", certificate, "-out",
                        self.work / "public.pem", "-days", "2", "-subj", "/CN=test", "-addext",
                        "subjectAltName=IP:127.0.0.1"], check=True, stderr=subprocess.DEVNULL)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.work / "public.pem", certificate)
        self.environment["SSL_CERT_FILE"] = str(self.work / "public.pem")
        return self.serve(context)

    def run_archives(self, *options, metadata=None, need="optional", before=""):
        """lib/archives.py in an empty folder; `before` is Python that changes its limits."""
        metadata = metadata or self.publisher.address + METADATA
        (self.work / "list").write_text(f"dotnet  releases:{metadata}  {need}  .NET 8 SDK\n")
        self.folder = self.work / "archives"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        return subprocess.run(
            [sys.executable, "-B", "-c", f"import sys, archives\n{before}\narchives.main()", "--list", self.work / "list",
             "--folder", self.folder, "--cache", self.work / "cache", "--settings", self.settings, *options],
            cwd=IMAGES / "lib", env={**self.environment, "PYTHONPATH": str(IMAGES / "lib")}, text=True, timeout=60,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)

    def report(self, *options, **others):
        done = self.run_archives(*options, **others)
        self.assertEqual(done.returncode, 0, done.stdout)
        return json.loads((self.folder / "archives.json").read_text())

    def taken(self, *options, **others):
        report = self.report(*options, **others)
        self.assertEqual(report["missing"], [])
        [entry] = report["archives"]
        content = (self.folder / "dotnet.tgz").read_bytes()
        self.assertEqual(entry, {"name": "dotnet", "what": ".NET 8 SDK", "version": entry["version"],
                                 "sha512": sha512(content)})
        return entry["version"], content

    def missing(self, *texts, **others):
        """The archive is missing, and the reason has these texts in one line, and how to set another source."""
        report = self.report(**others)
        self.assertEqual(report["archives"], [])
        self.assertEqual([file.name for file in self.folder.iterdir()], ["archives.json"])
        self.assertEqual(list(self.work.glob("cache/*.part")), [])
        [entry] = report["missing"]
        for text in (*texts, f"; to set a source, write dotnet = ADDRESS#sha512=HEX to {self.settings}"):
            self.assertIn(text, entry["reason"])
        self.assertTrue(entry["reason"].isprintable(), entry["reason"])
        return entry["reason"]

    def test_an_sdk_is_taken_and_checked(self):
        self.publisher.list(self.publisher.publish(content=b"x" * 200_000))
        self.assertEqual(self.taken(), ("8.0.200", b"x" * 200_000))
        self.publisher.list(self.publisher.publish(hash=sha512(b"new").upper()))
        self.assertEqual(self.taken(), ("8.0.200", b"new"))

    def test_the_latest_is_taken_wherever_it_stands(self):
        old, new = self.publisher.publish("8.0.100", b"old"), self.publisher.publish("8.0.200", b"new")
        for sdks in ((old, new), (new, old)):
            self.publisher.list(*sdks)
            self.assertEqual(self.taken(), ("8.0.200", b"new"))
        self.publisher.list(new, old, latest="8.0.100")
        self.assertEqual(self.taken(), ("8.0.100", b"old"))
        self.publisher.list(old)
        self.missing("lists no .tar.gz for linux-x64 of SDK 8.0.200")
        self.publisher.pages[METADATA] = json.dumps({"latest-sdk": "8.0.200", "releases": [{"sdk": new}]}).encode()
        self.assertEqual(self.taken(), ("8.0.200", b"new"))

    def test_the_archive_is_kept_until_there_is_a_newer_one(self):
        self.publisher.list(self.publisher.publish(content=b"same"))
        self.taken()
        self.publisher.asked.clear()
        self.assertEqual(self.taken()[1], b"same")
        self.assertEqual(self.publisher.asked, [METADATA])
        self.publisher.list(self.publisher.publish("8.0.201", b"newer"), latest="8.0.201")
        self.assertEqual(self.taken(), ("8.0.201", b"newer"))
        self.assertEqual([file.read_bytes() for file in (self.work / "cache").iterdir()], [b"newer"])

    def test_a_newer_sdk_names_another_image_and_the_same_one_does_not(self):
        def state():
            self.taken()
            return subprocess.check_output(
                ["bash", "-c", '. "$1/lib/common.sh" && . "$1/lib/profile.sh" && state_hash inputs "$2" "$3"', "-",
                 IMAGES, self.work, self.folder])
        self.publisher.list(self.publisher.publish())
        first = state()
        self.assertEqual(state(), first)
        self.publisher.list(self.publisher.publish("8.0.201", b"newer"), latest="8.0.201")
        self.assertNotEqual(state(), first)

    def test_another_digest_is_missing_and_not_kept(self):
        self.publisher.list(self.publisher.publish(hash=sha512(b"other")))
        self.missing("/Sdk/8.0.200/sdk-linux-x64.tar.gz: expected sha512 " + sha512(b"other"), "found " + sha512(b"new"))
        self.assertEqual(list((self.work / "cache").iterdir()), [])

    def test_no_file_for_this_machine_is_missing(self):
        for other in ({"rid": "linux-musl-x64"}, {"name": "sdk-linux-x64.zip"}):
            self.publisher.list(self.publisher.publish(**other))
            self.missing(self.publisher.address + METADATA, "lists no .tar.gz for linux-x64 of SDK 8.0.200")

    def test_malformed_metadata_is_missing(self):
        for text in (b"", b"<html>", b'{"latest-sdk": "8.0', b"\xff\xfe\x00", b"[" * 1_000_000, b"9" * 10_000):
            self.publisher.pages[METADATA] = text
            self.missing(self.publisher.address + METADATA + ": ")

    def test_unexpected_metadata_is_missing(self):
        nothing = [None, [], "text", 8, {"latest-sdk": None}, {"latest-sdk": 8}, {"latest-sdk": "8\n"}, {"latest-sdk": ""}]
        for value in nothing:
            self.publisher.pages[METADATA] = json.dumps(value).encode()
            self.missing("it has no `latest-sdk`")
        for value in (None, {}, [None, 1, "a", [], {}], [{"sdk": 1, "sdks": {}}], [{"sdks": [{"version": "8.0.200"}]}],
                      [{"sdk": {"version": "8.0.200", "files": [None, {}, {"rid": "linux-x64", "name": 1}]}}]):
            self.publisher.pages[METADATA] = json.dumps({"latest-sdk": "8.0.200", "releases": value}).encode()
            self.missing("lists no .tar.gz for linux-x64")
        for value in (None, "", "12", int("1" * 128), "g" * 128, sha512(b"new") + "0", sha512(b"new") + "\n"):
            self.publisher.list(self.publisher.publish(hash=value))
            self.missing("no SHA-512 digest of SDK 8.0.200")

    def test_http_errors_are_missing(self):
        self.missing(self.publisher.address + METADATA, "404")
        self.publisher.pages[METADATA] = 503
        self.missing(self.publisher.address + METADATA, "503")
        self.publisher.list(self.publisher.publish())
        self.publisher.pages["/Sdk/8.0.200/sdk-linux-x64.tar.gz"] = 403
        self.missing("/Sdk/8.0.200/sdk-linux-x64.tar.gz", "403")

    def test_a_closed_port_is_missing(self):
        self.missing("http://127.0.0.1:9/releases.json", "refused", metadata="http://127.0.0.1:9/releases.json")

    def test_an_answer_that_is_none_is_missing(self):
        for answer in (b"nonsense\r\n\r\n", b"", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"):
            self.publisher.pages[METADATA] = lambda request, answer=answer: request.wfile.write(answer)
            self.missing(self.publisher.address + METADATA)

    def test_a_host_that_drops_packets_is_given_up(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, and says nothing
            address = f"127.0.0.1:{silent.getsockname()[1]}/releases.json"
            for scheme in ("http", "https"):
                begin = time.monotonic()
                self.missing(f"{scheme}://{address}: no answer within 1 seconds", metadata=f"{scheme}://{address}",
                             before="archives.ANSWER_WITHIN = 1")
                self.assertLess(time.monotonic() - begin, 10)
        self.assertLessEqual(archives.ANSWER_WITHIN, 20)

    def test_a_name_that_is_looked_up_without_end_is_given_up(self):
        self.missing("https://example.invalid/: no answer within 1 seconds", metadata="https://example.invalid/",
                     before="import socket, time\nsocket.getaddrinfo = lambda *_, **__: time.sleep(50)\n"
                            "archives.ANSWER_WITHIN = 1")

    def test_a_download_that_stops_is_given_up(self):
        def stop(request):
            request.answer(b"ab", 10)
            time.sleep(20)
        self.publisher.list(self.publisher.publish())
        self.publisher.pages["/Sdk/8.0.200/sdk-linux-x64.tar.gz"] = stop
        begin = time.monotonic()
        self.missing("/Sdk/8.0.200/sdk-linux-x64.tar.gz", "timed out", before="archives.PROGRESS_WITHIN = 1")
        self.assertLess(time.monotonic() - begin, 10)

    def test_a_download_that_drips_is_given_up(self):
        def drip(request):
            request.answer(b"", 1000)
            with contextlib.suppress(OSError):
                for _ in range(40):
                    request.wfile.write(b"a")
                    time.sleep(0.5)
        self.publisher.list(self.publisher.publish())
        self.publisher.pages["/Sdk/8.0.200/sdk-linux-x64.tar.gz"] = drip
        begin = time.monotonic()
        self.missing("/Sdk/8.0.200/sdk-linux-x64.tar.gz: it was not complete after 2 seconds",
                     before="archives.COMPLETE_WITHIN = 2")
        self.assertLess(time.monotonic() - begin, 10)

    def test_a_download_that_ends_early_is_missing(self):
        self.publisher.list(self.publisher.publish())
        self.publisher.pages["/Sdk/8.0.200/sdk-linux-x64.tar.gz"] = lambda request: request.answer(b"ne", 3)
        self.missing("/Sdk/8.0.200/sdk-linux-x64.tar.gz: the connection ended before the file did")

    def test_what_is_too_large_is_missing(self):
        self.publisher.list(self.publisher.publish(content=b"x" * (2 << 20)))
        self.missing("/Sdk/8.0.200/sdk-linux-x64.tar.gz: it is larger than 1 MiB", before="archives.ARCHIVE_LIMIT = 1 << 20")
        self.publisher.pages[METADATA] += b" " * (9 << 20)
        self.missing(METADATA + ": it is larger than 8 MiB")

    def test_the_operators_source_comes_first(self):
        self.publisher.list(self.publisher.publish())
        mine = self.work / "mine.tar.gz"
        mine.write_bytes(b"mine")
        self.publisher.pages["/theirs.tar.gz"] = b"theirs"
        self.settings.write_text(f"dotnet = {mine}#sha512={sha512(b'mine')}\n")
        self.assertEqual(self.taken(), ("mine.tar.gz", b"mine"))
        given = f"dotnet={self.publisher.address}/theirs.tar.gz#sha512={sha512(b'theirs')}"
        self.assertEqual(self.taken("--source", given), ("theirs.tar.gz", b"theirs"))
        self.assertNotIn(METADATA, self.publisher.asked)
        self.settings.unlink()
        self.assertEqual(self.taken(), ("8.0.200", b"new"))

    def test_another_digest_than_the_operators_ends_the_build(self):
        self.publisher.list(self.publisher.publish())
        given = f"dotnet={self.publisher.address}/Sdk/8.0.200/sdk-linux-x64.tar.gz#sha512={sha512(b'other')}"
        done = self.run_archives("--source", given)
        self.assertEqual(done.returncode, 1, done.stdout)
        for text in ("not the one that its source names", "expected sha512", "what to do"):
            self.assertIn(text, done.stdout)

    def test_a_required_one_ends_the_build(self):
        done = self.run_archives(need="required")
        self.assertEqual(done.returncode, 1, done.stdout)
        for text in ("dotnet (.NET 8 SDK) cannot be fetched", METADATA, "404", "what to do"):
            self.assertIn(text, done.stdout)
        self.assertNotIn("Traceback", done.stdout)

    def test_words_of_a_server_are_escaped(self):
        self.publisher.list(self.publisher.publish(url="https://\x1b[2J\u202eexample\ud800.invalid"))
        self.assertIn("\\x1b[2J\\u202e", self.missing("https://"))
        self.publisher.list(self.publisher.publish(url="https://" + "x" * 4000))
        self.assertLess(len(self.missing("not at an https address")), 3000)

    def test_only_https_is_spoken(self):
        self.missing("http://127.0.0.2/releases.json: release metadata is read by https only",
                     metadata="http://127.0.0.2/releases.json")
        for url in (None, "", "/etc/passwd", "file:///etc/passwd", "ftp://127.0.0.1/", "http://127.0.0.2:80/"):
            self.publisher.list(self.publisher.publish(url=url))
            self.missing("SDK 8.0.200 is not at an https address")

    def test_https_stays_https(self):
        secure = self.tls()
        metadata = secure.address + METADATA
        secure.list(secure.publish())
        self.assertEqual(self.taken(metadata=metadata), ("8.0.200", b"new"))
        secure.list(secure.publish(url=self.publisher.address + "/sdk-linux-x64.tar.gz"))
        self.missing("SDK 8.0.200 is not at an https address", metadata=metadata)
        secure.list(secure.publish(content=b"newer"))
        secure.pages["/moved"] = lambda request: request.redirect(secure.address + METADATA)
        self.assertEqual(self.taken(metadata=secure.address + "/moved"), ("8.0.200", b"newer"))
        self.publisher.pages = secure.pages
        secure.pages["/moved"] = lambda request: request.redirect(self.publisher.address + METADATA)
        self.missing(f"redirects to {self.publisher.address}", metadata=secure.address + "/moved")

    def test_a_certificate_that_is_not_trusted_is_missing(self):
        secure = self.tls()
        secure.list(secure.publish())
        del self.environment["SSL_CERT_FILE"]
        self.missing(secure.address, "CERTIFICATE_VERIFY_FAILED", metadata=secure.address + METADATA)

    def test_full_takes_dotnet_from_its_publisher(self):
        lines = {name: (where, need) for name, where, need, _ in archives.wanted(IMAGES / "profiles/full/archives")}
        where, need = lines["dotnet"]
        self.assertEqual(need, "optional")
        self.assertTrue(archives.HTTPS.fullmatch(where.removeprefix("releases:")), where)
        self.assertTrue(where.endswith("/8.0/releases.json"), where)


if __name__ == "__main__":
    unittest.main()
