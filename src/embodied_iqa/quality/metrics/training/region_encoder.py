"""Training of a region encoder: a vision transformer that segments scenes rendered for it; resumable."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from embodied_iqa.base.files import sha256_of, write_json_whole
from embodied_iqa.base.records import read_json, unstructure
from embodied_iqa.base.training.trainer import Trainer, run_epochs, seeded_batches
from embodied_iqa.base.training.training_state import Checkpoint, EpochResult, save_curve, write_tensors
from embodied_iqa.models.panel.samples.draw_samples import sample_scene
from embodied_iqa.quality.metrics.learned.inputs import InputKind, NetworkInput
from embodied_iqa.quality.metrics.training.recipes import RegionEncoderPlan
from embodied_iqa.quality.metrics.training.transformer import (
    IMAGENET_DEVIATIONS,
    IMAGENET_MEANS,
    VisionTransformer,
)
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.scenes.scene import Scene
from embodied_iqa.world.simulation.renderer import BACKGROUND
from embodied_iqa.world.simulation.scene_batches import SceneBatchRenderer
from embodied_iqa.world.tasks.vocabulary import Kind

CLASSES: Final = ("no object", *Kind)
"""What a pixel shows; table, robot and room are not objects."""
CELL_PX: Final = 4
"""Side of a cell that has one class, in pixels of the network's input."""
_DRAWN_PX: Final = (320, 240)


@dataclass(frozen=True, slots=True, eq=False)
class SegmentedImages:
    """Images with their true segmentation.

    Attributes:
        images: ``(N, S, S, 3)`` uint8.
        classes: ``(N, S / CELL_PX, S / CELL_PX)`` uint8, index in `CLASSES`.
    """

    images: NDArray[np.uint8]
    classes: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.images)


def draw_segmented(seed: int, first: int, end: int, square_px: int) -> SegmentedImages:
    """Draw scenes ``first`` to ``end - 1`` of a seed from all cameras; three images a scene.

    Raises:
        MissingDependencyError: No graphics context can be opened.
    """
    shots = list(_shots(seed, first, end, square_px))
    images, classes = zip(*shots, strict=True)
    return SegmentedImages(np.stack(images), np.stack(classes))


