"""Servers that are dead, slow, lying or flooding: the caller always has its answer by the deadline.

The deadline is on a clock of the test's own: it passes when the server has come as far as the test wants.
"""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import numpy as np
import pytest
from openpi_client import msgpack_numpy

from embodied_iqa.models.subjects.wire.deadline import Deadline, retrying
from embodied_iqa.models.subjects.wire.errors import (
    ConnectionLostError,
    DeadlineError,
    ProtocolError,
    ServerError,
    WireError,
)
from embodied_iqa.models.subjects.wire.http import HttpAnswer, HttpServer
from embodied_iqa.models.subjects.wire.policy_client import PolicyClient, WireLimits
from embodied_iqa.models.subjects.wire.sockets import Address
from manual_clock import PATIENCE_S, ManualClock
from wire_servers import (
    Script,
    Stop,
    closed_port,
    frame,
    greet,
    raw_server,
    read_head,
    read_message,
    reference_server,
    shake_hands,
)

SHORT_S = 0.4
DRIPS = 20
"""A script that drips has dripped so often before its deadline."""
LIMITS = WireLimits(connect_s=SHORT_S, answer_s=SHORT_S, most_bytes=1 << 20)
OBSERVATION = {"prompt": "pick", "observation/image": np.zeros((224, 224, 3), np.uint8)}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(pauses_pass=True)


def client_of(port: int, clock: ManualClock, limits: WireLimits = LIMITS):
    return PolicyClient(Address("127.0.0.1", port), limits, clock=clock)


def fails(call: Callable[[], object], error: type[Exception], clock: ManualClock):
    """Call it; it fails before any time has passed, but for the pauses between attempts."""
    began_s = clock.now_s()
    with pytest.raises(error) as caught:
        call()
    assert clock.now_s() - began_s < SHORT_S
    return str(caught.value)


def misses_its_deadline(call: Callable[[], object], clock: ManualClock, stop: Stop | None, looks: int):
    """Call it; it goes on until the deadline and then ends, once the server has come so far."""
    with ThreadPoolExecutor(1) as pool:
        called = pool.submit(call)
        if stop is not None:
            stop.await_looks(looks)
        clock.outlast(called, SHORT_S)
        with pytest.raises(DeadlineError) as caught:
            called.result()
    return str(caught.value)


def silent(connection: socket.socket, stop: threading.Event):
    stop.wait()


def drips_handshake(connection: socket.socket, stop: threading.Event):
    read_head(connection)
    while not stop.wait(0.01):
        connection.sendall(b"X")


def not_http(connection: socket.socket, stop: threading.Event):
    connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
    stop.wait()


def endless_header(connection: socket.socket, stop: threading.Event):
    connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\n")
    while not stop.is_set():
        connection.sendall(b"X: " + b"y" * 1000 + b"\r\n")


def no_metadata(connection: socket.socket, stop: threading.Event):
    shake_hands(connection)
    stop.wait()


def drips_metadata(connection: socket.socket, stop: threading.Event):
    shake_hands(connection)
    connection.sendall(frame(b"", claimed=1000))
    while not stop.wait(0.01):
        connection.sendall(b"\x80")


def pings_for_ever(connection: socket.socket, stop: threading.Event):
    shake_hands(connection)
    connection.settimeout(0.05)
    while not stop.is_set():
        connection.sendall(frame(b"are you there", 9) * 100)
        with contextlib.suppress(TimeoutError):
            connection.recv(1 << 16)


@pytest.mark.parametrize("script", [not_http, endless_header, pings_for_ever])
def test_connecting_to_a_server_of_another_kind_ends_at_once(script: Script, clock: ManualClock):
    with raw_server(script) as port:
        fails(client_of(port, clock).connect, ProtocolError, clock)


@pytest.mark.parametrize(
    ("script", "looks"), [(silent, 1), (drips_handshake, DRIPS), (no_metadata, 1), (drips_metadata, DRIPS)]
)
def test_connecting_to_a_slow_server_ends_in_time(script: Script, looks: int, clock: ManualClock):
    stop = Stop()
    with raw_server(script, stop) as port:
        words = misses_its_deadline(client_of(port, clock).connect, clock, stop, looks)
    assert "no policy server answers" in words


