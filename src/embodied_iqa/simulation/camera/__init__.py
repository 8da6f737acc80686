"""The camera model: what a RealSense D455's colour camera makes of a rendered picture."""

from enum import StrEnum


class CameraModel(StrEnum):
    """What becomes of a rendered picture."""

    D455 = "d455"
    """The colour camera of a RealSense D455: lens, exposure, noise, white balance, chroma."""
    IDEAL = "ideal"
    """Nothing."""
