"""References of the user's pictures, of the cell and of a database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.codecs import write_picture
from embodied_iqa.suites.miqa.building.coco import CROP_PX, CocoSource
from embodied_iqa.suites.miqa.building.masks import counts_of_text, mask_of, mask_of_runs, runs_of
from embodied_iqa.suites.miqa.building.rendered import RenderedSource

SIZE = (60, 80)


@pytest.mark.parametrize("seed", range(5))
def test_runs_give_the_mask_again(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mask = rng.random((7, 9)) < rng.random()
    assert np.array_equal(mask_of_runs(runs_of(mask), 7, 9), mask)


@pytest.mark.parametrize("filled", [True, False])
def test_runs_begin_with_the_false_pixels(filled: bool) -> None:
    assert runs_of(np.full((2, 3), filled)) == ((0, 6) if filled else (6,))


def test_compressed_runs_of_pycocotools() -> None:
    """``pycocotools.mask.encode`` of a 6 x 8 picture with rows 1:4, columns 2:5 set."""
    mask = np.zeros((6, 8), bool)
    mask[1:4, 2:5] = True
    assert counts_of_text("=33000a0") == list(runs_of(mask))
    assert np.array_equal(mask_of({"size": [6, 8], "counts": "=33000a0"}, 6, 8), mask)


def test_polygons_are_filled() -> None:
    mask = mask_of([[10, 10, 29, 10, 29, 19, 10, 19]], *SIZE)
    assert mask.sum() == 200
    assert mask[10:20, 10:30].all()


@pytest.mark.parametrize(
    "segmentation",
    [
        {"size": [6, 8], "counts": [3, 4]},
        {"size": [6, 7], "counts": [48]},
        {"size": [6, 8], "counts": "\x00"},
        {"size": [6, 8], "counts": "o"},
        {"size": [6, 8], "counts": [-1, 49]},
        {"size": [6, 8]},
        [[1, 2, 3]],
        [[float("nan")] * 6],
        [["a"] * 6],
        7,
    ],
)
def test_damaged_masks_are_refused(segmentation: Any) -> None:
    with pytest.raises(InputError):
        mask_of(segmentation, 6, 8)


def coco(
    folder: Path, annotations: list[dict[str, Any]], names: tuple[str, ...] = ("b.png", "a.png")
) -> Path:
    for name in names:
        write_picture(folder / name, np.random.default_rng(1).integers(0, 256, (*SIZE, 3), np.uint8))
    images = [{"id": number, "file_name": name} for number, name in enumerate(names)]
    categories = [{"id": 3, "name": "cup"}, {"id": 5, "name": "dog"}]
    file = folder / "instances.json"
    tree = {"images": images, "annotations": annotations, "categories": categories}
    file.write_text(json.dumps(tree))
    return file


def test_the_largest_object_is_cut_for_classifiers(tmp_path: Path) -> None:
    crowd = {"image_id": 1, "category_id": 3, "bbox": [0, 0, 80, 60], "iscrowd": 1}
    small = {"image_id": 1, "category_id": 3, "bbox": [2, 2, 5, 5]}
    large = {"image_id": 1, "category_id": 5, "bbox": [30, 20, 20, 10]}
    source = CocoSource(coco(tmp_path, [crowd, small, large]), tmp_path)
    assert source.names == ("a",)
    assert source.left_out == 1
    found = source.read(0)
    assert found.whole.instances.labels == ("cup", "cup", "dog")
    assert found.whole.instances.crowd.tolist() == [True, False, False]
    assert found.whole.region.sum() == 25 + 200
    assert found.whole.category == found.crop.category == "dog"
    assert found.crop.rgb.shape == (CROP_PX, CROP_PX, 3)
    assert 0.05 < found.crop.region.mean() < 0.2
    assert found.whole.instances.masks is None


def test_an_annotation_without_a_box_is_the_class_of_the_picture(tmp_path: Path) -> None:
    whole = {"image_id": 0, "category_id": 3}
    part = {
        "image_id": 0,
        "category_id": 5,
        "bbox": [30, 20, 20, 10],
        "segmentation": [[30, 20, 49, 20, 49, 29]],
    }
    found = CocoSource(coco(tmp_path, [whole, part]), tmp_path).read(0)
    assert found.crop.category == "cup"
    assert found.crop.rgb.shape == (*SIZE, 3)
    assert np.array_equal(found.crop.region, found.whole.region)
    assert found.whole.instances.masks is not None


@pytest.mark.parametrize(
    "annotation",
    [
        {"image_id": 9, "category_id": 3, "bbox": [1, 1, 2, 2]},
        {"image_id": 0, "category_id": 9, "bbox": [1, 1, 2, 2]},
        {"image_id": 0, "category_id": 3, "bbox": [1, 1, 2]},
        {"image_id": 0, "category_id": 3, "bbox": [1, 1, -2, 2]},
        {"image_id": 0, "category_id": 3, "bbox": ["a", 1, 2, 2]},
        {"category_id": 3},
    ],
)
def test_damaged_annotations_are_refused(tmp_path: Path, annotation: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="not a COCO file"):
        CocoSource(coco(tmp_path, [annotation]), tmp_path)


def test_hostile_and_equal_names_are_refused(tmp_path: Path) -> None:
    box = {"category_id": 3, "bbox": [1, 1, 9, 9]}
    file = coco(tmp_path / "in", [{"image_id": 0, **box}])
    write_picture(tmp_path / "out.png", np.zeros((*SIZE, 3), np.uint8))
    tree = json.loads(file.read_text())
    tree["images"][0]["file_name"] = "../out.png"
    file.write_text(json.dumps(tree))
    with pytest.raises(InputError, match="outside"):
        CocoSource(file, tmp_path / "in").read(0)
    names = ("x/a.png", "y/a.png")
    file = coco(tmp_path / "twice", [{"image_id": number, **box} for number in (0, 1)], names)
    with pytest.raises(InputError, match="two pictures of one name"):
        CocoSource(file, tmp_path / "twice")


def test_the_cell_gives_exact_truth() -> None:
    source = RenderedSource(0, 2)
    assert source.names == ("cell0_00000", "cell0_00001")
    found = source.read(1)
    assert found.whole.rgb.shape == (480, 640, 3)
    assert found.whole.category in found.whole.instances.labels
    main = found.whole.instances.labels.index(found.whole.category)
    assert found.whole.region[found.whole.instances.masks[main]].all()
    assert found.crop.category.endswith(found.whole.category)
    assert found.crop.region.any()
    assert np.array_equal(source.read(1).whole.rgb, found.whole.rgb)
