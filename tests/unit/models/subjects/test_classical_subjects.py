import re

import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics import chain_increments
from embodied_iqa.imaging.images import Frame, View
from embodied_iqa.models.subjects.backends.classical.vla import ClassicalVla
from embodied_iqa.models.subjects.backends.classical.vlm import ClassicalVlm
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, VlaObservation
from embodied_iqa.world.scenes.scene import Scene, draw_instruction, make_scene, tasks_of
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.rollout import observe, run_episode
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.instruction import Instruction, Thing
from embodied_iqa.world.tasks.vocabulary import KINDS_OF_VERB, Colour, Kind, Mark, Size, Verb

VERBS = (Verb.PICK, Verb.PUSH, Verb.PRESS)
PAIRS = [(verb, kind) for verb in VERBS for kind in KINDS_OF_VERB[verb]]
RED_CUBE = Instruction(Verb.PICK, Thing(Colour.RED, Kind.CUBE))


def first_look(task: Instruction, seed: int) -> VlaObservation:
    scene = make_scene(seed, task)
    with SceneRenderer(scene, 640, 480) as renderer:
        return observe(ClassicalVla(), World(scene), renderer, str(task), 0)


def with_pixels(observation: VlaObservation, rgb: NDArray[np.uint8]) -> VlaObservation:
    old = observation.frames[View.TOP]
    frame = Frame(old.view, old.stamp_ns, np.ascontiguousarray(rgb), old.intrinsics, old.T_base_camera)
    return VlaObservation(
        {View.TOP: frame},
        observation.instruction,
        observation.T_base_tool,
        observation.gripper,
        observation.step,
    )


@pytest.mark.parametrize(("verb", "kind"), PAIRS)
def test_the_vla_does_its_task_in_physics_and_says_so(verb: Verb, kind: Kind):
    task = Instruction(verb, Thing(Colour.GREEN, kind))
    scene = make_scene(21, task)
    with SceneRenderer(scene, 640, 480) as renderer:
        result = run_episode(ClassicalVla(), World(scene), renderer, task)
    assert result.success
    assert result.status is ChunkStatus.DONE
    assert result.chunks == 1


@pytest.mark.parametrize("verb", [verb for verb in Verb if verb not in VERBS])
def test_the_pair_says_that_it_does_not_know_the_other_verbs(verb: Verb):
    task = draw_instruction(verb, 3)
    observation = first_look(task, 3)
    chunk = ClassicalVla().act(observation)
    assert chunk.status is ChunkStatus.NO_TARGET
    assert chunk.increments.shape == (0, 7)
    assert chunk.reason == f"does not know how to {verb}"
    answer = ClassicalVlm().answer(observation.frames[View.TOP], str(task))
    assert answer.startswith(f"I do not know how to {verb}; I see a")


def test_the_same_observation_gives_the_same_chunk():
    observation = first_look(RED_CUBE, 5)
    vla = ClassicalVla()
    one, other = vla.act(observation), vla.act(observation)
    assert one.status is ChunkStatus.ACT
    assert np.array_equal(one.increments, other.increments)
    assert one.increments.shape == (4, 7)


def test_the_chunk_ends_above_the_object_and_aims_at_its_pixels():
    task = Instruction(Verb.PICK, Thing(Colour.BLUE, Kind.BALL))
    observation = first_look(task, 6)
    chunk = ClassicalVla().act(observation)
    target = next(item for item in make_scene(6, task).objects if item.colour is Colour.BLUE)
    reached = chain_increments(observation.T_base_tool, chunk.increments)
    assert np.allclose(reached[:, :2, 3], (target.x_m, target.y_m), atol=0.003)
    assert np.allclose(reached[:, :3, 2], (0, 0, -1), atol=1e-6)
    assert chunk.target_px is not None
    u, v = np.round(chunk.target_px).astype(int)
    red, green, blue = observation.frames[View.TOP].rgb[v, u].astype(int)
    assert blue > 2 * max(red, green)


