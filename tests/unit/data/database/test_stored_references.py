"""References from recordings, data sets and videos of anybody: what is taken, and what stays unknown."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.kinematics.models import ArmModel
from embodied_iqa.cli.main import main
from embodied_iqa.data.database.schema import Reference
from embodied_iqa.data.database.sources.framed import FramesSource, scene_of_name
from embodied_iqa.data.database.sources.recorded import RecordingSource, Sampling
from embodied_iqa.data.database.sources.simulated import SimulationSource
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.frames.dataset_frames import DatasetFrames
from embodied_iqa.data.recording.robot_states import RobotStates, StateTopics
from embodied_iqa.data.recording.writer import TrialWriter
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.image_cdr import IMAGE_TYPE, image_to_cdr
from embodied_iqa.imaging.images.stored_images import StoredImage, UnreadableImage
from embodied_iqa.quality.gate.fitting.frames import scene_of
from lerobot_samples import LENGTHS, TASKS, TOP, Layout, edit_info, pixels, write_dataset
from trial_recording import image, type_store

COLOUR, START_NS, PERIOD_NS, COUNT = "/camera/camera/color/image_raw", 10**18, 10**8, 12
TASK = "open the drawer"


def write_bag(path: Path, damaged: int | None = None, count: int = COUNT) -> Path:
    """Images every 0.1 s, one of them perhaps cut short; a pose and the gripper beside every other one."""
    types = type_store()
    with TrialWriter(path, types=types) as writer:
        writer.add_channel(COLOUR, IMAGE_TYPE)
        for number in range(count):
            stamp_ns = START_NS + number * PERIOD_NS
            cdr = image_to_cdr(image(View.TOP, number), stamp_ns, "eye")
            writer.write(COLOUR, cdr[:-9] if number == damaged else cdr, stamp_ns)
            if number < COUNT // 2:
                point = types.new("geometry_msgs/msg/Point", x=0.1 * number)
                turn = types.new("geometry_msgs/msg/Quaternion", w=1.0)
                pose = types.new("geometry_msgs/msg/Pose", position=point, orientation=turn)
                kind = "geometry_msgs/msg/PoseStamped"
                writer.add_channel("/tcp", kind)
                message = types.new(kind, header=types.header(stamp_ns), pose=pose)
                writer.write("/tcp", types.serialise(message), stamp_ns)
                writer.add_channel("/grip", "std_msgs/msg/Float64")
                value = types.serialise(types.new("std_msgs/msg/Float64", data=0.5))
                writer.write("/grip", value, stamp_ns)
    return path


def test_a_recording_gives_an_image_every_second_with_what_is_recorded_of_the_robot(tmp_path: Path) -> None:
    states = StateTopics(tool="/tcp", gripper="/grip")
    bag = write_bag(tmp_path / "bag.mcap")
    source = RecordingSource(bag, None, Sampling({View.SIDE: "realsense-ros"}, TASK, 0.4, states))
    assert source.count == 3
    found = [source.read(index) for index in range(3)]
    for number, candidate in zip((0, 4, 8), found, strict=True):
        assert np.array_equal(candidate.frames[View.SIDE].rgb, image(View.TOP, number))
        assert [task.text for task in candidate.tasks] == [TASK]
    tools = [None if one.T_base_tool is None else one.T_base_tool[0, 3] for one in found]
    assert tools == pytest.approx([0.0, 0.4, 0.5]), "the newest that is not older than half a second"
    assert [one.gripper for one in found] == [0.5, 0.5, 0.5]
    assert RecordingSource(bag, None, Sampling(task=TASK, every_s=0.4)).read(0).T_base_tool is None


def test_lost_images_of_a_data_set_cost_one_pass_over_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, images = write_dataset(tmp_path / "set", Layout("v2.1", beside=True)), DatasetFrames.images
    passes = list[Sequence[str]]()
    files = sorted(folder.glob(f"images/{TOP}/*/*.png"))
    for file in files[1:4]:
        file.unlink()

    def counted(frames: DatasetFrames, topics: Sequence[str]) -> Iterator[StoredImage | UnreadableImage]:
        passes.append(topics)
        return images(frames, topics)

    monkeypatch.setattr(DatasetFrames, "images", counted)
    source = FramesSource(folder, Sampling({View.TOP: TOP}, every_s=0))
    for index in range(1, 4):
        with pytest.raises(InputError, match=f"step {index} is missing"):
            source.read(index)
    for index in (0, 4, len(files) - 1):
        source.read(index)
    assert len(passes) == 2


def test_a_database_of_another_arm_is_another_one() -> None:
    words = [
        Sampling(states=StateTopics(gripper="/grip", joints="/j", arm=ArmModel.UR5E, tool_m=tool_m)).words
        for tool_m in (0.15, 0.2)
    ]
    assert words[0] == ("gripper /grip", "joints /j", "ur5e with a tool of 150 mm")
    assert words[0] != words[1]


def test_a_damaged_image_costs_itself_alone(tmp_path: Path) -> None:
    source = RecordingSource(write_bag(tmp_path / "bag.mcap", 1), None, Sampling(task=TASK, every_s=0))
    assert source.count == COUNT
    with pytest.raises(InputError, match=f"topic {COLOUR}: "):
        source.read(1)
    for number in (0, 2, 11):
        assert np.array_equal(source.read(number).frames[View.TOP].rgb, image(View.TOP, number))


def test_states_are_read_in_step_with_the_images(tmp_path: Path) -> None:
    states = RobotStates(write_bag(tmp_path / "bag.mcap"), StateTopics(tool="/tcp", gripper="/grip"))
    found = [states.at(START_NS + number * PERIOD_NS) for number in range(COUNT)]
    places = [None if one.T_base_tool is None else float(one.T_base_tool[0, 3]) for one in found]
    assert places[:6] == pytest.approx([0.1 * number for number in range(6)])
    assert [place is None for place in places] == [number > 10 for number in range(COUNT)]
    assert [one.gripper for one in found] == [0.5] * 11 + [None]


@pytest.mark.parametrize("layout", [Layout("v3.0"), Layout("v2.1", "libx264")])
def test_episodes_of_a_data_set_are_scenes_with_their_tasks(tmp_path: Path, layout: Layout) -> None:
    source = FramesSource(write_dataset(tmp_path / "set", layout), Sampling({View.TOP: TOP}, every_s=0.4))
    taken = [(episode, step) for episode, length in enumerate(LENGTHS) for step in range(0, length, 4)]
    assert source.count == len(taken)
    for index in (0, len(taken) - 1, 2):
        candidate = source.read(index)
        assert np.array_equal(candidate.frames[View.TOP].rgb, pixels(*taken[index]))
        assert candidate.tasks[0].text == TASKS[taken[index][0] > 0]
        assert (candidate.T_base_tool, candidate.gripper, candidate.source) == (None, None, "dataset")
        reference = object.__new__(Reference)
        for name in ("origin", "source", "scene_seed"):
            object.__setattr__(reference, name, getattr(candidate, name))
        assert scene_of(reference) == f"set episode_{taken[index][0]:06d}"
    assert scene_of_name("frame_000001") == ""


def test_a_database_of_a_recording_refuses_a_policy_without_the_pose_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = tmp_path / "bag.mcap"
    with TrialWriter(bag) as writer:
        writer.add_channel(COLOUR, IMAGE_TYPE)
        for number in range(2):
            rgb = SimulationSource(3, 160, 120).read(number).frames[View.TOP].rgb
            writer.write(COLOUR, image_to_cdr(rgb, START_NS + number * 10**9), START_NS + number * 10**9)
    steps = "references,tasks,distort,annotate"
    words = ["--task", "pick the red cube", "--panel", "classical-vla", "--steps", steps]
    out = tmp_path / "db"
    assert main(["build", "--from-bag", str(bag), "--out", str(out), *words, "--json"]) == 0
    tree = json.JSONDecoder().raw_decode(capsys.readouterr().out)[0]
    assert tree["counts"]["references"] == 2
    parts = DatabaseStore(out).annotation_parts("classical-vla")
    assert {row for part in parts for row in part["error"].to_pylist()} == {
        "classical-vla needs the pose of the tool and the gripper, which are not known",
        "no answer on the reference",
    }
    assert main(["build", "--from-bag", str(bag), "--out", str(tmp_path / "x"), "--task", "a\x07b"]) == 2
    assert main(["build", "--topic", "top=/x", "--out", str(tmp_path / "x")]) == 2


def test_a_task_file_is_checked_against_the_recording(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_bag(tmp_path / "bag.mcap")
    file = tmp_path / "tasks.csv"
    rows = [f",bag.mcap,{START_NS + offset},top,1,lift it," for offset in (0, PERIOD_NS, PERIOD_NS + 7)]
    file.write_text("# embodied-iqa-tasks 1\nimage,bag,stamp_ns,view,rank,text,verb\n" + "\n".join(rows))
    assert main(["tasks", "check", str(file)]) == 1
    error = capsys.readouterr().err
    assert f"tasks.csv:5: bag.mcap has no image of the top camera at {START_NS + PERIOD_NS + 7} ns" in error
    assert f"the nearest is at {START_NS + PERIOD_NS} ns" in error
    file.write_text(file.read_text().replace(rows[2], ""))
    assert main(["tasks", "check", str(file)]) == 0
    assert f"next: embodied-iqa build --from-bag {tmp_path}/bag.mcap" in capsys.readouterr().err
    write_bag(tmp_path / "other.mcap")
    file.write_text(file.read_text() + rows[0].replace("bag.mcap", "other.mcap"))
    assert main(["tasks", "check", str(file)]) == 0
    said = capsys.readouterr().err
    for number, name in ((1, "bag.mcap"), (2, "other.mcap")):
        words = f"next: embodied-iqa build --from-bag {tmp_path}/{name} --tasks {file} --out DB{number}"
        assert words in said
    assert "next: embodied-iqa db merge DB1 DB2 --out DB" in said
    assert main(["tasks", "check", str(file), "--topic", "top=/nose"]) == 1
    assert "/nose" in capsys.readouterr().err
    assert main(["tasks", "check", str(file), "--topic", "top=/nose", "--no-files"]) == 2


def test_the_next_command_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_bag(Path("bag.mcap"), count=24)
    commands = [
        ["distort", "bag.mcap", "--distortion", "10:3", "--out", "distorted", "--workers", "1"],
        ["recover", "bag.mcap"],
        ["gate", "calibrate", "bag.mcap", "--view", "top", "--out", "gate.yaml"],
    ]
    for words in commands:
        assert main(words) == 0
        last = capsys.readouterr().err.splitlines()[-1].removeprefix("next: embodied-iqa ")
        assert main(shlex.split(last.replace("OTHER_IMAGES", "bag.mcap"))) == 0, last
        capsys.readouterr()
    assert main(["rescore", "bag.mcap"]) == 1
    assert "for your own images: --task" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--every", "2"), "--every needs --task"),
        (("--tasks", "tasks.csv", "--every", "2"), "--every needs --task"),
        (("--tasks", "tasks.csv", "--task", TASK), "tasks come from one place"),
        (("--state", "tool=/tcp", "--state", "gripper=/grip"), "--state needs --task or --tasks"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    bag, out = str(write_bag(tmp_path / "bag.mcap")), str(tmp_path / "out")
    fit = ["gate", "fit", bag, "--view", "top", "--vla", "panel-vla-query", "--judge", "metric:niqe"]
    for command in (["build", "--from-bag", bag, "--out", out], [*fit, "--out", f"{out}.yaml"]):
        assert main([*command, *words]) == 2
        assert message in capsys.readouterr().err
    assert main(["build", "--from-bag", bag, "--out", out, "--task", TASK, "--views", "top"]) == 2
    assert "expected --topic VIEW=TOPIC" in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["bag.mcap"]


@pytest.mark.parametrize("words", [("tool=/tcp",), ("gripper=/grip",), ("joints=/j", "gripper=/grip")])
def test_states_that_say_too_little_for_a_database_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    states = [word for one in words for word in ("--state", one)]
    build = ["build", "--from-bag", str(write_bag(tmp_path / "bag.mcap")), "--task", TASK, *states]
    assert main([*build, "--out", str(tmp_path / "out")]) == 2
    assert "--state says too little; expected gripper=TOPIC with tool=TOPIC" in capsys.readouterr().err


def test_states_of_a_data_set_are_a_pose_where_the_user_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_dataset(tmp_path / "set")
    for file in folder.glob("data/*/*.parquet"):
        table = pq.read_table(file, partitioning=None)
        rows = [[k / 10, 0.0, 0.5, 0.0, 0.0, np.pi, 0.25] for k in range(table.num_rows)]
        column = pa.array(rows, pa.list_(pa.float32(), 7))
        pq.write_table(table.set_column(0, "observation.state", column), file)
    info = json.loads((folder / "meta/info.json").read_text())
    info["features"]["observation.state"]["shape"] = [7]
    edit_info(folder, features=info["features"])
    states = StateTopics(tool="observation.state:0", gripper="observation.state:6")
    source = FramesSource(folder, Sampling({View.TOP: TOP}, every_s=0.4, states=states))
    for index, row in ((0, 0), (1, 4), (2, 5), (5, 0), (6, 4)):  # the third episode begins a file
        candidate = source.read(index)
        assert candidate.T_base_tool is not None
        assert candidate.T_base_tool[0, 3] == pytest.approx(row / 10)
        assert candidate.T_base_tool[:2, :2] == pytest.approx(-np.eye(2), abs=1e-6)
        assert candidate.gripper == 0.25
    fit = ["gate", "fit", str(folder), "--view", "top", "--vla", "panel-vla-query"]
    fit += ["--judge", "metric:niqe", "--out", str(tmp_path / "gate.yaml")]
    assert main([*fit, "--risk", "0.25"]) == 1
    assert "too few scenes" in capsys.readouterr().err
    assert main([*fit[:2], str(folder), *fit[2:]]) == 2
    assert "expected one database or data set alone" in capsys.readouterr().err
    wrong = ["--state", "tool=observation.state:3", "--state", "gripper=observation.state:6"]
    words = ["--vla", "x", "--distortion", "10:3", "--out", str(tmp_path / "out"), "--topic", f"top={TOP}"]
    assert main(["rescore", str(folder), *words, *wrong]) == 1
    assert "has no tool there; expected 6 numbers from number 3" in capsys.readouterr().err
    assert main(["rescore", str(folder), *words, "--state", "tool=state", "--state", "gripper=x"]) == 2
