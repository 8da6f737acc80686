"""One model renders every scene exactly as the scene's own model does."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.imaging.images import View
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.scenes.scene import Background, SceneObject, draw_instruction, make_scene
from embodied_iqa.world.scenes.snapshot import WorldSnapshot, nominal_snapshot
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.scene_batches import SceneBatchRenderer
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.vocabulary import Colour, Kind, Verb


@pytest.fixture(scope="module")
def batch():
    with SceneBatchRenderer(160, 120) as renderer:
        yield renderer


@pytest.mark.parametrize("verb", list(Verb))
def test_images_and_masks_are_those_of_the_scene_alone(batch: SceneBatchRenderer, verb: Verb):
    scene = make_scene(31, draw_instruction(verb, 31))
    snapshot = nominal_snapshot(scene)
    together = batch.frames(scene, CELL_VIEWS, snapshot)
    masks = batch.segmentation(scene, View.TOP, snapshot)
    with SceneRenderer(scene, 160, 120) as alone:
        for view in CELL_VIEWS:
            frame = alone.frame(view, snapshot)
            assert np.array_equal(together[view].rgb, frame.rgb)
            assert np.array_equal(together[view].T_base_camera, frame.T_base_camera)
        assert np.array_equal(masks, alone.segmentation(View.TOP, snapshot))


def test_previous_scenes_do_not_matter(batch: SceneBatchRenderer):
    scenes = [make_scene(seed, draw_instruction(verb, seed)) for seed, verb in enumerate(Verb)]
    first = [batch.frames(scene, [View.SIDE])[View.SIDE].rgb for scene in scenes]
    again = [batch.frames(scene, [View.SIDE])[View.SIDE].rgb for scene in reversed(scenes)]
    for one, other in zip(first, reversed(again), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("verb", list(Verb))
def test_a_scene_settles_by_less_than_a_millimetre(verb: Verb):
    scene = make_scene(8, draw_instruction(verb, 8))
    settled, drawn = World(scene).snapshot().qpos, nominal_snapshot(scene).qpos
    beads = sum(70 for item in scene.objects if item.kind is Kind.CUP)
    assert settled.shape == drawn.shape
    if not beads:
        assert np.abs(settled - drawn).max() < 1e-3


def test_a_scene_with_more_of_a_kind_gets_a_larger_model():
    scene = make_scene(1)
    balls = tuple(
        SceneObject(Kind.BALL, colour, -0.6 + 0.06 * index, 0.0, 0.0, (0.5, 0.5, 0.5))
        for index, colour in enumerate(Colour)
    )
    crowd = dataclasses.replace(scene, objects=balls)
    with SceneBatchRenderer(64, 48) as batch, SceneRenderer(crowd, 64, 48) as alone:
        shown = batch.frames(crowd, [View.TOP])[View.TOP].rgb
        assert np.array_equal(shown, alone.frame(View.TOP, nominal_snapshot(crowd)).rgb)


def test_backgrounds_and_lamps_show(batch: SceneBatchRenderer):
    scene = make_scene(2)
    images = [
        batch.frames(dataclasses.replace(scene, background=background), [View.TOP])[View.TOP].rgb
        for background in Background
    ]
    assert len({image.tobytes() for image in images}) == len(Background)
    light = dataclasses.replace(scene.light, brightness=0.5)
    dim = batch.frames(dataclasses.replace(scene, light=light), [View.TOP])[View.TOP].rgb
    bright = batch.frames(scene, [View.TOP])[View.TOP].rgb
    assert dim.mean() < 0.9 * bright.mean()


def test_wrong_use_is_refused(batch: SceneBatchRenderer):
    with pytest.raises(InputError, match="belong"):
        batch.frames(make_scene(0), [View.TOP], WorldSnapshot(0, np.zeros(3)))
    closed = SceneBatchRenderer(32, 32)
    closed.close()
    with pytest.raises(UsageError, match="closed"):
        closed.frames(make_scene(0), [View.TOP])
