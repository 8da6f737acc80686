"""`miqa train` and `miqa score` as commands: what they write and print, and one line for what is wrong."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import sha256_of
from embodied_iqa.cli.main import main
from embodied_iqa.cli.output import program
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.quality.metrics.catalogue import metric_by_name
from embodied_iqa.quality.metrics.training.recipes import recipe_by_name
from fail_points import fail_point
from live_process import TRIAL_S, running_program
from miqa_folders import make_miqa, scene
from small_disk import small_disk

pytest.importorskip("torch")

RUN_TINY = """
import sys
import torch
from embodied_iqa.cli.main import main
from embodied_iqa.cli.output import program
from embodied_iqa.suites.miqa import training_rows
from tiny_miqa import tiny
torch.set_num_threads(1)
training_rows.recipe_by_name = tiny
sys.exit(main())
"""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_miqa(tmp_path_factory.mktemp("labels") / "mdb", 10).path


@pytest.fixture
def words(database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """`miqa train` of a tiny metric into the folder `metric`."""
    from tiny_miqa import encoder_file, tiny

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(
        "embodied_iqa.suites.miqa.training_rows.recipe_by_name",
        lambda name: replace(tiny(recipe_by_name(name).name), epochs=2),
    )
    region = encoder_file(tmp_path)
    arguments = ["--out", str(tmp_path / "metric"), "--region-weights", str(region)]
    return ["miqa", "train", str(database), *arguments]


def test_training_ends_with_a_card_a_test_and_a_metric(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "metric"
    assert main([*words, "--label", "accuracy", "--json"]) == 0
    shown = capsys.readouterr()
    assert shown.err.splitlines()[0] == "trains ra-miqa-small on 400 images, 2 epochs at most"
    card = json.loads(shown.out)
    assert (card["name"], card["target"]) == ("ra-miqa-small", "miqa:cls:accuracy")
    assert card == json.loads((out / "card.json").read_text())
    assert (card["results"]["references"], card["results"]["pairs"]) == (2, 100)
    assert card["training"]["references"] == 8
    assert card["database"]["name"] == "mdb"
    assert card["label_high"] <= 0.9, "labels of accuracy"

    before = sha256_of(out / "network.onnx"), sha256_of(out / "card.json")
    monkeypatch.setattr(
        "embodied_iqa.quality.metrics.training.metric_training.train_network",
        lambda *_: pytest.fail("trained again"),
    )
    assert main([*words, "--label", "accuracy"]) == 0
    assert (sha256_of(out / "network.onnx"), sha256_of(out / "card.json")) == before
    shown = capsys.readouterr()
    assert f"metric: trained:{out}" in shown.out
    assert "2 held-out references: SRCC" in shown.out
    begin = f"next: {program()} "  # not embodied-iqa where python -m pytest finds no such program
    (line,) = [line for line in shown.err.splitlines() if line.startswith(begin)]
    following = shlex.split(line.removeprefix(begin))
    assert following[:3] == ["evaluate", "miqa", str(out)]
    assert main([*following, "--metrics", "", "--draws", "5", "--out", str(tmp_path / "evaluation")]) == 0

    assert main([*words, "--label", "accuracy", "--seed", "1"]) == 2
    assert "holds another plan: seed is 0 there, 1 asked" in capsys.readouterr().err
    assert main([*words, "--label", "composite"]) == 2
    assert "holds another plan: " in capsys.readouterr().err
    assert (sha256_of(out / "network.onnx"), sha256_of(out / "card.json")) == before


@pytest.mark.parametrize(
    ("change", "code", "line"),
    [
        (["--vision-task", "depth"], 2, "invalid choice"),
        (["--label", "mos"], 2, "invalid choice"),
        (["--recipe", "nothing"], 2, "unknown"),
        (["--region-layer", "9"], 2, "wrong region layer; expected 1 to 2, last or none; got '9'"),
        (["--recipe", "resnet18", "--region-layer", "last"], 2, "resnet18 has no region token"),
        (["--recipe", "resnet18"], 2, "weights of a region encoder"),
        (["--workers", "0"], 2, "argument --workers: expected 1 or more; got 0"),
        (["--epochs", "0"], 2, "argument --epochs: expected 1 or more; got 0"),
        (["--seed", "-1"], 2, "argument --seed: expected 0 to 2**63 - 1; got -1"),
        (["--images-each", "-1"], 2, "argument --images-each: expected 0 or more; got -1"),
        (["--vision-task", "det"], 1, "no finished labels of det"),
        (["--weights", "none.safetensors"], 1, "cannot read"),
    ],
)
def test_what_is_wrong_is_one_line(
    change: list[str], code: int, line: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, *change]) == code
    error = capsys.readouterr().err
    assert line in error
    assert len(error.strip().splitlines()) == 1
    assert not Path(words[4], "card.json").exists()


def test_a_training_without_a_region_encoder_says_first_that_it_makes_one(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    where = "embodied_iqa.quality.metrics.training.metric_training.train_region_encoder"
    monkeypatch.setattr(where, lambda *_: (_ for _ in ()).throw(InputError("stopped")))
    assert main(words[: words.index("--region-weights")]) == 1
    first, *_ = capsys.readouterr().err.splitlines()
    assert "makes the region encoder first, 15 epochs on rendered scenes" in first
    assert "--region-weights FILE takes one that exists" in first


def test_a_folder_that_is_no_database_is_refused(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "none", tmp_path / "empty"):
        assert main(["miqa", "train", str(folder), *words[3:]]) in {1, 2}
        assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert not (tmp_path / "metric").exists()


def test_a_killed_training_continues_to_the_same_weights(words: list[str], tmp_path: Path) -> None:
    long = [*words, "--epochs", "3"]
    whole = [str(tmp_path / "whole") if word == words[4] else word for word in long]
    # the second checkpoint, so that the first has been set aside for it
    variables = fail_point(2, tmp_path / "metric" / "training", tmp_path / "notes")
    command = [sys.executable, "-c", RUN_TINY, *long]
    with running_program(command, tmp_path / "logs", variables | {"OMP_NUM_THREADS": "1"}) as program:
        assert program.wait(TRIAL_S) == -signal.SIGKILL
    assert not (tmp_path / "metric" / "card.json").exists()
    assert main(long) == main(whole) == 0
    for name in ("network.onnx", "curve.svg"):
        assert sha256_of(tmp_path / "metric" / name) == sha256_of(tmp_path / "whole" / name), name
    cards = [json.loads((tmp_path / name / "card.json").read_text()) for name in ("metric", "whole")]
    assert cards[0] == cards[1]
    assert cards[0]["training"]["epochs"] > 1


def test_a_full_disk_is_one_line_and_the_training_continues_with_room(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Inputs are mapped into memory: without reserved space, a full disk would kill the process."""
    with small_disk(tmp_path / "disk", 16) as disk:
        free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
        (disk / "other").write_bytes(bytes(free - 500_000))
        on_disk = [str(disk / "metric") if word == words[4] else word for word in words]
        assert main([*on_disk, "--epochs", "1"]) == 1
        begun, line = capsys.readouterr().err.strip().splitlines()
        assert begun.startswith("trains ra-miqa-small on ")
        assert "No space left on device; expected space there" in line
        assert not (disk / "metric" / "card.json").exists()
        (disk / "other").unlink()
        assert main([*on_disk, "--epochs", "1"]) == 0
        assert (disk / "metric" / "card.json").exists()
        assert not list(disk.rglob("inputs"))


