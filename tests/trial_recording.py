"""A small recorded trial, written message by message, and subjects that are sensitive to every pixel."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.cli import rescore
from embodied_iqa.data.recording.messages import TypeStore
from embodied_iqa.data.recording.writer import TrialWriter
from embodied_iqa.imaging.distortions import DistortionSpec, FrameDistorter
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import Frame, Intrinsics, View
from embodied_iqa.imaging.images.image_cdr import image_to_cdr
from embodied_iqa.imaging.images.message_geometry import matrix_from_pose
from embodied_iqa.models.scoring.constants import SubjectConstants, UncalibratedError
from embodied_iqa.quality.gate.judge import GateFrame, GateOptions, GateState, step
from embodied_iqa.quality.gate.statistics_judge import StatisticsJudge
from embodied_iqa.runs.graph import session_results
from embodied_iqa.runs.offline.rescoring import Subjects
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, SubjectInfo, VlaObservation
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS

OURS = "embodied_iqa_msgs/msg"
SECOND_NS = 1_000_000_000
PERIOD_NS = 66_666_667
VIEWS = (View.TOP, View.WRIST)
INTRINSICS = Intrinsics(64, 48, 60.0, 60.0, 31.5, 23.5)
NOISE = DistortionSpec("12", 3, seed=5)
TASK = "pick the red cube"
NO_PREDICTION = dict.fromkeys(("predicted", "threshold", "wrong_motion"), math.nan)
"""Of a judge that predicts nothing."""


@cache
def type_store() -> TypeStore:
    return TypeStore()


def image(view: View, frame: int, run: int = 0) -> NDArray[np.uint8]:
    number = CELL_VIEWS.index(view) if view in CELL_VIEWS else int.from_bytes(view.encode())
    random = np.random.default_rng([frame, run, number])
    return random.integers(0, 256, (48, 64, 3), dtype=np.uint8)


def start_ns(run: int) -> int:
    return (run + 1) * 100 * SECOND_NS


def stamp_ns(run: int, frame: int) -> int:
    return start_ns(run) + frame * PERIOD_NS


class PixelVlm:
    """Its answer changes with any pixel."""

    info = SubjectInfo("pixel-vlm", "1", "says a checksum of the image", (View.TOP,))

    def answer(self, frame: Frame, task: str) -> str:
        return f"{task} {blake2b(frame.rgb.tobytes(), digest_size=6).hexdigest()}"


class PixelVla:
    """Its action changes with any pixel of all views, the pose, the gripper and the step."""

    fails = False

    def __init__(self, views: tuple[View, ...] = VIEWS) -> None:
        self.info = SubjectInfo("pixel-vla", "1", "turns a checksum into an action", views)

    def act(self, observation: VlaObservation) -> ActionChunk:
        if self.fails:
            raise RuntimeError("no weights")
        digest = blake2b(digest_size=7)
        for view in self.info.views:
            digest.update(observation.frames[view].rgb.tobytes())
        digest.update(observation.T_base_tool.tobytes())
        digest.update(f"{observation.gripper} {observation.step}".encode())
        row = np.frombuffer(digest.digest(), np.uint8).astype(np.float64) / 2550
        return ActionChunk(ChunkStatus.ACT, row.reshape(1, 7), "checksum", (3.0, 4.0))


def uncalibrated(name: str, _version: str, _role: object = None) -> SubjectConstants:
    """Stand for `constants_of`: no subject has constants."""
    raise UncalibratedError(f"{name} has no constants")


@pytest.fixture
def pixel_subjects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `rescore` make pixel subjects of every name, without constants."""
    for kind, subject in (("vlm", PixelVlm()), ("vla", PixelVla())):
        monkeypatch.setattr(rescore, f"parse_{kind}", lambda name: name)
        monkeypatch.setattr(rescore, f"make_{kind}", lambda _name, _options, made=subject: made)
    monkeypatch.setattr(session_results, "constants_of", uncalibrated)


def subjects(vla: PixelVla | None = None) -> Subjects:
    chosen = vla or PixelVla()
    return Subjects(lambda _name: PixelVlm(), lambda _name: chosen, StatisticsJudge(()), GateOptions())


