"""Servers that are dead, slow, lying or flooding: the caller always has its answer by the deadline."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
from openpi_client import msgpack_numpy

from embodied_iqa.subjects.wire.deadline import Deadline
from embodied_iqa.subjects.wire.errors import (
    ConnectionLostError,
    DeadlineError,
    ProtocolError,
    ServerError,
    WireError,
)
from embodied_iqa.subjects.wire.http import HttpAnswer, HttpServer
from embodied_iqa.subjects.wire.policy_client import PolicyClient, WireLimits
from embodied_iqa.subjects.wire.sockets import Address
from wire_servers import (
    Script,
    frame,
    greet,
    raw_server,
    read_head,
    read_message,
    reference_server,
    shake_hands,
)

SHORT_S = 0.4
SLACK_S = 3.0
"""For a machine that is busy; without a deadline it would be for ever."""
LIMITS = WireLimits(connect_s=SHORT_S, answer_s=SHORT_S, most_bytes=1 << 20)
OBSERVATION = {"prompt": "pick", "observation/image": np.zeros((224, 224, 3), np.uint8)}


def client_of(port: int, limits: WireLimits = LIMITS):
    return PolicyClient(Address("127.0.0.1", port), limits)


def in_time(call: Callable[[], object], error: type[Exception]):
    began = time.monotonic()
    with pytest.raises(error) as caught:
        call()
    assert time.monotonic() - began < SHORT_S + SLACK_S
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


@pytest.mark.parametrize(
    ("script", "error"),
    [
        (silent, DeadlineError),
        (drips_handshake, WireError),
        (not_http, ProtocolError),
        (endless_header, ProtocolError),
        (no_metadata, DeadlineError),
        (drips_metadata, DeadlineError),
        (pings_for_ever, ProtocolError),
    ],
)
def test_connecting_to_a_bad_server_ends_in_time(script: Script, error: type[Exception]):
    with raw_server(script) as port:
        in_time(client_of(port).connect, error)


def test_connecting_to_nobody_says_so():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert "connection refused" in in_time(client_of(port).connect, DeadlineError)


def test_a_server_that_does_not_take_connections_ends_in_time():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(address)
        in_time(client_of(address[1]).connect, DeadlineError)
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
        (never_answers, DeadlineError, "no answer from"),
        (drips_answer, DeadlineError, "no answer from"),
        (drips_fragments, DeadlineError, "no answer from"),
        (huge_answer, ProtocolError, "too big|exceed|limit"),
        (many_fragments, ProtocolError, "too big|exceed|limit"),
        (not_msgpack, ProtocolError, "not readable"),
        (no_map, ProtocolError, "an invalid answer"),
        (says_it_failed, ServerError, "ValueError: out of memory"),
        (breaks_the_protocol, ProtocolError, "protocol"),
    ],
)
def test_asking_a_bad_server_ends_in_time(script: Script, error: type[Exception], words: str):
    with raw_server(script) as port:
        client = client_of(port)
        client.connect()
        message = in_time(lambda: client.infer(OBSERVATION), error)
        assert any(word in message for word in words.split("|")), message
        assert "\n" not in message
        client.close()


def test_a_server_that_does_not_read_ends_in_time():
    with raw_server(does_not_read) as port:
        client = client_of(port)
        client.connect()
        in_time(lambda: client.infer({"picture": np.zeros(32 << 20, np.uint8)}), DeadlineError)


def test_a_server_that_sends_unasked_is_not_believed():
    connected = threading.Event()

    def unasked(connection: socket.socket, stop: threading.Event):
        greet(connection)
        connected.wait(5)
        connection.sendall(frame(msgpack_numpy.packb({"actions": np.ones((1, 7))})))
        read_message(connection)
        stop.wait()

    with raw_server(unasked) as port:
        client = client_of(port)
        client.connect()
        connected.set()
        wait_for_bytes(client)
        assert "unrequested messages" in in_time(lambda: client.infer(OBSERVATION), ProtocolError)


@pytest.mark.parametrize("size", [2, 100])
def test_a_second_message_behind_the_metadata_is_not_believed(size: int):
    def two(connection: socket.socket, stop: threading.Event):
        shake_hands(connection)
        second = frame(msgpack_numpy.packb({"actions": 1}), claimed=size if size == 100 else None)
        connection.sendall(frame(msgpack_numpy.packb({})) + second)
        stop.wait()

    with raw_server(two) as port:
        client = client_of(port)
        client.connect()
        assert "unrequested messages" in in_time(lambda: client.infer(OBSERVATION), ProtocolError)


def wait_for_bytes(client: PolicyClient):
    """Until what the server sent unasked has arrived."""
    connected = client._connection._link._socket
    connected.settimeout(5)
    connected.recv(1, socket.MSG_PEEK)


def test_a_late_answer_is_never_taken_for_the_next_one():
    asked = []

    def answers_the_first_late(connection: socket.socket, stop: threading.Event):
        greet(connection)
        read_message(connection)
        asked.append(1)
        if len(asked) == 1:
            stop.wait(1.5 * SHORT_S)
        connection.sendall(frame(msgpack_numpy.packb({"actions": len(asked)})))
        stop.wait()

    with raw_server(answers_the_first_late) as port:
        client = client_of(port)
        client.connect()
        in_time(lambda: client.infer(OBSERVATION), DeadlineError)
        assert client.infer(OBSERVATION) == {"actions": 2}
        client.close()


def test_an_answer_to_another_question_is_refused():
    def wrong_number(connection: socket.socket, stop: threading.Event):
        greet(connection, {"protocol": "embodied-iqa/1"})
        read_message(connection)
        connection.sendall(frame(msgpack_numpy.packb({"request": 7})))
        stop.wait()

    with raw_server(wrong_number) as port:
        client = client_of(port)
        client.connect()
        assert "another question" in in_time(lambda: client.infer(OBSERVATION), ProtocolError)


def test_a_connection_that_the_server_closed_is_made_anew():
    with reference_server({"model": "x"}, lambda observation: {"actions": observation["prompt"]}) as port:
        client = client_of(port, WireLimits(connect_s=5.0, answer_s=5.0))
        assert client.connect() == {"model": "x"}
        for word in ("one", "two"):
            assert client.infer({"prompt": word}) == {"actions": word}
            client._connection._link._socket.shutdown(socket.SHUT_RDWR)
        client.close()


def test_a_server_that_closes_every_time_is_given_up():
    def closes(connection: socket.socket, stop: threading.Event):
        greet(connection)
        read_message(connection)

    with raw_server(closes) as port:
        client = client_of(port, WireLimits(connect_s=2.0, answer_s=5.0, retries=2))
        client.connect()
        with pytest.raises(ConnectionLostError):
            client.infer(OBSERVATION)


def test_a_server_that_changes_its_policy_is_refused():
    greetings = iter([{"policy": 1}, {"policy": 2}])

    def changes(connection: socket.socket, stop: threading.Event):
        greet(connection, next(greetings))
        read_message(connection)

    with raw_server(changes) as port:
        client = client_of(port, WireLimits(connect_s=5.0, answer_s=5.0))
        client.connect()
        with pytest.raises(ProtocolError, match="another policy"):
            client.infer(OBSERVATION)


# --- HTTP ---


def ask(port: int, seconds: float = SHORT_S) -> HttpAnswer:
    server = HttpServer(Address("127.0.0.1", port), connect_s=seconds, most_bytes=10_000, headers={})
    return server.request("/act", b"{}", Deadline.after(seconds, "no answer"))


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
        (silent, DeadlineError),
        (http_drips, DeadlineError),
        (http_drips_header, WireError),
        (http_floods, ProtocolError),
        (http_header_flood, ProtocolError),
        (http_cut, WireError),
        (http_continues_for_ever, DeadlineError),
        (not_http, ProtocolError),
    ],
)
def test_a_bad_http_server_ends_in_time(script: Script, error: type[Exception]):
    with raw_server(script) as port:
        message = in_time(lambda: ask(port), error)
        assert "\n" not in message
