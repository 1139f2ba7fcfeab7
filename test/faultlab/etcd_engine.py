# SPDX-License-Identifier: Apache-2.0
"""etcd as an engine of the fault lab."""

from engine import Engine
from etcd_servers import EtcdCluster
from servers import wait_until


class Etcd(Engine):
    """Three members, of which one may fail: now the leader, now another."""

    name = "etcd"
    redis = False
    parts = True
    quarantine_ms = 2000  # a dead holder's lease ends a second late, and is extended by an election

    def start(self):
        places = [self.ground.main] * 3
        if self.ground.parted:
            places[0] = self.ground.struck()
        self._cluster, self._strikes = EtcdCluster(places), 0
        wait_until("a leader", self._cluster.healthy)
        return self._cluster.members

    def url(self, addresses):
        return f"etcd://{','.join(addresses)}?connect_timeout=500ms"

    def victims(self):
        leader = self._cluster.leader()
        self._strikes += 1
        if self._strikes % 2 == 1:
            return [leader]
        return [next(one for one in self.servers if one is not leader)]

    def lead(self):
        """Makes the member that a partition cuts off the leader."""
        self._cluster.lead(self.servers[0])

    def restart_each(self):
        for one in self.servers:
            one.kill()
            one.start()
            wait_until("a whole cluster", self._cluster.healthy)

    def settled(self):
        return self._cluster.healthy()

    def keys_left(self):
        return len(self._cluster.keys("holdfast/"))
