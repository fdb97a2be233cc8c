"""Commands: exit codes, outputs, arguments, limits, and what a command may not do to its neighbours."""

import json
import time

from cases import case, shared_host, shared_run
from harness import SLOW, ApiError, eventually, expect, in_background, resident_kib


def codes(results):
    return [result.get("exitCode") for result in results]


@case("O-01", "death by signal, and codes past 255")
def exit_codes():
    run = shared_run()
    results = [run.exec("kill -9 $$"), run.exec("bash", ["-c", "kill -SEGV $$"]),
               run.exec("bash", ["-c", "kill -TERM $$"]), run.exec("sh", ["-c", "exit 300"]),
               run.exec("bash", ["-c", "bash -c 'kill -SEGV $$'; exit $?"]), run.exec("true")]
    expect(codes(results), [137, 139, 143, 44, 139, 0])
    expect([result["status"] for result in results], ["Error"] * 5 + ["Finished"])
    run.live()


@case("O-02", "127 against 126")
def not_found():
    run = shared_run()
    missing = run.exec("frobnicate-x1")
    expect((missing["exitCode"], missing["status"]), (127, "Error"))
    expect(missing["outputError"], "-bash: line 1: frobnicate-x1: command not found\n")
    run.ok("printf x > /tmp/plain.txt; chmod 644 /tmp/plain.txt")
    for text, reason in (("/tmp/plain.txt", "Permission denied"), ("/tmp", "Is a directory")):
        result = run.exec(text)
        expect((result["exitCode"], result["status"]), (126, "Error"), text)
        assert reason in result["outputError"], result
    run.live()


@case("O-03", "home directory that cannot be entered")
def home_not_enterable():
    run = shared_run()
    run.ok('chmod 000 "$HOME"', user="builder")
    result = run.exec("echo ok; pwd", user="builder")
    run.ok("chmod 755 /home/builder", user="root")
    expect(result["exitCode"], 0)
    lines = result["outputStandard"].splitlines()
    expect(lines[0], "ok")
    assert lines[1].startswith("/"), lines
    expect(run.ok("pwd"), "/home/maitento\n")


@case("O-04", "a backgrounded child keeps stdout open")
def background_child():
    run = shared_run()
    began = time.monotonic()
    first = run.send("sh", ["-c", "sleep 600 & echo started"], limit=30)
    second = run.send("echo next")
    result = run.wait(first)
    assert time.monotonic() - began < 3 * SLOW, "waited for the child"
    expect((result["exitCode"], result["outputStandard"]), (0, "started\n"))
    expect(run.wait(second)["outputStandard"], "next\n")
    run.ok("pkill -f 'sleep 600'")
    run.live()


@case("O-04b", "late output of a background child is added to its command")
def late_output():
    run = shared_run()
    command = run.send("sh", ["-c", "(sleep 2; echo late) & echo early"])
    expect(run.wait(command)["outputStandard"], "early\n")
    time.sleep(4)
    result = run.wait(command)
    expect((result["outputStandard"], result["exitCode"]), ("early\nlate\n", 0))


@case("O-05", "a limit ends the tree, on time")
def limit_ends_tree():
    run = shared_run()
    began = time.monotonic()
    result = run.exec("bash", ["-c", "trap '' TERM; (trap '' TERM; while :; do date >> /tmp/beat; sleep 1; done)"
                               " & sleep 300"], limit=3)
    took = time.monotonic() - began
    assert 3 <= took < 9, f"took {took:.1f} s"
    expect((result["status"], result["exitCode"], result["endReason"]), ("Error", 124, "timedOut"))
    first = run.ok("wc -l < /tmp/beat")
    expect(run.ok("sleep 4; wc -l < /tmp/beat"), first)
    expect(run.ok("pgrep -f '/tmp/bea[t]' || echo none"), "none\n")
    expect(run.status()["status"], "Running")


@case("O-05b", "a limit also ends processes that left their session, and nobody else's")
def limit_ends_daemons():
    run = shared_run()
    run.ok("setsid sleep 7777 > /dev/null 2>&1 &")
    result = run.exec("setsid sleep 8888 & setsid setsid sleep 8888 & sleep 8888", limit=2)
    expect(result["exitCode"], 124)
    expect(run.ok("pgrep -xc sleep; pgrep -f 'sleep 777[7]' > /dev/null && echo neighbour"), "1\nneighbour\n")
    run.ok("pkill -f 'sleep 777[7]'")


