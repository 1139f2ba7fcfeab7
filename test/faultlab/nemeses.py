# SPDX-License-Identifier: Apache-2.0
"""The faults. Each strikes, lasts, and heals, and says which engines do not promise to stand it."""

import contextlib
import signal
import time

from engines import command


class Nemesis:
    """Strikes nobody: how things are without a fault."""

    name = "none"
    lasts = 3.0
    #: Engines whose exclusion this is outside of, and why.
    outside = {}

    @classmethod
    def why_not(cls, engine):
        """Why this cannot be done to an engine; nothing if it can."""
        return None

    def strike(self, cell):
        pass

    def heal(self, cell):
        pass


class KillClients(Nemesis):
    """kill -9 of half of the workers; new ones come."""

    name = "kill -9, clients"

    def strike(self, cell):
        for worker in cell.half():
            worker.kill()

    def heal(self, cell):
        for worker in cell.half():
            worker.start()


class StopClients(Nemesis):
    """SIGSTOP of half of the workers, one of which holds, for longer than a ttl."""

    name = "SIGSTOP, clients"

    def strike(self, cell):
        for _ in range(200):
            for worker in cell.half():
                worker.signal(signal.SIGSTOP)
            time.sleep(0.01)
            if any(worker.holds() for worker in cell.half()):
                return
            self.heal(cell)
            time.sleep(0.003)
        raise RuntimeError("none of them ever held it")

    def heal(self, cell):
        for worker in cell.half():
            worker.signal(signal.SIGCONT)


class RestartServer(Nemesis):
    """kill -9 of servers, which come back empty at once."""

    name = "restart without data"
    outside = {"redis": "a server without persistence or quarantine forgets its leases",
               "redis-py (baseline)": "the same"}

    def strike(self, cell):
        for server in cell.victims():
            server.kill()
            server.start()


class KillServer(Nemesis):
    """kill -9 of servers, which come back empty after a ttl."""

    name = "kill -9, servers"

    def strike(self, cell):
        for server in cell.victims():
            server.kill()

    def heal(self, cell):
        for server in cell.victims():
            server.start()


class StopServer(Nemesis):
    """SIGSTOP of servers."""

    name = "SIGSTOP, servers"

    def strike(self, cell):
        for server in cell.victims():
            server.signal(signal.SIGSTOP)

    def heal(self, cell):
        for server in cell.victims():
            server.signal(signal.SIGCONT)


class Cut(Nemesis):
    """Half of the workers cannot reach any server: everything is swallowed, both ways."""

    name = "cut"
    mode = "black_hole"

    @classmethod
    def why_not(cls, engine):
        return None if engine.proxied else "servers tell workers their addresses: needs namespaces"

    def strike(self, cell):
        cell.proxies.set([p for worker in cell.half() for p in worker.ports], self.mode)

    def heal(self, cell):
        cell.proxies.set([p for worker in cell.half() for p in worker.ports], "pass")


class OneWay(Cut):
    """Their requests arrive, the answers do not."""

    name = "one-way cut"
    mode = "drop_replies"


class Reset(Cut):
    """Their connections are reset, the new ones too."""

    name = "resets"
    mode = "reset"


class ClockStep(Nemesis):
    """The servers' time of day jumps ten seconds ahead."""

    name = "clock step, +10 s"
    outside = {"redis": "a server whose clock jumps ends leases early",
               "redis, quarantine": "the same", "sentinel": "the same", "cluster": "the same",
               "redlock of five": "a lease that three had granted is then known to one",
               "redis-py (baseline)": "the same"}

    def strike(self, cell):
        for server in cell.victims():
            server.step(10)


class ScriptFlush(Nemesis):
    """SCRIPT FLUSH, again and again."""

    name = "script flush"
    words = ("SCRIPT", "FLUSH")

    def strike(self, cell):
        cell.repeat(self._flush, every=0.02)

    def _flush(self, cell):
        for server in cell.engine.servers:
            with contextlib.suppress(OSError):
                command(server.port, *self.words)


class ClientKill(ScriptFlush):
    """CLIENT KILL of all connections, again and again."""

    name = "client kill"
    words = ("CLIENT", "KILL", "TYPE", "normal")


class Eviction(Nemesis):
    """Others fill the servers' memory, and volatile keys are evicted."""

    name = "eviction"
    lasts = 4.0
    outside = {"redis": "a server that evicts keys with an expiry evicts leases",
               "redis, quarantine": "the same", "sentinel": "the same", "cluster": "the same",
               "redlock of five": "a lease that three had granted is then known to one",
               "redis-py (baseline)": "the same"}

    def strike(self, cell):
        self.count = 0
        for server in cell.victims():
            command(server.port, "CONFIG", "SET", "maxmemory-policy", "volatile-ttl")
            command(server.port, "CONFIG", "SET", "maxmemory", "3mb")
        cell.repeat(self._fill, every=0.0)

    def _fill(self, cell):
        self.count += 1
        for server in cell.victims():
            with contextlib.suppress(OSError):
                command(server.port, "SET", f"cache:{self.count}", "x" * 100_000, "EX", 100)

    def heal(self, cell):
        for server in cell.victims():
            command(server.port, "CONFIG", "SET", "maxmemory", "0")
            command(server.port, "CONFIG", "SET", "maxmemory-policy", "noeviction")


class Failover(Nemesis):
    """A replica is made the master by an operator, whether the old one agrees or not."""

    name = "failover"
    lasts = 4.0

    @classmethod
    def why_not(cls, engine):
        return None if hasattr(engine, "fail_over") else "has no replicas"

    def strike(self, cell):
        cell.engine.fail_over()


class Resharding(Nemesis):
    """The slot of the name moves to another master."""

    name = "resharding"

    @classmethod
    def why_not(cls, engine):
        return None if hasattr(engine, "move_slot") else "has no slots"

    def strike(self, cell):
        cell.engine.move_slot()


NEMESES = [Nemesis, KillClients, StopClients, KillServer, RestartServer, StopServer, Cut, OneWay,
           Reset, ClockStep, ScriptFlush, ClientKill, Eviction, Failover, Resharding]
