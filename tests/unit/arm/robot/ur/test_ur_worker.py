"""The worker checks which arm it is, and arms that very controller."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from embodied_iqa.arm.robot.ur import dashboard_model, rtde_snapshot
from embodied_iqa.arm.robot.ur import worker as ur_worker
from embodied_iqa.arm.robot.ur.dashboard_model import check_model_number, read_model_number
from embodied_iqa.arm.robot.ur.messages import LONGEST_MESSAGE, NOTE
from embodied_iqa.arm.robot.ur.model_check import RefusedArmError
from embodied_iqa.arm.robot.ur.options import SessionOptions, UrOptions
from embodied_iqa.arm.robot.ur.rtde_snapshot import RtdeSnapshot
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.kinematics.models import NAMED_MODELS, ArmModel, flange_pose
from embodied_iqa.base.kinematics.se3 import transform_to_pose
from manual_clock import PATIENCE_S, ManualClock
from wire_servers import closed_port

FOLDED = (0.0, -1.7, 3.12, -1.57, -1.57, 0.0)
NO_TOOL = (0.0,) * 6
CHECKED = "192.0.2.2"
GREETING = b"Connected: Universal Robots Dashboard Server\n"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Addresses whose dashboards are asked; each says UR5."""
    addresses: list[str] = []
    pose = tuple(transform_to_pose(flange_pose(ArmModel.UR5.geometry, FOLDED)).tolist())
    seen = RtdeSnapshot((3, 15, 8, 1), FOLDED, pose, NO_TOOL, 7, CHECKED)

    def ask(address: str, _limit_s: float) -> int:
        addresses.append(address)
        return 5

    for name in ("read_snapshot", "await_snapshot"):
        monkeypatch.setattr(ur_worker, name, lambda *_: seen)
    monkeypatch.setattr(ur_worker, "read_model_number", ask)
    monkeypatch.setattr(ur_worker, "UrSession", lambda options: options)
    monkeypatch.setattr(
        signal, "setitimer", lambda _which, _seconds: None
    )  # it is that of this test's time-out
    return addresses


@pytest.mark.parametrize("simulated", [True, False])
def test_the_checked_controller_is_the_one_that_is_armed(asked: list[str], simulated: bool) -> None:
    """A name is looked up once: another of its addresses may be another arm."""
    driver, worker = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    options = SessionOptions(UrOptions(ip="ur5.lab"), lockstep=simulated)
    with driver, worker:
        made = ur_worker._connect(worker, options)
        note = driver.recv(LONGEST_MESSAGE)
    assert made.arm.ip == CHECKED  # type: ignore[attr-defined]
    assert asked == ([] if simulated else [CHECKED])
    assert note.startswith(NOTE)
    assert note.endswith(
        b"by 0.0 mm and 0.00 degrees" if simulated else b"; its dashboard says UR5 (a UR5 or UR5e)"
    )


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("simulated", [True, False])
def test_a_tool_that_is_not_set_is_noted_of_a_real_arm(simulated: bool) -> None:
    driver, worker = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    tool = (0.0, 0.0, 0.2, 0.0, 0.0, 0.0)
    options = SessionOptions(UrOptions(ip="ur5.lab"), tool_pose=tool, lockstep=simulated)
    with driver, worker:
        ur_worker._connect(worker, options)
        worker.shutdown(socket.SHUT_WR)
        notes = list(iter(lambda: driver.recv(LONGEST_MESSAGE), b""))
    assert len(notes) == (1 if simulated else 2)
    if not simulated:
        assert notes[1] == NOTE + (
            b"no tool centre point is set at the controller: a trial sets (0.000, 0.000, 0.200) m, and if "
            b"the tool has another length, every limit is wrong"
        )


@pytest.mark.usefixtures("asked")
def test_a_worker_ends_though_its_library_hangs_and_its_driver_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[object] = []
    monkeypatch.setattr(signal, "setitimer", lambda which, seconds: done.append((which, seconds)))
    monkeypatch.setattr(ur_worker, "UrSession", done.append)
    driver, worker = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with driver, worker:
        ur_worker._connect(worker, SessionOptions(UrOptions(ip="ur5.lab", connect_s=3.0)))
    assert (done[0], done[2]) == ((signal.ITIMER_REAL, 3.0), (signal.ITIMER_REAL, 0.0))
    assert isinstance(done[1], SessionOptions), "connected within the time"


@pytest.mark.parametrize(("starts_s", "is_found"), [(0.0, True), (7.0, True), (8.0, False)])
def test_a_simulated_controller_that_starts_later_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, starts_s: float, is_found: bool
) -> None:
    """One worker waits, rather than one after another that each load the client library."""
    clock = ManualClock(pauses_pass=True)
    begun_s = clock.now_s()

    def read(ip: str, deadline_s: float, given: object) -> str:
        assert given is clock
        assert deadline_s == pytest.approx(8.0 - (clock.now_s() - begun_s))
        if clock.now_s() - begun_s < starts_s - 1e-6:
            raise InputError("connection refused")
        return f"the state of {ip}"

    monkeypatch.setattr(rtde_snapshot, "read_snapshot", read)
    if is_found:
        assert rtde_snapshot.await_snapshot(CHECKED, 8.0, clock) == f"the state of {CHECKED}"
        return
    with pytest.raises(InputError, match="connection refused"):
        rtde_snapshot.await_snapshot(CHECKED, 8.0, clock)


@pytest.mark.parametrize("model", NAMED_MODELS)
def test_another_number_is_refused_for_good(model: ArmModel) -> None:
    number = int("".join(filter(str.isdigit, model.geometry.name)))
    says = check_model_number(number, model)
    assert says.startswith(f"its dashboard says UR{number} (a UR{number}")
    assert model.geometry.name in says
    assert "does not name" in check_model_number(None, model)
    with pytest.raises(
        RefusedArmError, match=rf"{model.geometry.name} of arm_node.model; got 'UR20'"
    ) as error:
        check_model_number(20, model)
    assert not error.value.refusal.may_pass


@contextmanager
def _dashboard(monkeypatch: pytest.MonkeyPatch, *lines: bytes) -> Iterator[list[bytes]]:
    """A dashboard that says one line before each question and then hangs up."""
    questions: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        monkeypatch.setattr(dashboard_model, "_PORT", listener.getsockname()[1])

        def play() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(PATIENCE_S)
                connection.sendall(lines[0])
                for line in lines[1:]:
                    questions.append(connection.recv(100))
                    connection.sendall(line)

        thread = threading.Thread(target=play, daemon=True)
        thread.start()
        yield questions
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


@pytest.mark.parametrize(
    ("lines", "number"),
    [
        ((GREETING, b"UR10\n"), 10),
        ((GREETING, b"UR16e\n"), 16),
        (
            (GREETING, b"could not understand: 'get robot model'\n"),
            None,
        ),
        ((GREETING, b"UR1"), None),
        ((b"Connected",), None),
    ],
)
def test_what_a_dashboard_says(
    lines: tuple[bytes, ...], number: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _dashboard(monkeypatch, *lines) as questions:
        assert read_model_number("127.0.0.1", PATIENCE_S) == number
    assert questions == [b"get robot model\n"] * (len(lines) - 1)


def test_nobody_is_at_the_dashboard(monkeypatch: pytest.MonkeyPatch) -> None:
    with closed_port() as port:
        monkeypatch.setattr(dashboard_model, "_PORT", port)
        assert read_model_number("127.0.0.1", PATIENCE_S) is None
