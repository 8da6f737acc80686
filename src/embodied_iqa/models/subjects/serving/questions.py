"""Conversion of messages to questions for a subject, and of chunks to messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.frame import VIEW_NAMES, Frame, Intrinsics, View, image_frame, is_view
from embodied_iqa.world.protocols import ActionChunk, VlaObservation

_MOST_PX: Final = 8192
_MOST_LETTERS: Final = 4000
_RIGID: Final = 1e-3


def observation_from(message: Mapping[str, Any], views: tuple[View, ...]) -> VlaObservation:
    """Return the observation in a message.

    Args:
        message: See docs/reference/policy-protocols.md.
        views: The subject's cameras; frames of others are ignored.

    Raises:
        InputError: Something is missing or wrong.
    """
    frames = message.get("frames")
    if not isinstance(frames, dict):
        raise InputError("an observation has no frames", expected="a map of view to frame", available=message)
    missing = [view for view in views if view not in frames]
    if missing:
        raise InputError("a view is missing", expected=str(missing[0]), available=frames)
    return VlaObservation(
        frames={view: frame_from(frames[view], view) for view in views},
        instruction=words_from(message, "prompt"),
        T_base_tool=_transform(message.get("T_base_tool"), "T_base_tool"),
        gripper=_number(message.get("gripper", 0.0), "gripper", 0.0, 1.0),
        step=int(_number(message.get("step", 0), "step", 0, 1_000_000)),
        q_rad=_joints(message.get("q_rad")),
    )


def frame_from(content: object, view: View) -> Frame:
    """Return a frame of a message.

    Raises:
        InputError: Something is missing or wrong.
    """
    if not isinstance(content, dict):
        raise InputError(f"the {view} frame is not a map", got=type(content).__name__)
    rgb = _image(content.get("rgb"), view)
    height_px, width_px = rgb.shape[:2]
    pose = content.get("T_base_camera", "")
    return Frame(
        view=view,
        stamp_ns=int(_number(content.get("stamp_ns", 0), "stamp_ns", 0, 2**63 - 1)),
        rgb=rgb,
        intrinsics=_intrinsics(content.get("intrinsics_px", ""), view, (width_px, height_px)),
        T_base_camera=None if pose is None else _transform(pose, "T_base_camera"),
    )


def _intrinsics(numbers: object, view: View, size_px: tuple[int, int]) -> Intrinsics | None:
    """Return the pinhole model of a frame; None where the client says that it is not known."""
    if numbers is None:
        return None
    if not isinstance(numbers, list) or len(numbers) != 4:
        raise InputError(f"the {view} frame has no intrinsics_px", expected="[fx, fy, cx, cy], or null")
    fx_px, fy_px, cx_px, cy_px = (_number(value, "intrinsics_px", -1e6, 1e6) for value in numbers)
    return Intrinsics(*size_px, fx_px, fy_px, cx_px, cy_px)


def image_from(content: object) -> Frame:
    """Return the image of a question for features: a map of ``view`` and ``rgb``.

    Raises:
        InputError: Something is missing or wrong.
    """
    if not isinstance(content, dict) or not is_view(content.get("view")):
        raise InputError("features_of needs a view and an image", expected=f"as view, {VIEW_NAMES}")
    view = View(content["view"])
    return image_frame(_image(content.get("rgb"), view), view)


def words_from(message: Mapping[str, Any], key: str) -> str:
    """Return a text of a message.

    Raises:
        InputError: It is missing or too long.
    """
    words = message.get(key)
    if not isinstance(words, str) or not words.strip() or len(words) > _MOST_LETTERS:
        raise InputError(f"a question needs a {key}", expected=f"a text of up to {_MOST_LETTERS} characters")
    return words


def chunk_to_map(chunk: ActionChunk) -> dict[str, Any]:
    """Return a chunk as a message holds it."""
    joints = {} if chunk.joints_rad is None else {"joints_rad": np.ascontiguousarray(chunk.joints_rad)}
    return {
        "status": str(chunk.status),
        "actions": np.ascontiguousarray(chunk.increments, dtype=np.float64),
        "reason": chunk.reason,
        "target_px": None if chunk.target_px is None else [float(value) for value in chunk.target_px],
        "seen": None if chunk.seen is None else float(chunk.seen),
        **joints,
    }


def _image(rgb: object, view: View) -> NDArray[np.uint8]:
    if not isinstance(rgb, np.ndarray) or rgb.dtype != np.uint8 or rgb.ndim != 3 or rgb.shape[2] != 3:
        got = (str(rgb.dtype), rgb.shape) if isinstance(rgb, np.ndarray) else type(rgb).__name__
        raise InputError(f"the {view} frame has no image", expected="rgb: (H, W, 3) uint8", got=got)
    if not 0 < min(rgb.shape[:2]) <= max(rgb.shape[:2]) <= _MOST_PX:
        raise InputError(f"the {view} image has a wrong size", expected=f"1 to {_MOST_PX} px", got=rgb.shape)
    return rgb


def _transform(value: object, name: str) -> NDArray[np.float64]:
    if not isinstance(value, np.ndarray) or value.shape != (4, 4) or value.dtype.kind not in "iuf":
        raise InputError(f"{name} is missing or wrong", expected="(4, 4) numbers")
    T = value.astype(np.float64)
    R = T[:3, :3]
    with np.errstate(invalid="ignore", over="ignore"):
        is_rigid = bool(np.isfinite(T).all()) and bool(np.abs(R @ R.T - np.eye(3)).max() < _RIGID)
        is_rigid = is_rigid and float(np.linalg.det(R)) > 0.0 and T[3].tolist() == [0.0, 0.0, 0.0, 1.0]
    if not is_rigid:
        raise InputError(f"{name} is not a rigid motion", got=T.tolist())
    return T


def _joints(value: object) -> NDArray[np.float64] | None:
    """Return the joint angles of an observation; None where the client does not know them."""
    if value is None:
        return None
    if isinstance(value, np.ndarray) and value.shape == (6,) and value.dtype.kind in "iuf":
        q_rad = value.astype(np.float64)
        if np.isfinite(q_rad).all():
            return q_rad
    raise InputError("q_rad is wrong", expected="(6,) finite numbers, or no such key")


def _number(value: object, name: str, low: float, high: float) -> float:
    """Return a number; integers stay integers, because stamps need all digits."""
    if isinstance(value, np.ndarray | np.generic) and value.size == 1:
        value = value.item()
    if isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high:
        return value
    raise InputError(f"{name} is missing or wrong", expected=f"a number from {low:g} to {high:g}", got=value)
