"""Scenes of tasks that name a mark hold a look-alike; words and relations tell them apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.scenes.language.referring import plain
from embodied_iqa.world.scenes.language.resolver import resolve
from embodied_iqa.world.scenes.scene import find_object, make_scene, tasks_of
from embodied_iqa.world.scenes.scene_graph import SceneGraph
from embodied_iqa.world.tasks.instruction import parse_instruction
from embodied_iqa.world.tasks.vocabulary import Mark, Size

SEEDS = st.integers(0, 10**6)


@given(SEEDS, st.sampled_from(Mark))
def test_a_marked_object_has_exactly_one_look_alike(seed: int, mark: Mark) -> None:
    words = f"red cube marked {mark}" if mark.is_character else f"{mark} red cube"
    scene = make_scene(seed, parse_instruction(f"place the {words} in the blue bowl"))
    assert str(scene.names[0]) == words
    twins = [item for item in scene.objects if (item.colour, item.kind) == ("red", "cube")]
    assert len(twins) == 2
    assert twins[1].mark not in {None, mark}
    assert twins[1].size is twins[0].size
    assert 4 <= len(scene.objects) <= 6
    others = [item.colour for item in scene.objects if item not in twins]
    assert len(set(others)) == len(others)
    assert "red" not in others


@given(SEEDS, st.sampled_from(Size))
def test_a_sized_object_has_exactly_one_look_alike(seed: int, size: Size) -> None:
    scene = make_scene(seed, parse_instruction(f"pick the {size} red cube"))
    one, other = (item for item in scene.objects if item.colour == "red")
    assert (one.kind, one.mark, one.size) == (other.kind, other.mark, size)
    assert other.size not in {None, size}
    assert abs(one.shape.width_m - other.shape.width_m) > 0.01


def test_an_object_named_by_mark_and_size_has_a_look_alike_for_each() -> None:
    scene = make_scene(3, parse_instruction("pick the small striped red cube"))
    red = [item for item in scene.objects if item.colour == "red"]
    assert [(item.size == "small", item.mark == "striped") for item in red] == [
        (True, True),
        (True, False),
        (False, True),
    ]


def test_an_unnamed_mark_has_no_look_alike() -> None:
    scene = make_scene(3, parse_instruction("pick the red cube"))
    assert [item.colour for item in scene.objects].count("red") == 1
    assert str(scene.names[0]) == "red cube"


def test_a_plain_description_of_look_alikes_is_refused() -> None:
    scene = make_scene(3, parse_instruction("pick the striped red cube"))
    with pytest.raises(UsageError, match=r"several objects.*red cube"):
        find_object(scene, parse_instruction("pick the red cube"))
    assert find_object(scene, parse_instruction("pick the striped red cube")) == 0


def test_every_task_of_a_scene_names_one_object() -> None:
    scene = make_scene(3, parse_instruction("pick the striped red cube"))
    for task in tasks_of(scene):
        assert scene.names[find_object(scene, task)] == task.object


@pytest.mark.parametrize("view", CELL_VIEWS)
def test_sentences_resolve_marks(view: View) -> None:
    task = parse_instruction("press the yellow button marked 3")
    scene = make_scene(5, task)
    graph = SceneGraph(scene, view)
    assert resolve("press the button marked 3", scene, view=view) == task
    assert plain(graph.nodes[0]).head.fits(graph.nodes[0])
    assert not plain(graph.nodes[0]).head.fits(graph.nodes[1])
    with pytest.raises(UsageError, match="exactly one"):
        resolve("press the yellow button", scene, view=view)


def test_a_pattern_stands_before_the_colour() -> None:
    task = parse_instruction("pick the striped red cube")
    assert resolve("please grab the striped block", make_scene(9, task)) == task
