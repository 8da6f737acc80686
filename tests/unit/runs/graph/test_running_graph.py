"""A session uses a running graph only if it is the one that the session was planned for."""

from __future__ import annotations

import re
from typing import Any

import pytest

from embodied_iqa.base.errors import UsageError
from embodied_iqa.runs.graph.node_table import nodes_of, resolve
from embodied_iqa.runs.graph.parameters import GraphParameters
from embodied_iqa.runs.graph.running_graph import check_running
from embodied_iqa.runs.graph.session_plan import SessionPlan
from real_arm import REAL_ARM

REAL = REAL_ARM | {"gate_node.calibration": "/cell/mine.yaml"}


def _plan(graph: GraphParameters, *chosen: str) -> SessionPlan:
    return SessionPlan(("pick the red cube",), 1, (), graph, attach=True, chosen=chosen)


def _running(overrides: dict[str, Any]) -> dict[str, dict[str, Any]]:
    graph = resolve(overrides=overrides)
    return {entry.name: dict(graph.values()[entry.name]) for entry in nodes_of(graph)}


def test_a_real_arm_is_not_taken_for_the_simulated_one() -> None:
    message = "the running graph has a real arm, and the parameters of this session are for a simulated arm"
    with pytest.raises(UsageError, match=f"{message}; expected --config FILE"):
        check_running(_plan(resolve()), _running(REAL))
    check_running(_plan(resolve(overrides=REAL)), _running(REAL))


def test_a_running_gate_with_the_shipped_calibration_moves_no_real_arm() -> None:
    own = resolve(overrides=REAL)
    shipped = {name: value for name, value in REAL.items() if name != "gate_node.calibration"}
    with pytest.raises(UsageError, match="shipped calibration is for simulated cameras"):
        check_running(_plan(own), _running(shipped))
    check_running(_plan(own), _running(shipped | {"gate_node.judge.mode": "shadow"}))


def test_what_was_chosen_must_be_what_runs() -> None:
    plan = _plan(resolve(overrides={"vla_node.subject": "classical-vla"}), "vla_node.subject")
    message = "the running graph has another vla_node.subject; expected classical-vla; got 'panel-vla-query'"
    with pytest.raises(UsageError, match=re.escape(message)):
        check_running(plan, _running({"vla_node.subject": "panel-vla-query"}))
    check_running(plan, _running({"vla_node.subject": "classical-vla", "vla_node.max_chunks": 3}))