@case("O-06", "orphans do not pile up under the agent", long=True)
def orphans():
    run = shared_run()

    def agent():
        return run.ok("grep VmRSS /proc/1/status | tr -dc 0-9; echo; ls /proc/1/fd | wc -l", user="root").split()

    for batch in (50, 250):
        ids = [run.send("bash", ["-c", "(sleep 0.2 &) ; exit 0"]) for _ in range(batch)]
        expect([run.wait(i)["exitCode"] for i in ids], [0] * batch)
        time.sleep(2)
        if batch == 50:
            before = agent()
    after = agent()
    expect(run.ok("ps -eo stat= | grep -c '^Z' || true"), "0\n")
    assert int(after[0]) - int(before[0]) < 1024, f"agent grew from {before[0]} to {after[0]} KiB"
    assert int(after[1]) - int(before[1]) <= 2, f"agent's descriptors went from {before[1]} to {after[1]}"


@case("O-07", "a fork bomb of an unprivileged user")
def fork_bomb():
    # By its time, or before it: 1,800 of its processes take all memory of a machine of default size.
    end_fork_bomb("", ("timedOut", "outOfMemory"))


@case("O-07b", "a fork bomb that has memory enough")
def fork_bomb_with_memory():
    end_fork_bomb('resources = { memory = "2G" }\n', ("timedOut",))


def end_fork_bomb(resources, reasons):
    host = shared_host()
    run = host.up("bomb", 'users = [ { name = "sandbox" } ]\n' + resources)
    began = time.monotonic()
    bomb = run.send("python3", ["-c", "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass"],
                    user="sandbox", limit=10, **{"async": True})
    alive = []
    for _ in range(4):
        time.sleep(1)
        alive.append(run.send("echo alive", **{"async": True}))
    result = run.wait(bomb)
    assert time.monotonic() - began < 20 * SLOW, "the bomb was not stopped in time"
    expect(result["status"], "Error")
    assert result["endReason"] in reasons, result
    expect(run.exec("echo ok")["exitCode"], 0)
    expect([run.wait(command)["outputStandard"] for command in alive], ["alive\n"] * 4)
    # All of them are told to die at once; each needs the processor once more for it.
    eventually(lambda: run.ok("pgrep -c python3 || true") == "0\n", 10 * SLOW, "an end of the bomb's processes")
    began = time.monotonic()
    run.terminate()
    assert time.monotonic() - began < 10, "terminate took too long"


@case("O-08", "commands that read input get end-of-file")
def reads_input():
    run = shared_run()
    began = time.monotonic()
    cat = run.exec("cat", limit=20)
    python = run.exec("python3", ["-c", "print(repr(input()))"], limit=20)
    read = run.exec("bash", ["-c", "read x; echo rc=$?"], limit=20)
    assert time.monotonic() - began < 6 * SLOW
    expect((cat["exitCode"], cat["outputStandard"]), (0, ""))
    expect(python["exitCode"], 1)
    assert "EOFError" in python["outputError"]
    expect((read["exitCode"], read["outputStandard"]), (0, "rc=1\n"))


@case("O-09", "bytes that are not text")
def binary_output():
    run = shared_run()
    result = run.exec(r"printf 'a\xff\xfeb\x00c'")
    expect(result["outputStandard"], "a\ufffd\ufffdb\x00c")
    result = run.exec("head -c 300000 /dev/urandom")
    expect((result["exitCode"], len(result["outputStandard"])), (0, 65536))
    assert result["outputStandardFullLength"] > 65536
    result = run.exec("head -c 100 /dev/urandom >&2; echo fin")
    expect((result["exitCode"], result["outputStandard"]), (0, "fin\n"))


@case("O-09b", "one U+FFFD per maximal ill-formed subpart")
def ill_formed():
    run = shared_run()
    for text, expected in ((r"\xf0\x80\x80\x41", "\ufffd\ufffd\ufffdA"), (r"\xe2\x82", "\ufffd"),
                           (r"\xed\xa0\x80", "\ufffd\ufffd\ufffd"), (r"\xf0\x9f\x98\x80", "\U0001f600"),
                           (r"\xe2\x82\xe2\x82\xac", "\ufffd\u20ac")):
        expect(run.exec(f"printf '{text}'")["outputStandard"], expected, text)


