"""Parts of other installed distributions, found by their entry points: subjects, metrics, cameras, worlds.

A distribution offers a part under a name, in its `pyproject.toml`::

    [project.entry-points."embodied_iqa.metrics"]
    sharpness = "acme_iqa.metrics:Sharpness"

The name then works as ``python:acme_iqa.metrics:Sharpness`` does. To install the distribution and to name the
part is the consent to run it: nothing of it is imported before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from embodied_iqa.base.errors import InputError, UsageError, UserError
from embodied_iqa.base.user_code import check_target, load_factory

if TYPE_CHECKING:
    from importlib.metadata import Distribution

_PREFIX: Final = "embodied_iqa."
_FILE: Final = "entry_points.txt"
_GROUP: Final = re.compile(r"^\[(embodied_iqa\.[^]]*)]", re.MULTILINE)


class PluginGroup(StrEnum):
    """What a plug-in makes; the name of its group of entry points."""

    SUBJECTS = "embodied_iqa.subjects"
    """A factory of a `Vlm` or a `Vla`, with that return type."""
    METRICS = "embodied_iqa.metrics"
    """A factory of a `Metric`."""
    CAMERAS = "embodied_iqa.cameras"
    """A factory ``make(view, clock_ns)`` of a `Camera` or a `LiveCamera`."""
    WORLDS = "embodied_iqa.worlds"
    """A factory of a `World`."""

    @property
    def part(self) -> str:
        """What one of them is called."""
        return self.removeprefix(_PREFIX).removesuffix("s")


@dataclass(frozen=True, slots=True)
class Plugin:
    """A part of another distribution; not imported.

    Attributes:
        group: What it makes.
        name: Its name.
        target: ``module:attribute`` of its factory.
        distribution: Name and version of the distribution.
    """

    group: PluginGroup
    name: str
    target: str
    distribution: str

    def __str__(self) -> str:
        return f"{self.group.part} {self.name} of {self.distribution}"

    def check(self) -> None:
        """Check that its module exists; at most the packages that contain it are imported.

        Raises:
            InputError: It does not; the message names the plug-in.
        """
        with self._named():
            check_target(self.target)

    def load(self) -> Any:
        """Import the factory.

        Raises:
            InputError: It cannot be imported or called; the message names the plug-in.
        """
        with self._named():
            return load_factory(self.target)

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except UserError as error:
            raise InputError(f"the {self} is broken: {error}") from error


def distributions() -> Iterable[Distribution]:
    """Return the installed distributions."""
    from importlib import metadata  # noqa: PLC0415 - takes a node 30 ms, and most look for no plug-in

    return metadata.distributions()


def plugins(group: PluginGroup) -> tuple[Plugin, ...]:
    """Return the plug-ins of a group, by name; nothing of them is imported."""
    found = (plugin for one in distributions() for plugin in _plugins_of(one, group))
    by_place = {(plugin.name, plugin.target): plugin for plugin in found}  # a folder twice on the path
    return tuple(sorted(by_place.values(), key=lambda plugin: (plugin.name, plugin.distribution)))


def unknown_groups() -> dict[str, str]:
    """Return groups of entry points that begin as ours do but are none, each with its distribution."""
    return {
        group: _owner(one)
        for one in distributions()
        for group in _GROUP.findall(one.read_text(_FILE) or "")
        if group not in set(PluginGroup)
    }


def plugin_names(group: PluginGroup) -> list[str]:
    """Return the names of the plug-ins of a group, each once."""
    return list(dict.fromkeys(plugin.name for plugin in plugins(group)))


def find_plugin(group: PluginGroup, name: str) -> Plugin | None:
    """Return the plug-in of this name; None if no distribution has one.

    Raises:
        UsageError: Several distributions have one.
    """
    found = [plugin for plugin in plugins(group) if plugin.name == name]
    if len(found) > 1:
        owners = [plugin.distribution for plugin in found]
        raise UsageError(
            f"several distributions have a {group.part} {name}", expected="one", available=owners
        )
    return found[0] if found else None


def plugin_target(group: PluginGroup, name: str) -> str:
    """Return ``module:attribute`` of the plug-in of this name, whose module exists; empty for none.

    Raises:
        UsageError: Several distributions have one.
        InputError: Its module is not there.
    """
    plugin = find_plugin(group, name) if name else None
    if plugin is None:
        return ""
    plugin.check()
    return plugin.target


def _plugins_of(one: Distribution, group: PluginGroup) -> Iterator[Plugin]:
    text = one.read_text(_FILE) or ""
    if f"[{group}]" not in text:
        return
    section = text.split(f"[{group}]", 1)[1].split("\n[", 1)[0]
    for line in section.splitlines():
        name, equals, target = line.partition("=")
        if equals and not line.lstrip().startswith("#"):  # a malformed target is reported on loading
            yield Plugin(group, name.strip(), target.partition("[")[0].strip(), _owner(one))


def _owner(one: Distribution) -> str:
    return f"{one.metadata['Name']} {one.version}"
