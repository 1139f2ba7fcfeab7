# SPDX-License-Identifier: Apache-2.0
"""TCP proxies on loopback that break on command; all of them in one thread."""

import asyncio
import contextlib
import threading


class Proxies:
    """`open(port)` answers a port that leads there; `set(ports, mode)` changes what they do."""

    MODES = ("pass", "drop_replies", "black_hole", "reset")

    def __init__(self):
        self._loop = asyncio.new_event_loop()
        self._mode = {}
        self._links = {}
        self._servers = []
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def open(self, target):
        return self._call(self._open(target))

    def set(self, ports, mode):
        assert mode in self.MODES
        self._call(self._set(list(ports), mode))

    def close(self):
        self._call(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(10)

    async def _open(self, target):
        port = None

        async def serve(reader, writer):
            await self._carry(port, target, reader, writer)

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        self._servers.append(server)
        port = server.sockets[0].getsockname()[1]
        self._mode[port], self._links[port] = "pass", set()
        return port

    async def _set(self, ports, mode):
        for port in ports:
            was, self._mode[port] = self._mode[port], mode
            # A stream that lost bytes cannot go on.
            if mode == "reset" or (mode == "pass" and was != "pass"):
                for writer in list(self._links[port]):
                    writer.transport.abort()

    async def _close(self):
        for server in self._servers:
            server.close()
        for links in self._links.values():
            for writer in list(links):
                writer.transport.abort()

    async def _carry(self, port, target, reader, writer):
        if self._mode[port] == "reset":
            writer.transport.abort()
            return
        try:
            from_server, to_server = await asyncio.open_connection("127.0.0.1", target)
        except OSError:
            writer.transport.abort()
            return
        links = self._links[port]
        links.update((writer, to_server))
        await asyncio.gather(self._pump(port, reader, to_server, ("black_hole",)),
                             self._pump(port, from_server, writer, ("black_hole", "drop_replies")))
        links.difference_update((writer, to_server))

    async def _pump(self, port, reader, writer, swallowing):
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while data := await reader.read(65536):
                if self._mode[port] in swallowing:
                    continue
                writer.write(data)
                await writer.drain()
        with contextlib.suppress(OSError):
            writer.close()