def test_connecting_to_nobody_says_so(clock: ManualClock):
    with closed_port() as port:
        assert "connection refused" in fails(client_of(port, clock).connect, DeadlineError, clock)


def test_a_deadline_that_passes_in_an_attempt_names_why_the_one_before_was_lost(clock: ManualClock):
    deadline, attempts = Deadline.after(1.0, "no policy server answers", clock), []

    def ask() -> None:
        attempts.append(deadline.left_s())
        if len(attempts) > 1:
            clock.advance(2.0)
            deadline.left_s()
        raise ConnectionLostError("connection refused")

    with pytest.raises(DeadlineError, match=r"^no policy server answers within 1 s: connection refused$"):
        retrying(ask, deadline, None, threading.Event())
    assert len(attempts) == 2


def test_a_server_that_does_not_take_connections_ends_in_time(clock: ManualClock):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(address)
        misses_its_deadline(client_of(address[1], clock).connect, clock, None, 0)
        for filler in fillers:
            filler.close()


def never_answers(connection: socket.socket, stop: threading.Event):
    greet(connection)
    stop.wait()


def does_not_read(connection: socket.socket, stop: threading.Event):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    greet(connection)
    stop.wait()


def drips_answer(connection: socket.socket, stop: threading.Event):
    greet(connection)
    read_message(connection)
    connection.sendall(frame(b"", claimed=5000))
    while not stop.wait(0.01):
        connection.sendall(b"\0")


def drips_fragments(connection: socket.socket, stop: threading.Event):
    greet(connection)
    read_message(connection)
    connection.sendall(frame(b"\x93", fin=False))
    while not stop.wait(0.01):
        connection.sendall(frame(b"\0", 0, fin=False))


def huge_answer(connection: socket.socket, stop: threading.Event):
    greet(connection)
    read_message(connection)
    connection.sendall(frame(b"\0" * 100, claimed=1 << 40))
    stop.wait()


def many_fragments(connection: socket.socket, stop: threading.Event):
    greet(connection)
    read_message(connection)
    connection.sendall(frame(b"\0" * 1000, fin=False))
    while not stop.is_set():
        connection.sendall(frame(b"\0" * 60_000, 0, fin=False))


def not_msgpack(connection: socket.socket, stop: threading.Event):
    greet(connection)
    read_message(connection)
    connection.sendall(frame(b"\xc1\xc1"))
    stop.wait()


def no_map(connection: socket.socket, stop: threading.Event):
    greet(connection)
    read_message(connection)
    connection.sendall(frame(msgpack_numpy.packb([1, 2])))
    stop.wait()


def says_it_failed(connection: socket.socket, stop: threading.Event):
    greet(connection)
    read_message(connection)
    connection.sendall(frame(b"Traceback (most recent call last):\n  x\nValueError: out of memory\n", 1))
    stop.wait()


def breaks_the_protocol(connection: socket.socket, stop: threading.Event):
    greet(connection)
    read_message(connection)
    connection.sendall(b"\xff\xff\xff\xff")
    stop.wait()


@pytest.mark.parametrize(
    ("script", "error", "words"),
    [
        (huge_answer, ProtocolError, "too big|exceed|limit"),
        (many_fragments, ProtocolError, "too big|exceed|limit"),
        (not_msgpack, ProtocolError, "not readable"),
        (no_map, ProtocolError, "an invalid answer"),
        (says_it_failed, ServerError, "ValueError: out of memory"),
        (breaks_the_protocol, ProtocolError, "protocol"),
    ],
)
def test_asking_a_bad_server_ends_at_once(
    script: Script, error: type[Exception], words: str, clock: ManualClock
):
    with raw_server(script) as port:
        client = client_of(port, clock)
        client.connect()
        message = fails(lambda: client.infer(OBSERVATION), error, clock)
        assert any(word in message for word in words.split("|")), message
        assert "\n" not in message
        client.close()


