"""Starting, waiting, commands: what is asked, what is repeated, and how each ends."""

import concurrent.futures
import unittest
import urllib.parse

from tests.fake_daemon import LOST, DaemonTest, Reply, command_record, problem, run_record

import maitento


class RunsTest(DaemonTest):
    def test_are_started_once_however_often_the_connection_is_lost(self):
        self.script(LOST, LOST, Reply(201, run_record()))
        self.assertEqual(self.mt.capsules.start("bench").id, "0a")
        self.assertEqual(self.lines, 3 * ["POST /v1/namespaces/lab/capsules/bench/runs"])
        self.assertEqual(len({request.headers["idempotency-key"] for request in self.requests}), 1)
        self.script(Reply(201, run_record()), Reply(201, run_record()))
        self.mt.capsules.start("bench", idempotency_key="mine")
        self.mt.capsules.start("bench")
        self.assertEqual(self.requests[3].headers["idempotency-key"], "mine")
        self.assertNotIn(self.requests[4].headers["idempotency-key"],
                         [request.headers["idempotency-key"] for request in self.requests[:4]])

    def test_run_waits_for_the_end_whatever_it_is(self):
        self.script(Reply(201, run_record()), Reply(body=run_record(status="Running")),
                    Reply(body=run_record(status="Error", failureDetails="why", endedAt="2026-10-01T08:31:00Z")))
        run = self.mt.capsules.run("bench")
        self.assertEqual((run.status, run.failure_details, run.has_ended), ("Error", "why", True))
        self.assertEqual((run.max_duration, run.created_at.microsecond), (600, 250_000))
        self.assertEqual(self.clock.sleeps, 0)
        for line in self.lines[1:]:
            query = urllib.parse.parse_qs(urllib.parse.urlsplit(line).query)
            self.assertEqual(query["until"], ["ended"])
            self.assertRegex(query["wait"][0], r"^30\d\d\dms$")

    def test_wait_until_started_ends_with_the_run_too(self):
        for status in ("Running", "Error"):
            self.script(Reply(body=run_record()), Reply(body=run_record(status=status)))
            self.assertEqual(self.mt.capsule_runs.wait("0a", until="started").status, status)

    def test_wait_gives_up_at_its_own_limit(self):
        def answer(request):
            self.clock.time += 1.0
            return Reply(body=run_record(status="Running"))

        self.answer = answer
        with self.assertRaisesRegex(maitento.MaitentoTimeoutError, "run 0a is still Running"):
            self.mt.capsule_runs.wait("0a", timeout=2.5)
        waits = [urllib.parse.parse_qs(urllib.parse.urlsplit(line).query)["wait"][0] for line in self.lines]
        self.assertEqual(waits, ["2501ms", "1501ms", "501ms"])

    def test_are_listed_page_by_page(self):
        self.script(Reply(body={"items": [run_record(id="1")], "next": "a/b"}),
                    Reply(body={"items": [run_record(id="2")], "next": ""}))
        self.assertEqual([run.id for run in self.mt.capsule_runs.list(status="Running", live=True)], ["1", "2"])
        self.assertEqual(self.lines, ["GET /v1/runs?status=Running&live=true",
                                      "GET /v1/runs?status=Running&live=true&after=a%2Fb"])

    def test_a_list_that_never_ends_ends(self):
        self.script(Reply(body={"items": [], "next": "again"}))
        self.assertEqual(list(self.mt.capsule_runs.list()), [])

    def test_are_terminated_also_over_a_lost_connection(self):
        self.script(LOST, Reply(body=run_record(status="Terminated")))
        self.assertEqual(self.mt.capsule_runs.terminate("0a").status, "Terminated")


