"""`embodied-iqa rescore` of images that are no trial: scores, recordings, a report, and what is not known."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import lxml.html
import numpy as np
import pytest

import trial_recording
from embodied_iqa.arm.robot.foreign.options import JOINTS
from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics.geometry import tool_along_z
from embodied_iqa.base.kinematics.models import ArmModel, flange_pose
from embodied_iqa.cli import rescoring_frames
from embodied_iqa.cli.main import main
from embodied_iqa.data.database.sources.recorded import RecordingSource, Sampling
from embodied_iqa.data.frames.any_frames import open_frames
from embodied_iqa.data.lerobot.dataset import DatasetImage, LeRobotDataset
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.robot_states import RobotStates, StateTopics
from embodied_iqa.data.recording.trial_reading import read_trial
from embodied_iqa.data.recording.writer import TrialWriter
from embodied_iqa.imaging.distortions import DistortionSpec
from embodied_iqa.imaging.distortions.stream import FrameDistorter
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.imaging.images.image_cdr import IMAGE_TYPE, image_to_cdr
from embodied_iqa.models.scoring.constants import SubjectConstants, UncalibratedError
from embodied_iqa.models.subjects.known_tasks import check_parses
from embodied_iqa.models.subjects.reference import parse_vlm
from embodied_iqa.models.subjects.subject_options import VlaOptions
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.runs.graph import session_results
from embodied_iqa.runs.offline import rescored_frames
from embodied_iqa.runs.offline.rescoring_plan import Panel, RescoringPlan, check_panel
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, SubjectInfo, VlaObservation
from lerobot_samples import TASKS, TOP, WRIST, Layout, write_dataset
from trial_recording import PixelVla, PixelVlm, Recorder, image, type_store, write_trial
from trial_recording import stamp_ns as run_stamp_ns

COLOUR, EYE = "/camera/camera/color/image_raw", "/eye/image"
START_NS, PERIOD_NS, COUNT = 10**18, 10**8, 12
TASK = "open the drawer"


@pytest.fixture(autouse=True)
def _pixel_subjects(monkeypatch: pytest.MonkeyPatch) -> None:
    def uncalibrated(name: str, _version: str, _role: object = None) -> SubjectConstants:
        raise UncalibratedError(f"{name} has no constants")

    for module in (rescoring_frames, session_results):
        monkeypatch.setattr(module, "constants_of", uncalibrated)
    monkeypatch.setattr(rescoring_frames, "parse_vlm", str)
    monkeypatch.setattr(rescoring_frames, "parse_vla", str)
    monkeypatch.setattr(rescoring_frames, "check_parses", lambda _subject, _task: None)
    monkeypatch.setattr(rescoring_frames, "make_vlm", lambda _name, _options: PixelVlm())
    monkeypatch.setattr(rescoring_frames, "make_vla", lambda _name, _options: PixelVla((View.TOP,)))


def test_joints_of_every_policy_are_needed(tmp_path: Path) -> None:
    """Also of one that is asked only where the first is held."""
    info = SubjectInfo("a or b", "1", "both", (View.TOP,))
    parts = (replace(info, name="a"), replace(info, name="b", joints_of="ur5e"))
    policy = PixelVla((View.TOP,))
    policy.info = replace(info, parts=parts)
    frames = open_frames(write_bag(tmp_path / "bag.mcap", states=True))
    plan = RescoringPlan({COLOUR: View.TOP}, TASK, (), 0.0)
    states = RobotStates(frames.path, StateTopics(tool="/tcp", gripper="/grip"))
    with pytest.raises(UsageError, match="b commands joints, which are not known"):
        check_panel(frames, plan, Panel(None, policy, states, None, GateOptions()))


def write_bag(path: Path, *, states: bool = False) -> Path:
    """A recording of a stack of somebody: images of two cameras every 0.1 s, perhaps states."""
    types = type_store()
    with TrialWriter(path, types=types) as writer:
        writer.add_channel(COLOUR, IMAGE_TYPE)
        writer.add_channel(EYE, IMAGE_TYPE)
        for number in range(COUNT):
            stamp_ns = START_NS + number * PERIOD_NS
            if states:
                point = types.new("geometry_msgs/msg/Point", x=0.1 * number)
                turn = types.new("geometry_msgs/msg/Quaternion", w=1.0)
                pose = types.new("geometry_msgs/msg/Pose", position=point, orientation=turn)
                kind = "geometry_msgs/msg/PoseStamped"
                message = types.new(kind, header=types.header(stamp_ns), pose=pose)
                writer.add_channel("/tcp", kind)
                writer.write("/tcp", types.serialise(message), stamp_ns)
                writer.add_channel("/grip", "std_msgs/msg/Float64")
                value = types.serialise(types.new("std_msgs/msg/Float64", data=0.25))
                writer.write("/grip", value, stamp_ns)
            writer.write(EYE, image_to_cdr(image(View.WRIST, number), stamp_ns - 5), stamp_ns)
            writer.write(COLOUR, image_to_cdr(image(View.TOP, number), stamp_ns), stamp_ns)
    return path


def rescore(bag: Path, out: Path, *words: str) -> int:
    chosen = () if "--topic" in words or bag.is_dir() else ("--topic", f"top={COLOUR}")
    return main(["rescore", str(bag), "--out", str(out), *chosen, *words])


def rows_of(out: Path) -> list[dict[str, str]]:
    with (out / "frames.csv").open() as file:
        return list(csv.DictReader(file))


def test_every_sampled_image_is_asked_about_as_recorded_and_distorted(tmp_path: Path) -> None:
    bag, out = write_bag(tmp_path / "bag.mcap"), tmp_path / "out"
    words = ("--task", TASK, "--vlm", "pixel", "--distortion", "19:5", "--distortion", "12:2")
    assert rescore(bag, out, *words, "--every", "0.5") == 0
    folders = sorted(path.parent.name for path in out.glob("*/trial.mcap"))
    assert folders == ["open-the-drawer-12_2", "open-the-drawer-19_5", "open-the-drawer-recorded"]
    record = read_trial(out / "open-the-drawer-19_5/trial.mcap")
    (run,) = record.runs
    assert (record.task, run.distortion, run.outcome) == (TASK, DistortionSpec("19", 5), None)
    stamps = [START_NS + k * PERIOD_NS for k in (0, 5, 10)]
    distorter = FrameDistorter(run.distortion, START_NS)
    for source in (Source.RAW, Source.DISTORTED):
        said = [one for one in run.answers if one.source is source]
        assert [one.stamp_ns for one in said] == stamps
        for one, number in zip(said, (0, 5, 10), strict=True):
            rgb = image(View.TOP, number)
            seen = rgb if source is Source.RAW else distorter.apply(rgb, "top", one.stamp_ns)
            frame = Frame(View.TOP, one.stamp_ns, seen, None, None)
            assert one.answer == PixelVlm().answer(frame, TASK)
    (recorded,) = read_trial(out / "open-the-drawer-recorded/trial.mcap").runs
    assert {one.source for one in recorded.answers} == {Source.RAW}
    tree = json.loads((out / "scores.json").read_text())
    assert {run["scene_seed"] for run in tree["runs"]} == {None}
    assert tree["subjects"] == {"vlm": {"pixel-vlm": "1"}, "vla": {}}
    assert [run["frames"] for run in tree["runs"]] == [{"published": 3, "received": 3, "lost": 0}] * 3
    assert len(rows_of(out)) == 9
    assert {row["verdict"] for row in rows_of(out)} == {""}
    assert main(["report", str(out)]) == 0
    for file in out.rglob("scores.json"):  # as earlier versions wrote them
        file.write_text(file.read_text().replace('"scene_seed": null', '"scene_seed": 0'))
    assert main(["report", str(out)]) == 0


def test_the_report_of_rescored_images_speaks_of_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants = SubjectConstants("pixel-vla", "1", "for this test", 1, d_max_m=0.5)
    monkeypatch.setattr(session_results, "constants_of", lambda *_of: constants)
    monkeypatch.setattr(rescoring_frames, "constants_of", lambda *_of: constants)
    bag, out = write_bag(tmp_path / "bag.mcap", states=True), tmp_path / "out"
    states = ("--state", "tool=/tcp", "--state", "gripper=/grip")
    words = ("--task", TASK, "--vla", "pixel", "--distortion", "19:5", "--distortion", "12:2", *states)
    assert rescore(bag, out, *words, "--every", "0.5") == 0
    assert main(["report", str(out)]) == 0
    page = lxml.html.document_fromstring((out / "report.html").read_text())
    text = " ".join(page.text_content().split())
    start = "3 images, 2 distortions, nothing executed; on the first scored image of each run: decision "
    assert page.findtext(".//h1").startswith(start)
    (task,) = page.xpath("//section[@class='task']")
    runs = [" ".join(run.findtext(".//h3").split()) for run in task.xpath(".//article")]
    assert (runs[0], len(runs)) == ("Reference run", 3)
    assert text.count("embodied-iqa rescore ") == 3
    assert "Not executed" in text
    assert "9 September 2001, 01:46 UTC" in text, "of the first stamp"
    tiles = {tile.text_content().strip() for tile in page.xpath("//*[@class='tile-title']")}
    assert "Success" not in tiles
    for wrong in ("No end recorded", "nothing can be compared", "only a part", "Scene seed", "not counted"):
        assert wrong not in text


def test_scores_are_those_of_a_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    constants = SubjectConstants("pixel-vla", "1", "for this test", 1, d_max_m=0.5)
    for module in (rescoring_frames, session_results):
        monkeypatch.setattr(module, "constants_of", lambda *_of: constants)
    bag, out = write_bag(tmp_path / "bag.mcap", states=True), tmp_path / "out"
    states = ("--state", "tool=/tcp", "--state", "gripper=/grip")
    words = ("--task", TASK, "--vla", "pixel", "--distortion", "19:5", "--every", "0.3", *states)
    assert rescore(bag, out, *words) == 0
    tree = json.loads((out / "scores.json").read_text())
    distorted = next(run for run in tree["runs"] if run["distortion"] is not None)
    assert 0 <= distorted["decision"]["score"] <= 1
    assert distorted["execution"]["score"] is None
    rows = [row for row in rows_of(out) if row["level"] == "5"]
    assert len(rows) == 4
    assert float(rows[0]["decision"]) == pytest.approx(distorted["decision"]["score"])
    (run,) = read_trial(out / "open-the-drawer-19_5/trial.mcap").runs
    assert [chunk.T_base_tool[0, 3] for chunk, _ in run.decisions()] == pytest.approx([0.0, 0.3, 0.6, 0.9])
    assert {chunk.gripper for chunk in run.chunks} == {0.25}


def test_a_policy_gets_its_parameters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    conventions: list[str] = []

    def make(_name: str, options: VlaOptions) -> PixelVla:
        conventions.append(options.policy.convention)
        return PixelVla((View.TOP,))

    monkeypatch.setattr(rescoring_frames, "make_vla", make)
    bag = write_bag(tmp_path / "bag.mcap", states=True)
    words = [
        "rescore", str(bag), "--topic", f"top={COLOUR}", "--task", TASK, "--distortion", "12:3",
        "--state", "tool=/tcp", "--state", "gripper=/grip", "--vla", "openpi://127.0.0.1:1",
    ]  # fmt: skip
    policy = ["--set", "vla_node.policy.convention=pi0-libero"]
    assert main([*words, *policy, "--out", str(tmp_path / "out")]) == 0
    assert conventions == ["pi0-libero"]


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("vlm_node.subject", "--vlm SUBJECT"),
        ("vla_node.subject", "--vla SUBJECT"),
        ("gate_node.calibration", "--calibration FILE"),
    ],
)
def test_a_parameter_that_is_an_option_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, option: str
) -> None:
    words = ("--task", TASK, "--vlm", "pixel", "--distortion", "19:5", "--set", f"{name}=x")
    assert rescore(write_bag(tmp_path / "bag.mcap"), tmp_path / "out", *words) == 2
    assert f"rescoring does not use {name}; expected {option}" in capsys.readouterr().err


def test_the_gate_judges_with_a_calibration_of_these_cameras_alone(tmp_path: Path) -> None:
    clean = tmp_path / "clean/top"
    clean.mkdir(parents=True)
    for number in range(30):
        write_image(clean / f"{number:02d}.png", image(View.TOP, number))
    gate, out = str(tmp_path / "gate.yaml"), tmp_path / "out"
    assert main(["gate", "calibrate", str(clean.parent), "--out", gate]) == 0
    bag = write_bag(tmp_path / "bag.mcap")
    words = ("--task", TASK, "--calibration", gate, "--distortion", "02:5", "--every", "0")
    assert rescore(bag, out, *words) == 0
    (recorded,) = read_trial(out / "open-the-drawer-recorded/trial.mcap").runs
    (blurred,) = read_trial(out / "open-the-drawer-02_5/trial.mcap").runs
    assert recorded.gate_mode is blurred.gate_mode is GateMode.SHADOW
    assert len(recorded.verdicts) == len(blurred.verdicts) == COUNT
    assert {one.verdict.name for one in recorded.verdicts} == {"PASS"}
    assert {one.verdict.name for one in blurred.verdicts} == {"REJECT"}


def test_a_data_set_has_its_own_tasks(tmp_path: Path) -> None:
    folder, out = write_dataset(tmp_path / "set", Layout("v3.0")), tmp_path / "out"
    words = ("--topic", f"top={TOP}", "--vlm", "pixel", "--distortion", "10:3", "--every", "0.4")
    assert main(["rescore", str(folder), "--out", str(out), *words]) == 0
    assert {row["task"] for row in rows_of(out)} == set(TASKS)
    assert {read_trial(path).task for path in out.glob("*/trial.mcap")} == set(TASKS)


def test_the_images_of_a_step_stay_together(tmp_path: Path) -> None:
    folder, out = write_dataset(tmp_path / "set", Layout("v3.0", "libx264")), tmp_path / "out"
    topics = ("--topic", f"top={TOP}", "--topic", f"wrist={WRIST}", "--every", "0")
    assert (
        main(["rescore", str(folder), "--out", str(out), *topics, "--vlm", "p", "--distortion", "10:3"]) == 0
    )
    together: set[tuple[bytes, ...]] = set()
    for path in out.glob("*-recorded/trial.mcap"):
        with TrialReader(path) as reader:
            views = [
                [one.image.rgb.tobytes() for one in reader.images([f"/camera/{view}/image_raw"])]
                for view in ("top", "wrist")
            ]
        together |= set(zip(*views, strict=True))
    steps: dict[tuple[int, int], list[bytes]] = {}
    for one in LeRobotDataset(folder).images((TOP, WRIST)):
        assert isinstance(one, DatasetImage)
        steps.setdefault((one.step.episode, one.step.index), []).append(one.rgb.tobytes())
    assert together == set(map(tuple, steps.values()))


def test_images_of_one_stamp_are_one_moment_in_any_order_of_arrival(tmp_path: Path) -> None:
    bag, out = tmp_path / "bag.mcap", tmp_path / "out"
    with TrialWriter(bag, types=type_store()) as writer:
        for topic in (COLOUR, EYE):
            writer.add_channel(topic, IMAGE_TYPE)
        for number in range(COUNT):
            stamp_ns, topics = START_NS + number * PERIOD_NS, {COLOUR: View.TOP, EYE: View.WRIST}
            for topic in sorted(topics, reverse=number % 2 == 0):
                writer.write(topic, image_to_cdr(image(topics[topic], number), stamp_ns), stamp_ns)
    words = ("--topic", f"top={COLOUR}", "--topic", f"wrist={EYE}", "--task", TASK, "--every", "0")
    assert rescore(bag, out, *words, "--vlm", "p", "--distortion", "10:3") == 0
    with TrialReader(out / "open-the-drawer-recorded/trial.mcap") as reader:
        for view in (View.TOP, View.WRIST):
            found = [one.image.rgb.tobytes() for one in reader.images([f"/camera/{view}/image_raw"])]
            assert found == [image(view, number).tobytes() for number in range(COUNT)]


def test_images_of_one_stamp_or_from_before_are_left_out_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag, out, types = tmp_path / "bag.mcap", tmp_path / "out", type_store()
    with TrialWriter(bag, types=types) as writer:
        writer.add_channel(COLOUR, IMAGE_TYPE)
        for number, stamp_ns in enumerate((5, 6, 6, 2, 3, 7)):
            cdr = image_to_cdr(image(View.TOP, number), START_NS + stamp_ns * PERIOD_NS)
            writer.write(COLOUR, cdr, START_NS + number)
    words = ("--task", TASK, "--vlm", "p", "--distortion", "10:3", "--every", "0")
    assert rescore(bag, out, *words) == 0
    assert f"3 x left out: an image of {COLOUR} is no newer than one before" in capsys.readouterr().out
    (recorded,) = read_trial(out / "open-the-drawer-recorded/trial.mcap").runs
    assert [one.stamp_ns - START_NS for one in recorded.answers] == [n * PERIOD_NS for n in (5, 6, 7)]


def write_lab(path: Path) -> Path:
    """A recording of a lab: one camera on a stand, the joints of a UR5e, and what the robot was told."""
    types = type_store()
    with TrialWriter(path, types=types) as writer:

        def send(topic: str, kind: str, stamp_ns: int, **fields: object) -> None:
            writer.add_channel(topic, kind)
            writer.write(topic, types.serialise(types.new(kind, **fields)), stamp_ns)

        def static(parent: str, child: str, x: float) -> object:
            place = types.new("geometry_msgs/msg/Vector3", x=x)
            turn = types.new("geometry_msgs/msg/Quaternion", z=1.0)
            both = types.new("geometry_msgs/msg/Transform", translation=place, rotation=turn)
            kind, head = "geometry_msgs/msg/TransformStamped", types.header(START_NS, parent)
            return types.new(kind, header=head, child_frame_id=child, transform=both)

        tree = [static("base_link", "base", 0.0), static("base_link", "eye", 0.5)]
        send("/tf_static", "tf2_msgs/msg/TFMessage", START_NS - 9, transforms=tree)
        writer.add_channel(COLOUR, IMAGE_TYPE)
        names = [f"left_{joint}_joint" for joint in reversed(JOINTS)]
        for number in range(COUNT):
            stamp_ns = START_NS + number * PERIOD_NS
            if number in {3, 6, 9}:
                words = {3: "open the drawer", 6: "say\x07this", 9: "close  the\ndrawer"}[number]
                send("/told", "std_msgs/msg/String", stamp_ns - 1, data=words)
            state = {"name": [*names, "finger"], "position": [0.1 * n for n in range(7)]}
            head = types.header(stamp_ns - 1)
            send("/joint_states", "sensor_msgs/msg/JointState", stamp_ns, header=head, **state)
            send("/grip", "std_msgs/msg/Float64", stamp_ns, data=0.25 if number else 7.0)
            cdr = image_to_cdr(image(View.TOP, number), stamp_ns, "eye")
            writer.write(COLOUR, cdr, stamp_ns)
    return path


def test_transforms_of_another_type_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    types, bag = type_store(), tmp_path / "bag.mcap"
    with TrialWriter(bag, types=types) as writer:
        writer.add_channel(COLOUR, IMAGE_TYPE)
        writer.write(COLOUR, image_to_cdr(image(View.TOP, 0), START_NS, "eye"), START_NS)
        writer.add_channel("/tf_static", "std_msgs/msg/String")
        text = types.serialise(types.new("std_msgs/msg/String", data="of somebody else"))
        writer.write("/tf_static", text, START_NS)
    words = ("--task", TASK, "--vlm", "p", "--distortion", "10:3")
    assert rescore(bag, tmp_path / "out", *words) == 1
    assert "topic /tf_static is of another type; expected tf2_msgs" in capsys.readouterr().err


def test_what_a_recording_says_of_tasks_arm_and_camera_reaches_the_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[VlaObservation] = []
    policy = PixelVla((View.TOP,))
    policy.info = replace(policy.info, joints_of="ur5e")

    def act(observation: VlaObservation) -> ActionChunk:
        seen.append(observation)
        return ActionChunk.still(ChunkStatus.DONE, "looks")

    monkeypatch.setattr(policy, "act", act)
    monkeypatch.setattr(rescoring_frames, "make_vla", lambda _name, _options: policy)
    bag, out = write_lab(tmp_path / "lab.mcap"), tmp_path / "out"
    states = ("--state", "joints=/joint_states", "--state", "gripper=/grip", "--arm", "ur5e:150")
    words = ["--task-topic", "/told", "--vla", "p", "--distortion", "10:3", "--every", "0"]
    assert main(["rescore", str(bag), "--out", str(out), *words, *states]) == 1, "a task is damaged"
    told = [one.instruction for one in seen[::2]]
    assert told == ["open the drawer"] * 3 + ["close the drawer"] * 3
    q_rad = [0.5, 0.4, 0.3, 0.2, 0.1, 0.0]
    expected = flange_pose(ArmModel.UR5E.geometry, q_rad) @ tool_along_z(0.15)
    for one in seen:
        assert one.q_rad == pytest.approx(q_rad)
        assert one.T_base_tool == pytest.approx(expected)
        assert one.gripper == 0.25
        (pose,) = (frame.T_base_camera for frame in one.frames.values())
        assert pose is not None
        assert pose[:3, 3].tolist() == pytest.approx([-0.5, 0.0, 0.0]), "base is turned by half a turn"
    (path,) = {one.parent / "trial.mcap" for one in out.glob("open-the-drawer-10_3/*")}
    with TrialReader(path) as reader:
        stored = [reader.decode(one) for one in reader.messages(["/camera/top/pose"])]
    assert [one.pose.position.x for one in stored] == pytest.approx([-0.5] * 3)
    printed = capsys.readouterr().out
    assert "6 x left out: an image without a task" in printed
    assert "topic /told: a task has a control character" in printed


def test_tasks_of_a_file_hold_until_the_next_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag, out, file = write_lab(tmp_path / "lab.mcap"), tmp_path / "out", tmp_path / "tasks.csv"
    rows = [
        f",lab.mcap,{START_NS + n * PERIOD_NS},top,1,{task}," for n, task in ((2, "lift it"), (8, "stop"))
    ]
    head = "# embodied-iqa-tasks 1\nimage,bag,stamp_ns,view,rank,text,verb\n"
    file.write_text(head + "\n".join(rows) + "\n")
    words = ("--topic", "top=realsense-ros", "--vlm", "p", "--distortion", "10:3", "--every", "0")
    assert rescore(bag, out, "--tasks", str(file), *words) == 0
    tasks = [row["task"] for row in rows_of(out) if not row["distortion"]]
    assert tasks == ["lift it"] * 6 + ["stop"] * 4
    assert rescore(bag, tmp_path / "rare", "--tasks", str(file), *words[:-1], "0.7") == 0
    assert (
        "nothing was rescored for 'stop': images are at least 0.7 s apart (--every)"
        in capsys.readouterr().out
    )
    file.write_text(head + rows[0].replace("top", "side") + "\n")
    assert rescore(bag, tmp_path / "again", "--tasks", str(file), *words) == 1


def test_recordings_that_wait_have_no_file_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bag = write_bag(tmp_path / "bag.mcap")
    words = ("--task", TASK, "--vlm", "p", "--every", "0.3", "--distortion", "10:3", "--distortion", "12:1")
    assert rescore(bag, tmp_path / "one", *words) == 0
    monkeypatch.setattr(rescored_frames, "_MOST_OPEN", 1)
    assert rescore(bag, tmp_path / "two", *words) == 0
    first, second = (
        {path.parent.name: messages_of(path) for path in (tmp_path / name).glob("*/trial.mcap")}
        for name in ("one", "two")
    )
    assert len(first) == 3
    assert first == second


def messages_of(path: Path) -> list[tuple[str, int, int]]:
    with TrialReader(path) as reader:
        return [(one.topic, one.log_time_ns, len(one.cdr)) for one in reader.messages()]


def test_every_image_of_every_camera_that_is_counted_is_listed(tmp_path: Path) -> None:
    bag, out = write_bag(tmp_path / "bag.mcap"), tmp_path / "out"
    words = ("--task", TASK, "--vlm", "pixel", "--distortion", "12:3", "--every", "0.5")
    assert rescore(bag, out, *words, "--topic", f"top={COLOUR}", "--topic", f"wrist={EYE}") == 0
    tree, rows = json.loads((out / "scores.json").read_text()), rows_of(out)
    assert [run["frames"]["published"] for run in tree["runs"]] == [6, 6]
    assert len(rows) == 12
    assert len({(row["stamp_ns"], row["view"], row["distortion"]) for row in rows}) == 12
    assert {row["view"] for row in rows if row["reference_answer"]} == {"top"}
    assert sum(bool(row["reference_answer"]) for row in rows) == 6


def test_a_distortion_by_number_and_by_name_is_one(tmp_path: Path) -> None:
    bag, out = write_bag(tmp_path / "bag.mcap"), tmp_path / "out"
    words = ("--task", TASK, "--vlm", "p", "--distortion", "10:3", "--distortion", "jpeg:3", "--every", "0")
    assert rescore(bag, out, *words) == 0
    assert len(rows_of(out)) == 2 * COUNT
    (run,) = read_trial(out / "open-the-drawer-10_3/trial.mcap").runs
    assert len(run.answers) == 2 * COUNT


@pytest.mark.parametrize("fails", [1, 4])
def test_a_question_without_an_answer_fails_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fails: int
) -> None:
    answer, asked = PixelVlm.answer, list[object]()

    def fail(*of: Any) -> str:
        asked.append(of)
        if len(asked) <= fails:
            raise RuntimeError("no weights")
        return answer(*of)

    monkeypatch.setattr(PixelVlm, "answer", fail)
    bag, out = write_bag(tmp_path / "bag.mcap"), tmp_path / "out"
    assert rescore(bag, out, "--task", TASK, "--vlm", "p", "--distortion", "10:3") == 1
    times = f"{fails} x " if fails > 1 else ""
    assert f"note: {times}pixel-vlm did not answer" in capsys.readouterr().out
    assert len(rows_of(out)) == 4


def test_an_episode_that_cannot_be_read_fails_the_command_after_the_others_are_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = write_dataset(tmp_path / "set"), tmp_path / "out"
    words = ("--vlm", "p", "--distortion", "10:3", "--topic", f"top={TOP}", "--every", "0")
    assert rescore(folder, tmp_path / "whole", *words) == 0
    (folder / "data/chunk-000/file-001.parquet").write_bytes(b"no table")
    capsys.readouterr()
    assert rescore(folder, out, *words) == 1
    assert "left out: " in capsys.readouterr().out
    assert 0 < len(rows_of(out)) < len(rows_of(tmp_path / "whole"))


@pytest.mark.parametrize(
    ("kind", "k", "message"),
    [
        ("std_msgs/msg/String", (), "camera_info is of another type"),
        ("sensor_msgs/msg/CameraInfo", (-1.0,) * 9, "camera_info: the camera is not calibrated"),
        ("sensor_msgs/msg/CameraInfo", (math.nan,) * 9, "k = [nan, nan"),
    ],
)
def test_a_wrong_camera_info_is_named_or_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, k: tuple[float, ...], message: str
) -> None:
    code = 0 if any(map(math.isnan, k)) else 1
    bag, types = tmp_path / "bag.mcap", type_store()
    with TrialWriter(bag, types=types) as writer:
        writer.add_channel(COLOUR, IMAGE_TYPE)
        writer.write(COLOUR, image_to_cdr(image(View.TOP, 0), START_NS), START_NS)
        topic = "/camera/camera/color/camera_info"
        writer.add_channel(topic, kind)
        writer.write(topic, types.serialise(types.new(kind, **({"k": k} if k else {}))), START_NS)
    assert rescore(bag, tmp_path / "out", "--task", TASK, "--vlm", "p", "--distortion", "10:3") == code
    said = "".join(capsys.readouterr())
    assert topic in said
    assert message in said
    if code == 0:
        source = RecordingSource(bag, None, Sampling({View.TOP: COLOUR}, TASK))
        assert source.read(0).frames[View.TOP].intrinsics is None
        assert [message in fault for fault in source.notes()] == [True]


def test_a_subject_that_cannot_parse_the_task_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rescoring_frames, "check_parses", check_parses)
    monkeypatch.setattr(rescoring_frames, "parse_vlm", parse_vlm)
    bag = write_bag(tmp_path / "bag.mcap")
    words = ("--task", TASK, "--vlm", "classical-vlm", "--distortion", "19:5")
    assert rescore(bag, tmp_path / "out", *words) == 2
    assert f"classical-vlm cannot parse '{TASK}'" in capsys.readouterr().err


def _images_with_a_task(folder: Path) -> tuple[Path, tuple[str, ...]]:
    write_image(folder / "a.png", image(View.TOP, 0))
    tasks = folder.with_suffix(".csv")
    head = "# embodied-iqa-tasks 1\nimage,bag,stamp_ns,view,rank,text,verb\n"
    tasks.write_text(f"{head}{folder.name}/a.png,,,top,1,{TASK},\n")
    return folder, ("--tasks", str(tasks))


@pytest.mark.parametrize(
    ("made", "task"),
    [
        (lambda path: (write_dataset(path / "set"), ("--topic", f"top={TOP}")), TASKS[0]),
        (lambda path: (write_lab(path / "lab.mcap"), ("--task-topic", "/told")), TASK),
        (lambda path: _images_with_a_task(path / "photos"), TASK),
    ],
)
def test_a_subject_that_cannot_parse_a_task_of_the_source_is_refused_before_an_image_is_read(
    made: Callable[[Path], tuple[Path, tuple[str, ...]]],
    task: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(rescoring_frames, "check_parses", check_parses)
    monkeypatch.setattr(rescoring_frames, "parse_vlm", parse_vlm)
    source, words = made(tmp_path)
    words = (*words, "--vlm", "classical-vlm", "--distortion", "19:5")
    assert main(["rescore", str(source), "--out", str(tmp_path / "out"), *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"classical-vlm cannot parse '{task}'" in line
    assert not (tmp_path / "out").exists()


def test_reference_answers_without_a_target_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = iter(["I see no red cube in this picture."] * 5 + ["The red cube is left; grip it."] * 9)
    monkeypatch.setattr(PixelVlm, "answer", lambda *_: next(answers))
    bag, words = write_bag(tmp_path / "bag.mcap"), ("--task", TASK, "--vlm", "p", "--distortion", "19:5")
    assert rescore(bag, tmp_path / "out", *words, "--every", "0.2") == 0
    assert "3 of 6 reference answers name no target" in capsys.readouterr().out


def test_reference_decisions_without_a_target_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = ActionChunk(ChunkStatus.NO_TARGET, np.empty((0, 7)), "no red cube", None)
    monkeypatch.setattr(PixelVla, "act", lambda *_: refused)
    bag = write_bag(tmp_path / "bag.mcap", states=True)
    words = ("--task", TASK, "--vla", "p", "--state", "tool=/tcp", "--state", "gripper=/grip")
    assert rescore(bag, tmp_path / "out", *words, "--distortion", "19:5", "--every", "0.5") == 0
    assert "3 of 3 reference decisions see no target" in capsys.readouterr().out


def test_a_trial_that_is_taken_as_images_needs_a_task_and_a_distortion(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trial, expected = write_trial(tmp_path / "trial.mcap"), "expected --task TEXT and --distortion"
    for words in ((), ("--distortion", "19:5"), ("--task", TASK)):
        out = ("--out", str(tmp_path / "out"))
        assert main(["rescore", str(trial), "--vlm", "p", *out, *words]) == 2
        option = "--task" if "--task" in words else "--vlm"
        assert f"{option} takes the recording of a trial as images; {expected}" in capsys.readouterr().err
    assert main(["rescore", str(trial), "--vlm", "p", *out, "--task", TASK, "--distortion", "19:5"]) == 0


class _ArmRecorder(Recorder):
    """Records the arm, as a trial does."""

    def frame(self, run: int, frame: int, spec: DistortionSpec | None, *, decides: bool) -> None:
        at_ns = run_stamp_ns(run, frame)
        self.send("/arm/tool_pose", "geometry_msgs/msg/PoseStamped", at_ns, pose=self.pose(0.3))
        kind, names = "sensor_msgs/msg/JointState", [*(f"{one}_joint" for one in JOINTS), "gripper"]
        self.send("/arm/joint_states", kind, at_ns, name=names, position=[0.1] * len(names))
        super().frame(run, frame, spec, decides=decides)


def test_a_trial_that_is_taken_as_images_has_the_state_of_its_arm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--vla", "p", "--task", TASK, "--distortion", "19:5", "--every", "0")
    trial = write_trial(tmp_path / "bare.mcap")
    assert main(["rescore", str(trial), *words, "--out", str(tmp_path / "bare")]) == 2
    assert "needs the pose of the tool and the gripper" in capsys.readouterr().err
    monkeypatch.setattr(trial_recording, "Recorder", _ArmRecorder)
    trial = write_trial(tmp_path / "trial.mcap")
    assert main(["rescore", str(trial), *words, "--out", str(tmp_path / "out")]) == 0
    made = (run for file in (tmp_path / "out").rglob("trial.mcap") for run in read_trial(file).runs)
    chunks = [chunk for run in made for chunk in run.chunks if chunk.is_decision]
    assert {chunk.gripper for chunk in chunks} == {0.1}
    assert 0.3 in {round(float(chunk.T_base_tool[0, 3]), 6) for chunk in chunks}


def test_every_image_is_an_option_of_images(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag = write_bag(tmp_path / "bag.mcap")
    assert main(["rescore", str(bag), "--every", "0", "--out", str(tmp_path / "out")]) == 2
    assert "--distortion, such as 19:5" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--vla", "p", "--distortion", "19:5"), "pixel-vla needs the pose of the tool and the gripper"),
        (("--vlm", "p"), "--distortion, such as 19:5"),
        (("--distortion", "19:5"), "nobody judges"),
        (("--vlm", "p", "--distortion", "19:5", "--every", "-1"), "--every"),
        (("--vlm", "p", "--distortion", "19:5", "--topic", "top=/nose"), "/nose"),
        (("--vlm", "p", "--distortion", "19:5", "--topic", f"eye={EYE}"), "pixel-vlm sees the top view"),
        (("--vla", "p", "--distortion", "19:5", "--topic", f"eye={EYE}"), "pixel-vla sees the top view"),
        (("--vlm", "p", "--distortion", "19:5", "--state", "nose=/tcp"), "wrong --state"),
        (("--vlm", "p", "--distortion", "19:5", "--arm", "ur5e:9"), "--arm needs the joints"),
        (("--vla", "p", "--distortion", "19:5", "--state", f"tool={EYE}"), "topic /eye/image is of another"),
        (("--vlm", "p", "--distortion", "19:5", "--state", "tool=/tcp"), "--state is for a policy"),
        (("--vlm", "p", "--distortion", "19:5", "--topic", "top=usb_cam"), "no image topic of usb_cam"),
        (("--vlm", "p", "--distortion", "19:5", "--task-topic", "/told"), "tasks come from one place"),
        (
            (
                *("--vlm", "p", "--distortion", "19:5"),
                *(word for topic in ("tool=/a", "gripper=/b", "tool=/c") for word in ("--state", topic)),
            ),
            "wrong --state",
        ),
        (
            (
                *("--vlm", "p", "--distortion", "19:5", "--state", "tool=/tcp"),
                *("--state", "joints=/joint_states", "--arm", "ur5e:150"),
            ),
            "the pose of the tool comes from one place",
        ),
        (("--vlm", "p", "--distortion", "19:5", "--playback"), "--playback is for recordings of trials"),
        (
            ("--vla", "p", "--distortion", "19:5", "--without", "decision"),
            "--without is for recordings of trials; of images leave out --vla;",
        ),
    ],
)
def test_what_is_missing_is_one_line_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    bag, out = write_bag(tmp_path / "bag.mcap"), tmp_path / "out"
    assert rescore(bag, out, "--task", TASK, *words) in {1, 2}
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize("place", [(TrialWriter, "add_metadata"), (PixelVlm, "answer")])
def test_after_an_interrupt_nothing_is_left_and_the_same_command_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: tuple[type, str]
) -> None:
    bag, out, calls = write_bag(tmp_path / "bag.mcap"), tmp_path / "out", list[object]()
    before = getattr(*place)

    def interrupted(*arguments: object) -> object:
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return before(*arguments)

    words = ("--task", TASK, "--vlm", "p", "--distortion", "19:5")
    with monkeypatch.context() as patch:
        patch.setattr(*place, interrupted)
        assert rescore(bag, out, *words) == 130
    assert [one.name for one in tmp_path.iterdir()] == ["bag.mcap"]
    assert rescore(bag, out, *words) == 0


def test_images_without_a_task_are_left_out_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = write_bag(tmp_path / "bag.mcap")
    assert rescore(bag, tmp_path / "out", "--vlm", "p", "--distortion", "19:5", "--every", "0") == 1
    assert f"{COUNT} x left out: an image without a task" in capsys.readouterr().err
    assert not list((tmp_path / "out").rglob("*.mcap"))


def test_a_subject_is_closed_where_the_other_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[str] = []

    class Vlm(PixelVlm):
        def close(self) -> None:
            closed.append("vlm")

    def unreachable(*_: object) -> PixelVla:
        raise UsageError("nobody answers")

    monkeypatch.setattr(rescoring_frames, "make_vlm", lambda *_: Vlm())
    bag, words = write_bag(tmp_path / "bag.mcap"), ["--task", TASK, "--vlm", "pixel", "--distortion", "19:5"]
    assert rescore(bag, tmp_path / "out", *words) == 0
    assert closed == ["vlm"]
    monkeypatch.setattr(rescoring_frames, "make_vla", unreachable)
    assert rescore(bag, tmp_path / "other", *words, "--vla", "pixel") == 2
    assert closed == ["vlm", "vlm"]


def write_photos(folder: Path, count: int = 3) -> Path:
    folder.mkdir(parents=True)
    for number in range(count):
        write_image(folder / f"{number}.png", image(View.TOP, number))
    return folder


def test_images_of_a_folder_are_asked_about_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    photos, out = write_photos(tmp_path / "photos"), tmp_path / "out"
    (photos / "1.png").write_bytes((photos / "1.png").read_bytes()[:300])
    words = ["--task", TASK, "--vlm", "pixel", "--distortion", "19:5", "--out", str(out)]
    assert main(["rescore", str(photos), *words]) == 1, "the rest is scored"
    assert [row["image"] for row in rows_of(out)] == ["0.png", "2.png"] * 2
    assert {row["stamp_ns"] for row in rows_of(out)} == {"1000000000", "3000000000"}
    remarks = capsys.readouterr().out
    assert "1.png" in remarks
    assert "no times" in remarks
    (recorded,) = read_trial(out / "open-the-drawer-recorded/trial.mcap").runs
    frames = [
        Frame(View.TOP, one.stamp_ns, image(View.TOP, n), None, None)
        for one, n in zip(recorded.answers, (0, 2), strict=True)
    ]
    assert [one.answer for one in recorded.answers] == [PixelVlm().answer(frame, TASK) for frame in frames]


def test_images_at_the_top_of_a_folder_are_a_topic_and_a_small_one_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    photos, out = write_photos(tmp_path / "photos"), tmp_path / "out"
    write_photos(photos / "sub")
    write_image(photos / "small.png", image(View.TOP, 1)[:8, :8])
    words = ["--task", TASK, "--vlm", "pixel", "--distortion", "19:5", "--out", str(out)]
    assert main(["rescore", str(photos), *words]) == 2
    expected = "expected --topic top=. or another name, or --topic VIEW=TOPIC; available: ., sub"
    assert expected in capsys.readouterr().err
    assert main(["rescore", str(photos), *words, "--topic", "top=."]) == 1
    assert [row["image"] for row in rows_of(out)] == ["0.png", "1.png", "2.png"] * 2
    assert "left out: small.png: image too small; expected at least 16 x 16" in capsys.readouterr().out


def test_topics_that_nobody_chose_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag, words = tmp_path / "bag.mcap", ("--task", TASK, "--vlm", "p", "--distortion", "10:3")
    with TrialWriter(bag, types=type_store()) as writer:
        for topic in ("/camera/top/image_raw", COLOUR, "/cell1/distorted/top/preview"):
            writer.add_channel(topic, IMAGE_TYPE)
            writer.write(topic, image_to_cdr(image(View.TOP, 0), START_NS), START_NS)
    assert main(["rescore", str(bag), "--out", str(tmp_path / "out"), *words]) == 0
    said = f"not read without --topic VIEW=TOPIC: {COLOUR}"
    assert f"note: {said}\n" in capsys.readouterr().out
    assert RecordingSource(bag, None, Sampling(task=TASK)).notes() == (said,)
    assert rescore(bag, tmp_path / "chosen", *words) == 0
    assert "not read" not in capsys.readouterr().out


def test_a_file_lists_tasks_of_images_of_a_folder(tmp_path: Path) -> None:
    photos, out, file = write_photos(tmp_path / "photos"), tmp_path / "out", tmp_path / "tasks.csv"
    head = "# embodied-iqa-tasks 1\nimage,bag,stamp_ns,view,rank,text,verb,main_object,background\n"
    file.write_text(head + "".join(f"photos/{n}.png,,,top,1,task {n},,,\n" for n in (0, 2)))
    words = ["--tasks", str(file), "--vlm", "pixel", "--distortion", "19:5", "--out", str(out)]
    assert main(["rescore", str(photos), *words]) == 0
    assert {(row["image"], row["task"]) for row in rows_of(out)} == {("0.png", "task 0"), ("2.png", "task 2")}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--every", "2"), "--every is for images with times"),
        (("--topic", "top=a", "--topic", "wrist=b"), "images of several cameras"),
        ((), "images of several cameras"),
        (("--topic", "top=nose"), "available: a, b"),
        (("--task-topic", "/told"), "tasks come from one place"),
    ],
)
def test_what_a_folder_does_not_know_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    for camera in "ab":
        write_photos(tmp_path / "photos" / camera, 1)
    out = tmp_path / "out"
    common = ["--task", TASK, "--vlm", "pixel", "--distortion", "19:5", "--out", str(out)]
    assert main(["rescore", str(tmp_path / "photos"), *common, *words]) in {1, 2}
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not out.exists()
