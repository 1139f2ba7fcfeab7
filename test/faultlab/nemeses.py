# SPDX-License-Identifier: Apache-2.0
"""The faults. Each strikes, lasts, and heals, and says which engines do not promise to stand it."""

import contextlib
import os
import shutil
import signal
import subprocess
import time

from places import die_with_us, isolation


class Nemesis:
    """Strikes nobody: how things are without a fault."""

    name = "none"
    lasts = 3.0
    needs = None           # "servers", "proxies", or of the machine: "island", "disk"
    parts_servers = False  # what is cut off is not only workers
    redis = False          # it takes a server that speaks Redis commands, and may forget
    probes = False         # a worker tries names that nobody has used
    #: Engines whose exclusion this is outside of, and why.
    outside = {}

    @classmethod
    def why_not(cls, engine):
        """Why this cannot be done to an engine; nothing if it can."""
        if cls.needs in ("servers", "proxies", "island") and not engine.served:
            return "has no server"
        if cls.redis and not engine.redis:
            return "is no Redis"
        if cls.needs == "proxies" and not engine.proxied:
            return "servers tell workers their addresses: see the faults of the network"
        if cls.needs == "disk" and not engine.disk:
            return "keeps nothing on a disk here"
        if cls.needs in ("island", "disk") and not isolation():
            return "this machine allows no namespaces, or has no ip and nft"
        if cls.parts_servers and not engine.parts:
            return "has no part that could be cut off from the others"
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
    needs = "servers"
    redis = True
    outside = {"redis": "a server without persistence or quarantine forgets its leases",
               "redis-py (baseline)": "the same"}

    def strike(self, cell):
        for server in cell.victims():
            server.kill()
            server.start()


class KillServer(Nemesis):
    """kill -9 of servers, which come back after a ttl; those without a disk empty."""

    name = "kill -9, servers"
    needs = "servers"

    def strike(self, cell):
        for server in cell.victims():
            server.kill()

    def heal(self, cell):
        for server in cell.victims():
            server.start()


class StopServer(Nemesis):
    """SIGSTOP of servers."""

    name = "SIGSTOP, servers"
    needs = "servers"

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
    needs = "proxies"

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
    needs = "servers"
    redis = True
    outside = {"redis": "a server whose clock jumps ends leases early",
               "redis, quarantine": "the same", "sentinel": "the same",
               "sentinel, min-replicas": "the same", "cluster": "the same",
               "sentinel, replicas=0": "the same",
               "redlock of five": "a lease that three had granted is then known to one",
               "redis-py (baseline)": "the same"}

    def strike(self, cell):
        for server in cell.victims():
            server.step(10)


class ScriptFlush(Nemesis):
    """SCRIPT FLUSH, again and again."""

    name = "script flush"
    needs = "servers"
    redis = True
    words = ("SCRIPT", "FLUSH")

    def strike(self, cell):
        cell.repeat(self._flush, every=0.02)

    def _flush(self, cell):
        for server in cell.engine.servers:
            with contextlib.suppress(OSError):
                server.command(*self.words)


class ClientKill(ScriptFlush):
    """CLIENT KILL of all connections, again and again."""

    name = "client kill"
    words = ("CLIENT", "KILL", "TYPE", "normal")


class Eviction(Nemesis):
    """Others fill the servers' memory, and volatile keys are evicted."""

    name = "eviction"
    needs = "servers"
    redis = True
    lasts = 4.0
    outside = {"redis": "a server that evicts keys with an expiry evicts leases",
               "redis, quarantine": "the same", "sentinel": "the same",
               "sentinel, min-replicas": "the same", "cluster": "the same",
               "sentinel, replicas=0": "the same",
               "redlock of five": "a lease that three had granted is then known to one",
               "redis-py (baseline)": "the same"}

    def strike(self, cell):
        self.count = 0
        for server in cell.victims():
            server.command("CONFIG", "SET", "maxmemory-policy", "volatile-ttl")
            server.command("CONFIG", "SET", "maxmemory", "3mb")
        cell.repeat(self._fill, every=0.0)

    def _fill(self, cell):
        self.count += 1
        for server in cell.victims():
            with contextlib.suppress(OSError):
                server.command("SET", f"cache:{self.count}", "x" * 100_000, "EX", 100)

    def heal(self, cell):
        for server in cell.victims():
            server.command("CONFIG", "SET", "maxmemory", "0")
            server.command("CONFIG", "SET", "maxmemory-policy", "noeviction")


