"""The parameter file of a real cell: a line for each value, with where the value came from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from embodied_iqa.base.config import Scalar
from embodied_iqa.base.user_files.yaml_files import dump_yaml
from embodied_iqa.runs.graph.parameter_files import ROS_KEY

_WIDTH: Final = 10_000
_ORDER: Final = ("arm_node", "camera_node", "gate_node", "vla_node", "vlm_node")


@dataclass(frozen=True, slots=True)
class Setting:
    """A parameter and its origin.

    Attributes:
        name: Such as ``arm_node.ur.ip``.
        value: The value.
        origin: Where it came from, in words.
    """

    name: str
    value: Scalar
    origin: str


@dataclass(slots=True)
class CellFile:
    """What is known of a cell, and what is not.

    Attributes:
        settings: In any order.
        left_out: One line for each thing that could not be read and was not given.
        remarks: Lines for the head of the file.
    """

    settings: list[Setting] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def set(self, name: str, value: Scalar, origin: str) -> None:
        """Add a parameter."""
        self.settings.append(Setting(name, value, origin))

    def values(self) -> dict[str, object]:
        """Return the parameters by name, as overrides."""
        return {setting.name: setting.value for setting in self.settings}

    def text(self) -> str:
        """Return the file as YAML in the form of ROS parameter files."""
        lines = [f"# {_one_line(line)}" for line in self.remarks]
        ordered = sorted(self.settings, key=lambda setting: _ORDER.index(_node_of(setting)))
        for node, settings in groupby(ordered, key=_node_of):
            lines += ["", f"{node}:", f"  {ROS_KEY}:", *_lines_of(settings)]
        if self.left_out:
            lines += ["", "# Left out, because it could not be read and was not given:"]
            lines += [f"# - {_one_line(line)}" for line in self.left_out]
        return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    """Return a comment: a line break in what a camera says of itself must not become a parameter."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def _node_of(setting: Setting) -> str:
    return setting.name.partition(".")[0]


def _lines_of(settings: Iterable[Setting]) -> Sequence[str]:
    def line(setting: Setting) -> str:
        tree = {setting.name.partition(".")[2]: setting.value}
        is_list = isinstance(setting.value, list)
        value = dump_yaml(tree, width=_WIDTH, flow_leaves=is_list).strip()
        return f"    {value}  # {_one_line(setting.origin)}"

    return [line(setting) for setting in settings]
