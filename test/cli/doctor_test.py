#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""holdfast doctor: each thing that is unsafe is found on a real server, and only there."""

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import ground
from ground import (FAILURE, SUCCESS, Case, Redis, Sqlite, Terminal, holdfast,
                    wait_until)

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "faultlab"))
import engines  # pylint: disable=wrong-import-position
from places import Ground, Place  # pylint: disable=wrong-import-position

# The permissions of docs/guide/redis.md.
DOCUMENTED = """~lock:* ~{lock:*}:* ~holdfast:* resetchannels &holdfast:grants:* -@all
    +eval +evalsha +script|load +ping +client|setname +select +time +scan
    +get +mget +set +del +exists +incrby +pttl +pexpire
    +zadd +zcard +zrange +zrank +zrem +zscore +hset +hget +hdel +hlen
    +publish +subscribe +unsubscribe"""


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
        self.assertIn("noeviction", found["eviction"]["fix"])
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

    def test_caches_are_examined_by_a_sample_of_the_keys(self):
        server = self.server("--appendonly", "yes", "--appendfsync", "always")
        server.cli("SET", "n:1", "hc1v", "PX", "600000")
        server.cli("SET", "n:big", "hc1v")
        server.cli("SETRANGE", "n:big", str(1 << 20), "x")
        server.cli("SET", "another:1", "not ours, and need not expire")
        server.cli("ZADD", "board:{game}:4:board_players", "1", "a")
        said = self.examine(server.url, SUCCESS)
        self.assertRegex(said["cache"]["text"], r"^2 of \d+ sampled keys are entries of caches; \d")
        self.assertIn("1 of 2 sampled entries are larger than 1 MiB; 'n:big' has 1048577 bytes",
                      said["big values"]["text"])
        self.assertRegex(said["missing expiry"]["text"],
                         r"^2 of \d+ sampled keys should expire and do not")

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
        self.assertIn("permissions", found["lease"]["fix"])

    def examine_as(self, permissions, code):
        server = self.server("--appendonly", "yes", "--appendfsync", "always")
        made = server.cli("ACL", "SETUSER", "app", "on", ">secret", *permissions.split())
        self.assertEqual(made.stdout, "OK\n")
        return self.examine(server.url.replace("//", "//app:secret@"), code)

    def test_the_documented_permissions_are_enough(self):
        found = self.examine_as(DOCUMENTED + " +info +acl|whoami +acl|getuser +config|get",
                                SUCCESS)
        self.assertEqual((found["lease"]["level"], found["access"]["level"]), ("good", "good"))
        self.assertEqual(self.levels(self.examine_as(DOCUMENTED, SUCCESS)),
                         {"lease": "good", "server": "note"})

    def test_permissions_that_are_enough_only_as_long_as_nobody_waits_are_found(self):
        for missing, about in (("+zadd", "waiting"), ("&holdfast:grants:*", "lease")):
            found = self.examine_as(DOCUMENTED.replace(missing, ""), FAILURE)
            self.assertEqual(found[about]["level"], "unsafe", missing)
            self.assertIn("permissions", found[about]["fix"])

    def test_a_user_that_may_touch_every_key_is_noted(self):
        every = DOCUMENTED.replace("~lock:* ~{lock:*}:* ~holdfast:*", "~*")
        found = self.examine_as(every + " +info +acl|whoami +acl|getuser", SUCCESS)
        self.assertEqual(found["access"]["level"], "note")
        self.assertIn("every key", found["access"]["text"])

    def engine(self, kind):
        made = kind(Ground(None, Place()))
        self.addCleanup(made.close)
        return made

    def everywhere(self, url, code):
        """The level of each finding by server, and by what it is about."""
        done = holdfast("doctor", "--format", "json", HOLDFAST_ENGINE=url)
        self.assertEqual((done.returncode, done.stderr), (code, ""), done.stdout)
        found = {}
        for line in done.stdout.splitlines():
            one = json.loads(line)
            found.setdefault(one["where"], {})[one["about"]] = one["level"]
        return found

    def test_each_member_of_a_quorum_is_examined(self):
        quorum = self.engine(engines.Redlock)
        ports = [server.port for server in quorum.servers]
        hosts = [f"127.0.0.1:{port}" for port in ports]
        url = "redlock://" + ",".join(hosts)
        found = self.everywhere(url, SUCCESS)
        self.assertEqual(found.pop(url), {"lease": "note"}, "they have just started")
        self.assertEqual(found, {host: {
            "version": "good", "clock": "good", "eviction": "good", "persistence": "good",
            "tls": "good", "access": "note"} for host in hosts})
        found = self.everywhere(url + "?quarantine=off", FAILURE)
        self.assertEqual(found[url], {"lease": "good"})
        self.assertEqual({found[host]["persistence"] for host in hosts}, {"unsafe"})
        text = holdfast("doctor", HOLDFAST_ENGINE=url + "?quarantine=off").stdout
        self.assertIn(f"{hosts[0]} and 4 others: Redis", text)
        self.assertIn(", ".join(hosts) + ": a restart forgets leases", text)
        quorum.servers[1].command("REPLICAOF", "127.0.0.1", ports[0])
        wait_until(lambda: b"connected_slaves:1" in quorum.servers[0].command("INFO"),
                   "the replica comes")
        found = self.everywhere(url, FAILURE)
        self.assertEqual((found[hosts[0]]["replicas"], found[hosts[1]]["role"]),
                         ("unsafe", "unsafe"))
        quorum.servers[2].kill()
        self.assertEqual(self.everywhere(url, FAILURE)[hosts[2]], {"server": "unsafe"})

    def test_the_master_and_its_sentinels_are_examined(self):
        group = self.engine(engines.Sentinel)
        url = group.url(None)
        master = f"master 127.0.0.1:{group.servers[0].port}"
        self.assertEqual(self.everywhere(url, SUCCESS)[master]["replicas"], "good",
                         "a replica confirms what it grants")
        found = self.everywhere(url + "&replicas=0", FAILURE)
        self.assertEqual(found[master]["replicas"], "unsafe", "nothing stops it when it is cut off")
        for one in group.sentinels:
            self.assertEqual(found[f"sentinel 127.0.0.1:{one.port}"], {"sentinel": "good"})
        group.servers[0].command("CONFIG", "SET", "min-replicas-to-write", "1")
        wait_until(lambda: b"min_slaves_good_slaves:2" in group.servers[0].command("INFO"),
                   "the master counts its replicas")
        self.assertEqual(self.everywhere(url + "&replicas=0", SUCCESS)[master]["replicas"], "good")
        found = self.everywhere(url.replace("quarantine=2000ms", "quarantine=off"), FAILURE)
        self.assertEqual(found[master]["quarantine"], "unsafe")
        for one in group.sentinels[:2]:
            one.kill()
        found = self.everywhere(url, FAILURE)
        for one in group.sentinels[:2]:
            self.assertEqual(found[f"sentinel 127.0.0.1:{one.port}"], {"sentinel": "unsafe"})

    def test_each_master_of_a_cluster_is_examined(self):
        cluster = self.engine(engines.Cluster)
        found = self.everywhere(cluster.url(None).replace("quarantine=2000ms", "quarantine=off"),
                                FAILURE)
        masters = [f"127.0.0.1:{node.port}" for node in cluster.servers
                   if b"role:master" in node.command("INFO", "replication")]
        self.assertEqual(len(masters), 3)
        for where in masters:
            self.assertEqual(found[where], {
                "version": "good", "clock": "good", "eviction": "good", "persistence": "unsafe",
                "replicas": "note", "quarantine": "unsafe", "tls": "good", "access": "note"})
        alone = self.examine(f"redis://{masters[0]}", FAILURE)
        self.assertEqual(alone["cluster"]["level"], "unsafe")
        self.assertIn("redis-cluster://", alone["cluster"]["fix"])

    def test_a_clock_that_is_far_off_is_unsafe(self):
        library = os.environ.get("HOLDFAST_SHIFTED_CLOCK")
        self.assertTrue(library, "the build says where it is")
        server = engines.Server(Ground(library, Place()), "--appendonly", "yes", "--appendfsync",
                                "always")
        self.addCleanup(server.close)
        url = f"redis://127.0.0.1:{server.port}"
        self.assertEqual(self.examine(url, SUCCESS)["clock"]["level"], "good")
        server.step(-60)
        found = self.examine(url, FAILURE)["clock"]
        self.assertEqual(found["level"], "unsafe")
        self.assertRegex(found["text"], "its clock is (1 min|59.* s|60.* s).* behind ours")

    def test_a_file_that_everyone_may_write_is_unsafe(self):
        file = self.directory() / "leases.db"
        found = self.examine(f"sqlite:{file}", SUCCESS)
        self.assertEqual(self.levels(found), {
            "lease": "good", "file system": "good", "permissions": "good", "journal": "good"})
        file.chmod(0o666)
        found = self.examine(f"sqlite:{file}", FAILURE)
        self.assertEqual(found["permissions"]["level"], "unsafe")
        self.assertEqual(found["permissions"]["fix"], f"chmod o-w {file}")

    def test_a_file_that_is_no_database_is_said(self):
        file = self.directory() / "leases.db"
        file.write_text("no database, but long enough to look like one\n" * 100)
        found = self.examine(f"sqlite:{file}", FAILURE)
        self.assertEqual(self.levels(found), {"file": "unsafe"})
        self.assertEqual(found["file"]["text"], "it is no SQLite file")

    def test_a_file_that_was_half_made_is_not_another_programs(self):
        file = self.directory() / "leases.db"
        with contextlib.closing(sqlite3.connect(file)) as half:
            half.execute("PRAGMA journal_mode = WAL")
        self.assertEqual(file.stat().st_size, 4096)
        self.assertEqual(self.examine(f"sqlite:{file}", SUCCESS)["lease"]["level"], "good")

    def test_another_programs_database_is_said_and_nothing_is_advised_for_it(self):
        file = self.directory() / "orders.db"
        with contextlib.closing(sqlite3.connect(file)) as others:
            others.execute("CREATE TABLE orders (id INTEGER)")
        found = self.examine(f"sqlite:{file}", FAILURE)
        self.assertEqual(self.levels(found), {"file": "unsafe"})
        self.assertIn("another program's", found["file"]["text"])
        self.assertEqual(found["file"]["fix"], "name another file")

    def test_what_is_not_a_regular_file_is_said(self):
        pipe = self.directory() / "leases.db"
        os.mkfifo(pipe)
        for file in (pipe, "/dev/null"):
            found = self.examine(f"sqlite:{file}", FAILURE)
            self.assertEqual(self.levels(found), {"file": "unsafe"})
            self.assertEqual(found["file"]["text"], "it is not a regular file")

    def test_a_file_with_two_names_is_unsafe(self):
        file = self.directory() / "leases.db"
        self.examine(f"sqlite:{file}", SUCCESS)
        (file.parent / "same.db").hardlink_to(file)
        found = self.examine(f"sqlite:{file}", FAILURE)
        self.assertEqual(self.levels(found), {"file": "unsafe"})
        self.assertIn("hard links", found["file"]["text"])
        self.assertIn("remove the other names", found["file"]["fix"])

    def test_a_trouble_is_said_once_and_names_its_file_once(self):
        place = self.directory()
        missing = holdfast("doctor", "--engine", f"sqlite:{place}/no/leases.db")
        self.assertEqual((missing.returncode, missing.stdout.count("unsafe ")), (FAILURE, 1))
        self.assertEqual(missing.stdout.count(str(place)), 1, missing.stdout)
        locked = Sqlite()
        self.addCleanup(locked.close)
        self.examine(locked.url, SUCCESS)
        locked.fail()
        lease = self.examine(locked.url + "?busy_timeout=50ms", FAILURE)["lease"]
        self.assertEqual(lease["where"], locked.url)
        self.assertTrue(lease["text"].startswith("another process has it locked"), lease["text"])

    def test_a_file_whose_contents_are_in_its_log_is_ours(self):
        file = Sqlite()
        self.addCleanup(file.close)
        ready = self.directory() / "ready"
        self.start("run", "a", "--engine", file.url, "--", "sh", "-c",
                   f"touch {ready}; exec sleep 100")
        wait_until(ready.exists, "it is held, by the first who uses the file")
        self.assertEqual(self.examine(file.url, SUCCESS)["lease"]["level"], "good")

    def test_a_file_by_its_relative_path_is_examined(self):
        done = subprocess.run([ground.PROGRAM, "doctor", "--engine", "sqlite:leases.db"],
                              cwd=self.directory(), capture_output=True, text=True, check=False,
                              env=ground.environment())
        self.assertEqual((done.returncode, done.stderr), (SUCCESS, ""), done.stdout)
        self.assertIn("Nothing unsafe was found.", done.stdout)

    def test_a_file_that_this_user_may_not_write_is_said(self):
        place = self.directory()
        place.chmod(0o755)
        file = place / "leases.db"
        self.examine(f"sqlite:{file}", SUCCESS)
        file.chmod(0o444)
        # root may write anything, so somebody else asks
        done = subprocess.run([ground.PROGRAM, "doctor", "--format", "json", "--engine",
                               f"sqlite:{file}"], capture_output=True, text=True, check=False,
                              env=ground.environment(),
                              user=65534 if os.geteuid() == 0 else None)
        self.assertEqual((done.returncode, done.stderr), (FAILURE, ""))
        (found,) = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual((found["about"], found["level"]), ("permissions", "unsafe"))
        self.assertIn("this user may only read it: what is held can be seen", found["text"])
        self.assertIn("let this user write the file", found["fix"])

    def test_of_a_damaged_file_it_is_said_what_to_do(self):
        file = self.directory() / "leases.db"
        self.examine(f"sqlite:{file}", SUCCESS)
        with open(file, "r+b") as bytes_of_it:
            bytes_of_it.seek(4100)
            bytes_of_it.write(b"x" * 9000)
        found = self.examine(f"sqlite:{file}", FAILURE)["lease"]
        self.assertEqual(found["text"], "the database is damaged")
        self.assertIn("end all that use it, and move it away", found["fix"])

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
