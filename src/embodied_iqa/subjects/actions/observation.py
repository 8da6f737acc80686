"""From what our robot sees to the observation that a policy expects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.errors import UsageError
from embodied_iqa.images.frame import Frame, View
from embodied_iqa.subjects.actions.adapter import pose_vector
from embodied_iqa.subjects.actions.convention import ActionConvention, GripperForm, ObservationForm
from embodied_iqa.subjects.protocols import VlaObservation

__all__ = ["frame_to_map", "observation_for", "own_observation", "square", "state_for"]

Picture = NDArray[np.uint8]

SIDE_PX: Final = 224
_LIBERO_FINGER_M: Final = 0.04
_ALOHA_CAMERAS: Final = ("cam_high", "cam_left_wrist", "cam_right_wrist")


def observation_for(
    convention: ActionConvention,
    observation: VlaObservation,
    views: tuple[View, ...],
    q_rad: NDArray[np.float64] | None = None,
) -> dict[str, Any]:
    """Return the observation in the form of a convention.

    Args:
        convention: Of the policy.
        observation: What our robot sees.
        views: The policy's cameras: the one that looks from outside first, then the wrist.
        q_rad: Joints of the policy's own arm, for those that are told joints.

    Raises:
        UsageError: A view is missing.
    """
    if convention.observation is ObservationForm.OWN:
        return own_observation(observation)
    missing = [view for view in views if view not in observation.frames]
    if missing:
        raise UsageError("a view is missing", expected=str(missing[0]), available=observation.frames)
    pictures = [square(observation.frames[view].rgb, SIDE_PX) for view in views]
    state = np.empty(0) if q_rad is None else q_rad
    return _FORMS[convention.observation](convention, observation, pictures, state)


def state_for(
    convention: ActionConvention, observation: VlaObservation, q_rad: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the robot's state as one vector, as the policy's training data has it: ``(S,)`` float64.

    Raises:
        UsageError: The convention has no state.
    """
    keys = _STATE_KEYS.get(convention.observation)
    if keys is None:
        raise UsageError(
            f"policies of the convention {convention.name} are not told the robot's state",
            available=_STATE_KEYS,
        )
    blank = [np.zeros((1, 1, 3), dtype=np.uint8)]
    q = np.empty(0) if q_rad is None else q_rad
    told = _FORMS[convention.observation](convention, observation, blank, q)
    return np.concatenate([np.atleast_1d(told[key]) for key in keys]).astype(np.float64)


def own_observation(observation: VlaObservation) -> dict[str, Any]:
    """Return our own form: whole frames, with what is needed to compute with them."""
    return {
        "prompt": observation.instruction,
        "frames": {str(view): frame_to_map(frame) for view, frame in observation.frames.items()},
        "T_base_tool": np.asarray(observation.T_base_tool, dtype=np.float64),
        "gripper": float(observation.gripper),
        "step": int(observation.step),
    }


def frame_to_map(frame: Frame) -> dict[str, Any]:
    """Return a frame as a message holds it."""
    camera = frame.intrinsics
    return {
        "rgb": frame.rgb,
        "stamp_ns": int(frame.stamp_ns),
        "size_px": [camera.width_px, camera.height_px],
        "intrinsics_px": [camera.fx_px, camera.fy_px, camera.cx_px, camera.cy_px],
        "T_base_camera": np.asarray(frame.T_base_camera, dtype=np.float64),
    }


def square(rgb: Picture, side_px: int) -> Picture:
    """Shrink or enlarge a picture into a black square without changing its shape, as openpi's client does.

    Shrinking averages over areas, so that fine noise is not folded into coarse patterns.
    """
    height, width = rgb.shape[:2]
    if (height, width) == (side_px, side_px):
        return rgb
    ratio = max(width, height) / side_px
    inner = (max(1, int(width / ratio)), max(1, int(height / ratio)))
    method = cv2.INTER_AREA if ratio > 1.0 else cv2.INTER_LINEAR
    small = cv2.resize(rgb, inner, interpolation=method)
    canvas = np.zeros((side_px, side_px, 3), dtype=np.uint8)
    left, top = (side_px - inner[0]) // 2, (side_px - inner[1]) // 2
    canvas[top : top + inner[1], left : left + inner[0]] = small
    return canvas


