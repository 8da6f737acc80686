"""Check of a fit on distortions that it has not seen: on frames of types that were left out of everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.data.analysis.correlation import area_under_curve
from embodied_iqa.data.analysis.means import finite_mean
from embodied_iqa.data.analysis.resampling import FEWEST_REFERENCES, drawn_weights, interval_of
from embodied_iqa.quality.gate.fitted import LossKind
from embodied_iqa.quality.gate.fitting.check import (
    HARMFUL,
    HARMLESS,
    NOTABLE,
    Array,
    JudgedFrames,
    Mask,
    rounded,
    share_held,
)
from embodied_iqa.quality.gate.fitting.frames import GateFrames

GROUPS: Final = 5
"""Of types, each left out once."""
_DRAWS: Final = 1000


@dataclass(frozen=True, slots=True, eq=False)
class UnseenFrames:
    """Held-out frames of types that were left out, as a fit without these types judges them.

    Attributes:
        judged: With the predictions of that fit.
        threshold: Of that fit; minus infinity where none keeps the promise: every frame is held.
    """

    judged: JudgedFrames
    threshold: float


def type_groups(frames: GateFrames) -> tuple[Mask, ...]:
    """Return which frames are of the types of each group; empty for fewer types than groups.

    The types are dealt out by their numbers, which count class by class, so that no group has a whole class
    of similar types if it has more than one.
    """
    types = np.array([kind.rpartition(":")[0] for kind in frames.kinds.tolist()])
    names = sorted(set(types[~frames.clean].tolist()))
    if len(names) < GROUPS:
        return ()
    return tuple(np.isin(types, names[number::GROUPS]) for number in range(GROUPS))


def check_unseen(groups: Sequence[UnseenFrames], kind: LossKind) -> dict[str, float | None]:
    """Return results by name, as those of `check_threshold`; None where there is nothing to count.

    Every held-out frame is judged once, by the fit that has not seen its type. Areas under the curve are
    means over the groups, since values of different fits are not comparable. ``_low`` and ``_high`` are the
    ends of 95 % intervals from drawing scenes again; None for fewer than `FEWEST_REFERENCES` scenes, and
    where all draws are equal.
    """
    parts = [group.judged for group in groups]
    held = np.concatenate([group.judged.held(group.threshold) for group in groups])
    loss = np.concatenate([one.frames.loss(kind) for one in parts])
    wrong = np.concatenate([one.frames.wrong_motion_loss for one in parts]) > NOTABLE
    names, index = np.unique(np.concatenate([one.frames.scenes for one in parts]), return_inverse=True)
    scenes = _Scenes(index, len(names))
    harmful = loss > HARMFUL
    numbers = {
        "types": float(len({kind.rpartition(":")[0] for one in parts for kind in one.frames.kinds.tolist()})),
        "scenes": float(len(names)),
        "frames": float(len(held)),
        **scenes.mean("risk", np.where(held, 0.0, loss)),
        "passed": float((~held).mean()),
        "harmless_held": share_held(held, loss <= HARMLESS),
        **scenes.share("harmful_stopped", held, harmful),
        **scenes.share("wrong_motions_stopped", held, wrong),
        "auc_harmful": _mean_auc([(one.value, one.frames.loss(kind) > HARMFUL) for one in parts]),
        "auc_wrong_motion": _mean_auc(
            [(one.wrong_motion, one.frames.wrong_motion_loss > NOTABLE) for one in parts]
        ),
    }
    return rounded(numbers)


@dataclass(frozen=True, slots=True, eq=False)
class _Scenes:
    """The exchangeable unit: which frame is of which, and how often each was drawn again.

    Attributes:
        index: ``(N,)`` of the scene of each frame.
        count: Number of scenes.
    """

    index: NDArray[np.intp]
    count: int

    def mean(self, name: str, values: Array) -> dict[str, float]:
        """Return the mean over scenes of the means of their frames, with its interval."""
        means = self._sums(values) / self._sums(np.ones(len(values)))
        return self._named(name, means, np.ones(self.count))

    def share(self, name: str, held: Mask, rows: Mask) -> dict[str, float]:
        """Return the share of some frames that is held, with its interval."""
        return self._named(name, self._sums(held & rows), self._sums(rows))

    def _sums(self, values: NDArray[Any]) -> Array:
        return np.bincount(self.index, values, self.count).astype(np.float64)

    def _named(self, name: str, parts: Array, whole: Array) -> dict[str, float]:
        draws = _DRAWS if self.count >= FEWEST_REFERENCES else 0
        weights = drawn_weights(self.count, draws=draws, seed=0)
        with np.errstate(invalid="ignore"):
            value, drawn = parts.sum() / whole.sum(), (weights @ parts) / (weights @ whole)
        low, high = interval_of(drawn)
        if low == high:  # no scene differs, as where nothing passes: the draws say nothing
            low = high = np.nan
        return {name: float(value), f"{name}_low": low, f"{name}_high": high}


def _mean_auc(groups: Sequence[tuple[Array, Mask]]) -> float:
    return finite_mean(np.array([area_under_curve(values, positive) for values, positive in groups]))
