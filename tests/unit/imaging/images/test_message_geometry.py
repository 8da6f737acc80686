"""Numbers of messages become poses and intrinsics only if they are."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.frame import Intrinsics
from embodied_iqa.imaging.images.message_geometry import (
    intrinsics_from_info,
    is_uncalibrated,
    is_unknown_pose,
    matrix_from_pose,
)

NAN, INF = float("nan"), float("inf")
UNIT = (0.0, 0.0, 0.6, 0.8)
K = (7.0, 0.0, 2.0, 0.0, 8.0, 1.5, 0.0, 0.0, 1.0)


def _pose(place: tuple[float, ...] = (1.0, 2.0, 3.0), turn: tuple[float, ...] = UNIT) -> SimpleNamespace:
    return SimpleNamespace(
        position=SimpleNamespace(**dict(zip("xyz", place, strict=True))),
        orientation=SimpleNamespace(**dict(zip("xyzw", turn, strict=True))),
    )


def _info(k: tuple[float, ...] = K, width: int = 5, height: int = 4) -> SimpleNamespace:
    return SimpleNamespace(k=k, width=width, height=height)


def test_sound_numbers() -> None:
    T = matrix_from_pose(_pose())
    np.testing.assert_allclose(T[:3, :3] @ T[:3, :3].T, np.eye(3), atol=1e-15)
    np.testing.assert_array_equal(T[:3, 3], (1.0, 2.0, 3.0))
    rounded = tuple(round(value, 3) for value in (0.1825742, 0.3651484, 0.5477226, 0.7302967))
    assert np.linalg.det(matrix_from_pose(_pose(turn=rounded))[:3, :3]) == pytest.approx(1.0)
    assert intrinsics_from_info(_info()) == Intrinsics(5, 4, 7.0, 8.0, 2.0, 1.5)


@pytest.mark.parametrize("value", [NAN, INF, -INF])
@pytest.mark.parametrize("index", range(7))
def test_pose_with_a_number_that_is_not_finite(index: int, value: float) -> None:
    numbers = [1.0, 2.0, 3.0, *UNIT]
    numbers[index] = value
    with pytest.raises(InputError, match="expected finite numbers"):
        matrix_from_pose(_pose(tuple(numbers[:3]), tuple(numbers[3:])))


@pytest.mark.parametrize("scale", [0.0, 0.5, 0.99, 1.01, 2.0])
def test_quaternion_that_is_not_of_length_1(scale: float) -> None:
    with pytest.raises(InputError, match="a quaternion of length 1"):
        matrix_from_pose(_pose(turn=tuple(scale * value for value in UNIT)))


@pytest.mark.parametrize(
    "info",
    [
        _info((0.0,) * 9),
        _info((0.0, *K[1:])),
        _info((*K[:4], -8.0, *K[5:])),
        _info((NAN, *K[1:])),
        _info((*K[:2], INF, *K[3:])),
        _info(width=0),
        _info(height=0),
    ],
)
def test_camera_that_is_not_calibrated(info: SimpleNamespace) -> None:
    with pytest.raises(InputError, match="not calibrated"):
        intrinsics_from_info(info)


def test_unknown_is_said_by_nan_throughout_and_by_zeros_throughout() -> None:
    assert is_unknown_pose(_pose((NAN,) * 3, (NAN,) * 4))
    assert not is_unknown_pose(_pose((1.0, 2.0, 3.0), (NAN,) * 4))
    assert is_uncalibrated(_info((0.0,) * 9))
    assert not is_uncalibrated(_info((0.0,) * 8 + (1.0,)))
