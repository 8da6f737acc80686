"""The driver's end of its worker: what a worker says last is read, whatever it has left unread."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from embodied_iqa.arm.robot.ur.messages import FAREWELL, STATE, Refusal
from embodied_iqa.arm.robot.ur.options import SessionOptions, UrOptions
from embodied_iqa.arm.robot.ur.process import UrProcess

WHY = "the robot's controller closed the connection"


class EndedProcess:
    """A worker that has ended; `end` is its end of the socket."""

    def __init__(self, _command: list[str], *, pass_fds: list[int], **_rest: Any) -> None:
        self.pid = 0
        self.end = socket.socket(fileno=os.dup(pass_fds[0]))

    def poll(self) -> int:
        return 1

    def wait(self, timeout: float) -> int:
        return 1


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[UrProcess]:
    monkeypatch.setattr(subprocess, "Popen", EndedProcess)
    found = UrProcess(SessionOptions(UrOptions(ip="192.0.2.1")))
    yield found
    found._socket.close()


def say_and_end(driver: UrProcess, *messages: bytes) -> None:
    """Let the worker end while a message of the driver waits for it: the kernel resets the connection."""
    driver.send(b"unread")
    end = driver._process.end  # type: ignore[attr-defined]
    for message in messages:
        end.send(message)
    end.close()


def test_kernel_reports_the_reset_before_the_last_message(driver: UrProcess) -> None:
    """Why `receive` reads on; where this fails, the kernel has changed."""
    say_and_end(driver, FAREWELL + WHY.encode())
    with pytest.raises(ConnectionResetError):
        driver._socket.recv(100)
    assert driver._socket.recv(100) == FAREWELL + WHY.encode()


def test_farewell_of_a_worker_with_unread_messages_is_the_reason(driver: UrProcess) -> None:
    state = STATE + b"newest"
    say_and_end(driver, state, FAREWELL + WHY.encode())
    assert driver.receive() == [state]
    assert driver.reason == WHY


@pytest.mark.parametrize("sends", [1, 2])
def test_farewell_is_the_reason_where_the_driver_notices_it_as_it_sends(
    driver: UrProcess, sends: int
) -> None:
    say_and_end(driver, FAREWELL + WHY.encode())
    for _ in range(sends):
        driver.send(b"late")
    assert driver.reason == WHY
    assert driver.receive() == []


def test_refusal_of_a_worker_with_unread_messages_is_kept(driver: UrProcess) -> None:
    say_and_end(driver, Refusal.ANOTHER_ARM.value + b"a UR10")
    assert driver.receive() == []
    assert (driver.refusal, driver.reason) == (Refusal.ANOTHER_ARM, "a UR10")


def test_worker_that_ends_without_a_word_is_gone(driver: UrProcess) -> None:
    say_and_end(driver)
    assert driver.receive() == []
    assert driver.reason == "the arm's worker process ended with code 1"


def test_worker_that_ends_without_a_word_is_gone_where_the_driver_sends(driver: UrProcess) -> None:
    say_and_end(driver)
    driver.send(b"late")
    assert driver.is_gone
