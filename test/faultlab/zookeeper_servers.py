# SPDX-License-Identifier: Apache-2.0
"""Servers of a ZooKeeper ensemble for the fault lab. What a majority has written survives a crash.

A tick is 250 ms and a server that hears nothing of its leader for 2 s stops serving;
a lease of a second is kept by a session of two.
"""

import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

from engine import Engine
from places import die_with_us
from servers import free_port, wait_until

JARS = ":".join(f"/usr/share/java/{jar}.jar" for jar in ("zookeeper", "slf4j-simple"))
SETTINGS = """tickTime=250
initLimit=40
syncLimit=8
maxSessionTimeout=60000
maxClientCnxns=0
admin.enableServer=false
"""
# By Debian's python3-kazoo: the entries of all names.
COUNT = """
import sys
from kazoo.client import KazooClient
client = KazooClient(hosts=sys.argv[1], timeout=10)
client.start(timeout=20)
names = client.get_children("/holdfast") if client.exists("/holdfast") else []
print(sum(len(client.get_children("/holdfast/" + name)) for name in names))
client.stop()
"""


class ZookeeperServer:
    """One server. Of two that know as much, the one with the larger number is elected."""

    def __init__(self, number, place):
        self.number, self.place = number, place
        self.port, self.peer_port, self.election_port = free_port(), free_port(), free_port()
        self.directory = tempfile.mkdtemp(prefix="faultlab-")
        self._process = None

    @property
    def address(self):
        return f"{self.place.host}:{self.port}"

    @property
    def orders(self):
        """Where the lab finds it, whatever happens to the network."""
        return f"{self.place.orders}:{self.port}"

    @property
    def line(self):
        """What the settings of all servers say of it."""
        return (f"server.{self.number}={self.place.host}:{self.peer_port}:"
                f"{self.election_port}\n")

    @property
    def pid(self):
        return self._process.pid

    def join(self, members):
        home = Path(self.directory)
        (home / "myid").write_text(f"{self.number}\n", encoding="ascii")
        (home / "zoo.cfg").write_text(
            f"{SETTINGS}clientPort={self.port}\ndataDir={home}\n"
            + "".join(one.line for one in members), encoding="ascii")

    def start(self):
        with open(Path(self.directory) / "log", "ab") as log:
            self._process = subprocess.Popen(  # pylint: disable=consider-using-with
                [*self.place.enter, "java", "-Xmx64m", "-XX:+UseSerialGC",
                 "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                 "-cp", JARS, "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                 f"{self.directory}/zoo.cfg"],
                stdout=log, stderr=log, preexec_fn=die_with_us)

    def mode(self):
        """leader or follower; empty if it serves nobody. Raises OSError."""
        with socket.create_connection((self.place.orders, self.port), timeout=2) as line:
            line.sendall(b"srvr")
            said = b""
            while part := line.recv(4096):
                said += part
        return said.partition(b"Mode: ")[2].partition(b"\n")[0].decode()

    def signal(self, number):
        self._process.send_signal(number)

    def kill(self):
        self._process.kill()
        self._process.wait()

    def close(self):
        if self._process:
            self.signal(signal.SIGCONT)
            self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)


class Zookeeper(Engine):
    """Three servers, of which one may fail: now the leader, now another."""

    name = "zookeeper"
    redis = False
    parts = True
    # A dead holder's session lasts twice its ttl, and is extended by an election.
    quarantine_ms = 5000

    def start(self):
        places = [self.ground.main] * 3
        if self.ground.parted:
            places[0] = self.ground.struck()
        servers = [ZookeeperServer(3 - i, place) for i, place in enumerate(places)]
        for one in servers:
            one.join(servers)
            one.start()
        self._strikes = 0
        wait_until("a leader", lambda: all(one.mode() for one in servers), 60)
        return servers

    def url(self, addresses):
        return f"zookeeper://{','.join(addresses)}"

    def _leader(self):
        for one in self.servers:
            if one.mode() == "leader":
                return one
        raise OSError("they have no leader")

    def victims(self):
        leader = self._leader()
        self._strikes += 1
        if self._strikes % 2 == 1:
            return [leader]
        return [next(one for one in self.servers if one is not leader)]

    def lead(self):
        """Makes the server that a partition cuts off the leader: the others are restarted."""
        for _ in range(20):
            leader = self._leader()
            if leader is self.servers[0]:
                return
            leader.kill()
            leader.start()
            wait_until("a whole ensemble", self.settled, 60)
        raise RuntimeError("it does not become the leader")

    def restart_each(self):
        for one in self.servers:
            one.kill()
            one.start()
            wait_until("a whole ensemble", self.settled, 60)

    def settled(self):
        return all(one.mode() for one in self.servers)

    def keys_left(self):
        hosts = ",".join(one.orders for one in self.servers)
        done = subprocess.run(["/usr/bin/python3", "-c", COUNT, hosts], capture_output=True,
                              text=True, check=True, timeout=60)
        return int(done.stdout)
