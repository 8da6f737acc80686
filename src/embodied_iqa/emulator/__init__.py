"""A UR controller with a Robotiq gripper that speaks the real robot's protocols on loopback."""

from __future__ import annotations

from embodied_iqa.emulator.controller import Controller
from embodied_iqa.emulator.emulator import FAULT_PORT, Emulator, check_host
from embodied_iqa.emulator.firmware import FIRMWARE, Firmware, Series
from embodied_iqa.emulator.kinematic_plant import KinematicPlant
from embodied_iqa.emulator.plant import Plant
from embodied_iqa.emulator.world_plant import WorldPlant

__all__ = [
    "FAULT_PORT",
    "FIRMWARE",
    "Controller",
    "Emulator",
    "Firmware",
    "KinematicPlant",
    "Plant",
    "Series",
    "WorldPlant",
    "check_host",
]
