"""Parameters of every node: the only declaration of names, defaults, ranges and descriptions."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import StrEnum

from embodied_iqa.config import Scalar, parsed, ranged, values_of
from embodied_iqa.gate.judge import GateOptions
from embodied_iqa.graph.camera_parameters import DEFAULT_VIEWS, CameraParameters
from embodied_iqa.images.frame import View
from embodied_iqa.kinematics.geometry import TOOL_2F140_M
from embodied_iqa.recording.compression import Compression
from embodied_iqa.robot.limits import ArmLimits
from embodied_iqa.robot.state import ControllerOptions
from embodied_iqa.robot.ur_options import UrOptions
from embodied_iqa.scenes.dimensions import HOME_Q_RAD
from embodied_iqa.subjects.options import (
    CacheOptions,
    DecodingOptions,
    LoadingOptions,
    PolicyOptions,
    ServerOptions,
    VlaOptions,
    VlmOptions,
)
from embodied_iqa.subjects.reference import SubjectReference, parse_vla, parse_vlm


class RobotKind(StrEnum):
    """Which arm moves."""

    SIM = "sim"
    """The simulated arm, through the real robot's driver and protocols."""
    UR5 = "ur5"
    """A UR arm with a Robotiq gripper."""
    NONE = "none"

    @property
    def is_simulated(self) -> bool:
        """Whether the arm lives in the simulated world."""
        return self is RobotKind.SIM


@dataclass(frozen=True, slots=True)
class SimParameters:
    """The simulated world.

    Attributes:
        scene_seed: Seed of the scene at the start.
        instruction: Task whose object the scene at the start contains; empty for any scene.
        views: Cameras whose leases the world waits for.
        camera_rate_hz: Pictures of each camera per simulated second [Hz].
        state_rate_hz: Arm states per simulated second [Hz]; the controller's rate.
        clock_rate_hz: Messages on /clock per simulated second [Hz].
        real_time_factor: Simulated seconds per real second at most; 0 for as fast as the others keep up.
        lockstep: Wait for arm and gate, so that a slow machine slows the world instead of losing pictures.
        lockstep_timeout_s: How long to wait for arm or gate in real time [s]; who misses it is not waited
            for again until heard from.
        lease_window_s: How far simulated time may run ahead of a picture that is not judged yet [s].
        epoch_s: A reset starts at the next multiple of this simulated time [s]: the stamps of a run, and so
            the noise that is drawn from them, are the same in every session.
        running: Let time run from the start; else it stands still until /sim/run.
        emulator_ip: Loopback address on which the arm and its gripper speak the real robot's protocols.
    """

    scene_seed: int = 0
    instruction: str = ""
    views: tuple[View, ...] = DEFAULT_VIEWS
    camera_rate_hz: float = ranged(15.0, 1.0, 60.0)
    state_rate_hz: float = ranged(125.0, 50.0, 500.0)
    clock_rate_hz: float = ranged(62.5, 10.0, 500.0)
    real_time_factor: float = ranged(1.0, 0.0, 100.0)
    lockstep: bool = True
    lockstep_timeout_s: float = ranged(10.0, 0.01, 60.0)
    lease_window_s: float = ranged(0.016, 0.0, 1.0)
    epoch_s: float = ranged(100.0, 1.0, 3600.0)
    running: bool = False
    emulator_ip: str = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class DistortionParameters:
    """The distortion of every view.

    Attributes:
        views: The cameras.
        id: Distortion at the start, 01 to 30; empty for none.
        level: Its level, 1 (mild) to 5 (severe).
        seed: Seed of everything random in it.
        frozen: The same noise in every frame.
        preview_every: A JPEG preview of every so many pictures; 0 for none.
    """

    views: tuple[View, ...] = DEFAULT_VIEWS
    id: str = ""
    level: int = ranged(1, 1, 5)
    seed: int = 0
    frozen: bool = False
    preview_every: int = ranged(5, 0, 1000)


