"""Parameters of the cameras."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from embodied_iqa.base.config import per_key, ranged
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics.geometry import TOOL_2F140_M
from embodied_iqa.base.kinematics.models import ArmModel
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.hand_eye import IDENTITY
from embodied_iqa.models.subjects.catalogue import Backend
from embodied_iqa.models.subjects.reference import SubjectReference
from embodied_iqa.runs.graph.camera_sources import CameraKind, CameraSource
from embodied_iqa.runs.graph.frame_parameters import FrameParameters
from embodied_iqa.runs.graph.topic_parameters import TopicParameters
from embodied_iqa.world.simulation.camera import DEFAULT_MODEL, CameraModel
from embodied_iqa.world.simulation.camera.faults import FaultRates

DEFAULT_VIEWS: Final = (View.TOP, View.WRIST)
_NAMED: Final = {Backend.TRANSFORMERS, Backend.OPENPI, Backend.OPENVLA_HTTP}
"""What runs policies whose cameras `vla_node.policy.views` names."""
_RENAMED: Final = "its name for a camera that is there"


@dataclass(frozen=True, slots=True)
class RealSenseParameters:
    """RealSense cameras.

    Attributes:
        serial: Serial number of the camera of a view, such as serial_top; may be missing where only one
            camera is connected.
        depth: Publish depth aligned to colour too, as /camera/<view>/depth/image_raw in mm.
        allow_host_stamps: Accept the computer's time stamps from a camera without its own; images then seem
            newer than they are.
        silence_s: Time without an image after which a camera is restarted [s].
        give_up_s: Time without an image after which a camera counts as lost, until its next image [s].
    """

    serial: Mapping[View, str] = per_key("")
    depth: bool = False
    allow_host_stamps: bool = False
    silence_s: float = ranged(2.0, 0.1, 60.0)
    give_up_s: float = ranged(30.0, 0.1, 3600.0)


@dataclass(frozen=True, slots=True)
class HandEyeParameters:
    """Poses of real cameras: 4x4 matrices row by row, optical frame x right, y down, z forward [m].

    Identity means that a camera is not calibrated. The poses of the fixed cameras are also those of image
    files, and of recordings that hold no poses.

    Attributes:
        T_base_camera: A fixed camera in the robot's base frame, such as T_base_camera_top.
        T_flange_camera: A camera on the arm in the flange's frame, such as T_flange_camera_wrist.
        tool_length_m: From the flange to the tool centre point, as in arm_node [m].
        longest_gap_s: Longest time between an image of a camera on the arm and a tool pose [s].
    """

    T_base_camera: Mapping[View, tuple[float, ...]] = per_key(IDENTITY)
    T_flange_camera: Mapping[View, tuple[float, ...]] = per_key(IDENTITY)
    tool_length_m: float = ranged(TOOL_2F140_M, 0.0, 1.0)
    longest_gap_s: float = ranged(0.06, 0.001, 1.0)


@dataclass(frozen=True, slots=True)
class CameraParameters:
    """The cameras.

    Attributes:
        source: Source of the images.
        model: Camera model of the simulated cameras: ideal, or d455 with the lens, noise and exposure control
            of a RealSense D455.
        faults: Rare dropped and repeated images of the simulated cameras.
        arm_model: Which arm the simulated cameras see. Follows from arm_node.
        views: The cameras.
        width_px: Image width [px]; of the simulated and of RealSense cameras.
        height_px: Image height [px]; of the simulated and of RealSense cameras.
        rate_hz: Images per second of each camera [Hz]; of files, bags and RealSense.
        path: Folder of images, or of one folder per view, or a recording (.mcap, .db3), video or LeRobot data
            set, with topic.image where its topics do not name the cameras; for files and bags. For
            realsense a recording (.bag, .db3) or a folder with one per view, instead of connected cameras;
            for python a factory, module:function, or the name of a plug-in, see docs/extend.md.
        loop: Restart at the end of files, bag or recording.
        in_runs: Play files or bag in each run of a trial; before a run show the first image, at the end of
            the images the last one. Set in the graph of a trial.
        newest_only: Draw only the newest state of the world; see distortion_node.
        horizontal_fov_rad: Horizontal field of view of images from files [rad].
        realsense: RealSense cameras.
        topic: Cameras that other nodes publish.
        hand_eye: Poses of real cameras.
        frames: The cameras' optical frames on /tf and /tf_static, where their poses are known.
    """

    source: CameraSource = CameraSource.SIMULATED
    model: CameraModel = DEFAULT_MODEL
    faults: FaultRates = field(default_factory=FaultRates)
    arm_model: ArmModel = ArmModel.UR5
    views: tuple[View, ...] = DEFAULT_VIEWS
    width_px: int = ranged(640, 64, 3840)
    height_px: int = ranged(480, 64, 2160)
    rate_hz: float = ranged(15.0, 0.1, 120.0)
    path: str = ""
    loop: bool = False
    in_runs: bool = False
    newest_only: bool = False
    horizontal_fov_rad: float = ranged(1.5, 0.1, 3.0)
    realsense: RealSenseParameters = field(default_factory=RealSenseParameters)
    topic: TopicParameters = field(default_factory=TopicParameters)
    hand_eye: HandEyeParameters = field(default_factory=HandEyeParameters)
    frames: FrameParameters = field(default_factory=FrameParameters)

    def __post_init__(self) -> None:
        """Refuse settings of a camera that is none of the views: they would have no effect."""
        of_views = {
            "realsense.serial": self.realsense.serial,
            "hand_eye.T_base_camera": self.hand_eye.T_base_camera,
            "hand_eye.T_flange_camera": self.hand_eye.T_flange_camera,
        }
        for name, values in of_views.items():
            for view in values:
                if view not in self.views:
                    raise UsageError(f"{name}_{view} is of no camera in views", available=self.views)
        for view in self.hand_eye.T_base_camera.keys() & self.hand_eye.T_flange_camera.keys():
            both = f"T_base_camera_{view} or T_flange_camera_{view}"
            raise UsageError(f"the {view} camera has two poses", expected=both)

    @property
    def is_stored(self) -> bool:
        """Whether the images were made before: files, or a recording in place of connected cameras."""
        kind = self.source.kind
        return kind is CameraKind.STORED or (kind is CameraKind.LIVE and bool(self.path))

    def needed_path(self) -> str:
        """Return the path for a source that cannot do without.

        Raises:
            UsageError: None is given.
        """
        if not self.path:
            raise UsageError(f"camera source {self.source} needs a path", expected="the parameter path")
        return self.path


def cameras_of(policy: SubjectReference) -> tuple[View, ...]:
    """Return the cameras of an embedded policy; empty for others, which name theirs once they are loaded."""
    if policy.parts:
        found = [cameras_of(part) for part in policy.parts]
        return tuple(dict.fromkeys(view for views in found for view in views)) if all(found) else ()
    if policy.entry is None or policy.backend is not Backend.EMBEDDED:
        return ()
    return policy.entry.views


def check_cameras(subject: str, wanted: Sequence[View], views: Sequence[str], *ways: str) -> None:
    """Refuse cameras that lack one of a subject's: it would never answer, or its arm never have a lease.

    Args:
        subject: Its name.
        wanted: Its cameras.
        views: Those of the cell.
        ways: What else than another camera helps, such as an option.

    Raises:
        UsageError: A camera is missing.
    """
    missing = [view for view in wanted if view not in views]
    if missing:
        both = ",".join(dict.fromkeys([*views, *wanted]))
        raise UsageError(
            f"{subject} sees the {missing[0]} view, which no camera takes",
            expected=", or ".join([*ways, f'--set "camera_node.views=[{both}]"', _RENAMED]),
            got=", ".join(views),
        )


def check_vlm_camera(vlm: SubjectReference, shown: View | None, views: Sequence[str]) -> None:
    """Refuse cameras that lack the one whose images a VLM is shown, see `check_cameras`.

    Args:
        vlm: Which one.
        shown: Its camera; None where it is not known yet.
        views: Those of the cell.

    Raises:
        UsageError: The camera is missing.
    """
    if shown is not None:
        check_cameras(vlm.text, [shown], views, "--vlm none (vlm_node.subject)")


def check_policy_cameras(policy: SubjectReference, wanted: Sequence[View], views: Sequence[str]) -> None:
    """Refuse cameras that lack one of a policy's, see `check_cameras`.

    Raises:
        UsageError: A camera is missing.
    """
    if policy.entry is None:  # how many it sees is not known
        shown = [*views]
    else:
        others = iter([view for view in views if view not in wanted])
        shown = [view if view in views else next(others, "") for view in wanted]
    way = f"--set vla_node.policy.views={','.join(shown)} (its cameras, in its order)"
    ways = [way] if policy.backend in _NAMED and all(shown) else []
    check_cameras(policy.text, wanted, views, *ways)
