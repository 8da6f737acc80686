"""Fine-tuning of pyiqa's metrics: what its trainer gets, and a few steps where pyiqa is installed."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError, MissingDependencyError
from embodied_iqa.cli.main import main
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.quality.metrics.catalogue import close_metric, metric_by_name
from embodied_iqa.quality.metrics.pyiqa.environment import VARIABLE, pyiqa_python
from embodied_iqa.quality.metrics.pyiqa.fine_tuning import FineTuning, fine_tune

TRAINER = """
import pathlib, sys

def train_pipeline(root):
    print("one step")
    if "fails" in sys.argv[2]:
        raise SystemExit("no memory")
    models = pathlib.Path(root, "experiments/fine-tuning/models")
    models.mkdir(parents=True)
    (models / "net_best.pth").write_bytes(b"")
"""


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """An export of 10 references with 2 pairs each; 2 references are held out."""
    folder, rng = tmp_path / "export", np.random.default_rng(6)
    rows = []
    for reference in range(10):
        image = rng.integers(0, 256, (40, 48, 3), dtype=np.uint8)
        name = f"r{reference}.png"
        for part in ("references", "pairs"):
            (folder / "images" / part).mkdir(parents=True, exist_ok=True)
        write_image(folder / "images" / "references" / name, image)
        for pair in range(2):
            write_image(folder / "images" / "pairs" / f"p{pair}{name}", image // (pair + 1))
            rows.append([name, f"p{pair}{name}", 5 - 2 * pair, 0.1, "val" if reference < 2 else "train"])
    with (folder / "meta_info_decision_fr.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["ref_name", "dist_name", "mos", "std", "split_seed0"], *rows])
    return folder


@pytest.fixture
def _stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "stand_in" / "pyiqa"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "train.py").write_text(TRAINER)
    config = {"metric_mode": "NR", "metric_opts": {"type": "CNNIQA"}}
    (package / "default_model_configs.py").write_text(f"DEFAULT_CONFIGS = {{'cnniqa': {config}}}")
    python = tmp_path / "python"
    path = f"{package.parent}:{Path(np.__file__).parents[2]}"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{path}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    monkeypatch.setenv(VARIABLE, str(python))


@pytest.mark.usefixtures("_stand_in")
def test_the_trainer_gets_its_options_and_never_the_held_out_references(export: Path, tmp_path: Path):
    out, lines = tmp_path / "out", []
    best = fine_tune("cnniqa", FineTuning(export, batch=4), out, None, lines.append)
    assert best.name == "net_best.pth"
    assert "one step" in lines
    options = json.loads((out / "options.json").read_text())
    train = options["train"]
    assert (options["num_gpu"], train["optim"]["lr"], train["total_epoch"]) == (0, 1e-5, 50)
    written = (out / "options.yml").read_text()
    assert "GeneralNRDataset" in written
    assert "type: CNNIQA" in written
    parts: dict[str, set[str]] = {}
    for row in csv.DictReader((out / "meta_fr.csv").read_text().splitlines()):
        parts.setdefault(row["split"], set()).add(row["ref_name"])
    assert {name: len(references) for name, references in parts.items()} == {"test": 2, "val": 2, "train": 6}
    assert parts["test"] == {"r0.png", "r1.png"}
    assert not parts["train"] & parts["val"]


@pytest.mark.usefixtures("_stand_in")
def test_failures_are_one_line(export: Path, tmp_path: Path):
    with pytest.raises(InputError, match="pyiqa has no metric nothing"):
        fine_tune("nothing", FineTuning(export), tmp_path / "out", None, print)
    with pytest.raises(InputError, match="is not empty"):
        fine_tune("cnniqa", FineTuning(export), tmp_path / "out", None, print)
    with pytest.raises(InputError, match="no memory"):
        fine_tune("cnniqa", FineTuning(export), tmp_path / "fails", None, print)
    with pytest.raises(InputError, match="a target of it"):
        fine_tune("cnniqa", FineTuning(export, "cognition"), tmp_path / "new", None, print)
    with pytest.raises(InputError, match="has no column split_seed3"):
        fine_tune("cnniqa", FineTuning(export, split=3), tmp_path / "new", None, print)


def test_the_command_checks_its_arguments(export: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = str(tmp_path / "out")
    assert main(["metrics", "fine-tune", "cnniqa", str(export), "--out", out]) == 2
    assert "expected pyiqa:NAME" in capsys.readouterr().err
    assert main(["metrics", "fine-tune", "pyiqa:cnniqa", str(export), "--out", out, "--epochs", "0"]) == 2


def test_cnniqa_is_trained_for_a_few_steps(export: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    try:
        pyiqa_python()
    except MissingDependencyError as error:
        pytest.skip(str(error))
    words = ["metrics", "fine-tune", "pyiqa:cnniqa", str(export), "--out", str(tmp_path / "out"), "--json"]
    assert main([*words, "--epochs", "1", "--batch", "4", "--crop", "32"]) == 0
    metric = metric_by_name(json.loads(capsys.readouterr().out)["metric"])
    image = np.random.default_rng(1).integers(0, 256, (40, 48, 3), dtype=np.uint8)
    assert np.isfinite(metric.measure(image))
    close_metric(metric)