@dataclass
class Recorder:
    """Writes a trial as the nodes would, by the same pure steps.

    Attributes:
        path: Of the file.
        views: The cameras; answers and decisions are of the first one.
        skip: ``(run, frame, view)`` of images that are left out.
        offsets_ns: How much later than that of the frame the stamp of a camera's image is.
        poses: Factor on all numbers of the camera's pose, by ``(run, frame, view)``: 0 makes it invalid, NaN
            unknown; None leaves the pose out.
        unjudged: ``(run, frame, view)`` of images that the gate lost.
    """

    path: Path
    views: tuple[View, ...] = VIEWS
    skip: Sequence[tuple[int, int, View]] = ()
    offsets_ns: Mapping[View, int] = field(default_factory=dict)
    poses: Mapping[tuple[int, int, View], float | None] = field(default_factory=dict)
    late: Mapping[tuple[int, int, View], int] = field(default_factory=dict)
    unjudged: Sequence[tuple[int, int, View]] = ()
    gate: dict[View, GateState] = field(default_factory=dict)
    judge: StatisticsJudge = field(default_factory=lambda: StatisticsJudge(()))
    rules: GateOptions = field(default_factory=GateOptions)
    sequence: int = 0

    def __post_init__(self) -> None:
        self.types = type_store()
        self.writer = TrialWriter(self.path, types=self.types)

    def send(
        self, topic: str, type_name: str, stamp: int, *, at_ns: int | None = None, **fields: Any
    ) -> None:
        message = self.types.new(type_name, header=self.types.header(stamp), **fields)
        self.writer.add_channel(topic, type_name)
        self.writer.write(topic, self.types.serialise(message), stamp + 1 if at_ns is None else at_ns)

    def pose(self, x: float = 0.0, factor: float = 1.0) -> Any:
        place = {"x": x, "y": 0.1, "z": 0.2}
        quaternion = {"x": 0.6, "y": 0.0, "z": 0.0, "w": 0.8}
        if factor != 1.0:
            place, quaternion = ({k: factor * v for k, v in part.items()} for part in (place, quaternion))
        point = self.types.new("geometry_msgs/msg/Point", **place)
        turn = self.types.new("geometry_msgs/msg/Quaternion", **quaternion)
        return self.types.new("geometry_msgs/msg/Pose", position=point, orientation=turn)

    def event(self, kind: int, run: int, stamp: int, spec: DistortionSpec | None, **fields: Any) -> None:
        distortion = {} if spec is None else asdict(spec)
        self.send(
            "/trial/events",
            f"{OURS}/TrialEvent",
            stamp,
            kind=kind,
            run_index=run,
            task=TASK,
            scene_seed=7,
            distortion=self.types.new(f"{OURS}/DistortionState", **distortion),
            tool_pose=self.pose(fields.pop("x", 0.0)),
            **fields,
        )

    def stamp_of(self, view: View, run: int, frame: int) -> int:
        return stamp_ns(run, frame) + self.offsets_ns.get(view, 0)

    def camera(self, view: View, run: int, frame: int, *, pose_late: bool) -> NDArray[np.uint8]:
        stamp, topic = self.stamp_of(view, run, frame), f"/camera/{view}"
        k = [60.0, 0.0, 31.5, 0.0, 60.0, 23.5, 0.0, 0.0, 1.0]
        self.send(f"{topic}/camera_info", "sensor_msgs/msg/CameraInfo", stamp, k=k, width=64, height=48)
        rgb = image(view, frame, run)
        factor = self.poses.get((run, frame, view), 1.0)

        if (run, frame, view) in self.late:
            factor = None

        def send_pose() -> None:
            if factor is not None:
                pose = self.pose(0.5, factor)
                self.send(f"{topic}/pose", "geometry_msgs/msg/PoseStamped", stamp, pose=pose)

        if not pose_late:
            send_pose()
        if (run, frame, view) not in self.skip:
            self.writer.add_channel(f"{topic}/image_raw", "sensor_msgs/msg/Image")
            self.writer.write(f"{topic}/image_raw", image_to_cdr(rgb, stamp, "x"), stamp + 2)
        if pose_late:
            send_pose()
        return rgb

    def verdict(self, view: View, stamp: int, rgb: NDArray[np.uint8]) -> None:
        frame = GateFrame(view, stamp, stamp, self.judge.judge(view, rgb))
        state = self.gate.get(view, GateState())
        self.gate[view], quality, lease = step(state, frame, self.rules)
        fields = {"view": str(view), "reason": quality.reason, "verdict": int(quality.verdict)}
        self.send("/gate/quality", f"{OURS}/ImageQuality", stamp, latency_ms=2.5, **NO_PREDICTION, **fields)
        lease_fields = fields | {"verdict": int(lease.verdict), "judged": int(lease.judged)}
        self.send("/gate/lease", f"{OURS}/GateLease", stamp, mode=0, **lease_fields)

    def answer(self, rgb: NDArray[np.uint8], source: Source, stamp: int) -> None:
        frame = Frame(self.views[0], stamp, rgb, INTRINSICS, np.eye(4))
        self.send(
            "/vlm/answer",
            f"{OURS}/VlmAnswer",
            stamp,
            view=str(self.views[0]),
            source=int(source),
            task=TASK,
            answer=PixelVlm().answer(frame, TASK),
            subject="pixel-vlm",
            subject_version="1",
            latency_ms=7.0,
        )

    def decision(self, images: dict[View, NDArray[np.uint8]], source: Source, stamp: int) -> None:
        frames = {view: Frame(view, stamp, rgb, INTRINSICS, np.eye(4)) for view, rgb in images.items()}
        observation = VlaObservation(frames, TASK, matrix_from_pose(self.pose(0.3)), 0.25, 1)
        chunk = PixelVla(self.views).act(observation)
        names = ("x", "y", "z", "rx", "ry", "rz", "gripper")
        rows = [
            self.types.new(f"{OURS}/ActionIncrement", **dict(zip(names, map(float, row), strict=True)))
            for row in chunk.increments
        ]
        self.send(
            "/vla/reference_actions" if source is Source.RAW else "/vla/actions",
            f"{OURS}/ActionChunk",
            stamp,
            view=str(self.views[0]),
            other_views=[str(view) for view in self.views[1:]],
            other_stamps=[self.types.time(stamp + self.offsets_ns.get(view, 0)) for view in self.views[1:]],
            source=int(source),
            sequence=self.sequence,
            step=1,
            task=TASK,
            tool_pose=self.pose(0.3),
            gripper=0.25,
            increments=rows,
            target_u=3.0,
            target_v=4.0,
            seen=math.nan,
            reason=chunk.reason,
            subject="pixel-vla",
            subject_version="1",
            latency_ms=4.0,
        )

    def frame(self, run: int, frame: int, spec: DistortionSpec | None, *, decides: bool) -> None:
        stamp, distorter = stamp_ns(run, frame), FrameDistorter(spec, start_ns(run))
        raw = {view: self.camera(view, run, frame, pose_late=frame % 2 == 1) for view in self.views}
        stamps = {view: self.stamp_of(view, run, frame) for view in self.views}
        distorted = {view: distorter.apply(rgb, view, stamps[view]) for view, rgb in raw.items()}
        for view in self.views:
            if (run, frame, view) not in self.unjudged:
                self.verdict(view, stamps[view], distorted[view])
        if frame == 0:
            self.answer(raw[self.views[0]], Source.RAW, stamp)
            self.answer(distorted[self.views[0]], Source.DISTORTED, stamp)
        if decides:
            self.sequence += 1
            self.decision(distorted, Source.DISTORTED, stamp)
            self.decision(raw, Source.RAW, stamp)
        for (its_run, its_frame, view), after in self.late.items():
            if (its_run, after) == (run, frame):
                topic, its_ns = f"/camera/{view}/pose", stamp_ns(run, its_frame)
                self.send(
                    topic, "geometry_msgs/msg/PoseStamped", its_ns, at_ns=stamp + 3, pose=self.pose(0.5)
                )

    def close(self, metadata: dict[str, str] | None = None) -> Path:
        self.writer.add_metadata("embodied_iqa", metadata or {"version": "1"})
        self.writer.close()
        return self.path


