"""Input of a learned metric: what is measured of an image before the network."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.quality.metrics.input_checks import check_image, check_pair
from embodied_iqa.quality.metrics.learned.differences import DIFFERENCES_VERSION, image_differences
from embodied_iqa.quality.metrics.learned.fine_texture import FINE_SIZE_PX, FINE_VERSION, fine_statistics
from embodied_iqa.quality.metrics.learned.input_statistics import (
    SIZE_PX,
    STATISTICS_VERSION,
    image_statistics,
    small_image,
)
from embodied_iqa.quality.metrics.learned.tokens import TOKENS_VERSION, token_cells
from embodied_iqa.quality.metrics.metric import Image, MetricContext, Needs
from embodied_iqa.quality.metrics.policy.distance import PolicyDistance, make
from embodied_iqa.quality.metrics.policy.token_maps import token_statistics

SMALLEST_PX: Final = 16


class InputKind(StrEnum):
    """What a network takes."""

    STATISTICS = "statistics"
    """`learned.statistics` of the distorted image."""
    FINE = "fine"
    """Statistics, then `learned.fine_texture` of the image."""
    TOKENS = "tokens"
    """Statistics, then the token map of the image in the features of a subject."""
    DIFFERENCES = "differences"
    """`learned.differences` from the reference, and distances in the features of subjects."""
    IMAGE = "picture"
    """The distorted image, resized."""
    SQUARE = "square"
    """The central square of the distorted image, resized."""

    def __repr__(self) -> str:
        # stored records of trainings hash this text, from the time when images were called pictures
        return f"<{type(self).__name__}.{self.value.upper()}: {self.value!r}>"

    @property
    def is_image(self) -> bool:
        """Whether it is ``(H, W, 3)`` uint8, else ``(D,)`` float32."""
        return self in {InputKind.IMAGE, InputKind.SQUARE}


_VERSIONS: Final = {
    InputKind.STATISTICS: STATISTICS_VERSION,
    InputKind.FINE: f"{FINE_VERSION}.{STATISTICS_VERSION}",
    InputKind.TOKENS: f"{TOKENS_VERSION}.{STATISTICS_VERSION}",
    InputKind.DIFFERENCES: f"{DIFFERENCES_VERSION}.{STATISTICS_VERSION}",
    InputKind.IMAGE: "2",
    InputKind.SQUARE: "2",
}


@dataclass(frozen=True, slots=True)
class NetworkInput:
    """What a network takes, and how it is measured.

    Attributes:
        kind: Kind of input.
        subjects: Subjects whose features count, of `DIFFERENCES`; of `TOKENS` the first that is made for the
            camera of the image, else the first.
        size_px: Width and height to which an image is resized.
    """

    kind: InputKind
    subjects: tuple[str, ...] = ()
    size_px: tuple[int, int] = SIZE_PX

    @property
    def needs(self) -> Needs:
        """Whether a reference is needed."""
        return Needs.REFERENCE if self.kind is InputKind.DIFFERENCES else Needs.NOTHING

    def version(self) -> str:
        """Return text that changes whenever a number can change; loads the subjects.

        Raises:
            UserError: A subject cannot be loaded.
        """
        infos = [_distance(name).subject_info for name in self.subjects]
        size = f"{self.size_px[0]}x{self.size_px[1]}"
        return " ".join(
            [self.kind, _VERSIONS[self.kind], size, *(f"{one.name}@{one.version}" for one in infos)]
        )

    def halves(self, image: Image) -> bool:
        """Return whether an image is halved first, so that its half is measured with the same result."""
        width, height = FINE_SIZE_PX if self.kind is InputKind.FINE else self.size_px
        other = self.kind in {InputKind.SQUARE, InputKind.DIFFERENCES}
        return not other and image.shape[0] >= 2 * height and image.shape[1] >= 2 * width

    def measure(
        self, distorted: Image, reference: Image | None = None, context: MetricContext | None = None
    ) -> NDArray[Any]:
        """Return ``(D,)`` float32, or of `IMAGE` and `SQUARE` ``(H, W, 3)`` uint8.

        Raises:
            InputError: Not an image, too small, or the reference is missing or of another size.
        """
        if self.kind is not InputKind.DIFFERENCES:
            return self._without_reference(distorted, context)
        if reference is None:
            raise InputError("the metric compares with a reference", expected="the undistorted image")
        check_pair(reference, distorted, SMALLEST_PX)
        maps = [_distance(name).token_maps(distorted, reference, context) for name in self.subjects]
        parts = [image_differences(distorted, reference), *(token_statistics(*pair) for pair in maps)]
        return np.concatenate(parts)

    def _without_reference(self, distorted: Image, context: MetricContext | None) -> NDArray[Any]:
        check_image(distorted, SMALLEST_PX)
        if self.kind is InputKind.FINE:
            return self._with_fine_texture(distorted)
        if self.kind is InputKind.SQUARE:
            distorted = _central_square(distorted)
        small = small_image(distorted, self.size_px)
        if self.kind.is_image:
            return small
        statistics = image_statistics(small)
        if self.kind is InputKind.STATISTICS:
            return statistics
        view = context.view if context is not None else None
        subjects = [_distance(name) for name in self.subjects]
        chosen = next((one for one in subjects if view in one.subject_info.views), subjects[0])
        return np.concatenate(
            [statistics, token_cells(chosen.features(small, view or chosen.subject_info.views[0]))]
        )

    def _with_fine_texture(self, distorted: Image) -> NDArray[Any]:
        """Shrink in two steps: from a large image that is faster than twice."""
        medium = small_image(distorted, FINE_SIZE_PX)
        statistics = image_statistics(small_image(medium, self.size_px))
        return np.concatenate([statistics, fine_statistics(medium)])


def _central_square(image: Image) -> Image:
    height, width = image.shape[:2]
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    return np.ascontiguousarray(image[top : top + side, left : left + side])


@lru_cache(maxsize=16)
def _distance(subject: str) -> PolicyDistance:
    """Return a subject's metric, loaded once in a process."""
    return make(subject)
