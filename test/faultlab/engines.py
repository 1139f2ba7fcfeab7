# SPDX-License-Identifier: Apache-2.0
"""The engines of the lab. A new one says how to start it, and where its workers find it."""

import contextlib
import os
import shutil
import sqlite3
import tempfile
import uuid
from pathlib import Path

from engine import Engine
from etcd_engine import Etcd
from servers import Server, wait_until
from sql_engines import Mysql, Postgresql, ReplicatedPostgresql
from zookeeper_servers import Zookeeper


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


class SqliteContainers(Sqlite):
    """A file that workers share which each read a boot id of their own, as in containers."""

    name = "sqlite, own boot ids"

    def around(self, words):
        id_file = Path(self._directory) / str(uuid.uuid4())
        id_file.write_text(id_file.name, encoding="ascii")
        return ["unshare", "--mount", "sh", "-c", "mount --bind $0 /proc/sys/kernel/random/boot_id "
                '&& exec "$@"', str(id_file), *words]


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
    more = ""  # options of the workers' URL

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
                f"&backoff_max=200ms&quarantine={self.quarantine_ms}ms{self.more}")

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


class TrustingSentinel(Sentinel):
    """No replica is asked whether it knows of a grant."""

    name = "sentinel, replicas=0"
    more = "&replicas=0"


class WarySentinel(Sentinel):
    """A master that stops by itself when it has lost its replicas, some three seconds later.

    The next one is promoted after a second at the earliest, so a quarantine of three is enough.
    """

    name = "sentinel, min-replicas"
    each = ("--min-replicas-to-write", "1", "--min-replicas-max-lag", "1")
    more = "&replicas=0"
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

    def _replica_of(self, master):
        for node in self.servers:
            role = node.command("ROLE")
            if role.startswith(b"*5") and str(master.port).encode() in role:
                return node
        raise RuntimeError("the master has no replica")

    def fail_over(self):
        self._replica_of(self.victims()[0]).command("CLUSTER", "FAILOVER", "TAKEOVER")

    def switch_over(self, master):
        """By an agreement of both: nothing is lost."""
        replica = self._replica_of(master)

        def promoted():
            if replica.command("ROLE").startswith(b"*3"):
                return True
            replica.command("CLUSTER", "FAILOVER")
            return False

        wait_until("a switched master", promoted)

    def await_whole(self):
        wait_until("a whole cluster", self.settled, 60)


class RedisPy(Redis):
    """redis-py's lock on one server: to see that the lab finds violations where there are some."""

    name = "redis-py (baseline)"
    disk = False


ENGINES = [Memory, Sqlite, SqliteContainers, Postgresql, ReplicatedPostgresql, Mysql, Redis,
           QuarantinedRedis, Sentinel, TrustingSentinel, WarySentinel, Cluster, Redlock, Etcd,
           Zookeeper, RedisPy]
