"""ROS parameter files: which parameters they set for which node, each only once.

ROS itself merges all sections that apply to a node in the order of the file: of a parameter that is set
twice, the last value holds, without a word. Here that is an error, whether the two places are one key, two
spellings of one name (``limits.tool_speed_mps`` and ``limits: {tool_speed_mps: ...}``), or two sections that
apply to one node (``arm_node``, ``/arm_node``, ``/**``). Of several files, the later ones win, as in ROS.
What a file sets for nodes of others is not read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import yaml

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.user_files.texts import Place, doubled, read_text
from embodied_iqa.base.user_files.yaml_files import MOST_YAML_BYTES, compose, parse_yaml, place_of, value_of

ROS_KEY: Final = "ros__parameters"
ALL_NODES: Final = "/**"


@dataclass(frozen=True, slots=True)
class Section:
    """What a file sets for the nodes of a name.

    Attributes:
        node: Name of the node with its namespace, ``/arm_node``, or a pattern with ``*`` or ``**``.
        place: Where the section begins.
        path: The file.
        places: Flat dotted names to where each of them is set.
    """

    node: str
    place: Place
    path: Path
    places: dict[str, Place] = field(default_factory=dict)
    _contents: dict[str, Any] = field(default_factory=dict)

    def add(self, name: str, key: Any, content: Any) -> None:
        """Add a parameter.

        Args:
            name: Its flat dotted name.
            key: Node of YAML of its key.
            content: Node of YAML of its value.

        Raises:
            InputError: It is there already.
        """
        if name in self.places:
            raise doubled(str(self.path), (self.node, name), self.places[name], place_of(key))
        self.places[name], self._contents[name] = place_of(key), content

    def values(self) -> dict[str, object]:
        """Return flat dotted names with values.

        Raises:
            InputError: A value is not a number of 64 bits.
        """
        return {name: value_of(content, str(self.path)) for name, content in self._contents.items()}

    @property
    def is_pattern(self) -> bool:
        """Whether the section is for more than one node."""
        return "*" in self.node

    @property
    def is_for_many(self) -> bool:
        """Whether the section ends with a pattern: then not every parameter has to be one of each node."""
        return "*" in self.node.rpartition("/")[2]

    def applies_to(self, node: str) -> bool:
        """Return whether a node has these parameters.

        Args:
            node: Its name with its namespace.
        """
        return _fits(self.node, node)


def read_sections(path: Path, nodes: Iterable[str] = ()) -> tuple[Section, ...]:
    """Read a ROS parameter file.

    Args:
        path: The file.
        nodes: Names with their namespace of the nodes for which no two sections may set one parameter.

    Raises:
        InputError: It cannot be read, or sets a parameter of a node twice; the message names both places.
        UsageError: A section has another content than ``ros__parameters``.
    """
    if path.exists() and not path.is_file():  # ROS would find a pipe empty after this
        raise InputError(f"{path} cannot be read twice", expected="a regular file of parameters")
    root = compose(read_text(path, most_bytes=MOST_YAML_BYTES), str(path))
    if root is None or (isinstance(root, yaml.ScalarNode) and value_of(root, str(path)) is None):
        return ()
    if not isinstance(root, yaml.MappingNode):
        raise InputError(f"{path} does not hold a mapping", expected=f"a node with {ROS_KEY}")
    sections = tuple(_sections_below(root, "", path))
    for first, second in combinations(sections, 2):
        if first.node == second.node:
            raise doubled(str(path), (first.node,), first.place, second.place)
    for node in nodes:
        applying = (section for section in sections if section.applies_to(node))
        for first, second in combinations(applying, 2):
            refuse_conflict(first, second)
    return sections


def refuse_conflict(first: Section, second: Section) -> None:
    """Refuse two sections that apply to one node and set the same parameter.

    Raises:
        InputError: They do; the message names both places.
    """
    both = first.places.keys() & second.places.keys()
    if both:
        name = min(both, key=lambda name: second.places[name].line)
        raise InputError(
            f"{second.places[name].in_file(str(second.path))}: {name} is set by section {second.node} and, "
            f"in line {first.places[name].line}, by section {first.node}, which both apply to one node"
        )


def parameter_files(arguments: Sequence[str]) -> tuple[Path, ...]:
    """Return the parameter files among the arguments of a node."""
    return tuple(Path(value) for word, value in _ros_options(arguments) if word == "--params-file")


def settings_of(
    node: str, arguments: Sequence[str], known: Callable[[str], bool] | None = None
) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the parameters that the arguments of a node set, and where each group is from.

    ROS reads words such as ``yes`` as bools; here they are what `user_files` reads.

    Args:
        node: Name of the node with its namespace.
        arguments: The words of the command line.
        known: Whether the node has a parameter: others of a section for many are left out. None: all stay.

    Raises:
        UserError: As for `read_sections`.
    """
    for path in parameter_files(arguments):
        for section in read_sections(path, [node]):
            if section.applies_to(node):
                values = section.values()
                if section.is_for_many and known is not None:
                    values = {name: value for name, value in values.items() if known(name)}
                yield f"section {section.node} of {path}", values
    for word, value in _ros_options(arguments):
        name, separator, text = value.partition(":=")
        owner, colon, parameter = name.rpartition(":")
        if word in {"-p", "--param"} and separator and (not colon or _is_named(node, owner)):
            yield f"{word} {value}", {parameter: parse_yaml(text, f"{word} {value}")}


def _sections_below(node: Any, namespace: str, path: Path) -> Iterator[Section]:
    for key, content in node.value:
        name = f"{namespace}/{key.value.strip('/')}"
        inner = [one.value for one, _ in content.value] if isinstance(content, yaml.MappingNode) else []
        if inner == [ROS_KEY]:
            yield _section(name, key, content.value[0][1], path)
        elif inner and ROS_KEY not in inner and key.value != ROS_KEY:
            yield from _sections_below(content, name, path)
        else:
            got = inner or content.value
            raise UsageError(
                f"{place_of(key).in_file(str(path))}: section {name.removeprefix('/')}",
                expected=f"one key, {ROS_KEY}",
                got=got,
            )


def _section(name: str, key: Any, content: Any, path: Path) -> Section:
    section = Section(name, place_of(key), path)
    if isinstance(content, yaml.MappingNode):
        _add_settings(section, content, "")
    elif value_of(content, str(path)) is not None:
        place = place_of(content).in_file(str(path))
        raise UsageError(
            f"{place}: {ROS_KEY} of {name.removeprefix('/')}", expected="names and values", got=content.value
        )
    return section


def _add_settings(section: Section, node: Any, prefix: str) -> None:
    for key, value in node.value:
        name = prefix + key.value
        if isinstance(value, yaml.MappingNode):
            _add_settings(section, value, f"{name}.")
        else:
            section.add(name, key, value)


def _fits(pattern: str, node: str) -> bool:
    """Return whether a node's name with its namespace is of a pattern with ``*`` and ``**``."""
    expression = re.escape(pattern).replace(r"/\*\*", r"(?:/\w+)*").replace(r"\*", r"\w+")
    return re.fullmatch(expression, node) is not None


def _is_named(node: str, owner: str) -> bool:
    """Return whether ``owner`` of ``-p owner:name:=value`` is a node, by its name or a pattern."""
    return owner == node.rpartition("/")[2] or _fits(f"/{owner.lstrip('/')}", node)


def _ros_options(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each option between ``--ros-args`` and ``--`` with the word behind it."""
    is_ros = False
    for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
        if word in {"--ros-args", "--"}:
            is_ros = word == "--ros-args"
        elif is_ros:
            yield word, following
