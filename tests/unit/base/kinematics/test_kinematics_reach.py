"""The reach of an arm, which no posture exceeds and one attains."""

from __future__ import annotations

import numpy as np
import pytest

from embodied_iqa.base.kinematics import tool_along_z
from embodied_iqa.base.kinematics.geometry import UrGeometry, distance_to_box_m, reach_m
from embodied_iqa.base.kinematics.models import UR_MODELS, flange_pose

MODELS = list(UR_MODELS.values())


def _distance_m(geometry: UrGeometry, q_rad: np.ndarray, tool_m: float) -> float:
    place = (flange_pose(geometry, q_rad) @ tool_along_z(tool_m))[:3, 3]
    return float(np.linalg.norm(place - [0.0, 0.0, geometry.d1_m]))


@pytest.mark.parametrize("tool_m", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("geometry", MODELS, ids=lambda geometry: geometry.name)
def test_no_posture_exceeds_the_reach_and_one_attains_it(geometry: UrGeometry, tool_m: float) -> None:
    most_m = reach_m(geometry, tool_m)
    for q in np.random.default_rng(5).uniform(-np.pi, np.pi, (200, 6)):
        assert _distance_m(geometry, q, tool_m) <= most_m + 1e-9
    stretched = max(
        _distance_m(geometry, np.array([0.3, -0.7, 0.0, theta4, theta5, 0.0]), tool_m)
        for theta4 in np.linspace(-np.pi, np.pi, 73)
        for theta5 in np.linspace(-np.pi, np.pi, 73)
    )
    assert most_m - 0.005 < stretched <= most_m + 1e-9


def test_the_distance_to_a_box_is_that_of_its_nearest_point() -> None:
    shape = UR_MODELS["UR5e"]
    assert distance_to_box_m(shape, (-1, -1, 0), (1, 1, 1)) == 0.0
    assert distance_to_box_m(shape, (0.3, -1, 0), (1, 1, 1)) == pytest.approx(0.3)
    assert distance_to_box_m(shape, (3, 0, 4 + shape.d1_m), (9, 9, 9)) == pytest.approx(5.0)
