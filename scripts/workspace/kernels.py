"""Compiles what numba compiles for a trial and for the gate, once, into its cache.

In a new checkout the arm, the emulated controller and the cameras would each compile these functions
during the first trial, for some seconds, and two of them the same ones. The environment's Python runs this
file as a module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.horizon_options import Horizon, HorizonOptions
from embodied_iqa.arm.robot.controller import make_controller
from embodied_iqa.base.kinematics import HOME_Q_RAD, Kinematics
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.image_filters import compile_for
from embodied_iqa.runs.graph.arm_parameters import ArmParameters
from embodied_iqa.world.simulation.camera import kernels
from embodied_iqa.world.simulation.camera.development import image_of
from embodied_iqa.world.simulation.camera.exposure import exposure_of, settled

__all__ = ["compile_kernels"]

_WIDTH_PX, _HEIGHT_PX = 64, 48
_HD_PX = 1280 * 720


def compile_kernels(say: Callable[[str], None]) -> None:
    """Call every compiled function once, as the arm, the emulated controller and the cameras do.

    Args:
        say: Called with a line before each part, which takes some seconds to a minute.
    """
    parts: dict[str, Callable[[], object]] = {
        "the arm's controller": _controller,
        "kinematics": _kinematics,
        "exposure of the cameras": _exposure,
        "motion blur of the cameras": _motion_blur,
        "filters of the gate": partial(compile_for, [_HD_PX]),
    }
    for number, (what, compiles) in enumerate(parts.items(), start=1):
        say(f"kernels {number} of {len(parts)}: {what}")
        compiles()


def _controller() -> None:
    arm, receding = ArmParameters(), HorizonOptions(Horizon.RECEDING, step_rate_hz=15.0)
    make_controller(arm.limits, replace(arm.controller, horizon=receding), arm.tool_length_m).warm_up()


def _kinematics() -> None:
    kinematics, home_q_rad = Kinematics(), np.array(HOME_Q_RAD)
    kinematics.inverse(kinematics.forward(home_q_rad))
    kinematics.jacobian(home_q_rad)


def _exposure() -> None:
    image_of(_dark(), View.TOP, exposure_of(settled(np.ones(3), 0)), (0, 0, 0))


def _motion_blur() -> None:
    blocks = (_HEIGHT_PX // kernels.BLOCK_PX, _WIDTH_PX // kernels.BLOCK_PX, 2)
    kernels.smear(_dark(), np.zeros(blocks, np.float32))


def _dark() -> NDArray[np.uint8]:
    return np.zeros((_HEIGHT_PX, _WIDTH_PX, 3), np.uint8)


if __name__ == "__main__":
    compile_kernels(partial(print, flush=True))
