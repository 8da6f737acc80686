"""The environment of pyiqa: its licence, its OpenCV and its dependencies stay out of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from embodied_iqa.base.worker_process import OtherEnvironment

VARIABLE: Final = "EMBODIED_IQA_PYIQA"
"""Names the Python of another environment that has pyiqa."""
_PYIQA: Final = OtherEnvironment("pyiqa", VARIABLE)
_OFFLINE: Final = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "TORCH_FORCE_WEIGHTS_ONLY_LOAD")


def pyiqa_python() -> Path:
    """Return the Python interpreter that imports pyiqa.

    Raises:
        MissingDependencyError: There is none.
    """
    return _PYIQA.python()


def environment() -> dict[str, str]:
    """Return the variables of a process that runs pyiqa: no network, no pickles, none of our packages."""
    return _PYIQA.variables(**dict.fromkeys(_OFFLINE, "1"))
