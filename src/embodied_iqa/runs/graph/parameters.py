"""Parameters of the nodes: the only declaration of names, defaults, ranges and descriptions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import ClassVar

from embodied_iqa.arm.horizon_options import HorizonOptions
from embodied_iqa.arm.lease_options import LeaseOptions
from embodied_iqa.arm.robot.limits import ArmLimits
from embodied_iqa.arm.robot.ur.options import CB3_RATE_HZ
from embodied_iqa.base.config import Scalar, parsed, ranged, values_of
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics import HOME_Q_RAD, TOOL_2F140_M
from embodied_iqa.base.kinematics.models import ArmModel
from embodied_iqa.imaging.distortions.time_course import canonical_schedule
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.optional_vlm import NONE, parse_optional_vlm
from embodied_iqa.models.subjects.reference import SubjectReference, parse_vla
from embodied_iqa.models.subjects.subject_options import (
    CacheOptions,
    DecodingOptions,
    LoadingOptions,
    PolicyOptions,
    ServerOptions,
    VlaOptions,
    VlmOptions,
)
from embodied_iqa.quality.gate.calibration_file import SHIPPED_CALIBRATION
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.runs.graph.arm_parameters import ArmDriver, ArmParameters
from embodied_iqa.runs.graph.camera_parameters import DEFAULT_VIEWS, CameraParameters
from embodied_iqa.runs.graph.camera_sources import CameraSource
from embodied_iqa.runs.graph.recording_parameters import PlaybackParameters, RecorderParameters


@dataclass(frozen=True, slots=True)
class SimParameters:
    """The simulated world.

    Attributes:
        scene_seed: Seed of the initial scene.
        instruction: Task whose objects the initial scene contains; empty for any scene.
        views: Cameras whose leases the world waits for.
        camera_rate_hz: Images of each camera per simulated second [Hz].
        state_rate_hz: Arm states per simulated second [Hz]: 125, the rate of the emulated CB3 controller;
            that of an e-Series sends every fourth state.
        clock_rate_hz: Messages on /clock per simulated second [Hz].
        real_time_factor: Most simulated seconds per real second; 0 for no limit.
        lockstep: Wait for arm and gate: a slow machine slows the world down and no image is lost.
        lockstep_timeout_s: Longest wait for arm or gate, real time [s]; one that misses it is not waited for
            until its next message.
        epoch_s: A reset starts at the next multiple of this simulated time [s]: the stamps of a run, and so
            the noise that is drawn from them, are the same in every session.
        running: Start the time at once; otherwise /sim/run starts it.
        emulator_ip: Loopback address on which the arm and its gripper speak the real robot's protocols.
        arm_model: Which arm stands in the cell. Follows from arm_node.
        lease: Times of a lease; of them, the window is the world's.
    """

    FORMER_NAMES: ClassVar[Mapping[str, str]] = {"lease_window_s": "lease.window_s"}

    scene_seed: int = 0
    instruction: str = ""
    views: tuple[View, ...] = DEFAULT_VIEWS
    camera_rate_hz: float = ranged(15.0, 1.0, 60.0)
    state_rate_hz: float = ranged(CB3_RATE_HZ, CB3_RATE_HZ, CB3_RATE_HZ)
    clock_rate_hz: float = ranged(62.5, 10.0, 500.0)
    real_time_factor: float = ranged(1.0, 0.0, 100.0)
    lockstep: bool = True
    lockstep_timeout_s: float = ranged(10.0, 0.01, 60.0)
    epoch_s: float = ranged(100.0, 1.0, 3600.0)
    running: bool = False
    emulator_ip: str = "127.0.0.1"
    arm_model: ArmModel = ArmModel.UR5
    lease: LeaseOptions = field(default_factory=LeaseOptions)


@dataclass(frozen=True, slots=True)
class DistortionParameters:
    """The distortion of every view, or of one.

    Attributes:
        views: The cameras.
        id: Initial distortion, 01 to 30; empty for none.
        level: Its level, 1 (mild) to 5 (severe).
        seed: Seed of all random parts.
        frozen: The same noise in every frame.
        schedule: Level over time from the first image on, such as burst:start=2,length=1; with view=top
            of this view only; empty: constant.
        preview_every: A JPEG preview of every so many images; 0 for none.
        newest_only: A newer image replaces one that waits, which counts as late; otherwise every image is
            handled in order. Set where time is real: a world without lockstep, RealSense cameras.
    """

    views: tuple[View, ...] = DEFAULT_VIEWS
    id: str = ""
    level: int = ranged(1, 1, 5)
    seed: int = 0
    frozen: bool = False
    schedule: str = parsed("", canonical_schedule)
    preview_every: int = ranged(5, 0, 1000)
    newest_only: bool = False


@dataclass(frozen=True, slots=True)
class GateParameters:
    """The quality gate.

    Attributes:
        views: The cameras.
        calibration: File with the thresholds, relative to the parameter file or, on the command line, to the
            working folder; the default is in the installed config folder.
        judge: Rules of the verdicts.
        policy: Whose decisions the second stage judges. Follows from vla_node.
        judge_note: Why a simulated trial is judged by statistics although its user sets no judge; else empty.
            Follows from the cameras and vla_node.
        newest_only: See distortion_node.
        has_arm: Whether there is an arm, which obeys the leases. Follows from the robot.
        simulated: Whether time may stand still between images. Follows from the robot.
    """

    views: tuple[View, ...] = DEFAULT_VIEWS
    calibration: str = SHIPPED_CALIBRATION
    judge: GateOptions = field(default_factory=GateOptions)
    policy: str = ""
    judge_note: str = ""
    newest_only: bool = False
    has_arm: bool = True
    simulated: bool = True


@dataclass(frozen=True, slots=True)
class VlmParameters:
    """The vision-language model.

    Attributes:
        subject: Which model: a name of the catalogue, or where it is, see docs/subjects.md; none: the graph
            has no VLM.
        cameras: Those of the cell, separated by commas; empty: not known. Follows from camera_node.
        keep_frames: Frames of a view that questions can refer to.
        frame_deadline_s: Longest wait of a question for its frame [s].
        answer_deadline_s: Longest time of an answer, including the queue [s].
        loading: Options for loading a checkpoint.
        server: Options for connecting to a server.
        decoding: Decoding options.
        cache: Options of the answer cache.
    """

    subject: SubjectReference = parsed("panel-vlm-fine", parse_optional_vlm)
    cameras: str = ""
    keep_frames: int = ranged(16, 2, 256)
    frame_deadline_s: float = ranged(5.0, 0.1, 60.0)
    answer_deadline_s: float = ranged(60.0, 0.1, 3600.0)
    loading: LoadingOptions = field(default_factory=LoadingOptions)
    server: ServerOptions = field(default_factory=ServerOptions)
    decoding: DecodingOptions = field(default_factory=DecodingOptions)
    cache: CacheOptions = field(default_factory=CacheOptions)

    @property
    def is_none(self) -> bool:
        """Whether the graph has no VLM."""
        return self.subject.text == NONE

    @property
    def options(self) -> VlmOptions:
        """Options of the subject."""
        return VlmOptions(self.loading, self.server, self.decoding, self.cache)


@dataclass(frozen=True, slots=True)
class VlaParameters:
    """The vision-language-action model.

    Attributes:
        subject: Which model: a name of the catalogue, or where it is; see docs/subjects.md.
        cameras: See vlm_node.
        keep_frames: Frames of a view that are kept to pair raw and distorted.
        decide_again_s: Time between decisions while the arm has nothing to execute [s].
        max_chunks: Most decisions in one run, without those that the gate keeps from moving the arm and, of a
            receding horizon, those that the arm refuses; 0: no limit, the default outside the simulated cell.
        answer_deadline_s: Longest time of a decision [s]; a later one is dropped.
        horizon: How much of a chunk is executed before the next one is due.
        has_arm: Whether an arm reports the pose of the tool. Follows from the robot.
        simulated: The arm is simulated; a real one is not moved by a policy for simulation only. Follows from
            the robot.
        arm_model: Model of the arm; a policy for the joints of another does not move a real one. Follows from
            arm_node.
        tool_length_m: From the flange of that arm to the tool centre point [m]. Follows from arm_node.
        repaired: Its images come through the gate, which repairs some. Follows from gate_node.
        assumed_q_rad: Joint angles given to the subject without an arm [rad].
        loading: Options for loading a checkpoint.
        server: Options for connecting to a server.
        policy: Action convention of a foreign policy.
        newest_only: See distortion_node.
    """

    subject: SubjectReference = parsed("panel-vla-query", parse_vla)
    cameras: str = ""
    keep_frames: int = ranged(8, 2, 256)
    decide_again_s: float = ranged(0.5, 0.05, 60.0)
    max_chunks: int = ranged(12, 0, 1000)
    answer_deadline_s: float = ranged(60.0, 0.05, 3600.0)
    horizon: HorizonOptions = field(default_factory=HorizonOptions)
    has_arm: bool = True
    simulated: bool = False
    arm_model: ArmModel = ArmModel.UNSET
    tool_length_m: float = ranged(TOOL_2F140_M, 0.0, 1.0)
    repaired: bool = False
    assumed_q_rad: tuple[float, ...] = HOME_Q_RAD
    newest_only: bool = False
    loading: LoadingOptions = field(default_factory=LoadingOptions)
    server: ServerOptions = field(default_factory=ServerOptions)
    policy: PolicyOptions = field(default_factory=PolicyOptions)

    @property
    def shows_joints(self) -> bool:
        """Whether a policy may see and command joints: those of a UR5 with the tool that policies know.

        Without an arm they are the assumed ones.
        """
        is_default = self.simulated and self.arm_model is ArmModel.UNSET
        is_ur5 = is_default or self.arm_model is ArmModel.UR5
        return not self.has_arm or (is_ur5 and self.tool_length_m == TOOL_2F140_M)

    @property
    def options(self) -> VlaOptions:
        """Options of the subject."""
        return VlaOptions(self.loading, self.server, self.policy)


@dataclass(frozen=True, slots=True)
class TrialParameters:
    """The trial.

    Attributes:
        simulated: Whether the /sim services exist. Follows from the robot.
        has_arm: Whether there is an arm. Follows from the robot.
        has_vlm: Whether a VLM answers. Follows from vlm_node.
        views: The cameras.
        managed_nodes: Lifecycle nodes that the trial configures and activates.
        start_deadline_s: Longest time without progress while the nodes start, which takes five times as long
            at most [s, real time].
        reply_deadline_s: Longest wait for a service [s, real time].
        run_limit_s: Longest run [s, ROS time]. Where no source sets it, 30 s in the simulated cell and 120 s
            otherwise.
        return_limit_s: Longest way of a real arm back to the start of a run [s, real time].
        no_motion_limit_s: Longest time without motion before a run ends, without the time that the policy
            takes to decide [s, ROS time].
        hold_limit_s: The same while the gate holds the arm: the policy decides again on new frames until the
            image recovers, and after this time the run ends [s, ROS time].
        settle_s: Time for objects to come to rest at the end of a run [s, ROS time].
        stall_limit_s: Longest time without a message from the world or a real arm [s, real time].
        limits: Limits of the arm on its way back to the start. Follows from arm_node.
        person_limit_s: Longest wait for an answer of the person at a real arm [s, real time].
        drain_s: Time for messages to reach the recorder before it is closed [s, real time].
    """

    simulated: bool = True
    has_arm: bool = True
    has_vlm: bool = True
    views: tuple[View, ...] = DEFAULT_VIEWS
    managed_nodes: tuple[str, ...] = ("gate_node", "vlm_node", "vla_node", "arm_node")
    start_deadline_s: float = ranged(60.0, 1.0, 3600.0)
    reply_deadline_s: float = ranged(20.0, 0.1, 3600.0)
    run_limit_s: float = ranged(30.0, 1.0, 3600.0)
    return_limit_s: float = ranged(30.0, 1.0, 3600.0)
    no_motion_limit_s: float = ranged(3.0, 0.1, 3600.0)
    hold_limit_s: float = ranged(3.0, 0.1, 3600.0)
    settle_s: float = ranged(0.5, 0.0, 60.0)
    stall_limit_s: float = ranged(20.0, 1.0, 3600.0)
    person_limit_s: float = ranged(1800.0, 1.0, 86400.0)
    limits: ArmLimits = field(default_factory=ArmLimits)
    drain_s: float = ranged(0.3, 0.0, 60.0)

    @property
    def attended(self) -> bool:
        """Whether a person resets the scene before each run and judges the run: with a real arm."""
        return self.has_arm and not self.simulated


def check_rates(world: SimParameters, arm: ArmParameters) -> None:
    """Check that the simulated world and the arm's controller tick alike.

    Raises:
        UsageError: They do not.
    """
    dt_s = 1.0 / world.state_rate_hz
    if abs(arm.controller.dt_s - dt_s) > 1e-9:
        raise UsageError(
            "world and arm tick at different rates",
            expected=f"arm_node.controller.dt_s {dt_s:g}",
            got=arm.controller.dt_s,
        )


@dataclass(frozen=True, slots=True)
class GraphParameters:
    """The resolved parameters of every node; a field has the name of its node."""

    sim_node: SimParameters
    camera_node: CameraParameters
    distortion_node: DistortionParameters
    gate_node: GateParameters
    vlm_node: VlmParameters
    vla_node: VlaParameters
    arm_node: ArmParameters
    recorder_node: RecorderParameters
    trial_node: TrialParameters
    playback_node: PlaybackParameters
    qos: Mapping[str, Mapping[str, Scalar]] = field(default_factory=dict, hash=False)
    """Overrides of the quality of service of each node's topics, see `qos_overrides`."""

    @property
    def subjects(self) -> tuple[SubjectReference, ...]:
        """The VLM, if there is one, and the VLA."""
        vlm = self.vlm_node.subject
        return (self.vla_node.subject,) if self.vlm_node.is_none else (vlm, self.vla_node.subject)

    @property
    def shares_domain(self) -> bool:
        """Whether cameras or the driver of the arm are other people's nodes."""
        arm = self.arm_node
        is_driven = arm.robot.is_real and arm.driver is ArmDriver.ROS2_CONTROL
        return self.camera_node.source is CameraSource.TOPIC or is_driven

    def values(self) -> dict[str, dict[str, Scalar]]:
        """Return node name to flat parameter names and plain values."""
        nodes = [field.name for field in fields(self) if field.name != "qos"]
        return {node: {**values_of(getattr(self, node)), **self.qos.get(node, {})} for node in nodes}
