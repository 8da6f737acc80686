"""`embodied-iqa distort list`: the catalogues, with parameters and their sources."""

from __future__ import annotations

import argparse
from typing import Final

from embodied_iqa.cli.output import console, next_command, print_json, table_of
from embodied_iqa.imaging.distortions import LEVELS, Entry, catalogue, miqd_catalogue

_WIDTH_OF_ALL: Final = 110


def run(arguments: argparse.Namespace) -> int:
    """Print the catalogues."""
    entries = (*catalogue(), *miqd_catalogue())
    if getattr(arguments, "json", False):
        print_json([_record(entry) for entry in entries])
        return 0
    out = console()
    has_room = out.width >= _WIDTH_OF_ALL
    table = table_of("id", "name", *(("class", "source") if has_room else ()), "levels 1 to 5")
    for entry in entries:
        levels = "  ".join("/".join(f"{value:g}" for value in row) for row in entry.parameters)
        origin = (entry.distortion_class, entry.source) if has_room else ()
        table.add_row(entry.id, entry.name, *origin, f"{'/'.join(entry.parameter_names)}: {levels}")
    out.print(table, highlight=False)
    next_command("distort", "IN.png", "--distortion", "15:4", "--out", "DIR")
    return 0


def _record(entry: Entry) -> dict[str, object]:
    return {
        "id": entry.id,
        "name": entry.name,
        "class": str(entry.distortion_class),
        "levels": [entry.named_parameters(level) | {"level": level} for level in LEVELS],
        "unit": entry.unit,
        "source": str(entry.source),
        "coherent": entry.coherent,
        "remark": entry.remark,
    }
