"""What commands refuse before they train."""

from __future__ import annotations

import argparse
from importlib.util import find_spec

from embodied_iqa.base.errors import MissingDependencyError, UsageError


def check_training(arguments: argparse.Namespace) -> None:
    """Refuse a wrong number of workers, a wrong seed, and a machine without torch.

    Raises:
        UsageError: `workers` or `seed` is wrong.
        MissingDependencyError: Torch is not installed.
    """
    if arguments.workers < 1 or arguments.seed < 0:
        raise UsageError("wrong number of workers or seed", expected="workers from 1, seed from 0")
    require_torch()


def require_torch() -> None:
    """Refuse a machine without torch before any work.

    Raises:
        MissingDependencyError: It is not installed.
    """
    if find_spec("torch") is None:
        message, install = "training needs torch", "pip install -r requirements/models.txt"
        raise MissingDependencyError(message, expected=install)
