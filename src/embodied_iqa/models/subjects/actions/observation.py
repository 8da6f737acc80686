"""Observations in the forms that policies expect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.models.subjects.actions.adapter import pose_vector
from embodied_iqa.models.subjects.actions.convention import ActionConvention, ObservationForm
from embodied_iqa.models.subjects.actions.published_images import openpi_image
from embodied_iqa.world.protocols import VlaObservation

Image = NDArray[np.uint8]

SIDE_PX: Final = 224
_LIBERO_FINGER_M: Final = 0.04
_ALOHA_CAMERAS: Final = ("cam_high", "cam_left_wrist", "cam_right_wrist")


def observation_for(
    convention: ActionConvention,
    observation: VlaObservation,
    views: tuple[View, ...],
    q_rad: NDArray[np.float64] | None = None,
    native: Callable[[Image], Image] = openpi_image,
) -> dict[str, Any]:
    """Return the observation in the form of a convention.

    Args:
        convention: Convention of the policy.
        observation: Observation of our robot.
        views: The policy's cameras: an outside camera first, then the wrist.
        q_rad: Joints of the policy's own arm, for forms with joints.
        native: Prepares the images of a world whose own policies these are, see `VlaObservation`.

    Raises:
        UsageError: A view is missing.
    """
    if convention.observation is ObservationForm.OWN:
        return own_observation(observation)
    images = [policy_image(observation, frame, native) for frame in observation.frames_of(views)]
    return _FORMS[convention.observation](_inputs(convention, observation, images, q_rad))


def policy_image(observation: VlaObservation, frame: Frame, native: Callable[[Image], Image]) -> Image:
    """Return an image as a policy gets it, ``(224, 224, 3)``: see `observation_for`."""
    return square(frame.rgb, SIDE_PX) if observation.native_state is None else native(frame.rgb)


def state_for(
    convention: ActionConvention, observation: VlaObservation, q_rad: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the robot's state as one vector, ``(S,)`` float64, in the order of the policy's training data.

    Raises:
        UsageError: The convention has no state.
    """
    keys = _STATE_KEYS.get(convention.observation)
    if keys is None:
        raise UsageError(
            f"policies of the convention {convention.name} get no robot state",
            available=_STATE_KEYS,
        )
    blank = [np.zeros((1, 1, 3), dtype=np.uint8)]
    values = _FORMS[convention.observation](_inputs(convention, observation, blank, q_rad))
    return np.concatenate([np.atleast_1d(values[key]) for key in keys]).astype(np.float64)


def own_observation(observation: VlaObservation) -> dict[str, Any]:
    """Return the form of this package: whole frames with their cameras."""
    joints = {} if observation.q_rad is None else {"q_rad": np.asarray(observation.q_rad, dtype=np.float64)}
    return {
        "prompt": observation.instruction,
        "frames": {str(view): frame_to_map(frame) for view, frame in observation.frames.items()},
        "T_base_tool": np.asarray(observation.T_base_tool, dtype=np.float64),
        "gripper": float(observation.gripper),
        "step": int(observation.step),
        **joints,
    }


def frame_to_map(frame: Frame) -> dict[str, Any]:
    """Return a frame as a message holds it."""
    camera, pose = frame.intrinsics, frame.T_base_camera
    pinhole = None if camera is None else [camera.fx_px, camera.fy_px, camera.cx_px, camera.cy_px]
    return {
        "rgb": frame.rgb,
        "stamp_ns": int(frame.stamp_ns),
        "size_px": list(frame.size_px),
        "intrinsics_px": pinhole,
        "T_base_camera": None if pose is None else np.asarray(pose, dtype=np.float64),
    }


def square(rgb: Image, side_px: int) -> Image:
    """Scale an image into a black square, keeping its aspect ratio, as openpi's client does.

    Shrinking averages over areas, which avoids aliasing.
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


@dataclass(frozen=True, slots=True, eq=False)
class _Inputs:
    """Values that the forms are made of.

    Attributes:
        prompt: The instruction.
        T_base_tool: ``(4, 4)`` (m).
        opening: Gripper state in [0, 1], 0 open.
        gripper: The same in the convention's units.
        first: Image of the first camera.
        second: Image of the second camera, or of the first if there is only one.
        images: All images.
        q_rad: Joints of the policy's own arm; empty for none.
        native_state: See `VlaObservation`.
    """

    prompt: str
    T_base_tool: NDArray[np.float64]
    opening: float
    gripper: float
    first: Image
    second: Image
    images: list[Image]
    q_rad: NDArray[np.float64]
    native_state: NDArray[np.float64] | None


def _inputs(
    convention: ActionConvention,
    observation: VlaObservation,
    images: list[Image],
    q_rad: NDArray[np.float64] | None,
) -> _Inputs:
    opening, form = float(observation.gripper), convention.gripper
    return _Inputs(
        prompt=observation.instruction,
        T_base_tool=observation.T_base_tool,
        opening=opening,
        gripper=form.open_at + opening * (form.closed_at - form.open_at),
        first=images[0],
        second=images[min(1, len(images) - 1)],
        images=images,
        q_rad=np.empty(0) if q_rad is None else q_rad,
        native_state=observation.native_state,
    )


def _single(inputs: _Inputs) -> dict[str, Any]:
    names = ("observation/image", "observation/wrist_image")
    return {**dict(zip(names, inputs.images, strict=False)), "prompt": inputs.prompt}


def _libero(inputs: _Inputs) -> dict[str, Any]:
    finger_m = _LIBERO_FINGER_M * (1.0 - inputs.opening)
    state = inputs.native_state
    if state is None:
        state = np.concatenate([pose_vector(inputs.T_base_tool), [finger_m, -finger_m]])
    return {
        "observation/image": inputs.first,
        "observation/wrist_image": inputs.second,
        "observation/state": state.astype(np.float32),
        "prompt": inputs.prompt,
    }


def _droid(inputs: _Inputs) -> dict[str, Any]:
    return {
        "observation/exterior_image_1_left": inputs.first,
        "observation/wrist_image_left": inputs.second,
        "observation/joint_position": inputs.q_rad.astype(np.float32),
        "observation/gripper_position": np.array([inputs.gripper], dtype=np.float32),
        "prompt": inputs.prompt,
    }


def _aloha(inputs: _Inputs) -> dict[str, Any]:
    arm = [*inputs.q_rad, inputs.gripper]
    shown = (inputs.first, inputs.second, inputs.second)
    return {
        "images": {
            name: np.ascontiguousarray(image.transpose(2, 0, 1))
            for name, image in zip(_ALOHA_CAMERAS, shown, strict=True)
        },
        "state": np.array([*arm, *arm], dtype=np.float32),
        "prompt": inputs.prompt,
    }


def _ur5(inputs: _Inputs) -> dict[str, Any]:
    return {
        "base_rgb": inputs.first,
        "wrist_rgb": inputs.second,
        "joints": inputs.q_rad.astype(np.float32),
        "gripper": np.array([inputs.gripper], dtype=np.float32),
        "prompt": inputs.prompt,
    }


_FORMS: Final[dict[ObservationForm, Callable[[_Inputs], dict[str, Any]]]] = {
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
"""Entries of an observation that make up the state, in order."""
