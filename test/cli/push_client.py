# SPDX-License-Identifier: Apache-2.0
"""A server of live push, and viewers that check the offsets of what they get."""

import base64
import json
import os
import re
import socket
import struct
import subprocess
import threading
import time
import urllib.parse

import ground
from ground import wait_until

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


class Service:
    """`holdfast serve` on a free port; its log is read all the time."""

    def __init__(self, *words, **changes):
        self.process = subprocess.Popen(
            [ground.PROGRAM, "serve", "--listen", "127.0.0.1:0", *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=ground.environment(**changes))
        self.lines = []
        self.reader = threading.Thread(target=self.read_log, daemon=True)
        self.reader.start()
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            self.process.wait()
            self.reader.join()
            raise AssertionError(f"it did not start: {self.lines}")
        self.port = int(self.url.rstrip("/").rsplit(":", 1)[1])

    def read_log(self):
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))

    def messages(self):
        """The texts of the log, without their time."""
        return [json.loads(line)["message"] for line in list(self.lines) if line.startswith("{")]

    def count(self, pattern):
        return sum(1 for text in self.messages() if re.search(pattern, text))

    def wait_log(self, pattern, times=1):
        wait_until(lambda: self.count(pattern) >= times,
                   f"{times} x {pattern!r} in the log: {self.messages()[-20:]}")

    def curl(self, path, *words):
        """The status and the body, by curl as a user would."""
        done = subprocess.run(
            ["curl", "-s", "-w", "\n%{http_code}", f"{self.url}{path.lstrip('/')}", *words],
            capture_output=True, text=True, check=False, timeout=60)
        body, status = done.stdout.rsplit("\n", 1)
        return int(status), body

    def send(self, room, *contents, user=123, **more):
        body = {"roomId": room, "userId": user, "userName": "Ann",
                "messages": [{"content": content, **more} for content in contents]}
        status, answer = self.curl("logic/send", "-X", "POST", "-H",
                                   "Content-Type: application/json", "-d", json.dumps(body))
        return status, json.loads(answer)

    def metric(self, name):
        found = re.search(rf"^{name} (\S+)$", self.curl("metrics")[1], re.MULTILINE)
        return float(found[1])

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        self.process.stderr.close()


class Viewer:
    """A WebSocket that keeps what it hears, and says so if an offset is missing or comes twice."""

    def __init__(self, service, room=None, user="v", read=True, headers="", **query):
        self.heard = []
        self.messages = []
        self.at = {}
        self.faults = []
        self.closed = None
        self.ended = threading.Event()
        query = {"user": user, **({"room": room} if room else {}), **query}
        self.socket = socket.create_connection(("127.0.0.1", service.port), timeout=60)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((
            f"GET /comet/ws?{urllib.parse.urlencode(query)} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Key: {key}\r\n{headers}\r\n").encode())
        self.rest = b""
        while b"\r\n\r\n" not in self.rest:
            part = self.socket.recv(4096)
            if not part:
                break
            self.rest += part
        head, _, self.rest = self.rest.partition(b"\r\n\r\n")
        self.status = int(head.split(b" ", 2)[1])
        self.refusal = self.rest.decode(errors="replace") if self.status != 101 else ""
        if self.status == 101 and read:
            threading.Thread(target=self.read, daemon=True).start()
        if self.status == 101 and read and room:
            wait_until(lambda: room in self.at or self.closed, f"joining {room}: {self.heard}")

    def exactly(self, count):
        while len(self.rest) < count:
            part = self.socket.recv(65536)
            if not part:
                raise EOFError
            self.rest += part
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken

    def read(self):
        try:
            while True:
                first, length = self.exactly(2)
                if length == 126:
                    length, = struct.unpack(">H", self.exactly(2))
                elif length == 127:
                    length, = struct.unpack(">Q", self.exactly(8))
                payload = self.exactly(length)
                if first & 15 == PING:
                    self.write(PONG, payload)
                elif first & 15 == CLOSE:
                    self.closed = struct.unpack(">H", payload[:2])[0]
                elif first & 15 == TEXT:
                    self.hear(json.loads(payload))
        except (EOFError, OSError):
            self.closed = self.closed or 1006
        self.ended.set()

    def hear(self, text):
        self.heard.append(text)
        if text["type"] in ("joined", "reset"):
            self.at[text["room"]] = (text["epoch"], text["offset"])
        if text["type"] != "frame":
            return
        epoch, offset = self.at[text["room"]]
        # A room that never had a message has no epoch yet.
        if epoch not in (text["epoch"], "") or text["first"] != offset + 1:
            self.faults.append(f"behind {epoch} {offset} came {str(text)[:200]}")
        offsets = [one["offset"] for one in text["messages"]]
        if offsets != sorted(set(offsets)) or text["count"] != len(offsets):
            self.faults.append(f"offsets {offsets}")
        self.at[text["room"]] = (text["epoch"], text["last"])
        self.messages += text["messages"]

    def frames(self):
        return [text for text in self.heard if text["type"] == "frame"]

    def contents(self):
        return [one["content"] for one in self.messages]

    def wait_contents(self, contents, seconds=60):
        wait_until(lambda: self.contents() == contents or len(self.messages) > len(contents),
                   f"{contents} and not {self.contents()}", seconds)
        assert self.contents() == contents, self.contents()
        assert not self.faults, self.faults

    def say(self, **text):
        self.write(TEXT, json.dumps(text).encode())

    def write(self, opcode, payload):
        size = bytes([0x80 | len(payload)]) if len(payload) < 126 \
            else b"\xfe" + struct.pack(">H", len(payload))
        self.socket.sendall(bytes([0x80 | opcode]) + size + bytes(4) + payload)

    def wait_heard(self, **wanted):
        wait_until(lambda: any(wanted.items() <= text.items() for text in list(self.heard)),
                   f"{wanted} in {self.heard}")

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()


def resume(viewer, service, room):
    """A new viewer where another one was; it keeps what that one has."""
    epoch, offset = viewer.at[room]
    made = Viewer(service, room, epoch=epoch, offset=offset)
    made.messages = viewer.messages + made.messages
    made.faults = viewer.faults + made.faults
    assert not any(text.get("recovered") is False for text in made.heard), made.heard
    return made


def until(moment, step):
    """Calls step(n) for n = 0, 1, … until the moment has come."""
    number = 0
    while not moment():
        step(number)
        number += 1
        time.sleep(0.002)
    return number
