"""Vision models that Hugging Face transformers runs: classifiers, detectors, instance segmenters.

The model's class follows from the architecture in its config.json, the names of its classes from `id2label`.
Images are prepared and outputs read by the checkpoint's own image processor.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.lazy import load
from embodied_iqa.models.subjects.backends.transformers.loading import LoadedModel, load_libraries, load_model
from embodied_iqa.models.subjects.catalogue import Backend, Role
from embodied_iqa.models.subjects.checkpoints import open_checkpoint, read_json
from embodied_iqa.models.subjects.reference import SubjectReference
from embodied_iqa.models.subjects.repositories import INSTALL_MODELS
from embodied_iqa.models.subjects.subject_options import LoadingOptions, Precision, VlmOptions, VlmRequest
from embodied_iqa.models.vision.backends.batches import boxes_of_masks, class_name, same_sized
from embodied_iqa.models.vision.model import VisionModel, VisionModelInfo
from embodied_iqa.models.vision.predictions import Classification, Instances, Prediction, VisionTask
from embodied_iqa.models.vision.reference import VisionRequest

_AUTO: Final = "transformers.models.auto.modeling_auto:MODEL_FOR_{}_MAPPING_NAMES"
_KINDS: Final = {
    "IMAGE_CLASSIFICATION": VisionTask.CLASSIFICATION,
    "OBJECT_DETECTION": VisionTask.DETECTION,
    "INSTANCE_SEGMENTATION": VisionTask.SEGMENTATION,
    "UNIVERSAL_SEGMENTATION": VisionTask.SEGMENTATION,
}
"""Tasks of the architectures in the tables of transformers' auto classes."""
_OUTPUTS: Final = ("logits", "pred_boxes", "pred_masks", "class_queries_logits", "masks_queries_logits")
_LEAST_MASK_SCORE: Final = 0.05
"""Of a mask that is made; each has the size of the image. The same as torchvision's."""


def make(request: VisionRequest) -> list[VisionModel]:
    """Load a checkpoint, ready to predict.

    Raises:
        UserError: A library is missing, the checkpoint is refused, or it does not fit.
    """
    load_libraries()
    reference = request.reference
    folder = Path(reference.target).expanduser()
    architecture, task = _architecture(folder)
    # found and inspected as the checkpoints of VLMs are: safetensors only, no code, no network
    subject = SubjectReference(reference.text, Role.VLM, Backend.TRANSFORMERS, str(folder))
    loading = _in_float32(request.loading)
    like_vlm = VlmRequest(subject, VlmOptions(loading=loading), request.progress)
    checkpoint = open_checkpoint(subject, loading, request.progress)
    loaded = load_model(checkpoint, like_vlm, processor_class="AutoImageProcessor", model_class=architecture)
    classes = {int(number): str(name) for number, name in loaded.model.config.id2label.items()}
    info = VisionModelInfo(
        name=reference.text,
        task=task,
        version=f"{checkpoint.revision}-{str(loaded.model.dtype).removeprefix('torch.')}",
        classes=tuple(dict.fromkeys(classes[number] for number in sorted(classes))),
    )
    return [TransformersVisionModel(info, loaded, classes)]


