"""`mt exec -it` under a real terminal: a pty of this machine on mt's side, one of the guest on the command's."""

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

from cases import case, shared_run
from harness import BIN, eventually, expect


class Terminal:
    """mt with a pty as its controlling terminal, as a shell starts it. A context: what it started ends with it."""

    def __init__(self, run, *words, rows=24, columns=80):
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.mode = termios.tcgetattr(self.slave)
        self.seen = ""
        self.process = subprocess.Popen(
            [BIN / "mt", "exec", "-it", run.id, "--", *words], stdin=self.slave, stdout=self.slave, stderr=self.slave,
            env=dict(os.environ, MAITENTO_URL=f"unix://{run.host.socket}"), start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.hang_up()

    def resize(self, rows, columns):
        # The kernel then sends SIGWINCH to the terminal's foreground process, as for a window that is dragged.
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.master, text.encode())

    def read(self, wait):
        if select.select([self.master], [], [], wait)[0]:
            self.seen += os.read(self.master, 65536).decode(errors="replace")

    def expect(self, pattern, limit=30):
        """Waits until the screen has shown `pattern`; returns the match and forgets everything up to it."""
        deadline = time.monotonic() + limit
        while not (match := re.search(pattern, self.seen)):
            assert time.monotonic() < deadline and self.process.poll() is None, f"no {pattern!r} in {self.seen!r}"
            self.read(0.2)
        self.seen = self.seen[match.end():]
        return match

    def ask(self, text, pattern):
        """The patterns do not match the line as it is typed, which the terminal echoes."""
        self.type(text + "\n")
        return self.expect(pattern)

    def end(self, limit=30):
        deadline = time.monotonic() + limit
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"mt does not end: {self.seen!r}"
            self.read(0.2)
        expect(termios.tcgetattr(self.slave), self.mode, "the terminal's mode afterwards")
        return self.process.returncode

    def hang_up(self):
        for fd in (self.master, self.slave):
            with contextlib.suppress(OSError):
                os.close(fd)


@case("terminal", "mt exec -it: a terminal on both sides, window size, Ctrl-C, Ctrl-D, exit code, mode given back")
def terminal():
    run = shared_run()
    sleeping = lambda: run.exec("pgrep -fx 'sleep 1000'")["exitCode"] == 0
    with Terminal(run, "bash", rows=33, columns=101) as screen:
        screen.ask("echo name=$(tty)=", r"name=/dev/pts/\d+=")
        screen.ask("test -t 0 -a -t 1 -a -t 2; echo all=$?=", r"all=0=")
        screen.ask("echo size=$(stty size)=", r"size=33 101=")
        assert not termios.tcgetattr(screen.slave)[3] & (termios.ICANON | termios.ECHO | termios.ISIG), "not raw"
        screen.resize(50, 132)
        # The new size goes its own way to the guest, beside the bytes that are typed.
        eventually(lambda: screen.ask("echo size=$(stty size)=", r"size=(\d+ \d+)=")[1] == "50 132", 20, "the new size")
        # A program that is running hears of it by SIGWINCH.
        screen.ask("trap 'echo changed=$(stty size)=' WINCH; echo trap=$?=", "trap=0=")
        screen.resize(20, 70)
        screen.ask("", "changed=20 70=")
        screen.type("sleep 1000\n")
        eventually(sleeping, 20, "sleep runs")
        screen.type("\x03")
        screen.ask("echo rc=$?=", "rc=130=")
        assert not sleeping(), "Ctrl-C ended nothing"
        expect(screen.process.poll(), None, "mt, which Ctrl-C is not for")
        # Ctrl-D on an empty line: the shell ends with the code of its last command.
        screen.ask("PS1='ready$((6 * 7))> '", "ready42> ")
        screen.ask("(exit 43)", "ready42> ")
        screen.type("\x04")
        expect(screen.end(), 43, "after Ctrl-D")
    with Terminal(run, "bash") as screen:
        screen.ask("echo size=$(stty size)=", r"size=24 80=")
        screen.type("exit 44\n")
        expect(screen.end(), 44, "after exit 44")
    # A terminal that goes away takes what runs in it along.
    with Terminal(run, "sleep 1000") as screen:
        eventually(sleeping, 20, "sleep runs")
        screen.hang_up()
        expect(screen.process.wait(30), 125, "mt whose terminal was closed")
        eventually(lambda: not sleeping(), 20, "SIGHUP ends the command")
    run.live()


@case("terminal-none", "mt exec -it without a terminal is refused before anything runs; -t alone needs none")
def no_terminal():
    run = shared_run()
    before = len(run.host.api.get(f"{run.target}/commands?limit=1000")["items"])
    done = run.host.mt("exec", "-it", run.id, "--", "touch /tmp/ran", input=b"exit 3\n", check=False)
    expect((done.returncode, done.stdout), (125, b""))
    assert b"-it needs a terminal" in done.stderr, done.stderr
    expect(len(run.host.api.get(f"{run.target}/commands?limit=1000")["items"]), before, "commands of the run")
    # The command has a terminal all the same, and mt's standard input stays unread.
    done = run.host.mt("exec", "-t", run.id, "--", "test -t 0 && test -t 1 && tty; exit 5", input=b"x", check=False)
    expect(done.returncode, 5)
    assert re.fullmatch(rb"/dev/pts/\d+\r\n", done.stdout), done.stdout
