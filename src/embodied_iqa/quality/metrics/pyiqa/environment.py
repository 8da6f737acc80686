"""The environment of pyiqa: its licence, its OpenCV and its dependencies stay out of ours."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import MissingDependencyError
from embodied_iqa.base.worker_process import OtherEnvironment, WorkerProcess

VARIABLE: Final = "EMBODIED_IQA_PYIQA"
"""Names the Python of another environment that has pyiqa."""
WORKER: Final = Path(__file__).with_name("worker.py")
"""The program that runs there."""
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


def listed_names() -> frozenset[str] | None:
    """Return the names of the metrics that the installed pyiqa lists; None where it is not installed.

    The first call starts a process that imports pyiqa: it takes seconds.

    Raises:
        InputError: pyiqa cannot be imported.
    """
    try:
        return _listed_by(pyiqa_python())
    except MissingDependencyError:
        return None


@cache
def _listed_by(python: Path) -> frozenset[str]:
    worker = WorkerProcess([str(python), str(WORKER), "{socket}"], environment(), "pyiqa")
    worker.close()
    return frozenset(worker.about["names"])
