"""Which distortion belongs to which stamp."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.distortions import DistortionSpec
from embodied_iqa.runs.trial.distortion_changes import DistortionChanges

BLUR, DARK = DistortionSpec("02", 2), DistortionSpec("19", 5)


def test_nothing_is_distorted_before_anything_is_set() -> None:
    assert DistortionChanges().at(5).spec is None


def test_a_change_acts_from_its_stamp_on_exactly() -> None:
    changes = DistortionChanges()
    assert changes.set(BLUR, 100) == 100
    assert [changes.at(stamp).spec for stamp in (99, 100, 101)] == [None, BLUR, BLUR]


def test_images_on_their_way_keep_the_distortion_of_their_stamp() -> None:
    changes = DistortionChanges()
    changes.set(BLUR, 100)
    changes.at(150)
    changes.set(DARK, 200)
    changes.at(210)
    assert changes.at(150).spec is BLUR
    assert changes.at(99).spec is None


def test_without_a_stamp_it_acts_from_the_next_image_on() -> None:
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


BURST = DistortionSpec("19", 5, schedule="burst:start=1,length=1")


def test_a_schedule_begins_at_the_stamp_of_its_change() -> None:
    changes = DistortionChanges()
    changes.set(BURST, 3 * SECOND_NS)
    levels = [changes.at(stamp * SECOND_NS // 2).level_at(stamp * SECOND_NS // 2) for stamp in range(6, 12)]
    assert levels == [0, 0, 5, 5, 0, 0]


def test_before_any_image_a_schedule_begins_with_the_first_one() -> None:
    changes = DistortionChanges()
    assert changes.set(BURST, None) == 0
    first_ns = 500 * SECOND_NS
    assert changes.at(first_ns).origin_ns == first_ns
    assert changes.at(first_ns + SECOND_NS).level_at(first_ns + SECOND_NS) == 5
    assert changes.newest.spec == BURST


def test_where_a_stamp_may_have_passed_the_next_one_is_the_first() -> None:
    changes = DistortionChanges()
    changes.at(500)
    assert changes.set(BURST, 400, or_later=True) == 501
    assert changes.newest.origin_ns == 501
    assert changes.set(DARK, 900, or_later=True) == 900
