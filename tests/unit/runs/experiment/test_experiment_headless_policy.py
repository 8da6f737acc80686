"""An experiment without ROS refuses a policy whose cameras the cell lacks, as a trial does."""

from __future__ import annotations

import re

import pytest

from embodied_iqa.base.errors import UsageError
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.models.subjects.serving.served import serve_vla
from embodied_iqa.runs.experiment.experiment_plan import ExperimentTask, RunKey
from embodied_iqa.runs.experiment.headless_runs import HeadlessRunner
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.offline.headless.options import HeadlessOptions
from wire_servers import serving


def test_a_served_policy_is_told_how_to_name_its_cameras_first() -> None:
    options = HeadlessOptions(resolve((), {"camera_node.views": ["top", "wrist"]}))
    first = "sees the side view, which no camera takes; expected --set vla_node.policy.views=top,wrist ("
    with serving(serve_vla(parse_vla("panel-vla-side"))) as port, HeadlessRunner(options) as runner:
        policy = parse_vla(f"openpi://127.0.0.1:{port}")
        with pytest.raises(UsageError, match=re.escape(f"{policy} {first}")):
            runner.run(RunKey(policy, ExperimentTask("pick the red cube", 7), None))
