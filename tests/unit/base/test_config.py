"""Configurations from dataclasses: names, ranges, words, files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embodied_iqa.base.config import (
    build,
    check_ranges,
    check_values,
    former_names,
    parameters_of,
    ranged,
    values_of,
)
from embodied_iqa.base.errors import InputError, InternalError, UsageError
from embodied_iqa.base.number_range import NumberRange
from embodied_iqa.base.user_files.yaml_files import load_yaml
from embodied_iqa.models.subjects.subject_options import PolicyOptions
from embodied_iqa.runs.graph.parameters import GateParameters


class Mode(StrEnum):
    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Inner:
    """Inside.

    Attributes:
        speed_mps: How fast, over
            two lines [m/s].
    """

    FORMER_NAMES: ClassVar[Mapping[str, str]] = {"speed_kmph": "speed_mps"}

    speed_mps: float = ranged(0.5, 0.0, 2.0)


@dataclass(frozen=True, slots=True)
class Outer:
    """Outside.

    Attributes:
        count: How many.
        mode: Which.
        names: Who.
        active: Whether.
        inner: What is nested.
    """

    count: int = ranged(3, 1, 10)
    mode: Mode = Mode.ON
    names: tuple[str, ...] = ("a", "b")
    active: bool = False
    inner: Inner = field(default_factory=Inner)


def test_leaves_are_listed_with_dots_ranges_and_descriptions() -> None:
    found = {parameter.name: parameter for parameter in parameters_of(Outer)}
    assert list(found) == ["count", "mode", "names", "active", "inner.speed_mps"]
    speed = found["inner.speed_mps"]
    assert (speed.kind, speed.default, speed.limits) == (float, 0.5, NumberRange(0.0, 2.0))
    assert speed.description == "How fast, over two lines [m/s]."
    assert found["names"].is_list
    assert found["mode"].default == "on"


def test_a_part_is_checked_value_by_value() -> None:
    part = {"judge.window_frames": 10}, {"judge.trip_frames": 8}
    for values in part:
        assert check_values(GateParameters, values, "here") == values
    judge = build(GateParameters, part[0] | part[1], "here").judge
    assert (judge.window_frames, judge.trip_frames) == (10, 8)
    with pytest.raises(UsageError, match="trip_frames"):
        build(GateParameters, part[1], "here")
    with pytest.raises(UsageError, match="unknown parameter in here"):
        check_values(GateParameters, {"judge.windows": 1}, "here")


def test_a_former_name_is_told_with_the_present_one() -> None:
    assert former_names(Outer) == {"inner.speed_kmph": "inner.speed_mps"}
    assert "inner.speed_kmph" not in {parameter.name for parameter in parameters_of(Outer)}
    words = r"has a new name; expected inner\.speed_mps \(units: .*lease\.md\); got 'inner\.speed_kmph'"
    with pytest.raises(UsageError, match=words):
        build(Outer, {"inner.speed_kmph": 1.0}, "here")


@pytest.mark.parametrize("speed", [-1e-9, 2.0 + 1e-9, math.nan, math.inf])
def test_python_code_can_check_ranges_too(speed: float) -> None:
    check_ranges(Inner(2.0))
    with pytest.raises(UsageError, match="wrong speed_mps; expected 0 to 2; got"):
        check_ranges(Inner(speed))


def test_nothing_given_is_the_default() -> None:
    assert build(Outer, {}, "here") == Outer()


def test_who_writes_a_list_for_a_text_reads_how_the_text_holds_it() -> None:
    expected = r"views in here; expected a value of type str, several words as front,wrist; got \['front', "
    with pytest.raises(UsageError, match=expected):
        build(PolicyOptions, {"views": ["front", "wrist"]}, "here")
    with pytest.raises(UsageError, match=r"expected a value of type str; got \['a', 'b'\]"):
        build(Outer, {"names": [["a", "b"]]}, "here")


@given(
    st.integers(1, 10),
    st.sampled_from(Mode),
    st.lists(st.text(), max_size=3),
    st.booleans(),
    st.floats(0.0, 2.0),
)
def test_values_round_trip(count: int, mode: Mode, names: list[str], active: bool, speed: float) -> None:
    config = Outer(count, mode, tuple(names), active, Inner(speed))
    assert build(Outer, values_of(config), "here") == config


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            {"cuont": 3},
            r"unknown parameter in here; got 'cuont'; did you mean count\?; available: active, count",
        ),
        ({"inner": 3}, r"unknown parameter.*inner"),
        ({"count": 0}, r"count in here; expected 1 to 10; got 0"),
        ({"count": 2.0}, r"expected a value of type int; got 2.0"),
        ({"count": True}, r"expected a value of type int; got True"),
        ({"active": 1}, r"expected a value of type bool"),
        ({"names": "a"}, r"expected a list; got 'a'"),
        ({"names": ["a", 1]}, r"expected a value of type str; got 1"),
        ({"inner.speed_mps": float("nan")}, r"expected 0 to 2; got nan"),
        ({"mode": "loud"}, r"got 'loud'; available: on, off"),
        ({"mode": ["on"]}, r"available: on, off"),
        ({"mode": {}}, r"available: on, off"),
        ({"mode": 1}, r"available: on, off"),
    ],
)
def test_a_wrong_value_is_told_in_one_line(values: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        build(Outer, values, "here")
    assert "\n" not in str(caught.value)


def test_whole_numbers_will_do_for_lengths() -> None:
    assert build(Outer, {"inner.speed_mps": 1}, "here").inner.speed_mps == 1.0


@pytest.mark.parametrize(("word", "mode"), [("on", Mode.ON), ("off", Mode.OFF)])
def test_yaml_words_without_quotes_are_understood(tmp_path: Path, word: str, mode: Mode) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(f"mode: {word}\n")
    assert build(Outer, load_yaml(path), "here").mode is mode


def test_a_class_without_defaults_is_our_bug() -> None:
    @dataclass(frozen=True)
    class Bare:
        size: int

    with pytest.raises(InternalError, match="has no default"):
        parameters_of(Bare)


def test_a_type_that_no_parameter_can_have_is_our_bug() -> None:
    @dataclass(frozen=True)
    class Odd:
        size: complex = 0j

    with pytest.raises(InternalError, match="no parameter can have"):
        parameters_of(Odd)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[1, 2]", r"does not hold a mapping.*list"),
        (b"a: [", r"p.yaml:2:1: not YAML"),
        (b"a: &b [*b", r"p.yaml:1:8: aliases"),
        (b"\x89PNG\r\n\xff\xfe\x00", r"p.yaml is not text: line 1"),
    ],
)
def test_a_file_that_is_no_configuration_is_told_in_one_line(
    tmp_path: Path, content: bytes, words: str
) -> None:
    path = tmp_path / "p.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words) as caught:
        load_yaml(path)
    assert "\n" not in str(caught.value)


def test_an_empty_file_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("# nothing\n")
    assert load_yaml(tmp_path / "p.yaml") == {}
