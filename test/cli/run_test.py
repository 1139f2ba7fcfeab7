#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""holdfast run, on each engine that many processes share.

  run_test.py PROGRAM [RunOnRedis.test_... | RunOnSqlite.test_...]
"""

import os
import signal
import stat
import subprocess
from pathlib import Path

import ground
from ground import (BUSY, FAILURE, LOST, NOT_EXECUTABLE, NOT_FOUND, SUCCESS, USAGE, Case, Redis,
                    Sqlite, Terminal, holdfast, is_alive, wait_until)


def signal_masks(status):
    """The masks in lines of /proc/PID/status, without the two signals that are the C library's."""
    return {word: int(mask, 16) & ~(3 << 31)
            for word, mask in (line.split(":") for line in status.splitlines())}


class Run:
    """The promises; the classes below say on what."""

    engine_type = None

    def setUp(self):
        self.engine = self.engine_type()
        self.addCleanup(self.engine.close)
        self.work = self.directory()

    def run_it(self, *words, **changes):
        return holdfast("run", *words, HOLDFAST_ENGINE=self.engine.url, **changes)

    def start_it(self, *words, **changes):
        return self.start("run", *words, HOLDFAST_ENGINE=self.engine.url, **changes)

    def pids(self, name, count=1):
        """The process ids that a command wrote into a file, when they are all there."""
        file = self.work / name
        wait_until(lambda: file.exists() and len(file.read_text().split()) == count,
                   f"the command writes {name}")
        return [int(word) for word in file.read_text().split()]

    def is_free(self, name):
        return self.run_it(name, "--", "true").returncode == SUCCESS

    def test_the_commands_exit_code_and_output_pass_through_and_nothing_is_added(self):
        self.expect(self.run_it("a", "--", "sh", "-c", "echo out; echo err >&2; exit 7"),
                    7, "out\n", "err\n")
        self.expect(self.run_it("a", "--", "true"), SUCCESS)

    def test_a_command_that_a_signal_killed_is_128_and_the_signal(self):
        self.expect(self.run_it("a", "--", "sh", "-c", "kill -9 $$"), 128 + 9)
        self.assertTrue(self.is_free("a"))

    def test_lock_and_fence_are_in_the_commands_environment_whatever_was_inherited(self):
        show = ("--", "sh", "-c", "echo $HOLDFAST_LOCK $HOLDFAST_FENCE")
        done = self.run_it("orders/42", *show, HOLDFAST_FENCE="1", HOLDFAST_LOCK="other")
        name, first = done.stdout.split()
        self.assertEqual((done.returncode, name), (SUCCESS, "orders/42"))
        second = self.run_it("orders/42", *show).stdout.split()[1]
        self.assertLess(int(first), int(second))
        self.assertGreater(int(first), 1)

    def test_the_command_gets_no_descriptor_of_ours_and_the_signals_that_we_were_given(self):
        done = self.run_it("a", "--", "ls", "-l", "/proc/self/fd")
        for word in ("socket", "anon_inode", ".db"):
            self.assertNotIn(word, done.stdout)
        look = ("grep", "-E", "Sig(Blk|Ign)", "/proc/self/status")
        plain = subprocess.run(look, capture_output=True, text=True, check=True)
        ours = self.run_it("a", "--", *look)
        self.assertEqual((ours.returncode, ours.stderr), (SUCCESS, ""))
        self.assertEqual(signal_masks(ours.stdout), signal_masks(plain.stdout))

    def test_under_nohup_the_command_ignores_what_it_would_ignore_without_us(self):
        look = ("grep", "SigIgn", "/proc/self/status")
        plain = subprocess.run(["nohup", *look], capture_output=True, text=True, check=True)
        ours = subprocess.run(["nohup", ground.PROGRAM, "run", "a", "--", *look],
                              capture_output=True, text=True, check=True,
                              env=ground.environment(HOLDFAST_ENGINE=self.engine.url))
        self.assertEqual(signal_masks(ours.stdout), signal_masks(plain.stdout))
        self.assertEqual(signal_masks(ours.stdout)["SigIgn"] & 1, 1)  # SIGHUP

    def test_who_finds_it_busy_goes_away_with_3_or_what_busy_code_says(self):
        held = self.start_it("a", "--", "sh", "-c", f"echo $$ > {self.work}/pid; exec sleep 100")
        self.pids("pid")
        self.expect_one_sentence(self.run_it("a", "--", "echo", "never"), BUSY,
                                 "'a' is held by someone else: sh on ", " s left")
        self.assertEqual(self.run_it("a", "--busy-code", "0", "--", "false").returncode, 0)
        self.assertEqual(self.run_it("b", "--", "true").returncode, SUCCESS)
        late = self.run_it("a", "--wait", "200ms", "--", "echo", "never")
        self.expect_one_sentence(late, BUSY, "'a'")
        held.terminate()
        self.assertEqual(held.wait(30), 128 + signal.SIGTERM)

    def test_who_waits_runs_when_the_holder_is_done(self):
        go = self.work / "go"
        held = self.start_it("a", "--", "sh", "-c",
                             f"echo $$ > {self.work}/pid; until [ -e {go} ]; do sleep 0.05; done")
        self.pids("pid")
        waits = self.start_it("a", "--wait", "forever", "--", "echo", "mine")
        go.touch()
        self.assertEqual(held.wait(30), SUCCESS)
        self.assertEqual(waits.communicate(timeout=30), ("mine\n", ""))

    def test_a_command_that_is_not_there_is_127_and_one_that_cannot_run_126(self):
        self.expect(self.run_it("a", "--", "no-such-command"), NOT_FOUND, "",
                    "holdfast: there is no command 'no-such-command'\n")
        plain = self.work / "plain"
        plain.write_text("no program\n")
        self.expect_one_sentence(self.run_it("a", "--", str(plain)), NOT_EXECUTABLE,
                                 "Permission denied")
        self.assertTrue(self.is_free("a"))

    def test_a_script_without_a_first_line_runs_as_the_shell_would_run_it(self):
        script = self.work / "script"
        script.write_text("exit 9\n")
        script.chmod(stat.S_IRWXU)
        self.assertEqual(self.run_it("a", "--", str(script)).returncode, 9)

    def test_fifty_started_together_each_run_alone_with_growing_fences_and_none_is_skipped(self):
        log = self.work / "log"
        alone = self.work / "alone"
        line = "x" * 3000  # two writes of it would not be whole lines
        command = (f"mkdir {alone} || echo together >> {log}; "
                   f"printf '%s {line}' $HOLDFAST_FENCE >> {log}; echo ' end' >> {log}; "
                   f"rmdir {alone}")
        all_of_them = [self.start_it("a", "--wait", "90s", "--", "sh", "-c", command)
                       for _ in range(50)]
        for one in all_of_them:
            self.assertEqual(one.wait(100), SUCCESS, one.stderr.read())
        lines = log.read_text().splitlines()
        self.assertEqual(len(lines), 50)
        for one in lines:
            self.assertRegex(one, r"\A\d+ x{3000} end\Z")
        fences = [int(one.split()[0]) for one in lines]
        self.assertEqual(fences, sorted(set(fences)))

    def test_kill_9_of_holdfast_leaves_nobody_of_the_group_and_the_name_goes_on(self):
        script = f"sleep 1000 & echo $! $$ > {self.work}/pids; wait"
        held = self.start_it("a", "--ttl", "2s", "--", "sh", "-c", script)
        grandchild, command = self.pids("pids", 2)
        held.kill()
        wait_until(lambda: not is_alive(command) and not is_alive(grandchild),
                   "the command and its child are gone", seconds=2)
        self.expect(self.run_it("a", "--wait", "30s", "--", "echo", "next"), SUCCESS, "next\n")

    def test_kill_9_of_the_whole_group_of_holdfast_does_not_save_the_command(self):
        held = subprocess.Popen(
            [ground.PROGRAM, "run", "a", "--ttl", "2s", "--", "sh", "-c",
             f"sleep 1000 & echo $! $$ > {self.work}/pids; wait"],
            env=ground.environment(HOLDFAST_ENGINE=self.engine.url), process_group=0)
        grandchild, command = self.pids("pids", 2)
        os.killpg(held.pid, signal.SIGKILL)
        held.wait()
        wait_until(lambda: not is_alive(command) and not is_alive(grandchild),
                   "the command and its child are gone", seconds=2)

    def test_a_holdfast_that_was_stopped_past_its_ttl_has_no_command_any_more(self):
        held = self.start_it("a", "--ttl", "2s", "--", "sh", "-c",
                             f"trap '' TERM; echo $$ > {self.work}/pid; while :; do sleep 1; done")
        (command,) = self.pids("pid")
        held.send_signal(signal.SIGSTOP)
        # Who gets it next must find the old command gone.
        done = self.run_it("a", "--wait", "30s", "--", "sh", "-c",
                           f"cut -d' ' -f3 /proc/{command}/stat 2>/dev/null || true")
        self.assertEqual(done.returncode, SUCCESS, done.stderr)
        self.assertIn(done.stdout, ("", "Z\n"))
        held.send_signal(signal.SIGCONT)
        self.assertEqual(held.wait(30), LOST)
        self.assertIn("'a' was lost", held.stderr.read())

    def test_a_command_that_is_stopped_alone_keeps_its_lease(self):
        held = self.start_it("a", "--ttl", "600ms", "--", "sh", "-c",
                             f"echo $$ > {self.work}/pid; kill -STOP $$; exit 7")
        (command,) = self.pids("pid")
        status = Path(f"/proc/{command}/status")
        wait_until(lambda: "State:\tT" in status.read_text(encoding="ascii"), "it is stopped")
        self.assertEqual(self.run_it("a", "--wait", "2s", "--", "true").returncode, BUSY)
        os.kill(command, signal.SIGCONT)
        self.assertEqual(held.wait(30), 7)

    def test_when_the_engine_fails_the_command_is_asked_to_end_in_time(self):
        script = (f"trap 'echo asked; exit 0' TERM; echo $$ > {self.work}/pid; "
                  "while :; do sleep 0.05; done")
        held = self.start_it("a", "--ttl", "3s", "--", "sh", "-c", script)
        self.pids("pid")
        self.engine.fail()
        out, err = held.communicate(timeout=60)
        self.assertEqual((held.returncode, out), (LOST, "asked\n"), err)
        self.assertRegex(err, r"holdfast: 'a' was lost, and the command ended: [^\n]+\n\Z")

    def test_a_command_that_does_not_end_is_killed_when_its_lease_ends(self):
        script = f"trap '' TERM; echo $$ > {self.work}/pid; while :; do sleep 0.05; done"
        held = self.start_it("a", "--ttl", "2s", "--grace", "500ms", "--", "sh", "-c", script)
        (command,) = self.pids("pid")
        self.engine.fail()
        self.assertEqual(held.wait(60), LOST)
        self.assertFalse(is_alive(command))

    def test_a_lease_that_an_operator_breaks_ends_the_command_with_the_operators_words(self):
        held = self.start_it("a", "--ttl", "3s", "--", "sh", "-c",
                             f"echo $$ > {self.work}/pid; exec sleep 1000")
        self.pids("pid")
        evicted = holdfast("lock", "evict", "a", "--reason", "web3 is gone", "--yes",
                          HOLDFAST_ENGINE=self.engine.url)
        self.expect(evicted, SUCCESS, "a: evicted 1 holder\n")
        self.assertEqual(held.wait(30), LOST)
        self.assertIn('"web3 is gone"', held.stderr.read())

    def test_kill_9_of_the_command_gives_the_name_back_at_once(self):
        held = self.start_it("a", "--ttl", "1h", "--", "sh", "-c",
                             f"echo $$ > {self.work}/pid; exec sleep 1000")
        (command,) = self.pids("pid")
        os.kill(command, signal.SIGKILL)
        self.assertEqual(held.wait(30), 128 + 9)
        self.assertTrue(self.is_free("a"))

    def test_signals_are_forwarded_to_the_whole_group(self):
        script = (f"sh -c 'trap \"echo inner; exit\" USR1; echo $$ > {self.work}/in; "
                  "while :; do sleep 0.05; done' & "
                  f"trap 'echo outer; wait; exit 5' USR1; echo $$ > {self.work}/out; "
                  "while :; do sleep 0.05; done")
        held = self.start_it("a", "--", "sh", "-c", script)
        self.pids("in")
        self.pids("out")
        held.send_signal(signal.SIGUSR1)
        out, _ = held.communicate(timeout=30)
        self.assertEqual((held.returncode, sorted(out.split())), (5, ["inner", "outer"]))

    def test_a_signal_ends_a_wait_in_line_and_leaves_nothing_behind(self):
        held = self.start_it("a", "--", "sh", "-c", f"echo $$ > {self.work}/pid; exec sleep 1000")
        (command,) = self.pids("pid")
        waits = self.start_it("a", "--wait", "forever", "-v", "--", "echo", "never")
        wait_until(lambda: '"waiters": 1' in holdfast(
            "lock", "ls", "--format", "json", HOLDFAST_ENGINE=self.engine.url).stdout,
                   "the second one waits")
        waits.terminate()
        self.assertEqual(waits.wait(30), -signal.SIGTERM)
        self.assertEqual(waits.stdout.read(), "")
        os.kill(command, signal.SIGTERM)
        held.wait(30)
        self.assertTrue(self.is_free("a"))

    def test_what_the_command_leaves_behind_in_its_group_is_ended_before_the_name_is_free(self):
        script = f"sh -c 'trap \"\" TERM; sleep 1000' & echo $! > {self.work}/pid; exit 4"
        self.assertEqual(self.run_it("a", "--grace", "300ms", "--", "sh", "-c", script).returncode,
                         4)
        (left,) = self.pids("pid")
        self.assertFalse(is_alive(left))

    def test_once_runs_the_first_alone_and_forgets_one_that_failed(self):
        self.assertEqual(self.run_it("a", "--once", "1h", "--", "false").returncode, FAILURE)
        self.expect(self.run_it("a", "--once", "1h", "--", "echo", "first"), SUCCESS, "first\n")
        self.expect(self.run_it("a", "--once", "1h", "--", "echo", "second"), BUSY, "",
                    "holdfast: 'a' was done already within 1h\n")

    def test_cooldown_and_rate_refuse_or_wait(self):
        self.assertEqual(self.run_it("a", "--cooldown", "1h", "--", "true").returncode, SUCCESS)
        self.expect_one_sentence(self.run_it("a", "--cooldown", "1h", "--", "true"), BUSY,
                                 "cooling down")
        self.assertEqual(self.run_it("b", "--cooldown", "1s", "--", "true").returncode, SUCCESS)
        self.assertEqual(self.run_it("b", "--cooldown", "1s", "--wait", "30s", "--",
                                     "true").returncode, SUCCESS)
        for expected in (SUCCESS, SUCCESS, BUSY):
            self.assertEqual(self.run_it("c", "--rate", "2/hour", "--", "true").returncode,
                             expected)

    def test_what_was_lost_while_it_waited_at_a_gate_never_begins(self):
        self.assertEqual(self.run_it("g", "--cooldown", "4s", "--", "true").returncode, SUCCESS)
        begun = self.work / "begun"
        waiting = self.start_it("g", "--cooldown", "4s", "--wait", "60s", "--ttl", "1s", "--",
                                "touch", str(begun))
        wait_until(lambda: not self.is_free("g"), "it holds, and waits for the cooldown")
        evicted = holdfast("lock", "evict", "g", "--yes", "--reason", "a test",
                          HOLDFAST_ENGINE=self.engine.url)
        self.assertEqual(evicted.returncode, SUCCESS, evicted.stderr)
        self.assertEqual(waiting.wait(60), LOST)
        self.assertFalse(begun.exists())

    def test_shared_run_together_and_keep_others_out(self):
        ready = [self.work / f"ready{i}" for i in range(2)]
        readers = [self.start_it("a", "--shared", "--", "sh", "-c", f"touch {one}; exec sleep 1000")
                   for one in ready]
        wait_until(lambda: all(one.exists() for one in ready), "both read together")
        self.assertEqual(self.run_it("a", "--", "true").returncode, BUSY)
        for one in readers:
            one.terminate()
            one.wait(30)
        self.assertTrue(self.is_free("a"))

    def test_a_semaphore_lets_so_many_run_and_no_more(self):
        ready = [self.work / f"ready{i}" for i in range(2)]
        for one in ready:
            self.start_it("a", "--semaphore", "2", "--", "sh", "-c",
                          f"touch {one}; exec sleep 1000")
        wait_until(lambda: all(one.exists() for one in ready), "two run together")
        self.assertEqual(self.run_it("a", "--semaphore", "2", "--", "true").returncode, BUSY)

    def test_one_who_means_another_semaphore_is_told_both_numbers(self):
        ready = self.work / "ready"
        self.start_it("a", "--semaphore", "2", "--", "sh", "-c", f"touch {ready}; exec sleep 1000")
        wait_until(ready.exists, "one of two runs")
        other = self.run_it("a", "--semaphore", "3", "--", "true")
        self.expect_one_sentence(other, USAGE, "'a' is in use with --semaphore 2, and you use 3")
        self.assertEqual(self.run_it("a", "--semaphore", "2", "--", "true").returncode, SUCCESS)

    def test_resize_changes_a_semaphore_for_all_whatever_they_say(self):
        ready = [self.work / f"ready{i}" for i in range(2)]
        self.start_it("a", "--semaphore", "1", "--", "sh", "-c",
                      f"touch {ready[0]}; exec sleep 1000")
        wait_until(ready[0].exists, "one runs, of one")
        self.assertEqual(self.run_it("a", "--semaphore", "1", "--", "true").returncode, BUSY)
        self.start_it("a", "--semaphore", "2", "--resize", "--", "sh", "-c",
                      f"touch {ready[1]}; exec sleep 1000")
        wait_until(ready[1].exists, "two run, of two")
        self.assertEqual(self.run_it("a", "--semaphore", "1", "--", "true").returncode, BUSY)
        self.assertEqual(self.run_it("a", "--semaphore", "3", "--resize", "--",
                                     "true").returncode, SUCCESS)
        self.assertEqual(self.run_it("a", "--semaphore", "1", "--", "true").returncode, SUCCESS)

    def test_one_whose_semaphore_was_resized_is_told_that_its_number_is_not_used(self):
        told = "holdfast: 'a' was set to 2 for all by --resize; your --semaphore 5 is not used\n"
        self.expect(self.run_it("a", "--semaphore", "2", "--resize", "--", "true"), SUCCESS)
        self.expect(self.run_it("a", "--semaphore", "5", "--", "true"), SUCCESS, "", told)
        self.expect(self.run_it("a", "--semaphore", "2", "--", "true"), SUCCESS)
        ready = self.work / "ready"
        self.start_it("a", "--semaphore", "2", "--", "sh", "-c", f"touch {ready}; exec sleep 1000")
        wait_until(ready.exists, "one holds it")
        self.expect(self.run_it("a", "--semaphore", "5", "--", "true"), SUCCESS, "", told)

    def test_one_who_wants_to_share_a_semaphore_is_told_what_it_is(self):
        ready = self.work / "ready"
        self.start_it("a", "--semaphore", "2", "--", "sh", "-c", f"touch {ready}; exec sleep 1000")
        wait_until(ready.exists, "one holds it")
        self.expect_one_sentence(self.run_it("a", "--shared", "--", "true"), USAGE,
                                 "'a' is held as a semaphore: use another name for a shared mutex")
        self.expect_one_sentence(self.run_it("a", "--", "true"), USAGE,
                                 "'a' is held as a semaphore: use another name for a mutex")

    def test_misuse_is_said_before_anything_is_asked(self):
        for words, part in ((("a",), "after --"), (("a", "sleep", "1"), "after --"),
                            (("--", "true"), "NAME is required"),
                            (("a", "--rate", "often", "--", "true"), "'often' is no rate"),
                            (("a", "--ttl", "10s", "--grace", "8s", "--", "true"), "half of --ttl"),
                            (("a", "--shared", "--semaphore", "2", "--", "true"), "not both"),
                            (("a", "--semaphore", "0", "--", "true"), "from 1 to"),
                            (("a", "--resize", "--", "true"), "needs --semaphore N"),
                            (("a", "--tll", "3s", "--", "true"), "did you mean '--ttl'?")):
            with self.subTest(words):
                done = self.run_it(*words)
                self.assertEqual((done.returncode, done.stdout), (USAGE, ""))
                self.assertIn(part, done.stderr)

    def test_ctrl_c_at_the_terminal_reaches_the_command_alone(self):
        term = Terminal("run", "a", "--", "sh", "-c",
                        "trap 'echo got it; exit 6' INT; echo ready; while :; do sleep 0.05; done",
                        HOLDFAST_ENGINE=self.engine.url)
        term.read_until(lambda text: "ready" in text, "the command starts")
        term.type("\x03")
        self.assertEqual(term.end(), 6)
        self.assertEqual(term.text.count("got it"), 1)

    def test_ctrl_c_that_ends_the_command_ends_a_script_around_it_too(self):
        term = Terminal("run", "a", "--", "sh", "-c", "echo ready; exec sleep 1000",
                        HOLDFAST_ENGINE=self.engine.url)
        term.read_until(lambda text: "ready" in text, "the command starts")
        term.type("\x03")
        self.assertEqual(term.end(), -signal.SIGINT)
        self.assertTrue(self.is_free("a"))

    def test_the_command_reads_keys_from_the_terminal(self):
        term = Terminal("run", "a", "--", "sh", "-c", "echo ready; read line; echo \"<$line>\"",
                        HOLDFAST_ENGINE=self.engine.url)
        term.read_until(lambda text: "ready" in text, "the command starts")
        term.type("hello\n")
        self.assertEqual(term.end(), SUCCESS)
        self.assertIn("<hello>", term.text)

    def test_ctrl_z_stops_both_and_going_on_continues_both(self):
        term = Terminal("run", "a", "--", "sh", "-c",
                        f"echo $$ > {self.work}/pid; echo ready; read line; echo \"<$line>\"",
                        HOLDFAST_ENGINE=self.engine.url)
        (command,) = self.pids("pid")
        term.read_until(lambda text: "ready" in text, "the command starts")
        term.type("\x1a")
        _, status = os.waitpid(term.pid, os.WUNTRACED)
        self.assertTrue(os.WIFSTOPPED(status))
        term.read_until(lambda text: "stopped; the lease ends" in text, "it says what that means")
        os.kill(term.pid, signal.SIGCONT)
        wait_until(lambda: is_alive(command), "the command lives")
        term.type("again\n")
        self.assertEqual(term.end(), SUCCESS)
        self.assertIn("<again>", term.text)


class RunOnRedis(Run, Case):
    engine_type = Redis


class RunOnSqlite(Run, Case):
    engine_type = Sqlite


if __name__ == "__main__":
    ground.main()
