"""Blocks and pixels that move, are lost, are concealed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from PIL import Image as Pillow

from embodied_iqa.imaging.distortions import distort, entry
from embodied_iqa.imaging.distortions.block_distortions import (
    BlockGrid,
    block_grid,
    choose_blocks,
    interpolated,
    neighbour_planes,
)
from embodied_iqa.imaging.distortions.image import Image

RNG = np.random.default_rng(0)


def blocks_of(image: Image, side_px: int) -> list[bytes]:
    rows, columns = image.shape[0] // side_px, image.shape[1] // side_px
    cut = image[: rows * side_px, : columns * side_px].reshape(rows, side_px, columns, side_px, 3)
    return [cut[row, :, column].tobytes() for row in range(rows) for column in range(columns)]


@pytest.mark.parametrize("level", range(1, 6))
def test_exchange_is_a_permutation_of_blocks_that_stay_near(level: int):
    image = np.random.default_rng(1).integers(0, 256, (384, 512, 3), dtype=np.uint8)
    out = distort(image, "23", level, np.random.default_rng(2))
    before, after = blocks_of(image, 16), blocks_of(out, 16)
    assert Counter(before) == Counter(after)
    where = {block: index for index, block in enumerate(before)}
    distances = [
        abs(where[block] // 32 - index // 32) + abs(where[block] % 32 - index % 32)
        for index, block in enumerate(after)
    ]
    assert 0 < np.mean(distances) < 3


@pytest.mark.parametrize("level", range(1, 6))
def test_lost_blocks_are_flat_and_as_many_as_they_should_be(level: int):
    image = np.random.default_rng(1).integers(0, 256, (384, 512, 3), dtype=np.uint8)
    (fraction,) = entry("24").parameters[level - 1]
    out = distort(image, "24", level, np.random.default_rng(2))
    changed = [new for old, new in zip(blocks_of(image, 32), blocks_of(out, 32), strict=True) if old != new]
    assert len(changed) == max(1, round(fraction * 192))
    assert all(len(set(zip(block[::3], block[1::3], block[2::3], strict=True))) == 1 for block in changed)


@pytest.mark.parametrize("level", range(1, 6))
def test_repeated_blocks_repeat_a_block_of_the_image(level: int):
    image = np.random.default_rng(1).integers(0, 256, (384, 512, 3), dtype=np.uint8)
    (fraction,) = entry("26").parameters[level - 1]
    out = distort(image, "26", level, np.random.default_rng(2))
    before, after = blocks_of(image, 32), blocks_of(out, 32)
    assert set(after) <= set(before)
    assert sum(old != new for old, new in zip(before, after, strict=True)) == max(1, round(fraction * 192))


def test_interpolation_restores_what_is_linear_along_rows_and_columns():
    x = np.linspace(0, 255, 128)[None, :, None]
    image = np.broadcast_to(x, (128, 128, 3)).astype(np.uint8)
    image = np.maximum(image, image.transpose(1, 0, 2))
    ramp = np.ascontiguousarray(np.broadcast_to(np.rint(x), (128, 128, 3)).astype(np.uint8))
    grid = BlockGrid(32, 4, 4)
    hidden = ramp.copy()
    hidden[32:64, 64:96] = 0
    filled = interpolated(hidden, grid, np.array([1 * 4 + 2]))
    assert np.abs(filled.astype(int) - ramp).max() <= 1


def test_interpolation_uses_received_pixels_only():
    image = np.full((128, 128, 3), 90, np.uint8)
    grid = BlockGrid(32, 4, 4)
    hole = image.copy()
    hole[32:96, 32:96] = 255
    lost = np.array([5, 6, 9, 10])
    assert np.array_equal(interpolated(hole, grid, lost), image)
    everything = interpolated(hole, grid, np.arange(16))
    assert np.ptp(everything) == 0


@pytest.mark.parametrize("shape", [(16, 16), (240, 320), (384, 512), (720, 1280)])
def test_a_larger_share_holds_the_blocks_of_a_smaller_one(shape: tuple[int, int]):
    grid = block_grid(shape, 32)
    assert grid.count >= 16
    assert grid.rows * grid.side_px <= shape[0]
    few, many = (choose_blocks(grid, share, np.random.default_rng(1)).tolist() for share in (0.2, 0.7))
    assert many[: len(few)] == few
    assert len(set(many)) == len(many) == round(0.7 * grid.count)


def test_neighbours_stop_at_the_border():
    known = np.zeros((3, 4), dtype=bool)
    known[0, 0] = True
    left, upper, right, lower = neighbour_planes(known)
    assert np.argwhere(left).tolist() == [[0, 1]]
    assert np.argwhere(upper).tolist() == [[1, 0]]
    assert not right.any()
    assert not lower.any()


@pytest.mark.parametrize("level", range(1, 6))
def test_jitter_moves_by_its_sigma_in_each_pass(level: int):
    (sigma_px,) = entry("22").parameters[level - 1]
    x = np.broadcast_to(np.arange(10, 250, dtype=np.uint8)[None, :, None], (240, 240, 3))
    moved = distort(x, "22", level, np.random.default_rng(3)).astype(float) - x
    inside = moved[20:-20, 20:-20]
    assert abs(inside.mean()) < 0.1
    passes = 5 * (sigma_px**2 + 1 / 12 * (sigma_px > 0.1))
    assert inside.std() < 1.3 * np.sqrt(passes) + 0.3
    if sigma_px >= 0.5:
        assert inside.std() > sigma_px


@pytest.mark.parametrize("level", range(1, 6))
def test_resolution_is_limited_to_its_share(level: int, photograph: Image):
    (scale,) = entry("27").parameters[level - 1]
    out = distort(photograph, "27", level, RNG)
    columns = np.any(out[:, 1:] != out[:, :-1], axis=(0, 2)).sum() + 1
    assert columns <= int(photograph.shape[1] * scale)
    assert columns > 0.9 * int(photograph.shape[1] * scale)


@pytest.mark.parametrize("level", range(1, 6))
def test_miqd_pixelation_is_that_of_pillow(level: int, photograph: Image):
    (scale,) = entry("miqd:pixelate").parameters[level - 1]
    height, width = photograph.shape[:2]
    size = (int(width * scale), int(height * scale))
    small = Pillow.fromarray(photograph).resize(size, Pillow.Resampling.BOX)
    peer = np.asarray(small.resize((width, height), Pillow.Resampling.NEAREST)).astype(int)
    ours = distort(photograph, "miqd:pixelate", level, RNG).astype(int)
    weights_of_partly_covered_pixels = 3.0 if scale > 0.9 else 1.5
    assert np.abs(ours - peer).mean() < weights_of_partly_covered_pixels
