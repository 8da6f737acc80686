"""What commands refuse before they train."""

from __future__ import annotations

from embodied_iqa.base.errors import MissingDependencyError
from embodied_iqa.base.lazy import has_module
from embodied_iqa.models.subjects.repositories import INSTALL_MODELS


def require_torch() -> None:
    """Refuse a machine without torch before any work.

    Raises:
        MissingDependencyError: It is not installed.
    """
    if not has_module("torch"):
        raise MissingDependencyError("training needs torch", expected=INSTALL_MODELS)
