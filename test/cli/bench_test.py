#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the measurements print.

Speed is nobody's promise here: they run as short as they can, and only the form of what they
print is checked.
"""

import json
import re
import signal
import time
from pathlib import Path

import ground
from ground import (SUCCESS, UNKNOWN, USAGE, Case, Redis, Terminal, holdfast, is_alive,
                    wait_until)

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "command_line.md"


def fields_in_the_guide():
    """Every name in the first column of its table."""
    table = GUIDE.read_text(encoding="utf-8").split("A figure in JSON has these fields.")[1]
    rows = re.findall(r"^\| (`.*?) \|", table.split("\n\n")[1], re.MULTILINE)
    return set(re.findall(r"\w+", " ".join(rows)))


def fields_of(value):
    """Every name in an object, and in those within it."""
    if not isinstance(value, dict):
        return set()
    return set(value).union(*map(fields_of, value.values()))


def children_of(pid):
    return [int(word) for word in
            Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


def lasting_keys(server):
    """Those that do not go by themselves within two minutes."""
    script = ("local found = {} for _, key in ipairs(redis.call('KEYS', 'bench:*')) do "
              "local left = redis.call('TTL', key) "
              "if left == -1 or left > 120 then found[#found + 1] = key end end return found")
    return server.cli("EVAL", script, "0").stdout.split()


class Bench(Case):
    def test_coroutines_are_measured_and_come_to_an_end(self):
        figure = self.figures("locks", "--engine", "memory:", "--tasks", "4", "--seconds", "1",
                              "--rounds", "1")[0]
        self.assertLess(0, figure["per_second"])

    def expect_percentiles(self, value):
        self.assertEqual(set(value), {"p50", "p99"})
        self.assertLess(0, value["p50"])
        self.assertLessEqual(value["p50"], value["p99"])

    def expect_workers(self, figure):
        self.assertLess(0, figure["per_worker"]["min"])
        self.assertLessEqual(figure["per_worker"]["min"], figure["per_worker"]["max"])

    def figures(self, *words):
        done = holdfast("bench", *words, "--format", "json")
        self.assertEqual(done.returncode, SUCCESS, done.stderr)
        self.expect_all_steps(done.stderr)
        found = [json.loads(line) for line in done.stdout.splitlines()]
        for figure in found:
            self.assertEqual(fields_of(figure) - fields_in_the_guide(), set())
        return found

    def expect_all_steps(self, said):
        """They are counted from the first to the last, and were as many as was said at last; where
        a round is measured again there are more than was said at first."""
        steps = [(int(step), int(of)) for step, of in
                 re.findall(r"(?m)^bench \w+: (\d+) of (\d+): ", said)]
        self.assertTrue(steps)
        self.assertEqual([step for step, _ in steps], list(range(1, len(steps) + 1)))
        self.assertEqual([of for _, of in steps], sorted(of for _, of in steps))
        self.assertEqual(steps[-1][1], len(steps))

    def expect_ratio(self, figure, *more):
        self.assertEqual(set(figure["reference"]) - {"server_cpu_us"},
                         {"name", "per_second", *more})
        self.assertGreater(figure["per_second"], 0)
        self.assertGreater(figure["reference"]["per_second"], 0)
        rounds = figure["ratio_rounds"]
        self.assertLess(0, rounds["min"])
        self.assertLessEqual(rounds["min"], figure["ratio"])
        self.assertLessEqual(figure["ratio"], rounds["max"])

    def test_locks_on_memory_yields_a_figure_as_json(self):
        (one,) = self.figures("locks", "--engine", "memory:", "--seconds", "1", "--rounds", "2",
                              "--threads", "2")
        self.assertEqual((one["bench"], one["engine"], one["workers"], one["seconds"]),
                         ("locks", "memory:", 2, 1))
        self.expect_ratio(one)
        self.assertGreater(one["client_cpu_us"], 0)
        self.assertEqual(set(one["latency_us"]), {"acquire", "release"})
        self.expect_percentiles(one["latency_us"]["acquire"])
        self.expect_percentiles(one["latency_us"]["release"])
        self.assertLessEqual(one["per_worker"]["min"], one["per_worker"]["max"])
        self.assertNotIn("server_cpu_us", one)

    def test_locks_on_redis_takes_three_commands_a_pair(self):
        (one,) = self.figures("locks", "--engine", "redis:", "--seconds", "1", "--rounds", "2")
        self.expect_ratio(one)
        self.assertGreater(one["server_cpu_us"], 0)
        self.assertGreater(one["reference"]["server_cpu_us"], 0)
        self.assertAlmostEqual(one["commands_per_op"], 3, delta=0.1)

    def expect_latency_ratio(self, figure, *names):
        self.assertEqual(set(figure["latency_ratio"]), set(names))
        self.expect_percentiles(figure["latency_us"]["pair"])
        for name in names:
            ours = figure["latency_us"][name]["p50"]
            self.assertAlmostEqual(figure["latency_ratio"][name],
                                   ours / figure["reference"][name + "_us"], delta=0.01)

    def expect_ratio_to_by_hand(self, figure):
        by_hand = figure["latency_ratio"].pop("pair_by_hand")
        self.assertAlmostEqual(by_hand, figure["latency_us"]["pair"]["p50"] /
                               figure["reference"]["by_hand_pair_us"], delta=0.01)

    def test_locks_on_sqlite_stands_next_to_statements_by_hand(self):
        place = self.directory()
        (one,) = self.figures("locks", "--engine", f"sqlite:{place}/a.db?synchronous=full",
                              "--seconds", "1", "--rounds", "1")
        self.assertIn("by hand, WAL, synchronous=full", one["reference"]["name"])
        self.expect_latency_ratio(one, "pair")
        self.assertNotIn("server_cpu_us", one)
        self.assertEqual({file.name for file in place.iterdir() if "bench" in file.name}, set())
        (one,) = self.figures("locks", "--engine", "sqlite:", "--seconds", "1", "--rounds", "1")
        self.assertEqual(one["engine"], "sqlite:")
        self.assertIn("synchronous=normal", one["reference"]["name"])

    def test_locks_on_redlock_stands_next_to_a_single_redis(self):
        (one,) = self.figures("locks", "--engine", "redlock:", "--seconds", "1", "--rounds", "1")
        self.assertEqual(one["reference"]["name"], "a single Redis, by Holdfast too")
        self.expect_ratio_to_by_hand(one)
        self.expect_latency_ratio(one, "acquire", "pair")
        self.assertGreater(one["commands_per_op"], 10)

    def test_locks_shows_the_longest_acquire_while_a_server_of_a_quorum_hangs(self):
        (one,) = self.figures("locks", "--engine", "redlock:?fence=off&node_timeout=2s",
                              "--hung", "1", "--seconds", "1", "--rounds", "1")
        self.assertEqual(one["bench"], "locks, 1 hung")
        longest = one["latency_us"]["acquire"].pop("max")
        self.expect_percentiles(one["latency_us"]["acquire"])
        self.assertLessEqual(one["latency_us"]["acquire"]["p99"], longest * 1.001)
        self.assertLess(longest, 2.2e6)

    def test_locks_takes_several_names_next_to_one(self):
        (one,) = self.figures("locks", "--engine", "redis:", "--names", "16", "--seconds", "1",
                              "--rounds", "1")
        self.assertEqual(one["bench"], "locks, 16 names")
        self.expect_ratio_to_by_hand(one)
        self.expect_latency_ratio(one, "acquire", "pair")
        self.assertAlmostEqual(one["commands_per_op"], 18, delta=1)

    def test_handoff_shows_how_long_a_writer_waits_among_readers(self):
        (one,) = self.figures("handoff", "--engine", "redis:", "--processes", "2", "--readers",
                              "5", "--hold", "2ms", "--seconds", "1", "--rounds", "1")
        self.assertEqual((one["bench"], one["workers"]),
                         ("handoff to a writer among readers", 6))
        self.assertGreaterEqual(one["reader_hold_us"], 2000)
        self.assertGreater(one["writer_bound_us"], 5 * one["reader_hold_us"])
        self.assertGreater(one["latency_us"]["writer_wait"].pop("max"), 0)
        self.expect_percentiles(one["latency_us"]["writer_wait"])
        self.assertGreater(one["per_worker"]["min"], 0)

    def test_keeper_loses_nothing(self):
        (one,) = self.figures("keeper", "--leases", "1000", "--ttl", "600ms")
        self.assertEqual((one["bench"], one["leases"], one["lost"]), ("keeper", 1000, 0))
        self.assertGreaterEqual(one["renewed"], 7000)
        self.assertGreater(one["cpu_percent"], 0)
        self.assertGreater(one["least_slack_ms"], 0)

    def test_keeper_takes_a_redis_of_its_own(self):
        (one,) = self.figures("keeper", "--engine", "redis:", "--leases", "2000", "--ttl", "2s")
        self.assertEqual((one["engine"], one["leases"], one["lost"]), ("redis:", 2000, 0))
        self.assertGreaterEqual(one["renewed"], 14000)

    def test_handoff_by_threads_and_by_processes(self):
        (threads,) = self.figures("handoff", "--threads", "3", "--seconds", "1", "--rounds", "1")
        (processes,) = self.figures("handoff", "--engine", "redis:", "--processes", "3",
                                    "--seconds", "1", "--rounds", "1")
        for one in (threads, processes):
            self.assertEqual((one["bench"], one["workers"]), ("handoff", 3))
            self.assertLessEqual(0, one["stolen_cpus"])
            self.assertIn(one["rounds_again"], (0, 1))
            self.expect_ratio(one)
            self.assertEqual(set(one["latency_us"]), {"acquire", "release", "handoff"})
            for latency in one["latency_us"].values():
                self.expect_percentiles(latency)
            self.assertGreater(one["per_worker"]["min"], 0)
        self.assertGreater(processes["commands_per_op"], 0)

    def test_limit_measures_each_rule_and_the_ways_without_a_trip(self):
        found = self.figures("limit", "--threads", "4", "--seconds", "1", "--rounds", "1")
        names = ["limit " + name for name in (
            "INCR, by redis-benchmark -c 64 -P 16", "refused hot key", "gcra", "fixed",
            "counter", "log", "gcra by blocks")]
        self.assertEqual([one["bench"] for one in found], names)
        for one in found[2:]:
            self.expect_ratio(one)
        for one in found[1:]:
            self.assertEqual(set(one["latency_us"]), {"acquire"})
            self.expect_percentiles(one["latency_us"]["acquire"])
            self.expect_workers(one)
        self.assertLess(found[1]["commands_per_op"], 0.1)
        self.assertLess(found[6]["commands_per_op"], 0.1)
        for one in found[2:5]:
            self.assertGreater(one["commands_per_op"], 0.1)
            self.assertGreater(one["server_cpu_us"], 0)
            self.assertGreater(one["value_bytes"], 0)
        self.assertLess(found[2]["value_bytes"], 64)
        self.assertGreater(found[1]["per_second"], found[2]["per_second"])

    def test_cache_measures_hits_and_a_cold_miss_of_two_trips(self):
        found = self.figures("cache", "--threads", "2", "--keys", "10", "--seconds", "1",
                             "--rounds", "1")
        self.assertEqual([one["bench"] for one in found],
                         ["cache hit", "cache hit in the process", "cache cold miss"])
        for one in found:
            self.expect_ratio(one, "client_cpu_us", "p99_us")
            self.assertGreater(one["p99_ratio"], 0)
        hit, local, miss = found
        self.assertAlmostEqual(hit["commands_per_op"], 1, delta=0.05)
        self.assertGreater(hit["server_cpu_ratio"], 0)
        self.assertLess(local["commands_per_op"], 0.01)
        self.assertGreater(local["ratio"], 5)
        self.assertAlmostEqual(miss["commands_per_op"], 2, delta=0.05)

    def test_cache_is_measured_on_memory_too(self):
        found = self.figures("cache", "--engine", "memory:", "--threads", "1", "--seconds", "1",
                             "--rounds", "1")
        self.assertEqual(len(found), 3)
        self.assertNotIn("server_cpu_ratio", found[0])

    def test_board_measures_exact_ranks_and_leaves_nothing_behind(self):
        server = Redis()
        self.addCleanup(server.close)
        one, segmented = self.figures(
            "board", "--engine", server.url, "--players", "1001", "--segmented", "2003",
            "--segments", "7", "--threads", "2", "--seconds", "1", "--rounds", "1")
        self.assertEqual((one["bench"], segmented["bench"]),
                         ("board rank", "board rank, 2003 players in 7 segments"))
        for figure in (one, segmented):
            self.expect_ratio(figure, "client_cpu_us", "p99_us")
            self.assertGreater(figure["server_cpu_ratio"], 0)
        self.assertEqual(server.cli("KEYS", "bench:board:*").stdout.split(), [])

    def test_limit_leaves_nothing_for_ever_on_a_server_that_is_not_its_own(self):
        server = Redis()
        self.addCleanup(server.close)
        self.figures("limit", "--engine", server.url, "--algorithm", "fixed", "--threads", "2",
                     "--seconds", "1", "--rounds", "1")
        self.assertEqual(lasting_keys(server), [])

    def test_limit_that_is_broken_off_removes_what_lasts_from_the_server(self):
        server = Redis()
        self.addCleanup(server.close)
        for how in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with self.subTest(how):
                child = self.start("bench", "limit", "--engine", server.url, "--keys", "2000",
                                   "--seconds", "60", "--rounds", "100")
                wait_until(lambda: lasting_keys(server), "redis-benchmark counts")
                child.send_signal(how)
                self.assertEqual(child.wait(30), -how)
                wait_until(lambda: not lasting_keys(server), "the keys are gone")
                time.sleep(0.3)
                self.assertEqual(lasting_keys(server), [])

    def test_the_steps_are_counted_right_whatever_is_measured(self):
        short = ("--threads", "2", "--seconds", "1", "--rounds", "2")
        for words in (("--engine", "memory:", "--rate", "100"),
                      ("--engine", "memory:", "--rate", "100", "--algorithm", "log"),
                      ("--engine", "sqlite:", "--algorithm", "gcra"),
                      ("--algorithm", "log")):
            with self.subTest(words):
                self.figures("limit", *words, *short)

    def test_a_plot_that_cannot_be_drawn_is_said_at_the_start(self):
        place = self.directory()
        (place / "file").write_text("", encoding="ascii")
        for file, why in ((place / "gone" / "a.svg", "No such file or directory"),
                          (place / "file" / "a.svg", "Not a directory"),
                          (place, "Is a directory")):
            with self.subTest(file):
                self.expect_one_sentence(holdfast("bench", "locks", "--plot", str(file)), USAGE,
                                         f"--plot: cannot write {file}: {why}")
        self.expect_misuse(holdfast("bench", "locks", "--plot", ""), "--plot", "is empty")

    def test_a_plot_is_drawn_and_one_of_a_failure_leaves_no_file(self):
        place = self.directory()
        short = ("--seconds", "1", "--rounds", "1", "--plot", str(place / "a.svg"))
        failed = holdfast("bench", "raw", "--engine", "redis://127.0.0.1:1", *short)
        self.assertEqual((failed.returncode, list(place.iterdir())), (UNKNOWN, []))
        self.figures("locks", "--rate", "100", *short)
        self.assertTrue((place / "a.svg").read_text(encoding="utf-8").startswith("<svg "))

    def test_the_bar_fits_the_terminal_however_narrow_it_is(self):
        for columns in (80, 30, 12):
            term = Terminal("bench", "keeper", "--leases", "100", "--ttl", "1s", "--seconds", "1",
                            columns=columns)
            self.assertEqual(term.end(), SUCCESS, term.text)
            bars = [re.sub(r"\x1b\[[0-9;]*m", "", part)
                    for part in term.text.split("keeper on memory:")[0].split("\r\x1b[K")]
            self.assertGreater(len(bars), 10)
            for bar in bars:
                self.assertLess(len(bar), columns, bar)

    def test_raw_measures_three_ways(self):
        found = self.figures("raw", "--threads", "2", "--seconds", "1", "--rounds", "1")
        self.assertEqual([one["bench"] for one in found],
                         ["raw threads", "raw coroutines", "raw blocking"])
        for one in found:
            self.expect_ratio(one)
            self.assertEqual(set(one["latency_us"]), {"acquire", "release", "pair"})
            for latency in one["latency_us"].values():
                self.expect_percentiles(latency)
            self.expect_workers(one)
            self.assertAlmostEqual(one["commands_per_op"], 2, delta=0.1)

    def test_raw_takes_coroutines_or_processes_alone(self):
        for workers, name in (("--tasks", "raw coroutines"), ("--processes", "raw processes")):
            one, reference = self.figures("raw", workers, "2", "--seconds", "1", "--rounds", "1")
            self.assertEqual((one["bench"], reference["bench"]), (name, "raw blocking"))
            self.expect_ratio(one)
            self.expect_workers(one)
            self.assertAlmostEqual(one["commands_per_op"], 2, delta=0.1)

    def test_a_fixed_rate_is_kept_and_shows_what_client_and_server_spend_on_it(self):
        rate = ("--rate", "200", "--seconds", "1", "--rounds", "1", "--threads", "2")
        found = (self.figures("raw", *rate) + self.figures("locks", "--engine", "redis:", *rate) +
                 self.figures("limit", "--algorithm", "fixed", *rate))
        self.assertEqual([one["bench"] for one in found],
                         ["raw threads", "raw coroutines", "raw blocking", "locks",
                          "limit fixed"])
        for one in found:
            self.assertAlmostEqual(one["per_second"], 200, delta=40)
            self.assertGreater(one["client_cpu_us"], 0)
            self.assertGreater(one["server_cpu_us"], 0)
            self.assertNotIn("reference", one)

    def test_handoff_takes_a_file_coroutines_and_a_permit(self):
        short = ("--seconds", "1", "--rounds", "1")
        (file,) = self.figures("handoff", "--engine", "sqlite:", "--processes", "2", *short)
        self.assertEqual(file["reference"]["name"], "prepared statements by hand, nobody else")
        self.assertNotIn("handoff_round_trips", file)
        (tasks,) = self.figures("handoff", "--engine", "memory:", "--tasks", "3", *short)
        self.assertEqual((tasks["bench"], tasks["workers"]), ("handoff", 3))
        (permit,) = self.figures("handoff", "--kind", "semaphore", "--threads", "3", *short)
        self.assertEqual(permit["bench"], "handoff semaphore")
        for one in (file, tasks, permit):
            self.expect_ratio(one)
            self.expect_workers(one)
            self.assertEqual(set(one["latency_us"]), {"acquire", "release", "handoff"})

    def test_locks_takes_coroutines_of_every_kind(self):
        for kind in ("shared", "semaphore"):
            (one,) = self.figures("locks", "--tasks", "2", "--kind", kind, "--seconds", "1",
                                  "--rounds", "1")
            self.assertEqual(one["bench"], "locks " + kind)
            self.expect_workers(one)

    def test_limit_takes_a_file_and_processes(self):
        short = ("--algorithm", "fixed", "--processes", "2", "--seconds", "1", "--rounds", "1")
        refused, fixed = self.figures("limit", "--engine", "sqlite:", *short)
        self.assertEqual((refused["bench"], fixed["bench"]),
                         ("limit refused hot key", "limit fixed"))
        self.expect_ratio(fixed)
        self.expect_workers(fixed)
        self.assertIn("counters by prepared statements by hand", fixed["reference"]["name"])

    def test_an_option_that_means_nothing_for_a_measurement_is_answered_with_why(self):
        for words, why in (
                (("raw", "--kind", "mutex"), "--kind: bench raw sends plain commands"),
                (("raw", "--hold", "1ms"), "--hold: nobody waits"),
                (("locks", "--pause", "1ms"), "--pause: nobody waits"),
                (("locks", "--tasks", "2", "--names", "2"), "no call for coroutines"),
                (("handoff", "--rate", "5"), "--rate: a release hands the name off"),
                (("handoff", "--kind", "shared"), "use --readers N"),
                (("handoff", "--hold", "1h"), "--hold is too long: a round takes 1s"),
                (("handoff", "--pause", "1s"), "--pause is too long: a round takes 1s"),
                (("handoff", "--kind", "semaphore", "--readers", "2"), "--readers: a semaphore"),
                (("limit", "--tasks", "2"), "--tasks: a rate limiter has no call"),
                (("limit", "--kind", "mutex"), "--kind: a limit is no lock"),
                (("limit", "--hold", "1s"), "--hold: what is taken from a limit is not held"),
                (("board", "--engine", "memory:"), "boards of this size are measured on a server"),
                (("limit", "--engine", "redlock:"), "a quorum keeps locks and no rate limits")):
            with self.subTest(words):
                self.expect_misuse(holdfast("bench", *words), why)

    def test_one_that_is_broken_off_leaves_no_server_and_no_directory(self):
        for how in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            for engine in ("redis:", "sqlite:"):
                with self.subTest(how, engine=engine):
                    place = self.directory()
                    child = self.start("bench", "handoff", "--engine", engine, "--processes", "2",
                                       "--seconds", "60", "--rounds", "1", TMPDIR=str(place))
                    self.assertIn("bench handoff", child.stderr.readline())
                    self.assertNotEqual(list(place.iterdir()), [])
                    servers = children_of(child.pid)
                    child.send_signal(how)
                    self.assertEqual(child.wait(30), -how)
                    wait_until(lambda: not list(place.iterdir()), "the directory is gone")
                    wait_until(lambda: not any(map(is_alive, servers)), "all processes are gone")


if __name__ == "__main__":
    ground.main()
