"""Success: the end state of an expert counts, and no state that is slightly worse."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from embodied_iqa.base.errors import UsageError
from embodied_iqa.world.manipulation.shapes import STROKE_M
from embodied_iqa.world.scenes.scene import Scene, draw_instruction, find_destination, find_object, make_scene
from embodied_iqa.world.scenes.snapshot import (
    BEADS,
    FREE,
    WorldSnapshot,
    bead_positions_m,
    inner_position,
    object_address,
    object_axis,
)
from embodied_iqa.world.simulation.expert import expert_chunk
from embodied_iqa.world.simulation.rollout import rollout
from embodied_iqa.world.simulation.success import task_missing, task_success
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.instruction import Instruction
from embodied_iqa.world.tasks.vocabulary import Verb

SEED = 40
CARRIED = (Verb.COVER, Verb.INSERT, Verb.MOVE, Verb.PLACE)


@cache
def done(verb: Verb) -> tuple[Scene, Instruction, WorldSnapshot, WorldSnapshot]:
    instruction = draw_instruction(verb, SEED)
    scene = make_scene(SEED, instruction)
    world = World(scene)
    start = world.snapshot()
    result = rollout(world, expert_chunk(scene, start, instruction, world.T_base_tool).increments)
    return scene, instruction, start, result.end


def judged(verb: Verb, qpos: np.ndarray) -> bool:
    scene, instruction, start, _ = done(verb)
    return task_success(scene, instruction, start, WorldSnapshot(1, qpos))


def address(verb: Verb) -> int:
    scene, instruction, _, _ = done(verb)
    return object_address(scene, find_object(scene, instruction))


@pytest.mark.parametrize("verb", list(Verb))
def test_the_expert_leaves_a_state_that_counts_and_began_from_one_that_does_not(verb: Verb):
    scene, instruction, start, end = done(verb)
    assert task_success(scene, instruction, start, end)
    assert not task_success(scene, instruction, start, start)


@pytest.mark.parametrize("verb", CARRIED)
@pytest.mark.parametrize("shift", [(0.08, 0, 0), (0, -0.08, 0), (0, 0, 0.06)])
def test_beside_or_above_the_destination_does_not_count(verb: Verb, shift: tuple[float, float, float]):
    qpos = done(verb)[3].qpos.copy()
    qpos[address(verb) : address(verb) + 3] += shift
    assert not judged(verb, qpos)


MISSING = {
    Verb.COVER: "off the centre of the pot, at most 2 cm",
    Verb.INSERT: "off the centre of the hole",
    Verb.MOVE: "off the centre of the mat, at most",
    Verb.PICK: "raised 0.0 of 5 cm",
    Verb.PLACE: "off the centre of the bowl, at most",
    Verb.POUR: "0 of 60 % of the beads in the bowl",
    Verb.PRESS: "button never pressed down by 0.5 cm",
    Verb.PULL: "drawer pulled out 0.0 of 5 cm",
    Verb.PUSH: "pushed 0.0 of 5 cm",
    Verb.TWIST: "knob turned 0 of 60 degrees",
}


@pytest.mark.parametrize("verb", list(Verb))
def test_what_is_missing_is_said_in_physical_terms(verb: Verb):
    scene, instruction, start, end = done(verb)
    assert MISSING[verb] in task_missing(scene, instruction, start, start)
    assert not task_missing(scene, instruction, start, end)


@pytest.mark.parametrize("verb", CARRIED)
def test_still_held_does_not_count(verb: Verb):
    scene, instruction, start, _ = done(verb)
    world = World(scene)
    chunk = expert_chunk(scene, start, instruction, world.T_base_tool).increments
    held = rollout(world, chunk[:6]).end
    assert not judged(verb, held.qpos)
    opened = held.qpos.copy()
    opened[6:8] = STROKE_M / 2
    assert judged(verb, opened)


@pytest.mark.parametrize("verb", [Verb.COVER, Verb.PLACE, Verb.POUR])
def test_an_overturned_dish_does_not_count(verb: Verb):
    scene, instruction, _, end = done(verb)
    goal = find_destination(scene, instruction)
    assert goal is not None
    qpos = end.qpos.copy()
    at = object_address(scene, goal) + 3
    qpos[at : at + 4] = (np.cos(0.4), np.sin(0.4), 0.0, 0.0)
    assert object_axis(scene, WorldSnapshot(0, qpos), goal)[2] == pytest.approx(np.cos(0.8))
    assert not judged(verb, qpos)


def test_a_pour_counts_from_six_tenths_of_the_beads():
    scene, instruction, _, end = done(Verb.POUR)
    index = find_object(scene, instruction)
    assert bead_positions_m(scene, end, index).shape == (BEADS, 3)
    for spilt, counts in ((4, True), (5, False), (BEADS, False)):
        qpos = end.qpos.copy()
        goal = find_destination(scene, instruction)
        assert goal is not None
        bowl = qpos[object_address(scene, goal) :][:3]
        beads = qpos[address(Verb.POUR) + FREE :][: BEADS * FREE].reshape(BEADS, FREE)
        beads[:, :3] = bowl
        beads[:spilt, 1] += 0.2
        assert judged(Verb.POUR, qpos) is counts


@pytest.mark.parametrize(
    ("verb", "motion", "counts"),
    [
        (Verb.PULL, 0.049, False),
        (Verb.PULL, 0.051, True),
        (Verb.TWIST, np.deg2rad(59), False),
        (Verb.TWIST, np.deg2rad(61), True),
        (Verb.TWIST, -np.deg2rad(61), True),
    ],
)
def test_drawer_and_knob_count_from_their_thresholds(verb: Verb, motion: float, counts: bool):
    scene, instruction, start, _ = done(verb)
    qpos = start.qpos.copy()
    qpos[address(verb)] += motion
    assert judged(verb, qpos) is counts
    assert inner_position(scene, start, find_object(scene, instruction)) == pytest.approx(0.0, abs=1e-3)


def test_kinds_without_joint_or_beads_are_refused():
    scene, instruction, start, _ = done(Verb.PLACE)
    index = find_object(scene, instruction)
    with pytest.raises(UsageError, match="no joint"):
        inner_position(scene, start, index)
    with pytest.raises(UsageError, match="no beads"):
        bead_positions_m(scene, start, index)
