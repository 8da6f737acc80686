"""`embodied-iqa record`: cameras and arm are only read, and every end leaves a whole file or none."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus

from embodied_iqa.arm.emulator.controller import Controller
from embodied_iqa.arm.emulator.firmware import FIRMWARE, Series
from embodied_iqa.arm.emulator.plant import KinematicPlant
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.kinematics import home_q_rad
from embodied_iqa.base.kinematics.models import ArmModel, flange_pose
from embodied_iqa.cli import record
from embodied_iqa.cli.main import main
from embodied_iqa.data.recording.bag_camera import BagCamera, BagCameraOptions
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.live.cell.clean_recording import CleanRecorder, record_clean
from embodied_iqa.live.ros.node import Health
from embodied_iqa.quality.gate.stored_frames import CameraFrames
from embodied_iqa.runs.graph.clean_recording_plan import CleanRecordingPlan, CleanRecordingProgress
from embodied_iqa.runs.graph.node_table import resolve
from manual_clock import ManualClock
from small_disk import small_disk
from ur_emulator import served

MODEL = ArmModel.UR5E
RGB = np.random.default_rng(1).integers(0, 256, (32, 48, 3), dtype=np.uint8)
T_FLANGE_CAMERA = np.array([[1, 0, 0, 0.0], [0, 1, 0, -0.08], [0, 0, 1, 0.05], [0, 0, 0, 1.0]])
OK = Health()


class OwnCamera:
    """A camera of a user's code."""

    def __init__(self, view: View, clock_ns: Callable[[], int]) -> None:
        self.view, self._clock_ns = view, clock_ns

    def read(self, deadline_s: float) -> Frame:
        del deadline_s
        return Frame(self.view, self._clock_ns(), RGB, None, None)

    def close(self) -> None: ...


def plan_of(path: Path, **overrides: object) -> CleanRecordingPlan:
    cell: dict[str, object] = {
        "camera_node.source": "python",
        "camera_node.path": f"{__name__}:OwnCamera",
        "camera_node.views": ["wrist"],
        "camera_node.rate_hz": 100.0,
        "arm_node.robot": "none",
    }
    named = {name.replace("__", "."): value for name, value in overrides.items()}
    graph, metadata = resolve((), cell | named, only_reads=True), {"camera_node.source": "python"}
    return CleanRecordingPlan(graph, path / "clean.mcap", seconds=600.0, metadata=metadata)


class Enough(KeyboardInterrupt):
    """Ctrl-C, once there is enough in the recording."""


class Shown(list[CleanRecordingProgress]):
    """What a person sees, who presses Ctrl-C once there is enough."""

    def __call__(self, progress: CleanRecordingProgress) -> None:
        self.append(progress)
        enough = [one for one in self if min(*one.images.values(), one.arm_states) >= 3]
        if len(enough) == 1:
            raise Enough


def test_ctrl_c_leaves_a_whole_file_with_the_pose_of_an_arm_that_was_only_read(tmp_path: Path) -> None:
    controller = Controller(
        FIRMWARE[Series.E], KinematicPlant(home_q_rad(MODEL.geometry)), geometry=MODEL.geometry
    )
    before = controller.plant.q_rad.copy()
    notes: list[str] = []
    shown = Shown()
    with served(controller) as host:
        plan = plan_of(
            tmp_path,
            arm_node__robot="ur5",
            arm_node__model=str(MODEL),
            arm_node__ur__ip=host,
            arm_node__tool_length_m=0.0,
            camera_node__hand_eye__T_flange_camera_wrist=T_FLANGE_CAMERA.ravel().tolist(),
            camera_node__hand_eye__longest_gap_s=1.0,
        )
        with pytest.raises(Enough):
            record_clean(plan, shown, notes.append)
    assert np.array_equal(controller.plant.q_rad, before)
    assert "UR5e" in notes[0]
    with TrialReader(plan.path) as reader:
        counts = {name: topic.messages for name, topic in reader.topics.items()}
    assert counts["/arm/joint_states"] == counts["/arm/tool_pose"] == shown[-1].arm_states >= 3
    assert counts["/camera/wrist/image_raw"] == shown[-1].images[View.WRIST], "shown once more at the end"
    stored = CameraFrames(plan.path, (), {})
    assert stored.are_real, "so that the next command names the cell's own file"
    frames = list(stored)
    assert len(frames) >= 3
    assert all(frame.view == "wrist" and np.array_equal(frame.rgb, RGB) for frame in frames)
    T_base_flange = flange_pose(MODEL.geometry, before)
    with closing(BagCamera(plan.path, View.WRIST, BagCameraOptions(geometry_optional=True))) as camera:
        seen = camera.read(0.0)
    assert seen is not None
    assert np.allclose(seen.needed_pose(), T_base_flange @ T_FLANGE_CAMERA, atol=1e-9)


def test_the_command_reports_what_it_recorded_and_overwrites_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def recorded(plan: CleanRecordingPlan, show: Any, _tell: object) -> CleanRecordingProgress:
        plan.path.write_bytes(b"images")
        assert plan.seconds == 90.0
        show(done := CleanRecordingProgress(90.0, {View.TOP: 900}, 5, 1))
        return done

    monkeypatch.setattr("embodied_iqa.live.cell.clean_recording.record_clean", recorded)
    words = ["record", "--minutes", "1.5", "--out", str(tmp_path / "out"), "--camera", "topic"]
    words += ["--robot", "none", "--json"]
    assert main(words) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["images"], shown["lost"], shown["arm_states"]) == ({"top": 900}, 1, 5)
    assert main(words) == 1
    assert "is not empty" in capsys.readouterr().err
    assert (tmp_path / "out" / record.RECORDING_FILE).read_bytes() == b"images"


