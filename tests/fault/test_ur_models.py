"""The driver and its unmodified client at emulated controllers of all models: each connects as what it is."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from embodied_iqa.arm.emulator.controller import Controller
from embodied_iqa.arm.emulator.firmware import FIRMWARE, Series
from embodied_iqa.arm.emulator.plant import KinematicPlant
from embodied_iqa.arm.emulator.rtde_outputs import OUTPUTS
from embodied_iqa.arm.emulator.rtde_types import HEADER, RTDE_PORT, Kind
from embodied_iqa.arm.robot.ur.arm import UrArm
from embodied_iqa.arm.robot.ur.model_check import RefusedArmError
from embodied_iqa.arm.robot.ur.options import UrOptions
from embodied_iqa.arm.robot.ur.rtde_snapshot import read_snapshot
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.kinematics import UR5, Kinematics, home_q_rad, tool_along_z
from embodied_iqa.base.kinematics.geometry import UrGeometry
from embodied_iqa.base.kinematics.models import NAMED_MODELS, UR_MODELS, ArmModel
from manual_clock import ManualClock
from ur_emulator import HOSTS, emulator, served
from ur_time import rearm

LIMIT_S = 60.0
_MANY_STATES = 5000


def _controller(geometry: UrGeometry, series: Series = Series.CB3) -> Controller:
    return Controller(FIRMWARE[series], KinematicPlant(home_q_rad(geometry)), geometry=geometry)


@contextmanager
def _driver(controller: Controller, log: list[str], model: ArmModel = ArmModel.UR5) -> Iterator[UrArm]:
    with served(controller) as host:
        arm = UrArm(
            UrOptions(ip=host, connect_s=LIMIT_S, state_timeout_s=5.0),
            tool_along_z(0.2),
            model=model,
            log=log.append,
        )
        try:
            yield arm
        finally:
            arm.close()


def _refusal(controller: Controller, *, may_pass: bool = True, model: ArmModel = ArmModel.UR5) -> str:
    """Connect, which has to be refused; return why. Nothing has been started on the controller."""
    log: list[str] = []
    with _driver(controller, log, model) as arm:
        with pytest.raises(RefusedArmError) as error:
            arm.connect()
        assert error.value.refusal.may_pass == may_pass
        assert not arm.is_connected
        with pytest.raises(InputError):
            arm.rearm("test")
        assert not arm.is_armed
        assert arm.state is None
    assert not controller.is_playing
    assert controller.inputs == {}, "a refused controller gets no input"
    assert "deviates" not in " ".join(log)
    return str(error.value)


@pytest.mark.parametrize("name", [name for name in UR_MODELS if name != "UR5"])
def test_another_model_is_refused_by_name(name: str) -> None:
    reason = _refusal(_controller(UR_MODELS[name]))
    assert "is not connected: the arm is not where the kinematics of a UR5 have it" in reason
    assert f"fits best is that of a {name} (0.0 mm and 0.00 degrees)" in reason


def test_e_series_is_refused_by_its_version() -> None:
    reason = _refusal(_controller(UR_MODELS["UR5e"], Series.E), may_pass=False)
    assert "is that of an e-Series" in reason
    assert "that of a UR5e" in reason
    assert "software 5.15.0.126346" in reason


@pytest.mark.parametrize("named", [ArmModel.UR10, ArmModel.UR16E])
def test_model_is_refused_under_the_name_of_its_neighbour(named: ArmModel) -> None:
    """A UR10e stands in one cell with a UR10 of the same reach and a UR16e of the same controller."""
    reason = _refusal(_controller(UR_MODELS["UR10e"], Series.E), may_pass=named.is_e_series, model=named)
    assert named.geometry.name in reason
    assert "that of a UR10e (0.0 mm" in reason


@pytest.mark.parametrize("model", NAMED_MODELS)
def test_every_model_connects_by_its_name_and_moves(model: ArmModel) -> None:
    tool, name = tool_along_z(0.2), model.geometry.name
    with emulator("--model", str(model), "--plant", "kinematic", "--watchdog-margin", "20") as robot:
        assert _dashboard(robot.host, "get robot model") == name.removesuffix("e")
        seen = read_snapshot(robot.host, LIMIT_S)
        assert (seen.version[0], seen.address) == (5 if model.is_e_series else 3, robot.host)
        log: list[str] = []
        options = UrOptions(ip=robot.host, connect_s=LIMIT_S, state_timeout_s=5.0)
        arm = UrArm(options, tool, model=model, log=log.append)
        try:
            arm.connect()
            assert any(line.startswith(f"{name}, software ") for line in log), log
            assert f"; its dashboard says {name.removesuffix('e')}" in " ".join(log)
            period_s = 1.0 / model.rate_hz
            assert _closest_states_s(arm, period_s) == pytest.approx(period_s, abs=1e-6)
            rearm(arm)
            kinematics, home = Kinematics(tool, model.geometry), home_q_rad(model.geometry)
            target = kinematics.forward(home)
            target[:3, 3] += (-0.02, 0.03, 0.01)
            arm.move_line(target, deadline_s=LIMIT_S)
            for _ in range(_MANY_STATES):  # of a busy machine the newest state may be of before the end
                state = arm.read()
                assert state is not None
                reached = kinematics.forward(state.q_rad)
                if np.allclose(reached, target, atol=1e-4):
                    break
                arm.wait(LIMIT_S)
            np.testing.assert_allclose(reached, target, atol=1e-4)
            assert arm.T_base_tool is not None
            np.testing.assert_allclose(arm.T_base_tool, reached, atol=1e-6)
        finally:
            arm.close()


def _closest_states_s(arm: UrArm, wanted_s: float) -> float:
    """Return the controller's time between the two states that follow each other soonest.

    A busy machine skips states: reading goes on until two follow each other as soon as is wanted.
    """
    closest_s, last_s = np.inf, -np.inf
    for _ in range(_MANY_STATES):
        assert arm.read() is not None
        assert arm.state is not None
        if arm.state.controller_s > last_s:
            closest_s = min(closest_s, arm.state.controller_s - last_s)
            last_s = arm.state.controller_s
        if closest_s < 1.5 * wanted_s:
            break
        arm.wait(LIMIT_S)
    return float(closest_s)


def _dashboard(host: str, line: str) -> str:
    with socket.create_connection((host, 29999), timeout=LIMIT_S) as connection:
        reader = connection.makefile("r")
        reader.readline()
        connection.sendall(f"{line}\n".encode())
        return reader.readline().strip()


@pytest.mark.parametrize(
    ("geometry", "tool", "deviation"),
    [
        (UR5, np.eye(4), "0.0 mm"),
        (UR5, tool_along_z(0.2), "0.0 mm"),
        (replace(UR5, d1_m=UR5.d1_m + 0.002), np.eye(4), "2.0 mm"),
    ],
)
def test_ur5_is_accepted_and_its_deviation_logged(
    geometry: UrGeometry, tool: np.ndarray, deviation: str
) -> None:
    controller, log = _controller(geometry), list[str]()
    controller.machine.set_tool(tool)
    with _driver(controller, log) as arm:
        arm.connect()
        assert arm.is_connected
        text = f"deviates from the standard geometry by {deviation} and 0.00 degrees"
        assert [text in line for line in log[:1]] == [True], log
        unset = ["no tool centre point is set at the controller" in line for line in log[1:]]
        assert unset == ([] if np.any(tool[:3, 3]) else [True]), log
        rearm(arm)
        assert arm.is_armed
    np.testing.assert_allclose(controller.machine.kinematics.T_flange_tool, tool_along_z(0.2), atol=1e-9)


def test_what_a_person_set_at_the_pendant_is_not_overwritten() -> None:
    """Neither at connection nor later, while the arm is connected; corrected there, it is accepted."""
    controller, other = _controller(UR5), tool_along_z(0.35)
    controller.machine.set_tool(other)
    reason = _refusal(controller)
    assert "tool centre point is (0.000, 0.000, 0.350) m, arm_node.tool_length_m says 0.200" in reason
    np.testing.assert_allclose(controller.machine.kinematics.T_flange_tool, other, atol=1e-9)
    controller.machine.set_tool(tool_along_z(0.2))
    with _driver(controller, []) as arm:
        arm.connect()
        controller.machine.set_tool(other)
        with pytest.raises(InputError, match=r"did not complete 'rearm': the controller's tool centre point"):
            rearm(arm)
        assert not arm.is_armed
        np.testing.assert_allclose(controller.machine.kinematics.T_flange_tool, other, atol=1e-9)
        controller.machine.set_tool(tool_along_z(0.2))
        rearm(arm)
        assert arm.is_armed


def test_controller_without_payload_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    controller = _controller(UR5)
    controller.machine.payload_kg = 1.5
    with served(controller) as host:
        assert read_snapshot(host, LIMIT_S).payload_kg == 1.5
    # Another controller: the client of the first one may not have left yet, and asks for the payload.
    monkeypatch.delitem(OUTPUTS, "payload")
    with served(_controller(UR5)) as host:
        seen = read_snapshot(host, LIMIT_S)
        assert (seen.payload_kg, seen.tool_offset) == (None, (0.0,) * 6)


def test_deviation_beyond_the_limit_is_refused() -> None:
    reason = _refusal(_controller(replace(UR5, d1_m=UR5.d1_m + 0.006)))
    assert "deviation 6.0 mm and 0.00 degrees, at most 5.0 mm" in reason
    assert "nearest is UR5 (6.0 mm" in reason


def test_controller_without_tcp_offset_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(OUTPUTS, "tcp_offset")
    controller, log = _controller(UR5), list[str]()
    assert "set it at the pendant" in _refusal(controller)
    controller.machine.set_tool(tool_along_z(0.2))
    with _driver(controller, log) as arm:
        arm.connect()
        assert arm.is_connected


@contextmanager
def _peer(*replies: bytes) -> Iterator[str]:
    """A server on the RTDE port that sends fixed bytes and then stays silent."""
    host = next(HOSTS)
    with socket.create_server((host, RTDE_PORT)) as server:
        ended = threading.Event()

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                for reply in replies:
                    connection.sendall(reply)
                ended.wait(LIMIT_S)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield host
        finally:
            ended.set()
            thread.join(LIMIT_S)


def _package(kind: Kind, payload: bytes) -> bytes:
    return HEADER.pack(len(payload) + HEADER.size, kind) + payload


VERSION = _package(Kind.REQUEST_VERSION, b"\x01")
SOFTWARE = _package(Kind.CONTROLLER_VERSION, struct.pack(">4I", 3, 15, 8, 1))


@pytest.mark.parametrize(
    ("replies", "reason"),
    [
        ((b"\x00\x01V",), "shorter than its header"),
        ((_package(Kind.REQUEST_VERSION, b"\x00"),), "does not speak version 2"),
        ((VERSION, _package(Kind.CONTROLLER_VERSION, b"\x00")), "are not RTDE"),
        ((VERSION, SOFTWARE, _package(Kind.SETUP_OUTPUTS, b"\x01DOUBLE")), "types DOUBLE"),
        (
            (VERSION, SOFTWARE, *[_package(Kind.SETUP_OUTPUTS, b"\x00NOT_FOUND")] * 2),
            "does not offer actual_q",
        ),
    ],
)
def test_peer_that_is_no_controller_is_refused(replies: tuple[bytes, ...], reason: str) -> None:
    with _peer(*replies) as host, pytest.raises(InputError, match=reason):
        read_snapshot(host, LIMIT_S)


def test_peer_that_says_nothing_is_given_up_at_the_deadline() -> None:
    clock = ManualClock()
    with _peer() as host, ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read_snapshot, host, LIMIT_S, clock)
        clock.outlast(reading, LIMIT_S)
        with pytest.raises(InputError, match=f"sent no state within {LIMIT_S:g} s"):
            reading.result()


def test_nothing_at_the_address() -> None:
    with pytest.raises(InputError, match="cannot read its state from port 30004"):
        read_snapshot("127.0.0.78", LIMIT_S)
