"""Options from the fields of a dataclass: names, types, defaults, ranges, help, and the dataclass back."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import pytest

from embodied_iqa.base.config import ranged
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.jobs.engine import EngineKind, EngineOptions
from embodied_iqa.cli.parser import Parser
from embodied_iqa.cli.plan_options import (
    add_engine_options,
    add_plan_options,
    engine_of,
    number_of,
    read_plan,
)


class Colour(StrEnum):
    """A word."""

    RED = "red"
    DARK_BLUE = "dark-blue"


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan.

    Attributes:
        source: No option.
        most_steps: Steps, at most 50 % of
            all.
        share: VLAs that count.
        colour: Of the cube.
        colours: Of the others.
        names: By commas.
        boxes: Draw boxes.
        retry: Query again.
        limit: None for all.
        file: A file.
        risk: Of a loss.
        part: Of the images.
    """

    source: str
    most_steps: int = ranged(3, 1, 9)
    share: float = 0.5
    colour: Colour = Colour.RED
    colours: tuple[Colour, ...] = ()
    names: tuple[str, ...] = ("a", "b")
    boxes: bool = True
    retry: bool = False
    limit: int | None = None
    file: Path | None = None
    risk: float = ranged(0.5, 0, 1, "()")
    part: float = ranged(1.0, 0, 1, "(]")


NAMES = (
    *("most_steps", "share", "colour", "colours", "names", "boxes", "retry", "limit", "file"),
    *("risk", "part"),
)


def _parser() -> Parser:
    parser = Parser(prog="command")
    add_plan_options(parser, Plan, *NAMES, share="P")
    return parser


def _read(*words: str) -> Plan:
    return read_plan(Plan, _parser().parse_args(words), source="here")


def test_without_options_the_plan_has_its_defaults() -> None:
    assert _read() == Plan("here")


def test_each_type_is_read_back() -> None:
    words = "--most-steps 9 --share 0.25 --colour dark-blue --colours red,dark-blue --names c, --no-boxes"
    found = _read(*words.split(), "--retry", "--limit", "4", "--file", "a/b")
    both = (Colour.RED, Colour.DARK_BLUE)
    assert found == Plan("here", 9, 0.25, Colour.DARK_BLUE, both, ("c",), False, True, 4, Path("a/b"))
    assert isinstance(found.colour, Colour)
    assert isinstance(found.file, Path)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--most-steps", "10"), "argument --most-steps: expected 1 to 9; got 10"),
        (("--most-steps", "x"), "argument --most-steps: invalid int value: 'x'"),
        (("--risk", "1"), "argument --risk: expected above 0, below 1; got 1.0"),
        (("--risk", "nan"), "argument --risk: expected above 0, below 1; got nan"),
        (("--part", "0"), "argument --part: expected above 0, up to 1; got 0.0"),
        (("--colour", "rad"), "argument --colour: invalid choice; got 'rad'; did you mean red?"),
        (("--names", ","), "argument --names: expected one or more by commas; got ','"),
        (
            ("--colours", "red,green"),
            "argument --colours: unknown word; got 'green'; available: red,",
        ),
    ],
)
def test_a_wrong_value_is_a_usage_error(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        _read(*words)
    assert message in str(caught.value)


def test_help_is_the_description_with_words_and_default() -> None:
    text = " ".join(_parser().format_help().split())
    assert "--most-steps N steps, at most 50 % of all (default 3)" in text
    assert "--share P VLAs that count (default 0.5)" in text
    assert "--colours NAMES of the others: some of red,dark-blue" in text
    assert "--names NAMES by commas (default a,b)" in text
    assert "--retry query again" in text


def test_an_option_may_have_other_names_than_its_field() -> None:
    parser = Parser(prog="command")
    add_plan_options(parser, Plan, "source", "most_steps as steps n")
    assert read_plan(Plan, parser.parse_args(["--source", "there", "--n", "4"])) == Plan("there", 4)
    assert parser.parse_args(["--source", "there", "--steps", "5"]).most_steps == 5
    with pytest.raises(UsageError, match="required: --source"):
        parser.parse_args([])


def test_an_option_of_its_own_is_checked_as_its_field() -> None:
    parser = Parser(prog="command")
    parser.add_argument("--most", type=number_of(Plan, "most_steps"))
    assert parser.parse_args([]).most is None
    assert parser.parse_args(["--most", "9"]).most == 9
    with pytest.raises(UsageError, match="argument --most: expected 1 to 9; got 0"):
        parser.parse_args(["--most", "0"])


def test_the_options_of_the_engine_make_an_engine() -> None:
    parser = Parser(prog="command")
    add_engine_options(parser)
    assert engine_of(parser.parse_args([])) == EngineOptions()
    given = parser.parse_args(["--workers", "2", "--engine", "ray", "--ray-address", "a:1"])
    assert engine_of(given) == EngineOptions(EngineKind.RAY, 2, "a:1")
    with pytest.raises(UsageError, match="--workers: expected 1 or more; got 0"):
        engine_of(parser.parse_args(["--workers", "0"]))
