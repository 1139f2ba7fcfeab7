# SPDX-License-Identifier: Apache-2.0
"""Members of an etcd cluster for the fault lab. What a majority has written survives a crash."""

import json
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from places import die_with_us
from servers import free_port


class EtcdServer:
    """One member. Elections are quick, so that the shortest lease is a second."""

    def __init__(self, name, place):
        self.name, self.place = name, place
        self.port, self.peer_port = free_port(), free_port()
        self.directory = tempfile.mkdtemp(prefix="faultlab-")
        self._process, self._cluster = None, ""

    @property
    def address(self):
        return f"{self.place.host}:{self.port}"

    @property
    def orders(self):
        """Where the lab finds it, whatever happens to the network."""
        return f"{self.place.orders}:{self.port}"

    @property
    def peer(self):
        return f"http://{self.place.host}:{self.peer_port}"

    @property
    def pid(self):
        return self._process.pid

    def join(self, members):
        self._cluster = ",".join(f"{one.name}={one.peer}" for one in members)

    def start(self):
        clients = ",".join(f"http://{host}:{self.port}" for host in self.place.listens())
        with open(Path(self.directory) / "log", "ab") as log:
            self._process = subprocess.Popen(  # pylint: disable=consider-using-with
                [*self.place.enter, "etcd", f"--name={self.name}",
                 f"--data-dir={self.directory}/data", f"--listen-client-urls={clients}",
                 f"--advertise-client-urls=http://{self.address}",
                 f"--listen-peer-urls={self.peer}", f"--initial-advertise-peer-urls={self.peer}",
                 f"--initial-cluster={self._cluster}", "--heartbeat-interval=50",
                 "--election-timeout=500", "--logger=zap", "--log-level=warn"],
                stdout=log, stderr=log, preexec_fn=die_with_us)

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


class EtcdCluster:
    """Members that agree, and what etcdctl says of them."""

    def __init__(self, places):
        self.members = [EtcdServer(f"e{i}", place) for i, place in enumerate(places)]
        for one in self.members:
            one.join(self.members)
            one.start()

    def ctl(self, *words, at=None):
        """What etcdctl answers; raises OSError."""
        endpoints = ",".join(one.orders for one in ([at] if at else self.members))
        try:
            done = subprocess.run(
                ["etcdctl", f"--endpoints={endpoints}", "--dial-timeout=1s",
                 "--command-timeout=3s", *words], capture_output=True, text=True, check=True,
                timeout=20, env={"ETCDCTL_API": "3", "PATH": "/usr/bin:/bin"})
        except subprocess.SubprocessError as problem:
            raise OSError(f"etcdctl {words[0]}: no answer") from problem
        return done.stdout

    def healthy(self):
        self.ctl("endpoint", "health")
        return True

    def _status(self, member):
        return json.loads(self.ctl("endpoint", "status", "-w", "json", at=member))[0]["Status"]

    def leader(self):
        for one in self.members:
            status = self._status(one)
            if status["leader"] == status["header"]["member_id"]:
                return one
        raise OSError("they have no leader")

    def lead(self, member):
        """Makes it the leader."""
        for _ in range(50):
            old = self.leader()
            if old is member:
                return
            identity = self._status(member)["header"]["member_id"]
            self.ctl("move-leader", f"{identity:x}", at=old)
            time.sleep(0.1)
        raise RuntimeError("it does not become the leader")

    def keys(self, prefix):
        return [line for line in self.ctl("get", "--prefix", "--keys-only", prefix).split() if line]
