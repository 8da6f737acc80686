"""Readers of human databases, on small folders of exactly the published layouts."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from benchmark_databases import telling_database
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.jobs.engine import EngineOptions
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.quality.metrics.benchmark.benchmark_plan import BenchmarkPlan, Target
from embodied_iqa.quality.metrics.benchmark.runner import run_benchmark
from embodied_iqa.quality.metrics.human import read_human

COUNTS = {"jp2k": 4, "jpeg": 3, "wn": 3, "gblur": 2, "fastfading": 2}


def _image(file: Path, noise: float = 0.0, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    rgb = np.tile(np.linspace(40, 200, 32), (24, 1))[..., None] + rng.normal(0, 1 + noise, (24, 32, 3))
    file.parent.mkdir(parents=True, exist_ok=True)
    write_image(file, np.clip(rgb, 0, 255).astype(np.uint8))


def _live(path: Path) -> Path:
    """Two references; the last image of each folder is undistorted; 10, not 2, comes after 9."""
    names, dmos, original = [], [], []
    for folder, count in COUNTS.items():
        for number in range(1, count + 1):
            is_original = number == count
            value = 0.0 if is_original else 10.0 * number
            _image(path / folder / f"img{number}.bmp", value, number)
            names.append(["bikes.bmp", "woman.bmp"][number % 2])
            dmos.append(value)
            original.append(is_original)
    for name in ("bikes.bmp", "woman.bmp"):
        _image(path / "refimgs" / name)
    cells = np.empty((1, len(names)), object)
    cells[0] = names
    savemat(path / "refnames_all.mat", {"refnames_all": cells})
    savemat(path / "dmos_realigned.mat", {"dmos_new": [dmos], "orgs": [original], "dmos_std": [dmos]})
    return path


def _tid(path: Path) -> Path:
    lines = []
    for reference in (1, 25):
        # the real folders mix the cases of names
        name = f"I{reference:02d}.BMP" if reference == 1 else f"i{reference:02d}.bmp"
        _image(path / "reference_images" / f"{name}.png")
        (path / "reference_images" / f"{name}.png").rename(path / "reference_images" / name)
        for level in range(1, 6):
            image = f"i{reference:02d}_01_{level}.bmp"
            _image(path / "distorted_images" / image, 8 * level, level)
            lines.append(f"{7 - level:.5f} {image.replace('i', 'I', 1)}")
    (path / "mos_with_names.txt").write_text("\r\n".join(lines) + "\r\n")
    return path


def _kadid(path: Path) -> Path:
    lines = ["dist_img,ref_img,dmos,var"]
    for reference in (1, 2):
        _image(path / "images" / f"I{reference:02d}.png")
        for level in range(1, 6):
            name = f"I{reference:02d}_01_{level:02d}.png"
            _image(path / "images" / name, 8 * level, level)
            lines.append(f"{name},I{reference:02d}.png,{5 - 0.7 * level:.2f},0.5")
    (path / "dmos.csv").write_text("\n".join(lines) + "\n")
    return path


def _koniq(path: Path, count: int = 12) -> Path:
    lines = ['"image_name","c1","c2","c3","c4","c5","c_total","MOS","SD","MOS_zscore"']
    for number in range(count):
        _image(path / "512x384" / f"{number}.jpg", number, number)
        lines.append(f'"{number}.jpg",0,0,25,73,7,105,{4 - 0.1 * number},0.56,{80 - number}')
    (path / "koniq10k_scores_and_distributions.csv").write_text("\n".join(lines) + "\n")
    return path


MAKERS = {"live": _live, "tid2013": _tid, "kadid10k": _kadid, "koniq10k": _koniq}
SIZES = {"live": sum(COUNTS.values()) - len(COUNTS), "tid2013": 10, "kadid10k": 10, "koniq10k": 12}


@pytest.mark.parametrize("name", MAKERS)
def test_a_database_is_read_with_higher_as_better(name: str, tmp_path: Path) -> None:
    human = read_human(f"{name}:{MAKERS[name](tmp_path)}")
    assert len(human.pairs) == SIZES[name]
    assert human.has_references == (name != "koniq10k")
    assert pickle.loads(pickle.dumps(human)) == human
    assert len(pickle.dumps(human)) < 1000
    found = list(human.read(human.pair_ids.tolist()))
    assert [pair.pair_id for pair in found] == human.pair_ids.tolist()
    for pair in found:
        assert pair.distorted.shape == (24, 32, 3)
        assert (pair.reference is not None) == human.has_references
    # images were made with more noise where they were rated worse
    noise = np.array([pair.distorted.astype(float)[..., 0].std(axis=0).mean() for pair in found])
    assert np.corrcoef(noise, human.opinions)[0, 1] < -0.8


def test_live_takes_the_images_in_the_order_of_its_lists(tmp_path: Path) -> None:
    human = read_human(f"live:{_live(tmp_path)}")
    by_id = {pair.pair_id: pair for pair in human.pairs}
    assert by_id["jpeg/img2.bmp"].opinion == -20
    assert by_id["jpeg/img2.bmp"].reference_id == "refimgs/bikes.bmp"
    assert "jpeg/img3.bmp" not in by_id


@pytest.mark.parametrize("name", MAKERS)
def test_a_folder_of_another_layout_is_refused(name: str, tmp_path: Path) -> None:
    path = MAKERS[name](tmp_path)
    human = read_human(f"{name}:{path}")
    (path / human.pairs[0].pair_id).unlink()
    with pytest.raises(InputError):
        read_human(f"{name}:{path}")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError):
        read_human(f"{name}:{tmp_path / 'empty'}")


@pytest.mark.parametrize("name", MAKERS)
def test_unknown_names_and_missing_folders_are_usage_errors(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a folder"):
        read_human(f"{name}:{tmp_path / 'none'}")
    with pytest.raises(UsageError, match="unknown human database"):
        read_human(name)


def test_opinions_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    path = _kadid(tmp_path)
    file = path / "dmos.csv"
    file.write_text(file.read_text().replace("4.30", "nan"))
    with pytest.raises(InputError, match="not a number"):
        read_human(f"kadid10k:{path}")
    file.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="other columns"):
        read_human(f"kadid10k:{path}")


def test_the_benchmark_tests_on_human_databases_and_trains_on_them(tmp_path: Path) -> None:
    store = telling_database(tmp_path / "db", references=5, subjects=2)
    human = tuple(f"{name}:{MAKERS[name](tmp_path / name)}" for name in ("kadid10k", "koniq10k"))
    recipe = "python:benchmark_databases:Blind"
    plan = BenchmarkPlan(
        ("psnr", f"train:{recipe}"), (Target.DECISION,), ("decision", "kadid10k"), repeats=1, human=human
    )
    results = run_benchmark(store, tmp_path / "out", plan, EngineOptions(), lambda *_: None)
    found = {(row.metric, row.tested_on): row for row in results.cross}
    assert set(found) == {
        ("psnr", "kadid10k"),
        (f"{recipe} on decision", "kadid10k"),
        (f"{recipe} on decision", "koniq10k"),
        (f"{recipe} on kadid10k", "koniq10k"),
    }
    assert (found["psnr", "kadid10k"].srcc or 0) > 0.9
    assert found[f"{recipe} on kadid10k", "koniq10k"].count == 12
    assert {row.name for row in results.metrics} == {
        "psnr", f"{recipe} on decision", f"{recipe} on kadid10k",
    }  # fmt: skip
