# SPDX-License-Identifier: Apache-2.0
"""Servers of SQL databases for the fault lab. What they have committed survives their crash."""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from places import die_with_us
from servers import free_port


def as_user(name):
    """The words that run a command as this user, if we are root: the servers refuse root."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", f"--reuid={name}", f"--regid={name}", "--init-groups", "--pdeathsig",
            "KILL", "--"]


def children_of(pid):
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            words = entry.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(words[1]) == pid:
                yield int(entry.parent.name)


class SqlServer:
    """One server in a directory of its own, which lets everybody in."""

    user = ""  # whose rights it runs with

    def __init__(self, ground):
        self.port, self.place = free_port(), ground.main
        self.directory = tempfile.mkdtemp(prefix="faultlab-")
        if os.geteuid() == 0:
            entry = pwd.getpwnam(self.user)
            os.chown(self.directory, entry.pw_uid, entry.pw_gid)
        self._process = None
        self.initialize()
        self.start()

    def initialize(self):
        """Makes the data directory."""
        raise NotImplementedError

    def words(self):
        """What starts the server."""
        raise NotImplementedError

    def client(self):
        """What carries out the SQL in the last argument, by the unix socket."""
        raise NotImplementedError

    @property
    def address(self):
        return f"{self.place.host}:{self.port}"

    def run(self, *words):
        done = subprocess.run([*as_user(self.user), *words], capture_output=True, text=True,
                              check=False, timeout=60, cwd=self.directory)
        if done.returncode != 0:
            raise RuntimeError(f"{words[0]}: {(done.stdout + done.stderr)[-1500:]}")

    def sql(self, text):
        """The lines that it answers; raises OSError."""
        try:
            done = subprocess.run([*self.client(), text], capture_output=True, text=True,
                                  check=True, timeout=5)
        except subprocess.SubprocessError as problem:
            raise OSError(f"{self.user}: no answer to {text}") from problem
        return done.stdout.split()

    def start(self):
        for _ in range(600):  # it does not start beside what a crash left
            if self._process is None or self._process.poll() is not None:
                with open(Path(self.directory) / "log", "ab") as log:
                    self._process = subprocess.Popen(  # pylint: disable=consider-using-with
                        [*self.place.enter, *as_user(self.user), *self.words()], stdout=log,
                        stderr=log, cwd=self.directory, preexec_fn=die_with_us)
            with contextlib.suppress(OSError):
                if self.sql("SELECT 1") == ["1"]:
                    return
            time.sleep(0.05)
        raise RuntimeError(f"the server of {self.user} on {self.port} did not start")

    def signal(self, number):
        """To all of its processes."""
        for pid in (self._process.pid, *children_of(self._process.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self._process.wait()

    def close(self):
        if self._process:
            self.signal(signal.SIGCONT)
            self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)


class PostgresServer(SqlServer):
    """PostgreSQL."""

    user = "postgres"

    @staticmethod
    def program(name):
        found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
        return str(found[-1]) if found else name

    def __init__(self, ground, follows=None):
        self._follows = follows
        super().__init__(ground)

    def initialize(self):
        if self._follows:
            self._copy(self._follows)
            return
        self.run(self.program("initdb"), "-D", f"{self.directory}/data", "-A", "trust", "-U",
                 "postgres", "--no-sync", "--locale=C", "-E", "UTF8")
        with open(f"{self.directory}/data/pg_hba.conf", "a", encoding="ascii") as rules:
            rules.write("host all,replication all 0.0.0.0/0 trust\n")

    def _copy(self, primary):
        """Becomes a replica of this server, which sends it all that it commits."""
        self.run(self.program("pg_basebackup"), "-D", f"{self.directory}/data", "-h",
                 primary.directory, "-p", str(primary.port), "-U", "postgres", "-R", "-X",
                 "stream", "-c", "fast", "--no-sync")

    def follow(self, primary):
        """Starts anew as a replica of this server."""
        shutil.rmtree(f"{self.directory}/data", ignore_errors=True)
        self._copy(primary)
        self.start()

    def wait_for_replica(self, whose):
        """A commit is told once a replica has it; or not any more, if `whose` is empty."""
        self.sql(f"ALTER SYSTEM SET synchronous_standby_names = '{whose}'")
        self.sql("SELECT pg_reload_conf()")

    def is_primary(self):
        with contextlib.suppress(OSError):
            return self.sql("SELECT pg_is_in_recovery()") == ["f"]
        return False

    def words(self):
        return [self.program("postgres"), "-D", f"{self.directory}/data", "-c",
                f"port={self.port}", "-c", f"listen_addresses={','.join(self.place.listens())}",
                "-c", f"unix_socket_directories={self.directory}"]

    def client(self):
        return ["psql", "-X", "-q", "-A", "-t", "-h", self.directory, "-p", str(self.port), "-U",
                "postgres", "-c"]


class MariadbServer(SqlServer):
    """MariaDB."""

    user = "mysql"

    def initialize(self):
        self.run("mariadb-install-db", "--no-defaults", f"--datadir={self.directory}/data",
                 f"--tmpdir={self.directory}",
                 "--auth-root-authentication-method=normal", "--skip-test-db",
                 "--skip-name-resolve", "--innodb-log-file-size=8M", "--innodb-use-native-aio=0")
        with open(f"{self.directory}/first.sql", "w", encoding="ascii") as statements:
            statements.write("CREATE DATABASE IF NOT EXISTS app;\n"
                             "CREATE USER IF NOT EXISTS lab@'%';\n"
                             "GRANT ALL ON app.* TO lab@'%';\n")

    def words(self):
        return ["mariadbd", "--no-defaults", f"--datadir={self.directory}/data",
                f"--tmpdir={self.directory}",
                f"--socket={self.directory}/socket", f"--port={self.port}",
                f"--bind-address={','.join(self.place.listens())}", "--skip-name-resolve",
                f"--pid-file={self.directory}/pid", "--innodb-buffer-pool-size=16M",
                "--innodb-log-file-size=8M", "--innodb-use-native-aio=0",
                f"--init-file={self.directory}/first.sql"]

    def client(self):
        return ["mariadb", "--no-defaults", "--user=root", "--batch", "--skip-column-names",
                f"--socket={self.directory}/socket", "-e"]
