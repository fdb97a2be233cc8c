"""Where the daemon is looked for, and what of the arguments is refused before anything is sent."""

import os
import pathlib
import re
import threading
import unittest
from unittest import mock

from tests.fake_daemon import DaemonTest, Reply, tcp_server

import maitento
from maitento import Maitento
from maitento.endpoint import Endpoint, parse_endpoint

ROOT = pathlib.Path(__file__).resolve().parents[3]


class EndpointTest(unittest.TestCase):
    def test_reads_unix_and_http_addresses(self):
        self.assertEqual(parse_endpoint("unix:///run/x.sock"), Endpoint("unix:///run/x.sock", path="/run/x.sock"))
        for url, host, port in (("http://box:8080", "box", 8080), ("http://box/", "box", 80),
                                ("http://[::1]:81", "::1", 81)):
            self.assertEqual(parse_endpoint(url), Endpoint(url, host=host, port=port))

    def test_says_what_is_wrong_with_others(self):
        for url, why in (("https://box", "TLS proxy"), ("/run/x.sock", "scheme"), ("unix://x.sock", "absolute"),
                         ("unix:///" + "x" * 107, "107 bytes"), ("http://", "missing"), ("http://box:0", "missing"),
                         ("http://box:70000", "Port"), ("http://box/v1", "only a host"), ("http://[::1", "IPv6")):
            with self.subTest(url), self.assertRaisesRegex(ValueError, why):
                parse_endpoint(url)


class SettingsTest(unittest.TestCase):
    def test_come_from_the_environment_and_arguments_win(self):
        environment = {"MAITENTO_URL": "http://box:1", "MAITENTO_API_KEY": "k", "MAITENTO_NAMESPACE": "lab"}
        with mock.patch.dict(os.environ, environment):
            mt, other = Maitento(), Maitento("http://other:2", api_key="", namespace="mine")
        self.assertEqual((mt.namespace, mt._transport.endpoint.host), ("lab", "box"))
        self.assertEqual(mt._transport._headers["Authorization"], "Bearer k")
        self.assertEqual((other.namespace, other._transport.endpoint.port), ("mine", 2))
        self.assertNotIn("Authorization", other._transport._headers)

    def test_have_the_defaults_of_mt(self):
        with mock.patch.dict(os.environ, {"MAITENTO_URL": "", "MAITENTO_NAMESPACE": ""}):
            mt = Maitento()
        self.assertEqual((mt.namespace, mt._transport.endpoint.path), ("default", "/run/capsuled/api.sock"))

    def test_refuse_what_cannot_be_meant(self):
        for settings in ({"timeout": 0}, {"timeout": float("nan")}, {"timeout": True}, {"reconnect_limit": -1},
                         {"reconnect_limit": "30"}):
            with self.subTest(settings), self.assertRaises(ValueError):
                Maitento("http://box", **settings)

    def test_never_repeat_a_key_that_is_wrong(self):
        with self.assertRaises(ValueError) as caught:
            Maitento("http://box", api_key="secret\nHost: other")
        self.assertNotIn("secret", str(caught.exception))


class VersionTest(unittest.TestCase):
    def test_is_that_of_the_project(self):
        project = re.search(r"project\(capsule-host VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())
        self.assertEqual(maitento.__version__, project[1])


class ArgumentsTest(DaemonTest):
    def test_are_refused_before_anything_is_sent(self):
        runs = self.mt.capsule_runs
        for call in (lambda: runs.get(""), lambda: runs.exec("0a", "ls", "-l"),
                     lambda: runs.exec("0a", "ls", max_duration=0), lambda: runs.exec("0a", "ls", max_duration=86401),
                     lambda: runs.exec_and_wait("0a", "ls", timeout=-1), lambda: runs.wait("0a", until="ready"),
                     lambda: runs.exec("0a", "ls", idempotency_key="a b"), lambda: self.mt.vfs.open(""),
                     lambda: self.mt.capsules.run("bench", timeout=10 ** 10), lambda: self.mt.events(after=-1),
                     lambda: self.mt.vfs.open("data").move("/a", "/\udcff")):
            with self.assertRaises(ValueError):
                call()
        self.assertEqual(self.requests, [])

    def test_go_over_tcp_with_the_key(self):
        server = tcp_server()
        server.daemon = self
        self.addCleanup(server.server_close)
        threading.Thread(target=server.handle_request, daemon=True).start()
        self.script(Reply(body={"status": "ok", "version": "7"}))
        mt = Maitento(f"http://127.0.0.1:{server.server_address[1]}", api_key="k3y")
        self.assertEqual(mt.version(), "7")
        self.assertEqual(self.requests[0].headers["authorization"], "Bearer k3y")


if __name__ == "__main__":
    unittest.main()