def write_trial(
    path: Path,
    specs: Sequence[DistortionSpec | None] = (None, NOISE),
    *,
    orphan: bool = False,
    metadata: dict[str, str] | None = None,
    **options: Any,
) -> Path:
    """Write a trial with four frames a run, decisions on frame 0 and 2; every run succeeds.

    Args:
        path: Of the file.
        specs: Distortion of each run.
        metadata: Of the recording.
        orphan: Write an image without a camera pose before the first run.
        options: Of `Recorder`.
    """
    recorder = Recorder(path, **options)
    if orphan:
        stamp = start_ns(0) - PERIOD_NS
        recorder.writer.add_channel("/camera/top/image_raw", "sensor_msgs/msg/Image")
        recorder.writer.write(
            "/camera/top/image_raw", image_to_cdr(image(View.TOP, 0), stamp, "x"), stamp + 2
        )
    for run, spec in enumerate(specs):
        recorder.event(1, run, start_ns(run), spec)
        for frame in range(4):
            recorder.frame(run, frame, spec, decides=frame in {0, 2})
        end = {"outcome": 1, "reason": "done", "x": 0.4 + 0.1 * run, "frames_published": 8}
        last_ns = max(recorder.stamp_of(view, run, 3) for view in recorder.views)
        recorder.event(3, run, last_ns, None, **end)
        recorder.send(
            "/arm/tool_pose", "geometry_msgs/msg/PoseStamped", stamp_ns(run, 1), pose=recorder.pose()
        )
    return recorder.close(metadata)
