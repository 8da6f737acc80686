"""Features of the frozen region encoder of every image and its mirror images, computed once."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from embodied_iqa.quality.metrics.training.image_networks import planes_of
from embodied_iqa.quality.metrics.training.miqa_networks import RegionAware

FLIPS: Final = ((), (2,), (1,), (2, 1))
"""Axes of ``(N, H, W, 3)`` along which an image is mirrored; the place is left-right + 2 upside down."""
_AT_ONCE: Final = 64


def region_features(network: RegionAware, values: NDArray[Any], *, flips: int) -> NDArray[np.float32]:
    """Return the features of images and of their mirror images.

    The encoder is frozen and sees whole images, so that they are the same in each epoch. Batches are fixed:
    an interrupted training computes the same bits again.

    Args:
        network: With a region encoder.
        values: ``(N, S, S, 3)`` uint8.
        flips: How many of `FLIPS`, from the first.

    Returns:
        ``(N, flips, E)``.
    """
    found = []
    with torch.inference_mode():
        for start in range(0, len(values), _AT_ONCE):
            images = torch.from_numpy(values[start : start + _AT_ONCE])
            sides = [network.region_features(planes_of(images.flip(axes))) for axes in FLIPS[:flips]]
            found.append(torch.stack(sides, dim=1).numpy())
    return np.concatenate(found)
