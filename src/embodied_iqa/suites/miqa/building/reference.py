"""References of machine-vision labels: images, regions of interest and truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.models.vision.predictions import Instances, VisionTask
from embodied_iqa.quality.metrics.metric import Image


@dataclass(frozen=True, slots=True, eq=False)
class ReferenceView:
    """A clean image that models see.

    Attributes:
        rgb: ``(H, W, 3)`` uint8 RGB.
        region: ``(H, W)`` bool, the region of interest.
        category: Class of the image, the truth of classifiers; of its main object otherwise.
        instances: Its objects, with masks where they are known.
    """

    rgb: Image
    region: NDArray[np.bool_]
    category: str
    instances: Instances


@dataclass(frozen=True, slots=True, eq=False)
class MiqaReference:
    """A reference as models of all tasks see it.

    Attributes:
        whole: The image that detectors and segmenters see.
        crop: The image that classifiers see, such as a cut of the main object.
    """

    whole: ReferenceView
    crop: ReferenceView


class MiqaSource(Protocol):
    """A sequence of references that any process can read. Can be pickled."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the references, which become names of files."""
        ...

    @property
    def description(self) -> str:
        """One line for the manifest; a database is built from sources of one description."""
        ...

    @property
    def fingerprint(self) -> str:
        """Hash of annotations that may be corrected later; empty where there are none."""
        ...

    def categories(self, task: VisionTask) -> frozenset[str]:
        """Return the classes that the truth of a task can have; they must be classes of its models."""
        ...

    def read(self, index: int) -> MiqaReference:
        """Return a reference; an index gives the same one in every process.

        Raises:
            InputError: It cannot be read.
        """
        ...


def cut_view(
    rgb: Image, mask: NDArray[np.bool_], category: str, square_px: tuple[int, int, int], size_px: int
) -> ReferenceView:
    """Cut a square around an object and resize it.

    Args:
        rgb: ``(H, W, 3)`` uint8 RGB.
        mask: ``(H, W)`` bool, the object.
        category: Its class.
        square_px: Left, top and side.
        size_px: Side of the result.
    """
    left, top, side = square_px
    rows, columns = slice(top, top + side), slice(left, left + side)
    method = cv2.INTER_AREA if side >= size_px else cv2.INTER_LINEAR
    image = cv2.resize(rgb[rows, columns], (size_px, size_px), interpolation=method)
    inside = cv2.resize(mask[rows, columns].astype(np.float32), (size_px, size_px), interpolation=method)
    return crop_view(np.asarray(image, np.uint8), np.asarray(inside >= 0.5), category)


def crop_view(rgb: Image, mask: NDArray[np.bool_], category: str) -> ReferenceView:
    """Return the view of an image with one object."""
    return ReferenceView(rgb, mask, category, single(mask, category))


def single(mask: NDArray[np.bool_], category: str) -> Instances:
    """Return one object by its mask; none where it is empty."""
    columns, rows = np.flatnonzero(mask.any(0)), np.flatnonzero(mask.any(1))
    if not len(columns):
        return Instances((), np.zeros(0), np.zeros((0, 4)), np.zeros((0, *mask.shape), bool))
    box = np.array([[columns[0], rows[0], columns[-1] + 1, rows[-1] + 1]], np.float64)
    return Instances((category,), np.ones(1), box, mask[None])
