#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The fault lab: contenders on real servers under real faults, and what came of it.

  lab.py --worker PROGRAM --history PROGRAM --clock LIBRARY [--slice] [--engine WORD]
         [--nemesis WORD] [--seconds N] [--jobs N] [--json FILE] [--report DIRECTORY]

Each cell of the matrix (an engine, a nemesis) starts its servers and four contenders for one name,
lets them run, strikes and heals again and again for so many seconds, at least once, and judges by
the contenders' own logs, by whether their calls can be put in an order that a lock would allow
(linearizability), and by the referee's register. A cell is a process of its own, in
namespaces of its own where the machine allows that. Ends with 1 if a cell that is inside the
promise shows a violation, or no grant for too long after a healing; or if the baseline shows no
violation at all: a lab that finds nothing anywhere proves nothing.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import report
from engines import ENGINES, RedisPy
from servers import wait_until
from nemeses import NEMESES
from places import INSIDE, Ground, die_with_us, isolation
from proxy import Proxies
from referee import Referee, last_grant, probed, verdict

HERE = Path(__file__).resolve().parent
TTL_MS, WORK_MS, WORKERS, NAME = 1000, 5, 4, "job"
PROBES = "new/*"  # names that nobody has used
SLACK_MS = 2000
DEBIANS_PYTHON = "/usr/bin/python3"  # whose python3-redis it is
SLICE = {("memory", "SIGSTOP, clients"), ("sqlite", "SIGSTOP, clients"),
         ("redis", "SIGSTOP, clients"), ("redis", "one-way cut"), ("redis", "kill -9, servers"),
         ("sentinel", "partition"), ("cluster", "network cut"),
         ("etcd", "kill -9, servers"), ("etcd", "partition, leader"),
         ("redlock of five", "SIGSTOP, servers"), ("redlock of five", "restart without data"),
         ("redis-py (baseline)", "SIGSTOP, clients")}


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Worker:
    """A process of one contender, or of several, behind proxies of its own."""

    def __init__(self, cell, place, logs, name=NAME):
        self.cell, self._place, self.logs, self._name = cell, place, logs, name
        engine = cell.engine
        if engine.proxied and not cell.ground.island:
            self.ports = [cell.proxies.open(server.port) for server in engine.servers]
            self._addresses = [f"127.0.0.1:{port}" for port in self.ports]
        else:
            self.ports, self._addresses = [], [server.address for server in engine.servers]
        for log in logs:
            log.touch()
        self._process = None
        self.start()

    def start(self):
        tail = [self._name, str(TTL_MS), str(WORK_MS), self._place.referee,
                str(self.cell.referee.port), *map(str, self.logs)]
        if isinstance(self.cell.engine, RedisPy):
            words = [DEBIANS_PYTHON, "-B", str(HERE / "baseline_worker.py"), self._addresses[0]]
        else:
            words = [self.cell.program, self.cell.engine.url(self._addresses)]
        with open(self.cell.directory / "complaints", "ab") as complaints:
            self._process = subprocess.Popen(  # pylint: disable=consider-using-with
                [*self._place.enter, *self.cell.engine.around([*words, *tail])],
                stderr=complaints, preexec_fn=die_with_us)

    def signal(self, number):
        self._process.send_signal(number)

    def holds(self):
        """The last word of one of its contenders was that it was granted the name."""
        return any(last_grant(log)[1] for log in self.logs)

    def kill(self):
        self._process.kill()
        self._process.wait()

    def end(self):
        self._process.send_signal(signal.SIGCONT)
        self._process.terminate()

    def wait(self):
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
            return
        self.kill()


