"""What a node that is started by hand prints with --help: what it does, its topics, its parameters."""

from __future__ import annotations

import enum
import inspect
import sys
import textwrap
import typing
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from embodied_iqa.base.config import Parameter, parameters_of

_OPTIONS: Final = frozenset({"-h", "--help"})
_ROS: Final = "--ros-args"
_WIDTH: Final = 100
_USAGE: Final = f"{_ROS} [-p NAME:=VALUE ...] [--params-file FILE] [-r FROM:=TO ...]"


def wants_help(words: Sequence[str]) -> bool:
    """Return whether a command line asks for help; words for ROS do not count."""
    own = words[: words.index(_ROS)] if _ROS in words else words
    return not _OPTIONS.isdisjoint(own)


def help_of(make_node: Callable[[], Any], program: str) -> str:
    """Return the help of a node.

    Args:
        make_node: Its class, or a function whose annotation names it.
        program: Path of what runs it.
    """
    found = make_node if inspect.isclass(make_node) else typing.get_type_hints(make_node).get("return")
    parts = [f"usage: {Path(program).stem} {_USAGE}"]
    if inspect.isclass(found):
        module = sys.modules[found.__module__].__doc__ or ""
        parts += [_wrapped(module, ""), *_paragraphs(inspect.getdoc(found) or "")]
        if (config := _config_of(found)) is not None:
            parts.append("parameters:\n" + "\n".join(map(_row, parameters_of(config))))
    return "\n\n".join(parts) + "\n"


def _paragraphs(text: str) -> Iterator[str]:
    return (_wrapped(one, "") for one in text.split("\n\n"))


def _config_of(node_class: type) -> type | None:
    """Return the class of the parameters, which a class of nodes names in its first base."""
    for one in node_class.__mro__:
        for base in getattr(one, "__orig_bases__", ()):
            for argument in typing.get_args(base):
                if inspect.isclass(argument):
                    return argument
    return None


def _row(parameter: Parameter) -> str:
    limits = ""
    if issubclass(parameter.kind, enum.Enum):
        limits = " One of: " + ", ".join(str(member.value) for member in parameter.kind) + "."
    elif parameter.limits is not None:
        limits = f" Range: {parameter.limits}."
    words = f"{parameter.description}{limits}"
    return f"  {parameter.name}:={_shown(parameter.default)}\n{_wrapped(words, '      ')}"


def _shown(value: object) -> str:
    """Return a default as ROS reads it; an empty one is not shown."""
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]" if value else ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _wrapped(text: str, indent: str) -> str:
    words = " ".join(text.split())
    return textwrap.fill(words, _WIDTH, initial_indent=indent, subsequent_indent=indent)
