#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""holdfast doctor on PostgreSQL and MariaDB: what is unsafe is found on a real server."""

import json
import subprocess
import sys
from pathlib import Path

import ground
from ground import FAILURE, SUCCESS, Case, holdfast, wait_until

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "faultlab"))
# pylint: disable=wrong-import-position
from places import Ground, Place, die_with_us
from servers import free_port
from sql_servers import MariadbServer, PostgresServer, as_user
# pylint: enable=wrong-import-position


class DoctorOnSql(Case):
    def server(self, kind):
        made = kind(Ground(None, Place()))
        self.addCleanup(made.close)
        return made

    def postgres(self):
        server = self.server(PostgresServer)
        return server, f"postgresql://postgres@127.0.0.1:{server.port}/postgres"

    def examine(self, url, code):
        """What it found, by what it is about; the worst, if there are several."""
        done = holdfast("doctor", "--format", "json", HOLDFAST_ENGINE=url)
        self.assertEqual((done.returncode, done.stderr), (code, ""), done.stdout)
        weight = ["good", "note", "unsafe"].index
        all_of_it = [json.loads(line) for line in done.stdout.splitlines()]
        all_of_it.sort(key=lambda one: weight(one["level"]))
        return {one["about"]: one for one in all_of_it}

    def test_settings_of_postgresql_that_do_not_matter_are_told_as_such(self):
        server, url = self.postgres()
        server.sql("ALTER DATABASE postgres SET default_transaction_isolation = 'serializable'")
        server.sql("ALTER DATABASE postgres SET TimeZone = 'Asia/Kathmandu'")
        found = self.examine(url, SUCCESS)
        self.assertEqual(found["isolation"]["level"], "good")
        self.assertIn("serializable", found["isolation"]["text"])
        self.assertIn("Asia/Kathmandu", found["time zone"]["text"])
        self.assertEqual(found["clock"]["level"], "good")
        self.assertEqual(found["durability"]["level"], "good")

    def test_rights_that_are_missing_are_named_one_by_one(self):
        server, url = self.postgres()
        self.examine(url, SUCCESS)  # makes the tables
        server.sql("CREATE ROLE app LOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN "
                   "SCHEMA public TO app; REVOKE DELETE ON holdfast_notes FROM app")
        found = self.examine(url.replace("postgres@", "app@"), FAILURE)
        self.assertEqual(found["permissions"]["text"],
                         "the user lacks DELETE of holdfast_notes")
        self.assertIn("GRANT", found["permissions"]["fix"])

    def test_a_session_lock_that_outlives_its_client_is_told(self):
        server, url = self.postgres()
        self.assertIn("sessions", self.examine(url + "?mode=session", SUCCESS))
        server.sql("ALTER SYSTEM SET tcp_keepalives_idle = 10")
        server.sql("SELECT pg_reload_conf()")
        wait_until(lambda: "sessions" not in self.examine(url + "?mode=session", SUCCESS),
                   "the new setting")
        self.assertNotIn("sessions", self.examine(url, SUCCESS))

    def test_a_replica_read_by_mistake_is_unsafe(self):
        server, url = self.postgres()
        server.sql("ALTER DATABASE postgres SET default_transaction_read_only = on")
        found = self.examine(url, FAILURE)
        self.assertEqual(found["role"]["level"], "unsafe")

    def test_pgbouncer_in_transaction_mode_is_unsafe(self):
        server, _ = self.postgres()
        directory, port = self.directory(), free_port()
        directory.chmod(0o755)
        ini = directory / "pgbouncer.ini"
        ini.write_text(
            f"[databases]\n* = host=127.0.0.1 port={server.port} user=postgres\n[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
            "auth_type = any\npool_mode = transaction\n", encoding="ascii")
        pooler = subprocess.Popen(  # pylint: disable=consider-using-with
            [*as_user("postgres"), "/usr/sbin/pgbouncer", str(ini)], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, preexec_fn=die_with_us)
        self.addCleanup(pooler.wait)
        self.addCleanup(pooler.kill)
        url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        wait_until(lambda: "cannot be reached" not in self.examine(url, FAILURE)["lease"]["text"],
                   "PgBouncer")
        lease = self.examine(url, FAILURE)["lease"]
        self.assertEqual(lease["level"], "unsafe")
        self.assertIn("a pooler stands before the server", lease["text"])

    def test_settings_of_mariadb_are_examined(self):
        server = self.server(MariadbServer)
        url = f"mysql://lab@127.0.0.1:{server.port}/app"
        server.sql("SET GLOBAL time_zone = '+05:45'")
        server.sql("SET GLOBAL tx_isolation = 'SERIALIZABLE'")
        found = self.examine(url, SUCCESS)
        self.assertIn("SERIALIZABLE", found["isolation"]["text"])
        self.assertIn("+05:45", found["time zone"]["text"])
        self.assertEqual(found["clock"]["level"], "good")
        server.sql("SET GLOBAL innodb_flush_log_at_trx_commit = 2")
        self.assertEqual(self.examine(url, FAILURE)["durability"]["level"], "unsafe")
        server.sql("SET GLOBAL innodb_flush_log_at_trx_commit = 1")
        server.sql("SET GLOBAL wait_timeout = 20")
        self.assertIn("wait_timeout is 20 s", self.examine(url, SUCCESS)["connections"]["text"])
        server.sql("SET GLOBAL read_only = 1")
        self.assertEqual(self.examine(url, FAILURE)["role"]["level"], "unsafe")


if __name__ == "__main__":
    ground.main()
