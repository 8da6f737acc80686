"""Training of the networks of a learned judge; needs torch."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.files import sha256_of
from embodied_iqa.base.jobs.plan import digest_of
from embodied_iqa.quality.gate.fitted import NetworkFile, Networks
from embodied_iqa.quality.gate.fitting.fit_plan import FitPlan
from embodied_iqa.quality.gate.fitting.frames import GateFrames
from embodied_iqa.quality.metrics.image_set import ImageSet
from embodied_iqa.quality.metrics.learned.card import CARD_FILE
from embodied_iqa.quality.metrics.trainable import TrainingSet
from embodied_iqa.quality.metrics.training.measuring import MeasuredInputs
from embodied_iqa.quality.metrics.training.metric_training import TRAINING_FOLDER, RecipeTraining
from embodied_iqa.quality.metrics.training.recipes import recipe_by_name

Array = NDArray[np.float64]


def train_networks(images: ImageSet, frames: GateFrames, plan: FitPlan, out: Path) -> Networks:
    """Train both networks, unless they are finished; every fit has a folder of its own.

    Args:
        images: Of the fit.
        frames: Of the training scenes.
        plan: Loss, features and seed.
        out: The gate's file; the folder is beside it.

    Raises:
        InputError: Too few scenes, or a file is missing or damaged.
    """
    folder, files = out.with_suffix("") / _name(images, frames, plan), []
    for name, training, samples in _trainings(images, frames, plan):
        training.train(samples, folder / name, plan.seed)
        shutil.rmtree(folder / name / TRAINING_FOLDER, ignore_errors=True)  # only needed to continue
        place = (folder / name).relative_to(out.parent).as_posix()
        files.append(NetworkFile(place, sha256_of(folder / name / CARD_FILE)))
    return Networks(*files)


def predicted_by(
    images: ImageSet, frames: GateFrames, plan: FitPlan, inputs: MeasuredInputs, folder: Path, *, title: str
) -> tuple[Array, Array]:
    """Train such networks only to predict: return ``(N,)`` losses and probabilities of a wrong motion.

    Args:
        images: Of the fit.
        frames: To learn from.
        plan: Loss, features and seed.
        inputs: Of the N images that are predicted.
        folder: Of the states of the trainings, from which the same call goes on; the caller removes it.
        title: Of the progress bars.

    Raises:
        InputError: Too few scenes, or a file is missing or damaged.
    """
    own = folder / _name(images, frames, plan)
    loss, wrong = (
        -replace(training, title=f"{title}, {name}").predicted(samples, inputs, own / name, plan.seed)
        for name, training, samples in _trainings(images, frames, plan)
    )
    return loss, wrong


def _trainings(
    images: ImageSet, frames: GateFrames, plan: FitPlan
) -> Iterator[tuple[str, RecipeTraining, TrainingSet]]:
    ids, scenes, kinds = (tuple(one.tolist()) for one in (frames.ids, frames.scenes, frames.kinds))
    recipe = recipe_by_name(plan.recipe)
    for name, label in _labels(frames, plan).items():
        training = RecipeTraining(recipe, plan.workers, f"{name} of {plan.policy}", plan.command)
        yield name, training, TrainingSet(images, ids, scenes, label, kinds)


def _labels(frames: GateFrames, plan: FitPlan) -> dict[str, Array]:
    return {"loss": -frames.loss(plan.loss), "wrong-motion": -frames.wrong_motion}


def _name(images: ImageSet, frames: GateFrames, plan: FitPlan) -> str:
    """Return the folder of networks, by everything that they depend on."""
    recipe, values = recipe_by_name(plan.recipe), [one.tolist() for one in _labels(frames, plan).values()]
    ids, kinds = tuple(frames.ids.tolist()), tuple(frames.kinds.tolist())
    digest = digest_of(recipe.name, recipe.input.version(), plan.seed, images.digest(ids), values, kinds)
    return f"{plan.view}-{digest[:8]}"