def _shots(
    seed: int, first: int, end: int, square_px: int
) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.uint8]]]:
    square = NetworkInput(InputKind.SQUARE, size_px=(square_px, square_px))
    with SceneBatchRenderer(*_DRAWN_PX) as renderer:
        for number in range(first, end):
            scene, _ = sample_scene(seed, number)
            frames = renderer.frames(scene, CELL_VIEWS)
            for view in CELL_VIEWS:
                found = renderer.segmentation(scene, view)
                yield square.measure(frames[view].rgb), _cells(found, scene, square_px // CELL_PX)


def _cells(segmentation: NDArray[np.int16], scene: Scene, side: int) -> NDArray[np.uint8]:
    """Return the classes of a grid of ``side`` x ``side`` cells of the central square, at their centres."""
    table = np.zeros(len(scene.objects) + 1, np.uint8)
    table[:-1] = [CLASSES.index(item.kind) for item in scene.objects]
    classes = table[np.where(segmentation == BACKGROUND, len(scene.objects), segmentation)]
    height, width = classes.shape
    left = (width - height) // 2
    cells: NDArray[np.uint8] = cv2.resize(
        classes[:, left : left + height], (side, side), interpolation=cv2.INTER_NEAREST_EXACT
    )
    return cells


ENCODER_FILE: Final = "encoder.safetensors"
CARD_FILE: Final = "encoder.json"
_STATE, _CURVE = "training", "curve.svg"
_HELD_OUT_SHARE: Final = 0.1
_BATCH: Final = 32
_RATE, _WEIGHT_DECAY, _WARM_UP = 1e-3, 0.05, 0.05
_OBJECT_WEIGHT: Final = 3.0
"""Of a cell with an object in the loss: most cells show none."""
_MEANS, _DEVIATIONS = (
    torch.tensor(numbers)[None, :, None, None] for numbers in (IMAGENET_MEANS, IMAGENET_DEVIATIONS)
)


@dataclass(frozen=True, slots=True)
class RegionEncoderCard:
    """Description of a region encoder, beside its file.

    Attributes:
        plan: How it was trained.
        classes: What it learned to tell apart.
        sha256: Hash of its file.
        mean_iou: On held-out scenes, mean over the classes that occur there.
        accuracy: Share of right cells on held-out scenes.
        images: Number of training images.
        held_out_images: Number of held-out images.
        parameters: Number of weights.
    """

    plan: RegionEncoderPlan
    classes: tuple[str, ...]
    sha256: str
    mean_iou: float
    accuracy: float
    images: int
    held_out_images: int
    parameters: int


class _Segmenter(nn.Module):
    """The encoder with a linear map from each token to the classes of the cells of its patch."""

    def __init__(self, plan: RegionEncoderPlan) -> None:
        super().__init__()
        self.encoder = VisionTransformer(plan.size, plan.square_px)
        self.cells = plan.size.patch_px // CELL_PX
        self.classify = nn.Linear(plan.size.dim, len(CLASSES) * self.cells**2)

    def forward(self, images: Tensor) -> Tensor:
        """Map ``(N, S, S, 3)`` uint8 to ``(N, classes, S / CELL_PX, S / CELL_PX)``."""
        planes = (images.permute(0, 3, 1, 2).float() / 255 - _MEANS) / _DEVIATIONS
        tokens = self.classify(self.encoder.patch_map(planes))
        side = images.shape[1] // (CELL_PX * self.cells)
        return functional.pixel_shuffle(tokens.transpose(1, 2).unflatten(2, (side, side)), self.cells)


def train_region_encoder(
    plan: RegionEncoderPlan, out: Path, watch: Callable[[EpochResult], None]
) -> RegionEncoderCard:
    """Train a region encoder, or continue an interrupted training; a finished one is not trained again.

    Args:
        plan: What it depends on.
        out: Folder of the encoder, its card and the checkpoint.
        watch: Called after each epoch, also for those of an earlier call.

    Returns:
        The card; the encoder is ``encoder.safetensors``, with the parameter names of timm.

    Raises:
        UserError: The folder belongs to another training, or is damaged.
        MissingDependencyError: No graphics context can be opened.
    """
    record = {"plan": repr(sorted(asdict(plan).items())), "torch": torch.__version__}
    with torch.random.fork_rng():
        torch.manual_seed(plan.seed)
        network = _Segmenter(plan)
        optimiser = torch.optim.AdamW(network.parameters(), lr=_RATE, weight_decay=_WEIGHT_DECAY)
        checkpoint = Checkpoint(out / _STATE, network, optimiser, record)
        results = checkpoint.load()
        if len(results) == plan.epochs and (out / CARD_FILE).is_file():
            return read_json(RegionEncoderCard, out / CARD_FILE, "the card of the region encoder")
        held = max(1, round(_HELD_OUT_SHARE * plan.scenes))
        training = draw_segmented(plan.seed, 0, plan.scenes - held, plan.square_px)
        trainer = Trainer(network, optimiser, partial(_rate, plan))

        def one_epoch(epoch: int) -> EpochResult:
            batches = seeded_batches(len(training), _BATCH, plan.seed, epoch)
            return trainer.epoch(epoch, batches, lambda rows: partial(_loss, network, training, rows))

        run_epochs(results, plan.epochs, one_epoch, checkpoint, watch)
    save_curve(results, "region encoder", out / _CURVE)
    held_out = draw_segmented(plan.seed, plan.scenes - held, plan.scenes, plan.square_px)
    return _saved(network.eval(), plan, out, len(training), held_out)


def _saved(
    network: _Segmenter, plan: RegionEncoderPlan, out: Path, images: int, held_out: SegmentedImages
) -> RegionEncoderCard:
    weights = {name: value.contiguous() for name, value in network.encoder.state_dict().items()}
    write_tensors(out / ENCODER_FILE, weights)
    mean_iou, accuracy = _tested(network, held_out)
    card = RegionEncoderCard(
        plan,
        CLASSES,
        sha256_of(out / ENCODER_FILE),
        mean_iou,
        accuracy,
        images,
        len(held_out),
        sum(value.numel() for value in weights.values()),
    )
    write_json_whole(out / CARD_FILE, unstructure(card))
    return card


def _loss(network: _Segmenter, training: SegmentedImages, rows: NDArray[np.int64]) -> Tensor:
    weights = torch.full((len(CLASSES),), _OBJECT_WEIGHT)
    weights[0] = 1.0
    images, classes = (torch.from_numpy(one[rows]) for one in (training.images, training.classes))
    if bool(torch.rand(()) < 0.5):
        images, classes = images.flip(2), classes.flip(2)
    return functional.cross_entropy(network(images), classes.long(), weights)


def _rate(plan: RegionEncoderPlan, epoch: int, step: int, steps: int) -> float:
    """Return the learning rate: linear warm-up and cosine decay."""
    done = (epoch + (step + 1) / steps) / plan.epochs
    share = min(1.0, done / _WARM_UP) * 0.5 * (1 + float(np.cos(np.pi * done)))
    return _RATE * max(share, 1e-3)


def _tested(network: _Segmenter, held_out: SegmentedImages) -> tuple[float, float]:
    """Return mean IoU over the classes that occur, and the share of right cells."""
    counts = np.zeros((len(CLASSES),) * 2)
    with torch.inference_mode():
        for start in range(0, len(held_out), _BATCH):
            rows = slice(start, start + _BATCH)
            found = network(torch.from_numpy(held_out.images[rows])).argmax(1).numpy()
            np.add.at(counts, (held_out.classes[rows].ravel(), found.ravel()), 1)
    right, true = np.diag(counts), counts.sum(axis=1)
    union = true + counts.sum(axis=0) - right
    return float((right / union)[true > 0].mean()), float(right.sum() / counts.sum())
