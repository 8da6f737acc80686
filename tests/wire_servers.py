"""Policy servers for tests: one built with the reference package, and ones that misbehave on a raw socket."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from typing import Any

import websockets.asyncio.server
from openpi_client import msgpack_numpy

from embodied_iqa.models.subjects.serving.listener import ServingOptions
from embodied_iqa.models.subjects.serving.served import ServedSubject
from embodied_iqa.models.subjects.serving.server import PolicyServer
from manual_clock import PATIENCE_S

Script = Callable[[socket.socket, threading.Event], None]

HANDSHAKE = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


@contextmanager
def in_thread(listening: Callable[[], AbstractAsyncContextManager[int]], threads: int = 8) -> Iterator[int]:
    """Listen in the event loop of a thread, with further ones for what waits, in a block; gives the port."""
    loop, ready, ports, stop = asyncio.new_event_loop(), threading.Event(), [], asyncio.Event()
    waiting = ThreadPoolExecutor(threads)
    loop.set_default_executor(waiting)

    async def run():
        async with listening() as port:
            ports.append(port)
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),), daemon=True)
    thread.start()
    assert ready.wait(PATIENCE_S)
    try:
        yield ports[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
        loop.close()
        waiting.shutdown()


@contextmanager
def reference_server(metadata: dict[str, Any], policy: Callable[[dict], dict]) -> Iterator[int]:
    """openpi's own server: reference codec, websockets, traceback as text on failure."""

    async def converse(connection: socket.socket):
        await connection.send(msgpack_numpy.packb(metadata))
        async for message in connection:
            try:
                answer = policy(msgpack_numpy.unpackb(message))
            except Exception as error:  # noqa: BLE001 - as openpi's server does
                await connection.send(f"Traceback (most recent call last):\n  ...\n{error!r}\n")
                await connection.close(code=1011)
                return
            await connection.send(msgpack_numpy.packb(answer))

    @asynccontextmanager
    async def listening():
        async with websockets.asyncio.server.serve(
            converse, "127.0.0.1", 0, compression=None, max_size=None, close_timeout=0.2
        ) as server:
            yield server.sockets[0].getsockname()[1]

    with in_thread(listening) as port:
        yield port


class Stop(threading.Event):
    """The end of a script, which counts how often the script has looked at it: it has come so far."""

    def __init__(self) -> None:
        super().__init__()
        self._looked = threading.Condition()
        self._looks = 0

    def wait(self, timeout: float | None = None) -> bool:
        self._note()
        return super().wait(timeout)

    def is_set(self) -> bool:
        self._note()
        return super().is_set()

    def await_looks(self, number: int) -> None:
        with self._looked:
            assert self._looked.wait_for(lambda: self._looks >= number, PATIENCE_S), "the script does not run"

    def _note(self) -> None:
        with self._looked:
            self._looks += 1
            self._looked.notify_all()


@contextmanager
def raw_server(script: Script, stop: threading.Event | None = None) -> Iterator[int]:
    """A listener that plays a script on every connection, each in a thread, until the block ends."""
    stop, threads = stop or threading.Event(), []
    listener = socket.create_server(("127.0.0.1", 0))
    open_connections: list[socket.socket] = []

    def play(connection: socket.socket):
        with connection, suppress(OSError):  # the client hangs up, as it should
            script(connection, stop)

    def accept():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            open_connections.append(connection)
            threads.append(threading.Thread(target=play, args=(connection,), daemon=True))
            threads[-1].start()

    acceptor = threading.Thread(target=accept, daemon=True)
    acceptor.start()
    try:
        yield listener.getsockname()[1]
    finally:
        stop.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        acceptor.join(PATIENCE_S)  # from now on no connection is added
        for connection in open_connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join(PATIENCE_S)
        assert not any(thread.is_alive() for thread in (acceptor, *threads))


@contextmanager
def closed_port() -> Iterator[int]:
    """A port at which nobody listens, and which nobody else gets while the block runs."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def read_head(connection: socket.socket) -> bytes:
    head = b""
    while b"\r\n\r\n" not in head:
        part = connection.recv(4096)
        if not part:
            raise OSError("gone")
        head += part
    return head


def shake_hands(connection: socket.socket) -> None:
    head = read_head(connection)
    key = next(
        line.split(b":", 1)[1].strip()
        for line in head.split(b"\r\n")
        if line.lower().startswith(b"sec-websocket-key")
    )
    accept = base64.b64encode(hashlib.sha1(key + HANDSHAKE).digest())
    connection.sendall(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n"
    )


def frame(data: bytes, opcode: int = 2, *, fin: bool = True, claimed: int | None = None) -> bytes:
    """A server's websocket frame; ``claimed`` lies about its length."""
    size = len(data) if claimed is None else claimed
    head = bytes([(0x80 if fin else 0) | opcode])
    if size < 126:
        return head + bytes([size]) + data
    if size < 1 << 16:
        return head + b"\x7e" + struct.pack(">H", size) + data
    return head + b"\x7f" + struct.pack(">Q", size) + data


def read_message(connection: socket.socket) -> bytes:
    """Read one masked frame of a client."""

    def exactly(size: int):
        data = b""
        while len(data) < size:
            part = connection.recv(size - len(data))
            if not part:
                raise OSError("gone")
            data += part
        return data

    while True:
        first, second = exactly(2)
        size = second & 0x7F
        if size == 126:
            size = struct.unpack(">H", exactly(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", exactly(8))[0]
        mask = exactly(4)
        payload = exactly(size)
        if first & 0x0F == 2:
            return bytes(byte ^ mask[k % 4] for k, byte in enumerate(payload[:64])) if size > 64 else payload


def greet(connection: socket.socket, metadata: dict[str, Any] | None = None) -> None:
    shake_hands(connection)
    connection.sendall(frame(msgpack_numpy.packb(metadata or {})))


@contextmanager
def serving(subject: ServedSubject, **settings: object) -> Iterator[int]:
    """Serve in a thread while the block runs."""
    with in_thread(lambda: PolicyServer(subject, ServingOptions(port=0, **settings)).listening()) as port:
        yield port
