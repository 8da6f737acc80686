"""Times of a lease as parameters: set once for all nodes, old names refused, cameras fast enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from embodied_iqa.arm.lease_options import LeaseOptions
from embodied_iqa.base.config import former_names, parameters_of
from embodied_iqa.base.errors import UsageError
from embodied_iqa.runs.graph.lease_parameters import LEASE_GROUPS
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.graph.parameters import GraphParameters
from embodied_iqa.runs.offline.headless.options import HeadlessOptions
from real_arm import WORKSPACE

TTL = "gate_node.judge.lease.ttl_s"
REAL = {
    "camera_node.source": "realsense",
    "arm_node.robot": "ur5",
    "arm_node.model": "ur5",
    **WORKSPACE,
    "arm_node.ur.ip": "192.0.2.1",
}
REAL_POLICY = {"vla_node.subject": "classical-vla"}


def of_each_node(graph: GraphParameters) -> list[LeaseOptions]:
    return [graph.gate_node.judge.lease, graph.arm_node.controller.lease, graph.sim_node.lease]


def test_the_shipped_file_has_the_defaults() -> None:
    assert of_each_node(resolve()) == [LeaseOptions()] * 3


@pytest.mark.parametrize(("node", "group"), LEASE_GROUPS.items())
def test_a_time_that_one_node_sets_holds_for_all(tmp_path: Path, node: str, group: str) -> None:
    file = tmp_path / "own.yaml"
    times = {f"{group}.overrun_s": 0.05, f"{group}.ttl_s": 0.2}  # the shipped file sets a ttl_s too
    file.write_text(yaml.safe_dump({node: {"ros__parameters": times}}))
    graph = resolve((file,), {f"{node}.{group}.wait_s": 0.3})
    assert of_each_node(graph) == [LeaseOptions(overrun_s=0.05, ttl_s=0.2, wait_s=0.3)] * 3
    written = graph.values()
    assert [written[name][f"{place}.overrun_s"] for name, place in LEASE_GROUPS.items()] == [0.05] * 3


def test_an_override_of_one_node_replaces_a_time_that_a_file_sets_for_another(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    times = {"judge.lease.ttl_s": 0.2, "judge.lease.wait_s": 0.4}
    file.write_text(yaml.safe_dump({"gate_node": {"ros__parameters": times}}))
    graph = resolve((file,), {"sim_node.lease.ttl_s": 0.3})
    assert of_each_node(graph) == [LeaseOptions(ttl_s=0.3, wait_s=0.4)] * 3
    later = tmp_path / "later.yaml"
    later.write_text(yaml.safe_dump({"arm_node": {"ros__parameters": {"controller.lease.ttl_s": 0.25}}}))
    assert of_each_node(resolve((file, later))) == [LeaseOptions(ttl_s=0.25, wait_s=0.4)] * 3


def test_two_nodes_that_set_different_times_are_refused() -> None:
    both = {TTL: 0.2, "arm_node.controller.lease.ttl_s": 0.3}
    words = (
        r"arm_node\.controller\.lease\.ttl_s is not gate_node\.judge\.lease\.ttl_s; expected 0\.2; got 0\.3"
    )
    with pytest.raises(UsageError, match=words):
        resolve((), both)
    assert resolve((), both | {"arm_node.controller.lease.ttl_s": 0.2}).gate_node.judge.lease.ttl_s == 0.2


FORMER = {
    "gate_node": {"judge.ttl_ms": (120.0, "judge.lease.ttl_s")},
    "arm_node": {
        "lease_wait_s": (0.5, "controller.lease.wait_s"),
        "controller.lease_overrun_ns": (70_000_000, "controller.lease.overrun_s"),
    },
    "sim_node": {"lease_window_s": (0.016, "lease.window_s")},
}


@pytest.mark.parametrize(
    ("node", "old", "value", "new"),
    [(node, old, *rest) for node, names in FORMER.items() for old, rest in names.items()],
)
def test_a_former_name_is_refused_in_one_line_with_the_new_one(
    tmp_path: Path, node: str, old: str, value: float, new: str
) -> None:
    kind = type(getattr(resolve(), node))
    known = {parameter.name for parameter in parameters_of(kind)}
    assert former_names(kind)[old] == new
    assert new in known
    assert old not in known
    file = tmp_path / "old.yaml"
    file.write_text(yaml.safe_dump({node: {"ros__parameters": {old: value}}}))
    with pytest.raises(UsageError, match=rf"new name; expected {new} \(units: .*; got '{old}'") as caught:
        resolve((file,))
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({TTL: 10.0}, r"ttl_s in gate_node\.judge\.lease; expected 0\.001 to 1; got 10\.0"),
        ({"sim_node.lease.wait_s": 11.0}, r"wait_s in sim_node\.lease; expected 0 to 10; got 11\.0"),
        (
            {TTL: 0.2, "arm_node.controller.lease.ttl_s": "long"},
            r"ttl_s in arm_node\.controller\.lease; expected a value of type float; got 'long'",
        ),
        ({TTL: 120}, r"expected 0\.001 to 1; got 120"),
        (
            {TTL: 0.5, "gate_node.judge.lease.longest_s": 0.4},
            r"expected at most lease\.longest_s, 0\.4 s; got 0\.5",
        ),
        ({"sim_node.lease.window_s": 0.12}, r"expected less than lease\.ttl_s, 0\.12 s; got 0\.12"),
        ({"arm_node.controller.lease.wait_s": 1.6}, r"max_frame_age_ns.* 1600000000 \(lease\.wait_s\) to"),
        ({"arm_node.controller.lease.overrun_s": 0.11}, r"expected 0 to 0\.1; got 0\.11"),
    ],
)
def test_a_time_that_cannot_hold_is_refused_with_its_limits(
    overrides: Mapping[str, object], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        resolve((), overrides)


@pytest.mark.parametrize(
    ("robot", "rate"), [({}, "sim_node.camera_rate_hz"), (REAL | REAL_POLICY, "camera_node.rate_hz")]
)
def test_a_lease_that_ends_before_the_next_frame_is_refused(robot: Mapping[str, object], rate: str) -> None:
    assert resolve((), {**robot, rate: 10.0, TTL: 0.1}).gate_node.judge.lease.ttl_s == 0.1
    with pytest.raises(
        UsageError, match=rf"expected 0\.1 s \({rate} 10\) to 1 s \(lease\.longest_s\); got 0\.09"
    ):
        resolve((), {**robot, rate: 10.0, TTL: 0.099})


def test_without_an_arm_the_rate_of_the_cameras_is_free() -> None:
    still = {"camera_node.source": "files", "camera_node.path": "here", "arm_node.robot": "none"}
    assert resolve((), {**still, "camera_node.rate_hz": 1.0}).camera_node.rate_hz == 1.0


def test_a_headless_trial_has_the_same_times_and_refuses_a_gate_that_is_always_late() -> None:
    graph = resolve((), {TTL: 0.1})
    assert HeadlessOptions(graph, gate_latency_s=0.099).gate_latency_ns == 99_000_000
    with pytest.raises(UsageError, match=r"gate_latency_s.* less than lease\.ttl_s, 0\.1 s; got 0\.1"):
        HeadlessOptions(graph, gate_latency_s=0.1)
    world = replace(graph.sim_node, lease=LeaseOptions(ttl_s=0.1, wait_s=0.2))
    with pytest.raises(UsageError, match="other times of a lease"):
        HeadlessOptions(replace(graph, sim_node=world))