# --- miqa score ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tiny_miqa import train_tiny

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        return train_tiny(tmp_path_factory.mktemp("metric"))


@pytest.fixture
def images(tmp_path: Path) -> Path:
    for name in ("a.png", "deep/b.png", "c.png"):
        write_image(tmp_path / "images" / name, scene(len(name)))
    return tmp_path / "images"


def test_folders_and_files_are_scored_with_their_paths(
    model: Path, images: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    single = images / "c.png"
    assert main(["miqa", "score", str(images), str(single), "--trained", str(model), "--json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert (tree["metric"], tree["higher_is_better"]) == (f"trained:{model}", True)
    names = [images / "a.png", single, images / "deep" / "b.png", single]
    assert sorted(row["image"] for row in tree["images"]) == sorted(map(str, names))
    metric, scenes = metric_by_name(f"trained:{model}"), {name: scene(len(str(name))) for name in ("a.png",)}
    values = {Path(row["image"]).name: row["value"] for row in tree["images"]}
    assert values["a.png"] == metric.measure(scenes["a.png"])
    assert tree["mean"] == pytest.approx(np.mean([row["value"] for row in tree["images"]]))
    assert main(["miqa", "score", str(images), "--trained", str(model)]) == 0
    assert "mean " in capsys.readouterr().out


def test_an_image_that_cannot_be_read_is_reported_and_the_others_are_scored(
    model: Path, images: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (images / "a.png").write_bytes(b"no image")
    write_image(images / "small.png", np.zeros((8, 8, 3), np.uint8))
    words = ["miqa", "score", str(images), "--trained", str(model), "--json"]
    assert main(words) == 1
    shown = capsys.readouterr()
    rows = {Path(row["image"]).name: row for row in json.loads(shown.out)["images"]}
    assert [name for name, row in rows.items() if row["value"] is None] == ["a.png", "small.png"]
    assert "too small" in rows["small.png"]["error"]
    assert "2 of 4 images have no value" in shown.err
    assert main(["miqa", "score", str(images / "a.png"), "--trained", str(model)]) == 1


@pytest.fixture
def copy(model: Path, tmp_path: Path) -> Path:
    (tmp_path / "copy").mkdir()
    for name in ("card.json", "network.onnx"):
        (tmp_path / "copy" / name).write_bytes((model / name).read_bytes())
    return tmp_path / "copy"


def _damaged(model: Path) -> None:
    (model / "network.onnx").write_bytes(b"nothing")


def _reference_needed(model: Path) -> None:
    card = json.loads((model / "card.json").read_text())
    (model / "card.json").write_text(json.dumps(card | {"input": "differences"}))


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (lambda model: (model / "card.json").unlink(), "cannot read the card"),
        (lambda model: (model / "network.onnx").unlink(), "cannot read the network"),
        (_damaged, "not the one of its card"),
        (_reference_needed, "measured otherwise"),
    ],
)
def test_a_model_that_is_missing_or_damaged_is_one_line(
    damage: Callable[[Path], object],
    line: str,
    copy: Path,
    images: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    damage(copy)
    assert main(["miqa", "score", str(images), "--trained", str(copy)]) == 1
    shown = capsys.readouterr()
    assert line in shown.err
    assert (len(shown.err.strip().splitlines()), shown.out) == (1, "")


@pytest.mark.parametrize("words", [[], ["IMAGE"], ["--trained", "M"]])
def test_images_and_a_model_are_required(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["miqa", "score", *words]) == 2
    assert "required" in capsys.readouterr().err
