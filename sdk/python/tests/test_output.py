"""Live output: records in any pieces, connections lost anywhere, nothing twice and nothing lost unsaid."""

import json
import struct
import unittest

from tests.fake_daemon import LOST, DaemonTest, Reply, command_record, problem

import maitento
from maitento import OutputChunk, OutputGap
from maitento.output import Ended, OutputRecords


def record(kind, stream, offset, payload=b""):
    return struct.pack(">BBHIQ", kind, stream, 0, len(payload), offset) + payload


def gap(stream, start, end):
    return record(2, stream, start, struct.pack(">Q", end))


def ended(**changes):
    return record(3, 0, 0, json.dumps(command_record(status="Finished", exitCode=0, **changes)).encode())


class OutputRecordsTest(unittest.TestCase):
    def test_come_out_of_any_pieces(self):
        text = b"".join([record(1, 1, 0, b"one"), record(5, 0, 0), gap(2, 4, 9), record(9, 7, 0, b"new"),
                         record(4, 1, 3), ended()])
        for size in range(1, len(text) + 1):
            records = OutputRecords()
            found = [item for at in range(0, len(text), size) for item in records.feed(text[at:at + size])]
            self.assertEqual(found[:2], [OutputChunk("standard", 0, b"one"), OutputGap("error", 4, 9)])
            self.assertIsInstance(found[2], Ended)
            self.assertEqual(len(found), 3)

    def test_that_cannot_be_right_are_refused(self):
        for text in (record(1, 3, 0, b"x"), gap(1, 9, 4), record(2, 1, 0, b"short"), record(3, 0, 0, b"not JSON"),
                     struct.pack(">BBHIQ", 1, 1, 0, 1 << 30, 0)):
            with self.subTest(text), self.assertRaises(maitento.InvalidAnswerError):
                list(OutputRecords().feed(text))


class FollowTest(DaemonTest):
    def follow(self, **options):
        follower = self.mt.capsule_runs.follow_output("0a", "0c", **options)
        self.addCleanup(follower.close)
        return follower

    def output(self, *records, cut=False):
        return Reply(body=list(records), content_type="application/vnd.capsule.output", cut=cut)

    def test_gives_both_streams_and_then_the_command(self):
        self.script(self.output(record(1, 1, 0, b"out"), record(1, 2, 0, b"err"), ended()))
        with self.follow() as follower:
            self.assertEqual(list(follower), [OutputChunk("standard", 0, b"out"), OutputChunk("error", 0, b"err")])
            self.assertEqual(follower.command.exit_code, 0)
        self.assertEqual(self.lines, ["GET /v1/runs/0a/commands/0c/output?outputFrom=0&errorFrom=0&lossless=true"])

    def test_goes_on_where_it_was_lost(self):
        self.script(self.output(record(1, 1, 0, b"abc"), record(1, 1, 3, b"def")[:-1], cut=True), LOST,
                    problem(503, "guest-unavailable"),
                    # More than was asked for, and less: neither comes twice, and what is missing is said.
                    self.output(record(1, 1, 2, b"cdef"), record(1, 2, 4, b"late"), gap(1, 5, 9), ended()))
        self.assertEqual(list(self.follow()), [
            OutputChunk("standard", 0, b"abc"), OutputChunk("standard", 3, b"def"), OutputGap("error", 0, 4),
            OutputChunk("error", 4, b"late"), OutputGap("standard", 6, 9)])
        self.assertIn("outputFrom=3&errorFrom=0", self.lines[1])

    def test_raises_after_the_last_bytes_when_the_capsule_ends_first(self):
        self.script(self.output(record(1, 1, 0, b"so far"), record(3, 0, 0, json.dumps(
            command_record(status="Aborted", reason="stopped")).encode())))
        follower = self.follow()
        self.assertEqual(next(follower).data, b"so far")
        with self.assertRaisesRegex(maitento.CapsuleCommandAbortedError, "stopped"):
            next(follower)
        self.assertEqual(list(follower), [])

    def test_completes_from_the_record_what_ended_unseen(self):
        self.script(self.output(record(1, 1, 0, b"one "), cut=True), problem(409, "command-ended"), Reply(
            body=command_record(status="Finished", exitCode=0, outputStandard="one zwei ä", outputError="\ufffd")))
        follower = self.follow()
        self.assertEqual(list(follower), [
            OutputChunk("standard", 0, b"one "), OutputChunk("standard", 4, "zwei ä".encode()),
            OutputGap("error", 0, None)])
        self.assertEqual(follower.command.status, "Finished")

    def test_ends_at_its_limit(self):
        self.script(self.output(record(1, 1, 0, b"x"), cut=True))
        follower = self.follow(timeout=5)
        next(follower)
        self.clock.time += 5
        with self.assertRaises(maitento.MaitentoTimeoutError):
            next(follower)

    def test_gives_up_when_the_daemon_stays_away(self):
        self.script(self.output(record(1, 1, 0, b"x"), cut=True))
        follower = self.follow()
        next(follower)
        self.stop()
        with self.assertRaises(maitento.MaitentoConnectionError):
            next(follower)
        self.assertLessEqual(self.clock.now(), 30)

    def test_that_is_refused_is_an_error(self):
        with self.assertRaises(maitento.NotFoundError):
            next(self.follow())
        with self.assertRaises(ValueError):
            self.follow(output_from=-1)


if __name__ == "__main__":
    unittest.main()
