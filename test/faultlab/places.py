# SPDX-License-Identifier: Apache-2.0
"""Where a cell stands: a machine of its own, as far as namespaces make one.

A cell runs in a network and a mount namespace that nobody else is in. A fault of the network needs
a second machine; that is the island, another network namespace, joined to the first by two wires:
one that faults strike, and one that they leave alone, by which the lab gives its orders and workers
reach the resource that they write to.
"""

import functools
import os
import shutil
import signal
import ctypes
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

INSIDE = "FAULTLAB_NAMESPACE"  # set for a cell that has been given one


def die_with_us():
    """Run by a child: if the lab is killed, the kernel kills the child too."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


@functools.cache
def isolation():
    """The words that start a command in namespaces of its own; none if this machine forbids it."""
    if shutil.which("ip") and shutil.which("nft"):
        for words in (["unshare", "--net", "--mount"],
                      ["unshare", "--user", "--map-root-user", "--net", "--mount"]):
            if subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0:
                return words
    return []


def run(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")


@dataclass
class Place:
    """A machine: how to start something there, and where others find it."""

    enter: tuple = ()          # words before a command
    host: str = "127.0.0.1"    # for workers and for other servers
    orders: str = "127.0.0.1"  # for the lab, whatever happens to the network
    referee: str = "127.0.0.1"

    def listens(self):
        return tuple(dict.fromkeys((self.orders, self.host)))


class Island:
    """The second machine, and what befalls the wire to it."""

    MAIN = Place(host="10.77.0.1")

    def __init__(self):
        ours = os.readlink("/proc/self/ns/net")
        self._keeper = subprocess.Popen(  # pylint: disable=consider-using-with
            ["unshare", "--net", "sleep", "infinity"], preexec_fn=die_with_us)
        pid = str(self._keeper.pid)
        for _ in range(500):
            if os.readlink(f"/proc/{pid}/ns/net") != ours:
                break
            time.sleep(0.01)
        self.place = Place(("nsenter", "--target", pid, "--net"), "10.77.0.2", "10.78.0.2",
                           "10.78.0.1")
        for wire, net in (("struck", "10.77.0"), ("spared", "10.78.0")):
            run("ip", "link", "add", wire, "type", "veth", "peer", "name", wire, "netns", pid)
            run("ip", "address", "add", f"{net}.1/24", "dev", wire)
            run("ip", "link", "set", wire, "up")
            self._there("ip", "address", "add", f"{net}.2/24", "dev", wire)
            self._there("ip", "link", "set", wire, "up")
        self._there("ip", "link", "set", "lo", "up")

    def _there(self, *words, **more):
        run(*self.place.enter, *words, **more)

    def filter(self, arriving, leaving):
        """What is done to packets on the struck wire: nft statements; none leaves them alone."""
        def chain(hook, way, rule):
            body = f'{way} "struck" {rule};' if rule else ""
            return f"  chain {hook} {{ type filter hook {hook} priority 0; {body} }}\n"

        self.heal()
        table = chain("input", "iifname", arriving) + chain("output", "oifname", leaving)
        self._there("nft", "-f", "-", input=f"table inet faults {{\n{table}}}\n")

    def heal(self):
        self._there("nft", "-f", "-", input="table inet faults\ndelete table inet faults\n")

    def close(self):
        self._keeper.kill()
        self._keeper.wait()


@dataclass
class Ground:
    """All that an engine and its workers are set up on."""

    clock: str                     # the library that servers' clocks are stepped with
    main: Place
    island: Island = None
    parted: bool = False           # the servers that a fault strikes stand on the island
    disk: Path = None              # a small one, where it matters

    DISK_BYTES = 16 << 20

    def struck(self):
        """Where half of the workers stand."""
        return self.island.place if self.island else self.main

    @classmethod
    def prepare(cls, clock, nemesis, directory):
        if not os.environ.get(INSIDE):
            return cls(clock, Place())
        run("ip", "link", "set", "lo", "up")
        if nemesis.needs == "disk":
            disk = directory / "disk"
            disk.mkdir()
            run("mount", "-t", "tmpfs", "-o", f"size={cls.DISK_BYTES}", "tmpfs", str(disk))
            return cls(clock, Place(), disk=disk)
        if nemesis.needs == "island":
            return cls(clock, Island.MAIN, Island(), nemesis.parts_servers)
        return cls(clock, Place())

    def close(self):
        if self.island:
            self.island.close()
        if self.disk:
            run("umount", "--lazy", str(self.disk))
