"""`embodied-iqa emulator`: a UR arm with a gripper that speaks the protocols of the robot, without it."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import math
import signal
import sys

from embodied_iqa.arm.emulator.controller import Controller
from embodied_iqa.arm.emulator.emulator import PORTS, Emulator
from embodied_iqa.arm.emulator.firmware import FIRMWARE, Series
from embodied_iqa.arm.emulator.plant import KinematicPlant, Plant
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics import home_q_rad
from embodied_iqa.base.kinematics.models import NAMED_MODELS, ArmModel
from embodied_iqa.cli.plan_options import seed_number
from embodied_iqa.world.scenes.dimensions import check_cell_arm
from embodied_iqa.world.scenes.scene import make_scene

_PLANTS = ("mujoco", "kinematic")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("--host", default="127.0.0.2", metavar="HOST", help="loopback address (default 127.0.0.2)")
    add(
        "--series",
        choices=("cb3", "e"),
        help="3.15 at 125 Hz, or 5.15 at 500 Hz (default: that of the model)",
    )
    add(
        "--model",
        choices=[str(model) for model in NAMED_MODELS],
        default="ur5",
        help="which arm: geometry, home posture, controller (default ur5)",
    )
    add("--plant", choices=_PLANTS, help="the simulated cell (default of a ur5), or an arm alone (of others)")
    add(
        "--scene-seed",
        type=seed_number,
        default=0,
        metavar="N",
        help="what stands on the table (mujoco; default 0)",
    )
    add(
        "--unlock-after",
        type=float,
        default=5.0,
        metavar="S",
        help="earliest unlocking of a protective stop (default 5)",
    )
    add(
        "--watchdog-margin",
        type=float,
        default=0.0,
        metavar="S",
        help="added to the limit of the watchdog, for a driver on a loaded machine (default 0)",
    )
    add("--json", action="store_true", help="print the address and the ports as JSON")
    parser.epilog = "Faults for tests: lines on port 29990 of the same address, such as `freeze`; or `state`."


def run(arguments: argparse.Namespace) -> int:
    """Serve until interrupted; return the exit code."""
    for name in ("unlock_after", "watchdog_margin"):
        if not 0.0 <= (seconds := getattr(arguments, name)) < math.inf:
            raise UsageError(f"--{name.replace('_', '-')}", expected="seconds >= 0", got=seconds)
    model = ArmModel(arguments.model)
    series = Series(arguments.series) if arguments.series else Series.E if model.is_e_series else Series.CB3
    controller = Controller(
        FIRMWARE[series],
        _plant(arguments.plant, arguments.scene_seed, model),
        unlock_after_s=arguments.unlock_after,
        geometry=model.geometry,
        watchdog_margin_s=arguments.watchdog_margin,
    )
    emulator = Emulator(controller, arguments.host)
    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(_serve(emulator, as_json=arguments.json))
    return 0


async def _serve(emulator: Emulator, *, as_json: bool) -> None:
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, lambda: task.cancel() if task else None)
    await emulator.start()
    _say(emulator, as_json=as_json)
    try:
        await emulator.run()
    finally:
        await emulator.stop()


def _say(emulator: Emulator, *, as_json: bool) -> None:
    """Say where the emulator listens."""
    firmware, model = emulator.controller.firmware, emulator.controller.machine.flange.geometry.name
    if as_json:
        about = {"model": model, "software": firmware.version_text, "rate_hz": firmware.rate_hz}
        print(json.dumps({**about, "address": emulator.host, "ports": PORTS}), flush=True)
        return
    software = f"software {firmware.version_text}, {firmware.rate_hz} Hz"
    print(f"emulator ready: {model}, {software}, on {emulator.host}", flush=True)
    print(f"next: rtde_control.RTDEControlInterface({emulator.host!r})", file=sys.stderr)


def _plant(name: str | None, scene_seed: int, model: ArmModel) -> Plant:
    """Return the plant; where none is named, the cell for a UR5 and the arm alone for another."""
    from embodied_iqa.world.simulation.world import World

    if name == "kinematic" or (name is None and model is not ArmModel.UR5):
        return KinematicPlant(home_q_rad(model.geometry))
    check_cell_arm(model)
    return World(make_scene(scene_seed, arm=model))
