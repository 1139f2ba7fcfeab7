#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""redis-py and redis-cli on `holdfast redis`: what users of other languages rely on.

    redis_clients_test.py build/dev/holdfast
"""

import re
import socket
import subprocess
import sys
import threading
import unittest

import redis

HOLDFAST = sys.argv.pop(1)


class Served:
    """A server of the test's own, on a free port."""

    def __init__(self, *words):
        self.process = subprocess.Popen([HOLDFAST, "redis", "--port", "0", *words],
                                        stdout=subprocess.PIPE, text=True)
        self.port = int(re.search(r":(\d+)", self.process.stdout.readline())[1])

    def client(self, **more):
        return redis.Redis(port=self.port, decode_responses=True, socket_timeout=20, **more)

    def end(self):
        self.process.terminate()
        code = self.process.wait(timeout=20)
        self.process.stdout.close()
        return code


class OnServer(unittest.TestCase):
    words = ()

    def setUp(self):
        self.served = Served(*self.words)
        self.r = self.served.client()

    def tearDown(self):
        self.r.close()
        self.assertEqual(self.served.end(), 0)


class Clients(OnServer):
    def test_plain_commands_and_a_pipeline(self):
        self.assertTrue(self.r.set("a", "1", px=60000))
        self.assertGreater(self.r.pttl("a"), 0)
        self.assertEqual(self.r.pipeline().incr("a").get("a").execute(), [2, "2"])
        self.assertEqual(sorted(self.r.scan_iter()), ["a"])

    def test_a_watched_key_that_changed_aborts_the_transaction(self):
        with self.r.pipeline() as p:
            p.watch("a")
            self.r.set("a", "other")
            p.multi()
            p.set("a", "mine")
            with self.assertRaises(redis.WatchError):
                p.execute()

    def test_channels_and_patterns(self):
        heard = self.r.pubsub()
        heard.subscribe("news")
        heard.psubscribe("n*")
        for _ in range(2):
            heard.get_message(timeout=20)
        self.assertEqual(self.r.publish("news", "hello"), 2)
        got = [heard.get_message(timeout=20) for _ in range(2)]
        self.assertEqual(sorted(m["type"] for m in got), ["message", "pmessage"])
        self.assertEqual({m["data"] for m in got}, {"hello"})
        self.assertEqual(self.r.publish("other", "x"), 0)
        heard.close()

    def test_a_blocked_client_is_served_by_another(self):
        got = []
        waiter = threading.Thread(target=lambda: got.append(self.served.client().blpop("q", 20)))
        waiter.start()
        self.wait_until_blocked()
        self.r.rpush("q", "x")
        waiter.join(20)
        self.assertEqual(got, [("q", "x")])

    def wait_until_blocked(self):
        while not any("b" in c["flags"] for c in self.r.client_list()):
            pass

    def test_reading_a_stream_waits_for_an_entry(self):
        got = []
        reader = threading.Thread(
            target=lambda: got.append(self.served.client().xread({"s": "$"}, block=20000)))
        reader.start()
        self.wait_until_blocked()
        entry = self.r.xadd("s", {"f": "v"})
        reader.join(20)
        self.assertEqual(got, [[["s", [(entry, {"f": "v"})]]]])

    def test_a_blocked_client_can_be_unblocked_and_killed(self):
        one = self.served.client()
        number = one.client_id()
        failed = []

        def wait():
            try:
                failed.append(one.blpop("q", 20))
            except redis.RedisError as e:
                failed.append(e)
        waiter = threading.Thread(target=wait)
        waiter.start()
        self.wait_until_blocked()
        self.assertEqual(self.r.client_unblock(number), 1)
        waiter.join(20)
        self.assertEqual(failed, [None])
        self.assertEqual(self.r.client_kill_filter(_id=number), 1)

    def test_the_lock_of_redis_py(self):
        lock = self.r.lock("job", timeout=20)
        other = self.served.client().lock("job", timeout=20)
        self.assertTrue(lock.acquire(blocking=False))
        self.assertFalse(other.acquire(blocking=False))
        self.assertTrue(lock.owned())
        self.assertTrue(lock.extend(10))
        self.assertTrue(lock.reacquire())
        with self.assertRaises(redis.exceptions.LockError):
            other.release()
        lock.release()
        self.assertTrue(other.acquire(blocking=False))
        with self.assertRaises(redis.exceptions.LockNotOwnedError):
            other.local.token, token = b"wrong", other.local.token
            other.release()
        self.assertTrue(self.r.exists("job"))
        self.assertEqual(self.r.get("job"), token.decode())

    def test_malformed_requests_are_answered_and_end_the_connection(self):
        for sent, answer in ((b"*1\r\n+4\r\n", b"-ERR Protocol error: expected '$', got '+'\r\n"),
                             (b"*x\r\n", b"-ERR Protocol error: invalid multibulk length\r\n"),
                             (b"*1\r\n$-5\r\n", b"-ERR Protocol error: invalid bulk length\r\n"),
                             (b'GET "a\r\n',
                              b"-ERR Protocol error: unbalanced quotes in request\r\n"),
                             (b"POST / HTTP/1.1\r\nHost: a\r\n\r\n", b"")):
            with socket.create_connection(("127.0.0.1", self.served.port), timeout=20) as s:
                s.sendall(sent)
                got = b""
                while part := s.recv(1000):
                    got += part
                self.assertEqual(got, answer)

    def test_resp3_has_maps_and_doubles(self):
        with socket.create_connection(("127.0.0.1", self.served.port), timeout=20) as s:
            s.sendall(b"HELLO 3\r\nHSET h f v\r\nHGETALL h\r\nZADD z 1.5 m\r\nZSCORE z m\r\n"
                      b"GET none\r\nQUIT\r\n")
            got = b""
            while part := s.recv(1000):
                got += part
        self.assertTrue(got.startswith(b"%7\r\n"))
        self.assertTrue(got.endswith(
            b":1\r\n%1\r\n$1\r\nf\r\n$1\r\nv\r\n:1\r\n,1.5\r\n_\r\n+OK\r\n"), got)

    def test_redis_cli(self):
        said = subprocess.run(["redis-cli", "-p", str(self.served.port), "-3", "HELLO"],
                              capture_output=True, text=True, timeout=20, check=True).stdout
        self.assertIn("proto 3", said.replace('"', "").replace("=>", ""))


