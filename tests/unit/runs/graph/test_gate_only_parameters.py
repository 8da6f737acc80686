"""The arguments of the gate by itself: what the launch file and `gate run` start, and what they refuse."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.config import build
from embodied_iqa.base.errors import UserError
from embodied_iqa.cli.main import main
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.live.nodes.gate_only_node import why_mode_stays
from embodied_iqa.quality.gate.calibration_file import save_calibrations
from embodied_iqa.runs.graph.gate_only_parameters import GateOnlyParameters, gate_parameters_of
from embodied_iqa.runs.graph.launch_arguments import GATE_ARGUMENTS
from gate_files import calibration

DEFAULTS = {argument.name: argument.default for argument in GATE_ARGUMENTS}
COLOR = "/camera/camera/color/image_raw"


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    hand, side = (replace(calibration(), view=View(name)) for name in ("hand", "side"))
    save_calibrations([hand], tmp_path / "mine.yaml")
    save_calibrations([hand, side], tmp_path / "two.yaml")
    return tmp_path / "mine.yaml"


def topics(**values: object) -> dict[str, str]:
    config = build(GateOnlyParameters, {name.replace("__", "."): one for name, one in values.items()}, "test")
    return {str(view): topic for view, topic in config.topics(config.file()).items()}


def test_the_cameras_are_those_of_the_calibration(mine: Path) -> None:
    found = gate_parameters_of(DEFAULTS | {"image": COLOR, "calibration": "mine.yaml", "mode": "shadow"})
    assert found == {"topic.image": COLOR, "calibration": str(mine), "judge.mode": "shadow"}
    assert topics(topic__image=COLOR, calibration=str(mine)) == {"hand": COLOR}
    assert topics(topic__image=COLOR) == {"view": COLOR}, "without a calibration"
    assert topics(views=["a", "b"], topic__image="/{view}/image") == {"a": "/a/image", "b": "/b/image"}
    assert topics(views=["a", "b"], topic__preset="usb_cam", topic__transport="compressed") == {
        "a": "/a/image_raw/compressed",
        "b": "/b/image_raw/compressed",
    }
    assert topics(views=["color"], topic__image="/camera/color/image_raw") == {
        "color": "/camera/color/image_raw"
    }, "the name that the older driver of a RealSense has"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"image": "/one,/two", "calibration": "mine.yaml"}, "is not said; expected views in the order"),
        ({"image": "/one,/two", "views": "hand"}, "does not name one topic for each view"),
        ({"image": "/one", "views": "side", "calibration": "mine.yaml"}, "no such camera; got 'side'"),
        ({"image": "/one", "views": "top,side"}, "does not name one topic for each view"),
        ({"image": "/one two"}, "is not a topic name"),
        ({"image": "/one/compressed"}, "expected topic.transport: compressed"),
        ({"image": "/one", "calibration": "yours.yaml"}, "yours.yaml"),
        ({"image": "/one", "config": "none.yaml"}, "cannot read none.yaml"),
        ({"image": "/one", "config": "mine.yaml"}, "section format; expected one key, ros__parameters"),
        ({"image": "/one", "judge": "learned"}, "no calibration for the judge learned; expected --cal"),
        ({"image": "/one", "calibration": "two.yaml"}, "2 cameras; expected views .--views.*: hand, side"),
        ({"image": "/one", "mode": "sharp"}, "available: on, shadow, off"),
        ({"image": "/one", "judge": "magic"}, "expected statistics, learned or metric:NAME"),
        ({"image": "/one", "name": "my gate"}, "no name of a node; expected letters, digits and _"),
        ({"image": "/one", "name": ""}, "no name of a node"),
        ({"image": "/one", "namespace": "cell-1"}, "not a ROS namespace"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_starts(
    mine: Path, values: dict[str, str], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        gate_parameters_of(DEFAULTS | values)


def test_the_command_becomes_the_node(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    became: list[list[str]] = []
    monkeypatch.setattr(os, "execvp", lambda _program, words: became.append(words))
    for name in ("one.yaml", "other.yaml"):
        (mine.parent / name).write_text("cell1/gate: {ros__parameters: {}}\ngate2: {ros__parameters: {}}")
    words = ["--topic", COLOR, "--calibration", "mine.yaml", "--name", "eyes", "--namespace", "cell1"]
    main(["gate", "run", *words, "--config", "one.yaml", "--config", "other.yaml"])
    (command,) = became
    at = command.index("--ros-args")
    assert command[at - 2 : at] == ["-m", "embodied_iqa.live.nodes.gate_only_node"]
    assert command[at:] == [
        *("--ros-args", "-r", "__node:=eyes", "-r", "__ns:=/cell1"),
        *("--params-file", "one.yaml", "--params-file", "other.yaml"),
        *("-p", f'topic.image:="{COLOR}"', "-p", f'calibration:="{mine}"'),
    ]
    assert main(["gate", "run", "--topic", "/one", "--calibration", "yours.yaml"]) == 1
    assert main(["gate", "run", "--topic", "", "--calibration", "mine.yaml"]) == 2, "of an unset variable"
    assert len(became) == 1


@pytest.mark.usefixtures("mine")
def test_each_topic_of_the_command_may_name_its_camera(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    became: list[list[str]] = []
    monkeypatch.setattr(os, "execvp", lambda _program, words: became.append(words))
    run = ["gate", "run", "--calibration", "two.yaml", "--topic", "side=/one"]
    main([*run, "--topic", "hand=/two"])
    assert 'topic.image:="/one,/two"' in became[0]
    assert 'views:=["side", "hand"]' in became[0]
    main(["gate", "run", "--calibration", "mine.yaml", "--image", "/one"])
    assert 'topic.image:="/one"' in became[1]
    assert "--image is called --topic; 0.2 no longer knows it" in capsys.readouterr().err
    assert main([*run, "--topic", "/two"]) == 2
    assert "wrong --topic; expected such as top=" in capsys.readouterr().err
    assert main([*run, "--views", "side"]) == 2
    assert "--topic VIEW=TOPIC excludes --views; got 'side'" in capsys.readouterr().err
    assert len(became) == 2


@pytest.mark.usefixtures("mine")
def test_the_command_prints_the_topics_of_its_node(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "execvp", lambda *_: None)
    words = ["gate", "run", "--json", "--calibration", "two.yaml", "--topic", "/{view}/image"]
    main([*words, "--transport", "compressed", "--name", "eyes", "--namespace", "cell1"])
    found = json.loads(capsys.readouterr().out)
    assert {name: topic for name, topic in found.items() if name != "cameras"} == {
        "node": "/cell1/eyes",
        "lease": "/cell1/eyes/lease",
        "quality": "/cell1/eyes/quality",
    }
    assert found["cameras"]["side"] == {
        "image": "/side/image/compressed",
        "passed": "/cell1/eyes/passed/side/image_raw/compressed",
    }
    main(["gate", "run", "--json", "--calibration", "mine.yaml"])
    one = json.loads(capsys.readouterr().out)["cameras"]
    assert one == {"hand": {"image": "/hand/camera/color/image_raw", "passed": "/gate/passed/image_raw"}}
    Path("own.yaml").write_text("gate: {ros__parameters: {}}", encoding="utf-8")
    main(["gate", "run", "--json", "--config", "own.yaml"])
    assert json.loads(capsys.readouterr().out)["cameras"] is None


@pytest.mark.parametrize(
    ("mode", "wanted", "reason", "allowed"),
    [
        (GateMode.ON, GateMode.SHADOW, "dark", False),
        (GateMode.ON, GateMode.OFF, "dark", False),
        (GateMode.ON, GateMode.SHADOW, "", True),
        (GateMode.ON, GateMode.ON, "dark", True),
        (GateMode.SHADOW, GateMode.ON, "dark", True),
        (GateMode.SHADOW, GateMode.OFF, "dark", True),
        (GateMode.OFF, GateMode.SHADOW, "dark", True),
    ],
)
def test_a_mode_that_would_release_a_held_robot_is_refused(
    mode: GateMode, wanted: GateMode, reason: str, allowed: bool
) -> None:
    said = why_mode_stays(mode, wanted, {View.TOP: "", View.WRIST: reason})
    assert (said == "") == allowed
    assert ("wrist: dark" in said) == (not allowed and reason != "")