def _in_their_units(gripper: float, form: GripperForm) -> float:
    return form.open_at + float(gripper) * (form.closed_at - form.open_at)


def _single(
    _convention: ActionConvention, observation: VlaObservation, pictures: list[Picture], _q: object
) -> dict[str, Any]:
    names = ("observation/image", "observation/wrist_image")
    shown: Mapping[str, Any] = dict(zip(names, pictures, strict=False))
    return {**shown, "prompt": observation.instruction}


def _libero(
    _convention: ActionConvention, observation: VlaObservation, pictures: list[Picture], _q: object
) -> dict[str, Any]:
    finger_m = _LIBERO_FINGER_M * (1.0 - float(observation.gripper))
    state = np.concatenate([pose_vector(observation.T_base_tool), [finger_m, -finger_m]])
    return {
        "observation/image": pictures[0],
        "observation/wrist_image": pictures[min(1, len(pictures) - 1)],
        "observation/state": state.astype(np.float32),
        "prompt": observation.instruction,
    }


def _droid(
    convention: ActionConvention,
    observation: VlaObservation,
    pictures: list[Picture],
    q_rad: NDArray[np.float64],
) -> dict[str, Any]:
    return {
        "observation/exterior_image_1_left": pictures[0],
        "observation/wrist_image_left": pictures[min(1, len(pictures) - 1)],
        "observation/joint_position": q_rad.astype(np.float32),
        "observation/gripper_position": np.array(
            [_in_their_units(observation.gripper, convention.gripper)], dtype=np.float32
        ),
        "prompt": observation.instruction,
    }


def _aloha(
    convention: ActionConvention,
    observation: VlaObservation,
    pictures: list[Picture],
    q_rad: NDArray[np.float64],
) -> dict[str, Any]:
    arm = [*q_rad, _in_their_units(observation.gripper, convention.gripper)]
    shown = [pictures[0], pictures[min(1, len(pictures) - 1)], pictures[min(1, len(pictures) - 1)]]
    return {
        "images": {
            name: np.ascontiguousarray(picture.transpose(2, 0, 1))
            for name, picture in zip(_ALOHA_CAMERAS, shown, strict=True)
        },
        "state": np.array([*arm, *arm], dtype=np.float32),
        "prompt": observation.instruction,
    }


def _ur5(
    convention: ActionConvention,
    observation: VlaObservation,
    pictures: list[Picture],
    q_rad: NDArray[np.float64],
) -> dict[str, Any]:
    state = _in_their_units(observation.gripper, convention.gripper)
    return {
        "base_rgb": pictures[0],
        "wrist_rgb": pictures[min(1, len(pictures) - 1)],
        "joints": q_rad.astype(np.float32),
        "gripper": np.array([state], dtype=np.float32),
        "prompt": observation.instruction,
    }


_Form = Callable[
    [ActionConvention, VlaObservation, list[Picture], NDArray[np.float64]],
    dict[str, Any],
]
_FORMS: Final[dict[ObservationForm, _Form]] = {
    ObservationForm.SINGLE: _single,
    ObservationForm.LIBERO: _libero,
    ObservationForm.DROID: _droid,
    ObservationForm.ALOHA: _aloha,
    ObservationForm.UR5: _ur5,
}
_STATE_KEYS: Final[dict[ObservationForm, tuple[str, ...]]] = {
    ObservationForm.LIBERO: ("observation/state",),
    ObservationForm.DROID: ("observation/joint_position", "observation/gripper_position"),
    ObservationForm.ALOHA: ("state",),
    ObservationForm.UR5: ("joints", "gripper"),
}
"""The numbers of an observation, in the order in which they make up the state."""
