"""Success rates with Wilson's interval."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from embodied_iqa.base.errors import InputError
from embodied_iqa.models.scoring.proportions import simultaneous_z, wilson


@given(st.integers(1, 300), st.data())
def test_it_is_the_interval_that_scipy_computes(n: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, n))
    share = wilson(successes, n)
    theirs = binomtest(successes, n).proportion_ci(0.95, method="wilson")
    assert share.low == pytest.approx(max(0.0, theirs.low), abs=1e-9)
    assert share.high == pytest.approx(min(1.0, theirs.high), abs=1e-9)
    assert share.low - 1e-9 <= share.value <= share.high + 1e-9


@pytest.mark.parametrize("intervals", [1, 15])
def test_intervals_of_several_shares_are_those_of_scipy_at_a_part_of_the_error(intervals: int) -> None:
    share = wilson(40, 200, simultaneous_z(intervals))
    theirs = binomtest(40, 200).proportion_ci(1.0 - 0.05 / intervals, method="wilson")
    assert (share.low, share.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


@pytest.mark.parametrize(("successes", "n"), [(1, 0), (-1, 3), (4, 3)])
def test_impossible_numbers_are_refused(successes: int, n: int) -> None:
    with pytest.raises(InputError):
        wilson(successes, n)
