"""What a calibration says about the clean images that it is made of."""

from __future__ import annotations

import json
import math
from pathlib import Path

import cv2
import numpy as np
import pytest

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.base.errors import InputError
from embodied_iqa.cli.gate.clean_report import CleanGroup, reports
from embodied_iqa.cli.main import main
from embodied_iqa.imaging.distortions import distort
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.stored_images import Coding
from embodied_iqa.quality.gate.bounds import Bounds
from embodied_iqa.quality.gate.calibration import Margins, calibrate
from embodied_iqa.quality.gate.clean_review import WORST, review, suggested
from embodied_iqa.quality.gate.image_statistics import measure
from gate_files import calibration
from gated_policies import scene_image

CLEAN = [scene_image(seed) for seed in range(60)]


def darker(seed: int) -> np.ndarray:
    return distort(scene_image(seed), "21", 2, np.random.default_rng(seed))


def mixed(bad: int) -> list[np.ndarray]:
    """Clean images, the last ones darker."""
    return [*CLEAN, *map(darker, range(bad))]


def test_images_within_their_range_all_pass() -> None:
    statistics = [measure(image) for image in CLEAN]
    found = review(calibrate(View.TOP, statistics, "test"), statistics)
    assert (found.passed, found.worst) == (60, ())
    assert suggested(found, statistics, CLEAN[:24], Margins()) is None


def test_the_worst_come_first_with_reasons_and_a_tolerance_that_helps_is_verified() -> None:
    images = mixed(4)
    statistics = [measure(image) for image in images]
    made = calibrate(View.TOP, statistics, "test")
    found = review(made, statistics)
    assert found.passed == 60
    assert {one.index for one in found.worst} == {60, 61, 62, 63}
    assert all("too dark" in one.reason for one in found.worst)
    order = [(one.verdict, one.excess) for one in found.worst]
    assert order == sorted(order, reverse=True)
    suggestion = suggested(found, statistics, CLEAN[:24], Margins())
    assert suggestion is not None
    assert suggestion.passed > found.passed
    sample = {
        suggestion.tolerance.name: [
            measure(
                distort(
                    image,
                    suggestion.tolerance.distortion_id,
                    suggestion.tolerance.level,
                    np.random.default_rng(index),
                )
            )
            for index, image in enumerate(CLEAN[:24])
        ]
    }
    again = calibrate(View.TOP, statistics, "test", tolerated=sample)
    assert review(again, statistics).passed >= suggestion.passed - 4, "as far as it said, or further"


def test_repeated_rows_suggest_the_distortion_that_repeats_them() -> None:
    images = [*CLEAN, *(distort(image, "27", 1, np.random.default_rng(0)) for image in CLEAN[:3])]
    statistics = [measure(image) for image in images]
    made = calibrate(View.TOP, statistics, "test")
    found = review(made, statistics)
    assert "rows or columns repeated" in found.worst[0].reason
    suggestion = suggested(found, statistics, CLEAN[:24], Margins())
    assert suggestion is not None
    assert suggestion.tolerance.distortion_id == "27"


def test_at_most_ten_are_the_worst() -> None:
    usual = [measure(image) for image in CLEAN]
    bad = [measure(darker(seed)) for seed in range(15)]
    found = review(calibrate(View.TOP, usual, "test"), [*usual[:45], *bad])
    assert (len(found.worst), WORST) == (10, 10)
    assert min(one.excess for one in found.worst) >= found.failing[10].excess


def test_excess_is_0_at_a_soft_bound_and_1_at_a_hard_one() -> None:
    statistics = measure(scene_image(1))
    value = statistics.exposure
    for low, expected in ((value, 0.0), (value + 0.1, 0.5), (value + 0.2, 1.0)):
        made = calibration(exposure=Bounds(low - 0.2, low, math.inf, math.inf))
        assert made.excess(statistics) == pytest.approx(expected if low > value else 0.0)
    narrow = calibration(exposure=Bounds(value, value, math.inf, math.inf))
    assert narrow.excess(statistics) == 0.0
    assert Verdict.PASS.value == 0


def test_the_command_lists_and_writes_the_worst(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "clean").mkdir()
    for index, image in enumerate(mixed(3)):
        cv2.imwrite(str(tmp_path / "clean" / f"{index:03d}.png"), image[..., ::-1])
    (tmp_path / "mine-worst").mkdir()
    (tmp_path / "mine-worst" / "top-64x64-09.png").touch()
    words = [
        "gate",
        "calibrate",
        str(tmp_path / "clean"),
        "--view",
        "top",
        "--out",
        str(tmp_path / "mine.yaml"),
    ]
    assert main([*words, "--json"]) == 0
    (camera,) = json.loads(capsys.readouterr().out)["cameras"]
    assert (camera["frames"], camera["passed"]) == (63, 60)
    assert {one["name"] for one in camera["worst"]} == {"060.png", "061.png", "062.png"}
    first = camera["worst"][0]
    assert np.array_equal(cv2.imread(first["image"]), cv2.imread(str(tmp_path / "clean" / first["name"])))
    written = sorted(path.name for path in (tmp_path / "mine-worst").iterdir())
    assert written == [f"top-64x64-{number:02d}.png" for number in (1, 2, 3)], "none of an earlier one"
    for index in (60, 61, 62):
        (tmp_path / "clean" / f"{index:03d}.png").unlink()
    others = [*words[:3], "--view", "side", *words[-2:]]
    assert main([*others, "--keep", "--json"]) == 0
    assert len(list((tmp_path / "mine-worst").iterdir())) == 3, "those of a camera that is kept"
    (tmp_path / "mine.yaml").unlink()
    assert main([*others, "--json"]) == 0
    assert not (tmp_path / "mine-worst").exists()
    capsys.readouterr()
    for index, image in enumerate(map(darker, range(3)), start=60):
        cv2.imwrite(str(tmp_path / "clean" / f"{index:03d}.png"), image[..., ::-1])
    words.append("--keep")
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "top   64x64 from 63 frames, of which 60 pass" in text
    assert "too dark" in text
    if camera["tolerate"]:
        assert f"--tolerate {camera['tolerate']}" in text
        assert main([*words, "--tolerate", camera["tolerate"], "--json"]) == 0


def test_the_report_names_what_is_tolerated() -> None:
    statistics = [measure(image) for image in mixed(0)]
    made = calibrate(View.TOP, statistics, "test", tolerated={"01 gaussian-blur level 2": statistics})
    group = CleanGroup([str(index) for index in range(60)], statistics)
    (report,) = reports([(made, group)], None, Path("worst"), Margins())
    assert report.lines()[1:] == ["    tolerates 01 gaussian-blur level 2"]
    assert report.values()["tolerated"] == ["01 gaussian-blur level 2"]


def test_clean_images_that_change_meanwhile_are_one_line(tmp_path: Path) -> None:
    images = mixed(3)
    statistics = [measure(image) for image in images]
    group = CleanGroup([str(index) for index in range(63)], statistics)
    made = [(calibrate(View.TOP, statistics, "test"), group)]
    fewer = [(View.TOP, str(index), image, Coding.LOSSLESS) for index, image in enumerate(images[:-1])]
    with pytest.raises(InputError, match="clean images changed"):
        reports(made, fewer, tmp_path / "worst", Margins())
    assert not (tmp_path / "worst").exists()
