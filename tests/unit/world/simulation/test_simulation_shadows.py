"""Soft shadows: on the table only, away from the lamp, softer and fainter below what is high."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.scenes.scene import Background, Light, Scene, SceneObject
from embodied_iqa.world.scenes.snapshot import WorldSnapshot, nominal_snapshot
from embodied_iqa.world.simulation.renderer import BACKGROUND, SceneRenderer
from embodied_iqa.world.tasks.vocabulary import Colour, Kind

PX = (320, 240)
LIGHT = Light(shadow=0.5, softness=0.2, tilt=0.6)
CUBE = SceneObject(Kind.CUBE, Colour.RED, -0.55, 0.0, 0.0, (0.8, 0.1, 0.1))


def _scene(light: Light) -> Scene:
    return Scene(0, (CUBE,), light, Background.SANDSTONE, (0.8, 0.8, 0.8))


def _image(light: Light, snapshot: WorldSnapshot | None = None) -> NDArray[np.int64]:
    scene = _scene(light)
    with SceneRenderer(scene, *PX) as renderer:
        return renderer.frame(View.TOP, snapshot or nominal_snapshot(scene)).rgb.astype(np.int64)


def _darkened(light: Light) -> NDArray[np.int64]:
    """Return how much darker the shadows make each pixel."""
    return (_image(replace(light, shadow=0.0)) - _image(light)).sum(axis=2)


def test_shadows_only_darken_and_only_the_table() -> None:
    darker = _darkened(LIGHT)
    assert darker.min() == 0
    assert 0.002 < (darker > 30).mean() < 0.2
    scene = _scene(LIGHT)
    with SceneRenderer(scene, *PX) as renderer:
        objects = renderer.segmentation(View.TOP, nominal_snapshot(scene)) != BACKGROUND
    inside = objects & np.roll(objects, 1, 0) & np.roll(objects, -1, 0) & np.roll(objects, 1, 1)
    assert not darker[inside].any()


@pytest.mark.parametrize("azimuth_rad", [-1.5, 0.0, 1.5, 3.0])
def test_a_shadow_points_away_from_the_lamp(azimuth_rad: float) -> None:
    """The centroid moves with the light's direction on the table, projected into the image."""
    light = replace(LIGHT, azimuth_rad=azimuth_rad)
    upright = _centroid(_darkened(replace(light, tilt=0.0)))
    tilted = _centroid(_darkened(light))
    cosine, sine = np.cos(azimuth_rad), np.sin(azimuth_rad)
    along = np.array([-0.479 * cosine + 0.878 * sine, -0.878 * cosine - 0.479 * sine])
    with SceneRenderer(_scene(light), *PX) as renderer:
        pose = renderer.frame(View.TOP, nominal_snapshot(_scene(light))).T_base_camera
    right, down = pose[:2, 0] @ along, pose[:2, 1] @ along
    moved = tilted - upright
    assert moved @ np.array([right, down]) > 0.7 * np.hypot(*moved) * np.hypot(right, down)


def _centroid(weights: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return (column, row) of the darkness around the cube, right in the middle of the image."""
    rows, columns = np.indices(weights.shape)
    near = np.hypot(columns - PX[0] / 2, rows - PX[1] / 2) < 60
    weights = np.where(near, weights, 0)
    return np.array([(weights * columns).sum(), (weights * rows).sum()]) / weights.sum()


def test_a_larger_lamp_softens_the_edge() -> None:
    hard, soft = (_darkened(replace(LIGHT, softness=value)) for value in (0.1, 0.9))
    steepest = [np.abs(np.diff(image, axis=1)).max() for image in (hard, soft)]
    assert steepest[1] < 0.8 * steepest[0]


def test_a_lifted_object_leaves_its_shadow_below() -> None:
    scene = _scene(LIGHT)
    low = nominal_snapshot(scene)
    high = replace(low, qpos=low.qpos.copy())
    high.qpos[10] += 0.15
    free = replace(LIGHT, shadow=0.0)
    strongest = [(_image(free, state) - _image(LIGHT, state)).sum(axis=2).max() for state in (low, high)]
    assert 0 < strongest[1] < strongest[0]
