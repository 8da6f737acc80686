"""Learned parameters that ship with the metrics."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray


def shipped(name: str) -> Mapping[str, NDArray[Any]]:
    """Return the arrays of ``NAME.npz`` beside this file."""
    file = files(__package__).joinpath(f"{name}.npz")
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
        return {key: stored[key] for key in stored.files}
