#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""holdfast doctor: each thing that is unsafe is found on a real server, and only there."""

import json

import ground
from ground import FAILURE, SUCCESS, Case, Redis, Terminal, holdfast


class Doctor(Case):
    def server(self, *options):
        made = Redis(*options)
        self.addCleanup(made.close)
        return made

    def examine(self, url, code, **changes):
        """What it found, by what it is about."""
        done = holdfast("doctor", "--format", "json", HOLDFAST_ENGINE=url, **changes)
        self.assertEqual((done.returncode, done.stderr), (code, ""), done.stdout)
        found = {}
        for line in done.stdout.splitlines():
            one = json.loads(line)
            found.setdefault(one["about"], one)
        return found

    def levels(self, found):
        return {about: one["level"] for about, one in found.items()}

    def test_a_server_that_is_set_up_well_is_well(self):
        server = self.server("--appendonly", "yes", "--appendfsync", "always",
                             "--requirepass", "hunter2")
        url = server.url.replace("//", "//:hunter2@")
        found = self.examine(url, SUCCESS)
        self.assertEqual(self.levels(found), {
            "lease": "good", "clock": "good", "version": "good", "eviction": "good",
            "persistence": "good", "tls": "good", "access": "note"})
        done = holdfast("doctor", HOLDFAST_ENGINE=url)
        self.assertIn("Nothing unsafe was found.", done.stdout)
        self.assertNotIn("hunter2", done.stdout + done.stderr)

    def test_a_policy_that_evicts_locks_is_unsafe(self):
        server = self.server("--maxmemory", "100mb", "--maxmemory-policy", "volatile-lru",
                             "--appendonly", "yes", "--appendfsync", "always")
        found = self.examine(server.url, FAILURE)
        self.assertEqual(found["eviction"]["level"], "unsafe")
        self.assertIn("volatile-lru", found["eviction"]["text"])
        self.assertIn("noeviction", found["eviction"]["mend"])
        server.cli("CONFIG", "SET", "maxmemory", "0")
        self.assertEqual(self.examine(server.url, SUCCESS)["eviction"]["level"], "note")

    def test_a_server_that_forgets_at_a_restart_is_unsafe_unless_there_is_a_quarantine(self):
        server = self.server()
        found = self.examine(server.url, FAILURE)
        self.assertEqual(found["persistence"]["level"], "unsafe")
        server.cli("CONFIG", "SET", "appendonly", "yes")
        found = self.examine(server.url, SUCCESS)
        self.assertEqual(found["persistence"]["level"], "note")
        self.assertIn("everysec", found["persistence"]["text"])

    def test_a_replica_is_no_place_for_locks(self):
        master = self.server()
        replica = self.server("--replicaof", "127.0.0.1", str(master.port))
        found = self.examine(replica.url, FAILURE)
        self.assertEqual(found["role"]["level"], "unsafe")

    def test_a_user_that_may_too_little_is_told_which(self):
        server = self.server("--appendonly", "yes", "--appendfsync", "always")
        server.cli("ACL", "SETUSER", "app", "on", ">secret", "~lock:*", "+@all", "-set")
        found = self.examine(server.url.replace("//", "//app:secret@"), FAILURE)
        self.assertEqual(found["lease"]["level"], "unsafe")
        self.assertIn("permissions", found["lease"]["mend"])

    def test_a_file_that_everyone_may_write_is_unsafe(self):
        file = self.directory() / "leases.db"
        found = self.examine(f"sqlite:{file}", SUCCESS)
        self.assertEqual(self.levels(found), {
            "lease": "good", "file system": "good", "permissions": "good", "journal": "good"})
        file.chmod(0o666)
        found = self.examine(f"sqlite:{file}", FAILURE)
        self.assertEqual(found["permissions"]["level"], "unsafe")
        self.assertEqual(found["permissions"]["mend"], f"chmod o-w {file}")

    def test_a_file_that_is_no_database_is_said(self):
        file = self.directory() / "leases.db"
        file.write_text("no database, but long enough to look like one\n" * 100)
        found = self.examine(f"sqlite:{file}", FAILURE)
        self.assertEqual((found["lease"]["level"], found["file"]["level"]), ("unsafe", "unsafe"))

    def test_memory_excludes_nobody_else(self):
        found = self.examine("memory:", FAILURE)
        self.assertEqual(self.levels(found), {"engine": "unsafe"})

    def test_an_engine_that_is_not_there_is_said_and_no_password_with_it(self):
        done = holdfast("doctor", HOLDFAST_ENGINE="redis://me:hunter2@127.0.0.1:1")
        self.assertEqual((done.returncode, done.stderr), (FAILURE, ""))
        self.assertIn("127.0.0.1:1", done.stdout)
        self.assertNotIn("hunter2", done.stdout)

    def test_a_password_that_others_can_read_is_unsafe(self):
        server = self.server("--appendonly", "yes", "--appendfsync", "always",
                             "--requirepass", "hunter2")
        url = server.url.replace("//", "//:hunter2@")
        file = self.directory() / "engine"
        file.write_text(url + "\n")
        file.chmod(0o644)
        open_to_all = holdfast("doctor", "--engine-file", str(file))
        self.assertEqual(open_to_all.returncode, FAILURE)
        self.assertIn(f"chmod go-r {file}", open_to_all.stdout)
        file.chmod(0o600)
        self.assertEqual(holdfast("doctor", "--engine-file", str(file)).returncode, SUCCESS)
        typed = holdfast("doctor", "--engine", url)
        self.assertIn("seen by ps", typed.stdout)
        self.assertNotIn("hunter2", typed.stdout)

    def test_the_verdict_is_coloured_on_a_terminal_only(self):
        term = Terminal("doctor", HOLDFAST_ENGINE="memory:")
        self.assertEqual(term.end(), FAILURE)
        self.assertIn("\x1b[31munsafe", term.text)
        self.assertNotIn("\x1b", holdfast("doctor", HOLDFAST_ENGINE="memory:").stdout)


if __name__ == "__main__":
    ground.main()
