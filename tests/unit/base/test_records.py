"""Records: exact types, every fault named with its place, round trips."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.records import read_json, structure, unstructure


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True)
class Point:
    x_m: float
    colour: Colour = Colour.RED


@dataclass(frozen=True, slots=True)
class Drawing:
    points: tuple[Point, ...]
    counts: dict[str, int]
    notes: dict[str, str | int | float | bool]
    origin: Point | None = None

    def __post_init__(self) -> None:
        if len(self.points) > 2:
            raise InputError("too many points", expected="at most 2", got=len(self.points))


def _tree(**changes: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {"points": [{"x_m": 1}], "counts": {"a": 1}, "notes": {"b": True, "c": 0.5}}
    return plain | changes


def test_whole_numbers_are_read_as_floats_and_words_as_enums() -> None:
    drawing = structure(Drawing, _tree(points=[{"x_m": 1, "colour": "blue"}]), "d")
    assert drawing.points == (Point(1.0, Colour.BLUE),)
    assert type(drawing.points[0].x_m) is float
    assert drawing.notes == {"b": True, "c": 0.5}
    assert drawing.origin is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"points": [{"x_m": "1"}]}, "d: expected a finite number, got '1' at points[0].x_m"),
        ({"points": [{"x_m": True}]}, "d: expected a finite number, got True at points[0].x_m"),
        ({"points": [{}]}, "d: missing x_m at points[0].x_m"),
        ({"points": 3}, "d: expected a list at points"),
        ({"points": [{"x_m": 1, "colour": "pink"}]}, "unknown word 'pink', available: red, blue"),
        ({"points": [{"x_m": 1, "y_m": 2}]}, "d: unknown keys y_m at points[0]"),
        ({"points": [{"x_m": 1}] * 3}, "d: too many points; expected at most 2; got 3"),
        ({"counts": {"a": 1.0}}, "d: expected a whole number, got 1.0 at counts['a']"),
        ({"counts": {"a": True}}, "expected a whole number, got True"),
        ({"counts": [1]}, "d: expected a mapping at counts"),
        ({"notes": {"a": [1]}}, "d: expected a plain value at notes['a']"),
        ({"origin": {"x_m": float("nan")}}, "d: expected a finite number, got nan at origin.x_m"),
        ({"more": 1}, "d: unknown keys more"),
    ],
)
def test_every_fault_is_one_line_with_its_place(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        structure(Drawing, _tree(**changes), "d")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("tree", [None, [1], 3, "text"])
def test_anything_but_a_mapping_is_refused(tree: object) -> None:
    with pytest.raises(InputError, match="d: expected a mapping"):
        structure(Drawing, tree, "d")


@given(
    st.builds(
        Drawing,
        points=st.lists(
            st.builds(Point, st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(Colour)),
            max_size=2,
        ).map(tuple),
        counts=st.dictionaries(st.text(), st.integers()),
        notes=st.dictionaries(st.text(), st.text() | st.integers() | st.booleans()),
    )
)
def test_a_record_survives_the_round_trip_through_json(drawing: Drawing) -> None:
    assert structure(Drawing, json.loads(json.dumps(unstructure(drawing))), "d") == drawing


def test_a_file_that_is_missing_or_no_json_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read the drawing .*/none.json: No such file"):
        read_json(Drawing, tmp_path / "none.json", "the drawing")
    (tmp_path / "cut.json").write_text('{"points": [', encoding="utf-8")
    with pytest.raises(InputError, match=r"the drawing .*/cut.json:1:13: not JSON: Expecting value"):
        read_json(Drawing, tmp_path / "cut.json", "the drawing")
