"""Commands on LeRobot data sets: `distort`, `gate calibrate`, `gate check`, `recording info`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import embodied_iqa
from embodied_iqa.base.errors import InputError
from embodied_iqa.cli.main import main
from embodied_iqa.imaging.images.codecs import read_image
from embodied_iqa.quality.gate.calibration_file import load_calibrations
from embodied_iqa.quality.gate.stored_frames import CameraFrames
from lerobot_samples import LENGTHS, TOP, WRIST, Layout, pixels, write_dataset

STEPS = sum(LENGTHS)


def test_distort_writes_an_image_for_each_camera_and_step(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "set", Layout("v3.0", "libx264"))
    wanted = ["distort", str(folder), "--distortion", "10:3", "--workers", "1", "--out"]
    assert main([*wanted, str(tmp_path / "out")]) == 0
    assert len(list((tmp_path / "out/10_3" / TOP).rglob("*.png"))) == STEPS
    assert len(list((tmp_path / "out/10_3" / WRIST).rglob("*.png"))) == STEPS
    assert main([*wanted, str(tmp_path / "one"), "--only-topic", TOP]) == 0
    names = sorted(path.relative_to(tmp_path / "one/10_3") for path in (tmp_path / "one").rglob("*.png"))
    assert len(names) == STEPS
    assert str(names[-1]) == f"{TOP}/episode_000002/frame_000007.png"
    records = json.loads((tmp_path / "one/manifest.json").read_text())
    assert json.dumps(records).count(f"{TOP}/episode_000001/frame_000002") >= 2


def test_episodes_are_distorted_by_noise_of_their_own_as_the_manifest_says(tmp_path: Path) -> None:
    folder, out = write_dataset(tmp_path / "set"), tmp_path / "out"
    assert main(["distort", str(folder), "--distortion", "10:3", "--workers", "1", "--out", str(out)]) == 0
    records = json.loads((out / "manifest.json").read_text())["images"]
    found = {(record["view"], record["stamp_ns"]): record for record in records}
    assert list(found) == [("top", step * 100_000_000) for step in range(STEPS)]
    for stamp_ns, (episode, step) in ((0, (0, 0)), (700_000_000, (1, 2))):
        wanted = embodied_iqa.distort(pixels(episode, step), "10:3", view="top", stamp_ns=stamp_ns)
        assert np.array_equal(read_image(out / found["top", stamp_ns]["output"]), wanted)


def test_a_damaged_image_fails_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_dataset(tmp_path / "set", Layout("v3.0", beside=True))
    path = folder / f"images/{TOP}/episode-000001/frame-000002.png"
    path.write_bytes(path.read_bytes()[:100])
    assert main(["distort", str(folder), "--distortion", "10:3", "--out", str(tmp_path / "out")]) == 1
    assert len(list((tmp_path / "out").rglob("*.png"))) == STEPS - 1
    assert "frame-000002.png' is a truncated PNG file" in capsys.readouterr().err
    assert (
        main(
            [
                "distort",
                str(folder),
                "--distortion",
                "10:3",
                "--only-topic",
                "top",
                "--out",
                str(tmp_path / "x"),
            ]
        )
        == 1
    )
    assert f"no such camera; got 'top'; available: {TOP}" in capsys.readouterr().err


def test_the_gate_is_calibrated_by_cameras_and_judges_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, output = write_dataset(tmp_path / "set", Layout("v2.1", "libx264")), tmp_path / "gate.yaml"
    assert main(["gate", "calibrate", str(folder), "--out", str(output)]) == 0
    assert {one.view for one in load_calibrations(output)} == {"top", "wrist_left"}
    assert f"wrist_left 64x48 from {STEPS} frames" in capsys.readouterr().out
    named = ["--topic", f"side={TOP}", "--out", str(tmp_path / "side.yaml")]
    assert main(["gate", "calibrate", str(folder), *named]) == 0
    assert [(one.view, one.provenance) for one in load_calibrations(tmp_path / "side.yaml")] == [
        ("side", "data set set")
    ]
    capsys.readouterr()
    check = ["gate", "check", str(folder), "--view", "top", "--calibration", str(output), "--json"]
    assert main(check) == 0
    checked = json.loads(capsys.readouterr().out)["images"]
    assert [one["name"] for one in checked][5] == f"{TOP}/episode_000001/frame_000000"


def test_the_gate_names_what_is_damaged_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_dataset(tmp_path / "set", Layout("v2.1", beside=True))
    (folder / f"images/{TOP}/episode_000000/frame_000001.png").unlink()
    frames = CameraFrames(folder, (), {})
    assert len(list(frames)) == STEPS - 1
    assert ["episode 0, step 1 is missing" in str(one.error) for one in frames.unreadable] == [True]
    output = tmp_path / "gate.yaml"
    assert main(["gate", "calibrate", str(folder), "--out", str(output)]) == 1
    assert "left out: the image of" in capsys.readouterr().err
    check = ["gate", "check", str(folder), "--calibration", str(output), "--json"]
    assert main(check) == 1, "an image that cannot be read is no success"
    (left_out,) = json.loads(capsys.readouterr().out)["left_out"]
    assert "episode 0, step 1 is missing" in left_out
    with pytest.raises(InputError, match="no images of this camera; got 'side'; available: top"):
        CameraFrames(folder, ("side",), {})


def test_recording_info_lists_cameras_episodes_and_tasks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_dataset(tmp_path / "set", Layout("v2.1", "libx264"))
    assert main(["recording", "info", str(folder), "--json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert (tree["format"], tree["robot"], tree["rate_hz"]) == ("LeRobot v2.1", "ur5", 10)
    assert (tree["episodes"], tree["steps"], tree["numbers"]["action"]) == (3, STEPS, 3)
    assert [(one["topic"], one["stored"]) for one in tree["cameras"]] == [(TOP, "images"), (WRIST, "video")]
    assert main(["recording", "info", str(folder)]) == 0
    text = capsys.readouterr().out
    assert all(words in text for words in ("3 episodes, 22 steps", "64x48", "2 x open the drawer"))
