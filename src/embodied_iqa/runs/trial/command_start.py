"""Where all runs of a command begin on a real arm: the tasks and gates that it compares have one start."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from embodied_iqa.arm.robot.homing import StartPose
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_json_whole
from embodied_iqa.base.kinematics.se3 import transform_fault
from embodied_iqa.base.records import read_json

START_FILE: Final = "start.json"


@dataclass(frozen=True, slots=True)
class _Stored:
    """The file.

    Attributes:
        T_base_tool: Rows of the ``(4, 4)`` pose of the tool (m).
        gripper: Gripper in [0, 1].
    """

    T_base_tool: tuple[tuple[float, ...], ...]
    gripper: float


@dataclass(slots=True)
class CommandStart:
    """Where all runs of a command begin.

    Attributes:
        place: The start; None before the first run, and without a real arm.
        file: Where it is kept for the same command later; None for nowhere.
    """

    place: StartPose | None = None
    file: Path | None = None

    @classmethod
    def of_folder(cls, folder: Path) -> CommandStart:
        """Return the start that a folder of results has kept, to be kept there.

        Raises:
            InputError: The file is damaged.
        """
        file = folder / START_FILE
        if not file.is_file():
            return cls(file=file)
        stored = read_json(_Stored, file, "the start of the runs")
        if {len(row) for row in stored.T_base_tool} != {4} or not 0.0 <= stored.gripper <= 1.0:
            raise InputError(
                f"{file} holds no start", expected="a pose of 4 x 4 numbers, a gripper in [0, 1]"
            )
        T_base_tool = np.array(stored.T_base_tool, float)
        if fault := transform_fault(T_base_tool):
            raise InputError(f"{file} holds no start: its pose is {fault}")
        return cls(StartPose(T_base_tool, stored.gripper), file)

    def keep(self, place: StartPose | None) -> None:
        """Keep where a trial began; the first one decides."""
        if place is None or self.place is not None:
            return
        self.place = place
        if self.file is not None:
            tree: dict[str, Any] = {"T_base_tool": place.T_base_tool.tolist(), "gripper": place.gripper}
            write_json_whole(self.file, tree)
