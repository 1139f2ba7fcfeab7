#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""holdfast cache, session, board and channel.

  family_test.py PROGRAM [FamilyOnRedis.test_...]
"""

import json

import ground
from ground import BUSY, FAILURE, SUCCESS, USAGE, Case, Redis, holdfast, wait_until


class FamilyOnRedis(Case):
    def setUp(self):
        self.engine = Redis()
        self.addCleanup(self.engine.close)

    def ask(self, *words):
        return holdfast(*words, HOLDFAST_ENGINE=self.engine.url)

    def json_of(self, *words):
        done = self.ask(*words, "--format", "json")
        self.assertEqual((done.returncode, done.stderr), (SUCCESS, ""))
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_board_adds_ranks_lists_and_repairs(self):
        for words in ((), ("--split-at", "100")):
            with self.subTest(words):
                name = "game" + "".join(words)
                self.expect(self.ask("board", "top", name, *words), SUCCESS, "", "nobody\n")
                self.expect(self.ask("board", "add", name, "ann", "30", *words), SUCCESS, "30\n")
                self.expect(self.ask("board", "add", name, "bob", "20.5", *words), SUCCESS,
                            "20.5\n")
                self.expect(self.ask("board", "increase", name, "bob", "10", *words), SUCCESS,
                            "30.5\n")
                self.expect(self.ask("board", "increase", *words, "--", name, "ann", "-5"),
                            SUCCESS, "25\n")
                self.expect(self.ask("board", "add", name, "ann", "7", "--keep", "best", *words),
                            SUCCESS, "25\n")
                self.expect(self.ask("board", "rank", name, "ann", *words), SUCCESS,
                            "2 of 2, score 25\n")
                self.expect(self.ask("board", "rank", name, "cid", *words), FAILURE, "",
                            "'cid' has no score\n")
                self.expect(self.ask("board", "top", name, *words), SUCCESS,
                            "RANK  SCORE  MEMBER\n1     30.5   bob\n2     25     ann\n")
                (first, _) = self.json_of("board", "around", name, "ann", "-n", "1", *words)
                self.assertEqual(first, {"member": "bob", "score": 30.5, "ordinal": 1,
                                         "competition": 1})
                (rank,) = self.json_of("board", "rank", name, "bob", *words)
                self.assertEqual((rank["players"], rank["percentile"]), (2, 100))
                self.json_of("board", "tend", name, *words)
                (found,) = self.json_of("board", "repair", name, *words)
                self.assertEqual((found["missing"], found["stray"]), (0, 0))
                self.expect(self.ask("board", "rm", name, "bob", *words), SUCCESS)
                self.expect(self.ask("board", "rm", name, "bob", *words), FAILURE)
        self.expect_one_sentence(self.ask("board", "top", "x", "--season", "a/b"), USAGE, "season")
        for score in ("x", "1x", "inf", ""):
            self.expect_misuse(self.ask("board", "add", "x", "ann", score),
                               f"SCORE: '{score}' is no number; say 12 or -3.5")

    def test_channel_publishes_and_listens(self):
        (sent,) = self.json_of("channel", "publish", "orders", "one", "--reliable")
        self.assertEqual(sent["receivers"], 0)
        self.expect(self.ask("channel", "listen", "orders", "--reliable", "--after", "0", "-n",
                             "1"), SUCCESS, "one\n")
        self.expect(self.ask("channel", "publish", "orders", "two"), SUCCESS)
        self.expect(self.ask("channel", "listen", "orders", "--reliable", "--after",
                             sent["offset"], "--wait", "10ms"), BUSY)
        listens = self.start("channel", "listen", "news", "-n", "1",
                             HOLDFAST_ENGINE=self.engine.url)
        wait_until(lambda: "channel:news" in
                   self.engine.cli("PUBSUB", "CHANNELS").stdout, "it listens")
        self.expect(self.ask("channel", "publish", "news", "rain"), SUCCESS)
        self.assertEqual(listens.wait(timeout=60), SUCCESS)

    def test_cache_and_session_look_at_what_is_not_there(self):
        self.expect(self.ask("cache", "peek", "42"), FAILURE, "", "nothing is cached\n")
        self.expect(self.ask("cache", "invalidate", "42"), SUCCESS, "", "nothing was cached\n")
        done = self.ask("cache", "peek", "42", "--format", "json")
        self.assertEqual(json.loads(done.stdout), {"key": "42", "cached": False})
        self.expect(self.ask("session", "ls", "alice"), SUCCESS, "", "no sessions\n")
        self.expect(self.ask("session", "end", "alice"), SUCCESS, "ended 0\n")


if __name__ == "__main__":
    ground.main()
