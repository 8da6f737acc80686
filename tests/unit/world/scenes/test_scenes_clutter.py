"""Clutter lies clear of the objects, changes images and nothing else."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.scenes.clutter import CLUTTER_RADIUS_M, MOST_OF_A_KIND, ClutterKind
from embodied_iqa.world.scenes.dimensions import TABLE_X_M, TABLE_Y_M
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.scenes.snapshot import nominal_snapshot
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.world import World


@given(seed=st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_clutter_lies_on_the_table_and_touches_no_object(seed: int) -> None:
    scene = make_scene(seed)
    for item in scene.clutter:
        radius_m = CLUTTER_RADIUS_M[item.kind]
        assert TABLE_X_M[0] + radius_m < item.x_m < TABLE_X_M[1] - radius_m
        assert TABLE_Y_M[0] + radius_m < item.y_m < TABLE_Y_M[1] - radius_m
        for other in scene.objects:
            gap_m = np.hypot(item.x_m - other.x_m, item.y_m - other.y_m)
            assert gap_m > radius_m + other.shape.radius_m
    assert max(Counter(item.kind for item in scene.clutter).values(), default=0) <= MOST_OF_A_KIND


def test_every_kind_of_clutter_is_drawn_and_seen() -> None:
    scenes = [make_scene(seed) for seed in range(12)]
    assert {item.kind for scene in scenes for item in scene.clutter} == set(ClutterKind)
    scene = next(scene for scene in scenes if len(scene.clutter) > 1)
    snapshot = nominal_snapshot(scene)
    images = []
    for shown in (scene, replace(scene, clutter=())):
        with SceneRenderer(shown, 320, 240) as renderer:
            images.append(renderer.frame(View.TOP, snapshot).rgb)
            assert renderer.segmentation(View.TOP, snapshot).max() < len(scene.objects)
    assert np.any(images[0] != images[1])


def test_physics_does_not_know_of_clutter() -> None:
    scene = next(scene for seed in range(9) if (scene := make_scene(seed)).clutter)
    states = []
    for shown in (scene, replace(scene, clutter=())):
        world = World(shown)
        world.advance(SECOND_NS // 5)
        states.append(world.snapshot().qpos)
    assert np.array_equal(*states)
