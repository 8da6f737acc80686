"""RealSense cameras from the configuration: checks before a camera is opened."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.base.config import build, values_of
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics import tool_along_z
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.hand_eye import PoseHistory
from embodied_iqa.live.cameras.camera_poses import pose_functions
from embodied_iqa.live.cameras.realsense_cameras import realsense_cameras, realsense_options
from embodied_iqa.runs.graph.camera_parameters import CameraParameters

TOP = np.array([[0, -1, 0, -0.8], [-1, 0, 0, 0.1], [0, 0, -1, 0.7], [0, 0, 0, 1.0]])
WRIST = np.array([[1, 0, 0, 0.0], [0, 1, 0, -0.08], [0, 0, 1, 0.05], [0, 0, 0, 1.0]])


def parameters(**values: object) -> CameraParameters:
    given = {
        "source": "realsense",
        "views": ["top", "wrist"],
        "rate_hz": 30.0,
        "hand_eye.T_base_camera_top": TOP.ravel().tolist(),
        "hand_eye.T_flange_camera_wrist": WRIST.ravel().tolist(),
    }
    return build(
        CameraParameters, given | {name.replace("__", "."): value for name, value in values.items()}, "test"
    )


def test_the_configuration_reaches_the_cameras() -> None:
    config = parameters(realsense__depth=True, realsense__give_up_s=5.0, width_px=848)
    settings = realsense_options(config)
    assert (settings.mode, settings.depth, settings.give_up_s) == ("848x480 at 30 Hz", True, 5.0)
    history = PoseHistory()
    poses = pose_functions(config, history)
    assert np.allclose(poses[View.TOP](5), TOP)
    assert poses[View.WRIST](5) is None
    T_base_tool = np.diag([1.0, -1.0, -1.0, 1.0])
    history.add(0, T_base_tool)
    tool_m = config.hand_eye.tool_length_m
    expected = T_base_tool @ np.linalg.inv(tool_along_z(tool_m)) @ WRIST
    assert np.allclose(poses[View.WRIST](5), expected)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"rate_hz": 29.97}, "whole rates"),
        ({"hand_eye__T_base_camera_top": [1.0] * 16}, "T_base_camera of the top camera"),
        ({"hand_eye__T_flange_camera_wrist": TOP.ravel().tolist()}, "T_flange_camera.*0.5 m"),
    ],
)
def test_a_wrong_configuration_opens_nothing(values: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        realsense_cameras(parameters(**values), lambda: 0, PoseHistory())


def test_a_camera_without_a_pose_is_rejected() -> None:
    config = build(CameraParameters, {"source": "realsense", "views": ["side"], "rate_hz": 30.0}, "test")
    with pytest.raises(
        UsageError,
        match=r"side camera is not calibrated; expected .*T_base_camera_side or .*T_flange_camera_side",
    ):
        realsense_cameras(config, lambda: 0, PoseHistory())


def test_cameras_have_the_names_of_their_user() -> None:
    values = {
        "source": "realsense",
        "views": ["front", "left_wrist"],
        "rate_hz": 30.0,
        "realsense.serial_front": "0123",
        "hand_eye.T_base_camera_front": TOP.ravel().tolist(),
        "hand_eye.T_flange_camera_left_wrist": WRIST.ravel().tolist(),
    }
    config = build(CameraParameters, values, "test")
    assert config.realsense.serial == {"front": "0123"}
    assert values_of(config).items() >= values.items()
    history = PoseHistory()
    poses = pose_functions(config, history)
    assert np.allclose(poses[View("front")](5), TOP)
    assert poses[View("left_wrist")](5) is None
    history.add(0, np.eye(4))
    expected = np.linalg.inv(tool_along_z(config.hand_eye.tool_length_m)) @ WRIST
    assert np.allclose(poses[View("left_wrist")](5), expected)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"realsense__serial_side": "1"}, r"realsense\.serial_side is of no camera.*available: top, wrist"),
        (
            {"hand_eye__T_base_camera_font": [1.0] * 16},
            r"T_base_camera_font is of no camera.*available: top, wrist",
        ),
        ({"hand_eye__T_flange_camera_top": WRIST.ravel().tolist()}, "the top camera has two poses"),
        (
            {"hand_eye__T_base_camera_2nd": [1.0] * 16},
            r"unknown parameter.*hand_eye\.T_base_camera_\{view\}",
        ),
        ({"realsense__serial_top": 5}, "realsense.serial_top in test; expected a value of type str"),
    ],
)
def test_settings_of_no_camera_are_refused(values: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parameters(**values)


def test_settings_that_say_nothing_are_those_of_a_file_that_lists_all() -> None:
    silent = {"realsense__serial_side": "", "hand_eye__T_base_camera_side": np.eye(4).ravel().tolist()}
    assert parameters(**silent) == parameters()


def test_a_folder_of_recordings_needs_one_per_view(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no recording of the top camera.*top\.bag or .*top\.db3"):
        realsense_cameras(parameters(path=str(tmp_path)), lambda: 0, PoseHistory())
