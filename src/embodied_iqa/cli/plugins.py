"""`embodied-iqa plugins`: the parts of other installed distributions, and whether each loads."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Final

from rich.text import Text

from embodied_iqa.base.errors import UserError
from embodied_iqa.base.plugins import Plugin, PluginGroup, plugins
from embodied_iqa.cli.output import console, print_json, table_of

_NONE: Final = "no installed distribution has a part for embodied_iqa (docs/extend.md says how to offer one)"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Import every plug-in and print what there is; return 1 if one of them is broken."""
    found = [(plugin, _fault(plugin)) for group in PluginGroup for plugin in plugins(group)]
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
    return 1 if any(fault for _, fault in found) else 0


def _fault(plugin: Plugin) -> str | None:
    try:
        plugin.load()
    except UserError as error:
        return str(error)
    return None
