"""Bad input: one clear line on stderr, exit code 2 (usage) or 1, and nothing half-written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.cli.main import main
from embodied_iqa.data.recording.writer import TrialWriter
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.imaging.images.image_cdr import IMAGE_TYPE, image_to_cdr

USAGE, FAILED = 2, 1
PROGRESS = {"cell check": "checking ", "cell init": "looking for "}
"""What these commands say before the packages load that find the fault."""
TRIAL = ["trial", "--out", "{tmp}/run"]


def _tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(
    arguments: list[str], code: int, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = _tree(tmp_path)
    filled = [argument.replace("{tmp}", str(tmp_path)) for argument in arguments]
    assert main(filled) == code
    printed = capsys.readouterr()
    lines = printed.err.strip().splitlines()
    assert len(lines) == 1, printed.err
    assert lines[0].startswith("embodied-iqa: ")
    for word in words:
        assert word in lines[0]
    assert printed.out == ""
    assert _tree(tmp_path) == before, "something was written"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--task", "fling the red cube"], ["'fling'", "available", "pick"]),
        (["--task", "pick the mauve cube"], ["'mauve'", "available", "red"]),
        (["--task", "pick the red teapot"], ["'teapot'", "available", "cube"]),
        (["--task", "pick red"], ["expected", "place the red cube"]),
        (["--task", "pick red cube", "--task", "pick the red cube"], ["duplicate task"]),
        (["--distortion", "99:1"], ["'99'", "available"]),
        (["--distortion", "19:7"], ["7", "available", "1"]),
        (["--distortion", "19"], ["expected such as 02:3", "'19'"]),
        (["--no-distortion", "--distortion", "19:5"], ["--no-distortion"]),
        (["--no-distortion", "--schedule", "burst"], ["--no-distortion excludes --schedule"]),
        (["--schedule", "pulse:start=1"], ["unknown schedule", "'pulse'", "available: burst, ramp"]),
        (["--schedule", "burst:begin=1"], ["'begin=1'", "available: start, length, every"]),
        (["--schedule", "ramp:length=0"], ["length from 0.001", "got 0.0"]),
        (["--set", "distortion_node.schedule=pulse"], ["'pulse'", "available: burst"]),
        (["--vlm", "gpt"], ["'gpt'", "available", "classical-vlm"]),
        (["--vla", "pi0"], ["'pi0'", "available", "classical-vla"]),
        (["--gate", "maybe"], ["maybe", "shadow"]),
        (["--judge", "maybe"], ["unknown judge", "expected statistics, learned or metric:NAME", "'maybe'"]),
        (
            ["--judge", "learned", "--set", "gate_node.judge.kind=statistics"],
            ["--judge and --set set the same parameter", "got 'gate_node.judge.kind'"],
        ),
        (
            ["--calibration", "mine.yaml", "--set", "gate_node.calibration=yours.yaml"],
            ["--calibration and --set set the same parameter", "got 'gate_node.calibration'"],
        ),
        (["--view", "top", "--set", "gate_node.views=[top]"], ["--view and --set set the same parameter"]),
        (["--camera", "webcam"], ["webcam", "simulated"]),
        (["--robot", "kuka"], ["kuka", "sim"]),
        (["--scene-seed", "seven"], ["seven", "int"]),
        (["--scene-seed", "-1"], ["--scene-seed", "expected 0 to 2**63 - 1", "got -1"]),
        (["--seed", str(2**63)], ["--seed", "expected 0 to 2**63 - 1"]),
        (["--set", "camera_node.width_px"], ["node.parameter=value"]),
        (["--set", "camera_node.wide=5"], ["'wide'", "available", "width_px"]),
        (["--set", "nobody.width_px=5"], ["'nobody.width_px'", "available", "camera_node"]),
        (["--set", "camera_node.width_px=5"], ["64 to 3840", "got 5"]),
        (["--set", "camera_node.views=[front]"], ["'front'", "available", "wrist, top, side"]),
        (["--set", "camera_node.views=["], ["camera_node.views"]),
        (["--schedule", "burst:view=front"], ["'front'", "available: top, wrist"]),
        (["--schedule", "burst:view=side"], ["has no images", "'side'", "available: top, wrist"]),
        (["--frobnicate"], ["--frobnicate"]),
    ],
)
def test_a_trial_that_cannot_be_is_told_before_anything_starts(
    arguments: list[str], words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused([*TRIAL, *arguments], USAGE, words, tmp_path, capsys)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["static", "make", "--items", "0"], "argument --items: expected 1 to 900000; got 0"),
        (["static", "make", "--items", "900001"], "argument --items: expected 1 to 900000; got 900001"),
        (["build", "--seed", str(2**32)], "argument --seed: expected 0 to 4294967295; got 4294967296"),
        (["train", "vision-panel", "--samples", "0"], "argument --samples: expected 1 to 500000; got 0"),
        (["train", "vision-panel", "--samples", "500001"], "argument --samples: expected 1 to 500000; got"),
    ],
)
def test_a_number_out_of_range_is_named_with_its_option_and_the_range(
    arguments: list[str], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused([*arguments, "--out", "{tmp}/out"], USAGE, [line], tmp_path, capsys)


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("camera_node: {ros__parameters: {wide: 5}}", USAGE, ["'wide'", "available", "width_px"]),
        ("camera_nod: {ros__parameters: {}}", USAGE, ["'camera_nod'", "available", "camera_node"]),
        ("camera_node: {width_px: 640}", USAGE, ["ros__parameters"]),
        ("camera_node: [", FAILED, ["not YAML"]),
        ("- 1", FAILED, ["mapping"]),
    ],
)
def test_a_configuration_that_cannot_be_used_is_told(
    text: str, code: int, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.yaml").write_text(text)
    refused([*TRIAL, "--config", "{tmp}/p.yaml"], code, words, tmp_path, capsys)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["trail"], ["did you mean trial?"]),
        (["trial", "--schedule", "brust:start=1"], ["did you mean burst?"]),
        (["experiment", "--out", "{tmp}/x", "--schedule", "pulse"], ["unknown schedule"]),
        (["trial", "--distorsion", "19:5"], ["did you mean --distortion?"]),
        (["trial", "--gate", "shadwo"], ["--gate", "did you mean shadow?"]),
        (["trial", "--task", "pikc the red cube"], ["did you mean pick?"]),
        (["trial", "--task", "pick the red cubee"], ["did you mean cube?"]),
        (["trial", "--vla", "clasical-vla"], ["did you mean classical-vla?"]),
        (["trial", "--set", "camera_node.widht_px=640"], ["did you mean width_px?"]),
        (["trial", "--set", "camra_node.width_px=640"], ["did you mean camera_node?"]),
        (["trial", "--distortion", "gausian-blur:3"], ["did you mean gaussian-blur?"]),
        (["distort", "x.png", "--distort", "12", "--outt", "o"], ["did you mean --out?"]),
        (["distort", "x.png", "--distortion", "motion-blurr", "--out", "o"], ["did you mean motion-blur?"]),
        (["gate", "chek", "x"], ["did you mean check?"]),
        (["gate", "check", "x", "--calibratoin", "y"], ["--calibration"]),
        (["db", "check", "x", "--jsn"], ["did you mean --json?"]),
        (["subjects", "show", "classical-vlm2"], ["did you mean classical-vlm?"]),
        (["build", "--out", "{tmp}/db", "--steps", "scroe"], ["did you mean score?"]),
        (["tasks", "make", "--scene-seed", "1", "--verb", "pusch"], ["did you mean push?"]),
    ],
)
def test_a_mistyped_word_is_answered_with_the_nearest_one(
    arguments: list[str], words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused(arguments, USAGE, words, tmp_path, capsys)


def test_images_that_no_camera_would_read_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--camera-path is of no simulated camera; expected --camera files"]
    refused(["trial", "--camera-path", "{tmp}"], USAGE, words, tmp_path, capsys)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--camera", "files", "--robot", "none", "--camera-path", "{tmp}/images"], ["--camera-path"]),
        (["--camera", "bag", "--robot", "none", "--camera-path", "{tmp}/x.mcap"], ["x.mcap"]),
        (["--set", "gate_node.calibration=mine.yaml"], ["mine.yaml"]),
        (["--calibration", "ours.yaml"], ["ours.yaml"]),
        (["--set", "gate_node.calibration=config/gate/mine.yaml"], ["config/gate/mine.yaml"]),
    ],
)
def test_files_that_do_not_exist_are_noticed_before_anything_starts(
    arguments: list[str], words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused([*TRIAL, *arguments], FAILED, words, tmp_path, capsys)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["build", "--out", "{tmp}/db", "--from-folder", "{tmp}/none"], ["/none is not a folder"]),
        (["recording", "info", "{tmp}/bad.mcap"], ["bad.mcap' is not a recording; expected"]),
        (["recover", "{tmp}/bad.mcap"], ["bad.mcap' is not a recording; expected"]),
        (
            ["recording", "export", "{tmp}/bad.mcap", "--out", "{tmp}/set"],
            ["no recording of a trial with images: '", "bad.mcap' is not a recording"],
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_named_once(
    arguments: list[str], words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.mcap").write_text("another format" * 9)
    refused(arguments, FAILED, words, tmp_path, capsys)


READ_ONLY = "/proc/embodied-iqa"


@pytest.mark.parametrize(
    "arguments",
    [
        ["gate", "calibrate", "{tmp}/top", "--view", "top", "--out", f"{READ_ONLY}/gate.yaml"],
        ["distort", "{tmp}/top/0.png", "--distortion", "12:3", "--out", READ_ONLY],
        ["distort", "sheet", "--reference", "{tmp}/top/0.png", "--out", f"{READ_ONLY}/sheet.png"],
        ["build", "--out", READ_ONLY, "--references", "1"],
        ["experiment", "--out", READ_ONLY, "--first-tasks", "1", "--vla", "classical-vla"],
        ["train", "panel", "--out", READ_ONLY, "--quick"],
    ],
)
def test_every_command_that_writes_reports_a_read_only_place_in_one_line(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(4):
        rgb = np.random.default_rng(number).integers(0, 256, (48, 64, 3), dtype=np.uint8)
        write_image(tmp_path / "top" / f"{number}.png", rgb)
    refused(arguments, FAILED, ["embodied-iqa"], tmp_path, capsys)


def test_a_missing_configuration_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused([*TRIAL, "--config", "{tmp}/nothing.yaml"], FAILED, ["nothing.yaml"], tmp_path, capsys)


def test_a_run_folder_that_is_used_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "scores.json").write_text("mine")
    refused(TRIAL, FAILED, ["not empty", "a new or empty folder"], tmp_path, capsys)


@pytest.mark.parametrize("folder", ["/proc/embodied-iqa", "{tmp}/file/run", "{tmp}/file"])
def test_a_run_folder_that_cannot_be_made_is_told(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    refused(["trial", "--out", folder], FAILED, ["cannot write"], tmp_path, capsys)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_place_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tmp_path.chmod(0o500)
    refused(TRIAL, FAILED, ["cannot write"], tmp_path, capsys)


# --- recordings ---------------------------------------------------------------------------------------------


def _whole(path: Path) -> bytes:
    with TrialWriter(path) as writer:
        writer.add_channel("/camera/top/image_raw", IMAGE_TYPE)
        for stamp in range(1, 30):
            rgb = np.random.default_rng(stamp).integers(0, 256, (48, 64, 3), dtype=np.uint8)
            writer.write("/camera/top/image_raw", image_to_cdr(rgb, stamp), stamp)
    return path.read_bytes()


def _without_topics(path: Path) -> None:
    TrialWriter(path).close()


BAGS: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "missing": (lambda path: None, ["bag.mcap"]),
    "empty": (lambda path: path.write_bytes(b""), ["bag.mcap"]),
    "cut": (lambda path: path.write_bytes(_whole(path)[:-2000]), ["bag.mcap", "recover"]),
    "a start": (lambda path: path.write_bytes(_whole(path)[:40]), ["bag.mcap"]),
    "text": (lambda path: path.write_text("hello, this is no recording at all\n"), ["bag.mcap"]),
    "sqlite": (lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(4096)), ["bag.mcap"]),
    "no trial": (_whole, ["bag.mcap", "no run of a trial"]),
    "no topics": (_without_topics, ["bag.mcap", "no run of a trial"]),
    "a folder": (lambda path: path.mkdir(), ["bag.mcap"]),
}


@pytest.mark.parametrize("name", BAGS)
def test_a_recording_that_cannot_be_scored_is_told(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make, words = BAGS[name]
    make(tmp_path / "bag.mcap")
    refused(["rescore", "{tmp}/bag.mcap", "--out", "{tmp}/out"], FAILED, words, tmp_path, capsys)
    assert not (tmp_path / "out").exists()


def test_damage_in_the_middle_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bag.mcap"
    data = bytearray(_whole(path))
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    code = main(["rescore", str(path), "--out", str(tmp_path / "out")])
    said = capsys.readouterr().err
    assert code == FAILED
    assert len(said.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("arguments", [["fly"], ["rescore"], ["recover"], ["trial", "extra"]])
def test_a_wrong_command_line_is_told(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused(arguments, USAGE, [arguments[0]], tmp_path, capsys)


def test_simulated_cell_is_not_played_with_an_arm_that_does_not_reach_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["emulator", "--model", "ur3e", "--plant", "mujoco"]
    refused(arguments, USAGE, ["UR3e does not reach", "ur16e"], tmp_path, capsys)
    refused(["emulator", "--model", "ur4"], USAGE, ["ur4", "ur16e"], tmp_path, capsys)


# --- a path that cannot be used, for every command that reads one -------------------------------------------

WRONG: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: None,
    "folder": lambda path: path.mkdir(),
    "empty": lambda path: path.write_bytes(b""),
    "no text": lambda path: path.write_bytes(b"\0\xff hello [ : {\n"),
    "another yaml": lambda path: path.write_text("a: [1, {b: 2}]\n"),
}
READS = """
annotate --out {bad}
benchmark {bad} --out {tmp}/out
build --out {tmp}/out --references 1 --config {bad}
build --out {tmp}/out --from-bag {bad}
cell check {bad}
cell init --calibration {bad} --out {tmp}/out.yaml --robot-ip none --topic top=/none --yes
db check {bad}
db join-execution {bad} {bad}
db judge {bad} --calibration {bad}
db merge {bad} {bad} --out {tmp}/out
db show {bad}
db sql {bad} SELECT
distort sheet --reference {bad} --out {tmp}/out.png
distort {bad} --distortion 12:3 --out {tmp}/out
evaluate panel --models-dir {bad}
evaluate static {bad} --vla classical-vla
experiment --vla classical-vla --bench {bad} --out {tmp}/out
export {bad} --format csv --out {tmp}/out
gate calibrate {bad} --view top --out {tmp}/out.yaml
gate check --calibration {bad} {tmp}
gate fit {bad} --view top --vla classical-vla --out {tmp}/out.yaml
gate proxy --policy openpi://127.0.0.1:9 --calibration {bad}
manipulate detect {bad}
manipulate errors {bad}
manipulate import {bad}
manipulate replay {bad}
metrics score psnr {bad} --reference {bad}
miqa build --coco {bad} --images {bad} --out {tmp}/out
miqa import {bad} --vision-task det --out {tmp}/out
miqa score {bad} --trained {bad}
miqa stability {bad}
recording export {bad} --out {tmp}/out
recording info {bad}
recover {bad}
report {bad}
rescore {bad} --out {tmp}/out --vlm panel-vlm-fine --distortion 12:3
static circular {bad}
static import {bad} --out {tmp}/out
static s2d {bad} {bad}
subjects calibrate classical-vla --config {bad}
tasks check {bad}
tasks export {bad} --out {tmp}/out.csv
tasks import {bad} {bad} --person me
trial --config {bad} --out {tmp}/out
trial --robot none --task pick#the#red#cube --camera bag --camera-path {bad} --out {tmp}/out
trial --robot none --task pick#the#red#cube --camera files --camera-path {bad} --out {tmp}/out
"""


@pytest.mark.parametrize(("number", "line"), enumerate(READS.strip().splitlines()))
def test_what_cannot_be_read_is_named_in_one_line(
    number: int, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two kinds of wrong input for each command, in turn: a survey of all takes minutes."""
    kinds = [kind for kind in WRONG if not (kind == "empty" and "--config" in line)]  # which is valid
    for kind in (kinds[number % len(kinds)], kinds[(number + 2) % len(kinds)]):
        folder = tmp_path / kind.replace(" ", "-")
        folder.mkdir()
        WRONG[kind](folder / "wrong.input")
        before = _tree(folder)
        bad, out = str(folder / "wrong.input"), str(folder)
        words = [word.replace("#", " ").replace("{bad}", bad).replace("{tmp}", out) for word in line.split()]
        assert main(words) in {USAGE, FAILED}
        printed = capsys.readouterr()
        *progress, error = printed.err.strip().splitlines()
        expected = [start for command, start in PROGRESS.items() if line.startswith(command)]
        assert len(progress) == len(expected), printed.err
        assert all(map(str.startswith, progress, expected)), printed.err
        assert "wrong.input" in error
        assert _tree(folder) == before, "something was written"
