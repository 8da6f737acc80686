"""YAML in which every key occurs once and no word or number is converted by accident.

===========================================================  ===============================================
scalar without quotes                                        value
===========================================================  ===============================================
``true True TRUE false False FALSE``                         bool
``~ null Null NULL``, nothing                                None
``12  -3  +5  0x1F``                                         int, of 64 bits
``1.5  .5  5.  1e3  5e-2  .inf  -.inf``                      float
``yes  on  y  010  0o17  1_000  1:30  2026-01-31  nan inf``  text
``.nan  1e999  9223372036854775808``                         an error: no number, more than 64 bits
===========================================================  ===============================================

These are the numbers of `rcl_yaml_param_parser`, with which ROS nodes read their parameters. Where it reads a
bool or a number and YAML 1.2 text or another number (``yes``, ``nan``, ``010``), the scalar is text: where a
bool or a number is expected, that is an error. Keys are text. Aliases, which nest to any
size, are errors but in files of others, where all that they stand for has a bound. Tags other than those of
these types are errors; ``!!python/tuple``, with which `ros2 launch` writes arrays, is a list.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from embodied_iqa.base.errors import InputError, first_line
from embodied_iqa.base.user_files.texts import Place, doubled, read_text

MOST_YAML_BYTES: Final = 8 << 20
_MOST_LEVELS: Final = 32
_MOST_NODES: Final = 100_000
"""Of a file with aliases, with all that they stand for."""
_INT_BITS: Final = 63
_BOOLS: Final = {word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_INT: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*|0[xX][0-9a-fA-F]+)\Z")
_FLOAT: Final = re.compile(
    r"[-+]?(?:(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)\Z"
)
_INFINITE: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z")
_NANS: Final = frozenset({".nan", ".NaN", ".NAN"})
_NOT_TEXT: Final = re.compile(
    r"(?:[yYnN]|[-+]?(?:[0-9]+|0[xX][0-9a-fA-F]*\.?[0-9a-fA-F]*(?:[pP][-+]?[0-9]+)?"
    r"|(?:\.[0-9]+|[0-9]+\.?[0-9]*)(?:[eE][-+]?[0-9]+)?|(?i:inf|infinity|nan(?:\(\w*\))?)))\Z"
)
"""What ROS takes as a bool or a number, and PyYAML writes without quotes although it is text."""
_PLAIN, _QUOTED = "plain", "quoted"
_TAG: Final = "tag:yaml.org,2002:"
_TYPES: Final = {"int": int, "float": float, "bool": bool, "null": type(None), "str": str}
_COLLECTIONS: Final = {
    yaml.MappingNode: frozenset({f"{_TAG}map"}),
    yaml.SequenceNode: frozenset({f"{_TAG}seq", f"{_TAG}python/tuple"}),
}
_CLoader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""The parser in C, where PyYAML has it."""


class _Loader(_CLoader):  # type: ignore[misc]
    """Composes nodes whose tag says whether a scalar has quotes, if it has no tag of its own."""

    def resolve(self, kind: type, value: str | None, implicit: Any) -> str:
        if kind is yaml.ScalarNode:
            return _PLAIN if implicit[0] else _QUOTED
        return str(super().resolve(kind, value, implicit))


