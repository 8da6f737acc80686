"""The UR emulator with the real client library, and how soon the driver notices faults.

Periods depend on how busy the machine is; a bare timer with the same period is measured beside them, in the
same run.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import rtde_control
import rtde_receive
from rich.console import Console
from rich.table import Table

from embodied_iqa.arm.robot.ur.arm import UrArm
from embodied_iqa.arm.robot.ur.options import UrOptions
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.kinematics import tool_along_z
from embodied_iqa.base.kinematics.models import ArmModel

T = TypeVar("T")

HOST = "127.0.7.2"
FAULT_PORT = 29990
RATE_HZ = 500.0
AMPLITUDE_RAD, WAVE_S = 0.1, 4.0
E_SERIES = ("--model", "ur5e", "--plant", "kinematic")
"""The simulated cell has a UR5, which the driver takes for no arm of this rate."""


@contextlib.contextmanager
def emulator(*options: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "embodied_iqa.cli.main", "emulator", "--host", HOST]
    command += [*options, "--unlock-after", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        if process.stdout is None or "ready" not in process.stdout.readline():
            raise SystemExit("the emulator did not start")
        yield process
    finally:
        process.kill()
        process.wait()


def throw(switch: str) -> None:
    with socket.create_connection((HOST, FAULT_PORT), timeout=2.0) as port:
        port.sendall(f"{switch}\n".encode())
        port.recv(100)


def wave(q_rad: np.ndarray, time_s: float) -> np.ndarray:
    offset_rad = AMPLITUDE_RAD * float(np.sin(2.0 * np.pi * time_s / WAVE_S))
    return q_rad + offset_rad


def periods_ms(name: str, stamps_s: list[float]) -> dict[str, float]:
    steps = np.diff(stamps_s) * 1e3
    p50, p99 = np.percentile(steps, [50, 99])
    return {
        f"{name}: period p50 [ms]": p50,
        f"{name}: period p99 [ms]": p99,
        f"{name}: longest [ms]": steps.max(),
    }


def timer(seconds: float) -> dict[str, float]:
    """What the machine itself allows: the client library's own waiting, without a robot."""
    stamps: list[float] = []
    due = time.perf_counter()
    while len(stamps) < seconds * RATE_HZ:
        due += 1.0 / RATE_HZ
        time.sleep(max(due - time.perf_counter(), 0.0))
        stamps.append(time.perf_counter())
    return periods_ms("bare timer", stamps)


def client(seconds: float) -> dict[str, float]:
    """Stream with the unmodified library."""
    control, receive = rtde_control.RTDEControlInterface(HOST), rtde_receive.RTDEReceiveInterface(HOST)
    q_rad, refused = np.array(receive.getActualQ()), 0
    stamps: list[float] = []
    while not stamps or stamps[-1] - stamps[0] < seconds:
        start = control.initPeriod()
        refused += not control.servoJ(
            wave(q_rad, len(stamps) / RATE_HZ).tolist(), 0.5, 0.5, 1 / RATE_HZ, 0.03, 2000
        )
        stamps.append(time.perf_counter())
        control.waitPeriod(start)
    result = periods_ms("ur_rtde", stamps) | {"ur_rtde: refused or disconnected": float(refused)}
    control.servoStop()
    control.disconnect()
    receive.disconnect()
    return result


def known(value: T | None) -> T:
    """A value that a connected arm has."""
    if value is None:
        raise RuntimeError("the arm is not connected")
    return value


def new_arm() -> UrArm:
    arm = UrArm(UrOptions(ip=HOST), tool_along_z(0.2), model=ArmModel.UR5E, rate_hz=RATE_HZ)
    arm.connect()
    arm.rearm("benchmark")
    return arm


