"""Which distortion belongs to which stamp."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embodied_iqa.distortions import DistortionSpec
from embodied_iqa.errors import UsageError
from embodied_iqa.trial.distortion_changes import DistortionChanges

BLUR, DARK = DistortionSpec("02", 2), DistortionSpec("19", 5)


def test_nothing_is_distorted_before_anything_is_set() -> None:
    assert DistortionChanges().at(5).spec is None


def test_a_change_acts_from_its_stamp_on_exactly() -> None:
    changes = DistortionChanges()
    assert changes.set(BLUR, 100) == 100
    assert [changes.at(stamp).spec for stamp in (99, 100, 101)] == [None, BLUR, BLUR]


def test_pictures_on_their_way_keep_the_distortion_of_their_stamp() -> None:
    changes = DistortionChanges()
    changes.set(BLUR, 100)
    changes.at(150)
    changes.set(DARK, 200)
    changes.at(210)
    assert changes.at(150).spec is BLUR
    assert changes.at(99).spec is None


def test_without_a_stamp_it_acts_from_the_next_picture_on() -> None:
    changes = DistortionChanges()
    changes.at(500)
    assert changes.set(DARK, None) == 501
    assert changes.at(500).spec is None
    assert changes.at(501).spec is DARK


def test_a_stamp_that_has_passed_is_refused_and_changes_nothing() -> None:
    changes = DistortionChanges()
    changes.at(500)
    with pytest.raises(UsageError, match=r"passed already.*above 500 ns.*got 500"):
        changes.set(DARK, 500)
    assert changes.at(501).spec is None


def test_an_unknown_distortion_is_refused_and_changes_nothing() -> None:
    changes = DistortionChanges()
    with pytest.raises(UsageError, match="99"):
        changes.set(DistortionSpec("99", 1), 5)
    assert changes.newest.spec is None


def test_a_change_replaces_those_for_later_stamps() -> None:
    changes = DistortionChanges()
    changes.set(BLUR, 300)
    changes.set(None, 200)
    assert changes.newest.spec is None
    assert changes.at(350).spec is None


def test_many_changes_do_not_gather() -> None:
    changes = DistortionChanges()
    for stamp in range(1, 1000):
        changes.set(DistortionSpec("02", 1 + stamp % 5), stamp)
        assert changes.at(stamp).spec == DistortionSpec("02", 1 + stamp % 5)
    assert len(changes._from_ns) == len(changes._distorters) <= changes._KEPT


@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(0, 60), st.sampled_from([None, BLUR, DARK])),
        max_size=40,
    )
)
def test_it_agrees_with_the_list_of_all_changes(steps: list[tuple[bool, int, DistortionSpec | None]]) -> None:
    changes, known, newest = DistortionChanges(), [(0, None)], -1
    for is_change, stamp, spec in steps:
        if not is_change:
            expected = [change for start, change in known if start <= stamp][-1]
            assert changes.at(stamp).spec == expected
            newest = max(newest, stamp)
        elif stamp > newest:
            changes.set(spec, stamp)
            known = [*((start, change) for start, change in known if start < stamp), (stamp, spec)]
        else:
            with pytest.raises(UsageError):
                changes.set(spec, stamp)
