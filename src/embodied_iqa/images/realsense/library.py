"""Loading of librealsense's Python library on first use."""

from __future__ import annotations

import importlib
from typing import Any

from embodied_iqa.errors import MissingDependencyError

__all__ = ["load_library"]


def load_library() -> Any:
    """Return the module ``pyrealsense2``.

    Raises:
        MissingDependencyError: It is not installed, or the system lacks libusb.
    """
    try:
        return importlib.import_module("pyrealsense2")
    except ImportError as error:
        raise MissingDependencyError(
            f"the RealSense library cannot be loaded ({error})",
            expected="pip install -r requirements/hardware.txt; apt-get install libusb-1.0-0",
        ) from None
