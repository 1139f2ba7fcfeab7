# SPDX-License-Identifier: Apache-2.0
"""Tasks on the command line: workers that are killed and stopped, and a video that is made once.

  tasks_test.py PROGRAM [test names]
"""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import unittest
import urllib.request
from pathlib import Path

import ground
from ground import BUSY, FAILURE, SUCCESS, USAGE, environment, holdfast, is_alive, wait_until

SUCCEEDED = '{"status":"success","video_id":17}'
ALREADY = '{"status":"skipped","reason":"already_processing"}'
INVALID = '{"status":"skipped","reason":"invalid_state"}'


class Tasks(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.directory = Path(tempfile.mkdtemp())
        self.engine = f"sqlite:{self.directory}/tasks.db"
        self.workers = []

    def tearDown(self):
        for one in self.workers:
            if one.poll() is None:
                one.send_signal(signal.SIGCONT)
                one.kill()
            one.communicate()
        shutil.rmtree(self.directory, ignore_errors=True)

    def run_it(self, *words, **changes):
        return holdfast(*words, HOLDFAST_ENGINE=self.engine, **changes)

    def worker(self, *words, **changes):
        one = subprocess.Popen(
            [ground.PROGRAM, "worker", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL, text=True, cwd=self.directory,
            env=environment(HOLDFAST_ENGINE=self.engine, **changes))
        self.workers.append(one)
        return one

    def submit(self, *words):
        done = self.run_it("task", "submit", *words)
        self.assertEqual((done.returncode, done.stderr), (SUCCESS, ""))
        return done.stdout.strip()

    def task(self, name):
        done = self.run_it("task", "show", name, "--format", "json")
        self.assertEqual(done.returncode, SUCCESS, done.stderr)
        return json.loads(done.stdout)

    def wait_for_state(self, name, state):
        wait_until(lambda: self.task(name)["state"] == state, f"{name} is {state}", 60)

    def make_video(self, *options):
        file = self.directory / "film.mp4"
        subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i",
                        "testsrc=d=1:s=64x48:r=10", *options, str(file)], check=True,
                       stdin=subprocess.DEVNULL)
        done = self.run_it("video", "add", str(file), "--id", "17")
        self.assertEqual((done.returncode, done.stdout), (SUCCESS, "17\n"), done.stderr)
        return self.directory / "film.hls"

    def stop(self, worker):
        """Stops it, but not while it has the file locked: SQLite would let nobody else write."""
        file = sqlite3.connect(self.directory / "tasks.db", timeout=0.2, isolation_level=None)
        while True:
            worker.send_signal(signal.SIGSTOP)
            try:
                file.execute("BEGIN IMMEDIATE")
                file.execute("ROLLBACK")
                break
            except sqlite3.OperationalError:
                worker.send_signal(signal.SIGCONT)
        file.close()

    def fake_ffmpeg(self, script):
        """A program of that name that is found first."""
        folder = self.directory / "bin"
        folder.mkdir()
        file = folder / "ffmpeg"
        file.write_text("#!/bin/sh\n" + script, encoding="ascii")
        file.chmod(0o755)
        return f"{folder}:{os.environ['PATH']}"

    def test_a_worker_runs_a_program_for_each_task(self):
        name = self.submit("O'Brien; $(touch evil) {}", "--id", "a1")
        self.submit("bad", "--id", "a2", "--retries", "0")
        script = ('echo "50 half" >&3; echo "result $HOLDFAST_FENCE/$HOLDFAST_ATTEMPT $1" >&3; '
                  'test "$1" != bad')
        worker = self.worker("--until-empty", "--", "sh", "-c", script, "sh", "{}")
        out, log = worker.communicate(timeout=60)
        self.assertEqual(worker.returncode, SUCCESS, log)
        self.assertIn('{"status":"success","task_id":"a1"}', out)
        self.assertIn("task a1: received\ntask a1: finished\ntask a1: lock released\n", log)
        self.assertEqual(self.task(name)["result"], "1/1 O'Brien; $(touch evil) {}")
        self.assertFalse((self.directory / "evil").exists())
        self.assertEqual(self.task("a2")["state"], "dead")
        done = self.run_it("task", "wait", "a2")
        self.assertEqual(done.returncode, FAILURE)
        self.assertIn("it is dead: 'sh': it ended with 1", done.stderr)
        self.assertEqual(self.run_it("task", "retry", "a2").stdout, "pending\n")
        self.assertEqual(self.run_it("task", "wait", "a2", "--timeout", "0").returncode, BUSY)
        self.assertEqual(self.run_it("task", "cancel", "a2").stdout, "cancelled\n")
        self.assertEqual(self.run_it("task", "cancel", "a2").returncode, USAGE)
        self.assertEqual(self.run_it("task", "watch", "a1").stdout, "a1: finished\n")
        listed = self.run_it("task", "ls", "--format", "json").stdout.splitlines()
        self.assertEqual({json.loads(line)["id"] for line in listed}, {"a1", "a2"})

    def test_what_cannot_be_a_task_is_refused(self):
        for words in (("--id", "a/b"), ("--queue", "../x"), ("--priority", "101"),
                      ("--unique", "\x1b"), ("x" * 70000,)):
            done = self.run_it("task", "submit", *words)
            self.assertEqual((done.returncode, done.stdout), (USAGE, ""), words)
        done = self.run_it("task", "schedule", "nightly", "61 * * * *")
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("the minute takes 0 to 59", done.stderr)
        self.assertEqual(self.run_it("task", "show", "nobody").returncode, FAILURE)
        self.assertEqual(self.run_it("worker").returncode, USAGE)
        done = self.run_it("task", "ls", "--engine", "redis://127.0.0.1:1")
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("sqlite:/path", done.stderr)

    def test_after_kill_9_another_worker_finishes_and_nothing_of_the_first_runs(self):
        self.submit("x", "--id", "a1")
        first = self.worker("--lease", "3s", "--", "sh", "-c",
                            "echo $$ > first; sleep 1000; echo late > out")
        wait_until(lambda: (self.directory / "first").exists()
                   and (self.directory / "first").read_text().strip(), "it runs")
        group = int((self.directory / "first").read_text())
        first.kill()
        wait_until(lambda: not is_alive(group), "its command is gone", 60)
        second = self.worker("--until-empty", "--", "sh", "-c", "echo $HOLDFAST_FENCE > out")
        _, log = second.communicate(timeout=60)
        self.assertIn("task a1: its worker is gone; it runs again\n", log)
        task = self.task("a1")
        self.assertEqual((task["state"], task["failures"]), ("finished", 0))
        self.assertGreaterEqual(task["crashes"], 1)
        self.assertGreaterEqual(int((self.directory / "out").read_text()), 3)

    def test_a_worker_that_was_stopped_past_its_lease_writes_nothing(self):
        self.submit("x", "--id", "a1")
        first = self.worker("--lease", "3s", "--output", "published", "--", "sh", "-c",
                            "touch began; echo first > $HOLDFAST_OUTPUT/f; sleep 1000")
        wait_until((self.directory / "began").exists, "it runs")
        self.stop(first)
        second = self.worker("--until-empty", "--output", "published", "--",
                             "sh", "-c", "echo second > $HOLDFAST_OUTPUT/f")
        second.communicate(timeout=60)
        self.assertEqual(self.task("a1")["state"], "finished")
        first.send_signal(signal.SIGCONT)
        first.send_signal(signal.SIGTERM)
        out, log = first.communicate(timeout=60)
        self.assertIn("task a1: lost: ", log)
        self.assertNotIn("success", out)
        self.assertEqual((self.directory / "published/a1/f").read_text(), "second\n")
        self.assertEqual(os.listdir(self.directory / "published"), ["a1"])
        self.assertGreaterEqual(self.task("a1")["crashes"], 1)

    def test_on_sigterm_it_ends_what_runs_and_the_second_gives_it_back(self):
        self.submit("x", "--id", "a1")
        self.submit("x", "--id", "a2")
        script = "touch began-$HOLDFAST_TASK; while ! test -e end; do sleep 0.02; done"
        first = self.worker("--", "sh", "-c", script)
        wait_until((self.directory / "began-a1").exists, "it runs")
        first.terminate()
        self.assertIn("draining", first.stderr.readline() + first.stderr.readline())
        first.terminate()
        first.communicate(timeout=60)
        task = self.task("a1")
        self.assertEqual((task["state"], task["attempt"]), ("pending", 0))
        second = self.worker("--", "sh", "-c", script)
        wait_until(lambda: self.task("a1")["state"] == "running", "it runs again")
        second.terminate()
        (self.directory / "end").touch()
        second.communicate(timeout=60)
        self.assertEqual((self.task("a1")["state"], self.task("a2")["state"]),
                         ("finished", "pending"))

    def test_a_worker_serves_its_metrics_and_top_shows_what_it_runs(self):
        self.submit("x", "--id", "a1")
        worker = self.worker("--metrics", "127.0.0.1:0", "--lease", "1s", "--", "sh", "-c",
                             'echo "40 half way" >&3; while ! test -e end; do sleep 0.02; done')
        where = worker.stderr.readline()
        self.assertRegex(where, r"^metrics: http://127\.0\.0\.1:\d+/metrics\n$")
        url = where.split()[1]

        def metrics():
            with urllib.request.urlopen(url, timeout=30) as answer:
                return answer.read().decode()
        wait_until(lambda: "\nholdfast_tasks_running 1\n" in metrics(), "it runs")
        wait_until(lambda: " 40 % " in self.run_it("top").stdout, "top shows it", 60)
        self.assertRegex(self.run_it("top").stdout, r"(?m)^a1 .* 1 +default .*half way")
        (self.directory / "end").touch()
        wait_until(lambda: "\nholdfast_tasks_finished_total 1\n" in metrics(), "it finished")
        self.assertIn("\nholdfast_leases_acquired_total ", metrics())
        done = self.run_it("worker", "--metrics", "0.0.0.0:0", "--", "true")
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("loopback", done.stderr)

    def test_top_makes_no_tables_of_tasks(self):
        self.assertEqual(self.run_it("once", "k").returncode, SUCCESS)
        self.assertEqual(self.run_it("top").returncode, SUCCESS)
        with sqlite3.connect(self.directory / "tasks.db") as file:
            names = {row[0] for row in file.execute("SELECT name FROM sqlite_master")}
        file.close()
        self.assertNotIn("holdfast_tasks", names)

    def test_a_paused_queue_rests_and_a_running_task_is_cancelled(self):
        self.assertEqual(self.run_it("task", "queue", "default", "--pause").returncode, SUCCESS)
        self.submit("x", "--id", "a1")
        self.worker("--lease", "1s", "--", "sh", "-c", "touch began; sleep 1000")
        self.assertIn("paused", self.run_it("task", "queue").stdout)
        self.assertEqual(self.task("a1")["state"], "pending")
        self.assertEqual(self.run_it("task", "queue", "default", "--resume").returncode, SUCCESS)
        wait_until((self.directory / "began").exists, "it runs")
        self.assertEqual(self.run_it("task", "cancel", "a1").stdout, "asked to stop\n")
        self.wait_for_state("a1", "cancelled")

    def test_a_video_is_made_and_published_whole(self):
        place = self.make_video()
        worker = self.worker("--video", "--task", "17")
        out, log = worker.communicate(timeout=60)
        self.assertEqual((worker.returncode, out), (SUCCESS, SUCCEEDED + "\n"), log)
        self.assertEqual(log, "task 17: received\ntask 17: finished\ntask 17: lock released\n")
        self.assertEqual(sorted(os.listdir(place)),
                         ["48p", "index.html", "master.m3u8", "poster.jpg", "storyboard.jpg"])
        self.assertIn("RESOLUTION=64x48\n48p/index.m3u8", (place / "master.m3u8").read_text())
        self.assertIn("#EXT-X-ENDLIST", (place / "48p/index.m3u8").read_text())
        self.assertEqual(self.task("17")["output"], str(place))
        again = self.worker("--video", "--task", "17")
        out, log = again.communicate(timeout=60)
        self.assertEqual((again.returncode, out), (BUSY, INVALID + "\n"))
        self.assertIn("task 17: skipped: its state does not fit\n", log)
        done = self.run_it("video", "add", str(self.directory / "film.mp4"))
        self.assertEqual(done.returncode, USAGE)

    def test_of_two_workers_with_one_video_one_skips(self):
        self.make_video()
        path = self.fake_ffmpeg(f"while ! test -e {self.directory}/go; do sleep 0.02; done\n"
                                'exec /usr/bin/ffmpeg "$@"\n')
        first = self.worker("--video", "--task", "17", PATH=path)
        self.wait_for_state("17", "running")
        second = self.worker("--video", "--task", "17")
        out, log = second.communicate(timeout=60)
        self.assertEqual((second.returncode, out), (BUSY, ALREADY + "\n"))
        self.assertIn("task 17: skipped: another task has the lock\n", log)
        held = self.run_it("lock", "show", "video_processing_lock:17").stdout
        self.assertIn("held, exclusive", held)
        (self.directory / "go").touch()
        out, _ = first.communicate(timeout=60)
        self.assertEqual(out, SUCCEEDED + "\n")

    def test_a_worker_that_crashes_with_a_video_leaves_nothing_half_done(self):
        place = self.make_video()
        path = self.fake_ffmpeg(f"touch {self.directory}/began; sleep 1000\n")
        first = self.worker("--video", "--lease", "3s", PATH=path)
        wait_until((self.directory / "began").exists, "it runs")
        first.kill()
        self.assertFalse(place.exists())
        second = self.worker("--video", "--until-empty")
        out, log = second.communicate(timeout=60)
        self.assertIn(SUCCEEDED, out, log)
        self.assertIn("task 17: its worker is gone; it runs again\n", log)
        self.assertTrue((place / "master.m3u8").exists())
        self.assertEqual([one for one in os.listdir(self.directory) if one.endswith(".partial")],
                         [])

    def test_a_worker_that_dies_while_it_publishes_is_completed_by_another(self):
        """As if it had been killed between the row and the rename: the row says publishing."""
        self.submit("x", "--id", "a1")
        first = self.worker("--lease", "3s", "--output", "published", "--", "sh", "-c",
                            "echo whole > $HOLDFAST_OUTPUT/f; echo $HOLDFAST_OUTPUT > began; "
                            "sleep 1000")
        wait_until(lambda: (self.directory / "began").exists()
                   and (self.directory / "began").read_text().strip(), "it runs")
        staged = (self.directory / "began").read_text().strip()
        first.kill()
        first.wait()
        with sqlite3.connect(self.directory / "tasks.db", timeout=30) as file:
            file.execute("UPDATE holdfast_tasks SET state = 'publishing', staged = ?, place = ?, "
                         "result = 'said' WHERE id = 'a1'",
                         (staged, str(self.directory / "published/a1")))
        file.close()
        second = self.worker("--until-empty", "--", "false")
        second.communicate(timeout=60)
        task = self.task("a1")
        self.assertEqual((task["state"], task["result"], task["attempt"]), ("finished", "said", 1))
        self.assertEqual((self.directory / "published/a1/f").read_text(), "whole\n")

    def test_what_is_no_video_and_a_sick_ffmpeg_say_so(self):
        file = self.directory / "no.mp4"
        file.write_text("not a video", encoding="ascii")
        picture = self.directory / "picture.png"
        subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=s=64x48",
                        "-frames:v", "1", str(picture)], check=True, stdin=subprocess.DEVNULL)
        playlist = self.directory / "list.m3u8"
        playlist.write_text("#EXTM3U\n#EXTINF:1,\n/etc/passwd\n", encoding="ascii")
        for name in ("no.mp4", "picture.png", "list.m3u8"):
            done = self.run_it("video", "add", str(self.directory / name))
            self.assertEqual((done.returncode, done.stdout), (USAGE, ""))
            self.assertIn("this is no video: ", done.stderr)
            # As if there were no ffprobe where it is submitted.
            self.submit(f"{self.directory / name}\n{self.directory / name}.hls", "--queue",
                        "video", "--id", name)
            worker = self.worker("--video", "--task", name)
            out, _ = worker.communicate(timeout=60)
            self.assertTrue(out.startswith('{"status":"error","reason":"this is no video: '), out)
            self.assertEqual(self.task(name)["state"], "dead")
        place = self.make_video()
        for script, reason in (
                ("exit 127", "ffmpeg cannot be run: install the package ffmpeg"),
                ("kill -9 $$", "ffmpeg: it was killed by SIGKILL"),
                ("echo 'av_interleaved_write_frame(): No space left on device' >&2; exit 1",
                 "the disk is full: make room, and it is tried again")):
            shutil.rmtree(self.directory / "bin", ignore_errors=True)
            self.run_it("task", "cancel", "17")
            self.run_it("task", "retry", "17")
            worker = self.worker("--video", "--task", "17", PATH=self.fake_ffmpeg(script + "\n"))
            out, _ = worker.communicate(timeout=60)
            self.assertEqual(json.loads(out), {"status": "error", "reason": reason})
            self.assertFalse(place.exists())
        self.assertEqual([one for one in os.listdir(self.directory) if one.endswith(".partial")],
                         [])


if __name__ == "__main__":
    ground.main()
