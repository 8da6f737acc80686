"""References of the user's images, of the cell and of a database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.suites.miqa.building import masks
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
    """``pycocotools.mask.encode`` of a 6 x 8 image with rows 1:4, columns 2:5 set."""
    mask = np.zeros((6, 8), bool)
    mask[1:4, 2:5] = True
    assert counts_of_text("=33000a0") == list(runs_of(mask))
    assert np.array_equal(mask_of({"size": [6, 8], "counts": "=33000a0"}, 6, 8), mask)


def test_polygons_are_filled() -> None:
    mask = mask_of([[10, 10, 30, 10, 30, 20, 10, 20]], *SIZE)
    assert mask.sum() == 200
    assert mask[10:20, 10:30].all()


@pytest.mark.parametrize(
    ("rings", "pixels"),
    [
        ([[20, 20, 20, 29, 29, 29, 29, 20]], 81),
        ([[50, 50, 51, 50, 51, 90, 50, 90]], 40),
        ([[100, 20, 140, 60, 139, 61, 99, 21]], 80),
        ([[20, 20, 120, 20, 120, 110, 20, 110]], 9000),
        ([[150, 150, 200, 200, 200, 150, 150, 200]], 1250),
        ([[0, 0, 10, 0, 10, 10, 0, 10], [10, 0, 20, 0, 20, 10, 10, 10]], 200),
        ([[-9, -9, 400, -9, 400, 300, -9, 300]], 240 * 320),
        ([[5.2, 5.2, 5.4, 5.2, 5.4, 5.4]], 0),
    ],
)
def test_polygons_have_the_pixels_that_pycocotools_gives_them(rings: list[list[float]], pixels: int) -> None:
    """Numbers of pycocotools 2.0.11."""
    assert mask_of(rings, 240, 320).sum() == pixels


@given(st.lists(st.tuples(st.integers(-200, 600), st.integers(-200, 500)), min_size=3, max_size=8))
def test_a_polygon_covers_the_pixels_whose_centres_it_contains(points: list[tuple[int, int]]) -> None:
    """Against the even-odd rule, but where a border passes within .3 px of a centre: COCO rounds to .2 px."""
    ring = np.array(points) / 10
    mask = mask_of([ring.ravel().tolist()], 30, 40)
    ends = np.roll(ring, -1, axis=0)
    y, x = np.mgrid[0:30, 0:40] + 0.5
    inside, near = np.zeros((30, 40), bool), np.zeros((30, 40), bool)
    for (x0, y0), (x1, y1) in zip(ring, ends, strict=True):
        if y0 != y1:
            crosses = (y0 > y) != (y1 > y)
            inside ^= crosses & (x < x0 + (y - y0) / (y1 - y0) * (x1 - x0))
        along = np.clip(
            ((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / max((x1 - x0) ** 2 + (y1 - y0) ** 2, 1e-12), 0, 1
        )
        near |= np.hypot(x - x0 - along * (x1 - x0), y - y0 - along * (y1 - y0)) < 0.3
    assert np.array_equal(mask[~near], inside[~near])


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


def test_a_hostile_polygon_is_refused_and_a_long_one_is_filled_in_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    far = [1e9, 0.0, -1e9, 8.0] * 40_000
    with pytest.raises(InputError, match="a polygon has too long a border"):
        mask_of([far], 600, 800)
    ring = np.random.default_rng(3).uniform(-20, 60, 80).tolist()
    whole = mask_of([ring], 40, 50)
    monkeypatch.setattr(masks, "_PART", 100)
    assert np.array_equal(mask_of([ring], 40, 50), whole)
    assert 0 < whole.sum() < whole.size


def coco(
    folder: Path, annotations: list[dict[str, Any]], names: tuple[str, ...] = ("b.png", "a.png")
) -> Path:
    for name in names:
        write_image(folder / name, np.random.default_rng(1).integers(0, 256, (*SIZE, 3), np.uint8))
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


def test_an_annotation_without_a_box_is_the_class_of_the_image(tmp_path: Path) -> None:
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


_RING = [[10, 10, 30, 10, 30, 20, 10, 20]]
_GOOD = {"id": 8, "image_id": 1, "category_id": 5, "bbox": [10, 10, 20, 10], "segmentation": _RING}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"category_id": 9}, "unknown category"),
        ({"category_id": None}, "unknown category"),
        ({"bbox": [1, 1, 2]}, "its box has another form"),
        ({"bbox": [1, 1, -2, 2]}, "its box has no area"),
        ({"bbox": [1, 1, 0, 2]}, "its box has no area"),
        ({"bbox": ["a", 1, 2, 2]}, "its box has another form"),
        ({"bbox": [90, 10, 20, 10]}, "its box lies outside of the image"),
        ({"bbox": [30, 20, 5, 5]}, "its box and its mask do not meet"),
        ({"segmentation": [[10, 10, 30, 10]]}, "its mask has no area"),
        ({"segmentation": [[10, 10, 30, 10, 20, 10]]}, "its mask has no area"),
        (
            {"bbox": [15, 15, 1, 1], "segmentation": [[15.2, 15.2, 15.4, 15.2, 15.4, 15.4]]},
            "a pixel whose centre",
        ),
        ({"segmentation": [["a"]]}, "a polygon has another form"),
        ({"segmentation": []}, "has no mask, but others of the image have one"),
        ({"bbox": None, "segmentation": {"size": "large", "counts": []}}, "its mask has a wrong size"),
        ({"bbox": None, "segmentation": {"size": [-6, -8], "counts": [48]}}, "its mask has a wrong size"),
    ],
)
def test_a_bad_annotation_leaves_out_its_image_and_no_other(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    bad = {**_GOOD, "id": 7, "image_id": 0, **change}
    file = coco(tmp_path, [bad, {**_GOOD, "image_id": 0}, _GOOD])
    tree = json.loads(file.read_text())
    tree["images"][0] |= {"width": SIZE[1], "height": SIZE[0]}
    file.write_text(json.dumps(tree))
    source = CocoSource(file, tmp_path)
    assert source.names == ("a",)
    assert list(source.unusable) == ["b.png"]
    assert "annotation 7" in source.unusable["b.png"]
    assert reason in source.unusable["b.png"]
    assert source.read(0).whole.instances.labels == ("dog",)
    with pytest.raises(InputError, match=r"no usable image.*b\.png.*annotation 7"):
        CocoSource(coco(tmp_path / "alone", [bad, {**_GOOD, "image_id": 0}], ("b.png",)), tmp_path / "alone")


@pytest.mark.parametrize(
    ("segmentation", "reason"),
    [
        ({"size": [6, 8], "counts": [20, 28]}, "a mask has another size than its image"),
        ({"size": [*SIZE], "counts": [20, 28]}, "run lengths of a mask do not fill its image"),
        ({"size": [*SIZE], "counts": [SIZE[0] * SIZE[1]]}, "its mask has no area"),
        ({"size": [*SIZE], "counts": "\0"}, "run lengths of a mask are damaged"),
        ({"size": [*SIZE]}, "a mask has no run lengths"),
    ],
)
def test_bad_run_lengths_beside_a_box_leave_out_their_image(
    tmp_path: Path, segmentation: dict[str, Any], reason: str
) -> None:
    bad = {**_GOOD, "id": 7, "image_id": 0, "segmentation": segmentation}
    file = coco(tmp_path, [bad, _GOOD])
    tree = json.loads(file.read_text())
    tree["images"][0] |= {"width": SIZE[1], "height": SIZE[0]}
    file.write_text(json.dumps(tree))
    source = CocoSource(file, tmp_path)
    assert source.names == ("a",)
    assert reason in source.unusable["b.png"]


@pytest.mark.parametrize("owner", [9, None, "x"])
def test_an_annotation_of_no_image_is_left_out_by_its_id(tmp_path: Path, owner: object) -> None:
    source = CocoSource(coco(tmp_path, [_GOOD, {**_GOOD, "id": 7, "image_id": owner}]), tmp_path)
    assert source.names == ("a",)
    assert source.unusable == {"annotation 7": f"it belongs to no image; got image_id {owner!r}"}


def test_images_that_share_an_id_are_left_out(tmp_path: Path) -> None:
    file = coco(tmp_path, [_GOOD, {**_GOOD, "id": 7, "image_id": 0}])
    tree = json.loads(file.read_text())
    tree["images"].append({"id": 0, "file_name": "c.png"})
    file.write_text(json.dumps(tree))
    source = CocoSource(file, tmp_path)
    assert source.names == ("a",)
    assert source.unusable == dict.fromkeys(("b.png", "c.png"), "another image has its id, 0")


def test_ids_may_be_text_and_a_box_is_taken_from_the_mask(tmp_path: Path) -> None:
    without = {key: value for key, value in _GOOD.items() if key != "bbox"}
    runs = {"size": list(SIZE), "counts": [SIZE[0] * 4 + 2, 5, SIZE[0] * (SIZE[1] - 4) - 7]}
    for segmentation, box in ((_RING, [10, 10, 30, 20]), (runs, [4, 2, 5, 7])):
        row = {**without, "image_id": "1", "category_id": "5", "segmentation": segmentation}
        found = CocoSource(coco(tmp_path, [row]), tmp_path).read(0)
        assert found.whole.instances.boxes_px.tolist() == [box]


def test_an_image_of_another_size_than_its_annotations_is_refused(tmp_path: Path) -> None:
    file = coco(tmp_path, [_GOOD])
    tree = json.loads(file.read_text())
    tree["images"][1] |= {"width": 640, "height": 480}
    file.write_text(json.dumps(tree))
    with pytest.raises(InputError, match=r"a\.png.*expected 640x480; got '80x60'"):
        CocoSource(file, tmp_path).read(0)


def test_hostile_and_equal_names_are_refused(tmp_path: Path) -> None:
    box = {"category_id": 3, "bbox": [1, 1, 9, 9]}
    file = coco(tmp_path / "in", [{"image_id": 0, **box}])
    write_image(tmp_path / "out.png", np.zeros((*SIZE, 3), np.uint8))
    tree = json.loads(file.read_text())
    tree["images"][0]["file_name"] = "../out.png"
    file.write_text(json.dumps(tree))
    with pytest.raises(InputError, match="outside"):
        CocoSource(file, tmp_path / "in").read(0)
    names = ("x/a.png", "x/a.jpg")
    file = coco(tmp_path / "twice", [{"image_id": number, **box} for number in (0, 1)], names)
    with pytest.raises(InputError, match="two images of one name"):
        CocoSource(file, tmp_path / "twice")


def test_files_of_one_name_in_different_folders_keep_their_folder(tmp_path: Path) -> None:
    box = {"category_id": 3, "bbox": [1, 1, 9, 9]}
    names = ("x/a.png", "y/a.png", "y/b.png")
    source = CocoSource(coco(tmp_path, [{"image_id": k, **box} for k in range(3)], names), tmp_path)
    assert source.names == ("x_a", "y_a", "b")


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
