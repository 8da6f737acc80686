"""Parameters of a graph with a real arm, an address that nobody has, and cameras of another driver."""

from __future__ import annotations

from embodied_iqa.base.config import Scalar

WORKSPACE: dict[str, Scalar] = {
    "arm_node.limits.workspace_min_m": [-0.8, -0.45, -0.01],
    "arm_node.limits.workspace_max_m": [-0.2, 0.45, 0.71],
}
REAL_ARM: dict[str, Scalar] = {
    "arm_node.robot": "ur5",
    "arm_node.model": "ur5e",
    **WORKSPACE,
    "arm_node.ur.ip": "192.0.2.1",
    "camera_node.source": "topic",
    "vla_node.subject": "classical-vla",
}
