#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which engine a command works on, and what it says when that cannot be."""

import os
import shutil
import subprocess
from pathlib import Path

import ground
from ground import (BUSY, SUCCESS, UNKNOWN, USAGE, Case, Redis, Sqlite, holdfast,
                    wait_until)


class EngineChoice(Case):
    def server(self, *options):
        made = Redis(*options)
        self.addCleanup(made.close)
        return made

    def test_engine_comes_before_the_environment(self):
        server = self.server()
        self.expect(holdfast("lock", "ls", "--engine", server.url, HOLDFAST_ENGINE="memory:"),
                    SUCCESS, "", "nothing is held\n")
        self.expect(holdfast("lock", "ls", HOLDFAST_ENGINE=server.url), SUCCESS, "",
                    "nothing is held\n")

    def test_engine_file_is_read_by_its_first_line(self):
        server = self.server("--requirepass", "hunter2")
        file = self.directory() / "engine"
        file.write_text(server.url.replace("//", "//:hunter2@") + "\n# ours\n")
        self.expect(holdfast("lock", "ls", "--engine-file", str(file)), SUCCESS, "",
                    "nothing is held\n")
        self.expect_one_sentence(holdfast("lock", "ls", "--engine-file", f"{file}.not"), USAGE,
                                 "--engine-file", "No such file")
        file.write_text("\n")
        self.expect_one_sentence(holdfast("lock", "ls", "--engine-file", str(file)), USAGE,
                                 "must be a URL")
        self.expect_one_sentence(holdfast("lock", "ls", "--engine-file", "x", "--engine", "y:"),
                                 USAGE, "not both")

    def test_a_bad_url_is_one_sentence_and_no_password_is_in_it(self):
        for url in ("redis://me:hunter2@host:port", "rdis://me:hunter2@host", "hunter2 hunter2",
                    "redis://me:hunter2@host?hunter=2"):
            with self.subTest(url):
                done = holdfast("lock", "ls", HOLDFAST_ENGINE=url)
                self.expect_one_sentence(done, USAGE)
                self.assertNotIn("hunter2", done.stderr)
        self.expect_one_sentence(holdfast("lock", "ls", HOLDFAST_ENGINE="rediss//x"), USAGE,
                                 "this is not the URL of an engine: use sqlite:/path")
        self.expect_one_sentence(holdfast("lock", "ls", HOLDFAST_ENGINE="rdis://x"), USAGE,
                                 "did you mean 'redis'?")

    def test_an_engine_that_is_away_or_refuses_us_is_one_sentence_and_exit_code_5(self):
        away = holdfast("run", "a", "--engine", "redis://me:hunter2@127.0.0.1:1", "--", "echo", "x")
        self.expect_one_sentence(away, UNKNOWN, "cannot reach the Redis server at 127.0.0.1:1 "
                                 "(Connection refused): look whether it runs")
        self.assertNotIn("in flight", away.stderr)
        self.assertNotIn("hunter2", away.stderr)
        server = self.server("--requirepass", "hunter2")
        refused = holdfast("run", "a", "--engine", server.url, "--", "echo", "x")
        self.expect_one_sentence(refused, UNKNOWN, "wants a password: give it one in the URL")
        wrong = holdfast("run", "a", "--engine", server.url.replace("//", "//:hunter3@"), "--",
                         "echo", "x")
        self.expect_one_sentence(wrong, UNKNOWN, "refuses the user or the password")
        self.assertNotIn("hunter3", wrong.stderr)

    def test_a_quorum_that_is_away_is_one_sentence_too(self):
        url = "redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3"
        self.expect_one_sentence(holdfast("lock", "ls", "--engine", url), UNKNOWN,
                                 "too few servers answered: 127.0.0.1:1, 127.0.0.1:2, 127.0.0.1:3")
        self.expect_one_sentence(holdfast("run", "a", "--engine", url, "--", "true"), UNKNOWN,
                                 "'a': 0 of 3 granted", "holdfast doctor")

    def test_verbose_adds_the_engines_own_words(self):
        done = holdfast("lock", "ls", "-v", "--engine", "redis://me:hunter2@127.0.0.1:1")
        self.assertEqual(done.returncode, UNKNOWN)
        sentence, detail = done.stderr.splitlines()
        self.assertIn("holdfast: cannot reach", sentence)
        self.assertIn("  SCAN to 127.0.0.1:1: redis 127.0.0.1:1: connect:", detail)
        self.assertNotIn("hunter2", done.stderr)

    def test_what_other_programs_keep_under_a_name_is_told_in_words(self):
        server = self.server()
        def ask(*words):
            return holdfast(*words, HOLDFAST_ENGINE=server.url)
        server.cli("SET", "lock:theirs", "x")
        self.assertIn("  held by   unknown, without an end\n",
                      ask("lock", "show", "theirs").stdout)
        self.assertIn("unknown, without an end\n", ask("run", "theirs", "--", "true").stderr)
        server.cli("LPUSH", "lock:list", "x")
        for words in (("lock", "show", "list"), ("run", "list", "--", "true")):
            self.expect_one_sentence(ask(*words), UNKNOWN, "another program keeps a value")

    def test_a_password_on_the_command_line_is_not_seen_by_ps(self):
        server = self.server("--requirepass", "hunter2")
        ready = self.directory() / "ready"
        held = self.start("run", "a", "--engine", server.url.replace("//", "//app:hunter2@")
                          .replace("app", ""), "--", "sh", "-c", f"touch {ready}; exec sleep 100")
        wait_until(ready.exists, "it is held")
        with open(f"/proc/{held.pid}/cmdline", encoding="utf-8") as words:  # what ps shows
            seen = words.read()
        self.assertIn(f":*******@127.0.0.1:{server.port}", seen)
        self.assertNotIn("hunter2", seen)

    def test_memory_is_refused_because_nobody_else_would_see_it(self):
        for words in (("run", "a", "--", "true"), ("lock", "ls"), ("once", "k"), ("top",),
                      ("limit", "take", "k", "--rate", "1/s")):
            with self.subTest(words):
                done = holdfast(*words, HOLDFAST_ENGINE="memory:")
                self.expect_one_sentence(done, USAGE, "memory: is inside one process")

    def test_the_usual_engine_is_a_file_that_only_its_user_may_read(self):
        state = self.directory() / "a state"  # with a blank, which a URL must encode
        self.expect(holdfast("run", "a", "--", "echo", "x", XDG_STATE_HOME=str(state)), SUCCESS,
                    "x\n")
        ours = state / "holdfast"
        self.assertEqual(ours.stat().st_mode & 0o777, 0o700)
        self.assertTrue((ours / "holdfast.db").exists())
        home = self.directory()
        holdfast("run", "a", "--", "true", HOME=str(home), XDG_STATE_HOME=None)
        self.assertTrue((home / ".local/state/holdfast/holdfast.db").exists())

    def test_what_is_not_a_regular_file_is_refused_at_once(self):
        pipe = self.directory() / "leases.db"
        os.mkfifo(pipe)
        for file in (pipe, "/dev/null", "/dev/full"):
            for words in (("run", "a", "--", "echo", "x"), ("lock", "ls")):
                with self.subTest((file, words)):
                    self.expect_one_sentence(
                        holdfast(*words, HOLDFAST_ENGINE=f"sqlite:{file}"), USAGE,
                        f"sqlite:{file}: this is not a regular file: name another one")
        self.assertEqual(os.listdir(pipe.parent), [pipe.name])
        self.assertFalse(any(Path("/dev").glob("null-*")) or any(Path("/dev").glob("full-*")))

    def test_a_file_with_two_names_has_no_two_holders(self):
        file = Sqlite()
        self.addCleanup(file.close)
        same = Path(file.directory) / "same.db"
        ready = self.directory() / "ready"
        self.start("run", "a", "--engine", file.url, "--", "sh", "-c",
                   f"touch {ready}; exec sleep 100")
        wait_until(ready.exists, "it is held")
        same.hardlink_to(file.file)
        self.expect_one_sentence(holdfast("run", "a", "--engine", f"sqlite:{same}", "--", "echo",
                                          "x"), USAGE, "hard links", "remove the other names")

    def test_a_file_without_permission_is_one_sentence(self):
        place = self.directory()
        place.chmod(0o755)
        file = place / "leases.db"
        file.touch(0o600)
        if os.geteuid() != 0:
            file.chmod(0o000)
        # root may open anything, so somebody else asks
        done = subprocess.run([ground.PROGRAM, "run", "a", "--engine", f"sqlite:{file}", "--",
                               "echo", "x"], capture_output=True, text=True, check=False,
                              env=ground.environment(),
                              user=65534 if os.geteuid() == 0 else None)
        self.expect_one_sentence(done, UNKNOWN, "no permission", str(file))

    def ask_as_nobody(self, url, *words):
        """Who owns the file may do anything, so somebody else asks."""
        if os.geteuid() != 0:
            self.skipTest("allowed: needs to be another user")
        return subprocess.run([ground.PROGRAM, *words], capture_output=True, text=True, check=False,
                              env=ground.environment(HOLDFAST_ENGINE=url), timeout=60, user=65534)

    def test_a_file_that_this_user_may_only_read_is_read(self):
        place = self.directory()
        url = f"sqlite:{place}/leases.db"
        ready = place / "ready"
        held = self.start("run", "b", "--engine", url, "--", "sh", "-c",
                          f"touch {ready}; exec sleep 100")
        wait_until(ready.exists, "it is held")
        for file in place.iterdir():
            file.chmod(0o444)
        place.chmod(0o777)
        self.addCleanup(place.chmod, 0o700)
        seen = self.ask_as_nobody(url, "lock", "ls")
        self.assertEqual((seen.returncode, seen.stderr), (SUCCESS, ""))
        self.assertIn("\nb  ", seen.stdout)
        self.assertEqual(self.ask_as_nobody(url, "lock", "show", "b").stdout[:7], "b: held")
        self.expect_one_sentence(self.ask_as_nobody(url, "lock", "wait", "b", "--timeout", "0"),
                                 BUSY, "'b' is still held")
        self.assertIn("1 held", self.ask_as_nobody(url, "top").stdout)
        for words in (("run", "c", "--", "true"), ("once", "k"),
                      ("lock", "evict", "b", "--reason", "x", "-y")):
            self.expect_one_sentence(self.ask_as_nobody(url, *words), UNKNOWN,
                                     f"{url}: this user may only read the file\n")
        held.terminate()
        held.wait(30)  # the last one puts the log away
        self.expect(self.ask_as_nobody(url, "lock", "ls"), SUCCESS, "", "nothing is held\n")
        self.expect(self.ask_as_nobody(url, "lock", "show", "b"), SUCCESS, "b: free\n")
        self.assertEqual({file.stat().st_uid for file in place.iterdir()}, {os.geteuid()})
        (place / "leases.db").chmod(0o666)
        place.chmod(0o555)
        self.expect(self.ask_as_nobody(url, "lock", "ls"), SUCCESS, "", "nothing is held\n")
        self.expect_one_sentence(self.ask_as_nobody(url, "run", "c", "--", "true"), UNKNOWN,
                                 "this user may not write its directory")

    def on_a_small_disk(self, script):
        """Runs it with $DISK, whose file $DB has been used, and $FULL, which fills it."""
        place = self.directory()
        set_up = (f"mount -t tmpfs -o size=400k none {place} || exit 77; export DISK={place}; "
                  f"export HOLDFAST_ENGINE=sqlite:{place}/leases.db; "
                  f"holdfast() {{ '{ground.PROGRAM}' \"$@\"; }}; "
                  f"FULL='dd if=/dev/zero of={place}/rest bs=1k'; holdfast run a -- true; ")
        done = subprocess.run(["unshare", "-m", "sh", "-c", set_up + script], capture_output=True,
                              text=True, check=False, env=ground.environment(), timeout=60)
        if done.returncode in (1, 77) and "mount" in done.stderr or "unshare" in done.stderr:
            self.skipTest("allowed: needs to mount a small disk")
        return done

    def test_on_a_disk_that_is_full_what_is_held_can_be_seen(self):
        done = self.on_a_small_disk(
            "$FULL 2>/dev/null; holdfast lock ls; holdfast lock show b; "
            "holdfast run b -- true")
        self.assertEqual(done.returncode, UNKNOWN)
        self.assertEqual(done.stdout, "b: free\n")
        first, last = done.stderr.splitlines()
        self.assertEqual(first, "nothing is held")
        self.assertRegex(last, "^holdfast: sqlite:.*: the disk is full[^()]*$")
        done = self.on_a_small_disk(
            "holdfast run b -- sh -c \"$FULL 2>/dev/null; holdfast lock ls; holdfast lock show b "
            "--format json; holdfast lock wait b --timeout 0\" 2>&1"
            .replace("holdfast lock", ground.PROGRAM + " lock"))
        head, row, shown, waits = done.stdout.splitlines()[:4]
        self.assertTrue(head.startswith("NAME"), done.stdout)
        self.assertTrue(row.startswith("b  "), done.stdout)
        self.assertIn('"holders": [{', shown)
        self.assertEqual(waits, "holdfast: 'b' is still held")

    def test_on_a_read_only_file_system_what_is_held_can_be_seen(self):
        done = self.on_a_small_disk(
            "mount -o remount,ro $DISK; holdfast lock ls; holdfast lock show b; "
            "holdfast run b -- true")
        self.assertEqual((done.returncode, done.stdout), (UNKNOWN, "b: free\n"))
        first, last = done.stderr.splitlines()
        self.assertEqual(first, "nothing is held")
        self.assertRegex(last, r"^holdfast: sqlite:\S+: the file system is read-only$")

    def test_one_who_may_only_read_reads_while_writers_come_and_go(self):
        place = self.directory()
        url = f"sqlite:{place}/leases.db"
        holdfast("run", "a", "--", "true", HOLDFAST_ENGINE=url)
        (place / "leases.db").chmod(0o644)
        place.chmod(0o755)
        script = f"for i in 1 2 3 4 5 6 7 8 9 10; do '{ground.PROGRAM}' run a -- true; done"
        with subprocess.Popen(["sh", "-c", script],
                              env=ground.environment(HOLDFAST_ENGINE=url)) as writers:
            while writers.poll() is None:
                seen = self.ask_as_nobody(url, "lock", "ls")
                self.assertEqual(seen.returncode, SUCCESS, seen.stderr)

    def test_a_file_whose_log_was_left_behind_is_one_sentence_for_those_who_only_read(self):
        place = self.directory()
        used, left = place / "used.db", place / "left.db"
        ready = place / "ready"
        self.start("run", "b", "--engine", f"sqlite:{used}", "--", "sh", "-c",
                   f"touch {ready}; exec sleep 100")
        wait_until(ready.exists, "it is held")
        for end in ("", "-wal"):  # as after a crash: without the shared memory
            shutil.copy(f"{used}{end}", f"{left}{end}")
            Path(f"{left}{end}").chmod(0o444)
        place.chmod(0o555)
        self.addCleanup(place.chmod, 0o700)
        self.expect_one_sentence(self.ask_as_nobody(f"sqlite:{left}", "lock", "ls"), UNKNOWN,
                                 "it was not closed properly")
        place.chmod(0o700)
        left.chmod(0o600)
        self.assertIn("b: held", holdfast("lock", "show", "b", HOLDFAST_ENGINE=f"sqlite:{left}")
                      .stdout)

    def test_a_file_that_another_process_keeps_locked_can_be_read(self):
        file = Sqlite()
        self.addCleanup(file.close)
        holdfast("run", "a", "--", "true", HOLDFAST_ENGINE=file.url)
        file.fail()
        self.expect(holdfast("lock", "ls", HOLDFAST_ENGINE=file.url), SUCCESS, "",
                    "nothing is held\n")
        self.expect_one_sentence(holdfast("run", "a", "--", "true", HOLDFAST_ENGINE=file.url),
                                 UNKNOWN, "another process has it locked")

    def test_verbose_adds_sqlites_own_words(self):
        place = self.directory()
        (place / "leases.db").write_text("no database " * 100)
        done = holdfast("lock", "ls", "-v", "--engine", f"sqlite:{place}/leases.db")
        self.assertEqual(done.returncode, UNKNOWN)
        sentence, detail = done.stderr.splitlines()
        self.assertEqual(sentence, f"holdfast: sqlite:{place}/leases.db: this file is not a "
                         "database; it was not touched")
        self.assertTrue(detail.endswith(" (SQLite, opening: file is not a database, code 26)"),
                        detail)

    def test_a_damaged_file_is_called_so_and_what_to_do_is_said(self):
        file = Sqlite()
        self.addCleanup(file.close)
        holdfast("run", "a", "--", "true", HOLDFAST_ENGINE=file.url)
        with open(file.file, "r+b") as bytes_of_it:
            bytes_of_it.seek(4100)
            bytes_of_it.write(b"x" * 9000)
        self.expect_one_sentence(holdfast("run", "a", "--", "true", HOLDFAST_ENGINE=file.url),
                                 UNKNOWN, "the database is damaged: end all that use it, and move "
                                 "it away")

    def test_a_full_disk_is_one_sentence(self):
        place = self.directory()
        script = (f"mount -t tmpfs -o size=16k none {place} || exit 77; "
                  f"exec '{ground.PROGRAM}' run a --engine sqlite:{place}/leases.db -- echo x")
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True,
                              check=False, env=ground.environment())
        if done.returncode in (1, 77):
            self.skipTest("allowed: needs to mount a small disk")
        self.expect_one_sentence(done, UNKNOWN, "the disk is full")

    def test_a_file_that_a_full_disk_left_half_made_is_used_when_there_is_room(self):
        done = self.on_a_small_disk(
            "rm $DISK/leases.db*; dd if=/dev/zero of=$DISK/rest bs=1k count=384 2>/dev/null; "
            "holdfast run a -- echo no; wc -c < $DISK/leases.db; "
            "holdfast doctor; rm $DISK/rest; holdfast run a -- echo yes")
        self.assertEqual(done.returncode, SUCCESS, done.stderr)
        self.assertRegex(done.stderr, r"\Aholdfast: sqlite:\S+: the disk is full\n\Z")
        size, finding, *_, last = done.stdout.splitlines()
        self.assertEqual((size, last), ("4096", "yes"))
        self.assertRegex(finding, "^unsafe  disk .* are free: a full disk grants")

    def test_without_a_home_there_is_no_usual_engine(self):
        self.expect_one_sentence(holdfast("lock", "ls", HOME=None, XDG_STATE_HOME=None), USAGE,
                                 "HOLDFAST_ENGINE")

    def test_a_state_directory_that_cannot_be_made_is_one_sentence(self):
        file = self.directory() / "file"
        file.touch()
        done = holdfast("run", "a", "--", "true", XDG_STATE_HOME=str(file))
        self.expect_one_sentence(done, UNKNOWN, "cannot make the directory", str(file))

    def test_who_only_looks_makes_nothing_of_the_usual_engine(self):
        state = self.directory() / "state"
        def ask(*words):
            return holdfast(*words, XDG_STATE_HOME=str(state))
        self.expect(ask("lock", "ls"), SUCCESS, "", "nothing is held\n")
        self.expect(ask("lock", "show", "a"), SUCCESS, "a: free\n")
        self.expect(ask("lock", "wait", "a"), SUCCESS)
        self.expect(ask("lock", "watch", "--for", "50ms"), SUCCESS)
        picture = ask("top")
        self.assertEqual((picture.returncode, picture.stderr), (SUCCESS, ""))
        self.assertIn(f"sqlite:{state}/holdfast/holdfast.db ", picture.stdout)
        self.assertFalse(state.exists())

    def test_who_watches_sees_the_usual_engine_when_it_comes(self):
        state = self.directory() / "state"
        watcher = self.start("lock", "watch", "--every", "10ms", XDG_STATE_HOME=str(state))
        held = self.start("run", "a", "--", "sleep", "100", XDG_STATE_HOME=str(state))
        self.assertRegex(watcher.stdout.readline(), "  (held|acquired) +a  ")
        held.terminate()
        self.assertRegex(watcher.stdout.readline(), "  free +a$")


if __name__ == "__main__":
    ground.main()
