"""Marks in images and in physics."""

from __future__ import annotations

import numpy as np
import pytest

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.backends.classical.vla import ClassicalVla
from embodied_iqa.models.subjects.backends.classical.vlm import ClassicalVlm
from embodied_iqa.world.protocols import ChunkStatus, VlaObservation
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.scenes.snapshot import nominal_snapshot
from embodied_iqa.world.simulation.expert import expert_chunk
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.rollout import rollout
from embodied_iqa.world.simulation.scene_batches import SceneBatchRenderer
from embodied_iqa.world.simulation.success import task_success
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.instruction import parse_instruction
from embodied_iqa.world.tasks.vocabulary import Mark

TEXT = "pick the striped red cube"


def test_one_model_renders_marked_and_plain_scenes_as_their_own_models() -> None:
    scenes = [
        make_scene(2, parse_instruction(text))
        for text in (TEXT, "pick the red cube", "press the blue button marked B")
    ]
    with SceneBatchRenderer(160, 120) as batch:
        for scene in (*scenes, scenes[1]):
            with SceneRenderer(scene, 160, 120) as alone:
                together = batch.frames(scene, [View.TOP])[View.TOP].rgb
                assert np.array_equal(together, alone.frame(View.TOP, nominal_snapshot(scene)).rgb)


@pytest.mark.parametrize("mark", Mark)
def test_look_alikes_differ_in_their_mark_only(mark: Mark) -> None:
    """The image of an object changes with its mark, inside its outline."""
    words = f"red cube marked {mark}" if mark.is_character else f"{mark} red cube"
    marked, plain = (
        make_scene(2, parse_instruction(f"pick the {words}")),
        make_scene(2, parse_instruction(TEXT)),
    )
    with SceneRenderer(marked, 320, 240) as renderer:
        snapshot = nominal_snapshot(marked)
        rgb = renderer.frame(View.TOP, snapshot).rgb.astype(int)
        outline = renderer.segmentation(View.TOP, snapshot) == 0
    red = rgb[outline][:, 0]
    assert outline.sum() > 60
    assert np.percentile(red, 10) < 0.75 * np.percentile(red, 95), "ink and paint"
    assert len(plain.objects) == len(marked.objects)


def test_only_the_named_one_counts() -> None:
    task = parse_instruction("press the yellow button marked 3")
    twin = parse_instruction(f"press the {make_scene(5, task).objects[1].thing}")
    outcomes = []
    for pressed in (task, twin):
        world = World(make_scene(5, task))
        begin = world.snapshot()
        rollout(world, expert_chunk(world.scene, begin, pressed, world.T_base_tool).increments)
        outcomes.append(task_success(world.scene, task, begin, world.snapshot()))
    assert outcomes == [True, False]


def test_the_classical_pair_says_that_it_cannot_read_marks() -> None:
    scene = make_scene(2, parse_instruction(TEXT))
    with SceneRenderer(scene, 640, 480) as renderer:
        frame = renderer.frame(View.TOP, nominal_snapshot(scene))
    pose = np.eye(4)
    chunk = ClassicalVla().act(VlaObservation({View.TOP: frame}, TEXT, pose, 0.0, 0))
    assert chunk.status is ChunkStatus.NO_TARGET
    assert "cannot read marks" in chunk.reason
    assert "cannot read marks" in ClassicalVlm().answer(frame, TEXT)
