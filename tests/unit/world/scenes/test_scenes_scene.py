from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embodied_iqa.base.errors import UsageError
from embodied_iqa.world.scenes.dimensions import TABLE_X_M, TABLE_Y_M
from embodied_iqa.world.scenes.scene import (
    Scene,
    draw_instruction,
    find_destination,
    find_object,
    make_scene,
    tasks_of,
)
from embodied_iqa.world.tasks.instruction import Instruction, Thing
from embodied_iqa.world.tasks.vocabulary import Colour, Kind, Verb

TASKS = [draw_instruction(verb, seed) for verb in Verb for seed in range(20)]
COMMON = [Instruction(Verb.PICK, Thing(colour, Kind.CUBE)) for colour in Colour]


def assert_only_look_alikes_share_a_colour(scene: Scene) -> None:
    for one, other in combinations(scene.objects, 2):
        if one.colour is other.colour:
            assert one.kind is other.kind
            assert (one.mark is other.mark) != (one.size is other.size)
    assert len(set(scene.names)) == len(scene.objects)


@given(seed=st.integers(0, 2**63))
@settings(max_examples=60, deadline=None)
def test_objects_differ_in_colour_and_keep_their_distance(seed: int):
    scene = make_scene(seed)
    assert 4 <= len(scene.objects) <= 6
    assert_only_look_alikes_share_a_colour(scene)
    for one, other in combinations(scene.objects, 2):
        gap = np.hypot(one.x_m - other.x_m, one.y_m - other.y_m)
        assert gap > one.shape.radius_m + other.shape.radius_m + 0.03
    for item in scene.objects:
        assert TABLE_X_M[0] < item.x_m < TABLE_X_M[1]
        assert TABLE_Y_M[0] < item.y_m < TABLE_Y_M[1]


@given(seed=st.integers(0, 10**6), task=st.sampled_from(TASKS))
@settings(max_examples=60, deadline=None)
def test_the_target_of_an_instruction_is_there_and_unambiguous(seed: int, task: Instruction):
    scene = make_scene(seed, task)
    target = scene.objects[find_object(scene, task)]
    assert (target.colour, target.kind) == (task.colour, task.kind)
    assert_only_look_alikes_share_a_colour(scene)
    goal = find_destination(scene, task)
    assert (None if goal is None else scene.names[goal]) == task.destination
    assert scene.category is task.category
    assert task in tasks_of(scene)


def test_the_same_seed_gives_the_same_scene_and_another_seed_another():
    task = Instruction(Verb.PICK, Thing(Colour.RED, Kind.CUBE))
    assert make_scene(5, task) == make_scene(5, task)
    assert make_scene(5) != make_scene(6)


def test_an_absent_object_is_named_in_the_error():
    scene = make_scene(0)
    absent = next(task for task in COMMON if task not in tasks_of(scene))
    with pytest.raises(UsageError, match=f"{absent.colour} {absent.kind}"):
        find_object(scene, absent)


def test_a_negative_seed_is_refused():
    with pytest.raises(UsageError, match="negative"):
        make_scene(-1)
