"""Vision models of torchvision: weights of the user, weights in torch's cache, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.models.subjects.subject_options import Device, LoadingOptions
from embodied_iqa.models.vision.backends.torchvision import TorchvisionModel
from embodied_iqa.models.vision.model import VisionModel, VisionModelInfo
from embodied_iqa.models.vision.predictions import Classification, Instances, VisionTask
from embodied_iqa.models.vision.reference import load_vision_models

ON_CPU = LoadingOptions(device=Device.CPU)
CLASSIFIER = "shufflenet_v2_x0_5"
DETECTOR = "ssdlite320_mobilenet_v3_large"
CLASSES = ["cube", "ball", "cup"]
IMAGES = [np.random.default_rng(n).integers(0, 256, (40, 50 + n, 3), np.uint8) for n in range(2)]


def save(name: str, file: Path, classes: list[str] | None, **options: Any) -> Path:
    """Save random weights of a model of torchvision."""
    import torch
    import torchvision
    from safetensors.torch import save_file

    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = torchvision.models.get_model(name, weights=None, **options)
    metadata = {} if classes is None else {"classes": json.dumps(classes)}
    save_file(model.state_dict(), file, metadata)
    return file


def only(text: str) -> VisionModel:
    """Return the model of a reference."""
    return load_vision_models([text], ON_CPU)[0]


def test_a_classifier_with_the_users_weights(tmp_path: Path) -> None:
    """Classes stand in the metadata of the file."""
    file = save(CLASSIFIER, tmp_path / "own.safetensors", CLASSES, num_classes=3)
    model = only(f"torchvision:{CLASSIFIER},weights={file}")
    assert (model.info.task, model.info.classes) == (VisionTask.CLASSIFICATION, tuple(CLASSES))
    for made in model.predict(IMAGES):
        assert isinstance(made, Classification)
        assert made.label in CLASSES


def test_a_detector_with_the_users_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its classes begin with the background; boxes are in pixels of the image."""
    import torchvision

    def keep_best(_boxes: Any, scores: Any, _iou: float) -> Any:
        return scores.argsort(descending=True)

    monkeypatch.setattr(torchvision.ops.boxes, "nms", keep_best)  # its compiled part may be missing
    classes = ["__background__", *CLASSES]
    file = save(DETECTOR, tmp_path / "own.safetensors", classes, num_classes=4, weights_backbone=None)
    model = only(f"torchvision:{DETECTOR},weights={file}")
    assert (model.info.task, model.info.classes) == (VisionTask.DETECTION, tuple(CLASSES))
    made = model.predict(IMAGES)[1]
    assert isinstance(made, Instances)
    assert 0 < len(made) <= 100
    assert set(made.labels) <= set(CLASSES)
    assert (made.boxes_px[:, 2:] <= (51, 40)).all()
    assert made.boxes_px.max() > 1


def test_weights_in_the_cache_of_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a file the usual weights are taken if they are there; nothing is downloaded."""
    import torch
    import torchvision

    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    with pytest.raises(InputError, match=r"not on this machine; expected .*weights=FILE.safetensors"):
        only(f"torchvision:{CLASSIFIER}")
    usual = torchvision.models.get_model_weights(CLASSIFIER).DEFAULT
    folder = tmp_path / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    weights = torchvision.models.get_model(CLASSIFIER, weights=None).state_dict()
    torch.save(weights, folder / Path(usual.url).name)
    model = only(f"torchvision:{CLASSIFIER}")
    assert len(model.info.classes) > 900  # of ImageNet; two pairs have the same name
    assert len(model.predict(IMAGES)) == 2


def test_wrong_files_are_reported_in_one_line(tmp_path: Path) -> None:
    """Missing, not safetensors, of another model, with classes that are no names."""
    for file in ("missing.safetensors", "own.pth"):
        with pytest.raises(InputError, match="no file of weights"):
            only(f"torchvision:{CLASSIFIER},weights={tmp_path / file}")
    damaged = tmp_path / "damaged.safetensors"
    damaged.write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"cannot read .*damaged\.safetensors"):
        only(f"torchvision:{CLASSIFIER},weights={damaged}")
    own = save(CLASSIFIER, tmp_path / "own.safetensors", CLASSES, num_classes=3)
    with pytest.raises(InputError, match="the weights do not fit squeezenet1_1"):
        only(f"torchvision:squeezenet1_1,weights={own}")
    numbers = save(CLASSIFIER, tmp_path / "numbers.safetensors", [1, 2], num_classes=2)  # type: ignore[list-item]
    with pytest.raises(InputError, match="not a list of names"):
        only(f"torchvision:{CLASSIFIER},weights={numbers}")


@pytest.mark.parametrize("name", ["fcn_resnet50", "keypointrcnn_resnet50_fpn", "r3d_18"])
def test_models_of_other_tasks_are_refused(name: str) -> None:
    """Semantic segmentation, keypoints, video."""
    with pytest.raises(UsageError, match=f"{name} of torchvision gives no labels"):
        only(f"torchvision:{name}")


def test_masks_of_mask_rcnn_are_cut_at_one_half() -> None:
    """It gives a soft mask of the size of the image for each box."""
    import torch

    soft = torch.zeros(1, 1, 4, 6)
    soft[0, 0, 1, 2:4] = torch.tensor([0.4, 0.6])
    found = {
        "labels": torch.tensor([1]),
        "scores": torch.tensor([0.5]),
        "boxes": torch.tensor([[2.0, 1.0, 4.0, 2.0]]),
        "masks": soft,
    }

    class Fixed:
        """Finds the same in every image."""

        def parameters(self) -> Any:
            """Yield one, whose device counts."""
            yield soft

        def __call__(self, images: list[Any]) -> list[Any]:
            """Return what is found."""
            return [found for _ in images]

    info = VisionModelInfo("mask", VisionTask.SEGMENTATION, "1", ("cube",))
    made = TorchvisionModel(info, Fixed(), lambda tensor: tensor, ["__background__", "cube"]).predict(
        [np.zeros((4, 6, 3), np.uint8)]
    )[0]
    assert isinstance(made, Instances)
    assert made.labels == ("cube",)
    assert made.masks is not None
    assert np.argwhere(made.masks).tolist() == [[0, 1, 3]]


def test_an_unknown_name_of_torchvision() -> None:
    """Lists those that there are."""
    with pytest.raises(
        UsageError, match="torchvision has no such model; got 'resnet1'; did you mean resnet18"
    ):
        load_vision_models(["torchvision:resnet1"])
