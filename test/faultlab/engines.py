# SPDX-License-Identifier: Apache-2.0
"""The engines of the lab. A new one says how to start it, and where its workers find it."""

import contextlib
import ctypes
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


def free_port():
    """Below 32768, so that no outgoing connection has it, and a Cluster's second port is one."""
    while True:
        port = random.randrange(10_000, 30_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def die_with_us():
    """Run by a child: if the lab is killed, the kernel kills the child too."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


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

    def __init__(self, clock, *arguments, configuration=None):
        self.port = free_port()
        self._configuration = [configuration] if configuration else []
        self.directory = tempfile.mkdtemp(prefix="faultlab-")
        self.shift = Path(self.directory) / "shift"
        self.shift.write_bytes(struct.pack("<q", 0))
        self._clock, self._arguments, self._process = clock, arguments, None
        for left in reversed(range(5)):
            try:
                return self.start()
            except RuntimeError:  # somebody has taken the port, or a Cluster's second one
                if left == 0:
                    raise
                self.port = free_port()

    def start(self):
        environment = {**os.environ, "SHIFTED_CLOCK": str(self.shift)}
        if self._clock:
            environment["LD_PRELOAD"] = str(self._clock)
        with open(Path(self.directory) / "log", "ab") as log:
            self._process = subprocess.Popen(  # pylint: disable=consider-using-with
                ["redis-server", *self._configuration, "--port", str(self.port), "--bind",
                 "127.0.0.1", "--save", "", "--dir", self.directory, *self._arguments],
                stdout=log, stderr=log, env=environment, preexec_fn=die_with_us)
        self.wait()

    def wait(self):
        for _ in range(600):
            if self._process.poll() is not None:
                break
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
    proxied = True  # workers can be cut off by proxies of their own

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


class Sentinel(Engine):
    """A master, two replicas, three sentinels. Workers are told where the master is: no proxies."""

    name = "sentinel"
    proxied = False

    def start(self, clock):
        master = Server(clock)
        replicas = [Server(clock, "--replicaof", f"127.0.0.1 {master.port}",
                           "--repl-diskless-sync-delay", "0") for _ in range(2)]
        self.sentinels = [self._sentinel(master.port) for _ in range(3)]
        return [master, *replicas]

    @staticmethod
    def _sentinel(port):
        with tempfile.NamedTemporaryFile("w", suffix=".conf", delete=False) as file:
            file.write(f"sentinel monitor lab 127.0.0.1 {port} 2\n"
                       "sentinel down-after-milliseconds lab 1000\n"
                       "sentinel failover-timeout lab 3000\n")
        made = Server(None, "--sentinel", configuration=file.name)
        made.configuration = file.name
        return made

    def url(self, ports):
        hosts = ",".join(f"127.0.0.1:{one.port}" for one in self.sentinels)
        return (f"redis-sentinel://{hosts}/lab?reply_timeout=500ms&connect_timeout=500ms"
                "&backoff_max=200ms&quarantine=2s")

    def fail_over(self):
        command(self.sentinels[0].port, "SENTINEL", "FAILOVER", "lab")

    def close(self):
        for one in self.sentinels:
            one.close()
            os.unlink(one.configuration)
        super().close()


class Cluster(Engine):
    """Three masters with a replica each. Workers are told where a slot is: no proxies."""

    name = "cluster"
    proxied = False

    def start(self, clock):
        nodes = [Server(clock, "--cluster-enabled", "yes", "--cluster-node-timeout", "1500",
                        "--repl-diskless-sync-delay", "0") for _ in range(6)]
        addresses = [f"127.0.0.1:{node.port}" for node in nodes]
        subprocess.run(["redis-cli", "--cluster", "create", *addresses, "--cluster-replicas", "1",
                        "--cluster-yes"], check=True, capture_output=True, timeout=60)
        for node in nodes:
            while b"cluster_state:ok" not in command(node.port, "CLUSTER", "INFO"):
                time.sleep(0.05)
        return nodes

    def url(self, ports):
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.servers)
        return (f"redis-cluster://{hosts}?reply_timeout=500ms&connect_timeout=500ms"
                "&backoff_max=200ms&quarantine=2s")

    def slot(self):
        """Of the workers' name."""
        return int(command(self.servers[0].port, "CLUSTER", "KEYSLOT", "lock:job")[1:])

    def move_slot(self):
        """Gives it to another master, with all that is in it, as resharding does."""
        slot, source = self.slot(), self.victims()[0]
        masters = [s for s in self.servers if command(s.port, "ROLE").startswith(b"*3\r\n$6")]
        target = next(server for server in masters if server is not source)
        ids = {s.port: command(s.port, "CLUSTER", "MYID").split(b"\r\n")[1].decode()
               for s in (source, target)}
        command(target.port, "CLUSTER", "SETSLOT", slot, "IMPORTING", ids[source.port])
        command(source.port, "CLUSTER", "SETSLOT", slot, "MIGRATING", ids[target.port])
        for _ in range(1000):
            keys = command(source.port, "CLUSTER", "GETKEYSINSLOT", slot, 10).split(b"\r\n")[2::2]
            if not keys:
                break
            for key in keys:
                command(source.port, "MIGRATE", "127.0.0.1", target.port, key.decode(), 0, 1000)
        for server in (target, source, *masters):
            command(server.port, "CLUSTER", "SETSLOT", slot, "NODE", ids[target.port])

    def victims(self):
        """The master of the slot that the workers' name is in."""
        slot = self.slot()
        for line in command(self.servers[0].port, "CLUSTER", "NODES").decode().splitlines():
            words = line.split()
            for part in words[8:]:
                first, _, last = part.partition("-")
                if first.isdigit() and int(first) <= slot <= int(last or first):
                    port = int(words[1].split("@")[0].split(":")[1])
                    return [node for node in self.servers if node.port == port]
        raise RuntimeError("no master has the slot")

    def fail_over(self):
        master = self.victims()[0]
        for node in self.servers:
            role = command(node.port, "ROLE")
            if role.startswith(b"*5") and str(master.port).encode() in role:
                command(node.port, "CLUSTER", "FAILOVER", "TAKEOVER")
                return


class RedisPy(Redis):
    """redis-py's lock on one server: to see that the lab finds violations where there are some."""

    name = "redis-py (baseline)"


ENGINES = [Redis, QuarantinedRedis, Sentinel, Cluster, Redlock, RedisPy]
