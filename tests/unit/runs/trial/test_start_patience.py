"""A start goes on while its nodes make progress, within a total limit, and an error names the slow ones."""

from __future__ import annotations

import pytest

from embodied_iqa.base.errors import UserError
from embodied_iqa.runs.trial.start_patience import StartPatience
from manual_clock import ManualClock

STAGE_S = 60.0


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def patience(clock: ManualClock) -> StartPatience:
    return StartPatience(("gate_node", "vlm_node"), STAGE_S, clock=clock)


def test_each_new_stage_restarts_the_deadline(clock: ManualClock, patience: StartPatience) -> None:
    for stage in ("unconfigured", "inactive", "active"):
        clock.advance(STAGE_S - 1.0)
        patience.check()
        patience.note("vlm_node", stage)
    clock.advance(STAGE_S + 1.0)
    with pytest.raises(UserError, match=r"^not ready after 238 s, the last 61 s without progress: "):
        patience.check()


def test_the_same_stage_again_is_no_progress(clock: ManualClock, patience: StartPatience) -> None:
    patience.note("gate_node", "active")
    patience.note("vlm_node", "unconfigured")
    clock.advance(STAGE_S - 1.0)
    patience.note("vlm_node", "unconfigured")
    clock.advance(2.0)
    with pytest.raises(UserError, match=r": vlm_node is unconfigured$"):
        patience.check()


def test_what_never_answered_is_named_too(clock: ManualClock, patience: StartPatience) -> None:
    clock.advance(STAGE_S + 1.0)
    with pytest.raises(UserError, match=r"gate_node is not started, vlm_node is not started$"):
        patience.check()


def test_what_the_caller_misses_is_named_instead(clock: ManualClock, patience: StartPatience) -> None:
    clock.advance(STAGE_S + 1.0)
    with pytest.raises(UserError, match=r"without progress: camera_node: no image of top$"):
        patience.check("camera_node: no image of top")


def test_views_are_progress_and_the_node_that_is_to_bring_them_is_named(
    clock: ManualClock, patience: StartPatience
) -> None:
    both = {"top", "wrist"}
    assert patience.missing_views(both, {"top"}, set()) == "camera_node: no image of wrist"
    fault = "camera_node: no image of wrist on /lab/wrist for 2 s (nobody publishes it)"
    assert patience.missing_views(both, {"top"}, set(), fault) == fault
    clock.advance(STAGE_S - 1.0)
    problem = patience.missing_views(both, both, {"wrist"})
    assert problem == "distortion_node, gate_node: no judged image of top on /gate/lease"
    assert patience.missing_views(both, both, {"wrist"}, fault) == f"{problem}; {fault}"
    clock.advance(STAGE_S - 1.0)
    patience.check(problem)
    assert patience.missing_views(both, both, both) == ""


def test_a_problem_that_only_counts_is_no_progress(clock: ManualClock, patience: StartPatience) -> None:
    patience.noted("subject", "VLM: no frame since 1 s")
    clock.advance(STAGE_S + 1.0)
    problem = patience.noted("subject", "VLM: no frame since 61 s")
    with pytest.raises(UserError, match=f": {problem}$"):
        patience.check(problem)
    patience.check(patience.noted("subject", "VLA: no frame"))


def test_progress_does_not_outlast_the_total_limit(clock: ManualClock, patience: StartPatience) -> None:
    assert patience.limit_s == 300.0
    for number in range(30):
        clock.advance(10.0)
        patience.note(f"view {number}", "judged")
        patience.check()
    clock.advance(1.0)
    patience.note("view 30", "judged")
    with pytest.raises(UserError, match=r"^not ready after 301 s, the last 0 s without progress"):
        patience.check()
