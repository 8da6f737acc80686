"""Loads the libraries of our interfaces where the dynamic loader would not look for them.

`make setup` builds embodied_iqa_msgs into the virtual environment. The ROS wheels put the environment's lib
folder on the loader's path; a sourced ROS does not know of it, and the path cannot be changed any more once
the process runs. A library that is already loaded is found by its name alone, so ours are loaded up front.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from pathlib import Path

from embodied_iqa.errors import MissingDependencyError

__all__ = ["preload_interfaces"]

_LIBRARIES = "libembodied_iqa_msgs__*.so"


def preload_interfaces(prefix: Path, environment: Mapping[str, str]) -> int:
    """Load the interface libraries of a prefix, unless the loader finds them by itself.

    Args:
        prefix: Where embodied_iqa_msgs was installed; nothing happens when it was not.
        environment: The variables that this process was started with.

    Returns:
        How many libraries were loaded.

    Raises:
        MissingDependencyError: A library does not load; the message names what it lacks.
    """
    folder = prefix / "lib"
    if str(folder) in environment.get("LD_LIBRARY_PATH", "").split(os.pathsep):
        return 0
    pending = sorted(folder.glob(_LIBRARIES))
    count = len(pending)
    # They need each other; each round loads those whose needs are met.
    while pending:
        reasons = {file: reason for file in pending if (reason := _load(file))}
        if len(reasons) == len(pending):
            raise MissingDependencyError(
                f"the interfaces do not load ({next(iter(reasons.values()))}): run `make setup`"
            )
        pending = list(reasons)
    return count


def _load(file: Path) -> str:
    """Load one library for the whole process; return why it did not work, or ""."""
    try:
        ctypes.CDLL(str(file), ctypes.RTLD_GLOBAL)
    except OSError as error:
        return str(error)
    return ""
