"""Rectified images: what the formulas of the lens models see at a place comes where P has it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.frame import LensCalibration
from embodied_iqa.imaging.images.rectifier import Rectifier

EYE = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
K = (200.0, 0.0, 80.0, 0.0, 210.0, 60.0, 0.0, 0.0, 1.0)
P = (180.0, 0.0, 78.0, 0.0, 0.0, 190.0, 61.0, 0.0, 0.0, 0.0, 1.0, 0.0)
PLUMB = LensCalibration(160, 120, "plumb_bob", (-0.3, 0.1, 0.002, -0.001, 0.0), K, EYE, P)
TURN = 0.03


def distorted(lens: LensCalibration, x: float, y: float) -> tuple[float, float]:
    """Project a point (x, y, 1) of the camera's frame by the documented models."""
    d, r2 = lens.d, x * x + y * y
    if lens.model == "equidistant":
        r = np.sqrt(r2)
        t = np.arctan(r)
        scale = t * (1 + d[0] * t**2 + d[1] * t**4 + d[2] * t**6 + d[3] * t**8) / r
        u, v = x * scale, y * scale
    else:
        high, low = (*d, *[0.0] * 4)[4], (*d, *[0.0] * 4)[5:8]
        radial = (1 + d[0] * r2 + d[1] * r2**2 + high * r2**3) / (
            1 + low[0] * r2 + low[1] * r2**2 + low[2] * r2**3
        )
        u = x * radial + 2 * d[2] * x * y + d[3] * (r2 + 2 * x * x)
        v = y * radial + d[2] * (r2 + 2 * y * y) + 2 * d[3] * x * y
    return lens.k[0] * u + lens.k[2], lens.k[4] * v + lens.k[5]


def gradient(which: int) -> NDArray[np.uint8]:
    """An image whose value is the column, or the row."""
    value = np.indices((120, 160))[which].astype(np.uint8)
    return np.repeat(value[:, :, None], 3, axis=2)


@pytest.mark.parametrize(
    "lens",
    [
        PLUMB,
        replace(PLUMB, d=PLUMB.d[:4]),
        replace(PLUMB, model="rational_polynomial", d=(0.2, 0.1, 0.001, 0.002, 0.05, 0.3, 0.08, 0.01)),
        replace(PLUMB, model="equidistant", d=(-0.05, 0.01, 0.002, 0.0)),
        replace(PLUMB, r=(np.cos(TURN), 0.0, np.sin(TURN), 0.0, 1.0, 0.0, -np.sin(TURN), 0.0, np.cos(TURN))),
    ],
    ids=["plumb_bob", "four", "rational", "equidistant", "turned"],
)
def test_pixels_come_from_where_the_model_has_them(lens: LensCalibration) -> None:
    rectifier = Rectifier(lens)
    rows, columns = rectifier.image(gradient(0)), rectifier.image(gradient(1))
    depth_columns = rectifier.depth(gradient(1)[:, :, 0].astype(np.uint16))
    for row, column in ((30, 40), (60, 80), (90, 110), (50, 100)):
        ray = np.array([(column - P[2]) / P[0], (row - P[6]) / P[5], 1.0])
        x, y, z = np.reshape(lens.r, (3, 3)).T @ ray
        u, v = distorted(lens, x / z, y / z)
        assert abs(float(columns[row, column, 0]) - u) < 0.6
        assert abs(float(rows[row, column, 0]) - v) < 0.6
        assert abs(int(depth_columns[row, column]) - u) <= 0.501, "the nearest pixel, not that below"


def test_what_comes_out_is_a_pinhole() -> None:
    after = Rectifier(PLUMB).lens
    assert (after.d, after.r, after.p) == ((0.0,) * 5, EYE, P)
    assert after.pinhole.fx_px == P[0]
    assert not Rectifier(PLUMB).image(gradient(0)).flags.writeable
    unset = replace(PLUMB, r=(0.0,) * 9, p=(0.0,) * 12)
    assert Rectifier(unset).lens.k == K


def test_a_lens_without_distortion_changes_nothing() -> None:
    rgb = np.random.default_rng(1).integers(0, 256, (120, 160, 3), dtype=np.uint8)
    same = LensCalibration(160, 120, "", (), K, EYE, (0.0,) * 12)
    assert np.array_equal(Rectifier(same).image(rgb), rgb)


def test_the_pose_is_turned_with_the_image() -> None:
    r = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    T_base_camera = np.eye(4)
    T_base_camera[:3, 3] = 1.0, 2.0, 3.0
    point = np.array([0.1, 0.2, 0.9])
    T = Rectifier(replace(PLUMB, r=tuple(r.ravel().tolist()))).pose(T_base_camera)
    assert np.allclose(T[:3, :3] @ (r @ point) + T[:3, 3], point + np.array([1.0, 2.0, 3.0]))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": "kannala"}, "a lens cannot be rectified.*available: plumb_bob, rational_polynomial"),
        ({"d": (0.1, 0.2)}, "a plumb_bob lens has other coefficients; expected 4 or 5"),
        ({"r": (2.0, *EYE[1:])}, "R of a CameraInfo is not a rotation"),
        ({"p": (0.0, 1.0, *P[2:])}, "P of a CameraInfo projects nothing"),
        ({"p": (*P[:10], 0.0, 0.0)}, "P of a CameraInfo projects nothing"),
    ],
)
def test_other_calibrations_are_named(change: dict[str, tuple[float, ...]], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Rectifier(replace(PLUMB, **change))
