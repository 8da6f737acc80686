"""The members that ship with the package: there, honest, repeatable, and hurt by bad images."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.kinematics import chain_increments
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.models.panel.criterion import plan_error, would_succeed
from embodied_iqa.models.panel.evaluation.clean_scenes import HOME_POSE
from embodied_iqa.models.panel.panel_members import VLA_NAMES, VLM_NAMES, members_in
from embodied_iqa.models.panel.samples.draw_samples import sample_scene
from embodied_iqa.models.subjects.backends.panel.shipped_members import (
    MODELS,
    card_of,
)
from embodied_iqa.models.subjects.backends.panel.vla import LearnedVla
from embodied_iqa.models.subjects.backends.panel.vlm import LearnedVlm
from embodied_iqa.models.subjects.catalogue import entries
from embodied_iqa.models.subjects.constants_files import constants_of
from embodied_iqa.models.subjects.readiness import check_readiness
from embodied_iqa.models.subjects.reference import parse_reference, parse_vla, parse_vlm
from embodied_iqa.models.subjects.registry import info_of, make_vla, make_vlm
from embodied_iqa.models.subjects.subject_options import Acts, PolicyOptions, VlaOptions
from embodied_iqa.world.manipulation.waypoints import waypoints_to_array
from embodied_iqa.world.protocols import ChunkStatus, VlaObservation
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.simulation.expert import expert_waypoints
from embodied_iqa.world.simulation.scene_batches import SceneBatchRenderer
from embodied_iqa.world.simulation.world import World

LARGEST_PANEL_BYTES = 25_000_000
SHIPPED = members_in()
VLAS, VLMS = (tuple(name for name in SHIPPED if name in role) for role in (VLA_NAMES, VLM_NAMES))
SCENES = 15
ASKED = 12
"""Scenes of the questions: each is answered three times."""
SEED = 77_003
Foggy = Callable[[int, View], NDArray[np.uint8]]
Stages = list[tuple[str, dict[View, Frame], np.ndarray, object, object]]


@pytest.fixture(scope="module")
def stages() -> Stages:
    """Unseen scenes: the task in words, the frames, the expert's waypoints, verb and kind."""
    rows: Stages = []
    with SceneBatchRenderer(640, 480) as renderer:
        for index in range(SCENES):
            scene, task = sample_scene(SEED, index)
            snapshot = World(scene).snapshot()
            expert = waypoints_to_array(expert_waypoints(scene, snapshot, task, HOME_POSE))
            rows.append(
                (str(task), renderer.frames(scene, CELL_VIEWS, snapshot), expert, task.verb, task.kind)
            )
    return rows


@pytest.fixture(scope="module")
def foggy(stages: Stages) -> Foggy:
    """Returns the strongly blurred image of a scene's view; members share them."""

    @cache
    def blurred(index: int, view: View) -> NDArray[np.uint8]:
        return np.asarray(cv2.GaussianBlur(stages[index][1][view].rgb, (0, 0), 25.0))

    return blurred


def _observation(stage: tuple[object, ...], step: int = 0) -> VlaObservation:
    return VlaObservation(stage[1], stage[0], HOME_POSE, 0.0, step)  # type: ignore[arg-type]


def test_the_panel_is_small_and_the_catalogue_lists_what_is_there() -> None:
    listed = {item.name for item in entries() if item.name.startswith("panel-")}
    assert listed == set(SHIPPED)
    assert sum(path.stat().st_size for path in MODELS.iterdir()) < LARGEST_PANEL_BYTES


@pytest.mark.parametrize("name", SHIPPED)
def test_every_member_has_a_card_and_constants(name: str) -> None:
    card = card_of(name)
    assert card.name == name
    assert {"scenes", "train_seed", "seed", "augmentation", "epochs"} <= set(card.training)
    assert card.results
    assert card.known_failures
    member = make_vla(parse_vla(name)) if name in VLA_NAMES else make_vlm(parse_vlm(name))
    assert member.info.version == card.version
    assert member.info.views == card.views
    assert constants_of(name).version == card.version


