"""Nodes start fast: they import no library that they do not need."""

from __future__ import annotations

import subprocess
import sys

from embodied_iqa.runs.graph.graph_nodes import GRAPH

SLOW = "duckdb matplotlib numba onnxruntime pandas pyarrow rich ruckig scipy torch"
STARTS = """
import gc
import sys

sys.argv[0] = "-m"  # as `python -m` has it while it imports the package
import embodied_iqa.live.nodes
from embodied_iqa.base.errors import UsageError
from embodied_iqa.live.ros.node import main_of

before = gc.isenabled()


def node():
    raise UsageError(f"collects {before}, then {gc.isenabled()}")


sys.exit(main_of(node))
"""
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


def test_garbage_is_collected_again_before_a_node_is_made() -> None:
    done = subprocess.run([sys.executable, "-c", STARTS], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "node: collects False, then True\n")
