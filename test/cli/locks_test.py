#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""holdfast lock, limit and once, on each engine that many processes share.

  locks_test.py PROGRAM [LocksOnRedis.test_... | LocksOnSqlite.test_...]
"""

import json
import socket

import ground
from ground import (BUSY, FAILURE, LOST, SUCCESS, USAGE, Case, Redis, Sqlite, Terminal,
                    holdfast, wait_until)


class Locks:
    """The promises; the classes below say on what."""

    engine_type = None

    def setUp(self):
        self.engine = self.engine_type()
        self.addCleanup(self.engine.close)
        self.work = self.directory()

    def ask(self, *words, **changes):
        return holdfast(*words, HOLDFAST_ENGINE=self.engine.url, **changes)

    def hold(self, name, ttl="60s"):
        """A holdfast that holds the name, when it does."""
        ready = self.work / f"ready-{name.replace('/', '-')}"
        held = self.start("run", name, "--ttl", ttl, "--", "sh", "-c",
                          f"touch {ready}; exec sleep 1000", HOLDFAST_ENGINE=self.engine.url)
        wait_until(ready.exists, f"{name} is held")
        return held

    def join_queue(self, name):
        waits = self.start("run", name, "--wait", "forever", "--", "true",
                           HOLDFAST_ENGINE=self.engine.url)
        wait_until(lambda: self.listed(name)[0]["waiters"] == 1, f"one waits for {name}")
        return waits

    def listed(self, prefix=""):
        done = self.ask("lock", "ls", prefix, "--format", "json")
        self.assertEqual((done.returncode, done.stderr), (SUCCESS, ""))
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_ls_lists_what_is_held_and_by_whom(self):
        self.expect(self.ask("lock", "ls"), SUCCESS, "", "nothing is held\n")
        held = self.hold("orders/42")
        self.hold("orders/7")
        self.hold("mails")
        self.assertEqual([one["name"] for one in self.listed()], ["mails", "orders/42", "orders/7"])
        first = self.listed("orders/")[0]
        (holder,) = first["holders"]
        self.assertEqual((first["name"], first["mode"], first["waiters"]),
                         ("orders/42", "exclusive", 0))
        self.assertEqual((holder["host"], holder["pid"], holder["program"]),
                         (socket.gethostname(), held.pid, "sh"))
        self.assertLess(0, first["remaining_ms"])
        self.assertLessEqual(first["remaining_ms"], 60000)
        table = self.ask("lock", "ls", "orders/")
        self.assertEqual((table.returncode, table.stderr), (SUCCESS, ""))
        head, *rows = table.stdout.splitlines()
        self.assertEqual(head.split(), ["NAME", "MODE", "HOLDER", "LEFT", "WAITING", "FENCE"])
        self.assertEqual(len(rows), 2)
        self.assertIn(f"sh on {socket.gethostname()} ({held.pid})", rows[0])

    def test_show_tells_of_holder_and_line(self):
        self.expect(self.ask("lock", "show", "a"), SUCCESS, "a: free\n")
        held = self.hold("a")
        waits = self.join_queue("a")
        done = self.ask("lock", "show", "a")
        self.assertEqual((done.returncode, done.stderr), (SUCCESS, ""))
        first, holder, waiter = done.stdout.splitlines()
        self.assertEqual(first, "a: held, exclusive, 1 waiting")
        self.assertRegex(holder, rf"^  held by   sh on \S+ \({held.pid}\).* s left")
        self.assertRegex(waiter, rf"^   1\. waits  true on \S+ \({waits.pid}\)")
        seen = json.loads(self.ask("lock", "show", "a", "--format", "json").stdout)
        self.assertEqual([one["pid"] for one in seen["queue"]], [waits.pid])
        free = json.loads(self.ask("lock", "show", "b", "--format", "json").stdout)
        self.assertEqual(free, {"name": "b", "waiters": 0, "holders": []})

    def test_a_name_that_begins_with_a_dash_stands_after_two_of_them(self):
        done = self.ask("run", "--ttl", "5s", "--", "-x", "--", "printenv", "HOLDFAST_LOCK")
        self.expect(done, SUCCESS, "-x\n")
        self.expect(self.ask("lock", "show", "--", "-x"), SUCCESS, "-x: free\n")
        self.expect(self.ask("lock", "wait", "--timeout", "1s", "--", "--help"), SUCCESS)
        self.expect(self.ask("once", "--", "-k"), SUCCESS)
        self.expect(self.ask("once", "--", "-k"), BUSY)
        self.expect_misuse(self.ask("lock", "show", "-x"),
                           "if that is a name: holdfast lock show -- -x")
        self.expect_misuse(self.ask("run", "-x", "--", "true"),
                           "if that is a name: holdfast run -- -x -- COMMAND …")
        self.expect_misuse(self.ask("lock", "show", "--", "-x", "--format", "json"),
                           "options go before --")
        self.expect(self.ask("run", "--", "a", "--", "echo", "-x"), SUCCESS, "-x\n")
        self.expect_misuse(self.ask("run", "--", "grep", "-x"), "NAME is required")
        self.expect(self.ask("run", "a", "--", "echo", "-x", "--", "y"), SUCCESS, "-x -- y\n")

    def test_watch_says_each_change(self):
        watch = self.start("lock", "watch", "a", "--every", "20ms", "--format", "json",
                           HOLDFAST_ENGINE=self.engine.url)
        held = self.hold("a")
        seen = [json.loads(watch.stdout.readline())]  # it looks from now on, however slow it began
        waits = self.join_queue("a")
        seen.append(json.loads(watch.stdout.readline()))
        self.assertIn(seen[0]["change"], ("acquired", "held"))
        self.assertEqual(seen[1]["change"], "waiting")
        self.assertEqual(seen[0]["lease"]["holders"][0]["pid"], held.pid)
        held.terminate()
        waits.wait(30)
        rest = []
        while not rest or rest[-1]["change"] != "free":
            rest.append(json.loads(watch.stdout.readline()))
        self.assertEqual(rest[-1]["lease"], {"name": "a", "waiters": 0, "holders": []})

    def watch(self, *words):
        """What it has told at first, and how to hear the next."""
        child = self.start("lock", "watch", "--every", "20ms", "--format", "json", *words,
                           HOLDFAST_ENGINE=self.engine.url)
        return lambda: json.loads(child.stdout.readline())

    def test_watch_tells_what_was_held_before_and_who_broke_it_with_which_words(self):
        held = self.hold("a")
        hear = self.watch()
        self.assertEqual(hear()["change"], "held")
        self.ask("lock", "evict", "a", "--reason", "web3 \u202egone", "-y")
        told, after = hear(), hear()
        self.assertEqual((told["change"], told["reason"]), ("evicted", "web3 \u202egone"))
        self.assertEqual(told["lease"]["holders"][0]["pid"], held.pid)
        self.assertEqual((after["change"], after["lease"]["holders"]), ("free", []))
        again = self.hold("a")
        self.assertEqual(hear()["change"], "acquired")
        again.terminate()
        self.assertEqual(hear()["change"], "free", "nobody broke that one")

    def test_watch_says_in_words_that_a_holder_was_evicted(self):
        self.hold("a")
        watch = self.start("lock", "watch", "--every", "20ms", HOLDFAST_ENGINE=self.engine.url)
        self.assertIn("  held        a  sh on ", watch.stdout.readline())
        self.ask("lock", "evict", "a", "--reason", "why \u202enot", "-y")
        self.assertRegex(watch.stdout.readline(),
                         r"  evicted     a  evicted sh on .*\): why \\u202enot\n")
        self.assertRegex(watch.stdout.readline(), r"  free        a\n")

    def test_permits_are_numbers_in_json_and_one_who_leaves_is_told(self):
        def hold_one(number):
            ready = self.work / f"ready-{number}"
            child = self.start("run", "pool", "--semaphore", "3", "--", "sh", "-c",
                               f"touch {ready}; exec sleep 1000",
                               HOLDFAST_ENGINE=self.engine.url)
            wait_until(ready.exists, "it has a permit")
            return child
        first = hold_one(1)
        hear = self.watch()
        self.assertEqual(hear()["change"], "held")
        hold_one(2)
        seen = hear()
        self.assertEqual((seen["change"], seen["lease"]["mode"], seen["lease"]["permits"],
                          seen["lease"]["of"]), ("acquired", "permits", 2, 3))
        self.assertEqual([one["permits"] for one in seen["lease"]["holders"]], [1, 1])
        shown = json.loads(self.ask("lock", "show", "pool", "--format", "json").stdout)
        self.assertEqual((shown["mode"], shown["permits"], shown["of"]), ("permits", 2, 3))
        self.assertEqual([(one["mode"], one["permits"], one["of"]) for one in self.listed()],
                         [("permits", 2, 3)])
        first.terminate()
        seen = hear()
        self.assertEqual((seen["change"], seen["lease"]["permits"]), ("left", 1))

    def test_watch_ends_by_itself_after_for(self):
        self.hold("a")
        done = self.ask("lock", "watch", "--for", "50ms", "--every", "10ms")
        self.assertEqual((done.returncode, done.stderr), (SUCCESS, ""))
        self.assertRegex(done.stdout, r"\A\d\d:\d\d:\d\d  held        a  sh on .* left.*\n\Z")

    def test_wait_ends_when_the_name_is_free_or_the_time_is_over(self):
        self.expect(self.ask("lock", "wait", "a"), SUCCESS)
        held = self.hold("a")
        self.expect(self.ask("lock", "wait", "a", "--timeout", "50ms"), BUSY, "",
                    "holdfast: 'a' is still held\n")
        waits = self.start("lock", "wait", "a", HOLDFAST_ENGINE=self.engine.url)
        held.terminate()
        self.assertEqual(waits.wait(30), SUCCESS)

    def test_break_asks_and_a_no_changes_nothing(self):
        self.hold("a")
        self.expect(self.ask("lock", "evict", "a", "--reason", "x"), USAGE, "",
                    "holdfast: there is no terminal to ask: use --yes\n")
        term = Terminal("lock", "evict", "a", "--reason", "x", HOLDFAST_ENGINE=self.engine.url)
        term.read_until(lambda text: "[y/N]" in text, "it asks")
        self.assertRegex(term.text, r"'a' is held by sh on \S+ \(\d+\)")
        term.type("n\n")
        self.assertEqual(term.end(), FAILURE)
        self.assertEqual(len(self.listed("a")), 1)
        term = Terminal("lock", "evict", "a", "--reason", "x", HOLDFAST_ENGINE=self.engine.url)
        term.read_until(lambda text: "[y/N]" in text, "it asks")
        term.type("y\n")
        self.assertEqual(term.end(), SUCCESS)
        self.assertIn("a: evicted 1 holder", term.text)
        self.assertEqual(self.listed("a"), [])

    def test_break_hands_the_name_to_the_next_in_line(self):
        self.hold("a")
        waits = self.join_queue("a")
        self.expect(self.ask("lock", "evict", "a", "--reason", "x", "-y"), SUCCESS,
                    "a: evicted 1 holder\n")
        self.assertEqual(waits.wait(30), SUCCESS)
        self.expect(self.ask("lock", "evict", "a", "--reason", "x", "-y"), SUCCESS, "a: free\n")

    def test_a_command_that_ends_before_it_hears_of_a_break_still_learns_why(self):
        done = self.ask("run", "a", "--", ground.PROGRAM, "lock", "evict", "a", "--reason", "tea",
                        "-y")
        self.assertEqual(done.returncode, LOST, done.stderr)
        self.assertIn("tea", done.stderr)

    def test_limit_takes_until_the_rate_is_used_up_and_peek_takes_nothing(self):
        rate = ("--rate", "2/hour")
        for _ in range(2):
            self.expect(self.ask("limit", "peek", "k", *rate), SUCCESS, "allowed, 2 of 2 left\n")
        self.expect(self.ask("limit", "take", "k", *rate), SUCCESS, "allowed, 1 of 2 left\n")
        self.expect(self.ask("limit", "take", "k", *rate), SUCCESS, "allowed, 0 of 2 left\n")
        late = self.ask("limit", "take", "k", *rate)
        self.assertEqual((late.returncode, late.stderr), (BUSY, ""))
        self.assertRegex(late.stdout, r"\Arefused, again in (1 h|\d+ min).*\n\Z")
        seen = json.loads(self.ask("limit", "take", "k", *rate, "--format", "json").stdout)
        self.assertEqual((seen["key"], seen["allowed"], seen["limit"], seen["remaining"]),
                         ("k", False, 2, 0))
        self.assertGreater(seen["retry_after_ms"], 0)
        self.assertLessEqual(seen["retry_after_ms"], 3_600_000, "later than it must be")

    def test_limit_with_a_burst_takes_several_at_once(self):
        burst = ("--rate", "1/hour", "--burst", "5")
        self.expect(self.ask("limit", "take", "k", *burst, "-n", "4"), SUCCESS,
                    "allowed, 1 of 5 left\n")
        self.assertEqual(self.ask("limit", "take", "k", *burst, "-n", "2").returncode, BUSY)
        self.expect(self.ask("limit", "take", "k", *burst, "-n", "6"), USAGE,
                    "refused: never more than 5 at once\n")
        program = json.loads(self.ask("limit", "take", "k", *burst, "-n", "6", "--format",
                                      "json").stdout)
        # Nobody was asked, so what is left, and until when, is not known.
        self.assertEqual(program, {"key": "k", "allowed": False, "limit": 5, "never": True})

    def test_once_is_first_once_and_tells_the_others_what_was_recorded(self):
        self.expect(self.ask("once", "k", "--window", "1h", "--record", "by ana"), SUCCESS)
        self.expect(self.ask("once", "k", "--window", "1h"), BUSY, "by ana\n")
        self.expect(self.ask("once", "other"), SUCCESS)
        self.expect(self.ask("once", "other"), BUSY)

    def test_what_was_recorded_does_not_command_a_terminal(self):
        record = "by \x1b[31mana\x07\nand bo"
        self.expect(self.ask("once", "k", "--record", record), SUCCESS)
        self.expect(self.ask("once", "k"), BUSY, record + "\n")  # a script gets it to the letter
        term = Terminal("once", "k", HOLDFAST_ENGINE=self.engine.url)
        self.assertEqual(term.end(), BUSY)
        self.assertEqual(term.text, "by \\x1b[31mana\\x07\r\nand bo\r\n")

    def test_names_do_not_command_a_terminal(self):
        self.hold("a\u009bb")
        self.assertIn("a\\u009bb  exclusive", self.ask("lock", "ls").stdout)
        self.assertIn("a\\u009bb: held", self.ask("lock", "show", "a\u009bb").stdout)
        self.assertIn("'a\\u009bb' is still held",
                      self.ask("lock", "wait", "a\u009bb", "--timeout", "0").stderr)
        self.assertIn("\na\\u009bb ", self.ask("top").stdout)
        self.assertEqual([one["name"] for one in self.listed()], ["a\u009bb"])

    def test_once_shares_its_marks_with_run(self):
        self.expect(self.ask("once", "k"), SUCCESS)
        self.assertEqual(self.ask("run", "k", "--once", "1h", "--", "true").returncode, BUSY)


class LocksOnRedis(Locks, Case):
    engine_type = Redis


class LocksOnSqlite(Locks, Case):
    engine_type = Sqlite


if __name__ == "__main__":
    ground.main()