@pytest.mark.parametrize("name", VLAS)
def test_a_vla_acts_once_then_is_done(name: str, stages: Stages) -> None:
    vla = make_vla(parse_vla(name))
    acting = next(
        _observation(stage) for stage in stages if vla.act(_observation(stage)).status is ChunkStatus.ACT
    )
    first, again = vla.act(acting), make_vla(parse_vla(name)).act(acting)
    np.testing.assert_array_equal(first.increments, again.increments)
    poses = chain_increments(HOME_POSE, first.increments)
    assert (np.abs(poses[:, :3, 3]) < 1.0).all()
    assert ((first.increments[:, 6] >= 0) & (first.increments[:, 6] <= 1)).all()
    assert vla.act(replace(acting, step=1)).status is ChunkStatus.DONE


def test_a_vla_acts_on_what_it_does_not_see_where_it_is_to(stages: Stages) -> None:
    """It is another version then: its answers differ."""
    options = VlaOptions(policy=PolicyOptions(acts=Acts.ALWAYS))
    careful, bold = (make_vla(parse_vla(VLAS[0]), one) for one in (VlaOptions(), options))
    frame = stages[0][1][careful.info.views[0]]
    grey = replace(frame, rgb=np.full_like(frame.rgb, 128))
    unseen = VlaObservation({frame.view: grey}, stages[0][0], HOME_POSE, 0.0, 0)
    assert careful.act(unseen).status is ChunkStatus.NO_TARGET
    chunk = bold.act(unseen)
    assert chunk.status is ChunkStatus.ACT
    assert len(chunk.increments) > 0
    assert chunk.seen == careful.act(unseen).seen
    seen = _observation(stages[0])
    assert np.array_equal(bold.act(seen).increments, careful.act(seen).increments)
    assert bold.act(replace(seen, step=1)).status is ChunkStatus.DONE
    assert bold.info.version == info_of(parse_vla(VLAS[0]), options).version != careful.info.version
    both = parse_vla(f"{VLAS[0]} or {VLAS[1]}")
    assert options.policy_name(both) == f"{VLAS[0]} (acts always) or {VLAS[1]} (acts always)"
    assert VlaOptions().policy_name(both) == both.text
    with pytest.raises(UsageError, match=r"policy\.acts"):
        make_vla(parse_vla("classical-vla"), options)


def test_a_vla_names_the_view_that_it_misses(stages: Stages) -> None:
    observation = VlaObservation({}, stages[0][0], HOME_POSE, 0.0, 0)
    with pytest.raises(UsageError, match="a view is missing"):
        LearnedVla(MODELS, VLAS[0]).act(observation)


@pytest.mark.parametrize("name", VLAS)
def test_strong_blur_costs_success(name: str, stages: Stages, foggy: Foggy) -> None:
    vla = LearnedVla(MODELS, name)
    clean = blurred = 0
    for index, (task, frames, expert, verb, kind) in enumerate(stages):
        images = [frames[view].rgb for view in vla.info.views]
        unsharp = [foggy(index, view) for view in vla.info.views]
        for shots, sharp in ((images, True), (unsharp, False)):
            plan = vla.plan(shots, task)
            error = plan_error(plan.waypoints, expert) if plan.acts else None
            done = would_succeed(verb, kind, error)  # type: ignore[arg-type]
            clean += done and sharp
            blurred += done and not sharp
    assert clean >= SCENES // 3
    assert blurred <= clean // 3


@pytest.mark.parametrize("name", VLMS)
def test_answers_change_with_the_image_and_are_repeatable(name: str, stages: Stages) -> None:
    vlm = LearnedVlm(MODELS, name)
    view = vlm.info.views[0]
    changed = 0
    for index, (task, frames, *_) in enumerate(stages[:ASKED]):
        answer = vlm.answer(frames[view], task)
        assert 5 <= len(answer.split()) <= 20
        assert vlm.answer(frames[view], task) == answer
        changed += vlm.answer(stages[index - 1][1][view], task) != answer
    assert changed >= ASKED // 2


