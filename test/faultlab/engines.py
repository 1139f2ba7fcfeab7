# SPDX-License-Identifier: Apache-2.0
"""The engines of the lab. A new one says how to start it, and where its workers find it."""

import contextlib
import os
import random
import shutil
import signal
import socket
import sqlite3
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


class Engine:
    """What a nemesis needs to know of an engine."""

    name = ""
    quarantine_ms = 0    # nothing is granted for so long after a restart or a promotion
    served = True        # there are servers
    proxied = True       # workers can be cut off by proxies of their own
    one_process = False  # all contenders are threads of one
    disk = False         # a full disk matters to it
    parts = False        # a part of its servers can be cut off from the others

    def __init__(self, ground):
        self.ground = ground
        self.servers = self.start()

    def start(self):
        raise NotImplementedError

    def url(self, addresses):
        """For a worker that finds the servers at these addresses."""
        raise NotImplementedError

    def victims(self):
        """The servers that a fault strikes: as many as the engine says it survives, or one."""
        return self.servers[:1]

    def settled(self):
        """Whether it has got over the last fault, so that the next one meets it whole."""
        return all(server.command("PING").startswith(b"+PONG") for server in self.servers)

    def keys_left(self):
        """Locks and lines that are still stored."""
        left = 0
        for server in self.servers:
            for key in server.command("KEYS", "*").split(b"\r\n"):
                left += key.startswith((b"lock:", b"{lock:"))
        return left

    def close(self):
        for server in self.servers:
            server.close()


class Memory(Engine):
    """The engine in the process: what is killed or stopped is all of it."""

    name = "memory"
    served, proxied, one_process = False, False, True

    def start(self):
        return []

    def url(self, addresses):
        return "memory:"

    def keys_left(self):
        return None


class Sqlite(Engine):
    """A file that the workers share."""

    name = "sqlite"
    served, proxied, disk = False, False, True

    def start(self):
        self._directory = tempfile.mkdtemp(prefix="faultlab-", dir=self.ground.disk)
        return []

    def _file(self):
        return Path(self._directory) / "locks"

    def url(self, addresses):
        return f"sqlite:{self._file()}"

    def keys_left(self):
        with contextlib.closing(sqlite3.connect(self._file(), timeout=5)) as file:
            held = "SELECT count(*) FROM holdfast_names WHERE owner <> ''"
            line = "SELECT count(*) FROM holdfast_parties"
            return sum(file.execute(query).fetchone()[0] for query in (held, line))

    def close(self):
        shutil.rmtree(self._directory, ignore_errors=True)


class Redis(Engine):
    """One server."""

    name = "redis"
    disk = True

    def start(self):
        if self.ground.disk:
            return [Server(self.ground, "--appendonly", "yes", home=self.ground.disk)]
        return [Server(self.ground)]

    def url(self, addresses):
        return (f"redis://{addresses[0]}?reply_timeout=500ms&connect_timeout=500ms"
                "&backoff_max=200ms" +
                (f"&quarantine={self.quarantine_ms}ms" if self.quarantine_ms else ""))


class QuarantinedRedis(Redis):
    """One server that grants nothing for a while after a restart."""

    name = "redis, quarantine"
    quarantine_ms = 2000
    disk = False


class Redlock(Engine):
    """Five servers, of which two may fail."""

    name = "redlock of five"
    quarantine_ms = 2000
    parts = True

    def start(self):
        away = self.ground.struck() if self.ground.parted else None
        return [Server(self.ground, place=away if i < 2 else None) for i in range(5)]

    def url(self, addresses):
        return (f"redlock://{','.join(addresses)}?quarantine={self.quarantine_ms}ms"
                "&node_timeout=200ms&connect_timeout=500ms&backoff_max=200ms")

    def victims(self):
        return self.servers[:2]


class Sentinel(Engine):
    """A master, two replicas, three sentinels. Workers are told where the master is: no proxies."""

    name = "sentinel"
    proxied = False
    parts = True
    quarantine_ms = 2000
    each = ()

    def start(self):
        away = self.ground.struck() if self.ground.parted else None
        each = ("--repl-diskless-sync-delay", "0", *self.each)
        master = Server(self.ground, *each, place=away)
        replicas = [Server(self.ground, *each) for _ in range(2)]
        for one in replicas:  # not by its arguments: when it was promoted, it starts as a master
            one.command("REPLICAOF", master.place.host, master.port)
        self.sentinels = []
        self.servers = [master, *replicas]
        wait_until("replicas in sync", self._replicated)
        for _ in range(3):
            self.sentinels.append(self._sentinel(master))
        wait_until("sentinels that know each other", self._informed)
        return self.servers

    def _sentinel(self, master):
        with tempfile.NamedTemporaryFile("w", suffix=".conf", delete=False) as file:
            file.write(f"sentinel monitor lab {master.place.host} {master.port} 2\n"
                       "sentinel down-after-milliseconds lab 1000\n"
                       "sentinel failover-timeout lab 3000\n")
        made = Server(self.ground, "--sentinel", configuration=file.name, clock=False)
        made.configuration = file.name
        return made

    def _informed(self):
        for one in self.sentinels:
            known = one.command("SENTINEL", "MASTER", "lab").split(b"\r\n")
            fields = dict(zip(known[2::4], known[4::4]))
            if (fields.get(b"num-slaves"), fields.get(b"num-other-sentinels")) != (b"2", b"2"):
                return False
        return True

    def _replicated(self):
        masters = [s for s in self.servers if b"role:master" in s.command("INFO", "replication")]
        return len(masters) == 1 and (
            masters[0].command("INFO", "replication").count(b"state=online") == 2)

    def url(self, addresses):
        hosts = ",".join(one.address for one in self.sentinels)
        return (f"redis-sentinel://{hosts}/lab?reply_timeout=500ms&connect_timeout=500ms"
                f"&backoff_max=200ms&quarantine={self.quarantine_ms}ms")

    def victims(self):
        """The master."""
        return [s for s in self.servers if b"role:master" in s.command("INFO", "replication")][:1]

    def settled(self):
        return self._replicated()

    def fail_over(self):
        self.sentinels[0].command("SENTINEL", "FAILOVER", "lab")

    def close(self):
        for one in self.sentinels:
            one.close()
            os.unlink(one.configuration)
        super().close()


