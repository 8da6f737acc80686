"""`embodied-iqa distort list`: the catalogues, with parameters and their sources."""

from __future__ import annotations

import argparse
import json

from embodied_iqa.distortions import LEVELS, Entry, catalogue, miqd_catalogue


def run(arguments: argparse.Namespace) -> int:
    """Print the catalogues."""
    entries = (*catalogue(), *miqd_catalogue())
    if getattr(arguments, "json", False):
        print(json.dumps([_record(entry) for entry in entries], indent=2))
        return 0
    for entry in entries:
        levels = "  ".join("/".join(f"{value:g}" for value in row) for row in entry.parameters)
        head = f"{entry.id:20s} {entry.name:21s} {entry.distortion_class:12s} {entry.source:16s}"
        print(f"{head} {'/'.join(entry.parameter_names)}: {levels}")
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
