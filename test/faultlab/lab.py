#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The fault lab: contenders on real servers under real faults, and what came of it.

  lab.py --worker PROGRAM --clock LIBRARY [--slice] [--engine WORD] [--nemesis WORD]
         [--repeat N] [--json FILE] [--report DIRECTORY]

Each cell of the matrix (an engine, a nemesis) starts its servers and four workers on one name, lets
them run, strikes, heals, and judges by the workers' own logs and by the referee's register. Ends
with 1 if a cell that is inside the promise shows a violation, or if the baseline shows none at all:
a lab that finds nothing anywhere proves nothing.
"""

import argparse
import contextlib
import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import report
from engines import ENGINES, RedisPy, die_with_us
from nemeses import NEMESES
from proxy import Proxies
from referee import Referee, read_log, verdict

HERE = Path(__file__).resolve().parent
TTL_MS, WORK_MS, WORKERS, NAME = 1000, 5, 4, "job"
DEBIANS_PYTHON = "/usr/bin/python3"  # whose python3-redis it is
SLICE = {("redis", "SIGSTOP, clients"), ("redis", "one-way cut"), ("redis", "kill -9, servers"),
         ("redlock of five", "SIGSTOP, servers"), ("redlock of five", "restart without data"),
         ("redis-py (baseline)", "SIGSTOP, clients")}


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Worker:
    """One contender, behind proxies of its own."""

    def __init__(self, cell, number):
        self.cell = cell
        self.ports = [cell.proxies.open(s.port) for s in cell.engine.servers if cell.engine.proxied]
        self.log = cell.directory / f"worker{number}"
        self.log.touch()
        self._process = None
        self.start()

    def start(self):
        tail = [NAME, str(TTL_MS), str(WORK_MS), str(self.cell.referee.port), str(self.log)]
        if isinstance(self.cell.engine, RedisPy):
            words = [DEBIANS_PYTHON, "-B", str(HERE / "baseline_worker.py"), str(self.ports[0])]
        else:
            words = [self.cell.program, self.cell.engine.url(self.ports)]
        with open(self.cell.directory / "complaints", "ab") as complaints:
            self._process = subprocess.Popen(  # pylint: disable=consider-using-with
                words + tail, stderr=complaints, preexec_fn=die_with_us)

    def signal(self, number):
        self._process.send_signal(number)

    def holds(self):
        """Its last word was that it was granted the name."""
        words = [w for w in self.log.read_text(encoding="utf-8").splitlines() if '"beat"' not in w]
        return bool(words) and '"grant"' in words[-1]

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

    def __init__(self, make_engine, make_nemesis, program, clock):
        self.program, self.nemesis = program, make_nemesis()
        self._scratch = tempfile.TemporaryDirectory(prefix="faultlab-")
        self.directory = Path(self._scratch.name)
        self.proxies, self.referee = Proxies(), Referee()
        self.engine = make_engine(clock)
        self.workers = [Worker(self, i) for i in range(WORKERS)]
        self._repeating = threading.Event()
        self._thread, self._victims = None, []

    def half(self):
        return self.workers[:WORKERS // 2]

    def victims(self):
        """The servers that are struck: the same from the strike to the healing."""
        if not self._victims:
            self._victims = self.engine.victims()
        return self._victims

    def repeat(self, act, every):
        def run():
            while not self._repeating.wait(every):
                act(self)

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    def run(self):
        self._await_grants()
        time.sleep(1.0)
        fault = now()
        self.nemesis.strike(self)
        time.sleep(self.nemesis.lasts)
        if self._thread:
            self._repeating.set()
            self._thread.join()
        self.nemesis.heal(self)
        healed = now()
        time.sleep(4.0)
        for worker in self.workers:
            worker.end()
        for worker in self.workers:
            worker.wait()
        seen = verdict([w.log for w in self.workers], self.referee, fault, healed)
        outside = self.nemesis.outside.get(self.engine.name)
        return {"engine": self.engine.name, "nemesis": self.nemesis.name, "outside": outside,
                **seen, "keys_left": self._keys_left()}

    def _await_grants(self):
        for _ in range(300):
            if any(read_log(w.log)[0] for w in self.workers):
                return
            time.sleep(0.1)
        said = (self.directory / "complaints").read_text(encoding="utf-8")[-2000:]
        raise RuntimeError(f"{self.engine.name}: no worker was ever granted anything: {said}")

    def _keys_left(self):
        for _ in range(60):
            left = self.engine.keys_left()
            if left == 0:
                return 0
            time.sleep(0.1)
        return left

    def close(self):
        for worker in self.workers:
            with contextlib.suppress(ProcessLookupError):
                worker.kill()
        self.proxies.close()
        self.referee.close()
        self.engine.close()
        self._scratch.cleanup()


def broken(row):
    """Is there a violation where none may be?"""
    if row["engine"] == RedisPy.name or row["outside"]:
        return False
    return row["exclusion_violations"] + row["fence_violations"] + row["lost_updates"] > 0


def chosen(options):
    for engine in ENGINES:
        for nemesis in NEMESES:
            if options.slice and (engine.name, nemesis.name) not in SLICE:
                continue
            if options.engine not in engine.name or options.nemesis not in nemesis.name:
                continue
            if why := nemesis.why_not(engine):
                print(f"{engine.name} | {nemesis.name}: not run, {why}")
                continue
            yield engine, nemesis


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worker", required=True)
    parser.add_argument("--clock", required=True)
    parser.add_argument("--slice", action="store_true")
    parser.add_argument("--engine", default="")
    parser.add_argument("--nemesis", default="")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--json")
    parser.add_argument("--report")
    options = parser.parse_args()
    rows = []
    for engine, nemesis in chosen(options):
        for _ in range(options.repeat):
            cell = Cell(engine, nemesis, options.worker, options.clock)
            try:
                rows.append(cell.run())
            finally:
                cell.close()
            print(report.line(rows[-1]), flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if options.report:
        report.write(rows, Path(options.report))
    failed = [row for row in rows if broken(row)]
    baseline = [row for row in rows if row["engine"] == RedisPy.name]
    blind = baseline and not any(r["exclusion_violations"] + r["lost_updates"] for r in baseline)
    for row in failed:
        print("inside the promise, and broken:", report.line(row))
    if blind:
        print("the baseline shows no violation: the lab is blind")
    return 1 if failed or blind else 0


if __name__ == "__main__":
    sys.exit(main())
