"""Answers that are errors, that are nonsense, and that never come."""

import json
import socket
import unittest

from tests.fake_daemon import LOST, DaemonTest, Reply, problem, run_record, raw_server

import maitento
from maitento.errors import problem_error


class ProblemTest(DaemonTest):
    def test_becomes_an_error_of_its_kind(self):
        for status, kind, expected in (
                (400, "invalid-request", maitento.InvalidRequestError),
                (401, "unauthenticated", maitento.NotAllowedError),
                (403, "forbidden", maitento.NotAllowedError), (404, "not-found", maitento.NotFoundError),
                (409, "in-use", maitento.ConflictError), (413, "too-large", maitento.InvalidRequestError),
                (503, "no-room", maitento.UnavailableError), (504, "timed-out", maitento.MaitentoTimeoutError),
                (500, "io", maitento.MaitentoError)):
            with self.subTest(kind):
                self.script(problem(status, kind, "because"))
                with self.assertRaises(maitento.MaitentoError) as caught:
                    self.mt.capsule_runs.get("0a")
                error = caught.exception
                self.assertIs(type(error), expected)
                self.assertEqual((error.status, error.kind, error.title, error.detail, str(error)),
                                 (status, kind, "No", "because", "because"))

    def test_carries_the_places_of_a_refused_deploy(self):
        found = [{"file": "capsules/a.mtr", "line": 2, "column": 1, "name": "maxDuraton", "message": "is not known"},
                 {"file": "capsules/b.mtr", "line": 0, "column": 0, "name": "b", "message": "b is too large"}]
        error = problem_error(400, json.dumps({"code": "definition-invalid", "title": "Bad", "errors": found}).encode())
        self.assertIsInstance(error, maitento.DefinitionInvalidError)
        self.assertEqual((error.errors[0].file, error.errors[0].line, error.errors[0].column), ("capsules/a.mtr", 2, 1))
        self.assertEqual(str(error),
                         "Bad\ncapsules/a.mtr:2:1: maxDuraton: is not known\ncapsules/b.mtr: b is too large")

    def test_may_be_anything(self):
        for body in (b"", b"<html>", b"[]", b'{"detail":7,"errors":{"a":1},"code":[]}', b'{"errors":[1,{"line":"x"}]}',
                     b"[" * 100_000, b"\xff"):
            with self.subTest(body[:20]):
                error = problem_error(502, body)
                self.assertEqual((error.status, error.kind), (502, "status-502"))
                self.assertIn("502", str(error))


class NonsenseTest(DaemonTest):
    def test_in_an_answer_is_an_error_of_its_own(self):
        for body in (b"{", b"7", b"[]", b"{}", b'{"id":"0a"}', b'{"id":7,"status":"Running"}', b'{"a":NaN}',
                     b"[" * 100_000, b"\xff\xfe", b""):
            with self.subTest(body[:20]):
                self.script(Reply(body=body))
                with self.assertRaises(maitento.InvalidAnswerError):
                    self.mt.capsule_runs.get("0a")

    def test_in_members_leaves_them_empty(self):
        self.script(Reply(body={"id": "0a", "status": "Odd", "capsule": 7, "createdAt": "yesterday",
                                "maxDuration": "99:99:99", "readyAt": "2026-01-01T00:00:00", "more": {}}))
        run = self.mt.capsule_runs.get("0a")
        self.assertEqual((run.status, run.capsule, run.created_at, run.max_duration, run.ready_at, run.has_ended),
                         ("Odd", "", None, None, None, False))
        self.assertEqual(run.document["more"], {})

    def test_in_http_is_an_error_of_its_own(self):
        for text in (b"SSH-2.0-x\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX" + b"-" * 70_000,
                     b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n{}"):
            with self.subTest(text[:20]):
                url = raw_server(self.folder, text)
                mt = maitento.Maitento(url, reconnect_limit=0)
                with self.assertRaises(maitento.InvalidAnswerError):
                    mt.version()
                (self.folder / "raw.sock").unlink()


class LostConnectionTest(DaemonTest):
    def test_is_repeated_for_what_is_only_read(self):
        whole = json.dumps(run_record()).encode()
        self.script(LOST, Reply(body=whole[:30], cut=True), Reply(body=[whole[:30]], cut=True), Reply(body=whole))
        self.assertEqual(self.mt.capsule_runs.get("0a").id, "0a")
        self.assertEqual(self.clock.sleeps, 3)

    def test_is_not_repeated_for_what_may_have_been_done(self):
        for call in (lambda: self.mt.vfs.create("data"), lambda: self.mt.vfs.delete("data"),
                     lambda: self.mt.capsule_runs.kill_command("0a", "0c")):
            self.script(LOST)
            with self.assertRaises(maitento.MaitentoConnectionError) as caught:
                call()
            self.assertEqual(caught.exception.kind, "connection-lost")
        self.assertEqual((len(self.requests), self.clock.sleeps), (3, 0))

    def test_of_a_daemon_that_was_never_there_is_told_at_once(self):
        self.stop()
        with self.assertRaises(maitento.MaitentoConnectionError) as caught:
            self.mt.capsules.start("bench")
        self.assertEqual((caught.exception.kind, self.clock.sleeps), ("unreachable", 0))
        self.assertIn(str(self.folder), str(caught.exception))

    def test_of_a_daemon_that_was_there_is_waited_for_until_the_limit(self):
        self.script(Reply(body=run_record()))
        self.mt.capsule_runs.get("0a")
        self.stop()
        with self.assertRaises(maitento.MaitentoConnectionError):
            self.mt.capsule_runs.get("0a")
        self.assertGreater(self.clock.now(), 28)
        self.assertLessEqual(self.clock.now(), 30)

    def test_over_a_restart_is_got_over(self):
        self.script(Reply(body=run_record()), Reply(body=run_record(status="Running")))
        self.mt.capsule_runs.get("0a")
        self.stop()
        self.clock.on_sleep = lambda count: self.start() if count == 4 else None
        self.assertEqual(self.mt.capsule_runs.get("0a").status, "Running")

    def test_of_a_daemon_that_is_silent_is_a_timeout(self):
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(f"{self.folder}/silent.sock")
        listener.listen()  # the kernel accepts; nobody ever answers
        mt = maitento.Maitento(f"unix://{self.folder}/silent.sock")
        mt._transport.silence = 0.05
        with self.assertRaises(maitento.MaitentoTimeoutError):
            mt.version()

    def test_because_all_places_are_taken_is_tried_again(self):
        self.script(problem(503, "too-many-connections"), problem(503, "too-many-waiting"), Reply(body=run_record()))
        self.assertEqual(self.mt.capsule_runs.get("0a").id, "0a")
        self.script(problem(503, "no-room", "no memory"))
        with self.assertRaisesRegex(maitento.UnavailableError, "no memory"):
            self.mt.capsules.start("bench")


if __name__ == "__main__":
    unittest.main()
