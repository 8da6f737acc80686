"""Options that are fields of a plan: name, type, default, range and description stand in the dataclass only.

The fields of a dataclass become options with `add_plan_options`, and `read_plan` makes the dataclass of the
parsed arguments. `--workers`, `--engine` and `--ray-address` are those of `EngineOptions`.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import types
import typing
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeVar

from embodied_iqa.base.config import descriptions_of, range_of
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.number_range import MAX_SEED, NumberRange
from embodied_iqa.cli.parser import note_former

if TYPE_CHECKING:
    from embodied_iqa.base.jobs.engine import EngineOptions

Plan = TypeVar("Plan")
Word = TypeVar("Word", bound=str)

RANDOM_LEVEL: Final = "random"
"""Value of `--levels` of commands that draw one."""
_METAVARS: Final[dict[type, str]] = {int: "N", float: "X", str: "NAME"}


def within(kind: type, low: float, high: float) -> Callable[[str], Any]:
    """Return the type of an option with a number that refuses what is out of range.

    Args:
        kind: int or float.
        low: Least number.
        high: Greatest number.
    """
    return inside(kind, NumberRange(low, high))


def inside(kind: type, limits: NumberRange) -> Callable[[str], Any]:
    """Return the type of an option with a number that refuses what is outside an interval."""

    def parse(text: str) -> Any:
        if (number := kind(text)) not in limits:
            raise argparse.ArgumentTypeError(f"expected {limits}; got {number}")
        return number

    parse.__name__ = kind.__name__  # argparse: "invalid int value"
    return parse


def number_of(plan: Any, name: str) -> Callable[[str], Any]:
    """Return the type of an option whose number is a field of a dataclass: in the range of the field.

    Of an option that `add_plan_options` cannot add, such as one whose default says that it is not given.
    """
    field = next(one for one in dataclasses.fields(plan) if one.name == name)
    checked: Callable[[str], Any] = _form(typing.get_type_hints(plan)[name], field)["type"]
    return checked


def at_least(low: int) -> Callable[[str], int]:
    """Return the type of an option whose value is a whole number from ``low``."""
    return within(int, low, math.inf)


seed_number: Final = within(int, 0, MAX_SEED)
"""The type of an option whose value is a seed."""


def add_workers(parser: argparse.ArgumentParser, what: str = "processes that measure images") -> None:
    """Add `--workers`, 1 by default."""
    add, number = parser.add_argument, at_least(1)
    add("--workers", type=number, default=1, metavar="N", help=f"{what} (default 1)")


def add_levels(
    parser: argparse.ArgumentParser, what: str, default: str, *, random: str = "", is_set: bool = True
) -> None:
    """Add `--levels`, which `parse_levels` of the distortions reads.

    Args:
        parser: Of the command.
        what: Whose levels.
        default: Levels of a command line without it.
        random: What a random level is drawn for, where `RANDOM_LEVEL` is a value.
        is_set: Whether the parsed value is the default then; else None.
    """
    drawn = f", or {RANDOM_LEVEL}: {random}" if random else ""
    text = f"levels {what}: 1 to 5 by commas or as a range, such as 1,3,5 or 1-5, or all{drawn}"
    given: dict[str, Any] = {"default": default} if is_set else {}
    parser.add_argument("--levels", metavar="LEVELS", help=f"{text} (default {default})", **given)


def add_stride(parser: argparse.ArgumentParser) -> None:
    """Add `--stride`, 1 by default."""
    add, number = parser.add_argument, at_least(1)
    add("--stride", type=number, default=1, metavar="N", help="only each Nth episode (default 1)")


def add_engine_options(parser: argparse.ArgumentParser, what: str = "blocks in parallel") -> None:
    """Add `--workers`, `--engine` and `--ray-address`.

    Args:
        parser: Of the command.
        what: What the workers do, for the help.
    """
    from embodied_iqa.base.jobs.engine import EngineKind

    add_workers(parser, what)
    add = parser.add_argument
    kinds, runner = [str(kind) for kind in EngineKind], "what runs the workers (default processes)"
    add("--engine", choices=kinds, default=str(EngineKind.PROCESSES), help=runner)
    add("--ray-address", default="", metavar="ADDRESS", help="of a cluster; default: start one here")


def engine_of(arguments: argparse.Namespace) -> EngineOptions:
    """Return what runs the jobs, from the options of `add_engine_options`."""
    from embodied_iqa.base.jobs.engine import EngineKind, EngineOptions

    return EngineOptions(EngineKind(arguments.engine), arguments.workers, arguments.ray_address)


def add_plan_options(parser: argparse.ArgumentParser, plan: Any, *names: str, **metavars: str) -> None:
    """Add an option for each of some fields of a dataclass: `--field-name`, with the field's default.

    A switch that is off has no value, one that is on has a `--no-` form; a tuple is given by commas; a field
    without a default is required. The help is the field's description in the docstring.

    Args:
        parser: Of the command.
        plan: The dataclass; `read_plan` makes it of the parsed arguments.
        names: Of its fields, in the order of the help; ``"most_at_once as batch"`` is the option `--batch`,
            and further words are further names of it.
        metavars: Of fields, where the usual one of the type says too little.
    """
    hints, texts = typing.get_type_hints(plan), descriptions_of(plan)
    fields = {field.name: field for field in dataclasses.fields(plan)}
    for words in names:
        name, _, others = words.partition(" as ")
        options = [f"--{word.replace('_', '-')}" for word in others.split() or [name]]
        form = _form(hints[name], fields[name])
        if "action" not in form:
            form["metavar"] = metavars.get(name, form.get("metavar"))
        text = _help(texts[name], hints[name], form["default"])
        parser.add_argument(*options, dest=name, help=text, **form)


def read_plan(plan: Callable[..., Plan], arguments: argparse.Namespace, **given: object) -> Plan:
    """Return a dataclass whose fields are the arguments of their names; others keep their default.

    Args:
        plan: The dataclass.
        arguments: The parsed arguments.
        given: Fields that are not an option, or not as it is given.

    Raises:
        UserError: The dataclass refuses the values.
    """
    known = {field.name for field in dataclasses.fields(typing.cast("Any", plan))}
    return plan(**{name: value for name, value in vars(arguments).items() if name in known} | given)


def words_of(kind: type[Word], *, may_be_empty: bool = True) -> Callable[[str], tuple[Word, ...]]:
    """Return the type of an option whose value is words by commas.

    Args:
        kind: An enum, or str for any words.
        may_be_empty: Whether no word is a value, too.
    """

    def parse(text: str) -> tuple[Word, ...]:
        words = [word.strip() for word in text.split(",") if word.strip()]
        if not (words or may_be_empty):
            raise argparse.ArgumentTypeError(f"expected one or more by commas; got {text!r}")
        return tuple(_word_of(kind, word) for word in words)

    return parse


def _word_of(kind: type[Word], text: str) -> Word:
    """Return a word; name the present one of a former one, which the enum knows."""
    try:
        word = kind(text)
    except ValueError:
        known = list(map(str, kind)) if issubclass(kind, StrEnum) else []
        error = UsageError("unknown word", got=text, available=known)
        raise argparse.ArgumentTypeError(str(error)) from None
    if word != text:
        note_former(text, word)
    return word


def _form(hint: Any, field: dataclasses.Field[Any]) -> dict[str, Any]:
    """Return the arguments of `add_argument` for a field of this type."""
    if field.default is dataclasses.MISSING:
        return {"type": hint, "required": True, "default": None, "metavar": _METAVARS.get(hint, "PATH")}
    default = field.default
    kind = next(part for part in (*_parts(hint), hint) if part is not type(None))
    if kind is bool:
        action: object = argparse.BooleanOptionalAction if default else "store_true"
        return {"action": action, "default": default}
    if typing.get_origin(kind) is tuple:
        words = words_of(typing.get_args(kind)[0], may_be_empty=not default)
        return {"type": words, "default": ",".join(default or ()), "metavar": "NAMES"}
    if issubclass(kind, StrEnum):
        known, start = {str(word): word for word in kind}, default and str(default)
        # an unknown word is left to the choices, which list the known ones
        return {"type": lambda text: known.get(text, text), "choices": list(known), "default": start}
    limits = range_of(field)
    check = kind if limits is None else inside(kind, limits)
    return {"type": check, "default": default, "metavar": _METAVARS.get(kind, "PATH")}


def _parts(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if isinstance(hint, types.UnionType) else ()


def _help(text: str, hint: Any, default: object) -> str:
    """Return a description for argparse: with the known words and the default, without a full stop."""
    word = next(iter(typing.get_args(hint)), None) if typing.get_origin(hint) is tuple else None
    if isinstance(word, type) and issubclass(word, StrEnum):
        text = f"{text.removesuffix('.')}: some of {','.join(word)}"
    text = text.removesuffix(".").replace("%", "%%")
    text = text if text[1:2].isupper() else text[:1].lower() + text[1:]
    is_clear = default is None or default == "" or isinstance(default, bool)
    return text if is_clear else f"{text} (default %(default)s)"
