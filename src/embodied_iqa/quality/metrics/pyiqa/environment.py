"""The environment of pyiqa: its licence, its OpenCV and its dependencies stay out of ours."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import MissingDependencyError
from embodied_iqa.base.resources import source_checkout

VARIABLE: Final = "EMBODIED_IQA_PYIQA"
"""Names the Python of another environment that has pyiqa."""
_FOLDER: Final = ".venv-pyiqa"


def pyiqa_python() -> Path:
    """Return the Python interpreter that imports pyiqa.

    Raises:
        MissingDependencyError: There is none.
    """
    named = os.environ.get(VARIABLE, "")
    checkout = source_checkout()
    python = Path(named) if named else (checkout or Path()) / _FOLDER / "bin" / "python"
    if not python.is_file() or not (named or checkout):
        raise MissingDependencyError(
            f"no environment with pyiqa: {python} does not exist",
            expected=f"`make pyiqa`, or {VARIABLE} with the Python of an environment that has it",
        )
    return python


def environment() -> dict[str, str]:
    """Return the variables of a process that runs pyiqa: no network, no pickles, none of our packages."""
    kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}
    offline = dict.fromkeys(("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "TORCH_FORCE_WEIGHTS_ONLY_LOAD"), "1")
    return kept | offline
