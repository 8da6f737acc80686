"""Configuration: frozen dataclasses, flat dotted names, unknown keys refused.

A configuration class is a frozen dataclass whose fields all have defaults. A field's description is read
from the ``Attributes:`` section of the docstring and its range from :func:`ranged`, so that each is written
once and serves Python, YAML and ROS parameters alike. Fields that are dataclasses nest with a dot:
``limits.tool_speed_mps``; each value of a mapping, see :func:`per_key`, is a parameter too: ``serial_top``.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import math
import numbers
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from embodied_iqa.base.errors import InternalError, UsageError
from embodied_iqa.base.number_range import NumberRange

Scalar = bool | int | float | str | list[bool] | list[int] | list[float] | list[str]
ConfigT = TypeVar("ConfigT")

_RANGE = "embodied_iqa.range"
_PARSE = "embodied_iqa.parse"
_UNSET = "embodied_iqa.unset"
_FORMER = "FORMER_NAMES"
_ATTRIBUTE = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One leaf of a configuration.

    Attributes:
        name: Flat name, with dots between nested parts.
        kind: bool, int, float or str, the enum whose values are allowed, a subclass of str that raises
            ValueError for a wrong text, or the class of a parsed text.
        is_list: Whether it holds several of ``kind``.
        default: As plain data.
        description: One sentence with the unit.
        limits: Allowed numbers, or None.
        parse: Makes the value of a text, see `parsed`; None for plain data.
        key: Class of the keys where each has a value, see `per_key`: a key stands for ``{...}`` in the name.
    """

    name: str
    kind: type
    is_list: bool
    default: Scalar
    description: str
    limits: NumberRange | None
    parse: Callable[[str], object] | None = None
    key: type[str] | None = None

    def has_name(self, name: str) -> bool:
        """Return whether this is its name, or that of one of its keys."""
        start = self.name.partition("{")[0]
        return name == self.name or (
            self.key is not None and name.startswith(start) and _is_key(name.removeprefix(start), self.key)
        )


def per_key(unset: Scalar | tuple[float, ...]) -> typing.Any:
    """Return a field ``Mapping[K, V]``, each value of which is a parameter ``field_key``; empty by default.

    Args:
        unset: Value that means that there is none: it is left out.
    """
    return dataclasses.field(default_factory=dict, hash=False, metadata={_UNSET: unset})


def parsed(default: str, parse: Callable[[str], object]) -> typing.Any:
    """Return a dataclass field that YAML and ROS hold as text and Python as ``parse(text)``.

    Args:
        default: The default as text.
        parse: Raises `UserError` for a wrong text; ``str`` of its result gives the text back.
    """
    return dataclasses.field(default_factory=lambda: parse(default), metadata={_PARSE: parse})


def ranged(
    default: float | None, minimum: float, maximum: float, ends: typing.Literal["[]", "(]", "()"] = "[]"
) -> typing.Any:
    """Return a dataclass field with a default, which may be None, and a range, see `NumberRange`."""
    return dataclasses.field(default=default, metadata={_RANGE: NumberRange(minimum, maximum, ends)})


def range_of(field: dataclasses.Field[typing.Any]) -> NumberRange | None:
    """Return the range that `ranged` gave a field; None without one."""
    return typing.cast("NumberRange | None", field.metadata.get(_RANGE))


def _remembered(function: Callable[[typing.Any], ConfigT]) -> Callable[[typing.Any], ConfigT]:
    """Cache what is read of a class, most of the time of making a configuration."""
    return functools.cache(function)  # to mypy, not every class can be a key


_hints = _remembered(typing.get_type_hints)


def descriptions_of(config_class: type) -> dict[str, str]:
    """Return the description of each field in the ``Attributes:`` section of the docstring."""
    _, _, tail = inspect.cleandoc(config_class.__doc__ or "").partition("Attributes:\n")
    return {name: " ".join(text.split()) for name, text in _ATTRIBUTE.findall(tail)}