def test_without_the_target_there_is_no_action():
    observation = first_look(RED_CUBE, 7)
    rgb = observation.frames[View.TOP].rgb.copy()
    reddish = (rgb[..., 0] > 60) & (rgb[..., 1] < 60) & (rgb[..., 2] < 60)
    rgb[reddish] = (150, 140, 130)
    chunk = ClassicalVla().act(with_pixels(observation, rgb))
    assert chunk.status is ChunkStatus.NO_TARGET
    assert chunk.increments.shape == (0, 7)
    assert chunk.target_px is None
    assert chunk.reason.startswith("sees no red cube")


def test_another_kind_of_the_same_colour_is_not_taken_for_the_target():
    observation = first_look(Instruction(Verb.PUSH, Thing(Colour.RED, Kind.BOWL)), 7)
    wrong = VlaObservation(observation.frames, str(RED_CUBE), observation.T_base_tool, 0.0, 0)
    chunk = ClassicalVla().act(wrong)
    assert chunk.status is ChunkStatus.NO_TARGET
    assert "looks like a bowl" in chunk.reason


def test_a_moved_image_misleads():
    observation = first_look(RED_CUBE, 5)
    moved = np.roll(observation.frames[View.TOP].rgb, 25, axis=1)
    clean, misled = ClassicalVla().act(observation), ClassicalVla().act(with_pixels(observation, moved))
    assert misled.status is ChunkStatus.ACT
    assert np.abs(clean.increments[0, :3] - misled.increments[0, :3]).max() > 0.02


@pytest.mark.parametrize("verb", VERBS)
def test_after_a_chunk_that_did_nothing_it_tries_again(verb: Verb):
    task = Instruction(verb, Thing(Colour.YELLOW, KINDS_OF_VERB[verb][0]))
    observation = first_look(task, 9)
    again = VlaObservation(
        observation.frames, observation.instruction, observation.T_base_tool, observation.gripper, 1
    )
    assert ClassicalVla().act(again).status is ChunkStatus.ACT


def test_a_failed_grip_is_tried_again_and_then_succeeds():
    task = Instruction(Verb.PICK, Thing(Colour.PURPLE, Kind.CYLINDER))
    scene = make_scene(14, task)

    class MissesFirst(ClassicalVla):
        def act(self, observation: VlaObservation) -> ActionChunk:
            chunk = super().act(observation)
            if observation.step == 0:
                chunk.increments[0, 1] += 0.06
            return chunk

    with SceneRenderer(scene, 640, 480) as renderer:
        result = run_episode(MissesFirst(), World(scene), renderer, task)
    assert result.success
    assert result.chunks == 2
    assert result.status is ChunkStatus.DONE


@pytest.mark.parametrize("size", [Size.SMALL, Size.LARGE])
def test_sizes_are_read(size: Size) -> None:
    task = Instruction(Verb.PICK, Thing(Colour.RED, Kind.CUBE, size=size))
    scene = next(one for one in (make_scene(seed, task) for seed in range(50)) if _alike(one, task))
    with SceneRenderer(scene, 640, 480) as renderer:
        result = run_episode(ClassicalVla(), World(scene), renderer, task)
    assert result.success


def test_look_alikes_that_differ_by_their_mark_are_refused() -> None:
    task = Instruction(Verb.PICK, Thing(Colour.RED, Kind.CUBE, Mark.STRIPED))
    seed = next(seed for seed in range(50) if _alike(make_scene(seed, task), task))
    observation = first_look(task, seed)
    chunk = ClassicalVla().act(observation)
    assert chunk.status is ChunkStatus.NO_TARGET
    assert chunk.reason == "sees 2 things that may be the striped red cube: it cannot read marks"
    answer = ClassicalVlm().answer(observation.frames[View.TOP], str(task))
    assert answer.startswith("I see 2 that may be the striped red cube, ")
    assert answer.endswith("; I cannot read marks.")


