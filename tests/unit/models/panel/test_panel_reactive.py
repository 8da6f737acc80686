"""Policies that look while they act: their steps, the expert that they learn from, and a tiny one of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from embodied_iqa.base.errors import InternalError
from embodied_iqa.base.kinematics import chain_increments
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.models.panel.evaluation import closed_loop
from embodied_iqa.models.panel.panel_members import REACTIVE, RECIPES, PanelPlan, recipe_of
from embodied_iqa.models.panel.samples.draw_samples import sample_scene
from embodied_iqa.models.panel.samples.path_expert import rest_of_path
from embodied_iqa.models.panel.samples.state_samples import load_states, states_of
from embodied_iqa.models.panel.training import reactive_training
from embodied_iqa.models.panel.training import train_panel as module
from embodied_iqa.models.panel.training.member_training import export_member
from embodied_iqa.models.panel.training.policies import plan_in_metres
from embodied_iqa.models.panel.training.reactive_training import started
from embodied_iqa.models.panel.training.start_weights import load_start
from embodied_iqa.models.panel.training.train_panel import train_panel
from embodied_iqa.models.subjects.backends.panel.format import MAX_TASK_WORDS, Vocabulary, task_words
from embodied_iqa.models.subjects.backends.panel.network import PanelNetwork
from embodied_iqa.models.subjects.backends.panel.reactive import ReactiveVla
from embodied_iqa.models.subjects.backends.panel.shipped_members import MODELS
from embodied_iqa.models.subjects.backends.panel.stepping import (
    EXECUTE_STEPS,
    STEP_RATE_HZ,
    STEPS,
    next_steps,
    tool_fields,
)
from embodied_iqa.models.subjects.model_card import ModelCard
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.models.subjects.registry import make_vla
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.trial.deciding import DecisionRequest, decide
from embodied_iqa.world.manipulation.waypoints import Waypoint, waypoint_pose, waypoints_to_array
from embodied_iqa.world.protocols import ChunkStatus, VlaObservation
from embodied_iqa.world.simulation.rollout import follow
from embodied_iqa.world.simulation.success import task_missing
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.vocabulary import Verb

NAME = "panel-vla-reactive-top"
START = waypoint_pose(Waypoint(-0.4, 0.1, 0.3))


def waypoint(rng: np.random.Generator) -> Waypoint:
    x, y, z = rng.uniform([-0.7, -0.3, 0.0], [-0.3, 0.3, 0.3])
    return Waypoint(x, y, z, rng.uniform(-1.5, 1.5), rng.uniform(0.0, 1.8), rng.uniform())


def test_the_fields_of_a_waypoints_pose_are_the_waypoint() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        one = waypoint(rng)
        assert np.allclose(tool_fields(waypoint_pose(one), one.gripper), waypoints_to_array([one])[0])


def test_steps_lead_to_the_waypoints_no_faster_than_allowed() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        plan = waypoints_to_array([waypoint(rng) for _ in range(3)])
        tool, gripper, fields = START, 0.0, []
        for _ in range(12):
            fields.append(tool_fields(tool, gripper))
            steps = next_steps(plan, 2, tool, gripper)
            assert steps.shape == (STEPS, 7)
            poses = chain_increments(tool, steps)
            tool, gripper = poses[EXECUTE_STEPS - 1], steps[EXECUTE_STEPS - 1, 6]
            moved_m = np.linalg.norm(np.diff([*poses[:, :3, 3]], axis=0), axis=1)
            assert moved_m.max() <= 0.22 / STEP_RATE_HZ + 1e-9
        assert np.allclose(tool_fields(tool, gripper), plan[2], atol=1e-6)


def test_the_tool_stands_while_only_the_fingers_move() -> None:
    """Also where a learned plan has the place a little beside: lifting earlier would leave the object."""
    up, closed = Waypoint(-0.4, 0.1, 0.4, gripper=1.0), Waypoint(-0.4, 0.1, 0.3, gripper=1.0)
    plan = waypoints_to_array([Waypoint(-0.403, 0.1, 0.302), closed, up])
    steps = next_steps(plan, 1, START, 0.2)[:EXECUTE_STEPS]
    assert np.abs(steps[:, :6]).max() < 1e-9
    assert (steps[:, 6] == 1.0).all()


@pytest.mark.parametrize("verb", [Verb.COVER, Verb.PRESS, Verb.PUSH])
def test_the_expert_reaches_the_goal_from_what_it_finds_every_time(verb: Verb) -> None:
    scene, task = sample_scene(5, list(Verb).index(verb))
    assert task.verb is verb
    world = World(scene)
    start = world.snapshot()
    for _ in range(40):
        rest = rest_of_path(scene, task, start, world.snapshot(), world.T_base_tool)
        if rest.following == len(rest.plan):
            break
        steps = next_steps(rest.plan, rest.following, world.T_base_tool, world.gripper)
        assert follow(world, steps[:EXECUTE_STEPS], 1.0 / STEP_RATE_HZ) is None
    assert rest.following == len(rest.plan)
    assert task_missing(scene, task, start, world.snapshot()) == ""


def test_a_tool_beside_its_way_down_goes_up_again() -> None:
    scene, task = sample_scene(5, list(Verb).index(Verb.PICK))
    world = World(scene)
    start = world.snapshot()
    plan = rest_of_path(scene, task, start, start, world.T_base_tool).plan
    low = Waypoint(*(plan[1, :3] + (0.02, 0.0, 0.01)), yaw_rad=plan[1, 3])
    state = world.snapshot()
    state.qpos[6:8] = (1.0 - plan[1, 5]) * 0.07
    assert rest_of_path(scene, task, start, state, waypoint_pose(low)).following == 0


@pytest.mark.parametrize("verb", [Verb.COVER, Verb.INSERT, Verb.MOVE, Verb.PLACE])
def test_the_tools_turn_tells_setting_down_from_fetching(verb: Verb) -> None:
    """By height and place alone, lowering looks like lifting where the tool hides the destination."""
    scene, task = sample_scene(5, list(Verb).index(verb))
    world = World(scene)
    plan = rest_of_path(scene, task, world.snapshot(), world.snapshot(), world.T_base_tool).plan
    assert np.abs(plan[:4, 3]).max() <= np.pi / 4
    assert plan[4:, 3].min() > np.pi / 4 + 0.5


def test_what_is_lowered_a_little_beside_the_destination_is_not_lifted_again() -> None:
    scene, task = sample_scene(5, list(Verb).index(Verb.PLACE))
    world = World(scene)
    start, came = world.snapshot(), []
    while len(came) < 30 and 6 not in came:
        rest = rest_of_path(scene, task, start, world.snapshot(), world.T_base_tool)
        came.append(rest.following)
        plan = rest.plan.copy()
        plan[4:, 0] += 0.008
        steps = next_steps(plan, rest.following, world.T_base_tool, world.gripper)
        assert follow(world, steps[:EXECUTE_STEPS], 1.0 / STEP_RATE_HZ) is None
    assert came == sorted(came)
    assert came[-1] == 6


def test_states_beside_the_path_are_drawn_and_end_with_nothing_left_to_do() -> None:
    scene, task = sample_scene(5, list(Verb).index(Verb.PRESS))
    calm = [state.rest.following for state in states_of(scene, task, np.random.default_rng(3))]
    assert calm == [state.rest.following for state in states_of(scene, task, np.random.default_rng(3))]
    assert calm[0] == 0
    assert calm[-1] == 3


@pytest.mark.parametrize("name", REACTIVE)
def test_a_training_starts_from_the_shipped_weights(name: str) -> None:
    recipe = REACTIVE[name]
    shipped = PanelNetwork(MODELS, recipe.start)
    network = started(recipe).eval()
    width, height = recipe.images.size_px
    image = np.random.default_rng(0).integers(0, 256, (height, width, 3)).astype(np.uint8)
    plan, *_ = shipped.run(["pick the red cube"], [image], prepared=True)
    pixels = torch.from_numpy(image)[None].permute(0, 3, 1, 2).float() / 255 - 0.5
    words = Vocabulary(shipped.card.words).encode(task_words("pick the red cube"), MAX_TASK_WORDS)
    with torch.no_grad():
        network.correct[-1].bias[:3] = -100.0  # the tool tells nothing yet
        ours = network.act((pixels,), torch.from_numpy(words)[None, None], torch.zeros(1, 6))
    assert np.abs(plan_in_metres(ours.policy.plan).numpy() - plan).max() < 1e-5


def test_the_weights_of_another_network_are_refused(tmp_path: Path) -> None:
    recipe = REACTIVE[NAME]
    network = started(recipe)
    export_member(network, 1, recipe.images.size_px, tmp_path / "like.onnx", halved=False)
    with pytest.raises(InternalError, match="another network"):
        load_start(network, MODELS / f"{recipe.start}.onnx", tmp_path / "like.onnx")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, ModelCard]]:
    """A member after rounds of one and four steps, and its card; one held-out scene while tests use them."""
    out = tmp_path_factory.mktemp("reactive")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_HELD_OUT_ACTED", 1)
        patch.setattr(reactive_training, "_ACTED_OUT", 1)
        patch.setattr(closed_loop, "_MOST_DECISIONS", 6)  # one that learned nothing takes all
        patch.setitem(REACTIVE, NAME, replace(REACTIVE[NAME], rounds=1))
        (card,) = train_panel(PanelPlan((NAME,), out, workers=1, scenes=1, epochs=1), ProgressBars())
        yield out, card


def observed(fields: NDArray[np.float64], step: int = 0) -> VlaObservation:
    rgb = np.random.default_rng(4).integers(0, 256, (240, 320, 3)).astype(np.uint8)
    tool = waypoint_pose(Waypoint(*fields[:5].tolist()))
    frames = {View.TOP: Frame(View.TOP, 0, rgb, None, None)}
    return VlaObservation(frames, "pick the red cube", tool, float(fields[5]), step)


def test_a_training_gives_a_member_that_acts_again_and_again(trained: tuple[Path, ModelCard]) -> None:
    out, card = trained
    vla = make_vla(parse_vla(f"panel:{out}/models/{NAME}"))
    assert isinstance(vla, ReactiveVla)
    assert vla.info.rate_hz == STEP_RATE_HZ
    assert 0.0 <= float(card.results["right_waypoint"]) <= 1.0
    assert card.results["tasks"] == 1
    assert card.training["start"] == REACTIVE[NAME].start
    assert str(card.training["command"]).split()[3:5] == ["--members", NAME]
    labels = load_states(sorted((out / "states" / NAME).glob("round-*/*.npz")))
    tools = labels.tool.astype(np.float64)
    observations = [observed(tool, step) for step, tool in enumerate(tools)]
    for step, observation in enumerate(observations):
        chunk = vla.act(observation)
        assert chunk.status is not ChunkStatus.NO_TARGET  # noise, and it acts nevertheless
        assert chunk.increments.shape == ((STEPS, 7) if chunk.status is ChunkStatus.ACT else (0, 7))
        again = vla.act(observed(tools[step], step + 7))
        assert (again.increments == chunk.increments).all()  # nothing is remembered, not even the step


def test_a_decision_that_is_made_again_from_its_record_is_the_same(trained: tuple[Path, ModelCard]) -> None:
    """Where it was and what the fingers held stand in the record: the decision depends on both."""
    vla = make_vla(parse_vla(f"panel:{trained[0]}/models/{NAME}"))
    frames = observed(np.zeros(6)).frames
    chunks = []
    for x_m, gripper in ((-0.5, 0.0), (-0.4, 0.0), (-0.4, 0.7)):
        tool = waypoint_pose(Waypoint(x_m, 0.1, 0.2))
        request = DecisionRequest(0, Source.RAW, 1, 3, "pick the red cube", tool, gripper)
        live = decide(vla, request, frames)
        stored = live.stamp_ns, live.source, live.sequence, live.step, request.task, live.T_base_tool
        again = decide(vla, DecisionRequest(*stored, live.gripper, live.q_rad), frames)
        assert (again.status, again.increments.tolist()) == (live.status, live.increments.tolist())
        chunks.append(live.increments.tolist())
    assert chunks[0] != chunks[1]


def test_it_decides_while_the_arm_moves_unless_its_user_says_otherwise(
    trained: tuple[Path, ModelCard],
) -> None:
    subject = {"vla_node.subject": f"panel:{trained[0]}/models/{NAME}"}
    vla = resolve(overrides=subject).vla_node
    assert vla.horizon.is_receding
    assert vla.horizon.step_rate_hz == STEP_RATE_HZ
    assert vla.horizon.execute_steps / STEP_RATE_HZ == pytest.approx(0.4)
    assert vla.max_chunks == 0
    assert resolve(overrides=subject).arm_node.controller.horizon == vla.horizon
    assert not resolve(overrides=subject | {"vla_node.horizon.mode": "whole"}).vla_node.horizon.is_receding
    assert not resolve().vla_node.horizon.is_receding


def test_a_finished_training_is_not_repeated(
    trained: tuple[Path, ModelCard], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, card = trained
    monkeypatch.setattr(reactive_training, "act_out", None)  # nor are its scenes acted out again
    (again,) = train_panel(PanelPlan((NAME,), out, workers=1, scenes=1, epochs=1), ProgressBars())
    assert again == card


def test_the_last_round_takes_as_long_as_several_others() -> None:
    recipe = replace(REACTIVE[NAME], scenes=14, epochs=2, rounds=2)
    rounds = [recipe.round_of(epoch) for epoch in range(recipe.all_epochs)]
    assert [turn for turn, _, _ in rounds] == [0, 0, 1, 1, *[2] * 8]
    assert [before for _, before, _ in rounds] == [0, 1, 0, 1, *range(8)]
    assert [epochs for _, _, epochs in rounds] == [2, 2, 2, 2, *[8] * 8]
    assert [recipe.scenes_of(turn) for turn in range(3)] == [range(14), range(14, 16), range(16, 18)]


def test_they_are_trained_only_where_they_are_named() -> None:
    assert not RECIPES.keys() & REACTIVE.keys()
    assert all(recipe_of(name) is recipe for name, recipe in REACTIVE.items())
    assert all(RECIPES[recipe.start].views == recipe.views for recipe in REACTIVE.values())
    assert len({recipe.seed for recipe in (*RECIPES.values(), *REACTIVE.values())}) == len(RECIPES | REACTIVE)
