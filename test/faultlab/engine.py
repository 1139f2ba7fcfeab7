# SPDX-License-Identifier: Apache-2.0
"""What a nemesis needs to know of an engine."""


class Engine:
    """What a nemesis needs to know of an engine."""

    name = ""
    quarantine_ms = 0    # nothing is granted for so long after a restart or a promotion
    served = True        # there are servers
    proxied = True       # workers can be cut off by proxies of their own
    one_process = False  # all contenders are threads of one
    disk = False         # a full disk matters to it
    parts = False        # a part of its servers can be cut off from the others
    redis = True         # its servers, if there are some, speak Redis commands

    def __init__(self, ground):
        self.ground = ground
        self.servers = self.start()

    def start(self):
        raise NotImplementedError

    def url(self, addresses):
        """For a worker that finds the servers at these addresses."""
        raise NotImplementedError

    def around(self, words):  # how a worker with these words is started
        return words

    def victims(self):
        """The servers that a fault strikes: as many as the engine says it survives, or one."""
        return self.servers[:1]

    def settled(self):
        """Whether it has got over the last fault, so that the next one meets it whole."""
        return all(server.command("PING").startswith(b"+PONG") for server in self.servers)

    def keys_left(self):
        """Locks and lines that are still stored."""
        left = 0
        for server in self.servers:
            for key in server.command("KEYS", "*").split(b"\r\n"):
                left += key.startswith((b"lock:", b"{lock:"))
        return left

    def close(self):
        for server in self.servers:
            server.close()
