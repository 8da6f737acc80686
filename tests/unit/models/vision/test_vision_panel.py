"""The embedded vision panel: its members find what is there, and broken files are reported."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.cli.main import main
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.vision.average_precision import dataset_average_precision
from embodied_iqa.models.vision.backends.panel import LEAST_SCORE, MODELS, PanelDetector, load_vision_panel
from embodied_iqa.models.vision.model import VisionModel
from embodied_iqa.models.vision.predictions import Classification, Instances, VisionTask
from embodied_iqa.models.vision.reference import load_vision_models
from embodied_iqa.models.vision.samples.rendered import VisionSample, rendered_sample
from embodied_iqa.pages.reports.panel import vision_panel_report
from embodied_iqa.pages.reports.stored import kind_of, write_report

MOST_BYTES = 25_000_000


@pytest.fixture(scope="module")
def panel() -> list[VisionModel]:
    return load_vision_models("panel")


@pytest.fixture(scope="module")
def samples() -> list[VisionSample]:
    return [rendered_sample(900_000 + number, View.TOP) for number in range(6)]


def copied(name: str, folder: Path) -> Path:
    """Copy a member into a folder and return the path of its card."""
    for end in (".onnx", ".json"):
        shutil.copyfile(MODELS / f"{name}{end}", folder / f"{name}{end}")
    return folder / f"{name}.json"


def test_ten_classifiers_five_detectors_five_segmenters(panel: list[VisionModel]) -> None:
    tasks = [model.info.task for model in panel]
    assert [tasks.count(task) for task in VisionTask] == [10, 5, 5]
    for model in panel:
        assert model.info.performance is not None
        assert 0.65 <= model.info.performance <= 0.95, model.info.name  # right at times, and not always
    assert len({model.info.version for model in panel}) == len(panel)
    assert sum(path.stat().st_size for path in MODELS.iterdir()) < MOST_BYTES


def test_classifiers_name_most_objects(panel: list[VisionModel], samples: list[VisionSample]) -> None:
    classifiers = [model for model in panel if model.info.task is VisionTask.CLASSIFICATION]
    crops = [sample.crop(sample.main_index) for sample in samples]
    right = []
    for model in classifiers:
        for crop, made in zip(crops, model.predict([crop.rgb for crop in crops]), strict=True):
            assert isinstance(made, Classification)
            right.append(made.label == crop.label)
    assert np.mean(right) > 0.6


@pytest.mark.parametrize("task", [VisionTask.DETECTION, VisionTask.SEGMENTATION])
def test_objects_are_found_where_they_are(
    task: VisionTask, panel: list[VisionModel], samples: list[VisionSample]
) -> None:
    truth = [sample.instances for sample in samples]
    for model in (model for model in panel if model.info.task is task):
        found = [
            made for made in model.predict([sample.rgb for sample in samples]) if isinstance(made, Instances)
        ]
        masks = task is VisionTask.SEGMENTATION
        score = dataset_average_precision(found, truth, masks=masks, iou_thresholds=(0.5,))
        assert score > 0.5, model.info.name
        for made in found:
            assert (np.diff(made.scores) <= 0).all()
            assert (made.scores >= LEAST_SCORE).all()


def test_images_of_other_sizes(samples: list[VisionSample]) -> None:
    (model,) = load_vision_models("panel:ins-plain-160")
    rgb = samples[0].rgb
    whole, half = model.predict([rgb, rgb[::2, ::2]])
    assert isinstance(whole, Instances)
    assert isinstance(half, Instances)
    assert half.masks is not None
    assert half.masks.shape[1:] == (rgb.shape[0] // 2, rgb.shape[1] // 2)
    assert half.boxes_px.max() <= rgb.shape[1] // 2
    assert np.abs(2 * half.boxes_px[0] - whole.boxes_px).max(1).min() < 8


def test_masks_stay_inside_their_boxes(samples: list[VisionSample]) -> None:
    (model,) = load_vision_panel(MODELS)[-5:-4]
    assert isinstance(model, PanelDetector)
    (made,) = model.predict([samples[0].rgb])
    assert isinstance(made, Instances)
    assert made.masks is not None
    for box, mask in zip(made.boxes_px, made.masks, strict=True):
        rows, columns = np.nonzero(mask)
        assert rows.min() >= np.floor(box[1])
        assert columns.max() < np.ceil(box[2])


def test_a_grey_image_shows_nothing_for_certain(panel: list[VisionModel]) -> None:
    grey = np.full((480, 640, 3), 128, np.uint8)
    for model in panel:
        (made,) = model.predict([grey])
        assert isinstance(made, Classification) or not (made.scores > 0.5).any()


def test_broken_members_are_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no vision models in .*; expected NAME.onnx with NAME.json"):
        load_vision_panel(tmp_path)
    card = copied("cls-plain-48", tmp_path)
    assert [model.info.name for model in load_vision_panel(tmp_path)] == ["cls-plain-48"]
    record = json.loads(card.read_text(encoding="utf-8"))
    card.write_text(json.dumps(record | {"format": 99}), encoding="utf-8")
    with pytest.raises(InputError, match="another format; expected 1; got 99"):
        load_vision_panel(tmp_path)
    card.write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="card of a vision model"):
        load_vision_panel(tmp_path)
    card.write_text(json.dumps(record), encoding="utf-8")
    with (tmp_path / "cls-plain-48.onnx").open("ab") as stream:
        stream.write(b"\0")
    with pytest.raises(InputError, match="the network of cls-plain-48 is not the one of its card"):
        load_vision_panel(tmp_path)


def test_the_report_has_a_row_of_each_member(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vision_panel_report, "_TIMED", 1)
    assert kind_of(tmp_path) is None
    names = ("cls-plain-48", "det-plain-160")
    for name in names:
        copied(name, tmp_path)
    assert main(["report", str(tmp_path), "--markdown", str(tmp_path / "page.md")]) == 0
    text = " ".join((tmp_path / "page.md").read_text(encoding="utf-8").split())
    assert "| cls-plain-48 | plain | 48x48 | 61,279 | none | 1,500 | 0.787 | 0.740 |" in text
    assert "1 of 1 classifiers by accuracy, 1 of 1 detectors by AP, 1 of 1 detectors by AP50" in text
    assert "segmenter" not in text
    sizes = [(MODELS / f"{name}{end}").stat().st_size for name in names for end in (".onnx", ".json")]
    (tmp_path / "further.bin").write_bytes(bytes(2_000_000))
    page = write_report(tmp_path).read_text(encoding="utf-8")
    assert f"{sum(sizes) / 1e6:.1f} MB" in page, "other files of the folder, such as reports, do not count"
    assert "det-plain-160" in page
    assert "train vision-panel --seed 1" in page