class TransformersVisionModel:
    """A vision model and its image processor.

    Args:
        info: What is known of the model.
        loaded: Model and processor.
        classes: Names by number.
    """

    def __init__(self, info: VisionModelInfo, loaded: LoadedModel, classes: dict[int, str]) -> None:
        self.info = info
        self._torch, self._model, self._processor = loaded.torch, loaded.model, loaded.processor
        self._classes = classes
        readers: dict[VisionTask, Callable[[Any, list[tuple[int, int]]], list[Prediction]]] = {
            VisionTask.CLASSIFICATION: self._classified,
            VisionTask.DETECTION: self._detected,
            VisionTask.SEGMENTATION: self._segmented,
        }
        self._read = readers[info.task]

    def predict(self, images: Sequence[NDArray[np.uint8]]) -> list[Prediction]:
        """Return one prediction for each image, see `VisionModel.predict`."""
        return [one for batch in same_sized(images) for one in self._predict_together(batch)]

    def _predict_together(self, images: Sequence[NDArray[np.uint8]]) -> list[Prediction]:
        inputs = self._processor(images=list(images), return_tensors="pt", input_data_format="channels_last")
        with self._torch.inference_mode():
            outputs = self._model(**inputs.to(self._model.device, dtype=self._model.dtype))
            for name in _OUTPUTS:  # a score that is not a number would count as no prediction
                value = getattr(outputs, name, None)
                if value is not None and not bool(self._torch.isfinite(value).all()):
                    raise InputError("output that is not finite", expected="finite numbers", got=name)
            return self._read(outputs, [image.shape[:2] for image in images])

    def _classified(self, outputs: Any, _sizes_px: list[tuple[int, int]]) -> list[Prediction]:
        scores, numbers = outputs.logits.float().softmax(-1).max(-1)
        pairs = zip(scores.tolist(), numbers.tolist(), strict=True)
        return [Classification(class_name(self._classes, number), score) for score, number in pairs]

    def _detected(self, outputs: Any, sizes_px: list[tuple[int, int]]) -> list[Prediction]:
        found = self._processor.post_process_object_detection(outputs, threshold=0.0, target_sizes=sizes_px)
        return [
            Instances(
                tuple(class_name(self._classes, number) for number in one["labels"].tolist()),
                one["scores"].double().cpu().numpy(),
                one["boxes"].double().cpu().numpy(),
            )
            for one in found
        ]

    def _segmented(self, outputs: Any, sizes_px: list[tuple[int, int]]) -> list[Prediction]:
        read = self._processor.post_process_instance_segmentation
        own_maps = "return_binary_maps" in inspect.signature(read).parameters
        options = {"return_binary_maps": True} if own_maps else {}
        found = read(outputs, threshold=_LEAST_MASK_SCORE, target_sizes=sizes_px, **options)
        return [
            self._instances(one, size_px, one_map_each=own_maps)
            for one, size_px in zip(found, sizes_px, strict=True)
        ]

    def _instances(self, output: Any, size_px: tuple[int, int], *, one_map_each: bool) -> Instances:
        """Return the segments of an image: each has its own map, or all share one map of their numbers."""
        segments = output["segments_info"]
        masks = np.zeros((len(segments), *size_px), bool)
        if segments:
            maps = output["segmentation"].cpu().numpy()
            numbers = np.array([segment["id"] for segment in segments])
            masks = maps.astype(bool) if one_map_each else maps == numbers[:, None, None]
        return Instances(
            tuple(class_name(self._classes, segment["label_id"]) for segment in segments),
            np.array([segment["score"] for segment in segments], np.float64),
            boxes_of_masks(masks),
            masks,
        )


def _in_float32(loading: LoadingOptions) -> LoadingOptions:
    """Return the options with float32 unless the user chose: labels depend little on the machine that way."""
    if loading.precision is not Precision.AUTO:
        return loading
    return replace(loading, precision=Precision.FLOAT32)


def _architecture(folder: Path) -> tuple[str, VisionTask]:
    """Return the model's class in transformers and what it does.

    Raises:
        InputError: It is not a vision model that transformers knows.
    """
    named = read_json(folder / "config.json").get("architectures")
    known: dict[str, VisionTask] = {}
    for kind, task in _KINDS.items():
        for names in load(_AUTO.format(kind), INSTALL_MODELS).values():
            known |= dict.fromkeys((names,) if isinstance(names, str) else names, task)
    if not isinstance(named, list) or len(named) != 1 or named[0] not in known:
        raise InputError(
            f"{folder} is not a vision model that transformers knows",
            expected="an architecture for image classification, object detection or instance segmentation",
            got=named,
        )
    return named[0], known[named[0]]
