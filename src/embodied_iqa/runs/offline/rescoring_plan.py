"""What is asked about stored images, and who is asked; a subject that needs what is not known is refused."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.data.frames.dataset_states import DatasetStates
from embodied_iqa.data.frames.depth_beside import Depth
from embodied_iqa.data.recording.robot_states import RobotStates, StateTopics
from embodied_iqa.imaging.distortions import DistortionSpec
from embodied_iqa.imaging.images.frame import Intrinsics, View
from embodied_iqa.imaging.images.stored_images import Frames, StoredImage
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.judgement import ImageJudge
from embodied_iqa.runs.offline.recorded_actions import RecordedActions
from embodied_iqa.world.protocols import Vla, Vlm


@dataclass(frozen=True, slots=True)
class RescoringPlan:
    """What is asked about which images.

    Attributes:
        cameras: Topic to camera; the first one sets the pace.
        task: The instruction of every moment; empty for those of the source.
        distortions: Each gives a run of its own, beside that of the images as they were recorded.
        every_s: Least time between two moments; 0 for every image of the first camera.
        intrinsics: Of cameras where they are known.
        poses: ``T_base_camera`` ``(4, 4)`` (m) of cameras that stand still, where they are known.
        tasks: Instructions, each from a stamp on until the next one's; empty for ``task``.
        faults: Why intrinsics or a pose that are recorded are not used.
        depths: Depth beside the images of a topic, where there is some.
    """

    cameras: Mapping[str, View]
    task: str
    distortions: tuple[DistortionSpec, ...]
    every_s: float
    intrinsics: Mapping[View, Intrinsics] = field(default_factory=dict)
    poses: Mapping[View, NDArray[np.float64]] = field(default_factory=dict)
    tasks: tuple[tuple[int, str], ...] = ()
    faults: tuple[str, ...] = ()
    depths: Mapping[str, Depth] = field(default_factory=dict)

    def task_of(self, image: StoredImage) -> str | None:
        """Return the instruction at an image: of all, of the list, or of the source."""
        if self.tasks and image.stamp_ns is not None:
            place = bisect_right(self.tasks, image.stamp_ns, key=lambda entry: entry[0])
            return self.tasks[place - 1][1] if place else None
        return self.task or image.task


@dataclass(frozen=True, slots=True)
class Panel:
    """Who judges.

    Attributes:
        vlm: None for none.
        vla: None for none.
        states: Of the robot; None where there are none, which refuses a VLA.
        actions: What was done, as a second reference of the VLA; None for none.
        judge: Of the gate; None for no verdicts.
        gate: Rules of the gate.
    """

    vlm: Vlm | None
    vla: Vla | None
    states: RobotStates | DatasetStates | None
    judge: ImageJudge | None
    gate: GateOptions
    actions: RecordedActions | None = None


def check_panel(frames: Frames, plan: RescoringPlan, panel: Panel) -> None:
    """Check that the source has what the VLM and the VLA see and what the VLA needs.

    Raises:
        UsageError: It lacks a view or what is known of the robot.
    """
    vla, views = panel.vla, tuple(plan.cameras.values())
    vlm = None if panel.vlm is None else panel.vlm.info
    if vlm is not None and vlm.shown_view(views) not in views:
        raise UsageError(
            f"{vlm.name} sees the {vlm.views[0]} view, which {frames.path} does not have",
            expected=f"--topic {vlm.views[0]}=TOPIC",
            available=frames.topics,
        )
    missing = [view for view in (vla.info.views if vla is not None else ()) if view not in views]
    if vla is not None and missing:
        raise UsageError(
            f"{vla.info.name} sees the {missing[0]} view, which {frames.path} does not have",
            expected=f"--topic {missing[0]}=TOPIC",
            available=frames.topics,
        )
    known = StateTopics() if panel.states is None else panel.states.topics
    if vla is not None and not known.has_pose:
        raise UsageError(
            f"{vla.info.name} needs the pose of the tool and the gripper, which are not known",
            expected="--state gripper=TOPIC and --state tool=TOPIC of a recording, or joints=TOPIC and --arm",
        )
    for info in () if vla is None or known.joints else (vla.info, *vla.info.parts):
        if info.joints_of:
            raise UsageError(
                f"{info.name} commands joints, which are not known", expected="--state joints=TOPIC"
            )
