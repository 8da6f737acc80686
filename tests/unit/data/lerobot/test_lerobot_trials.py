"""Trials as a LeRobot data set: steps at even times, what is measured, and what is left out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.cli.main import main
from embodied_iqa.data.lerobot.dataset import DatasetImage, LeRobotDataset
from embodied_iqa.data.lerobot.info import DatasetCamera
from embodied_iqa.data.lerobot.output import DatasetOutput
from embodied_iqa.data.lerobot.video_output import VideoFile
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.image_cdr import image_to_cdr
from trial_recording import NOISE, TASK, VIEWS, Recorder, image, stamp_ns, start_ns

FRAMES = 6
JOINTS = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")


class ArmRecorder(Recorder):
    """Beside the images there are poses of the tool and joint states."""

    grip = True
    damaged: tuple[tuple[int, int], ...] = ()

    def camera(self, view: View, run: int, frame: int, *, pose_late: bool) -> NDArray[np.uint8]:
        if view == self.views[0]:
            at_ns = stamp_ns(run, frame)
            self.send("/arm/tool_pose", "geometry_msgs/msg/PoseStamped", at_ns, pose=self.pose(0.1 * frame))
            names = [f"{one}_joint" for one in JOINTS] + ["gripper"] * self.grip
            positions = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6] + [0.5 * (frame > 2)] * self.grip
            kind = "sensor_msgs/msg/JointState"
            self.send("/arm/joint_states", kind, at_ns, name=names, position=positions)
        if (run, frame) in self.damaged:
            topic, at_ns = f"/camera/{view}/image_raw", stamp_ns(run, frame)
            self.writer.add_channel(topic, "sensor_msgs/msg/Image")
            self.writer.write(topic, image_to_cdr(image(view, frame, run), at_ns, "x")[:-9], at_ns + 2)
        return super().camera(view, run, frame, pose_late=pose_late)


def write(
    path: Path, *, grip: bool = True, lost: tuple[int, ...] = (), damaged: tuple[int, ...] = ()
) -> Path:
    """Two runs of six images each; the second one failed. Images of the first one are lost or damaged."""
    recorder = ArmRecorder(path, skip=[(0, frame, view) for frame in (*lost, *damaged) for view in VIEWS])
    recorder.grip, recorder.damaged = grip, tuple((0, frame) for frame in damaged)
    for run, spec in enumerate((None, NOISE)):
        recorder.event(1, run, start_ns(run), spec)
        for frame in range(FRAMES):
            recorder.frame(run, frame, spec, decides=frame == 0)
        recorder.event(3, run, stamp_ns(run, FRAMES - 1), None, outcome=1 + run, reason="done")
    return recorder.close({"version": "1"})


def test_runs_become_episodes_with_images_states_and_actions(tmp_path: Path) -> None:
    out = tmp_path / "set"
    assert main(["recording", "export", str(write(tmp_path / "trial.mcap")), "--out", str(out)]) == 0
    dataset = LeRobotDataset(out)
    assert (dataset.info.version, dataset.info.fps, len(dataset.episodes)) == ("v3.0", 15.0, 2)
    assert {episode.tasks for episode in dataset.episodes} == {(TASK,)}
    for found in dataset.images():
        assert isinstance(found, DatasetImage)
        view = View(found.key.rpartition(".")[2])
        assert np.array_equal(found.rgb, image(view, found.step.index, found.step.episode))
    steps = list(dataset.steps([0]))
    states = np.array([step.state for step in steps])
    assert states.shape == (FRAMES, 13)
    assert states[:, 0] == pytest.approx(0.1 * np.arange(FRAMES))
    assert states[:, 6].tolist() == [0, 0, 0, 0.5, 0.5, 0.5]
    assert states[0, 7:] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    actions = np.array([step.action for step in steps])
    assert np.array_equal(actions, np.vstack([states[1:], states[-1:]]))
    info = json.loads((out / "meta/info.json").read_text())
    assert (info["fps"], info["total_frames"]) == (15, 2 * FRAMES)
    assert info["features"]["observation.state"]["names"][6] == "gripper"


def test_a_lost_image_does_not_shift_the_time(tmp_path: Path) -> None:
    out = tmp_path / "set"
    bag = write(tmp_path / "trial.mcap", lost=(2,))
    assert main(["recording", "export", str(bag), "--out", str(out), "--fps", "15"]) == 0
    found = [one for one in LeRobotDataset(out).images(episodes=[0]) if isinstance(one, DatasetImage)]
    assert [one.step.index for one in found[::2]] == list(range(FRAMES))
    for one in found:
        shown = 1 if one.step.index == 2 else one.step.index
        assert np.array_equal(one.rgb, image(View(one.key.rpartition(".")[2]), shown, 0))


def test_a_gripper_that_is_not_recorded_is_absent_and_said_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag, out = write(tmp_path / "trial.mcap", grip=False), tmp_path / "set"
    assert main(["recording", "export", str(bag), "--out", str(out), "--video", "h264"]) == 0
    assert "note: the gripper is not recorded" in capsys.readouterr().out
    info = json.loads((out / "meta/info.json").read_text())
    assert info["features"]["action"]["shape"] == [12]
    assert LeRobotDataset(out).info.cameras[0].is_video


def test_what_is_no_trial_is_left_out_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bags, out = tmp_path / "bags", tmp_path / "set"
    bags.mkdir()
    write(bags / "a.mcap")
    (bags / "b.mcap").write_bytes((bags / "a.mcap").read_bytes()[:-400])
    assert main(["recording", "export", str(bags), "--out", str(out)]) == 1
    assert "left out: " in (error := capsys.readouterr().err)
    assert "b.mcap" in error
    assert len(LeRobotDataset(out).episodes) == 2
    assert main(["recording", "export", str(bags / "b.mcap"), "--out", str(tmp_path / "none")]) == 1
    assert not (tmp_path / "none").exists()
    words = ["--out", str(tmp_path / "good"), "--successful"]
    assert main(["recording", "export", str(bags / "a.mcap"), *words]) == 0
    assert len(LeRobotDataset(tmp_path / "good").episodes) == 1
    assert "run 1: " in capsys.readouterr().err
    words = ["--out", str(tmp_path / "again"), "--successful"]
    assert main(["recording", "export", str(bags), *words]) == 1, "one cannot be read"


def test_a_first_run_without_a_rate_asks_for_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag = write(tmp_path / "trial.mcap", lost=tuple(range(1, FRAMES)))
    words = ["recording", "export", str(bag), "--out", str(tmp_path / "set")]
    assert main(words) == 1
    assert "run 0 has no two images" in (error := capsys.readouterr().err)
    assert "expected --fps" in error
    assert main([*words, "--fps", "15"]) == 1, "that run is left out"
    assert len(LeRobotDataset(tmp_path / "set").episodes) == 1


def test_a_first_recording_without_images_does_not_end_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blind = write(tmp_path / "a.mcap", lost=tuple(range(FRAMES)))
    words = ["recording", "export", str(blind), str(write(tmp_path / "b.mcap")), "--out"]
    assert main([*words, str(tmp_path / "set")]) == 1
    dataset = LeRobotDataset(tmp_path / "set")
    assert (dataset.info.fps, len(dataset.episodes)) == (15.0, 3), "two of b and the second run of a"
    assert "a.mcap, run 0: fewer than two steps" in capsys.readouterr().err


@pytest.mark.parametrize("frame", [0, 3])
def test_a_damaged_image_leaves_out_its_run_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], frame: int
) -> None:
    bag, out = write(tmp_path / "trial.mcap", damaged=(frame,)), tmp_path / "set"
    assert main(["recording", "export", str(bag), "--out", str(out)]) == 1
    (reason,) = [line for line in capsys.readouterr().err.splitlines() if "left out" in line]
    assert "left out: run 0: " in reason
    assert "topic /camera/" in reason
    dataset = LeRobotDataset(out)
    assert (dataset.info.fps, len(dataset.episodes)) == (15.0, 1)
    first = next(iter(dataset.images()))
    assert isinstance(first, DatasetImage)
    assert np.array_equal(first.rgb, image(View(first.key.rpartition(".")[2]), 0, 1))


def test_two_exports_to_one_folder_do_not_remove_what_the_other_wrote(tmp_path: Path) -> None:
    cameras = (DatasetCamera("observation.images.top", False, 4, 4),)
    first, second = (DatasetOutput(tmp_path / "set", cameras, 10.0) for _ in range(2))
    part = tmp_path / ".set.partial"
    part.mkdir()
    (part / "left.txt").write_text("by one that was killed")
    with first.writing():
        (part / "own.txt").write_text("mine")
        with pytest.raises(InputError, match="another process writes"), second.writing():
            pytest.fail("both write")
    assert [one.name for one in (tmp_path / "set").iterdir()] == ["own.txt"]
    assert not part.exists()


def test_a_video_that_cannot_be_written_is_no_run_that_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    added, add = list[NDArray[np.uint8]](), VideoFile.add

    def fill(video: VideoFile, rgb: NDArray[np.uint8]) -> None:
        added.append(rgb)
        if len(added) > FRAMES * len(VIEWS):  # in the second episode
            raise InputError("cannot write top.mp4: No space left on device")
        add(video, rgb)

    monkeypatch.setattr(VideoFile, "add", fill)
    words = ["--out", str(tmp_path / "set"), "--video", "h264"]
    assert main(["recording", "export", str(write(tmp_path / "trial.mcap")), *words]) == 1
    assert "No space left on device" in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["trial.mcap"]
