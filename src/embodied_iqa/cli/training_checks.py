"""What commands refuse before they train."""

from __future__ import annotations

from importlib.util import find_spec

from embodied_iqa.base.errors import MissingDependencyError


def require_torch() -> None:
    """Refuse a machine without torch before any work.

    Raises:
        MissingDependencyError: It is not installed.
    """
    if find_spec("torch") is None:
        message, install = "training needs torch", "pip install -r requirements/models.txt"
        raise MissingDependencyError(message, expected=install)
