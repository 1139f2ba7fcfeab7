# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command line stand on: the program, engines of their own, a terminal."""

import os
import pty
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PROGRAM = ""

SUCCESS, FAILURE, USAGE, BUSY, LOST, UNKNOWN = 0, 1, 2, 3, 4, 5
NOT_EXECUTABLE, NOT_FOUND = 126, 127


def environment(**changes):
    """Ours, without what a user's own would change; a variable that is None is not there."""
    made = {name: value for name, value in os.environ.items()
            if not name.startswith("HOLDFAST_") and name != "NO_COLOR"}
    made.update(changes)
    return {name: value for name, value in made.items() if value is not None}


def holdfast(*words, **changes):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False,
                          timeout=60, stdin=subprocess.DEVNULL, env=environment(**changes))


def wait_until(holds, what, seconds=30):
    """Looks again and again; it is an error if it never holds."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(0.01)


def is_alive(pid):
    """A process that ended and was not buried yet is not alive."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return text.rsplit(")", 1)[1].split()[0] not in "ZX"


class Redis:
    """A server of our own on a free port, as the engine of the command line."""

    def __init__(self, *options):
        self.directory = tempfile.mkdtemp()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.options = options
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command(), stdout=subprocess.DEVNULL)
        wait_until(self.answers, "redis-server starts")

    def command(self):
        return ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
                "--dir", self.directory, *self.options]

    def answers(self):
        return self.cli("PING").stdout.strip() in ("PONG", "NOAUTH Authentication required.")

    def cli(self, *words):
        return subprocess.run(["redis-cli", "-p", str(self.port), *words], capture_output=True,
                              text=True, check=False)

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}"

    def fail(self):
        """Nothing is renewed from now on."""
        self.process.kill()
        self.process.wait()

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


class Sentinel(Redis):
    """Watches a master of ours with a replica, and promotes that one within a second or two."""

    def __init__(self):
        self.master = Redis()
        self.replica = Redis("--replicaof", "127.0.0.1", str(self.master.port),
                             "--repl-diskless-sync-delay", "0")
        wait_until(lambda: "state=online" in self.master.cli("INFO", "replication").stdout,
                   "the replica is in sync")
        super().__init__()
        wait_until(lambda: "slaves=1" in self.cli("INFO", "sentinel").stdout,
                   "the sentinel knows the replica")

    def command(self):
        file = Path(self.directory) / "sentinel.conf"
        file.write_text(f"sentinel monitor m 127.0.0.1 {self.master.port} 1\n"
                        "sentinel down-after-milliseconds m 500\n"
                        "sentinel failover-timeout m 3000\n", encoding="ascii")
        return ["redis-server", str(file), "--port", str(self.port), "--bind", "127.0.0.1",
                "--dir", self.directory, "--sentinel"]

    @property
    def url(self):
        return f"redis-sentinel://127.0.0.1:{self.port}/m"

    def fail_over(self):
        """The master dies when its replica has everything."""
        self.master.fail()
        wait_until(lambda: "role:master" in self.replica.cli("INFO", "replication").stdout,
                   "the replica is promoted")

    def close(self):
        super().close()
        self.replica.close()
        self.master.close()


class Sqlite:
    """A file of our own."""

    def __init__(self):
        self.directory = tempfile.mkdtemp()
        self.file = Path(self.directory) / "leases.db"
        self.blocker = None

    @property
    def url(self):
        return f"sqlite:{self.file}"

    def fail(self):
        """Nothing is renewed from now on: another program keeps the file to itself."""
        code = ("import sqlite3, sys, time\n"
                f"c = sqlite3.connect({str(self.file)!r}, timeout=20, isolation_level=None)\n"
                "c.execute('BEGIN IMMEDIATE')\n"
                "print('blocked', flush=True)\n"
                "time.sleep(3600)\n")
        self.blocker = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        assert self.blocker.stdout.readline() == b"blocked\n"

    def close(self):
        if self.blocker:
            self.blocker.kill()
            self.blocker.communicate()
        shutil.rmtree(self.directory, ignore_errors=True)


class Terminal:
    """The program, or another one, with a terminal of its own, as a shell would start it."""

    def __init__(self, *words, program=None, columns=80, rows=24, **changes):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            program = program or PROGRAM
            os.execvpe(program, [program, *words],
                       environment(**{"TERM": "xterm-256color", **changes}))
        import fcntl  # pylint: disable=import-outside-toplevel
        import struct  # pylint: disable=import-outside-toplevel
        import termios  # pylint: disable=import-outside-toplevel
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.text = ""

    def read_until(self, holds, what, seconds=30):
        """Collects what is written until `holds(text)`."""
        end = time.monotonic() + seconds
        while not holds(self.text):
            ready, _, _ = select.select([self.fd], [], [], 0.05)
            if ready and not self.read_some():
                break
            if time.monotonic() > end:
                raise AssertionError(f"{what}: not within {seconds} s:\n{self.text!r}")
        assert holds(self.text), f"{what}: it ended before:\n{self.text!r}"

    def read_some(self):
        try:
            part = os.read(self.fd, 65536)
        except OSError:  # the last one closed it
            return False
        self.text += part.decode(errors="replace")
        return bool(part)

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        """The exit code, after everything was read; below zero: the signal."""
        while self.read_some():
            pass
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


class Case(unittest.TestCase):
    maxDiff = None

    def directory(self):
        made = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, made, ignore_errors=True)
        return Path(made)

    def start(self, *words, **changes):
        """A holdfast in the background, ended with the test."""
        child = subprocess.Popen([PROGRAM, *words], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 env=environment(**changes))
        self.addCleanup(self.end, child)
        return child

    @staticmethod
    def end(child):
        if child.poll() is None:
            child.send_signal(signal.SIGCONT)
            child.kill()
        child.communicate()

    def expect(self, done, code, stdout="", stderr=""):
        """All three, to the letter."""
        self.assertEqual((done.returncode, done.stdout, done.stderr), (code, stdout, stderr))

    def expect_one_sentence(self, done, code, *parts):
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertRegex(done.stderr, r"\Aholdfast: [^\n]+\n\Z")
        for part in parts:
            self.assertIn(part, done.stderr)

    def expect_misuse(self, done, *parts):
        self.assertEqual(done.returncode, USAGE, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertTrue(done.stderr.startswith("holdfast: "), done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)


def main():
    global PROGRAM  # pylint: disable=global-statement
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main(module="__main__")
