"""Training of the vision panel: draws the samples, then trains, exports and evaluates each member."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from embodied_iqa.base.files import sha256_of
from embodied_iqa.base.jobs.engine import EngineOptions, run_jobs
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.base.training.onnx_writer import write_network
from embodied_iqa.base.training.training_state import EpochResult, save_curve
from embodied_iqa.models.vision.average_precision import dataset_average_precision
from embodied_iqa.models.vision.backends.panel import PanelClassifier, PanelDetector, load_member
from embodied_iqa.models.vision.backends.panel_card import VisionCard, load_card, save_card
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.models.vision.samples.sample_store import (
    HELD_OUT,
    TRAINING,
    SampleStore,
    draw_part,
    part_folders,
)
from embodied_iqa.models.vision.samples.truth import COLOURED_CLASSES, KIND_CLASSES
from embodied_iqa.models.vision.training.classifiers import Classifier
from embodied_iqa.models.vision.training.loop import Network, train_member
from embodied_iqa.models.vision.training.vision_members import VisionPlan, VisionRecipe, recipes_of
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS

_GROUPS: Final = 20
"""Parts of the images that are left out in turn to estimate an interval."""
_NORMAL: Final = 1.96


def evaluate(member: PanelClassifier | PanelDetector, store: SampleStore) -> dict[str, float]:
    """Return the performance of a member, all in [0, 1], higher is better.

    Args:
        member: A classifier sees the crop of the object of each image's task, the others the image.
        store: Held-out samples as the cameras deliver them.

    Returns:
        ``main``, the weight in labels: top-1 accuracy, or AP over IoU 0.50:0.05:0.95 of boxes or masks; its
        interval ``low`` and ``high``; ``main_VIEW`` for each camera; for detectors ``ap50``, for segmenters
        also ``box_ap``; ``images``.
    """
    if isinstance(member, PanelClassifier):
        return _evaluate_classifier(member, store)
    images = range(len(store))
    found = [member.find(store.image(index)) for index in images]
    masked = member.info.task is VisionTask.SEGMENTATION
    truth = [store.instances(index) for index in images]

    def precision(rows: NDArray[np.int64]) -> float:
        there, seen = [truth[row] for row in rows], [found[row] for row in rows]
        return dataset_average_precision(seen, there, masks=masked)

    results = _with_interval(precision, store.views)
    results["ap50"] = dataset_average_precision(found, truth, masks=masked, iou_thresholds=(0.5,))
    if masked:
        results["box_ap"] = dataset_average_precision(found, truth, masks=False)
    return _rounded(results, len(store))


def _evaluate_classifier(member: PanelClassifier, store: SampleStore) -> dict[str, float]:
    main = np.flatnonzero(store.main)
    classes = member.info.classes
    predicted = [member.classify(store.crop(int(row))) for row in main]
    right = np.array(
        [found.label == classes[store.coloured[row]] for found, row in zip(predicted, main, strict=True)]
    )
    return _rounded(_with_interval(lambda rows: float(right[rows].mean()), store.views), len(main))


def _with_interval(
    measure: Callable[[NDArray[np.int64]], float], views: NDArray[np.int64]
) -> dict[str, float]:
    """Measure all images, those of each camera, and the interval by the jackknife over groups."""
    rows = np.arange(len(views))
    groups = min(_GROUPS, len(rows))
    value = measure(rows)
    without = np.array([measure(rows[rows % groups != group]) for group in range(groups)])
    half = _NORMAL * float(np.sqrt((groups - 1) * without.var()))
    return {
        "main": value,
        "low": max(value - half, 0.0),
        "high": min(value + half, 1.0),
        **{
            f"main_{view}": measure(rows[views == index])
            for index, view in enumerate(CELL_VIEWS)
            if (views == index).any()
        },
    }


def _rounded(results: dict[str, float], images: int) -> dict[str, float]:
    return {name: round(value, 4) for name, value in results.items()} | {"images": float(images)}


_THRESHOLD: Final = 0.3


def export_network(network: Network, input_px: tuple[int, int], path: Path) -> None:
    """Write a network as ONNX, atomically; large weights in half precision.

    Input: ``images`` ``(N, H, W, 3)`` uint8. Output of a classifier: ``probabilities`` ``(N, classes)``; of
    the others those of `Detector.forward`: ``scores``, ``classes``, ``boxes`` and ``masks``.

    Args:
        network: In evaluation mode.
        input_px: Width and height of its images.
        path: The file.

    Raises:
        InputError: The file cannot be written.
    """
    width, height = input_px
    images = torch.zeros((2, height, width, 3), dtype=torch.uint8)
    outputs = output_names(network)
    rows = dict.fromkeys(["images", *outputs], "images")
    write_network(network.eval(), {"images": images}, outputs, rows, path, halved=True)


def output_names(network: Network) -> list[str]:
    """Return the names of the outputs of ``forward``, in order."""
    if isinstance(network, Classifier):
        return ["probabilities"]
    return ["scores", "classes", "boxes", *(["masks"] if network.shapes is not None else [])]


def train_vision_panel(plan: VisionPlan, bars: ProgressBars) -> list[VisionCard]:
    """Train the members one after the other; resumes an interrupted training.

    Args:
        plan: Members and amount of training.
        bars: A bar for the samples and one per member.

    Raises:
        UsageError: A member is unknown.
        UserError: A checkpoint or sample in the folder is broken or belongs to another training, or another
            one works in the folder.
    """
    recipes = recipes_of(plan.members, quick=plan.quick, images=plan.images, seed=plan.seed)
    with JobFolder(plan.out, "training of the vision panel").locked():
        _draw(plan, max(recipe.images for recipe in recipes), bars)
        return [_train_and_export(plan, recipe, bars) for recipe in recipes]


def _draw(plan: VisionPlan, images: int, bars: ProgressBars) -> None:
    """Draw the missing parts of training and held-out samples."""
    wanted = [
        *(
            (HELD_OUT, plan.held_out_seed, *part)
            for part in part_folders(plan.held_out, plan.held_out_images)
        ),
        *((TRAINING, plan.train_seed, *part) for part in part_folders(plan.train, images)),
    ]
    missing = [part for part in wanted if not part[2].is_dir()]
    jobs = [partial(draw_part, folder, seed, first, size) for size, seed, folder, first in missing]
    drawn = run_jobs(jobs, EngineOptions(workers=plan.workers))
    for count, _ in enumerate(drawn, start=len(wanted) - len(missing) + 1):
        bars.update("samples", count, len(wanted))


def _train_and_export(plan: VisionPlan, recipe: VisionRecipe, bars: ProgressBars) -> VisionCard:
    path = plan.models / f"{recipe.name}.onnx"
    facts = _facts(plan, recipe)
    if path.is_file() and path.with_suffix(".json").is_file():
        done = load_card(path.with_suffix(".json"))
        same = done.sha256 == sha256_of(path) and facts.items() <= done.training.items()
        if done.performance and same:
            bars.update(recipe.name, recipe.epochs, recipe.epochs, note="trained before")
            return done

    def on_epoch(result: EpochResult) -> None:
        bars.update(recipe.name, result.epoch, recipe.epochs, note=f"loss {result.loss:.3f}")

    torch.set_num_threads(1)
    store = SampleStore(plan.train, recipe.images)
    network, results = train_member(recipe, store, plan.out / "work" / recipe.name, on_epoch=on_epoch)
    save_curve(results, recipe.name, plan.out / "work" / f"{recipe.name}.svg")
    export_network(network, recipe.input_px, path)
    minutes = round(sum(result.seconds for result in results) / 60, 2)
    card = _card(recipe, network, path, facts | {"minutes": minutes, "last_loss": round(results[-1].loss, 5)})
    save_card(card, path.with_suffix(".json"))
    performance = evaluate(
        load_member(plan.models, recipe.name), SampleStore(plan.held_out, plan.held_out_images)
    )
    card = dataclasses.replace(card, performance=performance)
    save_card(card, path.with_suffix(".json"))
    return card


def _facts(plan: VisionPlan, recipe: VisionRecipe) -> dict[str, str | int | float | bool]:
    """Return what the weights depend on."""
    return {
        "command": plan.command,
        "quick": plan.quick,
        "images": recipe.images,
        "train_seed": plan.train_seed,
        "held_out_seed": plan.held_out_seed,
        "augmentation": str(recipe.augmentation),
        "epochs": recipe.epochs,
        "batch": recipe.batch,
        "rate": recipe.rate,
        "seed": recipe.seed,
    }


def _card(
    recipe: VisionRecipe, network: Network, path: Path, training: dict[str, str | int | float | bool]
) -> VisionCard:
    classifies = recipe.task is VisionTask.CLASSIFICATION
    masks = (
        ""
        if recipe.task is not VisionTask.SEGMENTATION
        else ", dynamic"
        if recipe.dynamic_masks
        else ", prototypes"
    )
    return VisionCard(
        name=recipe.name,
        task=recipe.task,
        sha256=sha256_of(path),
        classes=COLOURED_CLASSES if classifies else KIND_CLASSES,
        input_px=recipe.input_px,
        threshold=_THRESHOLD,
        network={
            "architecture": recipe.architecture + masks,
            "width": recipe.width,
            "parameters": sum(weight.numel() for weight in network.parameters()),
        },
        training=training,
    )
