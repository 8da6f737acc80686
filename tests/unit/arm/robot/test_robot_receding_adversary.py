"""Random sequences of chunks, verdicts and stops on a receding horizon: no command is unsafe."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from receding_life import Kind, Life

from embodied_iqa.arm.robot.messages import GoalOutcome

FEW = {
    Kind.MIXED: (*range(60), 5730, 6132, 28641),
    Kind.SINGLE: (*range(20), 14674, 39930),
    Kind.JOINTS: range(20),
}
"""5730, 6132 and 39930 are stopped while the arm speeds up, where it brakes for longest; in 28641 a chunk
would begin with a tool acceleration of 4.4 m/s2, in 14674 with joints whose acceleration steps by 17
rad/s2."""
MANY = range(700)
"""Seconds of each kind, also beside busy processes; `benchmarks/fuzz_joining.py` runs a hundred thousand."""


@pytest.mark.parametrize(
    ("kind", "seeds"),
    [*FEW.items(), *(pytest.param(kind, MANY, marks=pytest.mark.stress) for kind in Kind)],
    ids=lambda value: value.name.lower() if isinstance(value, Kind) else str(len(value)),
)
def test_no_command_of_random_sequences_is_unsafe(kind: Kind, seeds: Sequence[int]) -> None:
    outcomes = dict.fromkeys(GoalOutcome, 0)
    for seed in seeds:
        life = Life(np.random.default_rng(seed), kind)
        life.play()
        assert not life.unsafe, (seed, life.unsafe)
        for outcome in life.outcomes:
            outcomes[outcome] += 1
    assert outcomes[GoalOutcome.ACCEPTED] > 2 * len(seeds), outcomes
    assert outcomes[GoalOutcome.REFUSED] > len(seeds) // 2, outcomes


@pytest.mark.parametrize("kind", Kind, ids=lambda kind: kind.name.lower())
@pytest.mark.parametrize("seeds", [range(20), pytest.param(MANY, marks=pytest.mark.stress)], ids=len)
def test_no_command_is_unsafe_while_the_speed_slider_is_pushed(kind: Kind, seeds: Sequence[int]) -> None:
    for seed in seeds:
        life = Life(np.random.default_rng(seed), kind, slides=True)
        life.play()
        assert not life.unsafe, (seed, life.unsafe)
