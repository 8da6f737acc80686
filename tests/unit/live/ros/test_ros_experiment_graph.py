"""The graph of an experiment's run: the policy sees what the gate of this run passes on."""

from __future__ import annotations

import pytest

from embodied_iqa.live.ros.experiment_session import graph_of
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.runs.experiment.arms import GateArm, parse_arms
from embodied_iqa.runs.experiment.experiment_plan import ExperimentTask, RunKey
from embodied_iqa.runs.graph.node_table import resolve


@pytest.mark.parametrize("arm", parse_arms("off,on,on+repair"), ids=lambda arm: arm.name)
def test_the_policy_sees_repaired_images_where_the_gate_repairs_them(arm: GateArm) -> None:
    key = RunKey(parse_vla("classical-vla"), ExperimentTask("pick the red cube", 7), None, arm)
    graph = graph_of(key, resolve(()))
    assert graph.vla_node.subject == key.subject
    assert graph.vla_node.repaired == graph.gate_node.judge.repairs == ("repair" in arm.name)
