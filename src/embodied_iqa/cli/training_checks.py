"""What commands refuse before they train."""

from __future__ import annotations

from importlib.util import find_spec

from embodied_iqa.base.errors import MissingDependencyError
from embodied_iqa.models.subjects.repositories import INSTALL_MODELS


def require_torch() -> None:
    """Refuse a machine without torch before any work.

    Raises:
        MissingDependencyError: It is not installed.
    """
    if find_spec("torch") is None:
        raise MissingDependencyError("training needs torch", expected=INSTALL_MODELS)