class Cell:
    """One engine under one nemesis."""

    def __init__(self, make_engine, make_nemesis, options):
        self.program, self.nemesis = options.worker, make_nemesis()
        self._seconds, self._history = options.seconds, options.history
        self._scratch = tempfile.TemporaryDirectory(prefix="faultlab-")
        self.directory = Path(self._scratch.name)
        self.ground = Ground.prepare(options.clock, make_nemesis, self.directory)
        self.proxies = Proxies()
        self.referee = Referee("0.0.0.0" if self.ground.island else "127.0.0.1")
        self.engine = make_engine(self.ground)
        logs = [self.directory / f"contender{i}" for i in range(WORKERS)]
        if self.engine.one_process:
            self.workers = [Worker(self, self.ground.main, logs)]
        else:
            struck = WORKERS // 2
            self.workers = [Worker(self, self.ground.struck() if i < struck else self.ground.main,
                                   [log]) for i, log in enumerate(logs)]
        self.probers, self.promotions = [], []
        if self.nemesis.probes:
            self.probers = [Worker(self, self.ground.main, [self.directory / "probe"], PROBES)]
        self._repeating = threading.Event()
        self._thread, self._victims = None, []

    def half(self):
        """The workers that a fault strikes."""
        return self.workers[:max(1, len(self.workers) // 2)]

    def victims(self):
        """The servers that are struck: the same from the strike to the healing."""
        if not self._victims:
            self._victims = self.engine.victims()
        return self._victims

    def repeat(self, act, every):
        def run():
            while not self._repeating.wait(every):
                act(self)

        self._repeating.clear()
        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    def _round(self):
        """Answers when it struck and when it had healed."""
        self._victims = []
        fault = now()
        self.nemesis.strike(self)
        time.sleep(self.nemesis.lasts)
        if self._thread:
            self._repeating.set()
            self._thread.join()
        self.nemesis.heal(self)
        healed = now()
        with contextlib.suppress(RuntimeError):  # none: it will be seen in the verdict
            self._await_grant(healed, 15)
        return fault, healed

    def run(self):
        self._await_grant(0, 30)
        end, faults = time.monotonic() + self._seconds, []
        while not faults or time.monotonic() < end:
            wait_until("the engine to be whole", self.engine.settled, 90)
            time.sleep(1.0)
            faults.append(self._round())
        time.sleep(2.0)
        everybody = [*self.workers, *self.probers]
        for worker in everybody:
            worker.end()
        for worker in everybody:
            worker.wait()
        logs = [log for worker in self.workers for log in worker.logs]
        seen = verdict(logs, self.referee, faults, TTL_MS) | self._linearized(logs)
        for prober in self.probers:
            seen |= probed(prober.logs[0], self.promotions)
        outside = self.nemesis.outside.get(self.engine.name)
        return {"engine": self.engine.name, "nemesis": self.nemesis.name, "outside": outside,
                "strikes": len(faults), **seen, "keys_left": self._keys_left(),
                "may_take_ms": max(TTL_MS, self.engine.quarantine_ms) + SLACK_MS}

    def _linearized(self, logs):
        if isinstance(self.engine, RedisPy):  # its workers write less down
            return {"linearizable": True, "checked": 0}
        done = subprocess.run([self._history, *map(str, logs)], capture_output=True, text=True,
                              check=False, timeout=120)
        return json.loads(done.stdout)

    def _await_grant(self, after, seconds):
        def granted():
            return any(last_grant(log)[0] > after for worker in self.workers for log in worker.logs)

        try:
            wait_until("a grant", granted, seconds)
        except RuntimeError as problem:
            said = (self.directory / "complaints").read_text(encoding="utf-8")[-2000:]
            raise RuntimeError(f"{self.engine.name}: {problem}: {said}") from None

    def _keys_left(self):
        for _ in range(60):
            left = self.engine.keys_left()
            if not left:
                return left
            time.sleep(0.1)
        return left

    def close(self):
        for worker in [*self.workers, *self.probers]:
            with contextlib.suppress(ProcessLookupError):
                worker.kill()
        self.proxies.close()
        self.referee.close()
        self.engine.close()
        self.ground.close()
        self._scratch.cleanup()


def violated(row):
    found = row["exclusion_violations"] + row["fence_violations"] + row["lost_updates"]
    return found > 0 or not row["linearizable"]


def slow(row):
    """The name, or new names, were refused for longer than a dead holder or a quarantine
    explains."""
    first = row["first_grant_after_healing_ms"]
    return first is None or max(first, row.get("refused_for_ms", 0)) > row["may_take_ms"]


def broken(row):
    """Is there a violation where none may be, or was nobody served in time?"""
    if row["engine"] == RedisPy.name or row["outside"]:
        return False
    return violated(row) or slow(row)


def chosen(options):
    for engine in ENGINES:
        for nemesis in NEMESES:
            if options.slice and (engine.name, nemesis.name) not in SLICE:
                continue
            if options.engine not in engine.name or options.nemesis not in nemesis.name:
                continue
            if why := nemesis.why_not(engine):
                print(f"{engine.name} | {nemesis.name}: not run, {why}", flush=True)
                continue
            yield engine, nemesis


def run_here(engine, nemesis, options):
    """The one cell of this process; its row is all that is printed."""
    cell = Cell(engine, nemesis, options)
    try:
        print(json.dumps(cell.run()))
    finally:
        cell.close()


def run_apart(engine, nemesis, options):
    """A cell in a process of its own."""
    words = [*isolation(), sys.executable, "-B", __file__, "--worker", options.worker, "--clock",
             options.clock, "--history", options.history, "--seconds", str(options.seconds),
             "--cell", engine.name, nemesis.name]
    environment = {**os.environ, INSIDE: "1"} if isolation() else None
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False,
                          preexec_fn=die_with_us)
    if done.returncode != 0:
        print(f"{engine.name} | {nemesis.name}: the lab itself failed:\n{done.stderr}", flush=True)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def run_all(options):
    cells = list(chosen(options))
    rows = [None] * len(cells)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        at = {pool.submit(run_apart, *cell, options): i for i, cell in enumerate(cells)}
        for count, done in enumerate(concurrent.futures.as_completed(at), 1):
            rows[at[done]] = row = done.result()
            if row:
                print(f"{count} of {len(cells)}: {report.line(row)}", flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worker", required=True)
    parser.add_argument("--clock", required=True)
    parser.add_argument("--history", required=True)
    parser.add_argument("--slice", action="store_true")
    parser.add_argument("--engine", default="")
    parser.add_argument("--nemesis", default="")
    parser.add_argument("--seconds", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cell", nargs=2)
    parser.add_argument("--json")
    parser.add_argument("--report")
    options = parser.parse_args()
    if options.cell:
        engine, nemesis = (next(one for one in all_of if one.name == name)
                           for all_of, name in zip((ENGINES, NEMESES), options.cell))
        run_here(engine, nemesis, options)
        return 0
    every = run_all(options)
    rows = [row for row in every if row]
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if options.report:
        report.write(rows, Path(options.report))
    failed = [row for row in rows if broken(row)]
    baseline = [row for row in rows if row["engine"] == RedisPy.name]
    blind = baseline and not any(map(violated, baseline))
    for row in failed:
        print("inside the promise, and broken:", report.line(row))
    if blind:
        print("the baseline shows no violation: the lab is blind")
    return 1 if failed or blind or len(rows) < len(every) else 0


if __name__ == "__main__":
    sys.exit(main())
