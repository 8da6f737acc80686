"""Training samples of the panel: labels agree with images, tasks with scenes, wording with the parser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.panel.evaluation.clean_scenes import drawn_scene, succeeds
from embodied_iqa.models.panel.image_formats import SMALL_CLOSE
from embodied_iqa.models.panel.samples.draw_samples import (
    RANKED_A_SCENE,
    draw_part,
    draw_ranked,
    reworded,
    sample_scene,
    scene_tasks,
)
from embodied_iqa.models.panel.samples.sample_files import load_samples, ranked_file
from embodied_iqa.models.panel.true_answers import object_marks, visible_things
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.scenes.language.resolver import resolve_plan
from embodied_iqa.world.scenes.scene import draw_instruction
from embodied_iqa.world.simulation.scene_batches import SceneBatchRenderer
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.instruction import parse_instruction
from embodied_iqa.world.tasks.vocabulary import Verb


def test_every_wording_means_its_task() -> None:
    rng = np.random.default_rng(0)
    texts = set()
    for index in range(600):
        task = draw_instruction(list(Verb)[index % len(Verb)], index)
        text = reworded(task, rng)
        assert parse_instruction(text) == task, text
        texts.add(text.split()[0])
    assert len(texts) > 15


def test_the_verbs_take_turns_and_seeds_repeat() -> None:
    verbs = [sample_scene(5, index)[1].verb for index in range(10)]
    assert set(verbs) == set(Verb)
    assert sample_scene(5, 3) == sample_scene(5, 3)
    assert sample_scene(5, 3) != sample_scene(6, 3)


def test_tasks_hold_the_main_one_and_some_whose_objects_are_missing() -> None:
    scene, main = sample_scene(1, 4)
    tasks = scene_tasks(scene, main, np.random.default_rng(0))
    there = [item.thing for item in scene.objects]
    assert tasks[0] == main
    assert sum(not any(task.object.fits(thing) for thing in there) for task in tasks) == 2


def test_some_missing_objects_differ_from_one_on_the_table_only_in_their_mark() -> None:
    nearly = total = 0
    for index in range(30):
        scene, main = sample_scene(1, index)
        for task in scene_tasks(scene, main, np.random.default_rng(index))[-2:]:
            total += 1
            nearly += any(replace(task.object, mark=None).fits(item.thing) for item in scene.objects)
    assert 0.2 < nearly / total < 0.8


def test_tasks_of_higher_rank_mean_what_their_labels_say(tmp_path: Path) -> None:
    draw_ranked(tmp_path, 3, 0, 12)
    ranked = np.load(ranked_file(tmp_path, View.SIDE), allow_pickle=False)
    checked = 0
    for index in range(12):
        scene, main = sample_scene(3, index)
        for slot, text in enumerate(ranked["tasks"][index]):
            try:
                step = resolve_plan(str(text), scene, view=View.SIDE)[0]
            except UsageError:
                assert parse_instruction(str(text)) == main, "a poor scene repeats its main task"
                continue
            assert list(Verb)[ranked["verb"][index, slot]] is step.verb
            assert scene.names[ranked["target"][index, slot]] == step.object
            goal = ranked["goal"][index, slot]
            assert (scene.names[goal] if goal >= 0 else None) == step.destination
            checked += 1
    assert checked >= 8 * 10
    assert ranked["verb"].shape == (12, RANKED_A_SCENE)


def test_marks_are_where_segmentation_sees_the_objects() -> None:
    with SceneBatchRenderer(480, 360) as renderer:
        hits = total = 0
        for index in range(6):
            scene, _ = sample_scene(8, index)
            frames = renderer.frames(scene, CELL_VIEWS)
            seen = renderer.segmentation(scene, View.TOP)
            for number, (u, v) in enumerate(object_marks(scene, frames[View.TOP])):
                x, y = int(u * 480), int(v * 360)
                patch = seen[max(0, y - 8) : y + 9, max(0, x - 8) : x + 9]
                hits += bool((patch == number).any())
                total += 1
    assert hits >= 0.9 * total


def test_a_part_is_stored_and_read_back_the_same(tmp_path: Path) -> None:
    for name in ("one", "two"):
        draw_part(tmp_path / name / "part-000", 3, 0, 6)
    one, two = (
        load_samples(tmp_path / name, (View.WRIST, View.SIDE), SMALL_CLOSE) for name in ("one", "two")
    )
    assert one.images[0].shape == (6, 180, 240, 3)
    assert one.thing_mark.shape[2] == 2
    for first, second in zip(one.images, two.images, strict=True):
        np.testing.assert_array_equal(first, second)
    assert one.tasks == two.tasks
    for scene in range(6):
        _, main = sample_scene(3, scene)
        assert parse_instruction(one.tasks[scene][0]) == main
        target = one.target[scene, 0]
        assert target >= 0
        assert one.thing_colour[scene, target] == one.wanted[scene, 0, 0]


@pytest.mark.parametrize("index", [3, 6, 8])
def test_physics_carries_out_the_experts_plan_and_not_a_wrong_one(index: int) -> None:
    drawn = drawn_scene(21, index)
    world = World(drawn.scene)
    expert = drawn.expert
    assert succeeds(world, drawn.scene, drawn.task, expert)
    wrong = expert + np.array([0.0, 0.06, 0.0, 0.0, 0.0, 0.0])
    assert not succeeds(world, drawn.scene, drawn.task, wrong)
    things = visible_things(drawn.scene, drawn.frames[View.TOP])
    assert any(thing.is_a(drawn.task.object) for thing in things)
