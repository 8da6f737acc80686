"""Compiles what numba compiles for a trial and for the gate, once, into its cache.

In a new checkout the arm, the emulated controller and the cameras would each compile these functions
during the first trial, for some seconds, and two of them the same ones. The environment's Python runs this
file as a module.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

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


def compile_kernels() -> None:
    """Call every compiled function once, as the arm, the emulated controller and the cameras do."""
    arm, receding = ArmParameters(), HorizonOptions(Horizon.RECEDING, step_rate_hz=15.0)
    make_controller(arm.limits, replace(arm.controller, horizon=receding), arm.tool_length_m).warm_up()
    kinematics, home_q_rad = Kinematics(), np.array(HOME_Q_RAD)
    kinematics.inverse(kinematics.forward(home_q_rad))
    kinematics.jacobian(home_q_rad)
    dark = np.zeros((_HEIGHT_PX, _WIDTH_PX, 3), np.uint8)
    image_of(dark, View.TOP, exposure_of(settled(np.ones(3), 0)), (0, 0, 0))
    blocks = (_HEIGHT_PX // kernels.BLOCK_PX, _WIDTH_PX // kernels.BLOCK_PX, 2)
    kernels.smear(dark, np.zeros(blocks, np.float32))
    compile_for([_HD_PX])


if __name__ == "__main__":
    compile_kernels()
