"""The page on the emulator lists every limit of a rehearsal, beside the one for a real cell."""

from __future__ import annotations

import re
from functools import reduce
from pathlib import Path

from embodied_iqa.base.resources import source_checkout
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.graph.parameters import GraphParameters
from real_arm import REAL_ARM

ROOT = source_checkout() or Path()
REHEARSAL = ROOT / "examples/first_day/rehearsal.yaml"
_LINE = re.compile(r"^ +([\w.]+): [\d.]+$", re.MULTILINE)
_ROW = re.compile(r"\| `(\w+_node\.[\w.]+)` \| ([\d.]+) \| ([\d.]+) \|")


def value_of(graph: GraphParameters, name: str) -> float:
    return float(reduce(getattr, name.split("."), graph))  # type: ignore[arg-type]


def test_the_page_has_the_limits_of_the_file_and_the_defaults() -> None:
    rows = _ROW.findall((ROOT / "docs/emulator.md").read_text(encoding="utf-8"))
    usual, relaxed = resolve(overrides=REAL_ARM), resolve((REHEARSAL,), REAL_ARM)
    written = _LINE.findall(REHEARSAL.read_text(encoding="utf-8"))
    assert [name.partition(".")[2] for name, *_ in rows] == written, "each line of the file has its row"
    for name, rehearsal, default in rows:
        assert value_of(relaxed, name) == float(rehearsal), name
        assert value_of(usual, name) == float(default), name