class CommandsTest(DaemonTest):
    def exec_and_wait(self, **options):
        return self.mt.capsule_runs.exec_and_wait("0a", "cat", ["a b", "$HOME", ""], **options)

    def test_that_fail_are_results(self):
        self.script(Reply(201, command_record()), Reply(body=command_record(status="Running")),
                    Reply(body=command_record(status="Error", endReason="exited", exitCode=1, outputError="cat: no\n",
                                              outputErrorFullLength=70_000, runTimeMs=1500)))
        command = self.exec_and_wait(run_as_user="sandbox", max_duration=1.5, environment={"A": "b"},
                                     working_directory="/tmp", stdin="text")
        self.assertEqual((command.exit_code, command.output_error, command.status), (1, "cat: no\n", "Error"))
        self.assertEqual((command.output_error_full_length, command.output_standard_full_length), (70_000, None))
        self.assertEqual((command.run_time, command.arguments), (1.5, ("-l",)))
        self.assertEqual(self.requests[0].document, {
            "command": "cat", "arguments": ["a b", "$HOME", ""], "runAsUser": "sandbox", "maxDuration": 1500,
            "environment": {"A": "b"}, "workingDirectory": "/tmp", "stdin": {"text": "text"}})
        self.assertEqual(self.clock.sleeps, 0)

    def test_ask_for_nothing_that_was_not_asked_for(self):
        self.script(Reply(201, command_record()))
        self.mt.capsule_runs.exec("0a", "ls")
        self.assertEqual(self.requests[0].document, {"command": "ls"})
        self.script(Reply(201, command_record()))
        self.mt.capsule_runs.exec("0a", "ls", asynchronous=True, hold_output=True)
        self.assertEqual(self.requests[1].document, {"command": "ls", "async": True, "holdOutput": True})

    def test_are_sent_once_and_waited_for_over_a_restart(self):
        def restart(count):
            if count == 1:
                self.stop()
            if count == 5:
                self.start()

        self.clock.on_sleep = restart
        self.script(LOST, Reply(201, command_record()), LOST, Reply(body=command_record(status="Finished", exitCode=0)))
        self.assertEqual(self.exec_and_wait().exit_code, 0)
        sent = [request for request in self.requests if request.method == "POST"]
        self.assertEqual((len(sent), len({request.headers["idempotency-key"] for request in sent})), (2, 1))

    def test_of_a_capsule_that_ends_first_are_aborted(self):
        self.script(Reply(201, command_record()), Reply(body=command_record(
            status="Aborted", endReason="capsuleEnded", reason="the capsule was stopped")))
        with self.assertRaisesRegex(maitento.CapsuleCommandAbortedError, "0c was aborted: .* stopped") as caught:
            self.exec_and_wait()
        error = caught.exception
        self.assertEqual((error.kind, error.command.id, error.command.end_reason, error.command.exit_code),
                         ("command-aborted", "0c", "capsuleEnded", None))
        self.assertIsInstance(error, maitento.MaitentoError)

    def test_of_a_capsule_that_has_ended_are_refused(self):
        self.script(problem(409, "run-ended", "the run has ended"))
        with self.assertRaises(maitento.ConflictError) as caught:
            self.exec_and_wait()
        self.assertEqual(caught.exception.kind, "run-ended")

    def test_that_outlive_the_callers_patience_are_named(self):
        self.script(Reply(201, command_record()), Reply(body=command_record()))
        with self.assertRaisesRegex(maitento.MaitentoTimeoutError, "command 0c of run 0a is still Queued"):
            self.exec_and_wait(timeout=0)

    def test_of_many_threads_go_through_one_client(self):
        def answer(request):
            sent = request.method == "POST"
            name = request.document["command"] if sent else request.target.split("/")[-1].split("?")[0]
            return Reply(body=command_record(id=name, status="Finished", exitCode=0, outputStandard=name))

        self.answer = answer
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            results = list(pool.map(lambda number: self.mt.capsule_runs.exec_and_wait("0a", f"c{number}"), range(64)))
        self.assertEqual([result.output_standard for result in results], [f"c{number}" for number in range(64)])

    def test_are_shown_listed_and_killed(self):
        self.script(Reply(body=command_record()), Reply(body={"items": [command_record()], "next": ""}),
                    Reply(body=command_record(status="Error", endReason="killed", exitCode=137)))
        self.assertFalse(self.mt.capsule_runs.get_command("0a", "0c").has_ended)
        self.assertEqual([command.id for command in self.mt.capsule_runs.list_commands("0a")], ["0c"])
        self.assertEqual(self.mt.capsule_runs.kill_command("0a", "0c").exit_code, 137)
        self.assertEqual(self.lines[2], "POST /v1/runs/0a/commands/0c/kill")
        self.assertEqual(self.requests[2].document, {"signal": 9})


if __name__ == "__main__":
    unittest.main()
