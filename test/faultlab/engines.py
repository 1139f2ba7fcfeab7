# SPDX-License-Identifier: Apache-2.0
"""The engines of the lab. A new one says how to start it, and where its workers find it."""

import contextlib
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def command(port, *words, timeout=2.0):
    """One Redis command, on a connection of its own. Answers the reply as bytes; raises OSError."""
    with socket.create_connection(("127.0.0.1", port), timeout) as line:
        line.sendall(b"*%d\r\n" % len(words) + b"".join(
            b"$%d\r\n%s\r\n" % (len(w), w) for w in (str(word).encode() for word in words)))
        line.shutdown(socket.SHUT_WR)
        answer = b""
        while data := line.recv(65536):
            answer += data
        return answer


class Server:
    """A redis-server whose clock can be stepped; it keeps nothing over a restart."""

    def __init__(self, clock, *arguments, port=None):
        self.port = port or free_port()
        self.directory = tempfile.mkdtemp(prefix="faultlab-")
        self.shift = Path(self.directory) / "shift"
        self.shift.write_bytes(struct.pack("<q", 0))
        self._clock, self._arguments, self._process = clock, arguments, None
        self.start()

    def start(self):
        environment = {**os.environ, "SHIFTED_CLOCK": str(self.shift)}
        if self._clock:
            environment["LD_PRELOAD"] = str(self._clock)
        with open(Path(self.directory) / "log", "ab") as log:
            self._process = subprocess.Popen(  # pylint: disable=consider-using-with
                ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
                 "--dir", self.directory, *self._arguments],
                stdout=log, stderr=log, env=environment)
        self.wait()

    def wait(self):
        for _ in range(600):
            with contextlib.suppress(OSError):
                if command(self.port, "PING").startswith(b"+PONG"):
                    return
            time.sleep(0.02)
        raise RuntimeError(f"redis-server on {self.port} did not start")

    def signal(self, number):
        self._process.send_signal(number)

    def kill(self):
        self._process.kill()
        self._process.wait()

    def step(self, seconds):
        self.shift.write_bytes(struct.pack("<q", int(seconds * 1e9)))

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGCONT)
            self._process.kill()
        self._process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


class Engine:
    """What a nemesis needs to know of an engine."""

    name = ""
    options = ""

    def __init__(self, clock):
        self.servers = self.start(clock)

    def start(self, clock):
        raise NotImplementedError

    def url(self, ports):
        """For a worker that finds the servers at these ports."""
        raise NotImplementedError

    def victims(self):
        """The servers that a fault strikes: as many as the engine says it survives, or one."""
        return self.servers[:1]

    def keys_left(self):
        left = 0
        for server in self.servers:
            for key in command(server.port, "KEYS", "*").split(b"\r\n"):
                left += key.startswith((b"lock:", b"{lock:"))
        return left

    def close(self):
        for server in self.servers:
            server.close()


class Redis(Engine):
    """One server."""

    name = "redis"

    def start(self, clock):
        return [Server(clock)]

    def url(self, ports):
        return (f"redis://127.0.0.1:{ports[0]}?reply_timeout=500ms&connect_timeout=500ms"
                f"&backoff_max=200ms{self.options}")


class QuarantinedRedis(Redis):
    """One server that grants nothing for a while after a restart."""

    name = "redis, quarantine"
    options = "&quarantine=2s"


class Redlock(Engine):
    """Five servers, of which two may fail."""

    name = "redlock of five"

    def start(self, clock):
        return [Server(clock) for _ in range(5)]

    def url(self, ports):
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        return (f"redlock://{hosts}?quarantine=2s&node_timeout=200ms&connect_timeout=500ms"
                "&backoff_max=200ms")

    def victims(self):
        return self.servers[:2]


class RedisPy(Redis):
    """redis-py's lock on one server: to see that the lab finds violations where there are some."""

    name = "redis-py (baseline)"


ENGINES = [Redis, QuarantinedRedis, Redlock, RedisPy]
