#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a person sees on a terminal: holdfast top, and the bar of a measurement."""

import fcntl
import os
import re
import signal
import struct
import termios

import ground
from ground import SUCCESS, UNKNOWN, Case, Redis, Sqlite, Terminal, holdfast, wait_until


def screen_of(text):
    """The lines of the last picture, without colours."""
    last = text.rsplit("\x1b[H", 1)[-1]
    return [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", line).rstrip("\r")
            for line in last.split("\r\n")]


class Screen(Case):
    def setUp(self):
        self.use(Redis())
        self.work = self.directory()

    def use(self, engine):
        self.engine = engine
        self.addCleanup(engine.close)

    def hold(self, name, ttl="60s"):
        ready = self.work / f"ready-{name}"
        held = self.start("run", name, "--ttl", ttl, "--", "sh", "-c",
                          f"touch {ready}; exec sleep 1000", HOLDFAST_ENGINE=self.engine.url)
        wait_until(ready.exists, f"{name} is held")
        return held

    def top(self, *words, **changes):
        return Terminal("top", "--every", "50ms", *words, HOLDFAST_ENGINE=self.engine.url,
                        **changes)

    def test_top_draws_leases_as_bars_with_waiters_and_rates_and_leaves_the_screen_as_it_was(self):
        held = self.hold("orders")
        self.start("run", "orders", "--wait", "forever", "--", "true",
                   HOLDFAST_ENGINE=self.engine.url)
        self.hold("mails")
        term = self.top(columns=100)
        def whole(text):
            drawn = "".join(screen_of(text))
            return re.search(r"2 held, 1 waiting   acquired ≥?\d", drawn) and "mails" in drawn
        term.read_until(whole, "it shows what is held")
        lines = screen_of(term.text)
        self.assertRegex(lines[0], r"^holdfast top  redis://127.0.0.1:\d+ +\d\d:\d\d:\d\d  q quits")
        self.assertRegex(lines[1],
                         r"acquired ≥?\d+\.\d/s +handed off \d+\.\d/s +expired \d+\.\d/s")
        self.assertRegex(lines[3], r"^NAME +LEFT +WAITING HOLDER")
        self.assertRegex(lines[4], rf"^orders +━+─* .*\d+ ?.* 1 .*sh on .* \({held.pid}\)")
        self.assertRegex(lines[5], r"^mails +━+")
        self.assertLessEqual(max(map(len, lines)), 100)
        term.type("q")
        self.assertEqual(term.end(), SUCCESS)
        self.assertIn("\x1b[?1049h", term.text)
        self.assertTrue(term.text.endswith("\x1b[?25h\x1b[?1049l"), term.text[-40:])

    def test_top_counts_a_lease_that_nobody_gave_back_in_a_file_too(self):
        self.use(Sqlite())
        held = self.hold("orders", ttl="1s")
        given_back = self.hold("mails", ttl="1s")
        term = self.top(columns=100)
        term.read_until(lambda text: "2 held" in "".join(screen_of(text)), "it sees both")
        self.assertRegex(screen_of(term.text)[1], r"seen expired (–|0\.0/s) *$")
        given_back.terminate()
        given_back.wait(30)
        held.kill()
        term.read_until(lambda text: "0 held" in "".join(screen_of(text)), "both are gone")
        term.read_until(lambda text: re.search(r"seen expired 0\.0/s, 1 so far",
                                               "".join(screen_of(text))), "one was lost")
        term.type("q")
        self.assertEqual(term.end(), SUCCESS)

    def test_top_says_at_once_where_its_numbers_come_from(self):
        for engine, words in ((self.engine, ("   acquired –", " expired –")),
                              (Sqlite(), ("   seen acquired –", " seen expired –"))):
            self.use(engine)
            done = holdfast("top", HOLDFAST_ENGINE=engine.url)
            self.assertEqual((done.returncode, done.stderr), (SUCCESS, ""))
            for word in words:
                self.assertIn(word, done.stdout.splitlines()[1])
        self.assertIn(f"top  sqlite:{engine.file} ", done.stdout)

    def test_top_fits_a_small_screen_and_a_changed_one(self):
        for name in ("a", "b", "c", "d", "e", "f", "g", "h"):
            self.hold(name)
        term = self.top(columns=80, rows=10)
        term.read_until(lambda text: "and 3 more" in text, "it shows what fits")
        self.assertLessEqual(len(screen_of(term.text)), 10)
        fcntl.ioctl(term.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        term.read_until(lambda text: "h " in "".join(line[:2] for line in screen_of(text)),
                        "it shows all of them")
        term.type("q")
        self.assertEqual(term.end(), SUCCESS)

    def test_top_says_that_the_engine_is_away_and_goes_on(self):
        term = self.top()
        term.read_until(lambda text: "nothing is held" in text, "it starts")
        self.engine.fail()
        term.read_until(lambda text: any(f"127.0.0.1:{self.engine.port}" in line
                                             for line in screen_of(text)[2:3]),
                        "it says that the engine is away")
        os.kill(term.pid, signal.SIGTERM)
        self.assertEqual(term.end(), -signal.SIGTERM)
        self.assertTrue(term.text.endswith("\x1b[?25h\x1b[?1049l"))

    def test_top_has_no_colour_with_no_color(self):
        self.hold("a")
        term = self.top("--frames", "2", NO_COLOR="1")
        self.assertEqual(term.end(), SUCCESS)
        self.assertNotRegex(term.text, r"\x1b\[\d+m")
        painted = self.top("--frames", "2")
        self.assertEqual(painted.end(), SUCCESS)
        self.assertIn("\x1b[32m", painted.text)

    def test_top_prints_one_plain_picture_where_there_is_no_terminal(self):
        self.hold("a")
        done = holdfast("top", HOLDFAST_ENGINE=self.engine.url)
        self.assertEqual((done.returncode, done.stderr), (SUCCESS, ""))
        self.assertNotIn("\x1b", done.stdout)
        self.assertIn("1 held, 0 waiting", done.stdout)
        self.assertNotIn("q quits", done.stdout)
        self.assertRegex(done.stdout, r"\na +━+ .* sh on ")
        self.engine.fail()
        gone = holdfast("top", HOLDFAST_ENGINE=self.engine.url)
        self.assertEqual(gone.returncode, UNKNOWN)

    def test_a_measurement_shows_a_bar_and_takes_it_off_the_screen(self):
        term = Terminal("bench", "keeper", "--leases", "10", "--ttl", "5s", "--seconds", "2")
        self.assertEqual(term.end(), SUCCESS)
        bars = re.findall(r"\rbench keeper|bench keeper \x1b\[36m━*", term.text)
        self.assertGreater(len(bars), 3)
        self.assertRegex(term.text, r"\r\x1b\[Kkeeper on memory:")


if __name__ == "__main__":
    ground.main()
