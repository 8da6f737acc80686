"""The VLA of a headless trial: decides when vla_node does, on raw and on distorted images."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.robot.arm_runner import ArmReport
from embodied_iqa.arm.robot.messages import ArmGoal
from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.recording.trial_record import ChunkRecord
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.message_geometry import as_sent
from embodied_iqa.imaging.images.pairing import Arrived, paired_stamps
from embodied_iqa.imaging.images.state_history import StateHistory
from embodied_iqa.runs.graph.parameters import VlaParameters
from embodied_iqa.runs.offline.headless.cameras import HeadlessCameras
from embodied_iqa.runs.trial.deciding import DecisionRequest, decide
from embodied_iqa.runs.trial.decision_timing import ArmProgress, Decider, DeciderState
from embodied_iqa.world.protocols import ChunkStatus, Vla


class HeadlessPolicy:
    """Chooses the frames to decide on, and decides.

    Args:
        vla: The subject.
        config: As of vla_node.
        cameras: Where its frames come from.
    """

    def __init__(self, vla: Vla, config: VlaParameters, cameras: HeadlessCameras) -> None:
        self._vla = vla
        self._cameras = cameras
        self._decider = Decider(round(config.decide_again_s * SECOND_NS), config.max_chunks, config.horizon)
        self._state = DeciderState()
        self._shows_joints = config.shows_joints
        self._tolerance_ns = config.policy.pairing_tolerance_ns
        self._tools: StateHistory[tuple[NDArray[np.float64], float, NDArray[np.float64]]] = StateHistory()

    @property
    def cameras(self) -> tuple[View, ...]:
        """The cameras of the next decision."""
        return self._vla.info.at_turn(self._state.turn).views

    def set_task(self, task: str, from_ns: int) -> None:
        """Start a run, or with an empty task end it."""
        self._state = self._decider.set_task(self._state, task, from_ns)

    def take_report(self, report: ArmReport) -> None:
        """Note a report of the arm."""
        if report.T_base_tool is not None:
            measured = report.measured
            tool = as_sent(report.T_base_tool), measured.gripper.position, measured.q_rad
            self._tools.add(report.measured.stamp_ns, tool)
        self._state = self._decider.arm_seen(self._state, ArmProgress.of(report))

    def take_lease(self, lease: GateLease) -> None:
        """Note the gate's lease on a frame."""
        if lease.verdict is not Verdict.PASS:
            self._state = self._decider.rejected(self._state, lease.view, lease.frame_stamp_ns)
        else:
            self._state = self._decider.passed(self._state, lease.view, lease.frame_stamp_ns)

    def decide(
        self, arrived: Collection[tuple[int, frozenset[View]]], *, deciding: bool
    ) -> tuple[ChunkRecord, ChunkRecord] | None:
        """Decide if it is time to.

        Args:
            arrived: Stamps of images, oldest first, each with the cameras whose image never arrives.
            deciding: Whether a decision is not delivered yet: one of a receding horizon waits for that.

        Returns:
            The decisions on the raw and on the distorted image, or None.
        """
        if deciding and self._decider.is_receding:
            return None
        pairs = self._pairs(arrived)
        stamp_ns = self._decider.choose(self._state, list(pairs))
        tool = None if stamp_ns is None else self._tools.at(stamp_ns)
        if stamp_ns is None or tool is None:
            return None
        self._state = self._decider.decided(self._state, stamp_ns)
        request = DecisionRequest(
            stamp_ns=stamp_ns,
            source=Source.RAW,
            sequence=self._state.sequence,
            step=self._state.step,
            task=self._state.task,
            T_base_tool=tool[0],
            gripper=tool[1],
            q_rad=tool[2] if self._shows_joints else None,
        )
        seen = pairs[stamp_ns]
        raw = self._decide(request, seen)
        if any(self._cameras.differs(view, its_ns) for view, its_ns in seen.items()):
            distorted = self._decide(replace(request, source=Source.DISTORTED), seen)
        else:  # the same images: a subject is stateless
            distorted = replace(raw, source=Source.DISTORTED)
        self._state = self._decider.came_to(
            self._state, distorted.view, stamp_ns, distorted.status, len(distorted.increments)
        )
        return raw, distorted

    def _pairs(self, arrived: Collection[tuple[int, frozenset[View]]]) -> dict[int, dict[View, int]]:
        stamps_ns = {
            view: [stamp_ns for stamp_ns, dropped in arrived if view not in dropped] for view in self.cameras
        }
        known = {view: Arrived(its_ns, its_ns) for view, its_ns in stamps_ns.items()}
        return paired_stamps(known, self._tolerance_ns, self._state.from_ns)

    def _decide(self, request: DecisionRequest, seen: Mapping[View, int]) -> ChunkRecord:
        frames = {
            view: self._cameras.policy_frame(view, request.source, stamp_ns)
            for view, stamp_ns in seen.items()
        }
        return replace(decide(self._vla, request, frames, self._state.turn), latency_ms=math.nan)


def goal_of(chunk: ChunkRecord) -> ArmGoal | None:
    """Return the goal of the arm, or None where there is nothing to do."""
    if chunk.status is not ChunkStatus.ACT:
        return None
    return ArmGoal(
        chunk.increments,
        chunk.view,
        chunk.stamp_ns,
        chunk.sequence,
        q_seen_rad=chunk.q_rad,
        joints_rad=chunk.joints_rad,
        other_frames=chunk.other_frames,
    )
