"""Cameras, distortion and gate of a headless trial; an image is rendered only when it is looked at."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import TypeAlias

from embodied_iqa.arm.verdict import GateLease
from embodied_iqa.base.errors import InternalError
from embodied_iqa.data.recording.trial_record import ChunkRecord, VerdictRecord
from embodied_iqa.imaging.distortions import FrameDistorter
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.imaging.images.message_geometry import as_sent
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.second_stage import GateDecision
from embodied_iqa.runs.offline.judged_frames import verdict_record
from embodied_iqa.runs.offline.oracle import OracleGatekeeper
from embodied_iqa.world.scenes.snapshot import WorldSnapshot
from embodied_iqa.world.simulation.camera.simulated_cameras import Shot, SimulatedCameras

AnyGatekeeper: TypeAlias = Gatekeeper | OracleGatekeeper


class HeadlessCameras:
    """Keeps shots of the world and draws them on demand.

    Args:
        cameras: In the run's scene.
        distorter: Distorts every image of the run.
        gatekeeper: The gate.
        kept: Number of stamps that can still be looked at.
    """

    def __init__(
        self, cameras: SimulatedCameras, distorter: FrameDistorter, gatekeeper: AnyGatekeeper, kept: int
    ) -> None:
        self._cameras = cameras
        self._distorter = distorter
        self._gatekeeper = gatekeeper
        self._kept = kept
        self._shots: OrderedDict[int, Shot] = OrderedDict()
        self._frames: dict[tuple[int, View, Source], Frame] = {}
        self._repaired: dict[tuple[int, View], Frame] = {}

    def differs(self, view: View, stamp_ns: int) -> bool:
        """Return whether what the policy sees differs from the raw image."""
        return self._distorts(view, stamp_ns) or (stamp_ns, view) in self._repaired

    def take(self, snapshot: WorldSnapshot, stamp_ns: int) -> None:
        """Take an image of every view."""
        self._shots[stamp_ns] = self._cameras.take(replace(snapshot, time_ns=stamp_ns))
        while len(self._shots) > self._kept:
            gone, _ = self._shots.popitem(last=False)
            self._frames = {key: frame for key, frame in self._frames.items() if key[0] != gone}
            self._repaired = {key: frame for key, frame in self._repaired.items() if key[0] != gone}

    def dropped(self, stamp_ns: int) -> frozenset[View]:
        """Return the cameras whose image with this stamp never arrives."""
        return self._shots[stamp_ns].dropped

    def frame(self, view: View, source: Source, stamp_ns: int) -> Frame:
        """Return an image that was taken."""
        key = (stamp_ns, view, source)
        if key not in self._frames:
            self._frames[key] = self._render(view, source, stamp_ns)
        return self._frames[key]

    def policy_frame(self, view: View, source: Source, stamp_ns: int) -> Frame:
        """Return what the policy sees: the repaired image where the gate repaired the distorted one."""
        repaired = self._repaired.get((stamp_ns, view)) if source is Source.DISTORTED else None
        return repaired or self.frame(view, source, stamp_ns)

    def judge(self, view: View, stamp_ns: int, now_ns: int) -> tuple[VerdictRecord, GateLease]:
        """Let the gate judge a distorted image."""
        rgb = self.frame(view, Source.DISTORTED, stamp_ns).rgb if self._gatekeeper.measures else None
        quality, lease = self._gatekeeper.judge(view, stamp_ns, rgb, now_ns)
        if quality.repaired is not None:
            received = self.frame(view, Source.DISTORTED, stamp_ns)
            self._repaired[stamp_ns, view] = replace(received, rgb=quality.repaired)
        return verdict_record(quality), lease

    def judge_decision(self, chunk: ChunkRecord, now_ns: int) -> GateLease | None:
        """Let the gate judge a decision to move; None where it has no second stage."""
        if isinstance(self._gatekeeper, OracleGatekeeper):
            return None
        decision = GateDecision(chunk.view, chunk.stamp_ns, chunk.sequence, chunk.seen)
        return self._gatekeeper.judge_decision(decision, now_ns)

    def _distorts(self, view: View, stamp_ns: int) -> bool:
        return self._distorter.level_at(stamp_ns, view) > 0

    def _render(self, view: View, source: Source, stamp_ns: int) -> Frame:
        if source is Source.DISTORTED:
            raw = self.frame(view, Source.RAW, stamp_ns)
            if not self._distorts(view, stamp_ns):
                return raw
            return replace(raw, rgb=self._distorter.apply(raw.rgb, view, stamp_ns))
        if stamp_ns not in self._shots:
            raise InternalError(f"no image was taken at {stamp_ns} ns, or it is no longer kept")
        frame = self._cameras.frame(view, self._shots[stamp_ns])
        return replace(frame, T_base_camera=as_sent(frame.needed_pose()))
