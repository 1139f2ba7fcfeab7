#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same worker as worker.cpp, on redis-py's lock, as its manual shows it: for comparison.

  baseline_worker.py HOST:PORT NAME TTL_MS WORK_MS REFEREE_HOST REFEREE_PORT LOG
"""

import json
import signal
import socket
import sys
import time

import redis


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def main():
    address, name, ttl_ms, work_ms, referee_host, referee_port, log_path = sys.argv[1:]
    host, _, port = address.partition(":")
    ending = []
    signal.signal(signal.SIGTERM, lambda *_: ending.append(True))
    client = redis.Redis(host, int(port), socket_timeout=0.5, socket_connect_timeout=0.5)
    referee = socket.create_connection((referee_host, int(referee_port))).makefile("rw")

    def ask(line):
        referee.write(line + "\n")
        referee.flush()
        return referee.readline().strip()

    with open(log_path, "a", encoding="utf-8") as log:
        def write(**event):
            log.write(json.dumps(event) + "\n")
            log.flush()

        works = 0
        while not ending:
            lock = client.lock("lock:" + name, timeout=int(ttl_ms) / 1000, blocking_timeout=0.5,
                               sleep=0.01)
            try:
                if not lock.acquire():
                    continue
                write(e="grant", t=now(), fence=0)
                value = ask("read")
                works += 1  # now and then for long, as in worker.cpp
                time.sleep((int(ttl_ms) * 2 / 5 if works % 32 == 0 else int(work_ms)) / 1000)
                believed = now()  # it has no way to know better
                done = ask(f"write {value} 0") == "ok"
                write(e="end", t=now(), fence=0, believed=believed, done=done, lost="none",
                      release="ok")
                lock.release()
            except (redis.RedisError, OSError):
                time.sleep(0.01)


if __name__ == "__main__":
    main()