def driver(seconds: float) -> dict[str, float]:
    """Stream with the driver, one target a state; compare each state with the targets."""
    arm = new_arm()
    q_rad = np.array(known(arm.state).q_rad)
    stamps: list[float] = []
    errors: list[float] = []
    lags: list[float] = []
    seen_s, sent = -1.0, [q_rad]
    while not stamps or stamps[-1] - stamps[0] < seconds:
        arm.wait(0.05)
        state, robot = known(arm.read()), known(arm.state)
        if robot.controller_s == seen_s:
            continue
        seen_s = robot.controller_s
        errors.append(float(np.abs(state.q_rad - np.array(robot.q_target_rad)).max()))
        lags.append(float(np.abs(state.q_rad - sent[-1]).max()))
        sent.append(wave(q_rad, len(stamps) / RATE_HZ))
        arm.stream(sent[-1])
        stamps.append(time.perf_counter())
    result = periods_ms("driver", stamps)
    result["driver: actual from controller's target, largest [mrad]"] = 1e3 * max(errors)
    result["driver: actual from newest command, p99 [mrad]"] = 1e3 * float(np.percentile(lags, 99))
    arm.close()
    return result


def lines(count: int) -> dict[str, float]:
    """Where moves along lines end."""
    arm, rng, ends = new_arm(), np.random.default_rng(0), []
    T_0 = known(arm.T_base_tool)
    for _ in range(count):
        T = T_0.copy()
        T[:3, 3] += rng.uniform(-0.06, 0.06, 3)
        arm.move_line(T, speed=0.5, acceleration=2.0, deadline_s=10.0)
        ends.append(float(np.linalg.norm(known(arm.T_base_tool)[:3, 3] - T[:3, 3])))
    arm.close()
    return {"moveL: end from target, largest [mm]": 1e3 * max(ends)}


def noticed_ms(arm: UrArm, inject: Callable[[], object]) -> float:
    q_rad = np.array(known(arm.state).q_rad)
    for _ in range(20):
        arm.wait(0.05)
        arm.read()
        arm.stream(q_rad)
    start = time.perf_counter()
    inject()
    with contextlib.suppress(InputError):
        while arm.is_armed:
            arm.wait(0.005)
            arm.read()
            if arm.is_armed:
                arm.stream(q_rad)
    return (time.perf_counter() - start) * 1e3


def faults(count: int) -> dict[str, float]:
    """From a fault to a disarmed driver."""
    result: dict[str, float] = {}
    for switch, mend in (
        ("drop", "restore"),
        ("cut", "mend"),
        ("freeze", "resume"),
        ("protective-stop", "restore"),
    ):
        times = []
        with emulator(*E_SERIES):
            for _ in range(count):
                arm = new_arm()
                times.append(noticed_ms(arm, partial(throw, switch)))
                throw(mend)
                arm.close()
        result |= _spread(switch, times)
    times = []
    for _ in range(count):
        with emulator(*E_SERIES) as process:
            arm = new_arm()
            times.append(noticed_ms(arm, partial(os.kill, process.pid, signal.SIGKILL)))
            arm.close()
    return result | _spread("killed", times)


def _spread(name: str, times_ms: list[float]) -> dict[str, float]:
    p50, p99 = np.percentile(times_ms, [50, 99])
    return {
        f"fault {name}: p50 [ms]": p50,
        f"fault {name}: p99 [ms]": p99,
        f"fault {name}: longest [ms]": max(times_ms),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0, help="of streaming")
    parser.add_argument("--injections", type=int, default=20, help="of each fault")
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    result = timer(min(arguments.seconds, 5.0))
    with emulator("--series", "e", "--plant", "mujoco"):
        result |= client(arguments.seconds)
    with emulator(*E_SERIES):
        result |= driver(arguments.seconds)
        result |= lines(20)
    result |= faults(arguments.injections)
    table = Table("quantity", "value", title="UR emulator, 5.15 at 500 Hz")
    for name, value in result.items():
        table.add_row(name, f"{value:.3f}")
    Console().print(table)
    if arguments.json:
        write_text_whole(arguments.json, json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
