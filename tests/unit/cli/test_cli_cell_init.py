"""`cell init` asks in words, or names the options; it overwrites nothing."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.arm.robot.ur.rtde_snapshot import RtdeSnapshot
from embodied_iqa.base.errors import InputError, MissingDependencyError, UsageError, UserError
from embodied_iqa.base.kinematics.models import ArmModel
from embodied_iqa.cli.cell import arm_answers, check, check_options, init, init_options
from embodied_iqa.cli.cell.questions import (
    Questions,
    ask_cameras,
    ask_corners,
    check_corners,
    model_name,
    read_answer,
)
from embodied_iqa.cli.main import main
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.live.ros import environment
from embodied_iqa.runs.cell.cell_check import CellCheck, CheckResult
from embodied_iqa.runs.cell.cell_file import CellFile
from embodied_iqa.runs.cell.seen_camera import SeenCamera
from embodied_iqa.runs.graph.node_table import resolve

LIMITS = "--workspace-min --workspace-max --table-z --tool-height --wall-x"


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError("wrong answer", expected="a number", got=text) from None


def test_a_person_is_asked_until_the_answer_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    answers, asked = iter(["x", "0.2", "", "", "7", ""]), []

    def read(question: str) -> str:
        asked.append(question)
        return next(answers)

    questions = Questions(read)
    assert questions.ask("Length [m]", number, 0.1) == 0.2
    assert questions.ask("Length [m]", number, 0.1) == 0.1
    assert questions.ask("Height [m]", number, needed=True) == 7.0
    assert questions.ask("Height [m]", number) is None
    assert "expected a number" in capsys.readouterr().err
    assert asked[0] == "Length [m] [0.1]: "
    assert asked[-1] == "Height [m] [Enter leaves it out]: "
    assert Questions(None).ask("Length [m]", number, 0.1) == 0.1


def test_a_wrong_answer_costs_none_of_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    answers = iter(
        [
            "0 0 0",
            "1 0 1",
            "0 -1 0",
            "1 0 1",
            "0",
            "",
            "",
            "no_gate.yaml",
            "",
            "no-such-policy",
            "classical-vla",
            "no-such-vlm",
            "none",
        ]
    )
    file, questions = CellFile(), Questions(lambda _question: next(answers))
    given = Namespace(
        workspace_min=None,
        workspace_max=None,
        table_z=None,
        tool_height=None,
        wall_x=None,
        calibration=None,
        vla=None,
        vlm=None,
    )
    arm_answers.describe_limits(file, given, questions)
    init._describe_rest(file, given, questions)
    values = file.values()
    assert values["arm_node.limits.workspace_min_m"] == [0.0, -1.0, 0.0], "either corner may be the wrong one"
    assert values["arm_node.limits.workspace_max_m"] == [1.0, 0.0, 1.0]
    assert (values["vla_node.subject"], "gate_node.calibration" in values) == ("classical-vla", False)
    assert values["vlm_node.subject"] == "none"
    box, missing, unknown, no_vlm = capsys.readouterr().err.splitlines()
    assert "no box lies between the corners; expected each above [0.0, 0.0, 0.0]" in box
    assert ("no_gate.yaml" in missing, "no-such-policy" in unknown) == (True, True)
    assert "no-such-vlm" in no_vlm


def test_a_workspace_has_both_corners_or_none(capsys: pytest.CaptureFixture[str]) -> None:
    """The other corner would be that of the simulated cell, in which no real arm is moved."""

    def limits(*answers: str, upper: list[float] | None = None) -> dict[str, object]:
        left, file = iter(answers), CellFile()
        given = Namespace(workspace_min=None, workspace_max=upper, table_z=0.0, tool_height=0.01, wall_x=-0.9)
        arm_answers.describe_limits(file, given, Questions(lambda _question: next(left)))
        assert not list(left)
        return {name: value for name, value in file.values().items() if "workspace" in name}

    low, high = "arm_node.limits.workspace_min_m", "arm_node.limits.workspace_max_m"
    assert limits("") == {}
    assert limits("0 0 0", "", "1 1 1") == {low: [0.0] * 3, high: [1.0] * 3}
    assert limits("", "0 0 0", upper=[1.0] * 3) == {low: [0.0] * 3, high: [1.0] * 3}
    assert capsys.readouterr().err.count("expected 3 numbers") == 2


def test_questions_leave_standard_output_to_the_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("top\n"))
    assert read_answer("Name: ") == "top"
    assert capsys.readouterr() == ("", "Name: ")


def test_the_end_of_the_input_is_one_line() -> None:
    def read(_question: str) -> str:
        raise EOFError

    with pytest.raises(UsageError, match="nobody answers any more; expected an answer to 'Length"):
        Questions(read).ask("Length [m]", number, 0.1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--robot-ip", "none", "--tool-length", "0.2"], "--tool-length is of an arm"),
        (["--robot-ip", "none", "--model", "ur5e"], "--model is of an arm"),
        (["--robot-ip", "none", "--workspace-min", "0", "0", "0"], "--workspace-min is of an arm"),
        (["--robot-ip", "a", "--tool-length", "-1"], "expected 0 to 1; got -1.0"),
        (["--robot-ip", "none", "--wall-x", "-1"], "--wall-x is of an arm"),
        (["--robot-ip", "a", "--tool-height", "inf"], "wrong --tool-height; expected finite numbers"),
        (["--robot-ip", "a", "--table-z", "nan"], "wrong --table-z; expected finite numbers"),
        (["--robot-ip", "a", "--workspace-max", "0", "inf", "0"], "wrong --workspace-max"),
        (["--robot-ip", "none", "--topic", "top=/b"], "--topic names a camera or topic twice"),
        (
            ["--robot-ip", "a", "--workspace-min", *"012", "--workspace-max", *"112"],
            "each above [0.0, 1.0, 2.0]",
        ),
        (
            ["--robot-ip", "a", "--workspace-min", "-750", "-400", "20", "--workspace-max", *"111"],
            "wrong --workspace-min; expected coordinates in metres, at most 2.5 from the base; got -750.0",
        ),
        (
            ["--robot-ip", "a", "--workspace-min", *"000", "--workspace-max", "0.2", "400", "0.6"],
            "wrong --workspace-max; expected coordinates in metres",
        ),
        (
            ["--robot-ip", "a", "--table-z", "-20"],
            "table_z_m in arm_node.limits; expected -2.5 to 2.5; got -20",
        ),
        (["--robot-ip", "a", "--vla", "python:no_such_module:make"], "no module no_such_module"),
        (["--robot-ip", "a", "--vlm", "python:no_such_module:make"], "no module no_such_module"),
    ],
)
def test_options_that_contradict_are_refused_before_anything_is_read(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "cell.yaml")
    assert main(["cell", "init", "--yes", "--out", out, "--topic", "top=/a", *words]) == 2
    *_, line = capsys.readouterr().err.splitlines()  # the first may say what is looked for
    assert said in line


def test_a_command_says_what_it_does_before_it_loads_what_reads_a_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in (init_options, check_options):
        monkeypatch.setattr(module, "perform", lambda *_: 0)
    words = ["--yes", "--out", str(tmp_path / "cell.yaml"), "--robot-ip", "none", "--topic", "top=a"]
    assert main(["cell", "init", *words]) == main(["cell", "check", "cell.yaml"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "looking for images on /a: some seconds",
        "checking cell.yaml",
    ]
    loaded = f"import sys, {init_options.__name__}, {check_options.__name__}; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", loaded], check=True, capture_output=True, text=True)
    assert not any(name.startswith("embodied_iqa.runs") for name in found.stdout.split())


@pytest.mark.parametrize("words", [["--workspace-min", "-1000", "-500", "20"], ["--wall-x", "-900"]])
def test_a_limit_in_millimetres_is_refused_before_anything_is_looked_for(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*words, "--workspace-max", *"111"] if "-500" in words else words
    known = ["--yes", "--out", str(tmp_path / "cell.yaml"), "--robot-ip", "a", "--topic", "top=/a"]
    assert main(["cell", "init", *known, *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "expected" in line


def test_two_cameras_do_not_share_a_name() -> None:
    answers = iter(["top", "top", "wrist"])
    chosen = ask_cameras(Questions(lambda _question: next(answers)), ["/a", "/b"])
    assert chosen == {"top": "/a", "wrist": "/b"}


def test_an_arm_whose_model_is_not_known_has_a_file_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def arm(file: CellFile, *_: object) -> None:
        file.set("arm_node.robot", "ur5", "it answers")
        file.set("arm_node.ur.ip", "192.168.1.10", "as given")
        file.left_out.append("arm_node.model, the model on the nameplate (several fit)")

    def cameras(file: CellFile, *_: object) -> None:
        file.set("camera_node.source", "topic", "from other nodes")

    monkeypatch.setattr(init, "read_snapshot", lambda *_: None)
    monkeypatch.setattr(init, "describe_arm", arm)
    monkeypatch.setattr(init, "_describe_cameras", cameras)
    out = tmp_path / "cell.yaml"
    assert main(["cell", "init", "--yes", "--out", str(out), "--robot-ip", "a", "--topic", "top=/a"]) == 0
    assert "left out: arm_node.model" in capsys.readouterr().out
    assert "\n    model:" not in out.read_text()
    other = str(tmp_path / "other.yaml")
    words = ["cell", "init", "--yes", "--out", other, "--robot-ip", "a", "--topic", "top=/a", "--json"]
    assert main(words) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["file"] == other
    assert printed["left_out"][0].startswith("arm_node.model")


@pytest.mark.parametrize(
    ("vla", "said"),
    [
        ("openpi://gpu:8000", True),
        ("openvla+http://gpu:8000/act", True),
        ("openpi://gpu:8000 or pi0-libero=openpi://gpu:8001", True),
        ("pi0-ur5=openpi://gpu:8000", False),
        ("classical-vla", False),
        (None, False),
    ],
)
def test_a_policy_whose_actions_nothing_names_has_their_convention_left_out(
    vla: str | None,
    said: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def cameras(file: CellFile, *_: object) -> None:
        file.set("camera_node.source", "topic", "from other nodes")

    monkeypatch.setattr(init, "_describe_cameras", cameras)
    given = [] if vla is None else ["--vla", vla]
    words = ["--robot-ip", "none", "--topic", "top=/a", *given, "--yes", "--json"]
    assert main(["cell", "init", "--out", str(tmp_path / "cell.yaml"), *words]) == 0
    left_out = json.loads(capsys.readouterr().out)["left_out"]
    assert any(line.startswith("vla_node.policy.convention: what the actions") for line in left_out) is said


def test_what_is_looked_for_is_said_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = []

    def read(*_: object) -> None:
        said.append(capsys.readouterr().err)
        raise InputError("no answer")

    monkeypatch.setattr(init, "read_snapshot", read)
    words = ["cell", "init", "--yes", "--out", str(tmp_path / "a"), "--robot-ip", "a", "--topic", "top=/b"]
    assert main(words) == 1
    assert said == ["looking for the arm at a and images on /b: some seconds\n"]


def test_what_is_not_installed_ends_it_before_anything_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> None:
        raise MissingDependencyError("the interfaces embodied_iqa_msgs are not built")

    monkeypatch.setattr(environment, "require_ros", missing)
    monkeypatch.setattr(init, "read_snapshot", lambda *_: pytest.fail("the arm was looked for"))
    words = ["cell", "init", "--yes", "--out", str(tmp_path / "a"), "--robot-ip", "a", "--topic", "top=/b"]
    assert main(words) == 1
    assert "embodied_iqa_msgs are not built" in capsys.readouterr().err


def test_a_topic_that_nobody_publishes_ends_it_before_the_arm_is_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cameras(*_: object) -> None:
        raise InputError("nobody publishes images of the top camera")

    monkeypatch.setattr(init, "read_snapshot", lambda *_: None)
    monkeypatch.setattr(init, "_describe_cameras", cameras)
    monkeypatch.setattr(init, "describe_arm", lambda *_: pytest.fail("the arm comes later"))
    words = ["cell", "init", "--yes", "--out", str(tmp_path / "a"), "--robot-ip", "a", "--topic", "top=/a"]
    assert main(words) == 1


def test_the_arm_begins_slowly_and_is_not_moved_where_no_workspace_is_given() -> None:
    file = CellFile()
    arm_answers.describe_limits(
        file,
        Namespace(
            workspace_min=None, workspace_max=[-0.2, 0.4, 0.6], table_z=None, tool_height=None, wall_x=None
        ),
        Questions(None),
    )
    assert file.values() == {
        "arm_node.limits.workspace_max_m": [-0.2, 0.4, 0.6],
        "arm_node.limits.tool_speed_mps": 0.1,
        "arm_node.limits.joint_speed_radps": 0.6,
        "arm_node.limits.increment_m": 0.1,
    }
    file = CellFile()
    arm_answers.describe_limits(
        file,
        Namespace(
            workspace_min=[-1.2, 0, 0], workspace_max=None, table_z=None, tool_height=None, wall_x=None
        ),
        Questions(None),
    )
    assert file.values()["arm_node.limits.wall_x_m"] == -1.35, "that of the simulated cell would cut the box"


def test_what_is_not_known_of_the_workspace_is_named() -> None:
    file = CellFile()
    arm_answers.describe_limits(
        file,
        Namespace(workspace_min=None, workspace_max=[1, 1, 1], table_z=None, tool_height=None, wall_x=None),
        Questions(None),
    )
    assert [line.partition(":")[0] for line in file.left_out] == [
        "arm_node.limits.workspace_min_m",
        "arm_node.limits.table_z_m",
        "arm_node.limits.tool_height_m",
        "arm_node.limits.wall_x_m",
    ]
    assert file.left_out[-1].endswith(": the arm may reach back to x = -0.95 m")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], f"--robot-ip --topic {LIMITS} --calibration --vla --vlm, or --yes"),
        (["--robot-ip", "none"], "--topic --calibration --vla --vlm, or --yes"),
        (["--yes"], "--robot-ip --topic"),
        (
            ["--yes", "--robot-ip", "a", "--topic", "top=/a", "--workspace-max", *"111"],
            "expected --workspace-min",
        ),
    ],
)
def test_without_a_terminal_it_names_every_option_that_is_missing(
    words: list[str], named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cell", "init", "--out", str(tmp_path / "cell.yaml"), *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert named in line
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "cell.yaml").write_text("mine")
    assert main(["cell", "init", "--out", str(tmp_path / "cell.yaml"), "--yes"]) == 2
    assert "exists" in capsys.readouterr().err
    assert (tmp_path / "cell.yaml").read_text() == "mine"


def test_the_hint_of_cell_check_names_every_file_and_parameter(capsys: pytest.CaptureFixture[str]) -> None:
    words = Namespace(
        json=False, out=None, config=["cell.yaml", "more.yaml"], set=["arm_node.robot=none"], task=None
    )
    check._print(words, [CellCheck("arm: posture", "read", "joint angles", is_ok=True)], resolve())
    hint = "--config cell.yaml --config more.yaml --set arm_node.robot=none --vlm none --task TEXT"
    assert hint in capsys.readouterr().err
    words.task = "wave"
    check._print(words, [], resolve())
    assert "--task wave --no-distortion" in capsys.readouterr().err


def test_what_only_some_models_need_is_named_and_stops_no_trial(capsys: pytest.CaptureFixture[str]) -> None:
    words = Namespace(json=False, out=None, config=["cell.yaml"], set=[], task=None)
    rate = CellCheck("top: rate", "30 Hz", "at least 8 Hz", is_ok=True)
    pose = CellCheck("top: hand-eye", "none", "one", is_ok=False, otherwise=CheckResult.MISSING)
    assert check._print(words, [rate, pose], resolve()) is None
    printed = capsys.readouterr()
    assert "missing: top: hand-eye (a trial runs without" in printed.out
    assert "embodied-iqa trial" in printed.err
    assert check._tree([rate, pose])["ok"] is True
    silent = CellCheck("top: images", "none", "images", is_ok=False)
    assert check._tree([rate, pose, silent])["ok"] is False


def test_a_camera_that_cannot_be_read_is_named() -> None:
    cameras = [
        SeenCamera(View.TOP, "/top/image_raw", rgb=np.zeros((4, 4, 3), np.uint8)),
        SeenCamera(View.SIDE, "/side/image_raw"),
        SeenCamera(View.WRIST, "/wrist/image_raw", (1,), (1,), problem="encoding bayer16 is unknown"),
    ]
    silent = r"side: no image within 3 s \(/side/image_raw\); wrist: encoding bayer16 is unknown \(/wrist"
    with pytest.raises(InputError, match=silent):
        init._check_read(cameras, 3.0)
    init._check_read(cameras[:1], 3.0)


@pytest.mark.parametrize(
    ("given", "read", "model", "why"),
    [
        (None, ArmModel.UR5E, ArmModel.UR5E, "from the controller: it says so"),
        (None, None, None, "it says so"),
        ("ur5e", ArmModel.UR5E, ArmModel.UR5E, "from the controller: it says so"),
        ("ur5e", None, ArmModel.UR5E, "as given: it says so"),
    ],
)
def test_the_model_is_the_controllers_or_the_persons(
    given: str | None, read: ArmModel | None, model: ArmModel | None, why: str
) -> None:
    assert arm_answers.chosen_model(given, read, "it says so") == (model, why)


def test_a_model_that_is_not_the_arm_that_answers_is_refused() -> None:
    with pytest.raises(UsageError, match=r"expected ur5e \(it says so\); got 'ur5'"):
        arm_answers.chosen_model("ur5", ArmModel.UR5E, "it says so")
    with pytest.raises(UsageError, match=r"no model of this name; got 'ur7'; .*available: ur3, ur5"):
        model_name("ur7")


@pytest.mark.parametrize("was_there", [False, True])
def test_a_check_that_fails_leaves_no_new_folder_and_keeps_what_it_holds(
    tmp_path: Path, was_there: bool
) -> None:
    folder = tmp_path / "report"
    if was_there:
        folder.mkdir()

    def fill(name: str) -> None:
        with check._new_folder(folder) as made:
            assert made == folder
            if name:
                (folder / name).write_bytes(b"x")
            raise InputError("it fails")

    with pytest.raises(InputError):
        fill("")
    assert folder.exists() is was_there
    with pytest.raises(InputError):
        fill("top.png")
    assert [one.name for one in folder.iterdir()] == ["top.png"]


def test_the_folder_of_an_earlier_check_is_taken_again_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "checks.json").write_text('{"ok": true, "checks": [{"check": "top: rate"}]}')
    (tmp_path / "top.png").touch()
    with check._new_folder(tmp_path) as folder:
        assert folder == tmp_path
    for mine in ("notes.txt", "photo.png"):
        (tmp_path / mine).touch()
        with pytest.raises(UserError, match="not empty"), check._new_folder(tmp_path):
            pass
        (tmp_path / mine).unlink()


def test_corners_in_the_other_order_offer_the_box_between_them() -> None:
    answers = iter(["1 0 1", "0 -1 0", "", ""])
    questions = Questions(lambda _question: next(answers))
    assert ask_corners(questions, None, None) == ([0.0, -1.0, 0.0], [1.0, 0.0, 1.0])


def test_a_corner_in_millimetres_is_asked_again_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    answers = iter(["-750 -400 20", "-0.75 -0.4 0.02", "-250 400 600", "-0.25 0.4 0.6"])
    questions = Questions(lambda _question: next(answers))
    assert ask_corners(questions, None, None) == ([-0.75, -0.4, 0.02], [-0.25, 0.4, 0.6])
    lower, upper = capsys.readouterr().err.splitlines()
    for line, got in ((lower, -750.0), (upper, -250.0)):
        assert line.endswith(f"expected coordinates in metres, at most 2.5 from the base; got {got}")


def test_no_corner_is_offered_that_would_be_refused() -> None:
    def check(lower: Sequence[float], upper: Sequence[float]) -> None:
        check_corners(lower, upper)
        if lower[0] > 0.0:
            raise UsageError("out of reach")

    def offered(*answers: str) -> list[str]:
        asked: list[str] = []
        left = iter(answers)

        def read(question: str) -> str:
            asked.append(question.partition("[m]")[2])
            return next(left)

        ask_corners(Questions(read), None, None, check)
        return asked

    none_lower, none_upper = " [Enter leaves it out]: ", ": "
    swapped_beyond = offered("0.5 0 0.5", "0.1 -0.1 0.1", "-0.3 -0.3 0.1", "0.3 0.3 0.3")
    assert swapped_beyond == [none_lower, none_upper] * 2, "the box between them is refused too"
    another_lower = offered("0 0 0.1", "-0.5 -0.5 0.2", "-0.4 0.1 0.1", "0.3 0.3 0.3")
    assert another_lower == [none_lower, none_upper, " [[-0.5, -0.5, 0.1]]: ", none_upper]


def test_a_camera_without_a_name_is_asked_for_again() -> None:
    answers = iter(["", "", "top"])
    questions = Questions(lambda _question: next(answers))
    assert ask_cameras(questions, ["/first", "/last"]) == {"top": "/last"}


ARM = RtdeSnapshot((5, 15, 0, 1), (0.0,) * 6, (0.1,) * 6, (0.0, 0.0, 0.2, 0.0, 0.0, 0.0), 7, "127.0.0.9")
UR5E = arm_answers.FoundArm("127.0.0.9", ARM, (ArmModel.UR5E, "it says so"))


def options(**given: object) -> Namespace:
    names = "model tool_length workspace_min workspace_max table_z tool_height wall_x calibration vla vlm"
    return Namespace(**(dict.fromkeys(names.split()) | given))


def test_an_answer_out_of_the_range_of_its_parameter_is_asked_again_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(arm_answers, "_describe_gripper", lambda *_: None)
    far, near = ["1.5 1.5 1.5", "2 2 2"], ["-0.7 -0.4 0", "-0.2 0.4 0.6"]
    answers = iter(["-1", "0.15", *far, *near, "2", "0.01", "1.5", "0.02", "0.5", "-0.6", "-0.9"])
    file = CellFile()
    arm_answers.describe_arm(file, UR5E, options(), Questions(lambda _question: next(answers)))
    assert not list(answers)
    values = file.values()
    assert values["arm_node.tool_length_m"] == 0.15
    assert values["arm_node.limits.workspace_min_m"] == [-0.7, -0.4, 0.0]
    assert values["arm_node.limits.table_z_m"] == 0.01
    assert values["arm_node.limits.tool_height_m"] == 0.02
    assert values["arm_node.limits.wall_x_m"] == -0.9
    tool, box, table, height, front, cut = capsys.readouterr().err.splitlines()
    assert "tool_length_m" in tool
    assert "expected 0 to 1; got -1.0" in tool
    assert (
        "a UR5e with a tool of 0.15 m reaches no part of the workspace; expected a box within 1.10 m" in box
    )
    assert "no part of the workspace is above the table" in table
    assert "tool_height_m" in height
    assert "limits.wall_x_m in arm_node; expected -2.5 to 0; got 0.5" in front
    assert "the workspace of arm_node.limits reaches beyond its wall" in cut


@pytest.mark.parametrize(
    ("payload_kg", "words"),
    [
        (0.0, "(none is set at the controller)"),
        (None, "(none is reported by the controller)"),
        (1.15, ""),
    ],
)
def test_the_payload_of_the_controller_is_written_or_named(
    monkeypatch: pytest.MonkeyPatch, payload_kg: float | None, words: str
) -> None:
    monkeypatch.setattr(arm_answers, "_describe_gripper", lambda *_: None)
    file, arm = CellFile(), replace(UR5E, seen=replace(ARM, payload_kg=payload_kg))
    arm_answers.describe_arm(file, arm, options(tool_length=0.2), Questions(None))
    assert file.values().get("arm_node.ur.payload_kg") == (payload_kg or None)
    assert any(line.endswith(words) for line in file.left_out) is True
    assert any("payload" in line for line in file.left_out) is bool(words)


def test_an_option_out_of_reach_is_refused_before_anything_is_asked() -> None:
    far = {"workspace_min": [2.0] * 3, "workspace_max": [2.4] * 3}
    with pytest.raises(UsageError, match=r"a UR5e with a tool of 0.2 m reaches no part"):
        arm_answers.check_options(options(**far), UR5E)
    arm_answers.check_options(options(workspace_min=[2.0] * 3), UR5E)
    near = {"workspace_min": [-0.7, -0.4, 0.0], "workspace_max": [-0.2, 0.4, 0.6]}
    with pytest.raises(UsageError, match="reaches beyond its wall"):
        arm_answers.check_options(options(**near, wall_x=-0.5), UR5E)
    with pytest.raises(UsageError, match=r"limits.tool_height_m in arm_node; expected 0 to 1; got -0.1"):
        arm_answers.check_options(options(tool_height=-0.1), UR5E)


def test_a_policy_that_does_not_go_with_the_cell_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def check_values(values: dict[str, object]) -> None:
        if values.get("vla_node.subject") == "classical-vla":
            raise UsageError("it does not go with the cell")

    monkeypatch.setattr(init, "check_values", check_values)
    file, answers = CellFile(), iter(["", "classical-vla", "", ""])
    init._describe_rest(file, options(), Questions(lambda _question: next(answers)))
    assert not {"vla_node.subject", "vlm_node.subject"} & file.values().keys()
    assert [line.partition(":")[0] for line in file.left_out[-2:]] == ["vla_node.subject", "vlm_node.subject"]
    assert "it does not go with the cell" in capsys.readouterr().err


def test_a_tool_outside_of_the_workspace_is_said_and_nothing_is_refused() -> None:
    box = {
        "arm_node.robot": "ur5",
        "arm_node.model": "ur5e",
        "arm_node.limits.workspace_min_m": [-0.7, -0.4, 0.0],
        "arm_node.limits.workspace_max_m": [-0.2, 0.4, 0.6],
    }
    said = arm_answers.tool_outside(box, (0.0,) * 6)
    assert "the arm is outside of its workspace, move it into it: the tool would be at" in said
    home = (-0.3398, -1.8262, 1.6316, -1.3761, -1.5708, -0.3398)
    assert arm_answers.tool_outside(box, home) == ""


@pytest.mark.parametrize(("upper", "words"), [([-0.2, 0.4, 0.6], ""), ([2.5, 2.5, 2.5], "beyond the arm")])
def test_a_workspace_beyond_the_arm_is_noted(upper: list[float], words: str) -> None:
    names = "arm_node.limits.workspace_min_m", "arm_node.limits.workspace_max_m"
    box = dict(zip(names, ([-0.75, -0.4, 0.02], upper), strict=True))
    known = {"arm_node.robot": "ur5", "arm_node.model": "ur5e", "arm_node.ur.ip": "192.0.2.1", **box}
    found = arm_answers.box_beyond(known)
    assert words in found
    assert bool(found) is bool(words)


@pytest.mark.parametrize(("table_z_m", "words"), [(0.02, ""), (0.1, "reaches 0.08 m below the table top")])
def test_a_lower_corner_below_the_table_is_noted(table_z_m: float, words: str) -> None:
    start = "arm_node.limits."
    box = {f"{start}workspace_min_m": [-0.75, -0.4, 0.02], f"{start}workspace_max_m": [-0.2, 0.4, 0.6]}
    found = arm_answers.box_below({"arm_node.robot": "ur5", f"{start}table_z_m": table_z_m, **box})
    assert words in found
    assert bool(found) is bool(words)
