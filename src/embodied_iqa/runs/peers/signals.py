"""What failure detectors see of a run, image by image."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_whole

COSTS: Final = ("features", "copies", "learned", "statistics")
"""Parts of `Signals.cost_ms`: features of the policy, its chunks for all copies, the judges of the gate."""

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Signals:
    """Signals of one run on the images of the policy's camera, by time; T images.

    Attributes:
        time_s: ``(T,)`` since the start of the run.
        embeddings: ``(T, D)`` mean and maximum over the tokens of the policy's features.
        chunks: ``(T, K, A)`` way of the tool in the chunk that the policy decides on for each of K copies of
            the image, the first the image itself [m]; the tool stays where it is if the policy refuses.
        learned: ``(T,)`` loss that the learned judge expects; 1 for a rejected image.
        wrong_motion: ``(T,)`` probability of a wrong motion that it predicts; 1 for a rejected image.
        statistics: ``(T,)`` verdict of the statistics: 0 pass, 1 hold, 2 reject.
        cost_ms: ``(4,)`` median times of `COSTS` for an image.
    """

    time_s: Array
    embeddings: Array
    chunks: Array
    learned: Array
    wrong_motion: Array
    statistics: Array
    cost_ms: Array

    def __len__(self) -> int:
        return len(self.time_s)


def write_signals(signals: Signals, path: Path) -> None:
    """Write the signals of a run as compressed arrays, whole or not at all."""
    arrays = {field.name: getattr(signals, field.name) for field in fields(Signals)}

    def write(fresh: Path) -> None:
        with fresh.open("wb") as stream:
            np.savez_compressed(stream, **arrays)

    write_whole(path, write)


def read_signals(path: Path) -> Signals:
    """Read signals that `write_signals` wrote.

    Raises:
        InputError: The file is missing or damaged.
    """
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as found:
            return Signals(**{field.name: found[field.name] for field in fields(Signals)})
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"cannot read the signals of a run, {path}: {error}") from None
