"""Error of a detector's object list: how far its entries are from the true places, in bins of the grid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from embodied_iqa.imaging.distortions.spec import DistortionSpec
from embodied_iqa.imaging.distortions.stream import FrameDistorter
from embodied_iqa.suites.cell_manipulation.environment import Environment
from embodied_iqa.suites.cell_manipulation.episodes import Episode
from embodied_iqa.suites.cell_manipulation.planning.loop import truth_of
from embodied_iqa.suites.cell_manipulation.planning.planner_options import PromptOptions
from embodied_iqa.suites.cell_manipulation.planning.seeing import Bins, see

NEAR_BINS: Final = 2
"""An entry shows a thing that is at most this far away along X and along Y."""


@dataclass(frozen=True, slots=True)
class ListError:
    """Error of the list in one image.

    Attributes:
        kinds: Kind of each thing on the table: of an object, or "area".
        off_bins: Distance of each from the nearest entry, the larger of X and Y; infinite without entries.
        false: Entries that show nothing: none of the things is near.
    """

    kinds: tuple[str, ...]
    off_bins: tuple[float, ...]
    false: int


def list_errors(
    episodes: Iterable[Episode], options: PromptOptions, distortion: DistortionSpec | None = None
) -> Iterator[ListError]:
    """Yield the error of the list in the first image of each episode.

    Args:
        episodes: The episodes.
        options: With the detector.
        distortion: Of the image; None for clean ones.
    """
    distorter = FrameDistorter(distortion)
    with Environment() as environment:
        for episode in episodes:
            observation = environment.reset(episode)
            listed = see(observation, options, distorter).objects or ()
            yield list_error(truth_of(observation), listed)


def list_error(truth: dict[str, Bins], listed: Sequence[Bins]) -> ListError:
    """Return the error of one list.

    Args:
        truth: True bins of each thing by name.
        listed: The list.
    """
    kinds = tuple(name.split()[1] for name in truth)
    if not listed:
        return ListError(kinds, (np.inf,) * len(kinds), 0)
    places, entries = (np.array(list(one))[:, :2] for one in (truth.values(), listed))
    off = np.abs(places[:, None] - entries[None]).max(axis=2)
    false = int((off.min(axis=0) > NEAR_BINS).sum())
    return ListError(kinds, tuple(off.min(axis=1).astype(float).tolist()), false)
