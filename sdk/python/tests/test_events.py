"""Events: any pieces, any line ends, and going on after the last one."""

import json
import unittest

from tests.fake_daemon import LOST, DaemonTest, Reply, problem

import maitento
from maitento.event_stream import EventParser


def event(number, kind="run.started"):
    text = json.dumps({"id": number, "type": kind, "namespace": "lab", "at": "2026-10-01T08:30:00Z",
                       "data": {"runId": "0a"}})
    return f"id: {number}\nevent: {kind}\ndata: {text}\n\n".encode()


class EventParserTest(unittest.TestCase):
    def test_reads_events_from_any_pieces(self):
        text = (b": a comment\n\nid: 7\nevent: x\ndata: {}\n\nid:8\r\ndata:first\r\ndata:second\r\n\r\n"
                b"event: nothing\n\ndata: same id\r\rid: 9\n\nid: not-a-number\nretry: 1000\n\nid: 10\n")
        for size in range(1, len(text) + 1):
            parser = EventParser()
            found = [(parser.last_id, data) for at in range(0, len(text), size)
                     for data in parser.feed(text[at:at + size])]
            self.assertEqual(found, [("7", b"{}"), ("8", b"first\nsecond"), ("8", b"same id")], size)
            self.assertEqual(parser.last_id, "9")

    def test_refuses_an_event_without_end(self):
        for text in (b"data: " + b"x" * (2 << 20), b"data\n" * (2 << 20)):
            with self.assertRaises(maitento.InvalidAnswerError):
                list(EventParser().feed(text))


class EventStreamTest(DaemonTest):
    def stream(self, *pieces):
        return Reply(body=list(pieces), content_type="text/event-stream", cut=True)

    def open(self, **options):
        events = self.mt.events(**options)
        self.addCleanup(events.close)
        return events

    def test_is_open_when_one_has_it(self):
        self.script(self.stream(b"retry: 1000\n\n"))
        self.open()
        self.assertEqual(self.lines, ["GET /v1/events"])
        self.assertNotIn("last-event-id", self.requests[0].headers)

    def test_goes_on_after_the_last_event(self):
        self.script(self.stream(event(41), event(42)[:-1]), LOST, self.stream(b":\n\n", event(42, "run.ended")))
        with self.mt.events() as events:
            first, second = next(events), next(events)
        self.assertEqual((first.id, first.type, first.namespace, first.data["runId"]), (41, "run.started", "lab", "0a"))
        self.assertEqual((second.id, second.type, second.at.hour), (42, "run.ended", 8))
        self.assertEqual([request.headers.get("last-event-id") for request in self.requests], [None, "41", "41"])
        self.assertEqual(list(events), [])

    def test_begins_after_a_given_event(self):
        self.script(self.stream(), self.stream(event(8)))
        events = self.open(after=7)
        self.assertEqual(next(events).id, 8)
        self.assertEqual([request.headers["last-event-id"] for request in self.requests], ["7", "7"])

    def test_lost_before_its_first_event_does_not_pretend(self):
        self.script(self.stream(b":\n\n"))
        with self.assertRaisesRegex(maitento.MaitentoConnectionError, "is not known"):
            next(self.open())

    def test_ends_at_its_limit_however_much_happens(self):
        self.script(self.stream(event(1)), self.stream(event(2)))
        events = self.open(timeout=5)
        self.assertEqual(next(events).id, 1)
        self.clock.time += 5
        with self.assertRaises(maitento.MaitentoTimeoutError):
            next(events)

    def test_gives_up_when_the_daemon_stays_away(self):
        self.script(self.stream(event(1)))
        events = self.open()
        next(events)
        self.stop()
        with self.assertRaises(maitento.MaitentoConnectionError):
            next(events)
        self.assertGreater(self.clock.now(), 28)

    def test_that_is_nonsense_is_an_error(self):
        self.script(self.stream(b"id: 1\ndata: {\n\n"))
        with self.assertRaises(maitento.InvalidAnswerError):
            next(self.open())
        self.script(problem(403, "forbidden"))
        with self.assertRaises(maitento.NotAllowedError):
            self.mt.events()


if __name__ == "__main__":
    unittest.main()