@pytest.mark.parametrize(
    ("script", "looks"), [(never_answers, 1), (drips_answer, DRIPS), (drips_fragments, DRIPS)]
)
def test_asking_a_slow_server_ends_in_time(script: Script, looks: int, clock: ManualClock):
    stop = Stop()
    with raw_server(script, stop) as port:
        client = client_of(port, clock)
        client.connect()
        message = misses_its_deadline(lambda: client.infer(OBSERVATION), clock, stop, looks)
        assert "no answer from" in message
        assert "\n" not in message
        client.close()


def test_a_server_that_does_not_read_ends_in_time(clock: ManualClock):
    stop = Stop()
    with raw_server(does_not_read, stop) as port:
        client = client_of(port, clock)
        client.connect()
        much = {"image": np.zeros(32 << 20, np.uint8)}
        misses_its_deadline(lambda: client.infer(much), clock, stop, 1)


def test_a_server_that_sends_unasked_is_not_believed(clock: ManualClock):
    connected = threading.Event()

    def unasked(connection: socket.socket, stop: threading.Event):
        greet(connection)
        connected.wait(PATIENCE_S)
        connection.sendall(frame(msgpack_numpy.packb({"actions": np.ones((1, 7))})))
        read_message(connection)
        stop.wait()

    with raw_server(unasked) as port:
        client = client_of(port, clock)
        client.connect()
        connected.set()
        wait_for_bytes(client)
        assert "unrequested messages" in fails(lambda: client.infer(OBSERVATION), ProtocolError, clock)


@pytest.mark.parametrize("size", [2, 100])
def test_a_second_message_behind_the_metadata_is_not_believed(size: int, clock: ManualClock):
    def two(connection: socket.socket, stop: threading.Event):
        shake_hands(connection)
        second = frame(msgpack_numpy.packb({"actions": 1}), claimed=size if size == 100 else None)
        connection.sendall(frame(msgpack_numpy.packb({})) + second)
        stop.wait()

    with raw_server(two) as port:
        client = client_of(port, clock)
        client.connect()
        assert "unrequested messages" in fails(lambda: client.infer(OBSERVATION), ProtocolError, clock)


def wait_for_bytes(client: PolicyClient):
    """Until what the server sent unasked has arrived."""
    assert select.select([client._connection._link._socket], [], [], PATIENCE_S)[0]


def test_a_late_answer_is_never_taken_for_the_next_one(clock: ManualClock):
    asked, is_late, is_sent = [], threading.Event(), threading.Event()

    def answers_the_first_late(connection: socket.socket, stop: threading.Event):
        greet(connection)
        read_message(connection)
        number = len(asked)
        asked.append(number)
        if number == 0:
            stop.is_set()
            is_late.wait(PATIENCE_S)
        with contextlib.suppress(OSError):  # the first one has hung up
            connection.sendall(frame(msgpack_numpy.packb({"actions": number})))
        is_sent.set()
        stop.wait()

    stop = Stop()
    with raw_server(answers_the_first_late, stop) as port:
        client = client_of(port, clock)
        client.connect()
        misses_its_deadline(lambda: client.infer(OBSERVATION), clock, stop, 1)
        is_late.set()
        assert is_sent.wait(PATIENCE_S)
        assert client.infer(OBSERVATION) == {"actions": 1}
        client.close()


def test_an_answer_to_another_question_is_refused(clock: ManualClock):
    def wrong_number(connection: socket.socket, stop: threading.Event):
        greet(connection, {"protocol": "embodied-iqa/1"})
        read_message(connection)
        connection.sendall(frame(msgpack_numpy.packb({"request": 7})))
        stop.wait()

    with raw_server(wrong_number) as port:
        client = client_of(port, clock)
        client.connect()
        assert "another question" in fails(lambda: client.infer(OBSERVATION), ProtocolError, clock)


def test_a_connection_that_the_server_closed_is_made_anew(clock: ManualClock):
    with reference_server({"model": "x"}, lambda observation: {"actions": observation["prompt"]}) as port:
        client = client_of(port, clock)
        assert client.connect() == {"model": "x"}
        for word in ("one", "two"):
            assert client.infer({"prompt": word}) == {"actions": word}
            client._connection._link._socket.shutdown(socket.SHUT_RDWR)
        client.close()


