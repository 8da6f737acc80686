"""Check of a fit on distortions that it has not seen: on frames of types that were left out of everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from embodied_iqa.data.analysis.correlation import area_under_curve
from embodied_iqa.data.analysis.means import finite_mean
from embodied_iqa.data.analysis.paired import Estimate, mean_of
from embodied_iqa.data.analysis.resampling import FEWEST_REFERENCES, References
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
    types = frames.types
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
    names = np.concatenate([one.frames.scenes for one in parts])
    scenes = References.drawn(names, draws=_DRAWS)
    each = References.drawn(np.unique(names), draws=_DRAWS)
    risk = np.bincount(scenes.index, np.where(held, 0.0, loss)) / np.bincount(scenes.index)
    numbers = {
        "types": float(len(np.unique(np.concatenate([one.frames.types for one in parts])))),
        "scenes": float(len(each.index)),
        "frames": float(len(held)),
        **_named("risk", mean_of(risk, each), each),
        "passed": float((~held).mean()),
        "harmless_held": share_held(held, loss <= HARMLESS),
        **_named("harmful_stopped", mean_of(np.where(loss > HARMFUL, held, np.nan), scenes), scenes),
        **_named("wrong_motions_stopped", mean_of(np.where(wrong, held, np.nan), scenes), scenes),
        "auc_harmful": _mean_auc([(one.value, one.frames.loss(kind) > HARMFUL) for one in parts]),
        "auc_wrong_motion": _mean_auc(
            [(one.wrong_motion, one.frames.wrong_motion_loss > NOTABLE) for one in parts]
        ),
    }
    return rounded(numbers)


def _named(name: str, found: Estimate, scenes: References) -> dict[str, float]:
    """Return a value with its interval; equal ends, as where nothing passes, say nothing."""
    is_shown = scenes.weights.shape[1] >= FEWEST_REFERENCES and found.low < found.high
    low, high = (found.low, found.high) if is_shown else (np.nan, np.nan)
    return {name: found.value, f"{name}_low": low, f"{name}_high": high}


def _mean_auc(groups: Sequence[tuple[Array, Mask]]) -> float:
    return finite_mean(np.array([area_under_curve(values, positive) for values, positive in groups]))
