# SPDX-License-Identifier: Apache-2.0
"""The engines of the lab on SQL servers."""

import contextlib

from engine import Engine
from servers import wait_until
from sql_servers import MariadbServer, PostgresServer


class Postgresql(Engine):
    """One PostgreSQL server, which keeps what it has committed."""

    name = "postgresql"
    redis = False
    held = "SELECT count(*) FROM holdfast_names WHERE owner <> ''"
    line = "SELECT count(*) FROM holdfast_parties"

    def start(self):
        return [PostgresServer(self.ground)]

    def url(self, addresses):
        return (f"postgresql://postgres@{addresses[0]}/postgres?sslmode=disable"
                "&connect_timeout=500ms&statement_timeout=1s")

    def settled(self):
        return self.servers[0].sql("SELECT 1") == ["1"]

    def keys_left(self):
        return sum(int(self.servers[0].sql(query)[0]) for query in (self.held, self.line))


class ReplicatedPostgresql(Postgresql):
    """A PostgreSQL server and a replica, for which each commit waits. A replica that is not waited
    for may have missed the last grants: to promote that one is outside of the promise."""

    name = "postgresql, replica"

    def start(self):
        primary = PostgresServer(self.ground)
        self.servers = [primary, PostgresServer(self.ground, primary)]
        primary.wait_for_replica("*")
        wait_until("a replica that is waited for", self.settled)
        return self.servers

    def url(self, addresses):
        return super().url([",".join(addresses)])

    def victims(self):
        """The primary."""
        return [server for server in self.servers if server.is_primary()][:1]

    def settled(self):
        in_step = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
        with contextlib.suppress(OSError):
            return [one.sql(in_step) for one in self.victims()] == [["1"]]
        return False

    def fail_over(self):
        """The primary dies, its replica takes its place, and then is followed by it."""
        old = self.victims()[0]
        new = next(server for server in self.servers if server is not old)
        old.kill()
        new.wait_for_replica("")
        new.sql("SELECT pg_promote()")
        old.follow(new)
        new.wait_for_replica("*")
        wait_until("a replica that is waited for", self.settled)

    def keys_left(self):
        primary = self.victims()[0]
        return sum(int(primary.sql(query)[0]) for query in (self.held, self.line))


class Mysql(Postgresql):
    """One MariaDB server, which keeps what it has committed."""

    name = "mysql"
    held = "SELECT count(*) FROM app.holdfast_names WHERE owner <> ''"
    line = "SELECT count(*) FROM app.holdfast_parties"

    def start(self):
        return [MariadbServer(self.ground)]

    def url(self, addresses):
        return (f"mysql://lab@{addresses[0]}/app?sslmode=disable"
                "&connect_timeout=500ms&statement_timeout=1s")