@case("O-10", "three-byte characters over the 65,536 limit")
def window_counts_characters():
    run = shared_run()
    result = run.exec("python3", ["-c", r"import sys; sys.stdout.write('\u20ac'*70000+'END')"])
    expect(result["outputStandard"], "\u20ac" * 65533 + "END")
    expect(result["outputStandardFullLength"], 70003)
    slow = ("import os,time\nfor b in b'\\xe2\\x82\\xac':\n  os.write(1,bytes([b])); time.sleep(0.3)\n"
            "os.write(1,b'\\n')")
    result = run.exec("python3", ["-c", slow])
    expect(result["outputStandard"], "\u20ac\n")
    assert "outputStandardFullLength" not in result, "full length although nothing was cut"


@case("O-10b", "exactly the limit, and one more")
def window_edges():
    run = shared_run()
    result = run.exec("head -c 65536 /dev/zero | tr '\\0' x >&2")
    expect(len(result["outputError"]), 65536)
    assert "outputErrorFullLength" not in result
    result = run.exec("head -c 65537 /dev/zero | tr '\\0' x >&2")
    expect((len(result["outputError"]), result["outputErrorFullLength"]), (65536, 65537))


@case("O-11", "1 GiB on stdout", long=True)
def flood():
    host, run = shared_host(), shared_run()
    other = host.up("flood-neighbour")
    agent = "grep VmRSS /proc/1/status | tr -dc 0-9"
    host_before, agent_before = host.resident_kib(), int(run.ok(agent, user="root"))
    began = time.monotonic()
    command = run.send("head -c 1073741824 /dev/zero | tr '\\0' x", limit=240)
    task = in_background(run.wait, command, 300)
    delays, host_peak = [], 0
    while task.is_alive():
        sent = time.monotonic()
        expect(other.ok("echo hi"), "hi\n")
        delays.append(time.monotonic() - sent)
        host_peak = max(host_peak, host.resident_kib())
        time.sleep(0.5)
    result = task.result()
    expect(result["exitCode"], 0)
    expect(result["outputStandardFullLength"], 1073741824)
    assert result["outputStandard"] == "x" * 65536, "wrong window"
    agent_growth = int(run.ok(agent, user="root")) - agent_before
    print(f"     1 GiB in {time.monotonic() - began:.1f} s; daemon grew {host_peak - host_before} KiB, agent "
          f"{agent_growth} KiB; neighbour answered in at most {max(delays):.2f} s")
    assert host_peak - host_before < 64 << 10 and agent_growth < 32 << 10
    assert max(delays) < 2 * SLOW, "the neighbour had to wait"
    other.terminate()


def greedy(run, step):
    """Takes memory in steps of so many bytes until there is none. The kernel's own OOM killer can let the last steps
    go on for minutes, in which nothing else moves."""
    result = run.exec("python3", ["-c", f"a=[]\nwhile True: a.append(b'x'*({step}))"], limit=60)
    expect(result["status"], "Error")
    assert result["exitCode"] in (137, 1), result
    if result["exitCode"] == 137:
        expect(result["endReason"], "outOfMemory")
    run.live()
    assert "sales.csv" in run.ok("ls /mnt/data")
    expect(run.status()["status"], "Running")


@case("O-12", "one greedy process")
def out_of_memory():
    greedy(shared_run(), "16<<20")


@case("O-12b", "one process that is greedy in small steps")
def out_of_memory_slowly():
    for step in ("16<<10", "64<<10"):
        greedy(shared_run(), step)


@case("O-12c", "much memory in use and many files read at once is not out of memory")
def nearly_out_of_memory():
    run = shared_run()
    script = ("import time\nlimit=int(open('/sys/fs/cgroup/commands/memory.max').read())\n"
              "a=b'x'*(limit*8//10)\nopen('/tmp/taken','w')\ntime.sleep(25)\nprint(len(a)>0)")
    holder = run.send("python3", ["-c", script], **{"async": True})
    eventually(lambda: run.exec("test -e /tmp/taken")["exitCode"] == 0, 60 * SLOW, "the memory to be taken")
    run.ok("for i in 1 2; do cat /usr/bin/* /usr/lib/x86_64-linux-gnu/*.so* | sha256sum; done > /dev/null; "
           "ls -lR /usr > /dev/null")
    expect(run.wait(holder)["outputStandard"], "True\n")


