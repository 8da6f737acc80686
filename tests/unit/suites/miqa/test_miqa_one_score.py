"""A trained metric gives one score of an image: in Python, in both commands and in the gate."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa import measure, metric
from embodied_iqa.base.files import sha256_of
from embodied_iqa.cli.main import main
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.fitted import NetworkFile
from embodied_iqa.quality.gate.image_statistics import Statistic
from embodied_iqa.quality.gate.judgement import parse_judge
from embodied_iqa.quality.gate.judges import load_judge
from embodied_iqa.quality.metrics.learned.trained import TrainedMetric
from gate_files import calibration, write_gate

pytest.importorskip("torch")

SIZES_PX = ((1280, 720), (640, 480), (48, 48), (37, 90))
Image = NDArray[np.uint8]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tiny_miqa import train_tiny

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        return train_tiny(tmp_path_factory.mktemp("metric"))


def drawn(width_px: int, height_px: int) -> Image:
    rng = np.random.default_rng([width_px, height_px])
    return np.clip(128 + rng.normal(0, 40, (height_px, width_px, 3)), 0, 255).astype(np.uint8)


def printed(words: list[str], capsys: pytest.CaptureFixture[str]) -> float:
    """Return the only value that a command prints as JSON."""
    assert main([*words, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["images"]
    return float(row["value"])


def judged(model: Path, folder: Path, rgb: Image) -> float:
    """Return what the gate's judge predicts, with the sign of the metric."""
    height, width = rgb.shape[:2]
    size = {"width_px": width, "height_px": height}
    usual = calibration()
    copy = NetworkFile(str(model), sha256_of(model / "card.json"))
    kind = "metric:trained:M"
    anything = dict.fromkeys(Statistic, (-1e9, 1e9))
    made = {"judge": kind, "networks": None, "model": copy, "seen": anything, **size}
    file = write_gate(folder, (type(usual)(View.TOP, width, height, usual.bounds, 100, "made up"),), **made)
    found = load_judge(parse_judge(kind), file).judge(View.TOP, rgb)
    assert found.prediction is not None
    return -found.prediction.value


@pytest.mark.filterwarnings("ignore:outside training")  # noise is
@pytest.mark.parametrize("size_px", SIZES_PX, ids=str)
def test_every_way_gives_the_same_score(
    size_px: tuple[int, int], model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rgb, file, name = drawn(*size_px), tmp_path / "image.png", f"trained:{model}"
    write_image(file, rgb)
    score = metric(name).measure(rgb)
    assert np.isfinite(score)
    assert measure(rgb, None, name) == score
    assert printed(["miqa", "score", str(file), "--trained", str(model)], capsys) == score
    assert printed(["metrics", "score", name, str(file)], capsys) == score
    assert judged(model, tmp_path / "gate", rgb) == round(score, 6) + 0.0


def test_the_camera_does_not_count_and_the_image_does(model: Path) -> None:
    metric = TrainedMetric(model)
    rgb = drawn(1280, 720)
    other = rgb.copy()
    other[100:600, 400:900] //= 4
    assert metric.measure(rgb) != metric.measure(other)
    outside = rgb.copy()
    outside[:, :280] = 0
    assert metric.measure(rgb) == metric.measure(outside), "only the central square is seen"


def test_images_measured_together_have_the_scores_of_single_ones(model: Path) -> None:
    """Evaluations measure in batches, whose sums have another order: equal to 1e-6."""
    metric = TrainedMetric(model)
    images = [drawn(*size_px) for size_px in SIZES_PX]
    inputs = np.stack([metric.input.measure(rgb) for rgb in images])
    together, labels = metric.outputs(inputs, np.zeros(len(inputs), np.int64))
    np.testing.assert_allclose(together, [metric.measure(rgb) for rgb in images], atol=1e-6, rtol=0)
    np.testing.assert_array_equal(labels, np.clip(together, metric.card.label_low, metric.card.label_high))
