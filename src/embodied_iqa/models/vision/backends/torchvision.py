"""Vision models of torchvision: classifiers, detectors, and Mask R-CNN.

Weights are the user's safetensors file, or torchvision's usual ones if they are in torch's cache; nothing is
downloaded. The names of classes stand in the metadata of the file, key ``classes``: a JSON list by the
number of the class, of detectors with ``__background__`` first. Without them they are torchvision's own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.models.subjects.device import choose_device, load_library
from embodied_iqa.models.vision.backends.batches import class_name, same_sized
from embodied_iqa.models.vision.model import VisionModel, VisionModelInfo
from embodied_iqa.models.vision.predictions import Classification, Instances, Prediction, VisionTask
from embodied_iqa.models.vision.reference import FORMS, VisionRequest

BACKGROUND: Final = "__background__"
_WEIGHTS: Final = ",weights="
_MASK_LEVEL: Final = 0.5
_CLASSES: Final = "classes"
_DETECTION: Final = "torchvision.models.detection"
_OTHER_TASKS: Final = ("segmentation", "video", "quantization", "optical_flow")


@dataclass(frozen=True, slots=True)
class _Weights:
    """Weights in memory, with the names of the classes if the file has them."""

    tensors: dict[str, Any]
    classes: list[str] | None


def make(request: VisionRequest) -> list[VisionModel]:
    """Build a model of torchvision and load its weights.

    Raises:
        UserError: torchvision is not installed, does not know the name, or the weights do not fit the model.
    """
    torch, models = load_library("torch"), load_library("torchvision").models
    name, given, file = request.reference.target.partition(_WEIGHTS)
    task = _task_of(models, name)
    usual = models.get_model_weights(name).DEFAULT
    weights = _read(Path(file).expanduser()) if given else _cached(torch, name, usual)
    classes = weights.classes or list(usual.meta["categories"])
    more = {} if task is VisionTask.CLASSIFICATION else {"weights_backbone": None}
    model = models.get_model(name, weights=None, num_classes=len(classes), **more)
    try:
        model.load_state_dict(weights.tensors)
    except RuntimeError as error:
        lines = [line.strip() for line in str(error).splitlines()]
        raise InputError(f"the weights do not fit {name}", got=" ".join(lines[1:2])) from error
    device = choose_device(torch, request.loading.device)
    info = VisionModelInfo(
        name=request.reference.text,
        task=task,
        version=_version(weights.tensors),
        classes=tuple(dict.fromkeys(item for item in classes if item != BACKGROUND)),
    )
    return [TorchvisionModel(info, model.to(device).eval(), usual.transforms(), classes)]


class TorchvisionModel:
    """A model of torchvision with the preparation of images that belongs to it.

    Args:
        info: What is known of the model.
        model: In evaluation mode.
        prepare: From a ``(3, H, W)`` uint8 tensor to the input of the model.
        classes: Names by number.
    """

    def __init__(self, info: VisionModelInfo, model: Any, prepare: Any, classes: Sequence[str]) -> None:
        self.info = info
        self._torch = load_library("torch")
        self._model, self._prepare = model, prepare
        self._classes = dict(enumerate(classes))
        self._device = next(model.parameters()).device

    def predict(self, images: Sequence[NDArray[np.uint8]]) -> list[Prediction]:
        """Return one prediction for each image, see `VisionModel.predict`."""
        return [one for batch in same_sized(images) for one in self._predict_together(batch)]

    def _predict_together(self, images: Sequence[NDArray[np.uint8]]) -> list[Prediction]:
        tensors = [self._torch.from_numpy(np.ascontiguousarray(one)).permute(2, 0, 1) for one in images]
        inputs = [self._prepare(tensor).to(self._device) for tensor in tensors]
        with self._torch.inference_mode():
            if self.info.task is VisionTask.CLASSIFICATION:
                scores, numbers = self._model(self._torch.stack(inputs)).softmax(-1).max(-1)
                pairs = zip(scores.tolist(), numbers.tolist(), strict=True)
                return [Classification(class_name(self._classes, number), score) for score, number in pairs]
            return [self._instances(found) for found in self._model(inputs)]

    def _instances(self, output: Any) -> Instances:
        masks = None
        if self.info.task is VisionTask.SEGMENTATION:
            masks = (output["masks"][:, 0] >= _MASK_LEVEL).cpu().numpy()
        return Instances(
            tuple(class_name(self._classes, number) for number in output["labels"].tolist()),
            output["scores"].double().cpu().numpy(),
            output["boxes"].double().cpu().numpy(),
            masks,
        )


def _task_of(models: Any, name: str) -> VisionTask:
    """Return what a model of torchvision does.

    Raises:
        UsageError: torchvision does not know it, or it does something else.
    """
    try:
        module = models.get_model_builder(name).__module__
    except ValueError:
        raise UsageError("torchvision has no such model", got=name, available=models.list_models()) from None
    if module.split(".")[2] in _OTHER_TASKS or "keypoint" in name:
        expected = "a classifier, a detector or maskrcnn"
        raise UsageError(f"{name} of torchvision gives no labels", expected=expected)
    if not module.startswith(_DETECTION):
        return VisionTask.CLASSIFICATION
    return VisionTask.SEGMENTATION if name.startswith("maskrcnn") else VisionTask.DETECTION


def _read(file: Path) -> _Weights:
    """Read the user's weights.

    Raises:
        InputError: The file is missing or is not safetensors.
    """
    if file.suffix != ".safetensors" or not file.is_file():
        raise InputError("no file of weights", expected=FORMS[4], got=str(file))
    try:
        with safe_open(file, framework="pt") as opened:
            tensors = {key: opened.get_tensor(key) for key in opened.keys()}  # noqa: SIM118 - no mapping
            classes = json.loads((opened.metadata() or {}).get(_CLASSES, "null"))
    except Exception as error:  # the library's errors have no common base class
        raise InputError(f"cannot read {file}: {error}") from error
    if classes is not None and not (isinstance(classes, list) and all(isinstance(c, str) for c in classes)):
        raise InputError(f"classes in {file} are not a list of names", expected="a JSON list of strings")
    return _Weights(tensors, classes)


def _cached(torch: Any, name: str, usual: Any) -> _Weights:
    """Read torchvision's usual weights from torch's cache; only tensors are read, no code.

    Raises:
        InputError: They are not there.
    """
    file = Path(torch.hub.get_dir()) / "checkpoints" / Path(usual.url).name
    if not file.is_file():
        expected = f"{file}, or torchvision:{name},weights=FILE.safetensors"
        raise InputError(f"the weights of {name} are not on this machine", expected=expected)
    return _Weights(torch.load(file, map_location="cpu", weights_only=True), None)


def _version(tensors: dict[str, Any]) -> str:
    """Return 12 hexadecimal digits of a hash of the weights."""
    digest = hashlib.sha256()
    for key in sorted(tensors):
        digest.update(f"{key}\0".encode())
        digest.update(tensors[key].contiguous().cpu().numpy().tobytes())
    return digest.hexdigest()[:12]