@case("O-12d", "root in the machine removes the commands' cgroup: the agent does not spin, the run still ends")
def commands_cgroup_removed():
    run = shared_host().up("no-cgroup")
    script = ("set -e; cd /sys/fs/cgroup; echo $$ > cgroup.procs; rmdir commands/*/; rmdir commands; "
              "used() { awk '{ print $14 + $15 }' /proc/1/stat; }; before=$(used); sleep 5; echo $(($(used) - before))")
    ticks = int(run.ok(script, user="root"))  # hundredths of a second
    assert ticks < 100, f"the agent used {ticks / 100} s of 5 s"
    expect(run.terminate()["status"], "Terminated")


SIXTEEN = ["", "a b", "$HOME", "`id`", "x'y\"z", "line1\nline2", "*", "-n", "!", "\\", "~", "\u00e9", "$(id)",
           "a\tb", ";", "#x"]


@case("O-14", "every argument is one word")
def quoting():
    run = shared_run()
    printed = run.ok("python3", ["-c", "import sys,json;print(json.dumps(sys.argv[1:]))", *SIXTEEN])
    expect(json.loads(printed), SIXTEEN)


@case("O-14b", "every argument is one word in a startup entry too")
def quoting_at_startup():
    host = shared_host()
    host.vfs("shared-data")
    script = "import sys,json;json.dump(sys.argv[1:],open('/mnt/data/words.json','w'))"
    arguments = ", ".join(json.dumps(word) for word in ["-c", script, *SIXTEEN])
    run = host.up("quoting", 'vfs = [ { vfs = @ref("shared-data") mountName = "data" } ]\n'
                  f'startup = [ {{ command = "python3" arguments = [{arguments}] }} ]\n')
    run.terminate()
    expect(json.loads(host.read("shared-data", "/words.json")), SIXTEEN)


@case("O-14c", "arguments with text that would swallow them")
def text_refuses_arguments():
    run = shared_run()
    for text in ("echo a # comment", "echo a;", "sleep 1 &"):
        try:
            run.send(text, ["b"])
        except ApiError as error:
            expect(error.status, 400, text)
        else:
            raise AssertionError(f"{text!r} with arguments was accepted")
    expect(run.ok("printf '%s|' \n", ["a b", "c"]), "a b|c|")


@case("O-15", "one argument too long, one with NUL")
def too_long():
    run = shared_run()
    result = run.exec("python3", ["-c", "pass", "A" * 200_000])
    expect((result["status"], result["exitCode"]), ("Error", 126))
    assert "rgument list too long" in result["outputError"], result["outputError"]
    for words in (["a\0b"], ["\0"]):
        try:
            run.send("echo", words)
        except ApiError as error:
            expect(error.status, 400)
            assert "argument" in error.detail, error.detail
        else:
            raise AssertionError("an argument with NUL was accepted")
    run.live()


@case("O-16", "identity variables and SIGPIPE")
def identity():
    run = shared_run()
    expect(run.ok(r'''printf '%s|%s|%s|%s\n' "$HOME" "$USER" "$LOGNAME" "$(id -un)"''', user="builder"),
           "/home/builder|builder|builder|builder\n")
    result = run.exec("bash", ["-c", "yes | head -n 1; echo ${PIPESTATUS[0]}"])
    expect((result["outputStandard"], result["outputError"]), ("y\n141\n", ""))
    for line in run.ok("grep -E '^Sig(Blk|Ign)' /proc/self/status").splitlines():
        assert set(line.split()[1]) == {"0"}, line


@case("O-16b", "login environment, groups, umask and working directory")
def environment():
    run = shared_run()
    expect(run.ok("echo $SHELL $LANG; umask; id -Gn; pwd"), "/bin/bash C.UTF-8\n0022\nmaitento\n/home/maitento\n")
    expect(run.ok("echo $GREETING; pwd", environment={"GREETING": "a b"}, workingDirectory="/tmp"), "a b\n/tmp\n")


