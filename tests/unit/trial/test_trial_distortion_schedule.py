"""Which distortion belongs to which stamp."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embodied_iqa.distortions import DistortionSpec
from embodied_iqa.errors import UsageError
from embodied_iqa.trial.distortion_schedule import DistortionSchedule

BLUR, DARK = DistortionSpec("02", 2), DistortionSpec("19", 5)


def test_nothing_is_distorted_before_anything_is_set() -> None:
    assert DistortionSchedule().at(5).spec is None


def test_a_change_acts_from_its_stamp_on_exactly() -> None:
    schedule = DistortionSchedule()
    assert schedule.set(BLUR, 100) == 100
    assert [schedule.at(stamp).spec for stamp in (99, 100, 101)] == [None, BLUR, BLUR]


def test_pictures_on_their_way_keep_the_distortion_of_their_stamp() -> None:
    schedule = DistortionSchedule()
    schedule.set(BLUR, 100)
    schedule.at(150)
    schedule.set(DARK, 200)
    schedule.at(210)
    assert schedule.at(150).spec is BLUR
    assert schedule.at(99).spec is None


def test_without_a_stamp_it_acts_from_the_next_picture_on() -> None:
    schedule = DistortionSchedule()
    schedule.at(500)
    assert schedule.set(DARK, None) == 501
    assert schedule.at(500).spec is None
    assert schedule.at(501).spec is DARK


def test_a_stamp_that_has_passed_is_refused_and_changes_nothing() -> None:
    schedule = DistortionSchedule()
    schedule.at(500)
    with pytest.raises(UsageError, match=r"passed already.*above 500 ns.*got 500"):
        schedule.set(DARK, 500)
    assert schedule.at(501).spec is None


def test_an_unknown_distortion_is_refused_and_changes_nothing() -> None:
    schedule = DistortionSchedule()
    with pytest.raises(UsageError, match="99"):
        schedule.set(DistortionSpec("99", 1), 5)
    assert schedule.newest is None


def test_a_change_replaces_those_for_later_stamps() -> None:
    schedule = DistortionSchedule()
    schedule.set(BLUR, 300)
    schedule.set(None, 200)
    assert schedule.newest is None
    assert schedule.at(350).spec is None


def test_many_changes_do_not_gather() -> None:
    schedule = DistortionSchedule()
    for stamp in range(1, 1000):
        schedule.set(DistortionSpec("02", 1 + stamp % 5), stamp)
        assert schedule.at(stamp).spec == DistortionSpec("02", 1 + stamp % 5)
    assert len(schedule._from_ns) == len(schedule._distorters) <= schedule._KEPT


@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(0, 60), st.sampled_from([None, BLUR, DARK])),
        max_size=40,
    )
)
def test_it_agrees_with_the_list_of_all_changes(steps: list[tuple[bool, int, DistortionSpec | None]]) -> None:
    schedule, changes, newest = DistortionSchedule(), [(0, None)], -1
    for is_change, stamp, spec in steps:
        if not is_change:
            expected = [change for start, change in changes if start <= stamp][-1]
            assert schedule.at(stamp).spec == expected
            newest = max(newest, stamp)
        elif stamp > newest:
            schedule.set(spec, stamp)
            changes = [*((start, change) for start, change in changes if start < stamp), (stamp, spec)]
        else:
            with pytest.raises(UsageError):
                schedule.set(spec, stamp)
