"""`embodied-iqa distort list`: every distortion with its parameters and where they come from."""

from __future__ import annotations

import argparse
import json

from embodied_iqa.distortions import Entry, catalogue, miqd_catalogue

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> int:
    """Print the catalogues."""
    entries = (*catalogue(), *miqd_catalogue())
    if getattr(arguments, "json", False):
        print(json.dumps([_record(line) for line in entries], indent=2))
    else:
        _print_table(entries)
    return 0


def _record(line: Entry) -> dict[str, object]:
    return {
        "id": line.id,
        "name": line.name,
        "class": str(line.distortion_class),
        "levels": [
            dict(zip(line.parameter_names, row, strict=True)) | {"level": level}
            for level, row in enumerate(line.parameters, start=1)
        ],
        "unit": line.unit,
        "source": str(line.source),
        "coherent": line.coherent,
        "remark": line.remark,
    }


def _print_table(entries: tuple[Entry, ...]) -> None:
    for line in entries:
        levels = "  ".join("/".join(f"{value:g}" for value in row) for row in line.parameters)
        names = "/".join(line.parameter_names)
        print(
            f"{line.id:20s} {line.name:21s} {line.distortion_class:12s} {line.source:16s} {names}: {levels}"
        )