@case("O-36a", "a command inherits nothing of the agent")
def inherits_nothing():
    run = shared_run()
    expect(run.ok("ls /proc/self/fd", user="sandbox").split(), ["0", "1", "2", "3"])


@case("O-38", "writing to /dev/stderr as another user")
def reopen_outputs():
    run = shared_run()
    for user in ("builder", "maitento"):
        result = run.exec('echo a >&2; echo b > /dev/stderr; echo "rc $?" > /dev/stdout', user=user)
        expect((result["exitCode"], result["outputStandard"], result["outputError"]), (0, "rc 0\n", "a\nb\n"), user)


@case("order", "commands run one after another, async ones do not hold up the next")
def order():
    run = shared_run()
    slow = run.send("sleep 25; echo slow", **{"async": True})
    numbers = [run.send(f"echo {i} >> /tmp/order") for i in range(20)]
    last = run.send("cat /tmp/order")
    result = run.wait(last)
    expect(run.host.api.get(f"{run.target}/commands/{slow}")["status"], "Running", "async held up the queue")
    expect(result["outputStandard"].split(), [str(i) for i in range(20)])
    expect([run.wait(i)["exitCode"] for i in numbers], [0] * 20)
    expect(run.wait(slow)["outputStandard"], "slow\n")


@case("many", "50 async commands at once, 500 queued", long=True)
def many():
    run = shared_run()
    ids = [run.send(f"sleep 1; echo a{i}", **{"async": True}) for i in range(50)]
    expect([run.wait(i)["outputStandard"] for i in ids], [f"a{i}\n" for i in range(50)])
    run.ok("rm -f /tmp/many")
    ids = [run.send(f"echo {i} | tee -a /tmp/many") for i in range(500)]
    expect([run.wait(i, 300)["outputStandard"] for i in ids], [f"{i}\n" for i in range(500)])
    expect(run.ok("cat /tmp/many").split(), [str(i) for i in range(500)])


@case("kill", "one command is killed, its neighbours are not; a queued one is canceled")
def kill():
    run = shared_run()
    one = run.send("sleep 900")
    other = run.send("sleep 3; echo survived", **{"async": True})
    queued = run.send("echo never")
    time.sleep(1)
    canceled = run.host.api.post(f"{run.target}/commands/{queued}/kill")
    expect((canceled["status"], canceled.get("exitCode"), canceled["endReason"]), ("Error", None, "canceled"))
    run.host.api.post(f"{run.target}/commands/{one}/kill")
    killed = run.wait(one)
    expect((killed["status"], killed["exitCode"], killed["endReason"]), ("Error", 137, "killed"))
    expect(run.wait(other)["outputStandard"], "survived\n")


@case("unknown-user", "a user that does not exist is a result, and nobody else runs it")
def unknown_user():
    run = shared_run()
    result = run.exec("id > /tmp/who", user="nobody-here")
    expect((result["status"], result["exitCode"], result["endReason"]), ("Error", 126, "failedToStart"))
    assert "nobody-here" in result["outputError"]
    expect(run.exec("cat /tmp/who")["exitCode"], 1)


@case("report", "run time and peak memory come with the result")
def reported():
    run = shared_run()
    result = run.exec("python3", ["-c", "import time; a = b'x' * (64 << 20); time.sleep(1)"])
    assert 1000 <= result["runTimeMs"] < 60_000, result["runTimeMs"]
    assert 64 << 20 <= result["peakMemoryBytes"] < 256 << 20, result["peakMemoryBytes"]


@case("processor", "programs built for x86-64-v2 run, under software emulation too")
def processor():
    levels = shared_run().ok("/lib64/ld-linux-x86-64.so.2 --help")
    assert "x86-64-v2 (supported, searched)" in levels, levels


@case("agent-size", "the agent is small")
def agent_size():
    run = shared_run()
    size, resident = run.ok("stat -Lc %s /proc/1/exe; grep VmRSS /proc/1/status | tr -dc 0-9", user="root").split()
    print(f"     agent: {int(size) >> 10} KiB on disk, {resident} KiB resident; daemon "
          f"{resident_kib(shared_host().process.pid)} KiB resident")
    assert int(size) <= 4 << 20 and int(resident) <= 8 << 10
