"""`metrics train`: from scores to a metric that measures, and one line for what is wrong."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from database_folders import write_database
from embodied_iqa.cli.main import main
from embodied_iqa.data.analysis.grid import ScoreGrid
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.metrics.catalogue import metric_by_name
from embodied_iqa.quality.metrics.image_set import PairImages
from embodied_iqa.quality.metrics.metric import MetricContext
from embodied_iqa.quality.metrics.training.labels import Array, target_labels

pytest.importorskip("torch")


class DrawnImages:
    """Images of the made-up database, which has none; from memory."""

    def __init__(self, path: Path) -> None:
        self.name = path.name

    def read(self, pair_ids: Sequence[str]) -> Iterator[PairImages]:
        for pair_id in pair_ids:
            rng = np.random.default_rng(list(pair_id.encode()))
            clean = rng.integers(0, 255, (24, 32, 3), dtype=np.uint8)
            yield PairImages(pair_id, clean // 2, clean, MetricContext(View.TOP))

    def digest(self, pair_ids: Sequence[str]) -> str:
        return " ".join(pair_ids)


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("embodied_iqa.cli.metrics.training.DatabaseImages", DrawnImages)
    write_database(tmp_path / "db", references=8, subjects=2)
    return tmp_path / "db"


def test_training_ends_with_a_card_a_test_and_a_metric(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "metric"
    words = ["metrics", "train", "embodied-nr", str(database), "--target", "rotation", "--out", str(out)]
    assert main([*words, "--json"]) == 0
    printed = capsys.readouterr()
    assert printed.err.splitlines()[0] == "trains embodied-nr: measures 180 images first"
    card = json.loads(printed.out)
    assert card["target"] == "rotation"
    assert card["results"]["references"] == 2
    assert not {"srcc_low", "srcc_high"} & card["results"].keys(), "two references give no interval"
    assert card["database"]["split"] == 0
    assert card["training"]["references"] == 6
    metric = metric_by_name(f"trained:{out}")
    assert np.isfinite(metric.measure(np.zeros((24, 32, 3), np.uint8)))
    assert main(words) == 0  # is finished: trains nothing
    shown = capsys.readouterr()
    assert f"metric: trained:{out}" in shown.out
    line, compare = (one for one in shown.err.splitlines() if one.startswith("next: embodied-iqa "))
    assert compare.endswith(f"benchmark {database} --metrics psnr,train:embodied-nr --out DIR")
    assert line.endswith(f"metrics score trained:{out} IMAGES")
    image = tmp_path / "image.png"
    Image.new("RGB", (32, 24)).save(image)
    following = shlex.split(line.removeprefix("next: embodied-iqa "))
    assert main([str(image) if word == "IMAGES" else word for word in following]) == 0
    assert "image.png" in capsys.readouterr().out
    assert main([*words, "--seed", "1"]) == 2
    assert "holds another plan: seed is 0 there, 1 asked" in capsys.readouterr().err


def test_a_short_training_ends_after_its_epochs(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "metric"
    words = ["metrics", "train", "embodied-nr", str(database), "--target", "rotation", "--epochs", "2"]
    assert main([*words, "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["training"]["epochs"] == 2


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (["--target", "miqa"], "the database has no such scores"),
        (["--split", "10"], "argument --split: expected 0 to 9; got 10"),
        (["--workers", "0"], "argument --workers: expected 1 or more"),
        (["--target", "metric:nothing"], "unknown metric"),
    ],
)
def test_what_is_wrong_is_one_line(
    change: list[str], line: str, database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["metrics", "train", "embodied-nr", str(database), "--out", str(tmp_path / "metric")]
    assert main([*words, *change]) == 2
    error = capsys.readouterr().err
    assert line in error
    assert len(error.strip().splitlines()) == 1
    assert not (tmp_path / "metric").exists()


def test_without_a_scale_of_any_subject_the_cause_is_named(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "embodied_iqa.cli.metrics.training.target_labels", lambda grid, _: np.full(len(grid.pairs), np.nan)
    )
    words = ["metrics", "train", "embodied-nr", str(database), "--target", "rotation"]
    assert main([*words, "--out", str(tmp_path / "metric")]) == 1
    said = capsys.readouterr().err
    assert "has a label: the answers of " in said
    assert "have no scale; expected two references or more" in said
    assert not (tmp_path / "metric").exists()


@pytest.mark.parametrize("unlabelled", [0, 2])
def test_too_few_references_name_what_was_left_out(
    unlabelled: int,
    tmp_path: Path,
    database: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small = write_database(tmp_path / "small", references=7 if unlabelled else 6, subjects=2).path

    def some(grid: ScoreGrid, target: str) -> Array:
        names = sorted(set(grid.pairs.reference_ids.tolist()))[:unlabelled]
        return np.where(np.isin(grid.pairs.reference_ids, names), np.nan, target_labels(grid, target))

    monkeypatch.setattr("embodied_iqa.cli.metrics.training.target_labels", some)
    words = ["metrics", "train", "embodied-nr", str(small), "--target", "rotation"]
    assert main([*words, "--out", str(tmp_path / "metric")]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "too few references to train on; of " in line
    assert (" out to test; " in line) == (not unlabelled)
    assert "; expected 6 or more, of which a sixth validates; got " in line
    assert ("2 have no label of rotation: no subject is made for their camera" in line) == bool(unlabelled)
