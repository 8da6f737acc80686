"""All runs of a command on a real arm begin in one place, which a folder of results keeps."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.arm.robot.homing import StartPose
from embodied_iqa.base.errors import InputError
from embodied_iqa.runs.trial.command_start import START_FILE, CommandStart

T_BASE_TOOL = np.diag([1.0, -1.0, -1.0, 1.0])


def test_the_first_start_is_kept_and_read_again(tmp_path: Path) -> None:
    start = CommandStart.of_folder(tmp_path)
    assert start.place is None
    start.keep(None)
    assert not (tmp_path / START_FILE).exists()
    start.keep(StartPose(T_BASE_TOOL, 0.25))
    start.keep(StartPose(2 * T_BASE_TOOL, 0.5))
    read = CommandStart.of_folder(tmp_path).place
    assert read is not None
    np.testing.assert_array_equal(read.T_base_tool, T_BASE_TOOL)
    assert read.gripper == 0.25


def test_a_trial_keeps_its_start_for_its_tasks_without_a_file() -> None:
    start = CommandStart()
    start.keep(StartPose(T_BASE_TOOL, 0.25))
    assert start.place is not None


POSE = T_BASE_TOOL.tolist()
TURNED = [[2.0, 0.0, 0.0, 0.3], *POSE[1:]]


@pytest.mark.parametrize(
    "text",
    [
        '{"T_base_tool": [[1.0]], "gripper": 0.0}',
        '{"T_base_tool": [[1.0, 0.0], [1.0]], "gripper": 0.0}',
        json.dumps({"T_base_tool": TURNED, "gripper": 0.0}),
        json.dumps({"T_base_tool": POSE, "gripper": 2.0}),
        '{"gripper": 0.0}',
        "{",
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / START_FILE).write_text(text)
    with pytest.raises(InputError, match=START_FILE):
        CommandStart.of_folder(tmp_path)
