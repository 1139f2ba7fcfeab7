# SPDX-License-Identifier: Apache-2.0
"""The resource that workers write to, and the verdict on what they did."""

import bisect
import json
import socketserver
import threading
from pathlib import Path


class Referee:
    """A register that keeps the largest fence it has seen and refuses a smaller one.

    A writer says which value it had read. If that is not the value any more, somebody wrote in
    between: an update is lost. Fence 0 means that the writer has none; it is never refused.
    """

    def __init__(self, host="127.0.0.1"):
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

        self._server = Server((host, 0), Handler)
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
    """One contender's holdings: [granted, believed until, fence]; and when it lost one."""
    holdings, losses, current = [], [], None
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
            if event["lost"] not in ("none", "closed"):
                losses.append(event["t"])
            current = None
    return holdings, losses


def probed(path, since):
    """How many names were tried and refused, and for how long after the last of the times before
    it (of a promotion) one was still refused, in ms: the longest of them."""
    tried, refused, longest = 0, 0, 0
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue  # the last line of one that was killed
        tried += 1
        if event["e"] != "refused":
            continue
        refused += 1
        at = bisect.bisect_right(since, event["t"]) - 1
        if at >= 0:
            longest = max(longest, event["t"] - since[at])
    return {"tried": tried, "refused": refused, "refused_for_ms": round(longest / 1e6)}


def last_grant(path):
    """When a contender was last granted the name, by the end of its log; and whether it holds."""
    with open(path, "rb") as log:
        log.seek(max(0, log.seek(0, 2) - 4096))
        lines = [line for line in log.read().decode().splitlines() if '"beat"' not in line]
    for line in reversed(lines):
        if '"grant"' in line and line.endswith("}"):
            return json.loads(line)["t"], line is lines[-1]
    return 0, False


def availability(holdings, faults):
    """Which part of the faults' tenths of a second somebody held the name in."""
    tenth, windows, served = 100_000_000, 0, 0
    for fault, healed in faults:
        for begin in range(fault, healed, tenth):
            windows += 1
            at = bisect.bisect_left(holdings, [begin + tenth]) - 1  # the last one by its end
            served += at >= 0 and holdings[at][1] >= begin
    return round(served / max(1, windows), 2)


def first_grants(starts, faults):
    """How long after each healing somebody was granted the name, in ms: the longest of them."""
    longest = 0
    for _, healed in faults:
        at = bisect.bisect_left(starts, healed)
        if at == len(starts):
            return None
        longest = max(longest, starts[at] - healed)
    return round(longest / 1e6)


def verdict(logs, referee, faults, ttl_ms):
    """What happened, from the contenders' own words; `faults`: when each began and was healed."""
    holdings, losses = [], []
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
    after = 2 * ttl_ms * 1_000_000  # so long a fault may show
    false = sum(not any(fault <= t <= healed + after for fault, healed in faults) for t in losses)
    return {
        "grants": len(holdings),
        "exclusion_violations": overlaps,
        "longest_overlap_ms": round(longest / 1e6, 1),
        "fence_violations": backward,
        "lost_updates": referee.lost_updates,
        "refused_writes": referee.refused,
        "losses": len(losses),
        "false_losses": false,
        "availability": availability(holdings, faults),
        "first_grant_after_healing_ms": first_grants(starts, faults),
    }