def test_the_only_one_of_its_colour_and_kind_is_the_one_with_the_mark() -> None:
    alone = first_look(RED_CUBE, 5)
    asked = VlaObservation(alone.frames, "pick the striped red cube", alone.T_base_tool, 0.0, 0)
    assert ClassicalVla().act(asked).status is ChunkStatus.ACT


def _alike(scene: Scene, task: Instruction) -> bool:
    """Whether one other object has the target's colour and kind, and its size if the task names none."""
    target, *others = scene.objects
    alike = [item for item in others if (item.colour, item.kind) == (target.colour, target.kind)]
    return len(alike) == 1 and (task.object.size is not None or alike[0].size is target.size)


def test_missing_views_are_told():
    with pytest.raises(UsageError, match="top"):
        ClassicalVla().act(VlaObservation({}, str(RED_CUBE), np.eye(4), 0.0, 0))


@pytest.mark.parametrize(
    "said",
    [
        "juggle the red cube",
        "pick the leftmost cube",
        "push the ball that is left of the green bowl",
        "pick the cube that is neither blue nor red",
        "press the red button, then pick the blue cube",
    ],
)
def test_tasks_in_other_words_are_answered_by_saying_so(said: str):
    seen = first_look(RED_CUBE, 5)
    chunk = ClassicalVla().act(VlaObservation(seen.frames, said, seen.T_base_tool, 0.0, 0))
    assert chunk.status is ChunkStatus.NO_TARGET
    assert "does not understand" in chunk.reason
    assert len(chunk.increments) == 0
    assert ClassicalVlm().answer(seen.frames[View.TOP], said).startswith("I see ")


def test_the_vlm_names_the_target_its_place_and_what_to_do():
    scene = make_scene(5, RED_CUBE)
    frame = first_look(RED_CUBE, 5).frames[View.TOP]
    answer = ClassicalVlm().answer(frame, str(RED_CUBE))
    assert answer.startswith("The red cube is ")
    assert answer.endswith("grip and lift it.")
    assert 8 <= len(answer.split()) <= 16
    beside = re.search(r"by the (\w+) (\w+);", answer)
    assert beside is not None
    target = scene.objects[0]
    nearest = min(scene.objects[1:], key=lambda o: np.hypot(o.x_m - target.x_m, o.y_m - target.y_m))
    assert beside.groups() == (nearest.colour, nearest.kind)


def test_the_vlm_says_left_and_right_as_the_image_shows_it():
    frame = first_look(RED_CUBE, 5).frames[View.TOP]
    mirrored = Frame(
        frame.view, 0, np.ascontiguousarray(frame.rgb[:, ::-1]), frame.intrinsics, frame.T_base_camera
    )
    words = {"left": "right", "right": "left"}
    here = ClassicalVlm().answer(frame, str(RED_CUBE)).split(", by ")[0]
    there = ClassicalVlm().answer(mirrored, str(RED_CUBE)).split(", by ")[0]
    assert there.split() == [words.get(word, word) for word in here.split()]


def test_the_vlm_does_not_invent_objects():
    task = Instruction(Verb.PUSH, Thing(Colour.BLUE, Kind.BOWL))
    assert task not in tasks_of(make_scene(5, RED_CUBE))
    frame = first_look(RED_CUBE, 5).frames[View.TOP]
    assert "no blue bowl" in ClassicalVlm().answer(frame, str(task))
    black = Frame(frame.view, 0, np.zeros_like(frame.rgb), frame.intrinsics, frame.T_base_camera)
    assert ClassicalVlm().answer(black, str(task)) == "I see no blue bowl and no other objects."
    assert ClassicalVlm().answer(black, "What is on the table?") == "I see no objects on the table."
    described = ClassicalVlm().answer(frame, "What is on the table?")
    assert described.startswith("I see a")
    assert len(described.split()) <= 14
