"""Conversion of a message, in one of the forms of our client, to the input of a policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.models.subjects.actions.convention import ObservationForm
from policy_host.contract import Seen

_MOST_PX: Final = 8192
_MOST_LETTERS: Final = 4000
_MOST_STATE: Final = 64


@dataclass(frozen=True, slots=True)
class _Keys:
    """Keys of a form's images, of which the first is required, and of the parts of its state."""

    images: tuple[str, ...]
    state: tuple[str, ...] = ()


FORMS: Final[dict[ObservationForm, _Keys]] = {
    ObservationForm.SINGLE: _Keys(("observation/image", "observation/wrist_image")),
    ObservationForm.LIBERO: _Keys(("observation/image", "observation/wrist_image"), ("observation/state",)),
    ObservationForm.DROID: _Keys(
        ("observation/exterior_image_1_left", "observation/wrist_image_left"),
        ("observation/joint_position", "observation/gripper_position"),
    ),
    ObservationForm.UR5: _Keys(("base_rgb", "wrist_rgb"), ("joints", "gripper")),
    ObservationForm.ALOHA: _Keys(("cam_high", "cam_left_wrist", "cam_right_wrist"), ("state",)),
}
"""Forms that a hosted policy supports."""


def seen_from(message: Mapping[str, Any], form: ObservationForm) -> Seen:
    """Return the input of a policy.

    Raises:
        InputError: Something is missing or wrong.
    """
    keys = FORMS[form]
    prompt = message.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip() or len(prompt) > _MOST_LETTERS:
        raise InputError(
            "an observation needs a prompt", expected=f"a text of up to {_MOST_LETTERS} characters"
        )
    is_aloha = form is ObservationForm.ALOHA
    shown = message.get("images", {}) if is_aloha else message
    if not isinstance(shown, Mapping) or keys.images[0] not in shown:
        raise InputError("an observation needs an image", expected=keys.images[0], available=message)
    images = tuple(_image(shown[key], key, first=is_aloha) for key in keys.images if key in shown)
    state = np.concatenate([_numbers(message.get(key), key) for key in keys.state]) if keys.state else None
    return Seen(images, prompt.strip(), state)


def _image(value: object, key: str, *, first: bool) -> NDArray[np.uint8]:
    """Return ``(H, W, 3)``; ``first``: the message has channels first."""
    if not isinstance(value, np.ndarray) or value.dtype != np.uint8 or value.ndim != 3:
        got = (str(value.dtype), value.shape) if isinstance(value, np.ndarray) else type(value).__name__
        raise InputError(f"{key} is not an image", expected="(H, W, 3) uint8", got=got)
    image = value.transpose(1, 2, 0) if first else value
    height, width, channels = image.shape
    if channels != 3 or not 0 < min(height, width) <= max(height, width) <= _MOST_PX:
        raise InputError(
            f"{key} has a wrong size", expected=f"3 channels, 1 to {_MOST_PX} px", got=value.shape
        )
    return np.array(image)  # a copy: received arrays are read-only, and libraries write into them


def _numbers(value: object, key: str) -> NDArray[np.float32]:
    array = np.atleast_1d(np.asarray(value)) if isinstance(value, np.ndarray | float | int) else None
    if array is None or array.dtype.kind not in "iuf" or array.ndim != 1 or array.size > _MOST_STATE:
        raise InputError(f"{key} is missing or wrong", expected=f"up to {_MOST_STATE} numbers")
    if not np.isfinite(array).all():
        raise InputError(f"{key} is not finite")
    return array.astype(np.float32)
