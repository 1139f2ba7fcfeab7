#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The check of histories finds what it is there for: history_test.py PROGRAM."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = ""
MS = 1_000_000


def ask(t):
    return {"e": "ask", "t": t * MS}


def grant(t, fence):
    return {"e": "grant", "t": t * MS, "fence": fence}


def end(t, lost="none", release="ok"):
    return {"e": "end", "t": t * MS, "releasing": (t - 1) * MS, "fence": 0, "believed": 0,
            "done": True, "lost": lost, "release": release}


def refused(t, code):
    return {"e": "refused", "t": t * MS, "code": code}


class Histories(unittest.TestCase):
    """Each contender's events, and whether there is an order of them."""

    def check_logs(self, *contenders):
        with tempfile.TemporaryDirectory() as directory:
            logs = [Path(directory) / str(i) for i in range(len(contenders))]
            for log, events in zip(logs, contenders):
                lines = [json.dumps(event, separators=(",", ":")) for event in events]
                log.write_text("\n".join(lines) + "\n", encoding="ascii")
            done = subprocess.run([PROGRAM, *map(str, logs)], capture_output=True, text=True,
                                  check=False)
            found = json.loads(done.stdout)
            self.assertEqual(done.returncode, 0 if found["linearizable"] else 1)
            return found["linearizable"]

    def test_one_after_the_other(self):
        self.assertTrue(self.check_logs([ask(0), grant(1, 5), end(10)],
                                        [ask(2), grant(11, 6), end(20)]))

    def test_two_at_once(self):
        self.assertFalse(self.check_logs([ask(0), grant(1, 5), end(10)],
                                         [ask(2), grant(3, 6), end(20)]))

    def test_a_fence_that_goes_back(self):
        self.assertFalse(self.check_logs([ask(0), grant(1, 5), end(10)],
                                         [ask(11), grant(12, 4), end(20)]))

    def test_a_lease_that_was_lost_has_ended_at_some_time(self):
        self.assertTrue(self.check_logs([ask(0), grant(1, 5), end(30, "expired", "lease_lost")],
                                        [ask(2), grant(3, 6), end(20)]))

    def test_a_contender_that_was_killed_holds_nothing_for_ever(self):
        self.assertTrue(self.check_logs([ask(0), grant(1, 5)], [ask(2), grant(900, 6), end(910)]))

    def test_a_call_without_an_answer_may_have_held_the_name(self):
        self.assertTrue(self.check_logs([ask(0), refused(9, "outcome_unknown"), ask(10)],
                                        [ask(2), grant(3, 6), end(20)]))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
