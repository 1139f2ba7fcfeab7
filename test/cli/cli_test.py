#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the command line says to a given line of words: standard output, standard error, exit code.

  cli_test.py PROGRAM [test names]    HOLDFAST_UPDATE_GOLDEN=1 writes the golden files anew
"""

import json
import os
import re
import subprocess
from pathlib import Path

import ground
from ground import BUSY, FAILURE, SUCCESS, UNKNOWN, USAGE, Case, Terminal, holdfast

GOLDEN = Path(__file__).resolve().parent / "golden"



def on_a_terminal(*words, **changes):
    """(output, exit code) of a run whose output is a terminal."""
    term = Terminal(*words, **changes)
    code = term.end()
    return term.text, code


class CommandLine(Case):
    def expect_golden(self, name, text):
        file = GOLDEN / f"{name}.txt"
        if os.environ.get("HOLDFAST_UPDATE_GOLDEN"):
            file.write_text(text, encoding="utf-8")
        self.assertEqual(file.read_text(encoding="utf-8"), text)

    def test_version_is_one_line(self):
        done = holdfast("--version")
        self.assertEqual((done.returncode, done.stderr), (SUCCESS, ""))
        self.assertRegex(done.stdout, r"^holdfast \d+\.\d+\.\d+\n$")

    def test_help_is_as_written_and_fits_a_screen(self):
        for name, words in (("help", ["--help"]), ("help_demo", ["demo", "--help"]),
                            ("help_run", ["run", "--help"]), ("help_lock", ["lock", "--help"]),
                            ("help_lock_ls", ["lock", "ls", "--help"]),
                            ("help_lock_show", ["lock", "show", "--help"]),
                            ("help_lock_watch", ["lock", "watch", "--help"]),
                            ("help_lock_evict", ["lock", "evict", "--help"]),
                            ("help_lock_wait", ["lock", "wait", "--help"]),
                            ("help_limit", ["limit", "--help"]),
                            ("help_limit_take", ["limit", "take", "--help"]),
                            ("help_limit_peek", ["limit", "peek", "--help"]),
                            ("help_once", ["once", "--help"]),
                            ("help_cache", ["cache", "--help"]),
                            ("help_cache_peek", ["cache", "peek", "--help"]),
                            ("help_cache_invalidate", ["cache", "invalidate", "--help"]),
                            ("help_session", ["session", "--help"]),
                            ("help_session_ls", ["session", "ls", "--help"]),
                            ("help_session_end", ["session", "end", "--help"]),
                            ("help_board", ["board", "--help"]),
                            ("help_board_top", ["board", "top", "--help"]),
                            ("help_board_rank", ["board", "rank", "--help"]),
                            ("help_board_around", ["board", "around", "--help"]),
                            ("help_board_add", ["board", "add", "--help"]),
                            ("help_board_increase", ["board", "increase", "--help"]),
                            ("help_board_rm", ["board", "rm", "--help"]),
                            ("help_board_tend", ["board", "tend", "--help"]),
                            ("help_board_repair", ["board", "repair", "--help"]),
                            ("help_channel", ["channel", "--help"]),
                            ("help_channel_publish", ["channel", "publish", "--help"]),
                            ("help_channel_listen", ["channel", "listen", "--help"]),
                            ("help_doctor", ["doctor", "--help"]),
                            ("help_schema", ["schema", "--help"]),
                            ("help_top", ["top", "--help"]),
                            ("help_serve", ["serve", "--help"]),
                            ("help_load", ["load", "--help"]),
                            ("help_task", ["task", "--help"]),
                            ("help_task_submit", ["task", "submit", "--help"]),
                            ("help_task_ls", ["task", "ls", "--help"]),
                            ("help_task_show", ["task", "show", "--help"]),
                            ("help_task_cancel", ["task", "cancel", "--help"]),
                            ("help_task_retry", ["task", "retry", "--help"]),
                            ("help_task_wait", ["task", "wait", "--help"]),
                            ("help_task_watch", ["task", "watch", "--help"]),
                            ("help_task_queue", ["task", "queue", "--help"]),
                            ("help_task_schedule", ["task", "schedule", "--help"]),
                            ("help_worker", ["worker", "--help"]),
                            ("help_video", ["video", "--help"]),
                            ("help_video_add", ["video", "add", "--help"]),
                            ("help_completion", ["completion", "--help"]),
                            ("help_completion_bash", ["completion", "bash", "--help"]),
                            ("help_help", ["help", "help"]),
                            ("help_bench", ["bench", "--help"]),
                            ("help_bench_locks", ["bench", "locks", "--help"]),
                            ("help_bench_keeper", ["bench", "keeper", "--help"]),
                            ("help_bench_handoff", ["bench", "handoff", "--help"]),
                            ("help_bench_limit", ["bench", "limit", "--help"]),
                            ("help_bench_cache", ["bench", "cache", "--help"]),
                            ("help_bench_board", ["bench", "board", "--help"]),
                            ("help_bench_raw", ["bench", "raw", "--help"]),
                            ("help_bench_tasks", ["bench", "tasks", "--help"])):
            with self.subTest(name):
                done = holdfast(*words)
                self.assertEqual((done.returncode, done.stderr), (SUCCESS, ""))
                lines = done.stdout.splitlines()
                self.assertLessEqual(len(lines), 24)
                self.assertLessEqual(max(map(len, lines)), 80)
                self.expect_golden(name, done.stdout)

    def test_help_is_also_a_command(self):
        for words in ((), ("run",), ("lock", "ls")):
            self.expect(holdfast("help", *words), SUCCESS, holdfast(*words, "--help").stdout)
        self.expect(holdfast("help", "run", "--ttl"), SUCCESS, holdfast("run", "--help").stdout)
        self.expect_misuse(holdfast("help", "nonsense"), "has no command 'nonsense'")

    def test_help_is_in_the_list_and_the_manual_as_the_others_are(self):
        self.assertRegex(holdfast("--help").stdout, r"(?m)^  help +Show the options of a command$")
        self.assertIn("holdfast help [COMMAND]", holdfast("manual").stdout)
        self.expect_misuse(holdfast("hepl"), "did you mean 'help'?")

    def test_the_manual_page_has_every_command_and_no_fault(self):
        page = holdfast("manual")
        self.assertEqual((page.returncode, page.stderr), (SUCCESS, ""))
        shown = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-P-cbou"], input=page.stdout,
                               capture_output=True, text=True, check=True)
        self.assertEqual(shown.stderr, "")
        for part in ("holdfast run NAME", "holdfast lock evict NAME", "--busy-code N", "NO_COLOR",
                     "holdfast limit take KEY", "EXIT STATUS"):
            self.assertIn(part, shown.stdout)

    def complete(self, *words):
        """What bash would offer for the last word."""
        script = holdfast("completion", "bash").stdout
        line = " ".join(f"'{word}'" for word in ("holdfast", *words))
        asked = (f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words)}; _holdfast; "
                 "printf '%s\\n' \"${COMPREPLY[@]}\"")
        done = subprocess.run(["bash", "--norc", "-c", asked], capture_output=True, text=True,
                              check=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_bash_completes_commands_options_and_choices(self):
        self.assertEqual(self.complete("loc"), ["lock"])
        self.assertEqual(self.complete("lock", ""), ["ls", "show", "watch", "evict", "wait", "-h",
                                                     "--help"])
        self.assertEqual(self.complete("run", "a", "--se"), ["--semaphore"])
        self.assertEqual(self.complete("lock", "ls", "--format", ""), ["text", "json"])
        self.assertIn("/etc/passwd", self.complete("lock", "ls", "--engine-file", "/etc/pass"))
        self.assertIn("/etc/passwd", self.complete("bench", "raw", "--plot", "/etc/pass"))
        self.assertEqual(self.complete("hel"), ["help"])
        self.assertEqual(self.complete("help", "loc"), ["lock"])
        self.assertEqual(self.complete("help", "lock", "w"), ["watch", "wait"])
        self.assertEqual(self.complete("help", "lock", "-"), [])
        self.assertIn("ls", self.complete("run", "a", "--", "ls"))

    def test_an_unknown_command_is_answered_with_the_nearest(self):
        self.expect_misuse(holdfast("dmeo"), "holdfast has no command 'dmeo'",
                           "did you mean 'demo'?", "See 'holdfast --help'.")
        self.expect_misuse(holdfast("bench", "lokcs"), "did you mean 'locks'?",
                           "See 'holdfast bench --help'.")
        far = holdfast("zzzzzz")
        self.expect_misuse(far, "holdfast has no command 'zzzzzz'")
        self.assertNotIn("did you mean", far.stderr)

    def test_an_unknown_option_is_answered_with_the_nearest(self):
        self.expect_misuse(holdfast("--verzion"), "did you mean '--version'?")
        self.expect_misuse(holdfast("bench", "locks", "--thraeds", "3"),
                           "holdfast bench locks has no option '--thraeds'",
                           "did you mean '--threads'?", "See 'holdfast bench locks --help'.")
        self.expect_misuse(holdfast("lock", "ls", "--eng", "redis:"), "did you mean '--engine'?")
        self.expect_misuse(holdfast("--engine", "redis:", "lock", "ls"),
                           "has no option '--engine'; it stands after the command's name")
        self.expect_misuse(holdfast("lock", "show", "-a=b"),
                           "has no option '-a'; if that is a name: holdfast lock show -- -a=b")

    def test_the_name_of_a_command_is_a_word_like_any_other_after_a_command(self):
        engine = ("--engine", f"sqlite:{self.directory()}/a.db")
        for words in (("lock", "ls", "top"), ("lock", "ls", "once"), ("lock", "ls", "show")):
            done = holdfast(*words, *engine)
            self.assertEqual((done.returncode, done.stdout), (SUCCESS, ""), done.stderr)
        self.expect_misuse(holdfast("bench", "locks", "raw"), "what to do with 'raw'")

    def test_a_line_that_cannot_be_understood_is_answered_in_one_sentence(self):
        form = r"\Aholdfast: [^\n]+\nSee 'holdfast [a-z ]+--help'\.\n\Z"
        for words, why in (
                (("run", "a", "--ttl", "1s", "--ttl", "2s"),
                 "--ttl is given 2 times; give it once"),
                (("run", "a", "--shared=foo"), "--shared takes no value; leave '=foo' out"),
                (("run", "a", "--shared=false"), "--shared takes no value; leave '=false' out"),
                (("run", "a", "--ttl", "--", "true"), "--ttl takes a value: --ttl TIME"),
                (("lock", "ls", "--engine", "--format", "json"),
                 "--engine takes a value: --engine URL"),
                (("lock", "ls", "--format="), "--format takes a value: --format text|json"),
                (("lock", "show"), "NAME is required: holdfast lock show NAME [options]"),
                (("lock", "evict", "a"), "--reason is required: add --reason TEXT"),
                (("limit", "take", "a"), "--rate is required: add --rate N/TIME"),
                (("limit", "take", "a", "b", "--rate", "1/s"), "what to do with 'b'"),
                (("bench", "locks", "--threads", "2", "--tasks", "2"),
                 "use --threads or --tasks, not both"),
                (("run", "a", "--once", "0"), "--once: '0' is too short; the least is 1ms"),
                (("run", "a", "--cooldown", "5us"), "'5us' is too short; the least is 1ms"),
                (("bench", "limit", "--tasks"), "--tasks: a rate limiter has no call"),
                (("run", "a", "--wait", "99999999999h"),
                 "--wait: '99999999999h' is too long; the most is 8760h"),
                (("run", "a", "--ttl", "9000h"), "--ttl: '9000h' is too long; the most is 24h"),
                (("run", "a", "--ttl", "25h"), "--ttl: '25h' is too long; the most is 24h"),
                (("run", "a", "--ttl", "9ms"), "--ttl: '9ms' is too short; the least is 10ms"),
                (("run", "a", "--ttl", "x"), "--ttl: 'x' is no time")):
            with self.subTest(words):
                done = holdfast(*words)
                self.expect_misuse(done, why)
                self.assertRegex(done.stderr, form)

    def test_a_number_out_of_bounds_is_answered_with_the_bounds(self):
        for words, option, bounds in (
                (("run", "a"), "--semaphore", "1 to 1000000"),
                (("run", "a"), "--busy-code", "0 to 255"),
                (("limit", "take", "a", "--rate", "1/s"), "--burst", "1 to 1000000000"),
                (("limit", "peek", "a", "--rate", "1/s"), "--amount", "1 to 1000000000"),
                (("bench", "locks"), "--threads", "1 to 1024"),
                (("bench", "locks"), "--processes", "1 to 1000"),
                (("bench", "locks"), "--tasks", "1 to 100000"),
                (("bench", "locks"), "--names", "1 to 1000"),
                (("bench", "locks"), "--hung", "1 to 2"),
                (("bench", "locks"), "--rate", "1 to 10000000"),
                (("bench", "locks"), "--seconds", "1 to 3600"),
                (("bench", "locks"), "--rounds", "1 to 100"),
                (("bench", "handoff"), "--readers", "1 to 1000"),
                (("bench", "handoff"), "--local-passes", "0 to 100"),
                (("bench", "limit"), "--keys", "1 to 1000000"),
                (("bench", "keeper"), "--leases", "1 to 10000000"),
                (("bench", "keeper"), "--seconds", "1 to 86400")):
            wrong = ["-1", "99999999999999999999", "many", "1.5", "0x10", ""]
            if not bounds.startswith("0"):
                wrong.append("0")
            for value in wrong:
                with self.subTest(words=words, option=option, value=value):
                    self.expect_misuse(holdfast(*words, option, value),
                                       f"{option}: '{value}' is no whole number from {bounds}")

        self.expect_one_sentence(holdfast("limit", "take", "a", "--rate", "1/day", "--burst",
                                          "1000000000"), USAGE, "--burst: the bucket would need")

    def test_a_time_that_is_too_short_is_answered_with_the_least(self):
        for words, option, least in (
                (("once", "a"), "--window", "1ms"),
                (("run", "a"), "--once", "1ms"),
                (("run", "a"), "--cooldown", "1ms"),
                (("top",), "--every", "10ms"),
                (("lock", "watch"), "--every", "10ms")):
            with self.subTest(words=words, option=option):
                self.expect_misuse(holdfast(*words, option, "0s"),
                                   f"{option}: '0s' is too short; the least is {least}")

    def test_a_number_with_zeros_before_it_is_no_octal_one(self):
        done = holdfast("limit", "peek", "a", "--rate", "9/min", "--amount", "010", "--engine",
                        f"sqlite:{self.directory()}/a.db")
        self.expect(done, USAGE, "refused: never more than 9 at once\n")

    def test_a_line_without_a_command_is_misuse(self):
        self.expect_misuse(holdfast(), "name a command")
        self.expect_misuse(holdfast("bench"),
                           "name a command: locks, keeper, handoff, limit, cache, board, raw")
        self.expect_misuse(holdfast("completion", "fish"), "no command 'fish'; it has bash, zsh")

    def test_a_bad_value_is_answered_with_what_would_be_right(self):
        locks = ("bench", "locks")
        self.expect_misuse(holdfast(*locks, "--threads", "many"),
                           "--threads: 'many' is no whole number from 1 to 1024")
        self.expect_misuse(holdfast(*locks, "--threads", "0"), "from 1 to 1024")
        self.expect_misuse(holdfast(*locks, "--format", "jsno"), "did you mean 'json'?")
        self.expect_misuse(holdfast(*locks, "--engine", "memroy:"), "cannot be measured")
        self.expect_misuse(holdfast("bench", "keeper", "--ttl", "10"), "'10' is no time")
        self.expect_misuse(holdfast("bench", "keeper", "--engine", "memroy:"),
                           "did you mean 'memory'?")
        self.expect_misuse(holdfast("bench", "handoff", "--threads", "2", "--processes", "2"),
                           "--processes")
        self.expect_misuse(holdfast("bench", "handoff", "--processes", "2"), "in one process")
        self.expect_misuse(holdfast("bench", "locks", "--processes", "2"), "in one process")
        self.expect_misuse(holdfast("bench", "locks", "--hung", "1"), "take --engine redlock:")
        self.expect_misuse(holdfast("bench", "locks", "--names", "2", "--kind", "shared"),
                           "leave --kind out")
        self.expect_misuse(holdfast("bench", "keeper", "--engine", "sqlite:"),
                           "'sqlite:' cannot be measured like this")

    def test_a_decision_in_json_has_the_fields_that_the_guide_has(self):
        guide = (Path(__file__).resolve().parents[2] / "docs/guide/command_line.md").read_text(
            encoding="utf-8")
        told = set(re.findall(r"`(\w+)`", re.search(r"`--format json` writes `key`.*?\n\n", guide,
                                                    re.DOTALL).group()))
        take = ("limit", "take", "a", "--rate", "2/hour", "--format", "json", "--engine",
                f"sqlite:{self.directory()}/a.db")
        printed = set()
        for words, code in (((), SUCCESS), (("-n", "2"), BUSY), (("-n", "3"), USAGE)):
            done = holdfast(*take, *words)
            self.assertEqual(done.returncode, code, done.stderr)
            printed |= set(json.loads(done.stdout))
        self.assertEqual(printed, told)

    def test_a_password_in_an_engine_url_is_never_shown(self):
        done = holdfast("bench", "locks", "--engine", "redis://me:hunter2@localhost:1")
        self.assertEqual(done.returncode, USAGE)
        self.assertNotIn("hunter2", done.stdout + done.stderr)
        for word in ("redis://me:hunter2@a", "--eng=redis://me:hunter2@a"):
            done = holdfast("lock", "ls", "a", word)
            self.expect_misuse(done)
            self.assertNotIn("hunter2", done.stderr)

    def test_a_server_that_is_not_there_is_exit_code_5(self):
        done = holdfast("bench", "locks", "--engine", "redis://127.0.0.1:1")
        self.assertEqual((done.returncode, done.stdout), (UNKNOWN, ""))
        self.assertIn("127.0.0.1:1", done.stderr)

    def test_a_missing_redis_server_is_said_by_name(self):
        done = holdfast("bench", "locks", "--seconds", "1", PATH="/nowhere")
        self.assertEqual((done.returncode, done.stdout), (UNKNOWN, ""))
        self.assertIn("needs redis-server on the PATH", done.stderr)

    def test_the_demo_shows_a_handoff_a_loss_and_a_refused_write(self):
        done = holdfast("demo")
        self.assertEqual((done.returncode, done.stderr), (SUCCESS, ""), done.stdout)
        story = [r"ana +holds it, fence \d+", r"ben +asks for it", r"ben +waits in the engine",
                 r"ana +releases it",
                 r"ben +woken by the release and the owner already, \d+\.\d+ ms later, fence \d+",
                 r"ana +holds it for 1200 ms at a time", r"ana +is cut off",
                 r"ana +a renewal failed", r"ben +gets it when her lease",
                 r'register +"ben continues" with that fence: accepted',
                 r'register +"ana, too late" with her old fence: refused', r"^Done\."]
        rest = done.stdout
        for line in story:
            found = re.search(line, rest, re.MULTILINE)
            self.assertTrue(found, f"no '{line}' in what is left:\n{rest}")
            rest = rest[found.end():]
        self.assertRegex(done.stdout, r"ana +lost\(\) fires")  # on a busy machine a moment later
        self.assertNotIn("\x1b", done.stdout)
        fences = [int(n) for n in re.findall(r"fence (\d+)", done.stdout)]
        self.assertEqual(fences, sorted(set(fences)))

    def test_colour_is_for_terminals_only_and_never_with_no_color(self):
        painted, code = on_a_terminal("demo")
        self.assertEqual(code, SUCCESS, painted)
        self.assertIn("\x1b[36m", painted)
        plain, code = on_a_terminal("demo", NO_COLOR="1")
        self.assertEqual(code, SUCCESS, plain)
        self.assertNotIn("\x1b[", plain)

    def test_an_empty_engine_is_told_and_not_taken_for_none(self):
        done = holdfast("lock", "ls", "--engine", "")
        self.assertEqual(done.returncode, USAGE, done.stdout)
        self.assertIn("--engine", done.stderr)

    def test_output_that_could_not_be_written_is_no_success(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([ground.PROGRAM, "doctor", "--help"], stdout=full, check=False,
                                  stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, FAILURE)
        self.assertIn("standard output", done.stderr)


if __name__ == "__main__":
    ground.main()
