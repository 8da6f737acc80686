"""`embodied-iqa gate`: from images or a recording to a file, and from a file to verdicts."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from database_folders import add_cameras, write_database
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.tables import rows_of, table_of, write_table
from embodied_iqa.cli.gate import calibrating
from embodied_iqa.cli.main import main
from embodied_iqa.data.database.schema import REFERENCES, Reference
from embodied_iqa.data.recording.writer import TrialWriter
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.image_cdr import IMAGE_TYPE, image_to_cdr
from embodied_iqa.quality.gate.calibration_file import load_calibrations, load_gate_file
from embodied_iqa.quality.gate.stored_frames import CameraFrames
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from gate_files import write_gate

Image = NDArray[np.uint8]


def scene(seed: int, width: int = 96, height: int = 64) -> Image:
    """Soft blobs with fine grain: every seed looks alike, none is equal to another."""
    generator = np.random.default_rng(seed)
    coarse = cv2.resize(generator.uniform(40, 215, (8, 12, 3)).astype(np.float32), (width, height))
    return np.clip(coarse + generator.normal(0, 3, coarse.shape), 0, 255).astype(np.uint8)


def write(folder: Path, images: list[Image]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for index, image in enumerate(images):
        cv2.imwrite(str(folder / f"{index:03d}.png"), image[..., ::-1])
    return folder


def test_images_calibrate_and_are_then_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clean = write(tmp_path / "clean", [scene(seed) for seed in range(60)])
    output = tmp_path / "gate.yaml"
    assert main(["gate", "calibrate", str(clean), "--view", "top", "--out", str(output)]) == 0
    text, hint = capsys.readouterr()
    assert "top   96x64 from 60 frames" in text
    assert hint.endswith(f"next: embodied-iqa gate check OTHER_IMAGES --view top --calibration {output}\n")
    blurred = [cv2.GaussianBlur(scene(seed), (0, 0), 3) for seed in range(100, 103)]
    tried = write(tmp_path / "tried" / "top", [scene(200), *blurred]).parent
    assert main(["gate", "check", str(tried), "--calibration", str(output), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["counts"] == {"pass": 1, "hold": 0, "reject": 3}
    assert "blurred" in result["images"][1]["reason"]
    assert main(["gate", "check", str(tried), "--calibration", str(output)]) == 0
    text, hint = capsys.readouterr()
    assert text.splitlines()[0] == "top   pass   000.png"
    assert text.splitlines()[-1] == "1 pass, 0 hold, 3 reject"
    assert hint == f"next: embodied-iqa gate run --topic top=TOPIC --calibration {output}\n"
    more = [Path(shutil.copy(path, tried / "top" / f"more_{path.name}")) for path in clean.iterdir()]
    assert main(["gate", "check", str(tried), "--calibration", str(output)]) == 0
    *listed, counts = capsys.readouterr().out.splitlines()
    assert (len(listed), counts) == (3, "61 pass, 0 hold, 3 reject"), "many that pass are only counted"
    for path in more:
        path.unlink()
    shutil.copytree(clean, tried / "top" / "day2")
    check = ["gate", "check", str(tried / "top"), "--view", "top", "--calibration", str(output)]
    assert main(check) == 0
    assert "note: not read without --topic VIEW=TOPIC: day2" in capsys.readouterr().err
    shutil.rmtree(tried / "top" / "day2")
    (tried / "top" / "000.png").unlink()
    assert main(["gate", "check", str(tried), "--calibration", str(output)]) == 1
    text, hint = capsys.readouterr()
    assert text.splitlines()[-1] == "0 pass, 0 hold, 3 reject"
    assert not hint, "to calibrate again helps no blurred image"
    other = write(tmp_path / "other" / "top", [scene(1, 128, 96)]).parent
    assert main(["gate", "check", str(other), "--calibration", str(output)]) == 1
    assert capsys.readouterr().err == "next: embodied-iqa gate calibrate CLEAN_IMAGES --out FILE\n"


def test_without_ros_the_next_step_is_python_and_of_many_that_fail_fifty_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clean, output = write(tmp_path / "clean", [scene(seed) for seed in range(20)]), tmp_path / "gate.yaml"
    assert main(["gate", "calibrate", str(clean), "--view", "top", "--out", str(output)]) == 0
    monkeypatch.setattr(calibrating, "has_module", lambda name: name != "rclpy")
    (dark := np.zeros((64, 96, 3), np.uint8))[::2] = 3
    tried = write(tmp_path / "tried", [scene(200), *53 * [dark]])
    capsys.readouterr()
    check = ["gate", "check", str(tried), "--view", "top", "--calibration", str(output)]
    assert main(check) == 0
    text, error = capsys.readouterr()
    assert text.splitlines()[50:] == [
        "... and 3 more that do not pass: --json names each",
        "1 pass, 0 hold, 53 reject",
    ]
    made = f"embodied_iqa.Gate('{output}') in Python"
    assert error == f"next: {made}; before a policy server: embodied-iqa gate proxy\n"


@pytest.mark.parametrize("words", [["--view", "tpo"], ["--topic", "tpo=."]])
def test_a_camera_that_the_calibration_does_not_have_is_refused(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clean, output = write(tmp_path / "clean", [scene(seed) for seed in range(20)]), tmp_path / "gate.yaml"
    assert main(["gate", "calibrate", str(clean), "--view", "top", "--out", str(output)]) == 0
    capsys.readouterr()
    assert main(["gate", "check", str(clean), *words, "--calibration", str(output)]) == 2
    text, error = capsys.readouterr()
    refused = "has no such camera; got 'tpo'; did you mean top?; available: top"
    assert (text, error.splitlines()) == ("", [f"embodied-iqa: {output} {refused}"])


def test_an_image_too_small_or_of_another_size_ends_no_calibration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clean = write(tmp_path / "clean", [scene(seed) for seed in range(20)])
    write(clean / "odd", [scene(1, 8, 8), scene(2, 64, 96)])
    for file in (clean / "odd").iterdir():
        file.rename(clean / f"odd_{file.name}")
    output = tmp_path / "gate.yaml"
    assert main(["gate", "calibrate", str(clean), "--view", "top", "--out", str(output), "--json"]) == 1
    text, said = capsys.readouterr()
    (camera,) = json.loads(text)["cameras"]
    assert (camera["width_px"], camera["height_px"], camera["frames"]) == (96, 64, 20)
    small, other = [line for line in said.splitlines() if "left out" in line]
    assert "odd_000.png: the image cannot be measured; expected (H, W, 3) uint8 of at least 16 x 16" in small
    assert "64x96, such as odd_001.png: too few clean frames of the top camera; expected at least 20" in other
    assert json.loads(text)["left_out"] == [line.partition("left out: ")[2] for line in (small, other)]


def test_flat_images_calibrate_nothing_and_identical_ones_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    black = [np.full((64, 96, 3), level, np.uint8) for level in (0, 0, 7)]
    clean = write(tmp_path / "clean", [*black, *(scene(seed % 21) for seed in range(25))])
    output = tmp_path / "gate.yaml"
    words = ["gate", "calibrate", str(clean), "--view", "top", "--out", str(output)]
    assert main(words) == 1
    text, said = capsys.readouterr()
    assert "top   96x64 from 25 frames" in text
    assert "left out: 3 images of one colour, such as 000.png: nothing is seen in them" in said
    assert "top 96x64: 4 of 25 images are identical to another one, such as 024.png to 003.png" in said
    words[2] = str(write(tmp_path / "black", black * 9))
    assert main([*words, "--keep"]) == 1
    assert capsys.readouterr().err.startswith("embodied-iqa: 27 images of one colour")


def test_keep_adds_to_what_is_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output, size = tmp_path / "gate.yaml", (48, 32)
    both = tmp_path / "both"
    write(both / "top", [scene(seed) for seed in range(30)])
    write(both / "side", [scene(seed) for seed in range(30)])
    small = write(tmp_path / "small", [scene(seed, *size) for seed in range(25)])
    assert main(["gate", "calibrate", str(both), "--out", str(output)]) == 0
    first = load_calibrations(output)
    arguments = ["gate", "calibrate", str(small), "--view", "top", "--out", str(output)]
    assert main([*arguments, "--keep", "--json"]) == 0
    capsys.readouterr()
    assert main(["gate", "check", str(small), "--view", "top", "--calibration", str(output)]) == 0
    hint = f"next: embodied-iqa gate run --topic top=TOPIC --calibration {output}\n"
    assert capsys.readouterr().err == hint
    cameras = {(c.view, c.width_px, c.n_frames) for c in load_calibrations(output)}
    assert cameras == {(View.TOP, 96, 30), (View.SIDE, 96, 30), (View.TOP, 48, 25)}
    assert load_calibrations(output)[:2] == first
    before = output.read_bytes()
    assert main(arguments) == 2, "what is there is not replaced"
    said = f"{output} holds the calibration of top 96x64, the calibration of side 96x64, the calibration of"
    assert said in capsys.readouterr().err
    assert output.read_bytes() == before


@pytest.mark.parametrize(("content", "said"), [("joints: 6\n", "the keys joints"), ("", "an empty file")])
def test_a_file_of_something_else_is_not_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, said: str
) -> None:
    clean = write(tmp_path / "clean", [scene(seed) for seed in range(20)])
    cell = tmp_path / "cell.yaml"
    cell.write_text(content)
    assert main(["gate", "calibrate", str(clean), "--view", "top", "--out", str(cell)]) == 1
    error = capsys.readouterr().err
    assert "cell.yaml is not a calibration of the gate; expected a file of" in error
    assert said in error
    assert cell.read_text() == content


def test_a_fit_is_lost_to_no_calibration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clean = write(tmp_path / "clean", [scene(seed) for seed in range(20)])
    file = write_gate(tmp_path)
    before, fitted = file.read_bytes(), load_gate_file(file).fitted
    words = ["gate", "calibrate", str(clean), "--view", "top", "--out", str(file)]
    assert main(words) == 2
    said = "holds the judge learned of top, which would be lost; expected --keep, or another --out"
    assert said in capsys.readouterr().err
    assert file.read_bytes() == before
    assert main([*words, "--keep"]) == 0
    assert load_gate_file(file).fitted == fitted


def test_wider_margins_give_wider_bounds(tmp_path: Path) -> None:
    clean = write(tmp_path / "clean", [scene(seed) for seed in range(30)])
    usual, wide = tmp_path / "usual.yaml", tmp_path / "wide.yaml"
    arguments = ["gate", "calibrate", str(clean), "--view", "top", "--out"]
    assert main([*arguments, str(usual)]) == 0
    assert main([*arguments, str(wide), "--soft", "4", "--hard", "8"]) == 0
    (narrow_camera,), (wide_camera,) = load_calibrations(usual), load_calibrations(wide)
    for statistic, narrow in narrow_camera.bounds.items():
        wider = wide_camera.bounds[statistic]
        for low in ("hard_low", "soft_low"):
            assert getattr(wider, low) < getattr(narrow, low) or math.isinf(narrow.hard_low), statistic
        for high in ("soft_high", "hard_high"):
            assert getattr(wider, high) > getattr(narrow, high) or math.isinf(narrow.hard_high), statistic


def test_calibrating_again_writes_the_same_bytes(tmp_path: Path) -> None:
    clean = write(tmp_path / "clean", [scene(seed) for seed in range(30)])
    outputs = [tmp_path / "a.yaml", tmp_path / "b.yaml"]
    for output in outputs:
        main(["gate", "calibrate", str(clean), "--view", "top", "--out", str(output)])
    assert outputs[0].read_bytes() == outputs[1].read_bytes()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["calibrate", "--out", "{out}"], 2, "one source"),
        (["calibrate", "{few}", "--simulated", "--out", "{out}"], 2, "one source"),
        (["calibrate", "{few}", "--out", "{out}"], 2, "--view"),
        (["calibrate", "{few}", "--view", "on roof", "--out", "{out}"], 2, "expected a letter"),
        (["calibrate", "{few}", "--view", "top", "--out", "{out}"], 1, "at least 20"),
        (["calibrate", "{few}", "--view", "top", "--soft", "9", "--out", "{out}"], 2, "--soft"),
        (["calibrate", "{empty}", "--view", "top", "--out", "{out}"], 1, "no images"),
        (["calibrate", "{empty}/absent.mcap", "--out", "{out}"], 1, "absent.mcap"),
        (["calibrate", "{bad}", "--view", "top", "--out", "{out}"], 1, "is not an image"),
        (["calibrate", "--simulated", "--size", "huge", "--out", "{out}"], 2, "--size"),
        (["calibrate", "--simulated", "--scenes", "0", "--out", "{out}"], 2, "--scenes"),
        (["calibrate", "{few}", "--topic", "top", "--out", "{out}"], 2, "--topic"),
        (["calibrate", "{few}", "--view", "top", "--out", "x.mp4"], 2, "ends in .yaml or .yml; got 'x.mp4'"),
        (["check", "{few}", "--view", "top", "--calibration", "{out}"], 1, "gate.yaml"),
        (["guess"], 2, "invalid choice"),
    ],
)
def test_wrong_words_are_one_line_and_write_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, message: str
) -> None:
    places = {
        "out": tmp_path / "gate.yaml",
        "few": write(tmp_path / "few", [scene(seed) for seed in range(3)]),
        "empty": write(tmp_path / "empty", []),
        "bad": write(tmp_path / "bad", []),
    }
    (places["bad"] / "0.png").write_bytes(b"no image")
    assert main(["gate", *(word.format(**places) for word in words)]) == code
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not places["out"].exists()


def record(path: Path, *topics: str) -> Path:
    """Two images on each topic."""
    with TrialWriter(path) as writer:
        for topic in topics:
            writer.add_channel(topic, IMAGE_TYPE)
            for stamp in (1, 2):
                writer.write(topic, image_to_cdr(scene(stamp), stamp), stamp)
    return path


@pytest.mark.parametrize(
    ("views", "topics", "expected"),
    [
        ([], {}, [(View.TOP, "/camera/top/image_raw 1"), (View.TOP, "/camera/top/image_raw 2")]),
        ([], {View.WRIST: "/eye"}, [(View.WRIST, "/eye 1"), (View.WRIST, "/eye 2")]),
    ],
)
def test_recordings_give_the_images_of_their_topics(
    tmp_path: Path,
    views: list[View],
    topics: dict[View, str],
    expected: list[tuple[View, str]],
) -> None:
    path = record(tmp_path / "trial.mcap", "/camera/top/image_raw", "/eye")
    frames = CameraFrames(path, views, topics)
    assert len(frames) == 2
    assert [(frame.view, frame.name) for frame in frames] == expected
    assert [frame.stamp_ns for frame in frames] == [1, 2]


def test_topics_that_are_not_there_are_named(tmp_path: Path) -> None:
    path = record(tmp_path / "trial.mcap", "/camera/top/image_raw", "/eye")
    with pytest.raises(InputError, match=r"no images of this camera; got 'side'; available: top$"):
        CameraFrames(path, [View.SIDE], {})
    with pytest.raises(InputError, match="/nose"):
        CameraFrames(path, [], {View.SIDE: "/nose"})


def test_a_recording_of_other_topics_needs_their_names(tmp_path: Path) -> None:
    path = record(tmp_path / "trial.mcap", "/eye")
    with pytest.raises(InputError, match=r"no camera with a default name.*--topic.*/eye"):
        CameraFrames(path, [], {})
    assert [frame.view for frame in CameraFrames(path, [View.SIDE], {})] == [View.SIDE] * 2


def test_a_folder_of_one_camera_needs_its_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"without a name; expected --view top or another name$"):
        CameraFrames(write(tmp_path / "few", [scene(1)]), [View.TOP, View.SIDE], {})


def test_folders_by_camera_can_be_chosen_from(tmp_path: Path) -> None:
    for view in CELL_VIEWS:
        write(tmp_path / view, [scene(1)])
    assert [frame.view for frame in CameraFrames(tmp_path, [], {})] == list(CELL_VIEWS)
    (frame,) = CameraFrames(tmp_path, [View.SIDE], {})
    assert frame.view == View.SIDE
    np.testing.assert_array_equal(frame.rgb, scene(1))


def test_a_database_gives_the_references_of_the_camera(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = write_database(tmp_path / "db", references=66, subjects=1, distortions=["01"])
    add_cameras(store, 66)
    write(store.path / "images" / "distorted", [scene(1)])
    words = ["gate", "calibrate", str(store.path), "--out", str(tmp_path / "gate.yaml")]
    assert main([*words, "--view", "top"]) == 0
    assert "top   128x96 from 22 frames" in capsys.readouterr().out
    (calibration,) = load_calibrations(tmp_path / "gate.yaml")
    assert (calibration.view, calibration.n_frames) == ("top", 22)
    assert calibration.provenance == "references of db"
    first, *others = rows_of(Reference, store.references())
    seen = tuple(replace(first.cameras[0], view=View(view)) for view in ("wrist", "top"))
    rows = [replace(first, cameras=seen), *others]
    write_table(store.references_file, table_of(Reference, rows), REFERENCES)
    assert len(CameraFrames(store.path, (View("top"),), {})) == 23  # of an instant, all cameras count
    with pytest.raises(InputError, match="no images of this camera; got 'front'"):
        CameraFrames(store.path, (View("front"),), {})
