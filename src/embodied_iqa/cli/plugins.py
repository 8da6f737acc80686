"""`embodied-iqa plugins`: the parts of other installed distributions, and whether each loads."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Final

from rich.text import Text

from embodied_iqa.base.errors import UserError
from embodied_iqa.base.plugins import Plugin, PluginGroup, plugins, unknown_groups
from embodied_iqa.cli.output import console, print_json, table_of
from embodied_iqa.models.subjects.catalogue import find_entry
from embodied_iqa.models.subjects.reference import parse_reference
from embodied_iqa.quality.metrics.catalogue.names import is_ours
from embodied_iqa.world.libero.suites import HORIZONS
from embodied_iqa.world.worlds import CELL

_NONE: Final = "no installed distribution has a part for embodied_iqa (docs/extend.md says how to offer one)"

_IS_OURS: Final[Mapping[PluginGroup, Callable[[str], object]]] = {
    PluginGroup.SUBJECTS: find_entry,
    PluginGroup.METRICS: is_ours,
    PluginGroup.WORLDS: lambda name: name == CELL or name in HORIZONS,
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Import every plug-in and print what there is; return 1 if one of them cannot be used."""
    found = [(plugin, _fault(plugin)) for group in PluginGroup for plugin in plugins(group)]
    unknown = unknown_groups()
    if arguments.json:
        print_json([asdict(plugin) | {"part": plugin.group.part, "fault": fault} for plugin, fault in found])
    elif not found:
        console().print(_NONE, highlight=False)
    else:
        table = table_of("name", "part", "distribution", "factory", "loads")
        for plugin, fault in found:
            answer = Text(fault, style="red") if fault else Text("yes", style="green")
            table.add_row(plugin.name, plugin.group.part, plugin.distribution, Text(plugin.target), answer)
        console().print(table)
    for group, owner in unknown.items():
        known = ", ".join(PluginGroup)
        print(f"{owner}: the entry points [{group}] are ignored; available: {known}", file=sys.stderr)
    return 1 if unknown or any(fault for _, fault in found) else 0


def _fault(plugin: Plugin) -> str | None:
    is_ours_too = _IS_OURS.get(plugin.group)
    if is_ours_too is not None and is_ours_too(plugin.name):
        return f"no: embodied_iqa has a {plugin.group.part} of this name, and its own come first"
    try:
        plugin.load()
        if plugin.group is PluginGroup.SUBJECTS:
            parse_reference(plugin.name)  # leaves no role open, as `subjects check` needs it
    except UserError as error:
        return str(error)
    return None