def test_a_server_that_closes_every_time_is_given_up(clock: ManualClock):
    def closes(connection: socket.socket, stop: threading.Event):
        greet(connection)
        read_message(connection)

    with raw_server(closes) as port:
        client = client_of(port, clock)
        client.connect()
        with pytest.raises(ConnectionLostError):
            client.infer(OBSERVATION)


def test_a_client_that_closes_sends_a_close_frame(clock: ManualClock):
    heard: SimpleQueue[bytes] = SimpleQueue()

    def listens(connection: socket.socket, _stop: threading.Event):
        greet(connection)
        heard.put(b"".join(iter(lambda: connection.recv(64), b"")))

    with raw_server(listens) as port:
        client = client_of(port, clock)
        client.connect()
        client.close()
        client.close()
        said = heard.get(timeout=PATIENCE_S)
    mask, code = said[2:6], said[6:]
    assert said[:2] == b"\x88\x82", "one frame: close, masked, of two bytes"
    assert bytes(a ^ b for a, b in zip(mask, code, strict=False)) == (1000).to_bytes(2)


def test_a_closed_client_asks_no_more(clock: ManualClock):
    """The gate's proxy closes it when its own client has left, perhaps before the policy was asked."""
    asked: list[dict] = []
    with reference_server({}, lambda seen: asked.append(seen) or {}) as port:
        client = client_of(port, clock)
        client.connect()
        client.close()
        assert "was closed" in fails(lambda: client.infer(OBSERVATION), WireError, clock)
    assert asked == []


def test_a_server_that_changes_its_policy_is_refused(clock: ManualClock):
    greetings = iter([{"policy": 1}, {"policy": 2}])

    def changes(connection: socket.socket, stop: threading.Event):
        greet(connection, next(greetings))
        read_message(connection)

    with raw_server(changes) as port:
        client = client_of(port, clock)
        client.connect()
        with pytest.raises(ProtocolError, match="another policy"):
            client.infer(OBSERVATION)


# --- HTTP ---


def ask(port: int, clock: ManualClock) -> HttpAnswer:
    server = HttpServer(Address("127.0.0.1", port), connect_s=SHORT_S, most_bytes=10_000, headers={})
    return server.request("/act", b"{}", Deadline.after(SHORT_S, "no answer", clock))


def http_drips(connection: socket.socket, stop: threading.Event):
    read_head(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while not stop.wait(0.01):
        connection.sendall(b"1")


def http_drips_header(connection: socket.socket, stop: threading.Event):
    read_head(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    while not stop.wait(0.01):
        connection.sendall(b"1")


def http_floods(connection: socket.socket, stop: threading.Event):
    read_head(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while not stop.is_set():
        connection.sendall(b"1" * 60_000)


def http_header_flood(connection: socket.socket, stop: threading.Event):
    read_head(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while not stop.is_set():
        connection.sendall(b"X: " + b"1" * 1000 + b"\r\n")


def http_cut(connection: socket.socket, stop: threading.Event):
    read_head(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n123")


def http_continues_for_ever(connection: socket.socket, stop: threading.Event):
    read_head(connection)
    while not stop.is_set():
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)


@pytest.mark.parametrize(
    ("script", "error"),
    [
        (http_floods, ProtocolError),
        (http_header_flood, ProtocolError),
        (http_cut, WireError),
        (not_http, ProtocolError),
    ],
)
def test_a_bad_http_server_ends_at_once(script: Script, error: type[Exception], clock: ManualClock):
    with raw_server(script) as port:
        assert "\n" not in fails(lambda: ask(port, clock), error, clock)


@pytest.mark.parametrize(
    ("script", "looks"),
    [(silent, 1), (http_drips, DRIPS), (http_drips_header, DRIPS), (http_continues_for_ever, DRIPS)],
)
def test_a_slow_http_server_ends_in_time(script: Script, looks: int, clock: ManualClock):
    stop = Stop()
    with raw_server(script, stop) as port:
        assert "\n" not in misses_its_deadline(lambda: ask(port, clock), clock, stop, looks)
