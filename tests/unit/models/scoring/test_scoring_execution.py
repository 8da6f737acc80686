"""Execution scores."""

from __future__ import annotations

import math

import pytest

from embodied_iqa.base.errors import UsageError
from embodied_iqa.models.scoring.execution_score import Outcome, score_execution


@pytest.mark.parametrize("distance_m", [None, 0.0, 0.3])
def test_success_is_full_whatever_the_distance(distance_m: float | None):
    assert score_execution(Outcome.SUCCESS, distance_m).score == 100


@pytest.mark.parametrize("distance_m", [None, 0.0])
def test_an_emergency_stop_is_nothing_even_at_the_goal(distance_m: float | None):
    assert score_execution(Outcome.EMERGENCY_STOP, distance_m).score == 0


@pytest.mark.parametrize(("distance_m", "score"), [(0.0, 100), (0.123, 87.7), (1.0, 0), (3.0, 0)])
def test_a_failure_loses_a_point_a_centimetre(distance_m: float | None, score: float):
    assert score_execution(Outcome.FAILURE, distance_m).score == pytest.approx(score)


@pytest.mark.parametrize("distance_m", [None, 0.0, 0.3])
def test_a_run_that_the_gate_held_has_no_score(distance_m: float | None):
    assert score_execution(Outcome.HELD_BY_GATE, distance_m).score is None


@pytest.mark.parametrize("distance_m", [None, -0.1, math.nan, math.inf])
def test_a_failure_needs_a_distance(distance_m: float | None):
    with pytest.raises(UsageError):
        score_execution(Outcome.FAILURE, distance_m)
