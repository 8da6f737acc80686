"""`embodied-iqa metrics list`, `show` and `score`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.cli.main import main
from embodied_iqa.imaging.images.codecs import read_image, write_image
from embodied_iqa.quality.metrics import BUILT_IN, psnr
from embodied_iqa.quality.metrics.catalogue import metric_names
from embodied_iqa.quality.metrics.learned.shipped import SHIPPED

RNG = np.random.default_rng(2)
CLEAN = RNG.integers(0, 256, (32, 40, 3), dtype=np.uint8)
NOISY = (CLEAN // 2 + RNG.integers(0, 99, CLEAN.shape)).astype(np.uint8)

CAMERA_AS_NUMBER = """
from embodied_iqa.quality.metrics import MetricInfo, Needs

class Number:
    info = MetricInfo("number", Needs.NOTHING, True)

    def measure(self, distorted, reference=None, context=None):
        return ["wrist", "top", "side"].index(context.view)
"""


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    images, references = tmp_path / "images", tmp_path / "references"
    for name, image in (("a.png", NOISY), ("below/b.png", CLEAN)):
        (images / name).parent.mkdir(parents=True, exist_ok=True)
        (references / name).parent.mkdir(parents=True, exist_ok=True)
        write_image(images / name, image)
        write_image((references / name).with_suffix(".bmp"), CLEAN)
    return images, references


def result(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0):
    assert main(["metrics", *map(str, words), "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_the_list_has_every_built_in_metric_and_every_kind(capsys: pytest.CaptureFixture[str]):
    tree = result(capsys, "list")
    assert [metric["name"] for metric in tree["metrics"]] == [*BUILT_IN, *SHIPPED]
    assert all(metric["ms_720p"] > 0 for metric in tree["metrics"])
    assert "python:MODULE:FACTORY" in [kind["form"] for kind in tree["kinds"]]
    files = {row["name"]: row["files"] for row in tree["need_files"]}
    assert "102 MB" in files["pyiqa:topiq_nr"]


def test_one_metric_is_shown(capsys: pytest.CaptureFixture[str]):
    assert result(capsys, "show", "psnr:24x18")["name"] == "psnr:24x18"
    assert main(["metrics", "show", "gmsd"]) == 0
    shown = capsys.readouterr().out
    assert "Xue et al. 2014" in shown
    assert "lower" in shown


def test_a_folder_is_scored_against_a_folder(folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]):
    images, references = folders
    tree = result(capsys, "score", "psnr", images, "--reference", references)
    values = {row["image"]: row["value"] for row in tree["images"]}
    assert values == {"a.png": pytest.approx(psnr(CLEAN, NOISY)), "below/b.png": "inf"}
    assert tree["mean"] == pytest.approx(psnr(CLEAN, NOISY))


def test_an_image_is_scored_alone(folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]):
    tree = result(capsys, "score", "piqe", folders[0] / "a.png")
    assert 0 <= tree["images"][0]["value"] <= 100
    assert main(["metrics", "score", "piqe", str(folders[0])]) == 0
    assert "lower is better" in capsys.readouterr().out


def test_one_bad_file_is_reported_and_the_others_are_scored(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
):
    images, references = folders
    (images / "bad.png").write_bytes(b"\x89PNG")
    write_image(images / "alone.png", NOISY)
    tree = result(capsys, "score", "ssim", images, "--reference", references, code=1)
    errors = {row["image"]: row["error"] for row in tree["images"] if row["error"]}
    assert set(errors) == {"bad.png", "alone.png"}
    assert "0 references" in errors["alone.png"]
    assert len(tree["images"]) == 4


def test_nothing_scored_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    write_image(tmp_path / "small.png", CLEAN[:8, :8])
    result(capsys, "score", "piqe", tmp_path, code=1)


def test_a_missing_option_is_a_usage_error_and_a_missing_file_is_not(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
):
    assert main(["metrics", "score", "ssim", str(folders[0])]) == 2
    assert "expected --reference PATH" in capsys.readouterr().err
    assert main(["metrics", "score", "ssim", str(folders[0]), "--reference", str(folders[0] / "none")]) == 1
    assert "no such reference" in capsys.readouterr().err
    assert main(["metrics", "score", "simm", str(folders[0])]) == 2
    assert "did you mean ssim" in capsys.readouterr().err


def test_what_distort_wrote_is_scored_as_a_whole_by_several_metrics(
    folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    photos, distorted = folders[1], tmp_path / "distorted"
    command = ["distort", str(photos), "--distortion", "12", "--levels", "1,4", "--out", str(distorted)]
    assert main([*command, "--workers", "1"]) == 0
    capsys.readouterr()
    trees = result(capsys, "score", "psnr,ssim,piqe", distorted, "--reference", photos)["metrics"]
    assert [tree["metric"] for tree in trees] == ["psnr", "ssim", "piqe"]
    made = {"12_1/a.png", "12_1/below/b.png", "12_4/a.png", "12_4/below/b.png"}
    for tree in trees:
        assert {row["image"] for row in tree["images"] if row["error"] is None} == made
    mild = read_image(distorted / "12_1" / "below" / "b.png")
    values = {row["image"]: row["value"] for row in trees[0]["images"]}
    assert values["12_1/below/b.png"] == pytest.approx(psnr(CLEAN, mild))
    command = ["metrics", "score", "psnr,ssim", str(distorted), "--reference", str(photos)]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "psnr: mean" in shown
    assert "ssim: mean" in shown
    (distorted / "12_1" / "a.png").write_bytes(b"no image")
    assert main([*command, "--json"]) == 1
    assert capsys.readouterr().err.count("1 of 4 images have no value") == 2
    (distorted / "manifest.json").unlink()
    assert main(command) == 1, "without the manifest the folders of levels mean nothing"


def test_lines_name_the_metric_and_the_infinite_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    images = tmp_path / "images"
    images.mkdir()
    for name, image in (("a", CLEAN), ("b", NOISY)):
        write_image(images / f"{name}.png", image)
    (images / "broken.png").write_bytes(b"no image")
    (tmp_path / "references").mkdir()
    write_image(tmp_path / "references" / "a.png", CLEAN)
    write_image(tmp_path / "references" / "b.png", CLEAN)
    write_image(tmp_path / "references" / "broken.png", CLEAN)
    words = ["metrics", "score", "psnr,niqe", str(images), "--reference", str(tmp_path / "references")]
    assert main(words) == 1
    text, error = capsys.readouterr()
    assert "of 1 images, higher is better; 1 infinite value is not in it" in text
    small = f"expected at least 192 x 192 pixels; got '{CLEAN.shape[1]} x {CLEAN.shape[0]}'"
    assert sum("niqe: " in line and line.endswith(small) for line in error.splitlines()) == 2
    assert sum("broken.png" in line for line in error.splitlines()) == 1, "the file is at fault, not a metric"


def test_each_type_and_level_of_distort_has_its_own_mean(
    folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    photos, distorted = folders[1], tmp_path / "distorted"
    command = ["distort", str(photos), "--distortion", "12", "--distortion", "02:3", "--levels", "1,4"]
    assert main([*command, "--out", str(distorted), "--workers", "1"]) == 0
    write_image(distorted / "mine.png", CLEAN)
    (distorted / "12_4" / "below" / "b.png").write_bytes(b"no image")
    capsys.readouterr()
    tree = result(capsys, "score", "piqe", distorted, code=1)
    values = {row["image"]: row["value"] for row in tree["images"]}
    rows = {row["folder"]: row for row in tree["distortions"]}
    assert list(rows) == ["02_3", "12_1", "12_4"]
    of_mild = [values["12_1/a.png"], values["12_1/below/b.png"]]
    assert rows["12_1"]["mean"] == pytest.approx(np.mean(of_mild))
    assert (rows["12_1"]["type"], rows["12_1"]["level"], rows["12_1"]["count"]) == ("12", 1, 2)
    assert rows["12_4"]["mean"] == values["12_4/a.png"], "the damaged image does not count"
    assert rows["12_4"]["count"] == 1
    assert main(["metrics", "score", "piqe,psnr", str(distorted), "--reference", str(photos)]) == 1
    shown = capsys.readouterr().out
    line = next(line for line in shown.splitlines() if line.startswith("12_1 "))
    assert f"{rows['12_1']['mean']:.6g}  2" in re.sub(" +", "  ", line)
    assert "mean" in shown


def test_images_that_distort_did_not_make_have_no_mean_by_type(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert result(capsys, "score", "piqe", folders[0])["distortions"] == []
    assert main(["metrics", "score", "piqe", str(folders[0])]) == 0
    assert "type and level" not in capsys.readouterr().out


def test_a_metric_is_told_the_camera(
    folders: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    (tmp_path / "cameras.py").write_text(CAMERA_AS_NUMBER)
    monkeypatch.syspath_prepend(tmp_path)
    name, image = "python:cameras:Number", folders[0] / "a.png"
    assert result(capsys, "score", name, image, "--view", "side")["mean"] == 2
    assert main(["metrics", "score", name, str(image), "--view", "2nd"]) == 2
    assert "not the name of a camera view" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("psnr, ssim:240x180,niqe", ("psnr", "ssim:240x180", "niqe")),
        ("psnr,trained:/data/a,b/c,d,niqe", ("psnr", "trained:/data/a,b/c,d", "niqe")),
        ("pyiqa:cnniqa@a,b.pth,pyiqa:nlpd", ("pyiqa:cnniqa@a,b.pth", "pyiqa:nlpd")),
        ("psnr,sssim", ("psnr", "sssim")),
    ],
)
def test_names_end_at_a_comma_before_another_metric(text: str, names: tuple[str, ...]) -> None:
    assert metric_names(text) == names