class Failover(Nemesis):
    """A replica is made the master by an operator, whether the old one agrees or not."""

    name = "failover"
    lasts = 4.0

    @classmethod
    def why_not(cls, engine):
        return super().why_not(engine) or (
            None if hasattr(engine, "fail_over") else "has no replicas")

    def strike(self, cell):
        cell.engine.fail_over()


class RollingUpgrade(Nemesis):
    """Each master switches over to its replica and is restarted, one after the other, when the
    quarantine is over. New names may be refused for that long, and no longer."""

    name = "rolling upgrade"
    lasts = 0.0
    probes = True

    @classmethod
    def why_not(cls, engine):
        return super().why_not(engine) or (
            None if hasattr(engine, "switch_over") else "has no nodes that are upgraded in turn")

    def strike(self, cell):
        for master in cell.engine.masters():
            cell.engine.switch_over(master)
            cell.promotions.append(time.clock_gettime_ns(time.CLOCK_BOOTTIME))
            master.kill()
            master.start()
            time.sleep(3 * cell.engine.quarantine_ms / 1000)
            cell.engine.await_whole()


class Resharding(Nemesis):
    """The slot of the name moves to another master."""

    name = "resharding"

    @classmethod
    def why_not(cls, engine):
        return super().why_not(engine) or (
            None if hasattr(engine, "move_slot") else "has no slots")

    def strike(self, cell):
        cell.engine.move_slot()


class Network(Nemesis):
    """Half of the workers stand on another machine, and every packet between is dropped."""

    name = "network cut"
    needs = "island"
    arriving, leaving = "drop", "drop"

    def strike(self, cell):
        cell.ground.island.filter(self.arriving, self.leaving)

    def heal(self, cell):
        cell.ground.island.heal()


class DeafNetwork(Network):
    """What they send arrives; nothing comes back, not even that it arrived."""

    name = "network cut, one way"
    leaving = ""


class LossyNetwork(Network):
    """Three packets of ten are lost, both ways."""

    name = "packet loss, 30 %"
    arriving = leaving = "numgen random mod 100 < 30 drop"


class Partition(Network):
    """The same, and with them go the servers that a fault strikes: those of a minority."""

    name = "partition"
    lasts = 6.0
    parts_servers = True
    outside = {"sentinel, replicas=0": "a master that does not know that it was replaced goes on "
                                         "granting"}


class LeaderPartition(Partition):
    """The same, and the server that is cut off leads the others."""

    name = "partition, leader"

    @classmethod
    def why_not(cls, engine):
        return super().why_not(engine) or (
            None if hasattr(engine, "lead") else "its servers elect no leader")

    def strike(self, cell):
        cell.engine.lead()
        super().strike(cell)


class RollingRestart(Nemesis):
    """kill -9 of each server, one after the other, as soon as the one before is back."""

    name = "rolling restart"
    lasts = 0.0

    @classmethod
    def why_not(cls, engine):
        return super().why_not(engine) or (
            None if hasattr(engine, "restart_each") else "has no servers that stand in for others")

    def strike(self, cell):
        cell.engine.restart_each()


class SlowDisk(Nemesis):
    """Each write of a server to its disk takes 200 ms longer."""

    name = "slow disk"
    needs = "servers"
    lasts = 4.0

    @classmethod
    def why_not(cls, engine):
        if engine.name != "etcd":
            return "does not wait for its disk here, or has no other server"
        return super().why_not(engine) or (None if shutil.which("strace") else "there is no strace")

    def strike(self, cell):
        self._tracers = [subprocess.Popen(  # pylint: disable=consider-using-with
            ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync,fsync", "-e",
             "inject=fdatasync,fsync:delay_enter=200000", "-p", str(server.pid)],
            stderr=subprocess.DEVNULL, preexec_fn=die_with_us) for server in cell.victims()]

    def heal(self, cell):
        for tracer in self._tracers:
            tracer.terminate()
            tracer.wait()


class FullDisk(Nemesis):
    """Somebody fills the disk, and frees it again."""

    name = "disk full"
    needs = "disk"

    def strike(self, cell):
        with open(cell.ground.disk / "ballast", "wb", buffering=0) as file:
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(4096))

    def heal(self, cell):
        os.unlink(cell.ground.disk / "ballast")


NEMESES = [Nemesis, KillClients, StopClients, KillServer, RestartServer, StopServer, Cut, OneWay,
           Reset, Network, DeafNetwork, LossyNetwork, Partition, LeaderPartition, RollingRestart,
           SlowDisk, ClockStep, ScriptFlush, ClientKill,
           Eviction, FullDisk, Failover, RollingUpgrade, Resharding]
