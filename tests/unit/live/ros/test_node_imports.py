"""Nodes start fast: they import no library that they do not need."""

from __future__ import annotations

import subprocess
import sys

from embodied_iqa.runs.graph.node_table import GRAPH

SLOW = "duckdb matplotlib numba onnxruntime pandas pyarrow rich ruckig scipy torch"
PLANS = "arm_node"
"""The only node that plans motions, with ruckig and SciPy."""


def imported_by(nodes: list[str]) -> set[str]:
    names = ", ".join(f"embodied_iqa.live.nodes.{name}" for name in nodes)
    script = f"import sys, {names}; print(*(name for name in {SLOW.split()} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_nodes_import_no_slow_library_at_their_start() -> None:
    assert imported_by([entry.name for entry in GRAPH if entry.name != PLANS]) == set()


def test_the_node_that_plans_imports_what_it_plans_with() -> None:
    assert imported_by([PLANS]) == {"ruckig", "scipy"}