@dataclass(frozen=True, slots=True)
class GateParameters:
    """The quality gate.

    Attributes:
        views: The cameras.
        calibration: File with the thresholds; relative paths are looked up in the installed config folder.
        judge: How verdicts are formed.
    """

    views: tuple[View, ...] = DEFAULT_VIEWS
    calibration: str = "config/gate/simulated.yaml"
    judge: GateOptions = field(default_factory=GateOptions)


@dataclass(frozen=True, slots=True)
class VlmParameters:
    """The vision-language model.

    Attributes:
        subject: Which model: a name of the catalogue, or where it is; see docs/subjects.md.
        keep_frames: Frames of a view that can still be asked about.
        frame_deadline_s: How long a question waits for the frame it names [s].
        answer_deadline_s: How long an answer may take, with the wait for other questions [s].
        loading: How a checkpoint is loaded.
        server: How a server is reached.
        decoding: How words are chosen.
        cache: Answers that are kept.
    """

    subject: SubjectReference = parsed("panel-vlm-fine", parse_vlm)
    keep_frames: int = ranged(16, 2, 256)
    frame_deadline_s: float = ranged(5.0, 0.1, 60.0)
    answer_deadline_s: float = ranged(60.0, 0.1, 3600.0)
    loading: LoadingOptions = field(default_factory=LoadingOptions)
    server: ServerOptions = field(default_factory=ServerOptions)
    decoding: DecodingOptions = field(default_factory=DecodingOptions)
    cache: CacheOptions = field(default_factory=CacheOptions)

    @property
    def options(self) -> VlmOptions:
        """What the subject is made with."""
        return VlmOptions(self.loading, self.server, self.decoding, self.cache)


@dataclass(frozen=True, slots=True)
class VlaParameters:
    """The vision-language-action model.

    Attributes:
        subject: Which model: a name of the catalogue, or where it is; see docs/subjects.md.
        keep_frames: Frames of a view that are kept to pair raw and distorted.
        decide_again_s: Time between decisions while the arm has none to execute [s].
        max_chunks: Decisions of one run at most.
        answer_deadline_s: How long the subject may think about a picture [s]; what it says later is dropped.
        has_arm: The arm tells where the tool is. Follows from the robot.
        simulated: The arm is simulated; a real one is not moved by a policy for simulation only. Follows from
            the robot.
        assumed_q_rad: Joint angles that the subject is told where there is no arm [rad].
        loading: How a checkpoint is loaded.
        server: How a server is reached.
        policy: What a foreign policy's numbers mean.
    """

    subject: SubjectReference = parsed("panel-vla-query", parse_vla)
    keep_frames: int = ranged(8, 2, 256)
    decide_again_s: float = ranged(0.5, 0.05, 60.0)
    max_chunks: int = ranged(12, 1, 1000)
    answer_deadline_s: float = ranged(60.0, 0.05, 3600.0)
    has_arm: bool = True
    simulated: bool = False
    assumed_q_rad: tuple[float, ...] = HOME_Q_RAD
    loading: LoadingOptions = field(default_factory=LoadingOptions)
    server: ServerOptions = field(default_factory=ServerOptions)
    policy: PolicyOptions = field(default_factory=PolicyOptions)

    @property
    def options(self) -> VlaOptions:
        """What the subject is made with."""
        return VlaOptions(self.loading, self.server, self.policy)


@dataclass(frozen=True, slots=True)
class ArmParameters:
    """The arm.

    Attributes:
        robot: Which arm moves.
        report_rate_hz: Status, joint states and tool pose per second [Hz].
        lease_wait_s: How long after its frame's stamp a goal waits for the verdict on that frame [s]; then it
            is refused.
        tool_length_m: From the flange to the tool centre point [m].
        limits: What the arm never exceeds.
        controller: Times and tolerances.
        ur: The UR arm, or its emulator in the simulated world.
    """

    robot: RobotKind = RobotKind.SIM
    report_rate_hz: float = ranged(25.0, 1.0, 500.0)
    lease_wait_s: float = ranged(0.5, 0.0, 10.0)
    tool_length_m: float = ranged(TOOL_2F140_M, 0.0, 1.0)
    limits: ArmLimits = field(default_factory=ArmLimits)
    controller: ControllerOptions = field(default_factory=ControllerOptions)
    ur: UrOptions = field(default_factory=UrOptions)


