"""The camera model: what a RealSense D455's colour camera makes of a rendered image."""

from enum import StrEnum
from typing import Final

from embodied_iqa.base.errors import UsageError


class CameraModel(StrEnum):
    """What becomes of a rendered image."""

    D455 = "d455"
    """The colour camera of a RealSense D455: lens, exposure, noise, white balance, chroma."""
    IDEAL = "ideal"
    """Nothing."""


DEFAULT_MODEL: Final = CameraModel.D455
"""Of the simulated cameras in a trial, a database and the Python interface."""


def parse_camera_model(text: str) -> CameraModel:
    """Return a camera model by its name.

    Raises:
        UsageError: There is none of this name.
    """
    try:
        return CameraModel(text)
    except ValueError:
        raise UsageError(f"unknown camera model {text!r}", available=list(CameraModel)) from None
