"""The VLA of a run without ROS: decides as vla_node does, on raw and on distorted pictures."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from embodied_iqa.graph.parameters import VlaParameters
from embodied_iqa.images.assembler import Source
from embodied_iqa.offline.headless_arm import ArmReport, ToolReport
from embodied_iqa.offline.headless_cameras import HeadlessCameras
from embodied_iqa.robot.messages import ArmGoal
from embodied_iqa.subjects.protocols import ActionChunk, ChunkStatus, Vla, VlaObservation
from embodied_iqa.trial.decider import Decider, DeciderState
from embodied_iqa.trial.record import ChunkRecord

__all__ = ["HeadlessPolicy", "goal_of"]

_SECOND_NS = 1_000_000_000


class HeadlessPolicy:
    """Chooses the frames to decide on, and decides.

    Args:
        vla: The subject.
        config: As vla_node's.
        cameras: What it looks at.
    """

    def __init__(self, vla: Vla, config: VlaParameters, cameras: HeadlessCameras) -> None:
        self._vla = vla
        self._cameras = cameras
        self._decider = Decider(round(config.decide_again_s * _SECOND_NS), config.max_chunks)
        self._state = DeciderState()
        self._tool: ToolReport | None = None

    def set_task(self, task: str, from_ns: int) -> None:
        """Start a run, or with an empty task end it."""
        self._state = self._decider.set_task(self._state, task, from_ns)

    def take_report(self, report: ArmReport) -> None:
        """Hear the arm."""
        if report.tool is not None:
            self._tool = report.tool
        self._state = self._decider.arm_seen(
            self._state,
            ready=report.ready,
            completed=report.completed,
            whole=report.whole,
            stamp_ns=report.stamp_ns,
        )

    def decide(self, stamps_ns: list[int]) -> tuple[ChunkRecord, ChunkRecord] | None:
        """Decide if it is time to.

        Args:
            stamps_ns: Of the pictures that have arrived, oldest first.

        Returns:
            What is decided on the raw and on the distorted picture, or None.
        """
        if self._tool is None:
            return None
        stamp_ns = self._decider.choose(self._state, stamps_ns)
        if stamp_ns is None:
            return None
        self._state = self._decider.decided(self._state, stamp_ns)
        raw = self._act(Source.RAW, stamp_ns, self._tool)
        if not self._cameras.distorts:  # the same pictures: a subject is stateless
            return raw, replace(raw, source=Source.DISTORTED)
        return raw, self._act(Source.DISTORTED, stamp_ns, self._tool)

    def _act(self, source: Source, stamp_ns: int, tool: ToolReport) -> ChunkRecord:
        """Ask the subject; whatever it raises becomes a record that says so, never an action."""
        views = self._vla.info.views
        observation = VlaObservation(
            frames={view: self._cameras.frame(view, source, stamp_ns) for view in views},
            instruction=self._state.task,
            T_base_tool=tool.T_base_tool,
            gripper=tool.gripper,
            step=self._state.step,
        )
        try:
            chunk: ActionChunk | str = self._vla.act(observation)
        except Exception as error:  # noqa: BLE001 - a subject may be anybody's code
            chunk = f"{type(error).__name__}: {error}"
        return self._recorded(chunk, source, stamp_ns, tool)

    def _recorded(
        self, chunk: ActionChunk | str, source: Source, stamp_ns: int, tool: ToolReport
    ) -> ChunkRecord:
        info = self._vla.info
        record = ChunkRecord(
            stamp_ns=stamp_ns,
            view=info.views[0],
            source=source,
            sequence=self._state.sequence,
            step=self._state.step,
            status=None,
            increments=np.empty((0, 7)),
            reason="",
            target_px=None,
            T_base_tool=tool.T_base_tool,
            gripper=tool.gripper,
            subject=info.name,
            subject_version=info.version,
            latency_ms=math.nan,
        )
        if isinstance(chunk, str):
            return replace(record, reason=chunk)
        target = chunk.target_px
        return replace(
            record,
            status=chunk.status,
            increments=np.asarray(chunk.increments, dtype=np.float64).reshape(-1, 7),
            reason=chunk.reason,
            target_px=None if target is None else (float(target[0]), float(target[1])),
        )


def goal_of(chunk: ChunkRecord) -> ArmGoal | None:
    """Return what the arm is given of a decision, or None where there is nothing to do."""
    if chunk.status is not ChunkStatus.ACT:
        return None
    return ArmGoal(chunk.increments, chunk.view, chunk.stamp_ns, chunk.sequence)