@pytest.mark.parametrize(("images", "code"), [(3, 0), (0, 130)])
def test_ctrl_c_is_a_normal_end_once_every_camera_has_images(
    images: int,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def recorded(plan: CleanRecordingPlan, show: Any, _tell: object) -> CleanRecordingProgress:
        plan.path.write_bytes(b"images")
        show(CleanRecordingProgress(9.0, {View.TOP: 900, View.WRIST: images}, 5, 1))
        raise KeyboardInterrupt

    monkeypatch.setattr("embodied_iqa.live.cell.clean_recording.record_clean", recorded)
    words = ["--seconds", "99", "--out", str(tmp_path / "out"), "--camera", "topic", "--robot", "none"]
    assert main(["record", *words]) == code
    printed = capsys.readouterr()
    assert f"wrist: {images} images" in printed.out
    assert ("gate calibrate" in printed.err) is (code == 0)
    slow = [line.split(":")[0].strip() for line in printed.out.splitlines() if "too slow for a trial" in line]
    assert slow == ["wrist"], "0.3 or no images per second, against a lease of 0.12 s"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--camera", "topic", "--robot", "none", "--seconds", "0"], "above 0"),
        (["--seconds", "1"], "whose clean images `gate calibrate --simulated` renders"),
        (["--seconds", "1", "--camera", "files", "--camera-path", "x", "--robot", "none"], "stored already"),
    ],
)
def test_what_cannot_be_recorded_is_refused_before_anything_is_made(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["record", "--out", str(tmp_path / "out"), *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert not (tmp_path / "out").exists()


def test_a_silent_camera_and_a_lost_arm_end_it_and_say_why(tmp_path: Path) -> None:
    clock = ManualClock()
    recorder = CleanRecorder(plan_of(tmp_path, camera_node__views=["top", "wrist"]), clock)
    recorder.begin()
    clock.advance(9.0)
    recorder.take_frame(1, Frame(View.TOP, 1, RGB, None, None))
    recorder.check(OK)
    clock.advance(2.0)
    with pytest.raises(InputError, match=r"no image of the wrist camera for 10 s: wrist too_old 3$"):
        recorder.check(Health(values={"top lost": 2, "wrist too_old": 3, "wrist lost": 0}))
    recorder.take_frame(1, Frame(View.WRIST, 1, RGB, None, None))
    with pytest.raises(InputError, match="the arm is not read any more: gone"):
        recorder.check(OK, "gone")
    clock.advance(11.0)
    with pytest.raises(InputError, match="top camera for 10 s: unplugged"):
        recorder.check(Health(DiagnosticStatus.ERROR, "unplugged"))
    recorder.close()
    assert len(CameraFrames(tmp_path / "clean.mcap", (), {})) == 2


def test_frames_and_joints_are_named_as_the_arm_and_its_cameras_are(tmp_path: Path) -> None:
    arm = {"arm_node__robot": "ur5", "arm_node__model": str(MODEL), "arm_node__ur__ip": "192.0.2.1"}
    recorder = CleanRecorder(plan_of(tmp_path, **arm, arm_node__frames__prefix="left_"))
    recorder.take_frame(1, Frame(View.WRIST, 1, RGB, None, T_FLANGE_CAMERA))
    recorder.take_joints(1, tuple(home_q_rad(MODEL.geometry)))
    recorder.close()
    with TrialReader(tmp_path / "clean.mcap") as reader:
        topics = ["/camera/wrist/pose", "/arm/tool_pose", "/arm/joint_states"]
        *poses, joints = (next(map(reader.decode, reader.messages([topic]))) for topic in topics)
    assert {message.header.frame_id for message in (*poses, joints)} == {"left_base"}
    assert (joints.name[0], len(joints.name)) == ("left_shoulder_pan_joint", 6)


def test_the_rate_is_of_the_images_since_the_start(tmp_path: Path) -> None:
    clock = ManualClock()
    recorder = CleanRecorder(plan_of(tmp_path, camera_node__views=["top", "wrist"]), clock)
    for stamp_ns in range(1, 6):  # while the other camera opens
        recorder.take_frame(stamp_ns, Frame(View.TOP, stamp_ns, RGB, None, None))
    recorder.begin()
    for stamp_ns in range(6, 10):
        recorder.take_frame(stamp_ns, Frame(View.TOP, stamp_ns, RGB, None, None))
    clock.advance(2.0)
    recorder.end()
    clock.advance(3.0)  # while the cameras close
    recorder.take_frame(10, Frame(View.TOP, 10, RGB, None, None))
    done = recorder.close()
    assert done.seconds == 2.0
    assert (done.images[View.TOP], done.rate_hz(View.TOP), done.rate_hz(View.WRIST)) == (9, 2.0, 0.0)


def test_without_an_image_no_file_is_left(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, camera_node__path=f"{__name__}:none_such")
    with pytest.raises(UsageError, match="has no none_such"):
        record_clean(plan, lambda _progress: None)
    assert not plan.path.exists()


def test_a_full_disk_is_one_line_and_the_file_is_whole(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 1) as disk:
        recorder = CleanRecorder(plan_of(disk))
        noise = np.random.default_rng(2).integers(0, 256, (200, 300, 3), dtype=np.uint8)

        def record_until_full() -> None:
            for number in range(1, 200):
                recorder.take_frame(number, Frame(View.WRIST, number, noise, None, None))
            recorder.close()
            recorder.check(OK)

        with pytest.raises(InputError, match="is full") as full:
            record_until_full()
        assert "\n" not in str(full.value)
        assert 1 <= len(CameraFrames(disk / "clean.mcap", (), {})) < 199