@_remembered
def parameters_of(config_class: typing.Any) -> tuple[Parameter, ...]:
    """List the leaves of a configuration class, nested ones with dotted names."""
    descriptions = descriptions_of(config_class)
    found: list[Parameter] = []
    for field in dataclasses.fields(config_class):
        hint, default = _hints(config_class)[field.name], _default_of(config_class, field)
        parse = field.metadata.get(_PARSE)
        if dataclasses.is_dataclass(hint) and parse is None:
            inner = parameters_of(typing.cast("type", hint))
            found += [dataclasses.replace(leaf, name=f"{field.name}.{leaf.name}") for leaf in inner]
            continue
        where, name, key = f"{config_class.__name__}.{field.name}", field.name, None
        if _UNSET in field.metadata:
            key, hint = typing.get_args(hint)
            name, default = f"{name}_{{{key.__name__.lower()}}}", field.metadata[_UNSET]
        kind, is_list = _kind_of(hint, where) if parse is None else (hint, False)
        description, limits = descriptions.get(field.name, ""), range_of(field)
        found.append(Parameter(name, kind, is_list, _plain(default), description, limits, parse, key))
    return tuple(found)


def build(config_class: type[ConfigT], values: Mapping[str, object], where: str) -> ConfigT:
    """Make a configuration from checked values, see `check_values`; what is not named keeps its default.

    Raises:
        UsageError: As `check_values`, or the values do not go together.
    """
    return _assemble(config_class, check_values(config_class, values, where), "")


def check_values(config_class: type[ConfigT], values: Mapping[str, object], where: str) -> dict[str, object]:
    """Return values as their fields hold them, each checked by itself: a part need not be valid alone.

    Args:
        config_class: The frozen dataclass.
        values: Flat names to values, as YAML or ROS gives them.
        where: What the values come from, for the error message.

    Raises:
        UsageError: An unknown name, a value of another type or out of range.
    """
    known, former = parameters_of(config_class), former_names(config_class)
    found: dict[str, object] = {}
    for name, value in values.items():
        if name in former:
            expected = f"{former[name]} (units: docs/reference/lease.md)"
            raise UsageError(f"a parameter in {where} has a new name", expected=expected, got=name)
        if (parameter := named(known, name)) is None:
            available = sorted(parameter.name for parameter in known)
            raise UsageError(f"unknown parameter in {where}", got=name, available=available)
        found[name] = _checked(parameter, value, where)
    return found


def named(parameters: Iterable[Parameter], name: str) -> Parameter | None:
    """Return the parameter with this flat name, as that of a key where each has a value, or None."""
    found = next((parameter for parameter in parameters if parameter.has_name(name)), None)
    return None if found is None else dataclasses.replace(found, name=name)


def former_names(config_class: typing.Any) -> dict[str, str]:
    """Return names that leaves of a configuration class had once, and their present names.

    A class, or one that nests in it, lists them in the class variable ``FORMER_NAMES``.
    """
    found = dict(getattr(config_class, _FORMER, {}))
    for field in dataclasses.fields(config_class):
        hint = _hints(config_class)[field.name]
        if dataclasses.is_dataclass(hint) and _PARSE not in field.metadata:
            found |= {f"{field.name}.{old}": f"{field.name}.{new}" for old, new in former_names(hint).items()}
    return found


def check_fields(config: typing.Any) -> None:
    """Check a configuration that Python code made, for its ``__post_init__``; words become enums.

    Raises:
        UsageError: A field is of another type or out of range.
    """
    for name, kind in _field_kinds(type(config)).items():
        value = getattr(config, name)
        if isinstance(kind, Parameter):
            object.__setattr__(config, name, _checked(kind, _python_number(value), type(config).__name__))
        elif not isinstance(value, kind):
            raise UsageError(f"wrong {name}", expected=f"{kind.__name__}(...)", got=type(value).__name__)


def _python_number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return value
    return int(value) if isinstance(value, numbers.Integral) else float(value)


@_remembered
def _field_kinds(config_class: type) -> Mapping[str, Parameter | type]:
    """Return what each field of a class holds: a parameter, or a configuration."""
    known = {parameter.name: parameter for parameter in parameters_of(config_class)}
    return {
        field.name: known.get(field.name, _hints(config_class)[field.name])
        for field in dataclasses.fields(config_class)
        if _UNSET not in field.metadata
    }


def check_ranges(config: typing.Any) -> None:
    """Check the numbers of a configuration that Python code made; for its ``__post_init__``.

    Raises:
        UsageError: One is out of the range that its field declares with `ranged`.
    """
    for field in dataclasses.fields(config):
        limits, value = range_of(field), getattr(config, field.name)
        if limits is not None and value is not None and value not in limits:
            raise UsageError(f"wrong {field.name}", expected=str(limits), got=value)


def values_of(config: object) -> dict[str, Scalar]:
    """Return a configuration as flat dotted names and plain values."""
    return {parameter.name: value for parameter, value in leaves_of(config)}


