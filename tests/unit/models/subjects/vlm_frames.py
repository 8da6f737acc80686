"""Images to ask about."""

from __future__ import annotations

import numpy as np

from embodied_iqa.imaging.images.frame import Frame, Intrinsics, View


def frame_of(seed: int, width_px: int = 160, height_px: int = 120) -> Frame:
    """An image of coloured squares: each seed another."""
    squares = np.random.default_rng(seed).integers(0, 256, (-(-height_px // 40), -(-width_px // 40), 3))
    rgb = squares.repeat(40, axis=0).repeat(40, axis=1)[:height_px, :width_px].astype(np.uint8)
    return Frame(View.TOP, seed, rgb, Intrinsics(width_px, height_px, 1.0, 1.0, 0.0, 0.0), np.eye(4))
