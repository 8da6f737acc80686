"""Names of views: what is one, and that old data keep their bytes."""

from __future__ import annotations

import copy
import json
import pickle
import re
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embodied_iqa.base.config import build, values_of
from embodied_iqa.base.errors import Description, InputError, UsageError
from embodied_iqa.base.records import structure, unstructure
from embodied_iqa.base.tables import rows_of, table_of
from embodied_iqa.imaging.images.frame import View, is_view, ordered_views, parse_view, view_of_topic
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS, check_cell_views

NAMES = st.from_regex(r"[A-Za-z](_?[A-Za-z0-9]){0,15}_?", fullmatch=True)
WRONG = ["", "2nd", "_top", "left wrist", "left-wrist", "a/b", "left__wrist", "täglich", "top\n", "a" * 33]


@dataclass(frozen=True, slots=True)
class Seen:
    """One view, and several.

    Attributes:
        view: One.
        views: Several.
    """

    view: View = View.TOP
    views: tuple[View, ...] = (View.TOP,)


@given(NAMES)
def test_a_name_is_a_view_and_stays_its_text(name: str) -> None:
    view = View(name)
    assert view == name
    assert hash(view) == hash(name)
    assert json.dumps({view: view}) == json.dumps({name: name})
    assert view_of_topic(f"/camera/{view}/image_raw") == view
    for same in (pickle.loads(pickle.dumps(view)), copy.deepcopy(view), View(view), parse_view(name)):
        assert type(same) is View
        assert same == view


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_stand_in_a_topic_is_no_view(name: str) -> None:
    assert not is_view(name)
    assert view_of_topic(f"/camera/{name}/image_raw") is None
    with pytest.raises(ValueError, match=re.escape(repr(name))):
        View(name)
    with pytest.raises(UsageError, match=r"not the name of a camera view; expected a letter"):
        parse_view(name)
    with pytest.raises(InputError, match="view"):
        structure(Seen, {"view": name}, "here")
    with pytest.raises(UsageError, match=r"parameter views in here"):
        build(Seen, {"views": [name]}, "here")


def test_a_view_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(UsageError, match=r"got 'fornt'; did you mean front\?; available: front, left_wrist"):
        parse_view("fornt", (View("front"), View("left_wrist")))
    with pytest.raises(UsageError, match=r"no such camera; got 'front'; available: wrist, top, side"):
        check_cell_views([View.TOP, View("front")])


def test_records_configurations_and_tables_hold_any_view() -> None:
    seen = Seen(View("front"), (View("left_wrist"), View.TOP))
    assert structure(Seen, json.loads(json.dumps(unstructure(seen))), "here") == seen
    assert values_of(seen) == {"view": "front", "views": ["left_wrist", "top"]}
    assert all(type(name) is str for name in values_of(seen)["views"])  # type: ignore[union-attr]
    assert build(Seen, values_of(seen), "here") == seen
    read = rows_of(Seen, table_of(Seen, [seen]))
    assert read == [seen]
    assert type(read[0].view) is View


def test_views_of_the_cell_come_first_and_each_once() -> None:
    names = ("zenith", "side", "front", "top", "wrist", "front")
    assert ordered_views(map(View, names)) == ("wrist", "top", "side", "front", "zenith")
    assert ordered_views(CELL_VIEWS) == CELL_VIEWS


@pytest.mark.parametrize(
    ("name", "first"),
    [("wrist", True), ("left_wrist", True), ("Wrist2", True), ("front", False)],
)
def test_a_camera_on_a_wrist_says_so(name: str, *, first: bool) -> None:
    assert View(name).first_person is first


def test_the_text_in_stored_fingerprints_is_as_before() -> None:
    assert repr((View.TOP, View.WRIST)) == "(<View.TOP: 'top'>, <View.WRIST: 'wrist'>)"


def test_errors_give_a_view_by_its_name_and_a_description_without_quotes() -> None:
    assert str(UsageError("no such camera", got=View("Top"))) == "no such camera; got 'Top'"
    assert str(UsageError("wrong", got=Description("(2, 3) uint8"))) == "wrong; got (2, 3) uint8"