class VirtualTime(OnServer):
    words = ("--virtual-time",)

    def test_time_passes_by_command(self):
        self.r.set("a", "1", ex=3600)
        self.r.execute_command("HOLDFAST.ADVANCE", 3599000)
        self.assertEqual(self.r.get("a"), "1")
        self.r.execute_command("HOLDFAST.ADVANCE", 2000)
        self.assertIsNone(self.r.get("a"))

    def test_a_blocking_command_ends_when_its_time_has_passed(self):
        got = []
        waiter = threading.Thread(target=lambda: got.append(self.served.client().blpop("q", 3600)))
        waiter.start()
        while not any("b" in c["flags"] for c in self.r.client_list()):
            pass
        self.r.execute_command("HOLDFAST.ADVANCE", 3600000)
        waiter.join(20)
        self.assertEqual(got, [None])


class RealTime(OnServer):
    def test_time_cannot_be_moved(self):
        with self.assertRaisesRegex(redis.ResponseError, "--virtual-time"):
            self.r.execute_command("HOLDFAST.ADVANCE", 1)


class Evicting(OnServer):
    words = ("--maxmemory", "100kb", "--eviction", "allkeys-lru")

    def test_what_was_used_longest_ago_goes(self):
        for i in range(2000):
            self.r.set(f"key:{i}", "x" * 100)
            self.r.get("key:0")
        self.assertEqual(self.r.get("key:0"), "x" * 100)
        self.assertLess(self.r.dbsize(), 1000)
        self.assertGreater(self.r.info("stats")["evicted_keys"], 1000)

    def test_without_eviction_writes_are_refused_and_reads_are_not(self):
        self.r.config_set("maxmemory-policy", "noeviction")
        with self.assertRaisesRegex(redis.ResponseError, "used memory > 'maxmemory'"):
            for i in range(2000):
                self.r.set(f"key:{i}", "x" * 100)
        self.assertEqual(self.r.get("key:0"), "x" * 100)
        self.assertEqual(self.r.delete("key:0"), 1)

    def test_every_policy_keeps_the_bound(self):
        for policy in ("allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru",
                       "volatile-lfu", "volatile-random", "volatile-ttl"):
            self.r.flushall()
            self.r.config_set("maxmemory-policy", policy)
            for i in range(1000):
                self.r.set(f"key:{i}", "x" * 100, ex=1000 + i)
            self.assertLess(self.r.dbsize(), 600, policy)
            self.assertGreater(self.r.dbsize(), 100, policy)
            if policy == "volatile-ttl":
                self.assertIsNone(self.r.get("key:0"))
                self.assertIsNotNone(self.r.get("key:999"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
