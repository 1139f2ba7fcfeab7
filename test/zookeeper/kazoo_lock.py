#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Takes a lock with kazoo, says so, and gives it back on SIGTERM.

    kazoo_lock.py HOSTS PATH Lock|ReadLock|WriteLock [PATTERN...]

A pattern is one more way in which contenders are named, as in kazoo's extra_lock_patterns.
"""

import signal
import sys
import threading

from kazoo.client import KazooClient


def main():
    """One lock, from the command line's words."""
    hosts, path, kind, *patterns = sys.argv[1:]
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    client = KazooClient(hosts=hosts, timeout=10)
    client.start(timeout=30)
    lock = getattr(client, kind)(path, "kazoo", extra_lock_patterns=patterns)
    lock.acquire()
    print("held", flush=True)
    stop.wait()
    lock.release()
    client.stop()


main()
