# SPDX-License-Identifier: Apache-2.0
"""A server process of the fault lab: started on a free port, stopped, cut off, waited for."""

import contextlib
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path

from places import die_with_us


def free_port():
    """Below 32768, so that no outgoing connection has it, and a Cluster's second port is one."""
    while True:
        port = random.randrange(10_000, 30_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def wait_until(what, ready, seconds=30.0):
    """Looks again and again; raises when it takes too long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            if ready():
                return
        time.sleep(0.02)
    raise RuntimeError(f"waited {seconds} s for {what}")


class Server:
    """A redis-server whose clock can be stepped; without --appendonly it keeps nothing."""

    def __init__(self, ground, *arguments, configuration=None, place=None, clock=True, home=None):
        self.port, self.place = free_port(), place or ground.main
        self._configuration = [configuration] if configuration else []
        self.directory = tempfile.mkdtemp(prefix="faultlab-", dir=home)
        self.shift, self._ahead = Path(self.directory) / "shift", 0
        self.shift.write_bytes(struct.pack("<q", 0))
        self._clock = ground.clock if clock else None
        self._arguments, self._process = arguments, None
        for left in reversed(range(5)):
            try:
                return self.start()
            except RuntimeError:  # somebody has taken the port, or a Cluster's second one
                if left == 0:
                    raise
                self.port = free_port()

    @property
    def address(self):
        return f"{self.place.host}:{self.port}"

    def command(self, *words, timeout=2.0):
        """One command, on a connection of its own. Answers the reply as bytes; raises OSError."""
        with socket.create_connection((self.place.orders, self.port), timeout) as line:
            line.sendall(b"*%d\r\n" % len(words) + b"".join(
                b"$%d\r\n%s\r\n" % (len(w), w) for w in (str(word).encode() for word in words)))
            line.shutdown(socket.SHUT_WR)
            answer = b""
            while data := line.recv(65536):
                answer += data
            return answer

    def start(self):
        environment = {**os.environ, "SHIFTED_CLOCK": str(self.shift)}
        if self._clock:
            environment["LD_PRELOAD"] = str(self._clock)
        with open(Path(self.directory) / "log", "ab") as log:
            self._process = subprocess.Popen(  # pylint: disable=consider-using-with
                [*self.place.enter, "redis-server", *self._configuration, "--port", str(self.port),
                 "--bind", *self.place.listens(), "--protected-mode", "no", "--save", "",
                 "--dir", self.directory, *self._arguments],
                stdout=log, stderr=log, env=environment, preexec_fn=die_with_us)
        self.wait()

    def wait(self):
        for _ in range(600):
            if self._process.poll() is not None:
                break
            with contextlib.suppress(OSError):
                if self.command("PING").startswith(b"+PONG"):
                    return
            time.sleep(0.02)
        raise RuntimeError(f"redis-server on {self.port} did not start")

    def signal(self, number):
        self._process.send_signal(number)

    def kill(self):
        self._process.kill()
        self._process.wait()

    def step(self, seconds):
        """Its time of day jumps by so much, from wherever it is."""
        self._ahead += int(seconds * 1e9)
        with open(self.shift, "r+b") as file:  # in place: the server has mapped it
            file.write(struct.pack("<q", self._ahead))

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGCONT)
            self._process.kill()
        self._process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)
