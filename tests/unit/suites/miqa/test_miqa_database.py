"""Layout and reading of a database of machine-vision quality."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.suites.miqa.database import MiqaDatabase
from embodied_iqa.suites.miqa.distorting import Distorter
from embodied_iqa.suites.miqa.layout import TaskFolder
from embodied_iqa.suites.miqa.manifest import Images, Manifest
from embodied_iqa.suites.miqa.names import all_names
from embodied_iqa.suites.miqa.rows import MiqaRow, Part
from embodied_iqa.suites.miqa.splits import read_split, split_references
from embodied_iqa.suites.miqa.writing import write_task


def made(root: Path, task: VisionTask = VisionTask.DETECTION) -> list[MiqaRow]:
    rng = np.random.default_rng(0)
    folder = TaskFolder(root, task)
    rows = []
    parts = split_references({f"r_{index}": "cube" for index in range(3)}, 7)
    for reference, part in parts.items():
        mask = np.zeros((40, 48, 3), np.uint8)
        mask[10:30, 10:30] = 255
        write_image(folder.images.source(reference), rng.integers(0, 256, (40, 48, 3), np.uint8))
        write_image(folder.images.mask(reference), mask)
        for name in all_names(reference)[:30]:
            c, a = rng.random(2).round(3).tolist()
            row = (name.path, reference, "cube", name.kind, name.inside, name.outside, name.mode, part)
            rows.append(MiqaRow(*row, c, a, (c + a) / 2, c, 0.0, a, 0.0))
    manifest = Manifest(task, "made", Images.SEEDS, "", 7, 0.12, None, (), 3, len(rows))
    write_task(folder, manifest, rows)
    return rows


@pytest.mark.parametrize("task", VisionTask)
def test_rows_are_read_as_written(tmp_path: Path, task: VisionTask) -> None:
    rows = made(tmp_path, task)
    database = MiqaDatabase(tmp_path)
    assert database.tasks == (task,)
    assert database.rows(task) == tuple(rows)
    assert database.manifest(task).seed == 7


def test_labels_have_the_published_form(tmp_path: Path) -> None:
    rows = made(tmp_path, VisionTask.CLASSIFICATION) + made(tmp_path, VisionTask.SEGMENTATION)
    with (tmp_path / "miqa_cls" / "labels" / "r_0_mmos.csv").open() as stream:
        found = list(csv.DictReader(stream))
    assert found[3]["dist_images"] == rows[3].image
    assert float(found[3]["weighted_consistency"]) == rows[3].weighted_consistency
    with (tmp_path / "miqa_ins" / "labels" / "r_0_accuracy.csv").open() as stream:
        found = list(csv.DictReader(stream))
    assert found[5]["filename"] == "r_0_gaussian_noise_fg_stronger_fg2_bg1.png"
    assert float(found[5]["AP_weighted_avg"]) == rows[95].weighted_accuracy


def test_images_are_made_again_from_their_seeds(tmp_path: Path) -> None:
    rows = made(tmp_path)
    images = MiqaDatabase(tmp_path).images(VisionTask.DETECTION)
    chosen = [rows[2], rows[26], rows[40]]
    found = list(images.read([row.image for row in chosen]))
    for row, pair in zip(chosen, found, strict=True):
        clean = images.reference(row.reference)
        name = next(name for name in all_names(row.reference) if name.path == row.image)
        expected = Distorter(clean, images.region_mask(row.reference), 7).image(name)
        assert pair.pair_id == row.image
        assert np.array_equal(pair.distorted, expected)
        assert np.array_equal(pair.reference, clean)


def test_the_name_of_a_reference_is_its_clean_image(tmp_path: Path) -> None:
    made(tmp_path)
    images = MiqaDatabase(tmp_path).images(VisionTask.SEGMENTATION)
    with pytest.raises(InputError, match="no finished labels of ins"):
        list(images.read(["r_1"]))
    images = MiqaDatabase(tmp_path).images(VisionTask.DETECTION)
    (pair,) = images.read(["r_1"])
    assert np.array_equal(pair.distorted, images.reference("r_1"))


def test_the_digest_follows_the_source_image(tmp_path: Path) -> None:
    rows = made(tmp_path)
    images = MiqaDatabase(tmp_path).images(VisionTask.DETECTION)
    first, second = (images.digest([row.image]) for row in rows[:2])
    assert first != second
    assert images.digest([rows[0].image]) == first


@pytest.mark.parametrize("name", ["r_0/../../r_0_fog_1.png", "../r_0_fog_1.png", "..", "unknown"])
def test_a_hostile_or_unknown_name_is_refused(tmp_path: Path, name: str) -> None:
    made(tmp_path)
    with pytest.raises(InputError):
        list(MiqaDatabase(tmp_path).images(VisionTask.DETECTION).read([name]))


def test_a_folder_without_labels_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no labels of machine vision"):
        _ = MiqaDatabase(tmp_path).tasks


def test_the_split_is_stratified_and_by_reference(tmp_path: Path) -> None:
    categories = {f"r{index}": "ab"[index % 3 == 0] for index in range(150)}
    parts = split_references(categories, 1)
    for category, count in (("a", 100), ("b", 50)):
        sides = [parts[name] for name, of in categories.items() if of == category]
        assert sides.count(Part.VALIDATION) == count // 5
    assert split_references(dict(reversed(categories.items())), 1) == parts
    assert split_references(categories, 2) != parts


@pytest.mark.parametrize("task", VisionTask)
def test_published_splits_are_read(tmp_path: Path, task: VisionTask) -> None:
    rows = made(tmp_path, task)
    folder = TaskFolder(tmp_path, task)
    found = {part: read_split(folder.splits / f"{part}.csv") for part in Part}
    for row in rows:
        category = "cube" if task is VisionTask.CLASSIFICATION else ""
        assert found[row.part][row.reference] == category
