# SPDX-License-Identifier: Apache-2.0
"""The resource that workers write to, and the verdict on what they did."""

import json
import socketserver
import threading
from pathlib import Path


class Referee:
    """A register that keeps the largest fence it has seen and refuses a smaller one.

    A writer says which value it had read. If that is not the value any more, somebody wrote in
    between: an update is lost. Fence 0 means that the writer has none; it is never refused.
    """

    def __init__(self):
        self.value, self.largest = 0, 0
        self.refused, self.lost_updates, self.writes = 0, 0, 0
        self._lock = threading.Lock()
        referee = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                for line in self.rfile:
                    self.wfile.write((referee.answer(line.decode().split()) + "\n").encode())

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, words):
        with self._lock:
            if words[0] == "read":
                return str(self.value)
            read, fence = int(words[1]), int(words[2])
            if fence and fence < self.largest:
                self.refused += 1
                return "stale"
            if read != self.value:
                self.lost_updates += 1
            self.largest = max(self.largest, fence)
            self.value += 1
            self.writes += 1
            return "ok"

    def close(self):
        self._server.shutdown()
        self._server.server_close()


def read_log(path):
    """One worker's holdings: (granted, believed until, fence), its losses, its refusals."""
    holdings, losses, current = [], 0, None
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue  # the last line of one that was killed
        if event["e"] == "grant":
            current = [event["t"], event["t"], event["fence"]]
            holdings.append(current)
        elif event["e"] == "beat" and current:
            current[1] = event["t"]
        elif event["e"] == "end" and current:
            current[1] = event["believed"]
            losses += event["lost"] not in ("none", "closed")
            current = None
    return holdings, losses


def verdict(logs, referee, fault, healed):
    """What happened, from the workers' own words. Times in nanoseconds."""
    holdings, losses = [], 0
    for log in logs:
        held, lost = read_log(log)
        holdings += held
        losses += lost
    holdings.sort()
    overlaps, longest, backward = 0, 0, 0
    last_end, largest = 0, 0
    for granted, believed, fence in holdings:
        if granted < last_end:
            overlaps += 1
            longest = max(longest, min(last_end, believed) - granted)
        last_end = max(last_end, believed)
        backward += bool(fence) and fence <= largest
        largest = max(largest, fence)
    starts = [granted for granted, _, _ in holdings]
    window = 100_000_000
    windows = range(fault, healed, window)
    served = sum(any(w <= s < w + window for s in starts) for w in windows)
    after = min((s for s in starts if s >= healed), default=None)
    return {
        "grants": len(holdings),
        "exclusion_violations": overlaps,
        "longest_overlap_ms": round(longest / 1e6, 1),
        "fence_violations": backward,
        "lost_updates": referee.lost_updates,
        "refused_writes": referee.refused,
        "losses": losses,
        "availability": round(served / max(1, len(windows)), 2),
        "first_grant_after_healing_ms": None if after is None else round((after - healed) / 1e6),
    }
