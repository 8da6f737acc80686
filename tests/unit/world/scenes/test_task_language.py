"""Five tasks a scene: clear, doable, of five abilities, rising in difficulty, the same on every machine."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.scenes.language.feasible_plans import two_steps
from embodied_iqa.world.scenes.language.five_tasks import draw_task_scene, make_tasks
from embodied_iqa.world.scenes.language.grammar import parse_task
from embodied_iqa.world.scenes.language.referring import FORMS_OF_RANK, Form, references
from embodied_iqa.world.scenes.language.resolver import resolve_plan
from embodied_iqa.world.scenes.scene import (
    Background,
    Light,
    Scene,
    SceneObject,
    find_object,
    make_scene,
    tasks_of,
)
from embodied_iqa.world.scenes.scene_graph import Extreme, SceneGraph, Side, Truth
from embodied_iqa.world.scenes.viewpoints import viewpoint_of
from embodied_iqa.world.tasks.instruction import Thing, parse_instruction
from embodied_iqa.world.tasks.sentence import MAX_TEXT_CHARACTERS
from embodied_iqa.world.tasks.task import Task, task_from_row, task_row
from embodied_iqa.world.tasks.vocabulary import Colour, Kind, Verb

SEEDS = st.integers(0, 10**9)
VERBS = st.sampled_from(Verb)
VIEWS = st.sampled_from(CELL_VIEWS)


def a_scene(*things: tuple[str, str, float, float]) -> Scene:
    """A scene of (colour, kind, x, y)."""
    items = tuple(SceneObject(Kind(k), Colour(c), x, y, 0.0, (0.5, 0.5, 0.5)) for c, k, x, y in things)
    return Scene(0, items, Light(), Background.WOOD, (0.8, 0.8, 0.8))


@given(seed=SEEDS, verb=VERBS, view=VIEWS)
@settings(max_examples=60, deadline=None)
def test_five_clear_tasks_of_five_abilities_that_get_harder(seed: int, verb: Verb, view: View) -> None:
    if view == View.WRIST and verb is Verb.PULL:
        verb = Verb.PICK  # its camera never shows a drawer
    scene, main = draw_task_scene(seed, verb, views=[view])
    tasks = make_tasks(scene, seed, view=view, main=main)
    assert [task.rank for task in tasks] == [1, 2, 3, 4, 5]
    forms = [task.ability.partition(":")[2] for task in tasks]
    assert len(set(forms)) == len({task.id for task in tasks}) == 5
    assert all(form in FORMS_OF_RANK[task.rank] for form, task in zip(forms, tasks, strict=True))
    assert all(easy.difficulty < hard.difficulty for easy, hard in pairwise(tasks))
    assert tasks[0].instruction == main == parse_instruction(tasks[0].text)
    for task in tasks:
        assert resolve_plan(task.text, scene, view=view) == task.plan
        assert set(task.plan) <= set(tasks_of(scene))
        assert all(_is_shown(scene, thing, view) for thing in _things_named(task))
        assert len(task.text) <= MAX_TEXT_CHARACTERS
        assert task_from_row(task_row(task)) == task


def _things_named(task: Task) -> set[Thing]:
    things = {thing for step in task.plan for thing in (step.object, step.destination) if thing is not None}
    described = [item for step in parse_task(task.text) for item in (step.object, step.other)]
    return things | {anchor for item in described if item is not None for anchor in item.anchors}


def _is_shown(scene: Scene, thing: Thing, view: View) -> bool:
    node = next(node for node in SceneGraph(scene, view).nodes if node.thing == thing)
    return min(node.image) > 0.0 and max(node.image) < 1.0


@given(seed=SEEDS, view=VIEWS)
@settings(max_examples=40, deadline=None)
def test_the_parser_of_plain_tasks_refuses_the_others_or_agrees(seed: int, view: View) -> None:
    """It never takes a task of a higher rank for another one."""
    scene, main = draw_task_scene(seed, views=[view])
    for task in make_tasks(scene, seed, view=view, main=main):
        try:
            understood = parse_instruction(task.text)
        except UsageError:
            assert task.rank > 1
        else:
            assert (understood,) == task.plan


@given(seed=SEEDS)
@settings(max_examples=40, deadline=None)
def test_any_scene_gives_five_tasks_or_says_what_it_lacks(seed: int) -> None:
    assert "no task of rank" in _what_it_lacks(make_scene(seed), seed)


def _what_it_lacks(scene: Scene, seed: int) -> str:
    try:
        tasks = make_tasks(scene, seed)
    except UsageError as error:
        return str(error)
    assert tasks[0].plan[0].object == scene.names[0]
    return "no task of rank 1 to 5 is missing"


@given(seed=SEEDS, view=VIEWS)
@settings(max_examples=40, deadline=None)
def test_mirrored_scenes_swap_left_and_right(seed: int, view: View) -> None:
    """An oracle without thresholds of its own: mirrored, the same words with left for right mean the same."""
    if view == View.SIDE:
        view = View.TOP  # the side camera does not look along the mirror's plane
    scene, main = draw_task_scene(seed, views=[view])
    mirrored = replace(scene, objects=tuple(replace(item, y_m=-item.y_m) for item in scene.objects))
    swap = {"left": "right", "right": "left", "leftmost": "rightmost", "rightmost": "leftmost"}
    for task in make_tasks(scene, seed, view=view, main=main):
        text = re.sub(r"\w+", lambda word: swap.get(word[0], word[0]), task.text)
        assert resolve_plan(text, mirrored, view=view) == task.plan


@given(seed=SEEDS, turn=st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_repainted_scenes_keep_their_meaning(seed: int, turn: int) -> None:
    """With the colours exchanged in scene and words alike, the same places are meant."""
    scene, main = draw_task_scene(seed)
    other = {colour: list(Colour)[(i + turn) % 6] for i, colour in enumerate(Colour)}
    words = {str(colour): str(new) for colour, new in other.items()}
    repainted = replace(
        scene, objects=tuple(replace(item, colour=other[item.colour]) for item in scene.objects)
    )
    for task in make_tasks(scene, seed, main=main):
        text = task.text
        for word in words:
            text = text.replace(word, f"<{word}>")
        for word, new in words.items():
            text = text.replace(f"<{word}>", new)
        plan = resolve_plan(text, repainted)
        assert [str(step.object.kind) for step in plan] == [str(step.object.kind) for step in task.plan]
        assert [step.colour for step in plan] == [other[step.colour] for step in task.plan]


@given(seed=SEEDS)
@settings(max_examples=25, deadline=None)
def test_without_its_object_a_task_means_nothing_or_something_else(seed: int) -> None:
    scene, main = draw_task_scene(seed)
    for task in make_tasks(scene, seed, main=main):
        gone = find_object(scene, task.plan[0])
        rest = replace(scene, objects=tuple(np.delete(np.array(scene.objects, object), gone)))
        try:
            plan = resolve_plan(task.text, rest)
        except UsageError:
            continue
        same_words = plan == task.plan
        assert not same_words or rest.objects[find_object(rest, plan[0])] in scene.objects
        assert not same_words or scene.objects[gone].colour in {item.colour for item in rest.objects}


@given(seed=SEEDS, view=VIEWS)
@settings(max_examples=40, deadline=None)
def test_sides_in_the_graph_agree_with_plain_geometry(seed: int, view: View) -> None:
    """Left and right exclude each other, are each other's inverse, and follow the base frame's axes."""
    scene = make_scene(seed)
    graph = SceneGraph(scene, view)
    for one in graph.nodes:
        for other in graph.nodes:
            if one is other:
                continue
            left = graph.is_at_side(one, Side.LEFT, other)
            assert left is graph.is_at_side(other, Side.RIGHT, one)
            assert graph.is_at_side(one, Side.FRONT, other) is graph.is_at_side(other, Side.BEHIND, one)
            if left is Truth.YES:
                assert graph.is_at_side(other, Side.LEFT, one) is Truth.NO
                sign = {View.WRIST: 1.0, View.TOP: -1.0}.get(view)
                assert sign is None or sign * (other.place_m[1] - one.place_m[1]) >= 0.04
                assert one.image[0] < other.image[0]


@pytest.mark.parametrize("view", CELL_VIEWS)
def test_extremes_are_those_of_the_image(view: View) -> None:
    for seed in range(40):
        graph = SceneGraph(make_scene(seed), view)
        for reference in references(graph, Form.POSITION):
            among = [node for node in graph.nodes if reference.head.fits(node)]
            axis, sign = {
                Extreme.LEFTMOST: (0, 1),
                Extreme.RIGHTMOST: (0, -1),
                Extreme.NEAREST: (1, -1),
                Extreme.FARTHEST: (1, 1),
            }[reference.extreme or Extreme.TALLEST]
            assert min(among, key=lambda n: sign * n.image[axis]).index == reference.target


def test_same_tasks_in_another_process_whatever_its_hashes() -> None:
    code = (
        "from embodied_iqa.world.scenes.language.five_tasks import draw_task_scene as d\n"
        "from embodied_iqa.world.scenes.language.five_tasks import make_tasks as m\n"
        "for s in range(12):\n"
        "    for t in m(d(s)[0], s): print(t.id, t.text)"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path), "MUJOCO_GL": "disable"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1
    assert len(said.pop().splitlines()) == 60


def test_words_vary_with_the_seed_and_verbs_as_far_as_the_scene_allows() -> None:
    scene, main = draw_task_scene(0, Verb.PLACE)
    texts = {make_tasks(scene, seed, main=main)[0].text for seed in range(60)}
    assert len(texts) >= 12
    verbs = [len({task.verb for task in make_tasks(*_with_main(seed))[:4]}) for seed in range(40)]
    assert np.mean(verbs) > 2.5


def _with_main(seed: int) -> tuple[Scene, int]:
    return draw_task_scene(seed)[0], seed


def test_every_form_occurs() -> None:
    found = set()
    for seed in range(60):
        scene, main = draw_task_scene(seed)
        found |= {Form(task.ability.partition(":")[2]) for task in make_tasks(scene, seed, main=main)}
    assert found == set(Form)


def test_a_task_that_the_scene_does_not_afford_is_refused() -> None:
    scene, _ = draw_task_scene(3, Verb.PICK)
    absent = next(
        parse_instruction(f"pick the {colour} cube")
        for colour in Colour
        if all(item.colour is not colour for item in scene.objects)
    )
    with pytest.raises(UsageError, match="does not afford"):
        make_tasks(scene, main=absent)


def test_a_push_does_not_hit_the_objects_of_the_next_step() -> None:
    cube, ball = ("red", "cube", -0.45, 0.0), ("blue", "ball", -0.60, 0.0)
    push, pick = parse_instruction("push the red cube"), parse_instruction("pick the blue ball")
    behind = a_scene(cube, ball)
    aside = a_scene(cube, ("blue", "ball", -0.60, 0.2))
    assert (push, pick) not in two_steps(behind, tasks_of(behind))
    assert (push, pick) in two_steps(aside, tasks_of(aside))


def test_a_full_gripper_does_nothing_else() -> None:
    scene = a_scene(
        ("red", "cube", -0.45, 0.0), ("blue", "button", -0.60, 0.2), ("green", "bowl", -0.5, -0.2)
    )
    pairs = two_steps(scene, tasks_of(scene))
    seconds = {second for first, second in pairs if first.verb is Verb.PICK}
    assert seconds == {parse_instruction("place the red cube in the green bowl")}


def test_objects_of_one_colour_are_identified_by_kind() -> None:
    scene = a_scene(("red", "cube", -0.45, 0.0), ("red", "ball", -0.60, 0.2), ("green", "bowl", -0.5, -0.2))
    heads = {
        (r.target, r.head.colour, r.excluded) for r in references(SceneGraph(scene, View.TOP), Form.EXCLUSION)
    }
    assert (0, Colour.RED, (Kind.BALL,)) in heads


@pytest.mark.parametrize("view", CELL_VIEWS)
def test_viewpoints_look_along_and_across(view: View) -> None:
    viewpoint = viewpoint_of(view)
    ahead = np.array([*viewpoint.ahead, 0.0])
    assert np.cross(ahead, [*viewpoint.right, 0.0])[2] == pytest.approx(-1.0)
    here = np.array([[-0.5, 0.0, 0.0]])
    right = viewpoint.project(here + np.array([*viewpoint.right, 0.0]) * 0.05) - viewpoint.project(here)
    away = viewpoint.project(here + ahead * 0.05) - viewpoint.project(here)
    assert right[0, 0] > 0.02
    assert away[0, 1] < -0.02


def test_the_wrist_camera_never_shows_a_drawer() -> None:
    with pytest.raises(UsageError, match="never shows"):
        draw_task_scene(0, Verb.PULL, views=[View.WRIST])