@pytest.mark.parametrize("name", VLMS)
def test_questions_at_once_are_answered_as_one_by_one(name: str, stages: Stages) -> None:
    vlm = LearnedVlm(MODELS, name)
    view = vlm.info.views[0]
    tasks = [stage[0] for stage in stages[:3]]
    questions = [(stage[1][view], task) for stage in stages[:3] for task in tasks]
    assert vlm.answer_batch(questions) == [vlm.answer(*question) for question in questions]


@pytest.mark.parametrize("name", VLAS)
def test_observations_at_once_are_acted_on_as_one_by_one(name: str, stages: Stages) -> None:
    vla = LearnedVla(MODELS, name)
    observations = [
        VlaObservation(stage[1], task, HOME_POSE, 0.0, 0)
        for stage in stages[:3]
        for task in [stage[0] for stage in stages[:3]]
    ]
    for chunk, observation in zip(vla.act_batch(observations), observations, strict=True):
        alone = vla.act(observation)
        assert chunk.status is alone.status
        np.testing.assert_allclose(chunk.increments, alone.increments, atol=1e-6)


def test_words_that_nobody_taught_do_no_harm(stages: Stages) -> None:
    frame = stages[0][1][View.TOP]
    assert LearnedVlm(MODELS, VLMS[0]).answer(frame, "Xyzzy!! " * 40)
    assert LearnedVlm(MODELS, VLMS[0]).answer(frame, "")


def test_a_network_that_is_not_the_cards_is_refused(tmp_path: Path) -> None:
    name = VLAS[0]
    for end in (".onnx", ".json"):
        shutil.copy(MODELS / f"{name}{end}", tmp_path / f"{name}{end}")
    with (tmp_path / f"{name}.onnx").open("ab") as file:
        file.write(b"\0")
    with pytest.raises(InputError, match="not the one of its card"):
        LearnedVla(tmp_path, name)
    (tmp_path / f"{name}.onnx").unlink()
    with pytest.raises(InputError, match="cannot read the network"):
        LearnedVla(tmp_path, name)
    (tmp_path / f"{name}.json").write_text(json.dumps({"format": 99}))
    with pytest.raises(InputError, match=r"model card .*missing name"):
        LearnedVla(tmp_path, name)


def test_a_panel_of_ones_own_is_named_by_its_place(stages: Stages, tmp_path: Path) -> None:
    for end in (".onnx", ".json"):
        for name in ("panel-vla-query", "panel-vlm-fine"):
            shutil.copyfile(MODELS / f"{name}{end}", tmp_path / f"{name}{end}")
    acts, answers = f"panel:{tmp_path}/panel-vla-query", f"panel:{tmp_path}/panel-vlm-fine"
    own, shipped = make_vla(parse_vla(acts)), make_vla(parse_vla("panel-vla-query"))
    assert (own.info.name, own.info.version) == (acts, shipped.info.version)
    observation = _observation(stages[0])
    np.testing.assert_array_equal(own.act(observation).increments, shipped.act(observation).increments)
    said = make_vlm(parse_vlm(answers)).answer(stages[0][1][View.TOP], stages[0][0])
    assert said == make_vlm(parse_vlm("panel-vlm-fine")).answer(stages[0][1][View.TOP], stages[0][0])
    assert [info_of(parse_reference(text)).views for text in (acts, answers)] == [(View.TOP,)] * 2
    assert check_readiness(acts).is_ready
    with pytest.raises(UsageError, match="panel-vla-query is a VLA, not a VLM"):
        make_vlm(parse_vlm(acts))
    with pytest.raises(UsageError, match="no panel member at this path; expected panel:FOLDER/MEMBER"):
        make_vla(parse_vla(f"panel:{tmp_path}/panel-vla-object"))
    with pytest.raises(UsageError, match="subject describes itself"):
        make_vla(parse_vla(f"pi0-droid={acts}"))
    (tmp_path / "panel-vla-query.json").write_text("{}")
    with pytest.raises(UsageError, match=r"model card .*missing name"):
        make_vla(parse_vla(acts))


def test_an_empty_folder_has_no_members(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no members"):
        members_in(tmp_path)