@dataclass(frozen=True, slots=True)
class RecorderParameters:
    """The recorder.

    Attributes:
        views: The cameras whose raw pictures are recorded.
        distorted_pictures: Record the distorted pictures too; they can be made again from the raw ones.
        queue_bytes: Memory for messages that wait to be written [byte].
        compression: Compression of the recording: zstd, lz4 or none.
    """

    views: tuple[View, ...] = DEFAULT_VIEWS
    distorted_pictures: bool = False
    queue_bytes: int = ranged(268_435_456, 1_000_000, 8_000_000_000)
    compression: Compression = Compression.ZSTD


@dataclass(frozen=True, slots=True)
class PlaybackParameters:
    """The playback of a recorded trial.

    Attributes:
        recording: The recorded trial, absolute path.
        out: Where the new recording goes, absolute path.
        views: The cameras.
        managed_nodes: Lifecycle nodes that the playback configures and activates.
        start_deadline_s: How long all nodes have to come up [s, real time].
        reply_deadline_s: How long a service or a judged picture may take [s, real time].
        drain_s: How long messages have to reach the recorder before it is closed [s, real time].
    """

    recording: str = ""
    out: str = ""
    views: tuple[View, ...] = DEFAULT_VIEWS
    managed_nodes: tuple[str, ...] = ("gate_node", "vlm_node", "vla_node")
    start_deadline_s: float = ranged(60.0, 1.0, 3600.0)
    reply_deadline_s: float = ranged(20.0, 0.1, 3600.0)
    drain_s: float = ranged(0.5, 0.0, 60.0)


@dataclass(frozen=True, slots=True)
class TrialParameters:
    """The trial.

    Attributes:
        simulated: The world can be reset and stopped (/sim services). Follows from the robot.
        has_arm: Something moves. Follows from the robot.
        views: The cameras.
        managed_nodes: Lifecycle nodes that the trial configures and activates.
        start_deadline_s: How long all nodes have to come up [s, real time].
        reply_deadline_s: How long a service has to answer [s, real time].
        run_limit_s: Longest run [s, ROS time].
        no_motion_limit_s: Longest time without motion before a run is ended [s, ROS time].
        settle_s: Time for things to come to rest at the end of a run [s, ROS time].
        stall_limit_s: Longest time without any news of the world [s, real time].
        limits: What the arm never exceeds on its way back to the start. Follows from arm_node.
        person_limit_s: How long the person at a real arm has to answer [s, real time].
        drain_s: How long messages have to reach the recorder before it is closed [s, real time].
    """

    simulated: bool = True
    has_arm: bool = True
    views: tuple[View, ...] = DEFAULT_VIEWS
    managed_nodes: tuple[str, ...] = ("gate_node", "vlm_node", "vla_node", "arm_node")
    start_deadline_s: float = ranged(60.0, 1.0, 3600.0)
    reply_deadline_s: float = ranged(20.0, 0.1, 3600.0)
    run_limit_s: float = ranged(30.0, 1.0, 3600.0)
    no_motion_limit_s: float = ranged(3.0, 0.1, 3600.0)
    settle_s: float = ranged(0.5, 0.0, 60.0)
    stall_limit_s: float = ranged(20.0, 1.0, 3600.0)
    person_limit_s: float = ranged(1800.0, 1.0, 86400.0)
    limits: ArmLimits = field(default_factory=ArmLimits)
    drain_s: float = ranged(0.3, 0.0, 60.0)

    @property
    def attended(self) -> bool:
        """Whether a person resets the scene before each run and judges the run: with a real arm."""
        return self.has_arm and not self.simulated


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

    def values(self) -> dict[str, dict[str, Scalar]]:
        """Return node name to flat parameter names and plain values."""
        return {field.name: values_of(getattr(self, field.name)) for field in fields(self)}
