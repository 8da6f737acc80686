"""Seeded faults in physics: the rules find each as the kind of error that it is."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from embodied_iqa.suites.cell_manipulation.environment import Environment, EnvironmentOptions
from embodied_iqa.suites.cell_manipulation.episodes import CellTask, Episode, Subset
from embodied_iqa.suites.cell_manipulation.making import make_episodes
from embodied_iqa.suites.cell_manipulation.planning.arms import Arm, ArmCamera
from embodied_iqa.suites.cell_manipulation.planning.failures import failure_of
from embodied_iqa.suites.cell_manipulation.planning.faulty import Fault, FaultyPlanner, fault_of
from embodied_iqa.suites.cell_manipulation.planning.labels import EXPECTED
from embodied_iqa.suites.cell_manipulation.planning.loop import EpisodeLoop
from embodied_iqa.suites.cell_manipulation.planning.planner_options import LoopOptions, PromptOptions
from embodied_iqa.suites.cell_manipulation.planning.transcript import Transcript

OPTIONS = LoopOptions(PromptOptions(shots=0, language_only=True))
HARMLESS = {Fault.NONE, Fault.FENCE, Fault.PROSE}


@cache
def episode_of(task: CellTask) -> Episode:
    return next(one for one in make_episodes((Subset.BASE,), 1) if one.task is task)


class OneFault(FaultyPlanner):
    """Has the same fault in every episode."""

    def __init__(self, fault: Fault) -> None:
        super().__init__("planner-faulty")
        self.fault = fault

    def _fault(self) -> Fault:
        return self.fault


@pytest.fixture(scope="module")
def environment() -> Iterator[Environment]:
    with Environment(EnvironmentOptions(())) as made:
        yield made


def run(environment: Environment, fault: Fault, task: CellTask = CellTask.PLACE) -> Transcript:
    camera = ArmCamera(Arm(), OPTIONS.prompt, None)
    loop = EpisodeLoop(OneFault(fault), environment, camera, OPTIONS)
    return loop.run(episode_of(task), (), "clean")


@pytest.mark.parametrize("fault", sorted(HARMLESS))
def test_a_fence_or_prose_around_the_plan_does_no_harm(environment: Environment, fault: Fault) -> None:
    done = run(environment, fault)
    assert done.success
    assert done.format_errors == 0


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault not in HARMLESS])
def test_a_seeded_fault_is_found_as_what_it_is(environment: Environment, fault: Fault) -> None:
    done = run(environment, fault)
    failure = failure_of(done)
    assert failure is not None
    assert failure.kind is EXPECTED[fault], failure.reason
    assert fault_of(done.turns[0].answer) is fault


def test_a_sponge_that_sweeps_elsewhere_is_at_the_wrong_place(environment: Environment) -> None:
    failure = failure_of(run(environment, Fault.OTHER_PLACE, CellTask.WIPE))
    assert failure is not None
    assert failure.kind is EXPECTED[Fault.OTHER_PLACE], failure.reason
    assert "sweeps" in failure.reason
