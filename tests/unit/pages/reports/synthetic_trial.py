"""Recordings of trials that never happened: every message by hand, so that any of them can be left out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.data.recording.messages import TypeStore
from embodied_iqa.data.recording.writer import TrialWriter
from embodied_iqa.imaging.distortions.spec import DistortionSpec
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import Intrinsics, View
from embodied_iqa.imaging.images.image_cdr import image_to_cdr
from embodied_iqa.models.scoring.constants import SubjectConstants
from embodied_iqa.models.scoring.frequencies import document_frequencies
from embodied_iqa.models.subjects.backends.classical.vla import ClassicalVla
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS

SECOND_NS = 1_000_000_000
PERIOD_NS = 66_666_667
OURS = "embodied_iqa_msgs/msg"
SUCCESS, FAILURE, EMERGENCY_STOP = 1, 2, 3
VERSION = ClassicalVla.info.version
"""The two classical subjects have the same."""
T_START = np.array([[0.0, 1, 0, -0.4], [1, 0, 0, 0], [0, 0, -1, 0.35], [0, 0, 0, 1]])
"""The tool looks down."""


def constants(subject: str, _version: str) -> SubjectConstants:
    """Constants of any subject."""
    frequencies = document_frequencies(["a red cube on the table", "a blue ball"])
    return SubjectConstants(subject, "1", "by hand", 2, d_max_m=0.4, frequencies=frequencies)


def camera(view: View, width_px: int) -> tuple[Intrinsics, NDArray[np.float64]]:
    """A camera above the table (top), beside it (side) or near the tool (wrist)."""
    focal_px = 0.9 * width_px
    height_px = width_px * 3 // 4
    intrinsics = Intrinsics(width_px, height_px, focal_px, focal_px, (width_px - 1) / 2, (height_px - 1) / 2)
    T = np.eye(4)
    if view == View.SIDE:
        T[:3, :3] = np.array([[-1.0, 0, 0], [0, 0, -1], [0, -1, 0]])
        T[:3, 3] = -0.5, 1.0, 0.2
    else:
        T[:3, :3] = np.diag([1.0, -1.0, -1.0])
        T[:3, 3] = (-0.5, 0.0, 1.0) if view == View.TOP else (-0.42, 0.02, 0.5)
    return intrinsics, T


def scenery(view: View, width_px: int, seed: int = 0) -> NDArray[np.uint8]:
    """A table with coloured boxes, and texture that distortions can spoil."""
    height_px = width_px * 3 // 4
    rng = np.random.default_rng([seed, CELL_VIEWS.index(view)])
    rows, columns = np.mgrid[0:height_px, 0:width_px]
    rgb = np.stack([150 + rows * 60 // height_px, 140 + columns * 50 // width_px, 130 + rows * 0], axis=-1)
    rgb = rgb + rng.normal(0, 4, rgb.shape)
    for colour in ((200, 40, 40), (40, 70, 190), (60, 150, 70), (220, 190, 50)):
        u, v = rng.integers(0, width_px * 4 // 5), rng.integers(0, height_px * 4 // 5)
        rgb[v : v + height_px // 6, u : u + width_px // 8] = colour
    return np.clip(rgb, 0, 255).astype(np.uint8)


@dataclass
class Script:
    """A trial as it is written down, message by message.

    Images, answers and so on that a test wants to be missing are simply not called for.
    """

    path: Path
    task: str = "Pick up the red cube."
    scene_seed: int = 7
    width_px: int = 160
    gate_mode: int = 0
    views: Sequence[View] = (View.TOP, View.WRIST)
    types: TypeStore = field(default_factory=cache(TypeStore))
    metadata: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.writer = TrialWriter(self.path, types=self.types)
        self.sequence = 0
        self.log_offset_ns = 0

    def send(self, topic: str, type_name: str, stamp_ns: int, **fields: Any) -> None:
        frame = fields.pop("frame_id", "base")
        message = self.types.new(type_name, header=self.types.header(stamp_ns, frame), **fields)
        self.writer.add_channel(topic, type_name)
        self.writer.write(topic, self.types.serialise(message), stamp_ns + self.log_offset_ns)

    def pose(self, T: NDArray[np.float64]) -> Any:
        x, y, z, w = Rotation.from_matrix(T[:3, :3]).as_quat()
        return self.types.new(
            "geometry_msgs/msg/Pose",
            position=self.types.new("geometry_msgs/msg/Point", x=T[0, 3], y=T[1, 3], z=T[2, 3]),
            orientation=self.types.new("geometry_msgs/msg/Quaternion", x=x, y=y, z=z, w=w),
        )

    def distortion(self, spec: DistortionSpec | None) -> Any:
        if spec is None:
            return self.types.new(f"{OURS}/DistortionState")
        return self.types.new(
            f"{OURS}/DistortionState",
            id=spec.id,
            level=spec.level,
            seed=spec.seed,
            frozen=spec.frozen,
            schedule=spec.schedule,
            name="x",
        )

    def run_start(self, index: int, start_ns: int, spec: DistortionSpec | None) -> None:
        self.send(
            "/trial/events",
            f"{OURS}/TrialEvent",
            start_ns,
            kind=1,
            run_index=index,
            task=self.task,
            scene_seed=self.scene_seed,
            distortion=self.distortion(spec),
            tool_pose=self.pose(T_START),
        )

    def run_end(self, index: int, end_ns: int, plan: RunPlan, T: NDArray[np.float64], frames: int) -> None:
        self.send(
            "/trial/events",
            f"{OURS}/TrialEvent",
            end_ns,
            kind=3,
            run_index=index,
            task=self.task,
            outcome=plan.outcome,
            reason=plan.reason,
            tool_pose=self.pose(T),
            frames_published=frames,
        )

    def images_only(self, stamp_ns: int) -> None:
        for view in self.views:
            cdr = image_to_cdr(scenery(view, self.width_px), stamp_ns, "camera")
            self.writer.add_channel(f"/camera/{view}/image_raw", "sensor_msgs/msg/Image")
            self.writer.write(f"/camera/{view}/image_raw", cdr, stamp_ns + self.log_offset_ns)

    def images(self, stamp_ns: int) -> None:
        self.images_only(stamp_ns)
        for view in self.views:
            intrinsics, T = camera(view, self.width_px)
            topic = f"/camera/{view}"
            k = [intrinsics.fx_px, 0, intrinsics.cx_px, 0, intrinsics.fy_px, intrinsics.cy_px, 0, 0, 1]
            size = {"width": intrinsics.width_px, "height": intrinsics.height_px}
            self.send(f"{topic}/camera_info", "sensor_msgs/msg/CameraInfo", stamp_ns, k=k, **size)
            self.send(f"{topic}/pose", "geometry_msgs/msg/PoseStamped", stamp_ns, pose=self.pose(T))

    def answer(self, stamp_ns: int, source: Source, text: str, subject: str = "classical-vlm") -> None:
        self.send(
            "/vlm/answer",
            f"{OURS}/VlmAnswer",
            stamp_ns,
            view="top",
            source=int(source),
            task=self.task,
            answer=text,
            subject=subject,
            subject_version=VERSION,
            latency_ms=12.5,
        )

    def decision(
        self,
        stamp_ns: int,
        source: Source,
        increments: NDArray[np.float64],
        *,
        status: int = 0,
        reason: str = "sees a red cube",
        target: tuple[float, float] = (60.0, 50.0),
    ) -> None:
        names = ("x", "y", "z", "rx", "ry", "rz", "gripper")
        rows = [
            self.types.new(f"{OURS}/ActionIncrement", **dict(zip(names, map(float, row), strict=True)))
            for row in increments
        ]
        self.send(
            "/vla/actions" if source is Source.DISTORTED else "/vla/reference_actions",
            f"{OURS}/ActionChunk",
            stamp_ns,
            view="top",
            source=int(source),
            status=status,
            sequence=self.sequence,
            task=self.task,
            tool_pose=self.pose(T_START),
            increments=rows,
            target_u=target[0],
            target_v=target[1],
            seen=math.nan,
            reason=reason,
            subject="classical-vla",
            subject_version=VERSION,
            latency_ms=8.0,
        )

    def verdict(self, stamp_ns: int, view: View, verdict: Verdict, reason: str = "") -> None:
        self.send(
            "/gate/quality",
            f"{OURS}/ImageQuality",
            stamp_ns,
            view=str(view),
            verdict=int(verdict),
            frame_verdict=int(verdict),
            reason=reason,
            predicted=math.nan,
            threshold=math.nan,
            latency_ms=2.0,
        )
        self.send(
            "/gate/lease",
            f"{OURS}/GateLease",
            stamp_ns,
            view=str(view),
            verdict=int(verdict),
            judged=int(verdict),
            mode=self.gate_mode,
            reason=reason,
        )

    def tool(self, stamp_ns: int, x: float, y: float, z: float) -> None:
        T = T_START.copy()
        T[:3, 3] = x, y, z
        self.send("/arm/tool_pose", "geometry_msgs/msg/PoseStamped", stamp_ns, pose=self.pose(T))

    def close(self) -> Path:
        self.writer.add_metadata("embodied_iqa", {"version": "0.1.0", "git": "0123abc"} | self.metadata)
        self.writer.close()
        return self.path


def chunk(reach_m: float = 0.1) -> NDArray[np.float64]:
    """Go sideways, down, close, up."""
    rows = np.zeros((4, 7))
    rows[0, :2] = 0.5 * reach_m, reach_m
    rows[1, 2] = 0.25
    rows[2:, 6] = 1.0
    rows[3, 2] = -0.2
    return rows


@dataclass(frozen=True)
class RunPlan:
    """One run of a script."""

    spec: DistortionSpec | None
    outcome: int = SUCCESS
    reason: str = "the VLA says that the task is done"
    answer: str = "A red cube stands left of a blue ball."
    reach_m: float = 0.1
    verdicts: tuple[Verdict, ...] = (Verdict.HOLD, Verdict.PASS, Verdict.PASS, Verdict.PASS)


REFERENCE = RunPlan(None)
BLURRED = RunPlan(
    DistortionSpec("02", 5, seed=3),
    FAILURE,
    "the arm did not move",
    "A red thing stands left of something.",
    0.16,
    (Verdict.HOLD, Verdict.HOLD, Verdict.PASS, Verdict.REJECT),
)
NOISY = RunPlan(DistortionSpec("12", 3, seed=3), EMERGENCY_STOP, "gripper touches the table")


def write_run(script: Script, index: int, plan: RunPlan, frames: int = 4) -> None:
    """Write a whole run: images, verdicts, a question, a decision, a way, an end."""
    start_ns = (100 * index + 100) * SECOND_NS
    script.run_start(index, start_ns, plan.spec)
    script.sequence += 1
    for frame in range(frames):
        stamp_ns = start_ns + frame * PERIOD_NS
        if frame < 2:
            script.images(stamp_ns)
        for view in script.views:
            verdict = plan.verdicts[frame % len(plan.verdicts)]
            script.verdict(stamp_ns, view, verdict, "" if verdict is Verdict.PASS else f"{view}: too blurred")
        script.tool(stamp_ns, -0.4 - 0.01 * frame, plan.reach_m * frame / frames, 0.35 - 0.02 * frame)
        if frame == 0:
            script.answer(stamp_ns, Source.RAW, REFERENCE.answer)
            script.answer(stamp_ns, Source.DISTORTED, plan.answer)
        if frame == 1:
            script.decision(stamp_ns, Source.RAW, chunk())
            script.decision(stamp_ns, Source.DISTORTED, chunk(plan.reach_m), target=(70.0, 66.0))
    T_end = T_START.copy()
    T_end[1, 3] = plan.reach_m
    count = frames * len(script.views)
    end_ns = start_ns + frames * PERIOD_NS
    script.run_end(index, end_ns, plan, T_end, count + (plan.spec is not None))


def write_trial(path: Path, plans: Sequence[RunPlan] = (REFERENCE, BLURRED, NOISY), **options: Any) -> Path:
    """Write a whole trial and return its path."""
    script = Script(path, **options)
    for index, plan in enumerate(plans):
        write_run(script, index, plan)
    return script.close()