class WarySentinel(Sentinel):
    """A master that stops by itself when it has lost its replicas, some three seconds later.

    The next one is promoted after a second at the earliest, so a quarantine of three is enough.
    """

    name = "sentinel, min-replicas"
    each = ("--min-replicas-to-write", "1", "--min-replicas-max-lag", "1")
    quarantine_ms = 3000


class Cluster(Engine):
    """Three masters with a replica each. Workers are told where a slot is: no proxies."""

    name = "cluster"
    proxied = False
    parts = True
    quarantine_ms = 2000
    slot = 3647  # of lock:job
    first_slots = (0, 5461, 10923, 16384)

    def start(self):
        """The first three are masters; the first has the slot of the workers' name."""
        away = self.ground.struck() if self.ground.parted else None
        self.servers = [Server(self.ground, "--cluster-enabled", "yes", "--cluster-node-timeout",
                               "1500", "--repl-diskless-sync-delay", "0",
                               place=away if i == 0 else None) for i in range(6)]
        masters, replicas = self.servers[:3], self.servers[3:]
        assert masters[0].command("CLUSTER", "KEYSLOT", "lock:job") == b":%d\r\n" % self.slot
        for epoch, node in enumerate(self.servers):
            node.command("CLUSTER", "SET-CONFIG-EPOCH", epoch + 1)
            masters[0].command("CLUSTER", "MEET", node.place.host, node.port)
        for node, first, end in zip(masters, self.first_slots, self.first_slots[1:]):
            node.command("CLUSTER", "ADDSLOTSRANGE", first, end - 1)
        wait_until("nodes that know each other", lambda: all(
            b"cluster_known_nodes:6" in node.command("CLUSTER", "INFO") for node in self.servers))
        for master, replica in zip(masters, replicas):
            identity = master.command("CLUSTER", "MYID").split(b"\r\n")[1].decode()
            wait_until("a replica", lambda r=replica, i=identity: r.command(
                "CLUSTER", "REPLICATE", i).startswith(b"+OK"))
        wait_until("a whole cluster", self.settled)
        return self.servers

    def url(self, addresses):
        hosts = ",".join(node.address for node in self.servers)
        return (f"redis-cluster://{hosts}?reply_timeout=500ms&connect_timeout=500ms"
                f"&backoff_max=200ms&quarantine={self.quarantine_ms}ms")

    def masters(self):
        return [s for s in self.servers if s.command("ROLE").startswith(b"*3\r\n$6")]

    def settled(self):
        masters = self.masters()
        whole = all(b"cluster_state:ok" in s.command("CLUSTER", "INFO") for s in self.servers)
        return len(masters) == 3 and whole and all(
            b"state=online" in node.command("INFO", "replication") for node in masters)

    def move_slot(self):
        """Gives it to another master, with all that is in it, as resharding does."""
        slot, source = self.slot, self.victims()[0]
        masters = self.masters()
        target = next(server for server in masters if server is not source)
        ids = {s.port: s.command("CLUSTER", "MYID").split(b"\r\n")[1].decode()
               for s in (source, target)}
        target.command("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[source.port])
        source.command("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[target.port])
        for _ in range(1000):
            keys = source.command("CLUSTER", "GETKEYSINSLOT", slot, 10).split(b"\r\n")[2::2]
            if not keys:
                break
            for key in keys:
                source.command("MIGRATE", target.place.host, target.port, key.decode(), 0, 1000)
        for server in (target, source, *masters):
            server.command("CLUSTER", "SETSLOT", slot, "NODE", ids[target.port])

    def victims(self):
        """The master of the slot that the workers' name is in."""
        for line in self.masters()[0].command("CLUSTER", "NODES").decode().splitlines():
            words = line.split()
            for part in words[8:]:
                first, _, last = part.partition("-")
                if first.isdigit() and int(first) <= self.slot <= int(last or first):
                    port = int(words[1].split("@")[0].rpartition(":")[2])
                    return [node for node in self.servers if node.port == port]
        raise RuntimeError("no master has the slot")

    def fail_over(self):
        master = self.victims()[0]
        for node in self.servers:
            role = node.command("ROLE")
            if role.startswith(b"*5") and str(master.port).encode() in role:
                node.command("CLUSTER", "FAILOVER", "TAKEOVER")
                return


class RedisPy(Redis):
    """redis-py's lock on one server: to see that the lab finds violations where there are some."""

    name = "redis-py (baseline)"
    disk = False


ENGINES = [Memory, Sqlite, Redis, QuarantinedRedis, Sentinel, WarySentinel, Cluster, Redlock,
           RedisPy]
