"""`embodied-iqa distort`: files in, files and a manifest out, the same for any number of workers."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image as Image_

import embodied_iqa
from database_folders import write_database
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.base.records import read_json
from embodied_iqa.cli.main import main
from embodied_iqa.data.recording.writer import TrialWriter
from embodied_iqa.imaging.distortions import DistortionSpec, FrameDistorter, distort_region, frame_generator
from embodied_iqa.imaging.distortions import manifest as manifest_module
from embodied_iqa.imaging.distortions.image import Image
from embodied_iqa.imaging.distortions.manifest import SEEDING, Failure, Manifest, Record
from embodied_iqa.imaging.distortions.references import read_reference
from embodied_iqa.imaging.distortions.stream import stamp_of_pixels
from embodied_iqa.imaging.images.codecs import read_image
from embodied_iqa.imaging.images.image_cdr import image_to_cdr

ALONE = ("--workers", "1")
"""Starts no process; without it there is one for each processor."""


@pytest.fixture
def folder(tmp_path: Path, photographs: list[Image]) -> Path:
    root = tmp_path / "in"
    (root / "sub").mkdir(parents=True)
    for name, image in zip(("a.png", "b.png", "sub/c.png"), photographs, strict=False):
        cv2.imwrite(str(root / name), image[::2, ::2, ::-1])
    return root


def hashes(out: Path) -> dict[str, str]:
    files = (path for path in out.rglob("*") if path.is_file())
    return {str(path.relative_to(out)): sha256(path.read_bytes()).hexdigest() for path in files}


def test_any_number_of_workers_makes_the_same_folder(folder: Path, tmp_path: Path):
    for workers in ("1", "2"):
        command = ["distort", "--all", "--levels", "4", str(folder), "--out", str(tmp_path / workers)]
        assert main([*command, "--seed", "3", "--workers", workers]) == 0
    first, second = hashes(tmp_path / "1"), hashes(tmp_path / "2")
    assert first == second
    assert len(first) == 30 * 3 + 2 + 1  # images, manifests, the lock


def test_an_image_keeps_its_name_and_the_manifest_says_how_it_was_made(folder: Path, tmp_path: Path):
    out = tmp_path / "out"
    command = ["distort", "--distortion", "15:4", "--seed", "3", str(folder / "a.png"), "--out", str(out)]
    assert main([*command, *ALONE]) == 0
    made = read_image(out / "15_4" / "a.png")
    spec = DistortionSpec("15", 4, 3)
    clean = read_image(folder / "a.png")
    stamp_ns = stamp_of_pixels(clean)
    assert np.array_equal(made, FrameDistorter(spec).apply(clean, "top", stamp_ns))
    (record,) = json.loads((out / "manifest.json").read_text())["images"]
    assert record["parameters"] == {"variance": 0.02}
    assert (record["type"], record["name"], record["level"], record["seed"]) == (
        "15",
        "multiplicative-noise",
        4,
        3,
    )
    assert (record["view"], record["stamp_ns"]) == ("top", stamp_ns)
    assert record["sha256"] == sha256(made.data).hexdigest()
    assert record["reference_sha256"] == sha256((folder / "a.png").read_bytes()).hexdigest()
    with (out / "manifest.csv").open(encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert row["sha256"] == record["sha256"]
    assert row["output"] == "15_4/a.png"


@pytest.mark.parametrize("word", ["12:4", "miqd:fog:3", "03:2"])
def test_the_same_seed_gives_the_same_pixels_by_command_and_in_python_under_any_name(
    folder: Path, tmp_path: Path, word: str
) -> None:
    shutil.copy(folder / "a.png", tmp_path / "renamed.png")
    for file in (folder / "a.png", tmp_path / "renamed.png"):
        command = ["distort", str(file), "--distortion", word, "--seed", "5", "--out", str(tmp_path / "out")]
        assert main([*command, "--workers", "1"]) == 0
    made = [read_image(file) for file in sorted((tmp_path / "out").rglob("*.png"))]
    expected = embodied_iqa.distort(read_image(folder / "a.png"), word, seed=5)
    assert [np.array_equal(image, expected) for image in made] == [True, True]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["seeding"] == SEEDING
    (view,), (stamp_ns,) = ({record[key] for record in manifest["images"]} for key in ("view", "stamp_ns"))
    again = embodied_iqa.distort(read_image(folder / "a.png"), word, seed=5, view=view, stamp_ns=stamp_ns)
    assert np.array_equal(again, expected)


def test_it_resumes_and_makes_again_only_what_is_gone_or_other(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "out"
    command = ["distort", str(folder), "--distortion", "10", "--levels", "1,2", "--out", str(out), "--json"]

    def counts(*more: str) -> tuple[int, int]:
        assert main([*command, "--workers", "1", *more]) == 0
        answer = json.loads(capsys.readouterr().out)
        return answer["made"], answer["kept"]

    assert counts() == (6, 0)
    before, manifest = hashes(out), (out / "manifest.json").read_bytes()
    (out / "10_1" / "b.png").unlink()
    assert counts() == (1, 5)
    assert hashes(out) == before
    assert (out / "manifest.json").read_bytes() == manifest
    assert counts("--seed", "1") == (6, 0)
    cv2.imwrite(str(folder / "a.png"), np.full((64, 64, 3), 7, np.uint8))
    assert counts("--seed", "1") == (2, 4)
    assert counts("--distortion", "13:3", "--seed", "1") == (3, 6)
    assert len(json.loads((out / "manifest.json").read_text())["images"]) == 9


def test_images_of_another_seed_are_replaced_and_counted(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    command = ["distort", str(folder), "--distortion", "10:1", "--workers", "1", "--out", out]
    for seed, said in (
        ("0", "3 images made, 0 "),
        ("3", "3 images made (3 replaced), 0 "),
        ("3", "0 images made, 3 "),
    ):
        assert main([*command, "--seed", seed]) == 0
        assert capsys.readouterr().out.startswith(f"{said}already existed: ")
    assert main([*command, "--seed", "4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["replaced"] == 3


def test_a_journal_left_by_a_kill_is_taken_up(folder: Path, tmp_path: Path):
    out = tmp_path / "out"
    command = ["distort", str(folder), "--distortion", "12:3", "--out", str(out), "--workers", "1"]
    assert main(command) == 0
    records = json.loads((out / "manifest.json").read_text())["images"]
    (out / "manifest.json").unlink()
    (out / "manifest.csv").unlink()
    lines = "".join(json.dumps(record) + "\n" for record in records[:2])
    (out / "manifest.partial.jsonl").write_text(lines + '{"output": "12_3/su')
    manifest = Manifest(out)
    assert manifest.find("12_3/a.png") is not None
    assert manifest.find("12_3/sub/c.png") is None
    assert main(command) == 0
    assert json.loads((out / "manifest.json").read_text())["images"] == records
    assert not (out / "manifest.partial.jsonl").exists()


def _recorded(out: Path, count: int) -> Manifest:
    """A manifest of outputs that all have one file, with a journal."""
    manifest = Manifest(out)
    manifest.begin()
    (out / "a.png").touch()
    record = Record("", "a.png", "0" * 64, "12", "white-noise", 3, {}, sha256="0" * 64)
    for number in range(count):
        manifest.add(replace(record, output=f"{'./' * number}a.png"))
    return manifest


def test_a_manifest_of_any_size_that_is_written_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(read_json.__kwdefaults__, "most_bytes", 1 << 10)
    _recorded(tmp_path, 20).finish()
    assert (tmp_path / "manifest.json").stat().st_size > 1 << 12
    assert Manifest(tmp_path).find("././a.png") is not None


def test_a_manifest_that_could_not_be_read_again_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest_module, "MOST_DATASET_BYTES", 1 << 10)
    manifest = _recorded(tmp_path, 20)
    with pytest.raises(InputError, match=r"manifest\.json would be too large .*expected at most 1 KiB"):
        manifest.finish()
    assert not (tmp_path / "manifest.json").exists()
    assert Manifest(tmp_path).find("././a.png") is not None, "the journal keeps all records"


def test_a_region_takes_two_levels(folder: Path, tmp_path: Path):
    out, reference = tmp_path / "out", read_image(folder / "a.png")
    mask = np.zeros(reference.shape[:2], np.uint8)
    mask[40:90, 50:120] = 255
    cv2.imwrite(str(tmp_path / "roi.png"), mask)
    command = ["distort", str(folder / "a.png"), "--distortion", "12", "--region", str(tmp_path / "roi.png")]
    assert main([*command, *ALONE, "--inside", "4", "--outside", "1", "--out", str(out)]) == 0
    rng = frame_generator(DistortionSpec("12", 4), "top", stamp_of_pixels(reference))
    expected = distort_region(reference, "12", mask, inside=4, outside=1, rng=rng)
    assert np.array_equal(read_image(out / "12_4in_1out" / "a.png"), expected)


def test_a_recording_is_distorted_as_it_was_live(tmp_path: Path, photographs: list[Image]):
    bag, out = tmp_path / "trial.mcap", tmp_path / "out"
    topic = "/camera/wrist/image_raw"
    with TrialWriter(bag) as writer:
        writer.add_channel(topic, "sensor_msgs/msg/Image")
        for stamp_ns in (10**18 + 1, 10**18 + 2):
            writer.write(topic, image_to_cdr(photographs[0], stamp_ns, "wrist"), stamp_ns, stamp_ns)
    command = ["distort", str(bag), "--distortion", "12:5", "--seed", "9", "--out", str(out)]
    assert main([*command, *ALONE]) == 0
    live = FrameDistorter(DistortionSpec("12", 5, 9))
    for stamp_ns in (10**18 + 1, 10**18 + 2):
        frame = read_image(out / "12_5" / "camera-wrist-image_raw" / f"{stamp_ns}.png")
        assert np.array_equal(frame, live.apply(photographs[0], "wrist", stamp_ns))


def test_random_levels_depend_on_seed_and_image_only(folder: Path, tmp_path: Path):
    """Not on what else is made, nor in which order."""
    cv2.imwrite(str(folder / "a.png"), read_image(folder / "a.png")[:24, :32, ::-1])
    words = ["--levels", "random", "--format", "webp", "--workers", "1", "--out"]
    assert main(["distort", str(folder / "a.png"), "--all", *words, str(tmp_path / "x")]) == 0
    records = json.loads((tmp_path / "x" / "manifest.json").read_text())["images"]
    assert len(records) == 30
    assert {record["level"] for record in records} == {1, 2, 3, 4, 5}
    some = [word for record in records[::-5] for word in ("--distortion", record["type"])]
    assert main(["distort", str(folder), *some, *words, str(tmp_path / "y")]) == 0
    whole, part = hashes(tmp_path / "x"), hashes(tmp_path / "y")
    again = [name for name in part if name.endswith("/a.webp")]
    assert len(again) == 6
    assert all(part[name] == whole[name] for name in again)
    assert len(list((tmp_path / "y").rglob("*.webp"))) == 18


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["nothing.png", "--distortion", "01:1", "--out", "o"], 1, "no such input"),
        (["{in}", "--out", "o"], 2, "nothing to make"),
        (["{in}", "--distortion", "01:1"], 2, "--out DIR"),
        (["{in}", "--distortion", "01:7", "--out", "o"], 2, "available: 1, 2, 3, 4, 5"),
        (["{in}", "--distortion", "blurr:1", "--out", "o"], 2, "01 gaussian-blur"),
        (["{in}", "--all", "--levels", "1,x", "--out", "o"], 2, "level"),
        (["{in}", "--distortion", "10:1", "--levels", "2", "--out", "o"], 2, "expected no --levels"),
        (["{in}", "--distortion", "10:1", "--out", "{in}"], 2, "distorted images among their sources"),
        (["nowhere", "--format", "lerobot", "--distortion", "10:1", "--out", "o"], 1, "no such input"),
        (["{in}", "--distortion", "01", "--inside", "1", "--out", "o"], 2, "region"),
        (["{in}", "--distortion", "01:1", "--workers", "0", "--out", "o"], 2, "workers"),
        (["list", "--workers", "2"], 2, "not an option for list"),
        (["sheet", "--out", "sheet.xyz"], 2, "a sheet is an image"),
    ],
)
def test_mistakes_are_reported_in_one_line(
    words: list[str],
    code: int,
    message: str,
    *,
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):
    filled = [word.replace("{in}", str(folder)) for word in words]
    filled = [str(tmp_path / word) if word in {"o", "sheet.xyz", "nothing.png"} else word for word in filled]
    assert main(["distort", *filled]) == code
    error = capsys.readouterr().err.strip()
    assert message in error
    assert "\n" not in error
    assert not (tmp_path / "o").exists()


def test_what_was_written_below_the_images_is_not_distorted_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "distort",
        str(folder),
        "--workers",
        "1",
        "--distortion",
        "10:1",
        "--out",
        str(folder / "sub" / "new"),
    ]
    assert main(command) == 0
    first = hashes(folder)
    assert main(command) == 0
    assert hashes(folder) == first
    other = folder / "other"
    assert main([*command[:-1], str(other)]) == 0
    assert hashes(other) == hashes(folder / "sub" / "new"), "nor by another command"
    capsys.readouterr()
    command = ["distort", str(folder / "a.png"), "--distortion", "10:1", "--out", str(folder)]
    assert main([*command, *ALONE]) == 0
    assert f"score psnr {folder / '10_1'} --reference {folder / 'a.png'}" in capsys.readouterr().err


def test_two_images_of_one_name_are_left_out_and_the_others_done(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (folder / "a.jpg").write_bytes((folder / "a.png").read_bytes())
    others = len(list(folder.rglob("*.png"))) - 1
    assert others
    command = ["distort", str(folder), "--distortion", "01:1", "--out", str(tmp_path / "o")]
    assert main([*command, *ALONE]) == 1
    errors = capsys.readouterr().err
    assert all(
        f"{str(folder / name)!r} would get the name of another" in errors for name in ("a.jpg", "a.png")
    )
    assert len(list((tmp_path / "o" / "01_1").rglob("*.png"))) == others


def _encoded(suffix: str) -> bytes:
    grain = np.random.default_rng(5).integers(0, 256, (64, 80, 3), dtype=np.uint8)
    return cv2.imencode(suffix, grain)[1].tobytes()


def _scrambled_png() -> bytes:
    data = bytearray(_encoded(".png"))
    data[len(data) // 2 : len(data) // 2 + 500] = bytes(500)
    return bytes(data)


BAD: dict[str, tuple[bytes, str]] = {
    "truncated-jpg.jpg": (_encoded(".jpg")[:-900], "is a truncated JPEG file"),
    "truncated-png.png": (_encoded(".png")[:-900], "is a truncated PNG file"),
    "truncated-webp.webp": (_encoded(".webp")[:-900], "is a truncated WebP file"),
    "truncated-bmp.bmp": (_encoded(".bmp")[:-900], "is a truncated BMP file"),
    "truncated-tif.tif": (_encoded(".tif")[:-900], "is a truncated or damaged TIFF file"),
    "damaged.png": (_scrambled_png(), "is a damaged PNG file"),
    "words.png": (b"shopping: milk, eggs", "is not an image"),
    "empty.png": (b"", "is empty"),
    "tiny.png": (cv2.imencode(".png", np.zeros((3, 3, 3), np.uint8))[1].tobytes(), "16 x 16"),
}


def test_bad_images_are_listed_with_their_reasons_and_the_others_are_made(
    folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    out = tmp_path / "o"
    for name, (data, _) in BAD.items():
        (folder / "sub" / name).write_bytes(data)
    (folder / "gone.png").symlink_to(folder / "nowhere.png")
    command = [
        "distort",
        str(folder),
        "--distortion",
        "01",
        "--distortion",
        "12:3",
        "--out",
        str(out),
        "--json",
    ]
    assert main(command) == 1
    printed = capfd.readouterr()
    answer = json.loads(printed.out)
    reasons = {Path(failure["reference"]).name: failure["reason"] for failure in answer["failed"]}
    assert (answer["made"], set(reasons)) == (18, {*BAD, "gone.png"})
    for name, (_, reason) in BAD.items():
        assert reason in reasons[name]
        assert name in reasons[name]
    assert "cannot be read: No such file" in reasons["gone.png"]
    assert printed.err.splitlines() == [f"embodied-iqa: {reason}" for reason in reasons.values()]
    manifest = json.loads((out / "manifest.json").read_text())
    assert len(manifest["images"]) == 18
    assert manifest["failed"] == answer["failed"]
    unfinished = (path.name for path in out.rglob("*") if path.name.startswith(".") or "partial" in path.name)
    assert list(unfinished) == [".lock"]
    for name in (*BAD, "gone.png"):
        (folder / ("sub" if name in BAD else "") / name).unlink()
    assert main([*command, *ALONE]) == 0
    assert "failed" not in json.loads((out / "manifest.json").read_text())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everywhere")
def test_images_and_folders_without_permission_are_listed(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (folder / "a.png").chmod(0)
    (folder / "sub").chmod(0)
    command = ["distort", str(folder), "--distortion", "12:3", "--out", str(tmp_path / "o"), "--json"]
    assert main([*command, *ALONE]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["made"] == 1
    assert [Path(failure["reference"]).name for failure in answer["failed"]] == ["a.png", "sub"]
    assert all("Permission denied" in failure["reason"] for failure in answer["failed"])
    (folder / "sub").chmod(0o700)


def test_a_run_that_stops_resumes_after_each_distortion_and_leaves_no_unfinished_image(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "o"
    add = Manifest.add

    def full(manifest: Manifest, result: Record | Failure) -> None:
        if isinstance(result, Record) and result.output == "12_5/a.png":
            raise InputError("cannot write: No space left on device")
        add(manifest, result)

    command = [
        "distort",
        str(folder / "a.png"),
        "--distortion",
        "12",
        "--out",
        str(out),
        "--workers",
        "1",
        "--json",
    ]
    with monkeypatch.context() as patch:
        patch.setattr(Manifest, "add", full)
        assert main(command) == 1
    assert len(json.loads((out / "manifest.json").read_text())["images"]) == 4
    assert not (out / "manifest.partial.jsonl").exists()
    (out / "manifest.json").rename(out / "manifest.json.old")
    records = json.loads((out / "manifest.json.old").read_text())["images"]
    (out / "manifest.partial.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (out / "12_5" / ".a.png.77.partial").write_bytes(b"killed here")
    capsys.readouterr()
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["kept"] == 4
    assert list(out.rglob(".*")) == [out / ".lock"]


def test_two_commands_do_not_write_to_one_folder(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    command = ["distort", str(folder), "--distortion", "12:3", *ALONE, "--out", str(tmp_path / "o")]
    with JobFolder(tmp_path / "o", "distortion of images").locked():
        assert main(command) == 1
        assert "another distortion of images works in" in capsys.readouterr().err
    assert main(command) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_is_ended_says_that_it_goes_on(
    folder: Path,
    tmp_path: Path,
    number: signal.Signals,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    def ended(self: Manifest, _: object) -> None:
        signal.raise_signal(number)

    command = ["distort", str(folder), "--distortion", "12:3", "--out", str(tmp_path / "o")]
    with monkeypatch.context() as patch:
        patch.setattr(Manifest, "add", ended)
        assert main(command) == 130
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == "embodied-iqa: interrupted; the same command goes on where it stopped"
    assert main([*command, *ALONE]) == 0


def test_the_list_is_complete(capsys: pytest.CaptureFixture[str]):
    assert main(["distort", "list", "--json"]) == 0
    lines = json.loads(capsys.readouterr().out)
    assert len(lines) == 40
    assert all(len(line["levels"]) == 5 and line["source"] and line["unit"] for line in lines)
    assert lines[8]["levels"][0] == {"ratio": 16, "level": 1}
    assert main(["distort", "list"]) == 0
    assert "gaussian-blur" in capsys.readouterr().out


def test_the_sheet_has_a_row_for_each_type(folder: Path, tmp_path: Path):
    command = ["distort", "sheet", "--reference", str(folder / "a.png"), "--out"]
    assert main([*command, str(tmp_path / "sheet.png")]) == 0
    sheet = read_image(tmp_path / "sheet.png")
    assert sheet.shape[1] == 6 * 160
    assert sheet.shape[0] == 22 + 30 * (120 + 22)
    assert main([*command, str(tmp_path / "classes"), "--all-miqd"]) == 0
    assert len(list((tmp_path / "classes").glob("classes-*.jpg"))) == 4


def test_training_and_calibration_write_their_files(folder: Path, tmp_path: Path):
    weights = tmp_path / "weights.onnx"
    large = tmp_path / "large"
    large.mkdir()
    cv2.imwrite(str(large / "x.png"), np.random.default_rng(0).integers(0, 256, (90, 90, 3), dtype=np.uint8))
    command = [
        "distort",
        "train-denoiser",
        "--training-steps",
        "3",
        "--images",
        str(large),
        "--out",
        str(weights),
    ]
    assert main(command) == 0
    assert weights.stat().st_size < 1_000_000
    out = tmp_path / "calibrated.json"
    assert (
        main(["distort", "calibrate", "--curve-points", "5", "--images", str(large), "--out", str(out)]) == 0
    )
    assert len(json.loads(out.read_text())["levels"]) == 12


def test_a_manifest_in_an_impossible_place_is_one_line(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot write to"):
        Manifest(tmp_path / "file" / "out").begin()


def test_an_image_that_was_turned_by_its_camera_is_read_upright(tmp_path: Path):
    turned = np.zeros((40, 60, 3), np.uint8)
    turned[:, :20] = 255
    exif = Image_.Exif()
    exif[0x0112] = 6  # orientation: a quarter turn to the right
    Image_.fromarray(turned).save(tmp_path / "turned.png", exif=exif)
    image = read_reference(tmp_path / "turned.png")
    assert image.shape == (60, 40, 3)
    assert (image[:20] == 255).all()
    assert not image[20:].any()


def test_of_a_database_the_references_are_distorted_and_no_distorted_image(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = write_database(tmp_path / "db", references=4, subjects=1, distortions=["01"], images=True)
    out = str(tmp_path / "out")
    assert main(["distort", str(store.path), "--distortion", "10:3", "--workers", "1", "--out", out]) == 0
    assert "4 images made" in capsys.readouterr().out
    assert main(["metrics", "score", "psnr", out, "--reference", str(store.path)]) == 0
    assert capsys.readouterr().out.count("/r0000") == 4
    assert main(["metrics", "score", "niqe", str(store.path), "--only-topic", "moon"]) == 1
    assert "no image topic; got 'moon'; available: " in capsys.readouterr().err
