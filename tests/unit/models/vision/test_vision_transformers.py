"""Vision models of transformers, on tiny saved ones: tasks, classes, boxes and masks, broken folders."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError, UserError
from embodied_iqa.models.subjects.subject_options import Device, LoadingOptions, Precision
from embodied_iqa.models.vision.labels import agreement, pseudo_truth
from embodied_iqa.models.vision.model import VisionModel
from embodied_iqa.models.vision.predictions import Classification, Instances, VisionTask
from embodied_iqa.models.vision.reference import load_vision_models
from tiny_vision_models import KINDS, NAMES, save_tiny_vision

TASKS = {
    "vit": VisionTask.CLASSIFICATION,
    "resnet": VisionTask.CLASSIFICATION,
    "detr": VisionTask.DETECTION,
    "rt_detr": VisionTask.DETECTION,
    "maskformer": VisionTask.SEGMENTATION,
    "mask2former": VisionTask.SEGMENTATION,
}
ON_CPU = LoadingOptions(device=Device.CPU)
DRAW = np.random.default_rng(0)
IMAGES = [DRAW.integers(0, 256, size, np.uint8) for size in ((48, 64, 3), (48, 64, 3), (60, 40, 3))]


def only(folder: Path) -> VisionModel:
    """Return the model of a folder."""
    return load_vision_models([f"transformers:{folder}"], ON_CPU)[0]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_predicts(kind: str, tmp_path: Path) -> None:
    """Images of two sizes; results have the form of the task and do not depend on the other images."""
    model = only(save_tiny_vision(kind, tmp_path / kind))
    assert model.info.task is TASKS[kind]
    assert model.info.classes == tuple(NAMES.values())
    together = model.predict(IMAGES)
    for image, made in zip(IMAGES, together, strict=True):
        alone = model.predict([image])[0]
        if isinstance(made, Classification):
            assert isinstance(alone, Classification)
            assert alone.label == made.label
            assert alone.score == pytest.approx(made.score, abs=1e-4)
            continue
        assert len(made) > 0
        assert (np.diff(made.scores) <= 0).all()
        assert isinstance(alone, Instances)
        np.testing.assert_allclose(alone.scores, made.scores, atol=1e-4)
        if TASKS[kind] is VisionTask.SEGMENTATION:
            assert made.masks is not None
            assert made.masks.shape == (len(made), *image.shape[:2])
            assert made.boxes_px[:, 2].max() <= image.shape[1]
    first = together[0]
    assert agreement(first, pseudo_truth(first, model.info.task), model.info.task) == 1.0


def test_boxes_are_in_pixels_of_the_given_image(tmp_path: Path) -> None:
    """DETR gives centre and size as shares of the image."""
    model = only(save_tiny_vision("detr", tmp_path / "detr"))
    image = IMAGES[0]
    small = model.predict([image])[0]
    large = model.predict([image.repeat(2, axis=0).repeat(2, axis=1)])[0]
    assert isinstance(small, Instances)
    assert isinstance(large, Instances)
    centres = [(one.boxes_px[:, :2] + one.boxes_px[:, 2:]).mean(axis=0) / 2 for one in (small, large)]
    np.testing.assert_allclose(centres[1], 2 * centres[0], rtol=0.25)
    assert ((centres[0] > 0) & (centres[0] < (64, 48))).all()


def test_versions_differ_with_the_weights(tmp_path: Path) -> None:
    """Labels of other weights are not mixed up."""
    versions = {only(save_tiny_vision("vit", tmp_path / f"{n}", seed=n)).info.version for n in (0, 1)}
    assert len(versions) == 2


def test_half_precision_is_computed_in_float32(tmp_path: Path) -> None:
    """Unless the user chooses another type."""
    folder = save_tiny_vision("vit", tmp_path / "vit")
    _rewrite(folder, dtype="bfloat16")
    assert only(folder).info.version.endswith("-float32")
    chosen = LoadingOptions(device=Device.CPU, precision=Precision.BFLOAT16)
    model = load_vision_models([f"transformers:{folder}"], chosen)[0]
    assert model.info.version.endswith("-bfloat16")
    assert isinstance(model.predict(IMAGES[:1])[0], Classification)


def test_weights_that_are_not_finite_are_reported(tmp_path: Path) -> None:
    """A score that is NaN would count as no prediction at all."""
    from safetensors.numpy import load_file, save_file

    folder = save_tiny_vision("detr", tmp_path / "detr")
    weights = load_file(folder / "model.safetensors")
    weights["class_labels_classifier.bias"] = np.full(4, np.nan, np.float32)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(InputError, match=r"detr: output that is not finite; .*'logits'"):
        only(folder).predict(IMAGES[:1])


def _rewrite(folder: Path, **changes: object) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))


def test_other_models_are_refused(tmp_path: Path) -> None:
    """By their architecture, before their weights are read, also those with code of their own."""
    folder = save_tiny_vision("vit", tmp_path / "vit")
    for named in (["ViTModel"], ["MyModel"], [], None, "x"):
        _rewrite(folder, architectures=named, auto_map={"AutoModel": "evil.py:Model"})
        with pytest.raises(InputError, match="not a vision model that transformers knows"):
            only(folder)


def test_damaged_folders_are_reported_in_one_line(tmp_path: Path) -> None:
    """Without weights, with pickled weights, without a processor, with classes that have no name."""
    folder = save_tiny_vision("vit", tmp_path / "vit")
    weights = folder / "model.safetensors"
    stored = weights.read_bytes()
    weights.rename(folder / "pytorch_model.bin")
    with pytest.raises(InputError, match="can run code"):
        only(folder)
    (folder / "pytorch_model.bin").unlink()
    with pytest.raises(InputError, match="has no weights"):
        only(folder)
    weights.write_bytes(stored)
    processor = folder / "preprocessor_config.json"
    prepared = processor.read_text()
    processor.unlink()
    with pytest.raises(UserError, match="vit cannot be loaded"):
        only(folder)
    processor.write_text(prepared)
    _rewrite(folder, id2label={"7": "cube", "8": "ball", "9": "cup"})
    model = only(folder)
    with pytest.raises(InputError, match="vit: a predicted class has no name"):
        model.predict(IMAGES)
