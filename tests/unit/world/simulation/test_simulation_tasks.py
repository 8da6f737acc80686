import numpy as np
import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.world.scenes.scene import Scene, find_object, make_scene
from embodied_iqa.world.scenes.snapshot import WorldSnapshot, object_address
from embodied_iqa.world.simulation.expert import expert_chunk
from embodied_iqa.world.simulation.rollout import rollout
from embodied_iqa.world.simulation.success import task_success
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.instruction import Instruction, Thing
from embodied_iqa.world.tasks.vocabulary import DESTINATIONS_OF_VERB, KINDS_OF_VERB, Colour, Kind, Verb

PAIRS = [(verb, kind) for verb in Verb for kind in KINDS_OF_VERB[verb]]


def task(verb: Verb, colour: Colour, kind: Kind) -> Instruction:
    other = Colour.ORANGE if colour is not Colour.ORANGE else Colour.GREEN
    destination = next((Thing(other, goal) for goal in DESTINATIONS_OF_VERB[verb]), None)
    return Instruction(verb, Thing(colour, kind), destination)


def run_expert(instruction: Instruction, seed: int):
    scene = make_scene(seed, instruction)
    world = World(scene)
    start = world.snapshot()
    chunk = expert_chunk(scene, start, instruction, world.T_base_tool)
    return scene, start, rollout(world, chunk.increments), world


@pytest.mark.parametrize(("verb", "kind"), PAIRS)
@pytest.mark.parametrize("seed", [11, 12])
def test_the_expert_succeeds_in_physics(verb: Verb, kind: Kind, seed: int):
    instruction = task(verb, list(Colour)[seed % 6], kind)
    scene, start, result, world = run_expert(instruction, seed)
    assert result.stopped is None
    assert task_success(scene, instruction, start, result.end)
    assert world.time_ns < 12_000_000_000


@pytest.mark.parametrize(("verb", "kind"), PAIRS)
def test_doing_nothing_or_the_wrong_thing_is_not_a_success(verb: Verb, kind: Kind):
    instruction = task(verb, Colour.RED, kind)
    scene = make_scene(3, instruction)
    world = World(scene)
    start = world.snapshot()
    assert not task_success(scene, instruction, start, start)
    away = np.array([[0.0, 0.0, -0.1, 0.0, 0.0, 0.0, 1.0]])
    assert not task_success(scene, instruction, start, rollout(world, away).end)


def moved(scene: Scene, start: WorldSnapshot, instruction: Instruction, shift: tuple[float, float, float]):
    qpos = start.qpos.copy()
    at = object_address(scene, find_object(scene, instruction))
    qpos[at : at + 3] += shift
    return WorldSnapshot(1, qpos)


@pytest.mark.parametrize(
    ("shift", "done"),
    [
        ((-0.06, 0.0, 0.0), True),
        ((-0.04, 0.0, 0.0), False),
        ((0.06, 0.0, 0.0), False),
        ((0.0, 0.06, 0.0), False),
        ((-0.06, 0.0, 0.1), False),
        ((-0.9, 0.0, 0.0), False),
        ((-0.06, 0.0, -0.7), False),
    ],
)
def test_a_push_counts_away_from_the_robot_and_on_the_table(shift: tuple[float, float, float], done: bool):
    instruction = task(Verb.PUSH, Colour.BLUE, Kind.CUBE)
    scene = make_scene(8, instruction)
    start = World(scene).snapshot()
    assert task_success(scene, instruction, start, moved(scene, start, instruction, shift)) is done


def test_an_object_in_the_air_but_not_in_the_hand_is_not_picked():
    instruction = task(Verb.PICK, Colour.BLUE, Kind.BALL)
    scene, start, result, _ = run_expert(instruction, 9)
    assert task_success(scene, instruction, start, result.end)
    thrown = moved(scene, result.end, instruction, (0.1, 0.0, 0.0))
    assert not task_success(scene, instruction, start, thrown)


def test_a_press_is_remembered_after_the_cap_sprang_back():
    instruction = task(Verb.PRESS, Colour.GREEN, Kind.BUTTON)
    scene, start, result, world = run_expert(instruction, 4)
    index = find_object(scene, instruction)
    cap = object_address(scene, index) + 7
    assert abs(result.end.qpos[cap]) < 1e-3
    assert result.end.pressed == {index}
    assert not task_success(scene, instruction, start, WorldSnapshot(1, result.end.qpos))
    world.reset()
    assert world.snapshot().pressed == frozenset()


def test_driving_into_the_table_ends_the_rollout():
    world = World(make_scene(1))
    result = rollout(world, [[0, 0, 0.45, 0, 0, 0, 1.0]])
    assert result.stopped is not None
    assert "table" in result.stopped
    assert result.executed == 0


def test_a_pose_out_of_reach_ends_the_rollout():
    result = rollout(World(make_scene(1)), [[0, -0.9, 0, 0, 0, 0, 0.0]])
    assert result.stopped is not None
    assert "reach" in result.stopped


def test_snapshots_of_another_scene_are_refused():
    instruction = task(Verb.PUSH, Colour.RED, Kind.CUBE)
    scene = make_scene(1, instruction)
    start = World(scene).snapshot()
    with pytest.raises(InputError, match="belong"):
        task_success(scene, instruction, start, WorldSnapshot(0, np.zeros(3)))