def leaves_of(config: object) -> Iterator[tuple[Parameter, Scalar]]:
    """Yield each parameter of a configuration and its value; one for each key where each has a value."""
    for parameter in parameters_of(type(config)):
        if parameter.key is None:
            yield parameter, _plain(_lookup(config, parameter.name))
            continue
        start = parameter.name.partition("{")[0]
        values = typing.cast("Mapping[str, object]", _lookup(config, start.removesuffix("_")))
        for key, value in values.items():
            yield dataclasses.replace(parameter, name=f"{start}{key}"), _plain(value)


def _default_of(config_class: type, field: dataclasses.Field[typing.Any]) -> object:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    raise InternalError(f"{config_class.__name__}.{field.name} has no default")


def _kind_of(hint: object, where: str) -> tuple[type, bool]:
    if isinstance(hint, type) and (hint in {bool, int, float} or issubclass(hint, str)):
        return hint, False
    if typing.get_origin(hint) is tuple:
        kind, is_list = _kind_of(typing.get_args(hint)[0], where)
        if not is_list:
            return kind, True
    raise InternalError(f"{where} has a type that no parameter can have: {hint}")


def _plain(value: object) -> Scalar:
    if isinstance(value, tuple):
        return typing.cast("Scalar", [_plain(item) for item in value])
    if isinstance(value, enum.StrEnum):
        return value.value
    return value if isinstance(value, bool | int | float) else str(value)


def _checked(parameter: Parameter, value: object, where: str) -> object:
    if parameter.is_list:
        if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
            raise UsageError(f"parameter {parameter.name} in {where}", expected="a list", got=value)
        return tuple(_checked_item(parameter, item, where) for item in value)
    return _checked_item(parameter, value, where)


def _checked_item(parameter: Parameter, value: object, where: str) -> object:
    name = f"parameter {parameter.name} in {where}"
    if issubclass(parameter.kind, enum.StrEnum):
        words = {str(word): word for word in parameter.kind}
        if not isinstance(value, str) or value not in words:
            raise UsageError(name, got=value, available=words)
        return words[value]
    if parameter.kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if parameter.parse is not None and isinstance(value, str):
        return parameter.parse(value)
    if parameter.kind is not str and issubclass(parameter.kind, str) and isinstance(value, str):
        return _text_of(parameter.kind, value, name)
    if type(value) is not parameter.kind:
        kind = parameter.kind if parameter.parse is None else str
        text = ",".join(map(str, value)) if isinstance(value, list) and not parameter.is_list else ""
        several = f", several words as {text}" if text and kind is str else ""
        raise UsageError(name, expected=f"a value of type {kind.__name__}{several}", got=value)
    if isinstance(value, int | float) and parameter.limits is not None and value not in parameter.limits:
        raise UsageError(name, expected=str(parameter.limits), got=value)
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(name, expected="a finite number", got=value)
    return value


def _text_of(kind: type[str], value: str, name: str) -> str:
    """Return a text of a class with rules of its own, such as the name of a view."""
    try:
        return kind(value)
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from None


def _assemble(config_class: type[ConfigT], values: Mapping[str, object], prefix: str) -> ConfigT:
    hints = _hints(config_class)
    arguments: dict[str, object] = {}
    for field in dataclasses.fields(typing.cast("typing.Any", config_class)):
        name = prefix + field.name
        if dataclasses.is_dataclass(hints[field.name]) and _PARSE not in field.metadata:
            arguments[field.name] = _assemble(hints[field.name], values, f"{name}.")
        elif _UNSET in field.metadata:
            arguments[field.name] = _of_keys(field, typing.get_args(hints[field.name])[0], values, f"{name}_")
        elif name in values:
            arguments[field.name] = values[name]
    return config_class(**arguments)


def _of_keys(
    field: dataclasses.Field[typing.Any], key: type[str], values: Mapping[str, object], start: str
) -> dict[str, object]:
    """Return the values of a field with `per_key`."""
    ends = {name: name.removeprefix(start) for name in values if name.startswith(start)}
    return {
        key(end): values[name]
        for name, end in ends.items()
        if _is_key(end, key) and values[name] != field.metadata[_UNSET]
    }


def _is_key(text: str, key: type[str]) -> bool:
    try:
        key(text)
    except ValueError:
        return False
    return True


def _lookup(config: object, name: str) -> object:
    return functools.reduce(getattr, name.split("."), config)
