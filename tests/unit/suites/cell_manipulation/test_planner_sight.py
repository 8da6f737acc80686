"""What is found in the front image: objects by name, soiled areas, the list of the detector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.distortions import FrameDistorter, parse_distortion
from embodied_iqa.imaging.images.frame import Frame
from embodied_iqa.models.subjects.backends.classical.perception import look
from embodied_iqa.models.subjects.reference import parse_planner
from embodied_iqa.models.subjects.registry import make_planner
from embodied_iqa.models.subjects.subject_options import VlmRequest
from embodied_iqa.suites.cell_manipulation.actions import GridAction
from embodied_iqa.suites.cell_manipulation.environment import Environment, Observation
from embodied_iqa.suites.cell_manipulation.episodes import CellTask, Subset
from embodied_iqa.suites.cell_manipulation.making import make_episodes
from embodied_iqa.suites.cell_manipulation.planning.detecting import detect_classically
from embodied_iqa.suites.cell_manipulation.planning.offline import Inside, InsidePlanner
from embodied_iqa.suites.cell_manipulation.planning.planner_options import Coordinates, PromptOptions
from embodied_iqa.suites.cell_manipulation.planning.prompt import Scenery, messages_for
from embodied_iqa.suites.cell_manipulation.planning.recognising import make_recogniser
from embodied_iqa.suites.cell_manipulation.planning.seeing import see
from embodied_iqa.suites.cell_manipulation.planning.soiled import soiled_areas
from embodied_iqa.world.protocols import Message, Speaker

_NEAR_M = 0.02
_DETECTOR = PromptOptions(shots=0, coordinates=Coordinates.DETECTOR)
_CLEAN = FrameDistorter(None)
T_FAR = np.eye(4)
T_FAR[1, 3] = -2.0
Table = tuple[Environment, Observation]


@pytest.fixture(scope="module")
def wiping() -> Iterator[Inside]:
    (episode, *_) = (
        one for one in make_episodes((Subset.BASE,), 1) if one.task is CellTask.WIPE and one.index >= 39
    )
    with Environment() as environment:
        observation = environment.reset(episode)
        yield Inside(environment, episode, observation, observation.front, 0)


@pytest.fixture(scope="module")
def placing() -> Observation:
    with Environment() as environment:
        return environment.reset(next(make_episodes((Subset.BASE,), 1)))


def image(observation: Observation) -> Frame:
    assert observation.front is not None
    return observation.front


def test_objects_and_areas_are_seen_where_they_are(wiping: Inside) -> None:
    for item in wiping.observation.objects:
        if item.index in {0, 1} or item.index is None:
            place = detect_classically(image(wiping.observation)).place_of(item.name)
            assert place is not None, item.name
            assert np.hypot(*np.subtract(place, item.position_m[:2])) < _NEAR_M, item.name


def test_a_clean_table_has_no_soiled_area(placing: Observation) -> None:
    frame = image(placing)
    assert soiled_areas(frame, look(frame).blobs) == []
    assert detect_classically(frame).place_of("horizontal area") is None


def near(found: Sequence[int], wanted: Sequence[int]) -> bool:
    return max(abs(one - other) for one, other in zip(found[:2], wanted[:2], strict=True)) <= 2


def test_the_detectors_list_has_every_object_and_suffers_from_the_image(wiping: Inside) -> None:
    truth = [item.bins for item in wiping.observation.objects]
    found = see(wiping.observation, _DETECTOR, _CLEAN).objects or ()
    assert all(any(near(one, wanted) for one in found) for wanted in truth)
    dark = FrameDistorter(parse_distortion("7:5"))
    seen = see(wiping.observation, _DETECTOR, dark).objects or ()
    assert not all(any(near(one, wanted) for one in seen) for wanted in truth)
    assert see(wiping.observation, PromptOptions(), dark).objects == tuple(truth)


def test_who_recognises_nothing_plans_nothing_and_else_plans_at_the_listed_places(wiping: Inside) -> None:
    planner = make_recogniser(VlmRequest(parse_planner("planner-classical")))
    expert = wiping.environment.expert_plan()
    sighting = see(wiping.observation, _DETECTOR, _CLEAN)
    scenery = Scenery(wiping.episode.instruction, sighting.objects, (), (), ())
    messages = messages_for(scenery, (), _DETECTOR)
    planner.enter(wiping)
    plan = planner.actions(messages)
    assert [action.numbers[2:] for action in plan] == [action.numbers[2:] for action in expert]
    assert all(near(one.numbers[:3], other.numbers[:3]) for one, other in zip(plan, expert, strict=True))
    frame = image(wiping.observation)
    grey = replace(frame, rgb=np.full_like(frame.rgb, 128))
    planner.enter(replace(wiping, front=grey))
    assert planner.actions(messages) == []
    planner.enter(replace(wiping, front=None))
    with pytest.raises(UsageError, match="needs images"):
        planner.actions(messages)


@pytest.mark.parametrize("name", ["planner-oracle", "planner-faulty"])
def test_a_plan_that_leads_outside_of_the_grid_is_empty_and_no_error(
    name: str, placing: Observation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fallen(_: Environment) -> None:
        GridAction.from_pose(T_FAR)

    monkeypatch.setattr(Environment, "expert_plan", fallen)
    planner = make_planner(parse_planner(name))
    assert isinstance(planner, InsidePlanner)
    episode = next(make_episodes((Subset.BASE,), 1))
    with Environment() as environment:
        planner.enter(Inside(environment, episode, placing, None, 0))
        assert '"executable_plan": []' in planner.plan((Message(Speaker.USER, ()),))