class _Dumper(yaml.SafeDumper):
    """Quotes all text that a reader could take for something else, and writes no aliases."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the base class fixes the signature
        return True


_Dumper.add_implicit_resolver(f"{_TAG}float", _NOT_TEXT, list("+-.0123456789yYnNiI"))


def load_yaml(path: Path, *, aliases: bool = False) -> dict[str, Any]:
    """Read a YAML file whose top level is a mapping; of an empty one, an empty mapping.

    Args:
        path: The file.
        aliases: Whether they are read, as of a file that a program of others wrote.

    Raises:
        InputError: The file cannot be read, is not such a mapping, has a key twice in one mapping, an alias,
            an unknown tag, or a number that is none; the message names the place.
    """
    node = compose(read_text(path, most_bytes=MOST_YAML_BYTES), str(path), aliases=aliases)
    content = None if node is None else value_of(node, str(path))
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise InputError(f"{path} does not hold a mapping", got=type(content).__name__)
    return content


def parse_yaml(text: str, where: str) -> Any:
    """Return the content of a YAML text.

    Args:
        text: The text.
        where: What it is, for the message.

    Raises:
        InputError: As for `load_yaml`.
    """
    node = compose(text, where)
    return None if node is None else value_of(node, where)


def compose(text: str, where: str, *, aliases: bool = False) -> Any:
    """Return the root node of a YAML text, None if it is empty.

    Node classes are those of PyYAML; every mapping has scalar keys, each once. `value_of` and `place_of` give
    the value and the place of a node.

    Raises:
        InputError: As for `load_yaml`.
    """
    nodes = _composed(text, where, aliases=aliases)
    if len(nodes) > 1:
        place = place_of(nodes[1]).in_file(where)
        raise InputError(f"{place}: not YAML of one document", expected="no line --- here")
    return nodes[0] if nodes else None


def value_of(node: Any, where: str) -> Any:
    """Return the plain data of a node: dictionaries, lists, and the scalars that this module lists.

    Raises:
        InputError: A scalar does not have the type of its tag, or is not a number of 64 bits.
    """
    if isinstance(node, yaml.MappingNode):
        return {key.value: value_of(value, where) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [value_of(item, where) for item in node.value]
    if node.tag == _QUOTED:
        return node.value
    if node.tag == _PLAIN:
        return _scalar(node, where)
    kind = _TYPES[node.tag.removeprefix(_TAG)]
    value = node.value if node.style or kind is str else _scalar(node, where)
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        raise _error(node, where, "the value does not have the type of its tag", kind.__name__, node.value)
    return value


def is_null(node: Any) -> bool:
    """Return whether a node is a scalar that stands for nothing."""
    return node.tag == f"{_TAG}null" or (node.tag == _PLAIN and node.value in _NULLS)


def place_of(node: Any) -> Place:
    """Return where a node begins."""
    return Place(node.start_mark.line + 1, node.start_mark.column + 1)


def dump_yaml(tree: object, *, width: int = 80, flow_leaves: bool = False) -> str:
    """Return YAML that this module, YAML 1.1, YAML 1.2 and ROS read alike.

    Args:
        tree: Plain data; mappings keep their order.
        width: Longest line where it can be broken.
        flow_leaves: Write a collection of scalars in one line, with brackets.
    """
    return yaml.dump(
        tree,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=width,
        default_flow_style=None if flow_leaves else False,
    )


def _composed(text: str, where: str, *, aliases: bool) -> list[Any]:
    try:
        _check_events(text, where, aliases=aliases)
        nodes: list[Any] = list(yaml.compose_all(text, Loader=_Loader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = where if mark is None else Place(mark.line + 1, mark.column + 1).in_file(where)
        problem = getattr(error, "problem", None) or first_line(error)
        raise InputError(f"{place}: not YAML: {problem}") from None
    for node in nodes:
        _check(node, where, ())
    return nodes


@dataclass(slots=True)
class _Extent:
    """How much a node holds, with what its aliases stand for."""

    nodes: int = 1
    levels: int = 1

    def add(self, below: _Extent) -> None:
        self.nodes += below.nodes
        self.levels = max(self.levels, 1 + below.levels)


def _check_events(text: str, where: str, *, aliases: bool) -> None:
    """Reject aliases, or too much of what they stand for, and deep nesting, before nodes are made."""
    named: dict[str, _Extent] = {}
    path: list[tuple[str | None, _Extent]] = [(None, _Extent(levels=0))]
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            path.append((event.anchor, _Extent()))
            found = _Extent(0, 0)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, found = path.pop()
            named |= {anchor: found} if anchor else {}
        elif isinstance(event, yaml.ScalarEvent):
            found = _Extent(1, 0)
            named |= {event.anchor: found} if event.anchor else {}
        elif isinstance(event, yaml.AliasEvent):
            if not aliases or event.anchor not in named:  # one in itself has no end
                raise _error(event, where, "aliases are not read", "the value itself", f"*{event.anchor}")
            found = named[event.anchor]
        else:
            continue
        if not isinstance(event, yaml.CollectionStartEvent):
            path[-1][1].add(found)
        if len(path) - 1 + found.levels > _MOST_LEVELS:
            raise _error(event, where, "too many levels", f"at most {_MOST_LEVELS}")
        if path[-1][1].nodes > _MOST_NODES and aliases:
            raise _error(
                event, where, "too many values", f"at most {_MOST_NODES} with what aliases stand for"
            )


def _check(node: Any, where: str, keys: Sequence[str | int]) -> None:
    """Check the keys and tags of a node and of all below it."""
    if isinstance(node, yaml.ScalarNode):
        if node.tag not in {_PLAIN, _QUOTED} and node.tag.removeprefix(_TAG) not in _TYPES:
            raise _error(node, where, "unknown tag", " ".join(f"!!{name}" for name in _TYPES), node.tag)
        return
    if node.tag not in _COLLECTIONS[type(node)]:
        raise _error(node, where, "unknown tag", "none", node.tag)
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _check(item, where, (*keys, index))
        return
    seen: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _error(key, where, "a key is a collection", "text")
        path = (*keys, key.value)
        _check(key, where, path)
        if key.value in seen:
            raise doubled(where, path, place_of(seen[key.value]), place_of(key))
        seen[key.value] = key
        _check(value, where, path)


def _scalar(node: Any, where: str) -> bool | int | float | str | None:
    text: str = node.value
    if text in _BOOLS:
        return _BOOLS[text]
    if text in _NULLS:
        return None
    if _INT.match(text):
        whole = int(text, 0)
        if not -(1 << _INT_BITS) <= whole < 1 << _INT_BITS:
            raise _error(node, where, "a whole number is too large", "at most 64 bits", text)
        return whole
    if _INFINITE.match(text):
        return float(text.replace(".", ""))
    if _FLOAT.match(text):
        if math.isinf(number := float(text)):
            raise _error(node, where, "a number is too large", "at most 64 bits", text)
        return number
    if text in _NANS:
        raise _error(node, where, "a value is not a number", "a number", text)
    return text


def _error(at: Any, where: str, message: str, expected: str | None = None, got: object = None) -> InputError:
    """Return an error at a node or an event."""
    return InputError(f"{place_of(at).in_file(where)}: {message}", expected=expected, got=got)
