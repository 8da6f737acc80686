"""Split of scenes: to train on, to calibrate the threshold, and to check the promise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from embodied_iqa.base.errors import InputError
from embodied_iqa.quality.gate.risk_control import Promise

_CALIBRATE_SHARE: Final = 0.4
_CHECK_SHARE: Final = 0.2
_FEWEST_TRAINING: Final = 20
_SECOND_SHARE: Final = 0.2
_FEWEST_CHECKED: Final = 5


@dataclass(frozen=True, slots=True)
class SceneSplit:
    """Scenes by use; none has two.

    Attributes:
        train: For networks and the ranges of statistics.
        calibrate: For the threshold.
        check: For the results.
    """

    train: tuple[str, ...]
    calibrate: tuple[str, ...]
    check: tuple[str, ...]

    @property
    def second(self) -> tuple[str, ...]:
        """Those of the training scenes that the second stage learns from."""
        count = max(1, round(_SECOND_SHARE * len(self.train)))
        return self.train[:: max(1, len(self.train) // count)][:count]

    @property
    def first(self) -> tuple[str, ...]:
        """Those of the training scenes that the networks of the first stage learn from."""
        return tuple(scene for scene in self.train if scene not in self.second)


def fewest_scenes(promise: Promise) -> int:
    """Return the number of scenes that suffices for a fit."""
    count = promise.fewest_scenes + _FEWEST_TRAINING + _FEWEST_CHECKED
    while _sizes(count, promise)[0] < _FEWEST_TRAINING:
        count += 1
    return count


def split_scenes(scenes: Iterable[str], promise: Promise, seed: int) -> SceneSplit:
    """Draw the parts; the draw depends on the set of scenes and the seed, not on their order.

    Raises:
        InputError: Too few scenes for the promise.
    """
    names = sorted(set(scenes))
    if len(names) < fewest_scenes(promise):
        confidence = "" if promise.confidence is None else f" with confidence {promise.confidence:g}"
        raise InputError(
            f"too few scenes to promise a risk of {promise.risk:g}{confidence}",
            expected=f"{fewest_scenes(promise)} scenes: {promise.fewest_scenes} to calibrate, the others to "
            "train and to check",
            got=len(names),
        )
    drawn = [names[index] for index in np.random.default_rng([seed, 3]).permutation(len(names))]
    train, calibrate, _ = _sizes(len(names), promise)
    parts = (drawn[:train], drawn[train : train + calibrate], drawn[train + calibrate :])
    return SceneSplit(*(tuple(sorted(part)) for part in parts))


def _sizes(count: int, promise: Promise) -> tuple[int, int, int]:
    """Return numbers of scenes to train, to calibrate and to check."""
    check = max(_FEWEST_CHECKED, round(_CHECK_SHARE * count))
    wanted = min(round(_CALIBRATE_SHARE * count), count - check - _FEWEST_TRAINING)
    calibrate = max(promise.fewest_scenes, wanted)
    return count - calibrate - check, calibrate, check
